"""The recorded signals of a run, in memory and as CSV."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Column:
    """What is known of a recorded signal besides its values. `type` has FMI 3.0's spelling; `unit` None: not
    stated.
    """

    signal: str
    unit: str | None = None
    type: str = "Float64"
    description: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """Signals over time.

    Attributes
    ----------
    t : (n + 1,) [s]
        Communication points; the first is the initialized state.
    y : (n + 1, p)
        Values; one column per entry of `columns`.
    """

    t: Floats
    y: Floats
    columns: tuple[Column, ...]

    @property
    def signals(self) -> tuple[str, ...]:
        """Full names, e.g. "System1.x1"."""
        return tuple(column.signal for column in self.columns)

    @property
    def units(self) -> tuple[str | None, ...]:
        return tuple(column.unit for column in self.columns)

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(column.type for column in self.columns)

    @property
    def descriptions(self) -> tuple[str, ...]:
        return tuple(column.description for column in self.columns)

    def __getitem__(self, signal: str) -> Floats:
        """The values (n + 1,) of a signal.

        Raises
        ------
        KeyError
            No such signal was recorded.
        """
        try:
            return self.y[:, self.signals.index(signal)]
        except ValueError:
            recorded = ", ".join(self.signals) or "none"
            raise KeyError(f"signal {signal!r} is not recorded; recorded are: {recorded}") from None

    def __len__(self) -> int:
        return len(self.t)


class CsvWriter:
    """Writes rows to a CSV file as they come, so that an interrupted run keeps those it had.

    The first column is `time` [s], then one column per signal. Numbers are the shortest that read back to the
    same bits. Text is UTF-8, lines end with a line feed.
    """

    def __init__(self, path: Path, signals: Sequence[str]) -> None:
        self._file = path.open("w", encoding="utf-8", newline="")
        csv.writer(self._file, lineterminator="\n").writerow(["time", *signals])
        self._file.flush()

    def write(self, rows: Floats) -> None:
        """Append rows (k, 1 + p), the time first, and hand them to the operating system."""
        self._file.writelines(",".join(map(repr, row)) + "\n" for row in rows.tolist())
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> "CsvWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class UnreadableTrace(Exception):
    """The file is not a trace in CSV."""

    def __init__(self, path: Path, line: int, reason: str) -> None:
        super().__init__(f"{path}:{line}: {reason}")
        self.path = path
        self.line = line
        self.reason = reason


def read_csv(path: Path) -> Trace:
    """Read a trace that `CsvWriter` or a similar tool wrote. A last line that was cut off is left out.

    Raises
    ------
    UnreadableTrace
        The first column is not `time`, or a line has a wrong number of values or something that is not a
        number.
    """
    with path.open(encoding="utf-8", newline="") as file:
        text = file.read()
    complete = text[: text.rfind("\n") + 1].splitlines()
    lines = csv.reader(complete)
    header = next(lines, [])
    if not header or header[0] != "time":
        raise UnreadableTrace(path, 1, f"the first column must be 'time', found {header[:1]}")
    rows: list[list[float]] = []
    for row in lines:
        if len(row) != len(header):
            raise UnreadableTrace(path, lines.line_num, f"{len(header)} values expected, found {len(row)}")
        try:
            rows.append([float(value) for value in row])
        except ValueError as error:
            raise UnreadableTrace(path, lines.line_num, str(error)) from None
    table = np.array(rows, dtype=float).reshape(len(rows), len(header))
    return Trace(table[:, 0], table[:, 1:], tuple(Column(name) for name in header[1:]))
