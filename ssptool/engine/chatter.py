"""Events that follow each other without the time moving on, and what brought them about."""

import math
from collections import deque
from collections.abc import Mapping

from ssptool.dataclass import dataclass
from ssptool.engine.ending import Ending, Failure
from ssptool.engine.stopped import Stopped

CHATTER_EVENTS = 10
CHATTER_TIME = 1e-4
"""So many events of one cause within this fraction of a communication step are no progress."""


@dataclass(frozen=True, slots=True)
class Cause:
    """What brought about an event."""

    component: str
    what: str

    def __str__(self) -> str:
        return f"{self.what} of {self.component}"


class Chatter:
    """Watches for events of one cause that follow each other without the time moving on."""

    def __init__(self, step: float) -> None:
        self._window = CHATTER_TIME * step
        self._times: dict[Cause, deque[float]] = {}

    @property
    def seen(self) -> Mapping[Cause, tuple[float, ...]]:
        """When events of each cause have been [s], the latest ones."""
        return {cause: tuple(times) for cause, times in self._times.items()}

    @seen.setter
    def seen(self, times: Mapping[Cause, tuple[float, ...]]) -> None:
        self._times = {cause: deque(found, maxlen=CHATTER_EVENTS) for cause, found in times.items()}

    def note(self, t: float, causes: tuple[Cause, ...]) -> float:
        """One more event: how long ago one of its causes was last seen [s], or inf.

        Raises
        ------
        Stopped
            It is one too many.
        """
        recurrence = math.inf
        for cause in causes:
            times = self._times.setdefault(cause, deque(maxlen=CHATTER_EVENTS))
            if times:
                recurrence = min(recurrence, t - times[-1])
            times.append(t)
            if len(times) == CHATTER_EVENTS and t - times[0] <= self._window:
                raise Stopped(_chattering(cause, t, t - times[0]))
        return recurrence


def _chattering(cause: Cause, t: float, span: float) -> Failure:
    return Failure(
        Ending.EVENTS,
        f"component {cause.component} chatters: {CHATTER_EVENTS} events by {cause} within {span:.3g} s",
        "give its switching a hysteresis, or a smallest time or size below which it rests",
        t,
        cause.component,
    )


def wish_to_end(name: str, t: float) -> Failure:
    return Failure(
        Ending.TERMINATED,
        f"component {name} asks to end the simulation",
        "see the messages of the FMU; its parameters or inputs lead to this",
        t,
        name,
    )
