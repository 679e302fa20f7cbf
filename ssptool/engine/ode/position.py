"""State of an integration: all that it needs to continue."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ssptool.engine.event_mode.accumulation import CHATTER_EVENTS, Cause, EventHistory
from ssptool.engine.kernel.interface import Floats
from ssptool.engine.masters.protocols import Memory


@dataclass(frozen=True, slots=True)
class IntegrationState:
    """All that an integration knows between two internal steps, but for what the components keep to themselves.

    Attributes
    ----------
    t : [s]
    x : (n,)
        States.
    values : (slots,)
        Of the kernel, from which algebraic loops go on.
    next_time, timers
        The next time event [s] (inf: none), and whose it is.
    wary_until : [s], longest_step : [s]
        Until when steps are limited, and to what; inf: not at all.
    restarted : [s]
        When the integrator was started last.
    at_zero
        Indicators that were exactly zero then.
    seen
        Events of each cause.
    events
        How many there were.
    agenda
        When clocks tick.
    first_step : [s]
        With what the integrator begins anew; 0: with what it estimates.
    """

    t: float
    x: Floats
    values: Floats
    next_time: float
    timers: tuple[Cause, ...]
    wary_until: float
    longest_step: float
    restarted: float
    at_zero: frozenset[Cause]
    seen: Mapping[Cause, EventHistory]
    events: int
    agenda: tuple[str, ...]
    first_step: float = 0.0

    def memory(self) -> Memory:
        """As arrays, for a file."""
        seen = [[one.total, *one.times, *[np.nan] * (CHATTER_EVENTS - len(one.times))] for one in self.seen.values()]
        return {
            "x": self.x,
            "values": self.values,
            "times": np.array(
                [self.t, self.next_time, self.wary_until, self.longest_step, self.restarted, self.first_step]
            ),
            "events": np.array(self.events),
            "agenda": np.array(self.agenda, dtype=np.str_),
            "timers": _texts(self.timers),
            "at_zero": _texts(sorted(self.at_zero, key=str)),
            "causes": _texts(self.seen),
            "seen": np.array(seen).reshape(-1, 1 + CHATTER_EVENTS),
        }

    @classmethod
    def recalled(cls, memory: Memory) -> Self:
        """From the arrays that `memory` gave."""
        t, next_time, wary_until, longest_step, restarted, first_step = memory["times"].tolist()
        seen = [EventHistory(int(row[0]), tuple(row[1:][~np.isnan(row[1:])].tolist())) for row in memory["seen"]]
        return cls(
            t=t,
            x=memory["x"],
            values=memory["values"],
            next_time=next_time,
            timers=tuple(_causes(memory["timers"])),
            wary_until=wary_until,
            longest_step=longest_step,
            restarted=restarted,
            at_zero=frozenset(_causes(memory["at_zero"])),
            seen=dict(zip(_causes(memory["causes"]), seen, strict=True)),
            events=int(memory["events"]),
            agenda=tuple(memory["agenda"].tolist()),
            first_step=first_step,
        )


def _texts(causes: Iterable[Cause]) -> Any:
    return np.array([(cause.component, cause.what) for cause in causes], dtype=np.str_).reshape(-1, 2)


def _causes(texts: Any) -> list[Cause]:
    return [Cause(component, what) for component, what in texts.tolist()]
