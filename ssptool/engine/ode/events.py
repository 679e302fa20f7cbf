"""Events of an ODE: zero crossings, the event iteration of its components, and the state that an integration saves."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from ssptool.engine.event_mode.iteration import CHATTER_EVENTS, Cause, EventHistory, EventIteration
from ssptool.engine.failure import Ending, Failure, IntegrationStopped, wish_to_end
from ssptool.engine.kernel.interface import Floats
from ssptool.engine.kernel.ode import Arrival
from ssptool.engine.masters.master import tolerance_of_times
from ssptool.engine.masters.protocols import SavedState, Updated
from ssptool.engine.ode.system import OdeSystem
from ssptool.engine.planning.interval import Interval
from ssptool.fmu.instance import FmiError
from ssptool.fmu.model_exchange import DiscreteUpdate

TIME_EVENT = "time event"


@dataclass(frozen=True, slots=True)
class EventOutcome:
    """After an event: the next time event [s] (inf: none is known) and whose it is, and whether nominal values of
    states changed. `changed` is False where the event had no effect on states and signals.
    """

    next_time: float
    timers: tuple[Cause, ...]
    nominals_changed: bool
    changed: bool


class Updates:
    """Answers of the components of an ODE in the event iterations of one event."""

    def __init__(self, system: OdeSystem) -> None:
        self._system = system
        self._every: list[DiscreteUpdate] = []

    def update(self, t: float) -> list[Updated]:
        """Update all discrete states. Raises `IntegrationStopped`: one refuses, or asks to end the simulation."""
        found = _update(self._system, t)
        self._every.extend(found)
        return [Updated(model.name, one.again) for model, one in zip(self._system.models, found, strict=True)]

    def outcome(self, t: float, close: float, *, changed: bool) -> EventOutcome:
        """Outcome of the event at t [s], in which signals have `changed`; times that differ by no more than `close` [s]
        are equal. Raises `IntegrationStopped` if the next event is in the past.
        """
        next_time, timers = _next(self._system, self._every[-len(self._system.models) :], t, close)
        return EventOutcome(
            next_time,
            timers,
            nominals_changed=any(one.nominals_changed for one in self._every),
            changed=changed or any(one.states_changed for one in self._every),
        )


def iterate(system: OdeSystem, t: float, nominal: Floats, close: float) -> EventOutcome:
    """Update discrete states and exchange signals until both stay the same, with all components in event mode.

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
    clock_schedule, members = system.events.clock_schedule, system.events.members
    times = {Cause(model.name, TIME_EVENT): one.next_time for model, one in zip(system.models, updates, strict=True)}
    ticks = {
        Cause(members[one.member].name, f"clock {one.clock.name}"): clock_schedule.time(one)
        for one in clock_schedule.timers
    }
    for cause, time in times.items():
        if time < t - close:
            raise IntegrationStopped(_too_late(cause.component, time, t))
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
            raise IntegrationStopped(wish_to_end(model.name, t))
    return updates


def _too_late(name: str, time: float, t: float) -> Failure:
    return Failure(
        Ending.EVENTS,
        f"component {name} asks for a time event at t = {time!r} s, which has passed",
        "ask for a corrected FMU: the time of the next event that it states must not be in the past",
        t,
        name,
    )


NEAR = 1e3
"""Number of moments before the extrapolated zero of an indicator from which on it is looked at."""


class IndicatorLookAhead(NamedTuple):
    """A moment later: time [s], states (n,) and event indicators (k,)."""

    t: float
    x: Floats
    signs: Floats

    def crossed(self, signs: Floats) -> frozenset[int]:
        """Indices of the indicators (k,) that have another sign now."""
        return frozenset(np.flatnonzero((signs > 0) != (self.signs > 0)).tolist())


def indicators_ahead(system: OdeSystem, t: float, x: Floats, moment: float, stop: float) -> IndicatorLookAhead | None:
    """Extrapolate event indicators from (t, x) along the slopes there by a moment [s]; None where that cannot be
    evaluated.

    The components are left there. FMUs may assume that no time is after the `stop` [s] of the run (fmi2SetupExperiment,
    fmi3EnterInitializationMode), so only the states are extrapolated beyond it.
    """
    slopes, found, last_failure = np.empty(system.size), np.empty(system.indicators), system.last_failure
    try:
        if not system.slopes(t, x.ctypes.data, slopes.ctypes.data):
            return None
        later, beyond = min(t + moment, stop), x + moment * slopes
        if not system.signs(later, beyond.ctypes.data, found.ctypes.data):
            return None
    except IntegrationStopped:
        return None
    finally:
        system.last_failure = last_failure
    return IndicatorLookAhead(later, beyond, found)


