"""Events: what happens between one side of an instant and the other, and how often it may."""

import math
from collections.abc import Sequence

from ssptool.dataclass import dataclass
from ssptool.engine.chatter import Cause, wish_to_end
from ssptool.engine.ending import Ending, Failure
from ssptool.engine.event_mode.iteration import EventIteration
from ssptool.engine.kernel.interface import Floats
from ssptool.engine.masters.partners import Updated
from ssptool.engine.ode.system import OdeSystem
from ssptool.engine.stopped import Stopped
from ssptool.fmu.exchange import DiscreteUpdate
from ssptool.fmu.instance import FmiError

TIME_EVENT = "time event"


@dataclass(frozen=True, slots=True)
class Outcome:
    """After an event: the next time event [s] (inf: none is known) and whose it is, and whether nominal values of
    states changed. `changed` is False where the event had no effect on states and signals.
    """

    next_time: float
    timers: tuple[Cause, ...]
    nominals_changed: bool
    changed: bool


class Updates:
    """What the components of an ODE say in the event iterations of one event."""

    def __init__(self, system: OdeSystem) -> None:
        self._system = system
        self._every: list[DiscreteUpdate] = []

    def update(self, t: float) -> list[Updated]:
        """The discrete states of all of them. Raises `Stopped`: one refuses, or asks to end the simulation."""
        found = _update(self._system, t)
        self._every.extend(found)
        return [Updated(model.name, one.again) for model, one in zip(self._system.models, found, strict=True)]

    def outcome(self, t: float, close: float, *, changed: bool) -> Outcome:
        """Of the event at t [s], in which signals have `changed`; times as `close` as that [s] are the same. Raises
        `Stopped`: the next one is in the past.
        """
        next_time, timers = _next(self._system, self._every[-len(self._system.models) :], t, close)
        return Outcome(
            next_time,
            timers,
            nominals_changed=any(one.nominals_changed for one in self._every),
            changed=changed or any(one.states_changed for one in self._every),
        )


def iterate(system: OdeSystem, t: float, nominal: Floats, close: float) -> Outcome:
    """With all components in event mode: update discrete states and exchange signals until both stay.

    `nominal` (slots,) are the usual sizes of the signals; times as `close` as that [s] are the same.

    Raises
    ------
    Stopped
        The iteration does not end, or a component refuses, asks to end the simulation, or for an event in the past.
    FmiError
        A component refuses a value or a tick.
    """
    updates = Updates(system)
    iteration = EventIteration(system.events, nominal, system.settle, updates.update)
    system.events.hide_ticks()
    changed = iteration.settle(t, t + close)
    system.events.show_ticks()
    return updates.outcome(t, close, changed=changed)


def _next(
    system: OdeSystem, updates: Sequence[DiscreteUpdate], t: float, close: float
) -> tuple[float, tuple[Cause, ...]]:
    """The next time event, or tick of a clock, and whose it is."""
    agenda, members = system.events.agenda, system.events.members
    times = {Cause(model.name, TIME_EVENT): one.next_time for model, one in zip(system.models, updates, strict=True)}
    ticks = {Cause(members[one.member].name, f"clock {one.clock.name}"): agenda.time(one) for one in agenda.timers}
    for cause, time in times.items():
        if time < t - close:
            raise Stopped(_too_late(cause.component, time, t))
    next_time = min((*times.values(), *ticks.values()), default=math.inf)
    return next_time, tuple(cause for cause, time in {**times, **ticks}.items() if time == next_time)


def _update(system: OdeSystem, t: float) -> list[DiscreteUpdate]:
    updates = []
    for model in system.models:
        try:
            updates.append(model.update_discrete_states())
        except FmiError as error:
            raise system.refused(error, t) from None
        if updates[-1].terminate:
            raise Stopped(wish_to_end(model.name, t))
    return updates


def _too_late(name: str, time: float, t: float) -> Failure:
    return Failure(
        Ending.EVENTS,
        f"component {name} asks for a time event at t = {time!r} s, which is over",
        "ask for a corrected FMU: the time of the next event that it states must not be in the past",
        t,
        name,
    )
