"""Events without end, in plain Python: what the detector of the kernel is compared with."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from ssptool.engine.failure import Ending, Failure, RunError
from ssptool.engine.masters.master import CLOSE


def tolerance_of_times(t: float, step: float) -> float:
    """Largest distance [s] of two times about t [s] that count as equal, in a run with macro steps of this size [s]."""
    return max(CLOSE * step, math.ulp(t))


CHATTER_EVENTS = 10
CHATTER_TIME = 1e-4
"""Events of one cause within this fraction of a communication step that count as no progress: number and fraction."""

SHRINKING = 0.9
"""Unless the later half of the times between them takes less than this part of the earlier half: then they may come to
an end by themselves, as a ball comes to rest, or do not, which is seen where times cannot be told apart any more."""

ACCUMULATING = 5
"""So many times between events, each shorter than the one before down to that, have no end."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Cause of an event."""

    component: str
    what: str

    def __str__(self) -> str:
        return f"{self.what} of {self.component}"


class EventHistory(NamedTuple):
    """Number of events of one cause, and the times of the latest ones [s]."""

    total: int = 0
    times: tuple[float, ...] = ()

    @property
    def intervals(self) -> tuple[float, ...]:
        """Intervals between the events [s]."""
        return tuple(later - earlier for earlier, later in pairwise(self.times))

    @property
    def span(self) -> float:
        return self.times[-1] - self.times[0]

    def and_at(self, t: float) -> "EventHistory":
        return EventHistory(self.total + 1, (*self.times, t)[-CHATTER_EVENTS:])


class ZenoDetector:
    """Watches for events of one cause that follow each other without the time moving on.

    Attributes
    ----------
    seen
        The events of each cause.

    References
    ----------
    Johansson, Egerstedt, Lygeros and Sastry 1999, "On the regularization of Zeno hybrid automata": beyond the time at
    which events accumulate a model has no solution, unless it says more than its equations do. So a run ends there.
    """

    def __init__(self, step: float) -> None:
        self._step = step
        self._seen: dict[Cause, EventHistory] = {}

    @property
    def seen(self) -> Mapping[Cause, EventHistory]:
        return dict(self._seen)

    @seen.setter
    def seen(self, seen: Mapping[Cause, EventHistory]) -> None:
        self._seen = dict(seen)

    def note(self, t: float, causes: tuple[Cause, ...]) -> float:
        """One more event: how long ago one of its causes was last seen [s], or inf.

        Raises
        ------
        RunError
            There are too many events.
        """
        recurrence = math.inf
        for cause in causes:
            before = self._seen.get(cause, EventHistory())
            if before.times:
                recurrence = min(recurrence, t - before.times[-1])
            self._seen[cause] = before.and_at(t)
            self._judge(cause, self._seen[cause], tolerance_of_times(t, self._step))
        return recurrence

    def _judge(self, cause: Cause, seen: EventHistory, close: float) -> None:
        intervals = seen.intervals
        if len(seen.times) == CHATTER_EVENTS and seen.span <= CHATTER_TIME * self._step:
            part = len(intervals) // 2
            patient = seen.span > close and sum(intervals[-part:]) < SHRINKING * sum(intervals[:part])
            if not patient:
                raise RunError(_chattering(cause, seen))
        if _shrink(intervals[-ACCUMULATING:]) and 0 < intervals[-1] <= close:
            raise RunError(_accumulating(cause, seen))


def _shrink(intervals: Sequence[float]) -> bool:
    """True if there are enough intervals, each shorter than the one before."""
    return len(intervals) == ACCUMULATING and all(later < earlier for earlier, later in pairwise(intervals))


def _chattering(cause: Cause, seen: EventHistory) -> Failure:
    return Failure(
        Ending.EVENTS,
        f"component {cause.component} chatters: {len(seen.times)} events by {cause} within {seen.span:.3g} s, "
        f"{_times(seen)}",
        "give its switching a hysteresis or a minimum time between switches; if it is meant to switch so often, use a "
        "smaller step size",
        seen.times[-1],
        cause.component,
    )


def _accumulating(cause: Cause, seen: EventHistory) -> Failure:
    return Failure(
        Ending.EVENTS,
        f"events of component {cause.component} accumulate: the last {len(seen.times)} of {seen.total} by {cause} are "
        f"within {seen.span:.3g} s, {_times(seen)}; the model does not define what follows",
        "let the model come to rest below a minimum speed, size or time, or stop before t = "
        f"{math.floor(seen.times[0] * 1e6) / 1e6:.15g} s",
        seen.times[-1],
        cause.component,
    )


def _times(seen: EventHistory) -> str:
    return f"with up to {max(seen.intervals):.3g} s between them, and {seen.intervals[-1]:.3g} s between the last two"
