"""Options of `ssptool run` that are about its results, its process and its pace."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ssptool.cli.options import time
from ssptool.engine.settings import EVERY_COMPONENT

RESULTS, PROCESS, INSIGHT = "Results", "Process and pace", "Insight"
"""Panels of the help."""

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
    typer.Option(
        "--record",
        metavar="PATTERN",
        help="Record only these, e.g. '*.x1' or 'System1.*': signals, but also any variable of an FMU (a local, a "
        "state, a parameter) as Component.variable, and connectors of nested systems. Repeat it for more.",
    ),
]
Every = Annotated[
    int, typer.Option("--every", metavar="N", rich_help_panel=RESULTS, help="Record only each N-th row, and the last.")
]
OutputStep = Annotated[
    float | None,
    typer.Option(
        "--output-step",
        parser=time,
        metavar="T",
        rich_help_panel=RESULTS,
        help="Record only rows at this distance in time (10ms), and the last; between communication points on "
        "straight lines. Not together with --every.",
    ),
]
LogLoops = Annotated[
    Path | None,
    typer.Option(
        "--log-loops",
        metavar="FILE",
        rich_help_panel=INSIGHT,
        help="Every iterate of every algebraic loop, as .csv or .jsonl.",
    ),
]
LogCoupling = Annotated[
    Path | None,
    typer.Option(
        "--log-coupling",
        metavar="FILE",
        rich_help_panel=INSIGHT,
        help="Every iterate of every macro step, as .csv or .jsonl.",
    ),
]
FmuLog = Annotated[
    Path | None,
    typer.Option(
        "--fmu-log",
        metavar="FILE",
        rich_help_panel=INSIGHT,
        help="Everything that the FMUs log, as .csv or .jsonl; without it, they log errors and warnings only, and run "
        "faster.",
    ),
]
FmuLogLevels = Annotated[
    list[str] | None,
    typer.Option(
        "--fmu-log-level",
        metavar="LEVEL",
        rich_help_panel=INSIGHT,
        help="Least serious messages in that file: ok (all), warning, discard, error or fatal; or of one component, "
        "as in System1=ok; repeated: all of these.",
    ),
]
FmuLogCategories = Annotated[
    list[str] | None,
    typer.Option(
        "--fmu-log-categories",
        metavar="NAMES",
        rich_help_panel=INSIGHT,
        help="Log categories in that file, separated by commas, as the FMUs declare them; or of one component, as in "
        "System1=logEvents; repeated: all of these.",
    ),
]
Plot = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", help="Draw the results: .png, .svg, .pdf or .html."),
]
Isolated = Annotated[
    bool,
    typer.Option(
        "--isolated/--in-process",
        show_default=False,
        rich_help_panel=PROCESS,
        help="Run the FMUs in a process of their own (the default), or in this one, where a crash ends everything.",
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        parser=time,
        metavar="T",
        rich_help_panel=PROCESS,
        help="End the run after this wall time, such as 2min.",
    ),
]
Compile = Annotated[
    bool,
    typer.Option(
        "--compile",
        rich_help_panel=PROCESS,
        help="Compile FMUs that bring C or C++ sources and no library for this platform, into a cache.",
    ),
]
StepTimeout = Annotated[
    float | None,
    typer.Option(
        "--step-timeout",
        parser=time,
        metavar="T",
        rich_help_panel=PROCESS,
        help="End the run when one macro step takes longer than this wall time.",
    ),
]
MemoryLimit = Annotated[
    int | None,
    typer.Option(
        "--memory-limit",
        metavar="MIB",
        min=1,
        rich_help_panel=PROCESS,
        help="End the run when its FMUs need more memory than this, in MiB.",
    ),
]
Realtime = Annotated[
    float | None,
    typer.Option(
        "--realtime",
        metavar="FACTOR",
        rich_help_panel=PROCESS,
        help="Keep pace with the clock, FACTOR times as fast as it: 1 is real time.",
    ),
]


def levels_from(texts: list[str] | None) -> dict[str, str]:
    """`["warning", "System1=ok"]` → `{"*": "warning", "System1": "ok"}`."""
    return dict(map(_by_component, texts or ()))


def categories_from(texts: list[str] | None) -> dict[str, tuple[str, ...]]:
    """`["logEvents,logStatusError", "System1=logEvents"]` → names by component, `*` being all that are not named."""
    found: dict[str, tuple[str, ...]] = {}
    for component, names in map(_by_component, texts or ()):
        found[component] = (*found.get(component, ()), *(name.strip() for name in names.split(",") if name.strip()))
    return found


def _by_component(text: str) -> tuple[str, str]:
    component, equals, value = (part.strip() for part in text.rpartition("="))
    return (component, value) if equals else (EVERY_COMPONENT, value)


class StatisticsFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


Statistics = Annotated[
    StatisticsFormat | None,
    typer.Option(
        "--statistics",
        metavar="[FORMAT]",
        rich_help_panel=INSIGHT,
        help="Count and time all calls of FMUs: text (a table below the summary; the same without FORMAT) or json "
        "(nothing but all statistics).",
    ),
]
