"""Recorder of a run: writes rows to a file and memory and reports progress; rows stay complete even after Ctrl-C."""

import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from math import inf
from pathlib import Path
from types import FrameType
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.kernel.calls import Floats
from ssptool.engine.planning.events import clock_signals
from ssptool.engine.planning.interval import check_step
from ssptool.engine.planning.plan import Plan
from ssptool.engine.recording.decimation import All, Decimation, Every, Grid
from ssptool.engine.recording.writer import Writer, rows_at_once
from ssptool.engine.run.initialization import InitializationReport
from ssptool.engine.trace import NO_ENTRIES, NUMBERED, NewEntries, RunStringTable, StringTable, Trace
from ssptool.errors import ENDING, ContradictingSettings

_Handler = Callable[[int, FrameType | None], Any]

_holding = False
_waiting: list[Callable[[], Any]] = []


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Defer an interrupt or a termination request to the end of this context; a second one is not deferred.

    Does nothing inside of another such context, and in threads other than the main thread, which receives the signals.
    """
    global _holding
    if _holding or threading.current_thread() is not threading.main_thread():
        yield
        return
    # Signals that are ignored, end the process, or are not handled by Python are not deferred.
    handlers = {number: handler for number in _HELD if callable(handler := signal.getsignal(number))}
    try:
        for number, handler in handlers.items():
            signal.signal(number, partial(_hold, handler))
        _holding = True
        yield
    finally:
        _holding = False
        for number, handler in handlers.items():
            signal.signal(number, handler)
        deliver_interrupts()


_HELD = (signal.SIGINT, *ENDING)


def _hold(handler: _Handler, number: int, frame: FrameType | None) -> None:
    if _waiting:
        _waiting.clear()
        handler(number, frame)
    _waiting.append(partial(handler, number, frame))


def deliver_interrupts() -> None:
    """Deliver deferred interrupts at a point at which no block is half recorded."""
    if _waiting:
        _waiting.pop()()


Progress = Callable[[float], None]


class Recorder:
    """Recorder of the rows of a run. As a context, it closes its file at the end, however the run ended.

    Parameters
    ----------
    open_writer
        Creates the file, if there is one, with the list of all contents; called when the system is initialized.
    keep
        Keep the rows in memory, for `trace`.
    most
        Largest number of cells to keep.
    decimation
        Selection of the recorded rows; None: all.
    rows
        Expected number of recorded rows.
    progress
        Called with the fraction 0 … 1 of the interval that is done.
    lend
        Returns memory for rows (count, width); the writer reuses it after it wrote the rows.
    earlier
        True if the file contains results of another run, which are kept until the first row of this one.

    Attributes
    ----------
    report
        Report of initialization, after it is known.
    seen
        Number of rows of the run, recorded or not; `last_time` [s] is the time of the last.
    recorded
        Rows in the file, or in memory.
    contents
        String table of columns of type String and Binary.
    """

    def __init__(
        self,
        plan: Plan,
        open_writer: Callable[[StringTable], Writer] | None = None,
        *,
        keep: bool,
        most: float = inf,
        decimation: Decimation | None = None,
        rows: int = 0,
        progress: Progress | None = None,
        lend: Callable[[int, int], Floats] | None = None,
        earlier: bool = False,
    ) -> None:
        self.plan = plan
        self.report: InitializationReport | None = None
        self.seen = 0
        self.recorded = 0
        self.last_time = plan.interval.start
        self._open_writer = open_writer
        self._writer: Writer | None = None
        self._decimation = decimation or All()
        self._progress = progress
        self._cut = self._finished = False
        self._keep, self._most = keep, most
        self._width = 1 + len(plan.recorded)
        self._expected = int(min(rows, most / self._width))
        self.contents = RunStringTable()
        self._going: tuple[int, ...] = ()
        self._between: set[float] = set()  # times of events between communication points
        self._numbered = [1 + place for place, column in enumerate(plan.columns) if column.type in NUMBERED]
        self._kept: Floats = np.empty((0, self._width))
        self._own: Floats = np.empty((0, self._width))
        self._space = self._own
        self._lend = lend or self._own_space
        self._earlier = earlier

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with interrupts_deferred():
            if self._writer is not None:
                self._writer.release()

    # -- interface of `Rows`, for an execution in this process -----------------------------------------------

    def initialized(self, report: InitializationReport) -> None:
        self.report = report
        if not self._earlier:
            self._begin()

    def space(self, count: int) -> Floats:
        self._space = self._lend(rows_at_once(count, self._width), self._width)
        return self._space

    def commit(self, count: int, entries: NewEntries = NO_ENTRIES) -> None:
        self.add(self._space[:count], entries)

    def _own_space(self, count: int, width: int) -> Floats:
        if len(self._own) < count:
            self._own = np.empty((count, width))
        return self._own[:count]

    # --------------------------------------------------------------------------------------------------------

    def add(self, rows: Floats, entries: NewEntries = NO_ENTRIES) -> None:
        """Add rows of cells (k, 1 + p), with the time first, and new contents; they are copied.

        An interrupt waits until a block is recorded as a whole. If these rows fill several blocks, the interrupt ends
        the recording after the present block, and later rows are dropped.
        """
        if self._cut:
            return
        with interrupts_deferred():
            self.contents.add(entries.new)
            if not len(rows):
                self._going += entries.forgotten
                return
            self.seen += len(rows)
            end = float(rows[-1, 0])
            points = entries.points(len(rows))
            if self._keep and (entries.between or self._between):
                # At an event at a communication point, neither side counts as between points.
                self._between |= set(rows[~points, 0].tolist())
                self._between -= set(rows[points, 0].tolist())
            blocks = _with_more(self._decimation.keep(rows, points))
            self._cut = True
            while self._cut:
                self._cut = self._record_next(blocks, end)
                self._tell()
                deliver_interrupts()
            self._forget(entries.forgotten)

    def _forget(self, numbers: tuple[int, ...]) -> None:
        """Forget contents that later rows do not need, except those of rows that may still be recorded."""
        if self._keep or not (numbers or self._going):
            return
        needed = (
            set(self.references(self._decimation.waiting).ravel().tolist()) if len(self._decimation.waiting) else ()
        )
        every = (*self._going, *numbers)
        self._going = tuple(number for number in every if number in needed)
        going = [number for number in every if number not in needed]
        if self._writer is None:
            self.contents.drop(going)
        else:
            self._writer.when_written(partial(self.contents.drop, going))

    def _record_next(self, blocks: Iterator[tuple[Floats, bool]], end: float) -> bool:
        """Record one block of rows that extend to the time `end`; returns true if there are more."""
        block, more = next(blocks)
        self._record(block)
        self.last_time = float(block[-1, 0]) if more else end
        return more

    def begin(self) -> None:
        """Report progress 0, because loading and initializing FMUs may take long."""
        self._report(0.0)

    def _tell(self) -> None:
        interval = self.plan.interval
        self._report(min((self.last_time - interval.start) / (interval.stop - interval.start or 1.0), 1.0))

    def _report(self, fraction: float) -> None:
        if self._progress is not None:
            tell, self._progress = self._progress, None  # not called again if it raises
            tell(fraction)
            self._progress = tell

    def references(self, rows: Floats) -> NDArray[np.int64]:
        """Numbers of the contents in these rows."""
        return rows[:, self._numbered].view(np.int64)

    def finish(self) -> None:
        """Finish after the last row; a second call does nothing."""
        with interrupts_deferred():
            if self._finished:
                return
            self._finished = True
            if not self._earlier:
                self._begin()
            self._record(self._decimation.rest())

    def close(self, manifest: Callable[[], str]) -> None:
        """Complete the file, after `finish`."""
        if self._writer is not None:
            self._writer.close(manifest())

    @property
    def trace(self) -> Trace | None:
        """The recorded trace, if it was kept."""
        if not self._keep:
            return None
        rows = self._kept[: self.recorded]
        points = ~np.isin(rows[:, 0], list(self._between)) if self._between else None
        return Trace(rows[:, 0], rows[:, 1:], tuple(self.plan.columns), self.contents.every, points=points)

    @property
    def begun(self) -> bool:
        """True if a file is open, or the run had a row."""
        return self._writer is not None or self.seen > 0

    @property
    def kept_earlier(self) -> bool:
        """True if the file still contains the results of another run, because this run has no row."""
        return self._earlier and self._writer is None

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of initialization, and on facts that the file could not represent."""
        told = () if self.report is None else self.report.notes
        return (*told, *(self._writer.notes() if self._writer is not None else ()))

    def _begin(self) -> None:
        if self._writer is None and self._open_writer is not None:
            with interrupts_deferred():  # a file that is open belongs to this recorder, which closes it
                self._writer = self._open_writer(self.contents)

    def _record(self, rows: Floats) -> None:
        if not len(rows):
            return
        if self._keep and (self.recorded + len(rows)) * self._width > self._most:
            self._keep, self._kept = False, np.empty((0, self._width))
        if self._keep:
            self._make_room(len(rows))
            self._kept[self.recorded : self.recorded + len(rows)] = rows
        self._begin()
        if self._writer is not None:
            self._writer.write(rows)
        self.recorded += len(rows)

    def _make_room(self, count: int) -> None:
        needed = self.recorded + count
        if needed > len(self._kept):
            # Pages that are not needed are never touched.
            room = np.empty((max(needed, 2 * len(self._kept), self._expected), self._width))
            room[: self.recorded] = self._kept[: self.recorded]
            self._kept = room


