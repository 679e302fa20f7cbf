"""The state that an integration saves and restores."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ssptool.engine.event_mode.iteration import CHATTER_EVENTS, Cause, EventHistory
from ssptool.engine.kernel.interface import Floats
from ssptool.engine.masters.protocols import SavedState


@dataclass(frozen=True, slots=True)
class IntegrationState:
    """State of an integration between two internal steps, without the inner states of the components.

    Attributes
    ----------
    t : [s]
    x : (n,)
        States.
    values : (slots,)
        Values of the kernel, from which loop solvers continue.
    next_time, timers
        The next time event [s] (inf: none), and whose it is.
    limited_until : [s], longest_step : [s]
        Until when steps are limited, and to what; inf: not at all.
    restarted : [s]
        Time of the last start of the integrator.
    at_zero
        Indicators that were exactly zero then.
    seen
        Events of each cause.
    events
        Number of events so far.
    clock_schedule
        Times at which clocks tick.
    first_step : [s]
        First step after a restart of the integrator; 0: estimated.
    retreated
        Another solver has taken over.
    """

    t: float
    x: Floats
    values: Floats
    next_time: float
    timers: tuple[Cause, ...]
    limited_until: float
    longest_step: float
    restarted: float
    at_zero: frozenset[Cause]
    seen: Mapping[Cause, EventHistory]
    events: int
    clock_schedule: tuple[str, ...]
    first_step: float = 0.0
    retreated: bool = False

    def save_state(self) -> SavedState:
        """Arrays of this state, for a file."""
        seen = [[one.total, *one.times, *[np.nan] * (CHATTER_EVENTS - len(one.times))] for one in self.seen.values()]
        return {
            "x": self.x,
            "values": self.values,
            "times": np.array(
                [self.t, self.next_time, self.limited_until, self.longest_step, self.restarted, self.first_step]
            ),
            "events": np.array(self.events),
            "retreated": np.array(self.retreated),
            "agenda": np.array(self.clock_schedule, dtype=np.str_),
            "timers": _texts(self.timers),
            "at_zero": _texts(sorted(self.at_zero, key=str)),
            "causes": _texts(self.seen),
            "seen": np.array(seen).reshape(-1, 1 + CHATTER_EVENTS),
        }

    @classmethod
    def restored(cls, state: SavedState) -> Self:
        """State from the arrays of `save_state`."""
        t, next_time, limited_until, longest_step, restarted, first_step = state["times"].tolist()
        seen = [EventHistory(int(row[0]), tuple(row[1:][~np.isnan(row[1:])].tolist())) for row in state["seen"]]
        return cls(
            t=t,
            x=state["x"],
            values=state["values"],
            next_time=next_time,
            timers=tuple(_causes(state["timers"])),
            limited_until=limited_until,
            longest_step=longest_step,
            restarted=restarted,
            at_zero=frozenset(_causes(state["at_zero"])),
            seen=dict(zip(_causes(state["causes"]), seen, strict=True)),
            events=int(state["events"]),
            clock_schedule=tuple(state["agenda"].tolist()),
            first_step=first_step,
            retreated=bool(state["retreated"]),
        )


def _texts(causes: Iterable[Cause]) -> Any:
    return np.array([(cause.component, cause.what) for cause in causes], dtype=np.str_).reshape(-1, 2)


def _causes(texts: Any) -> list[Cause]:
    return [Cause(component, what) for component, what in texts.tolist()]
