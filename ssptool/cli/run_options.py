"""Options of `ssptool run` that are about its results, its process and its pace."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Where to write the results, as CSV, Parquet or MAT by the ending .csv, .parquet or .mat; else the "
        "system's file name with .csv, here.",
    ),
]
Record = Annotated[
    list[str] | None,
    typer.Option("--record", metavar="PATTERN", help="Record only such signals, e.g. 'System1.*' or '*.x1'."),
]
Every = Annotated[int, typer.Option("--every", metavar="N", help="Record only each N-th row, and the last.")]
OutputStep = Annotated[
    float | None,
    typer.Option(
        "--output-step",
        metavar="DT",
        help="Record only rows at this distance in time, in seconds, and the last; between communication points on "
        "straight lines.",
    ),
]
LogLoops = Annotated[
    Path | None,
    typer.Option("--log-loops", metavar="FILE", help="Every iterate of every algebraic loop, as .csv or .jsonl."),
]
LogCoupling = Annotated[
    Path | None,
    typer.Option("--log-coupling", metavar="FILE", help="Every iterate of every macro step, as .csv or .jsonl."),
]
Plot = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Draw the results: .png, .svg, .pdf or .html.")
]
InProcess = Annotated[
    bool,
    typer.Option("--in-process", help="Run the FMUs in this process, where a crash of theirs ends everything."),
]
Timeout = Annotated[
    float | None, typer.Option("--timeout", metavar="SECONDS", help="End the run after this wall time.")
]
StepTimeout = Annotated[
    float | None,
    typer.Option("--step-timeout", metavar="SECONDS", help="End the run when one macro step takes longer than this."),
]
MemoryLimit = Annotated[
    int | None,
    typer.Option("--memory-limit", metavar="MIB", min=1, help="End the run when it needs more memory than this."),
]
Realtime = Annotated[
    float | None,
    typer.Option(
        "--realtime",
        metavar="FACTOR",
        help="Keep pace with the clock, FACTOR times as fast as it: 1 is real time.",
    ),
]


class StatisticsFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


Statistics = Annotated[
    StatisticsFormat | None,
    typer.Option(
        "--statistics",
        help="Count and time all calls of FMUs; text adds a table to the summary, json is all statistics and no more.",
    ),
]
