"""Logs of iterates of loop solvers and iterated masters, written line by line."""

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TypeAlias

from ssptool.fmu.messages import check_log_name
from ssptool.foreign_text import json_text
from ssptool.working_directory import absolute

Fact: TypeAlias = str | int | float

LOOP_FACTS = ("time", "stage", "loop", "solver", "iteration")
COUPLING_FACTS = ("time", "group", "iteration", "measure", "converged")


class IterationLog:
    """Log of iterates, as CSV (one line per iterate and signal) or as JSON lines (one object per iterate); each is on
    disk when `write` returns.
    """

    def __init__(self, file: IO[str], facts: Sequence[str], *, json_lines: bool) -> None:
        self._file, self._facts = file, facts
        self._rows = None if json_lines else csv.writer(file)
        if self._rows is not None:
            self._rows.writerow((*facts, "signal", "value", "residual"))

    def write(self, facts: Sequence[Fact], values: Mapping[str, float], residuals: Mapping[str, float]) -> None:
        """`facts` in the order of the columns; `values` and `residuals` by signal."""
        if self._rows is not None:
            self._rows.writerows((*facts, name, value, residuals[name]) for name, value in values.items())
            return
        # A point that was rejected has no residual.
        known = {name: None if math.isnan(residual) else residual for name, residual in residuals.items()}
        line = {**dict(zip(self._facts, facts, strict=True)), "values": dict(values), "residuals": known}
        self._file.write(json_text(line) + "\n")


@contextmanager
def open_log(path: Path, facts: Sequence[str]) -> Iterator[IterationLog]:
    """A new log, in the format of its extension.

    Raises
    ------
    WrongValue
        The extension is neither .csv nor .jsonl.
    OSError
        The file cannot be written.
    """
    check_log_name(path)
    # Line-buffered, so that nothing is lost if an FMU crashes the process.
    with absolute(path).open("w", newline="", encoding="utf-8", buffering=1) as file:
        yield IterationLog(file, facts, json_lines=path.suffix.lower() == ".jsonl")
