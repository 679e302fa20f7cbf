"""Where the rows of a run go: to a file, to memory, and past the progress bar."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from ssptool.engine.initialize import InitializationReport
from ssptool.engine.kernel.interface import Floats
from ssptool.engine.plan import Plan
from ssptool.engine.trace import Trace

Progress = Callable[[float], None]


class Writer(Protocol):
    """A file of rows that can be read at any time, up to the last rows that were written."""

    def write(self, rows: Floats) -> None:
        """Append rows (k, 1 + p), the time first."""
        ...


class Recorder:
    """Hands rows on as they come.

    Parameters
    ----------
    writer
        Of the file, if there is one.
    keep
        Keep the rows in memory, for `trace`.
    progress
        Called with the fraction 0 … 1 of the interval that is done.
    """

    def __init__(self, plan: Plan, writer: Writer | None, *, keep: bool, progress: Progress | None = None) -> None:
        self.plan = plan
        self.kernel = ""
        self.report: InitializationReport | None = None
        self.recorded = 0
        self.last_time = plan.interval.start
        self._writer = writer
        self._progress = progress
        self._keep = keep
        self._width = 1 + len(plan.recorded)
        self._kept: Floats = np.empty((plan.interval.steps + 1 if keep else 0, self._width))
        self._open: Floats = np.empty((0, self._width))

    def initialized(self, kernel: str, report: InitializationReport) -> None:
        self.kernel, self.report = kernel, report

    def space(self, count: int) -> Floats:
        if self._keep:
            self._make_room(count)
            self._open = self._kept[self.recorded : self.recorded + count]
        else:
            self._open = np.empty((count, self._width))
        return self._open

    def commit(self, count: int) -> None:
        self._pass_on(self._open[:count])

    def add(self, rows: Floats) -> None:
        """Rows (k, 1 + recorded) from elsewhere; they are copied."""
        if self._keep:
            self.space(len(rows))[:] = rows
        self._pass_on(rows)

    @property
    def trace(self) -> Trace | None:
        """What was kept."""
        if not self._keep:
            return None
        rows = self._kept[: self.recorded]
        return Trace(rows[:, 0], rows[:, 1:], self.plan.columns)

    def _make_room(self, count: int) -> None:
        missing = self.recorded + count - len(self._kept)
        if missing > 0:
            more = np.empty((max(missing, len(self._kept)), self._width))
            self._kept = np.concatenate([self._kept, more])

    def _pass_on(self, rows: Floats) -> None:
        if not len(rows):
            return
        self.recorded += len(rows)
        self.last_time = float(rows[-1, 0])
        if self._writer is not None:
            self._writer.write(rows)
        if self._progress is not None:
            interval = self.plan.interval
            self._progress(min((self.last_time - interval.start) / (interval.stop - interval.start or 1.0), 1.0))
