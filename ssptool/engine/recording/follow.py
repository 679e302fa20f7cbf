"""Follow a run through the result file that it is writing."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ssptool.arguments import WrongArgument, seconds, texts
from ssptool.arguments import path as file_path
from ssptool.engine.failure import seconds_text
from ssptool.engine.recording.formats import check_names, check_times, open_tail
from ssptool.engine.recording.writer import News, Tail
from ssptool.engine.trace import Column, ContentNumbers, Floats, Trace, cells_of
from ssptool.public_calls import public

WAITING, RUNNING, AT_STOP_TIME, ENDED = "waiting", "running", "at the stop time", "ended"
"""Status of a run without a manifest: before its first row, after it, and at the stop time that a caller stated; and of
a run whose manifest has no status.
"""


@dataclass(frozen=True, slots=True)
class FollowedRun:
    """Rows of a run as far as they are written.

    Attributes
    ----------
    trace
        All rows so far: (n,) times and (n, p) values, read-only. Earlier values share this memory.
    status
        `waiting` for the first row, `running`, or the end of the run: `completed` or another status of its manifest;
        `at the stop time` if there is no manifest.
    ended
        True after the last row.
    failure
        Reason of an early end; otherwise empty.
    """

    trace: Trace
    status: str
    ended: bool = False
    failure: str = ""

    def __repr__(self) -> str:
        return f"<FollowedRun {self.status}: {self.trace!r}>"


@public
def follow(
    results: Path | str,
    *,
    signals: str | Sequence[str] = (),
    interval: float | str = 0.5,
    stop_time: float | str | None = None,
) -> Iterator[FollowedRun]:
    """Follow a run through the results that another process, or a thread, is writing.

    Yields the present rows at once, then again after every `interval` (also without new rows), and finally all rows of
    the completed run. Leave the loop at any time.

    Parameters
    ----------
    results
        Result file of the run (`output` of `simulate`), .csv or .parquet. It may be created later. If a new run
        replaces it, the trace restarts. Results of a completed run are yielded at once.
    signals
        Follow signals that match one of these patterns of full names, in which * matches any text (default: all).
    interval : [s]
        Time between two looks at the file.
    stop_time : [s]
        End also at this time, for results without a manifest: of other tools, and of killed runs.

    Returns
    -------
    Iterator[FollowedRun]
        Each has a `Trace` in `trace`, with times `t` (n,) [s], `trace[signal]` (n,) and units in `trace.columns`; its
        `status`; and `ended`.

    Raises
    ------
    WrongArgument
        The interval is not greater than 0, or the stop time is not a number.
    WrongValue
        The ending of the file is not supported, or it is a MAT file, which cannot be read during the run.
    MissingPackage
        The package that reads Parquet is not installed.
    UnknownName
        From the iterator: a pattern matches no signal.
    UnusableFile
        From the iterator: the file is not a trace.

    Examples
    --------
    >>> for run in ssptool.follow("plant.csv", signals="Motor.*"):
    ...     print(run.status, len(run.trace))
    """
    patience = seconds("interval", interval)
    if not 0 < patience < math.inf:
        raise WrongArgument("interval", interval, "a time above 0")
    stop = math.inf if stop_time is None else seconds("stop_time", stop_time)
    if math.isnan(stop):
        raise WrongArgument("stop_time", stop_time, "a number of seconds")
    file = file_path("results", results)
    tail = open_tail(file, texts("signals", signals, "a pattern such as '*.x1'"))
    return _followed(file, tail, patience, stop)


def _followed(file: Path, tail: Tail, interval: float, stop: float) -> Iterator[FollowedRun]:
    rows, at_stop = _Rows(file), False
    while True:
        looked = time.monotonic()
        news = tail.read()
        come = rows.take(news)
        # Wait for one more look, so that rows of the same time and the manifest can follow.
        run = _state(rows.trace(), news, at_stop=at_stop and not come)
        at_stop = rows.reached >= stop
        yield run
        if run.ended:
            return
        if not news.more:
            time.sleep(max(0.0, interval - (time.monotonic() - looked)))


def _state(trace: Trace, news: News, *, at_stop: bool) -> FollowedRun:
    if news.manifest:
        return FollowedRun(trace, str(news.manifest.get("status", ENDED)), True, _failure(news.manifest))
    if at_stop:
        return FollowedRun(trace, AT_STOP_TIME, True)
    return FollowedRun(trace, RUNNING if len(trace) else WAITING)


def _failure(manifest: Mapping[str, Any]) -> str:
    failure = manifest.get("failure")
    if not isinstance(failure, Mapping):
        return ""
    when = failure.get("time")
    since = f"at t = {seconds_text(when)}: " if isinstance(when, int | float) else ""
    return f"{since}{failure.get('message') or ''}"


class _Rows:
    """Growing rows; traces are views of them. Rows that are part of a trace are never overwritten."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._begin((), begun=False)

    def _begin(self, columns: tuple[Column, ...], *, begun: bool) -> None:
        check_names(self._file, columns)
        self._begun = begun
        self._columns = columns
        self._count = 0
        self._cells: Floats = np.empty((0, 1 + len(columns)))
        self._contents = ContentNumbers()
        self._table: tuple[bytes, ...] = (b"",)

    @property
    def reached(self) -> float:
        """Time of the last row [s]; -inf without one."""
        return float(self._cells[self._count - 1, 0]) if self._count else -math.inf

    def take(self, news: News) -> int:
        """Append the new rows, and return their number."""
        if news.replaced:
            self._begin((), begun=False)
        if not news.begun:
            return 0
        if not self._begun:
            self._begin(news.columns, begun=True)
        times = np.asarray(news.times, dtype=np.float64)
        check_times(self._file, times, self._count + 1)
        count = len(times)
        self._make_room(count)
        space = self._cells[self._count : self._count + count]
        space[:, 0] = times
        for place, (column, values) in enumerate(zip(self._columns, news.values, strict=True), start=1):
            space[:, place] = cells_of(values, column.type, self._contents.number)
        self._count += count
        return count

    def _make_room(self, count: int) -> None:
        needed = self._count + count
        if needed > len(self._cells):
            cells = np.empty((max(needed, 2 * len(self._cells)), 1 + len(self._columns)))
            cells[: self._count] = self._cells[: self._count]
            self._cells = cells

    def trace(self) -> Trace:
        rows = self._cells[: self._count]
        rows.flags.writeable = False
        if len(self._table) < len(self._contents.all):
            self._table = tuple(self._contents.all)
        return Trace(rows[:, 0], rows[:, 1:], self._columns, self._table)