def nears_zero(before: Floats, now: Floats, span: float, moment: float) -> bool:
    """True if an indicator (k,), after its change in a span of time [s], may be zero a moment [s] later."""
    change = np.abs(now - before)
    return bool(np.any((change > 0) & (np.abs(now) * span <= NEAR * moment * change)))


class Anchor(NamedTuple):
    """A time [s], the states and the event indicators there."""

    t: float
    x: Floats
    signs: Floats


class Crossings:
    """An integrator sees that an indicator has another sign at the end of a step than at its beginning. It does not see
    one that goes there and back within a step, nor that one is zero at a communication point up to rounding.

    Attributes
    ----------
    anchor
        The last place at which all indicators had the signs that they should.
    restarted : [s]
        Time of the last start of the integrator.
    at_zero
        Indicators that were zero then, or were about to cross it.
    leaving, ahead
        The latter, by number, and where they have done so, until the integrator has made a step.
    """

    def __init__(self, system: OdeSystem, interval: Interval) -> None:
        self._system, self._macro_step, self._stop = system, interval.step, interval.stop
        self.anchor = Anchor(interval.start, np.empty(0), np.empty(0))
        self.restarted = interval.start
        self.at_zero: frozenset[Cause] = frozenset()
        self.leaving: frozenset[int] = frozenset()
        self.ahead: IndicatorLookAhead | None = None

    def drop_anchor(self, t: float, x: Floats) -> None:
        """Remember where the components are, at (t, x). Raises `IntegrationStopped`."""
        if self._system.indicators:
            self.anchor = Anchor(t, x.copy(), self._system.present_signs(t))

    def hold(self, t: float, x: Floats) -> bool:
        """True if all indicators keep their signs at (t, x), where the components are; may raise IntegrationStopped."""
        if not self._system.indicators:
            return True
        signs = self._system.present_signs(t)
        held = np.array_equal(signs > 0, self.anchor.signs > 0)
        if held:
            self.anchor = Anchor(t, x.copy(), signs)
        return held

    def start(self, t: float, x: Floats, roots: tuple[int, ...]) -> None:
        """The integrator has been started at (t, x), where the components are; `roots` were zero just before.

        Raises
        ------
        Stopped
        """
        self.drop_anchor(t, x)
        zero = np.flatnonzero(self.anchor.signs == 0.0).tolist() if self._system.indicators else ()
        self.restarted, self.at_zero = t, frozenset(self._system.causes[i] for i in zero)
        self.look_ahead(t, x, roots)

    def look_ahead(self, t: float, x: Floats, roots: tuple[int, ...] = ()) -> None:
        """Find out which are `leaving`, if the integrator has just been started at (t, x) where some are zero, or have
        been a moment ago. Raises `IntegrationStopped`.
        """
        self.leaving = frozenset()
        moment = tolerance_of_times(t, self._macro_step)
        if abs(t - self.restarted) <= moment and (roots or self.at_zero):
            self.ahead = indicators_ahead(self._system, t, x, moment, self._stop)
            self._system.place(t, x)
            self.leaving = frozenset() if self.ahead is None else self.ahead.crossed(self.anchor.signs)
            self.at_zero |= {self._system.causes[i] for i in self.leaving}

    def is_leaving(self, t: float, causes: tuple[Cause, ...]) -> bool:
        """True if indicators only leave zero, where the event before has put them: an event only if it changes
        something.
        """
        just_now = abs(t - self.restarted) <= tolerance_of_times(t, self._macro_step)
        return just_now and all(cause in self.at_zero for cause in causes)

    def unseen(self, arrival: Arrival) -> frozenset[int]:
        """Those that must have crossed zero and come back in the first step after a start."""
        leaving, self.leaving = self.leaving, frozenset()
        return frozenset() if leaving.intersection(arrival.roots) else leaving

    def just_ahead(self, t: float, x: Floats) -> IndicatorLookAhead | None:
        """Look-ahead of an indicator that is about to cross zero so soon that the crossing counts as at the
        communication point (t, x), where the components are. Raises `IntegrationStopped`.
        """
        moment = max(tolerance_of_times(t, self._macro_step) / 2, math.ulp(t))
        if not self._system.indicators or abs(t - self.restarted) <= moment:
            return None
        signs = self._system.present_signs(t)
        if not nears_zero(self.anchor.signs, signs, t - self.anchor.t, moment):
            return None
        ahead = indicators_ahead(self._system, t, x, moment, self._stop)
        self._system.place(t, x)
        return ahead if ahead is not None and ahead.crossed(signs) else None


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
