"""Logs of iterates of loop solvers and iterated masters, written line by line."""

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol, TypeAlias

from ssptool.errors import WrongValue
from ssptool.foreign_text import json_text
from ssptool.working_directory import absolute

Fact: TypeAlias = str | int | float

LOOP_FACTS = ("time", "stage", "loop", "solver", "iteration")
COUPLING_FACTS = ("time", "group", "iteration", "measure", "converged")
FORMATS = (".csv", ".jsonl")


class IterationLog(Protocol):
    """Log of iterates; each is on disk when `write` returns."""

    def write(self, facts: Sequence[Fact], values: Mapping[str, float], residuals: Mapping[str, float]) -> None:
        """`facts` in the order of the columns; `values` and `residuals` by signal."""
        ...


def check_log_name(path: Path) -> None:
    """Raise ValueError for a file name whose extension is not that of a log format."""
    if path.suffix.lower() not in FORMATS:
        raise WrongValue(f"the name of a log must end in {' or '.join(FORMATS)}, found {path.name!r}")


@contextmanager
def open_log(path: Path, facts: Sequence[str]) -> Iterator[IterationLog]:
    """A new log, as CSV (one line per iterate and signal) or as JSON lines (one object per iterate).

    Raises
    ------
    WrongValue
        The extension is neither of these.
    OSError
        The file cannot be written.
    """
    check_log_name(path)
    # Line-buffered, so that nothing is lost if an FMU crashes the process.
    with absolute(path).open("w", newline="", encoding="utf-8", buffering=1) as file:
        yield _Csv(file, facts) if path.suffix.lower() == ".csv" else _JsonLines(file, facts)


class _Csv:
    def __init__(self, file: IO[str], facts: Sequence[str]) -> None:
        self.writer = csv.writer(file)
        self.writer.writerow((*facts, "signal", "value", "residual"))

    def write(self, facts: Sequence[Fact], values: Mapping[str, float], residuals: Mapping[str, float]) -> None:
        self.writer.writerows((*facts, name, value, residuals[name]) for name, value in values.items())


class _JsonLines:
    def __init__(self, file: IO[str], facts: Sequence[str]) -> None:
        self.file = file
        self.facts = facts

    def write(self, facts: Sequence[Fact], values: Mapping[str, float], residuals: Mapping[str, float]) -> None:
        line = dict(zip(self.facts, facts, strict=True))
        # A point that was rejected has no residual.
        known = {name: None if math.isnan(residual) else residual for name, residual in residuals.items()}
        line |= {"values": dict(values), "residuals": known}  # type: ignore[dict-item]
        self.file.write(json_text(line) + "\n")