def _with_more(blocks: Iterator[Floats]) -> Iterator[tuple[Floats, bool]]:
    """Each block, and true if another one follows; at least one block, which may be empty."""
    block = next(blocks, np.empty((0, 1)))
    for following in blocks:
        yield block, True
        block = following
    yield block, False


@dataclass(frozen=True, slots=True)
class Recording:
    """Recording of a run: which rows and signals, and where.

    Attributes
    ----------
    output
        File that rows are written to during the run; CSV, Parquet, MAT, HDF5 or MDF4 by its extension.
    keep
        Keep the rows in memory, for `Result.trace`.
    signals
        Patterns of full names, such as "System1.*", of signals, variables of FMUs and connectors of nested systems;
        none: all signals that are exchanged.
    every
        Only each n-th row, the last, and the sides of events.
    output_step : [s]
        Only rows at this distance, the last, and the sides of events. Between communication points, values are
        interpolated linearly; discrete signals are held.
    units
        Patterns of signals and the units of their values in the file and in memory; or "display": the display units
        of FMUs.
    """

    output: Path | None = None
    keep: bool = True
    signals: Sequence[str] = ()
    every: int = 1
    output_step: float | None = None
    units: Mapping[str, str] | Literal["display"] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Accept the name of a file."""
        if self.output is not None:
            object.__setattr__(self, "output", Path(self.output))

    def decimation(self, plan: Plan) -> Decimation:
        """The decimation that selects the recorded rows.

        Raises
        ------
        WrongValue
            A number is out of range, or both are given (ContradictingSettings).
        """
        if self.output_step is None:
            return All() if self.every == 1 else Every(self.every)
        if self.every != 1:
            raise ContradictingSettings(
                f"every {self.every} with output step {self.output_step:g} s",
                "both choose the rows that are recorded",
                "leave one of them out",
            )
        interval = plan.interval
        check_step("the output step", self.output_step, interval.start, interval.stop)
        of_points, clocks = plan.slots_of_points, clock_signals(plan.network)
        return Grid(
            plan.interval.start,
            self.output_step,
            [column.held for column in plan.columns],
            [slot in of_points for slot in plan.recorded],
            [plan.signals[slot] in clocks for slot in plan.recorded],
        )

    def rows(self, plan: Plan) -> int:
        """Largest number of recorded rows of a run to the stop time, not counting rows that events or a master add."""
        interval = plan.interval
        if self.output_step is None:
            return interval.steps // self.every + 2
        return int((interval.stop - interval.start) / self.output_step) + 2
