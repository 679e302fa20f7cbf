"""Events of co-simulation: exchange values and clock ticks until all settle, and detect events that accumulate.

Events that follow each other without progress in time (chattering, Zeno behaviour) end the run."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ssptool.engine.assembly.assembly import Assembly, Checkpoint
from ssptool.engine.assembly.event_members import StepReport
from ssptool.engine.assembly.running_events import RunningEvents
from ssptool.engine.failure import Ending, Failure, IntegrationStopped
from ssptool.engine.kernel.interface import Call, Outcome
from ssptool.engine.masters.master import CLOSE, CoupledSystem, tolerance_of_times
from ssptool.engine.masters.protocols import SavedState, SteppedOde, Updated
from ssptool.engine.planning.plan import Plan
from ssptool.engine.stimuli.stimuli import source_signal
from ssptool.fmu.description import Variability
from ssptool.fmu.instance import FmiError
from ssptool.network.network import Signal, Wire

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
        Stopped
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
                raise IntegrationStopped(_chattering(cause, seen))
        if _shrink(intervals[-ACCUMULATING:]) and 0 < intervals[-1] <= close:
            raise IntegrationStopped(_accumulating(cause, seen))


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


MAX_ITERATIONS = 100
"""Largest number of iterations of one event; discrete equations that need more do not settle."""


def endless(t: float, again: Sequence[str], ticking: Sequence[str], moving: Sequence[Signal] = ()) -> Failure:
    """Failure of an event iteration that does not converge, with components, clocks and signals that still change."""
    clocks = f"; clocks that tick: {', '.join(ticking)}" if ticking else ""
    who = f"{', '.join(again)} still need{'s' if len(again) == 1 else ''} new discrete states" if again else ""
    signals = f"signals still change: {', '.join(map(str, moving))}" if moving else "signals still change"
    return Failure(
        Ending.EVENTS,
        f"the event iteration does not converge: after {MAX_ITERATIONS} iterations {who or signals}{clocks}",
        "look for clocks and discrete equations that drive each other around a loop of connections",
        t,
        again[0] if again else "",
    )


def ode_takes_samples(plan: Plan) -> bool:
    """True if an ODE that handles its own events takes samples."""
    if plan.ode is None:
        return False
    names = {one.name for one in plan.integrated}
    wires = (wire for wire in plan.ode.events.wires if wire.source.component in {*names, ""})
    return _some_change(plan, wires, names)


def system_takes_samples(plan: Plan) -> bool:
    """True if members of the events of the system take samples outside of clocks."""
    modes = plan.event_modes
    unclocked = {one.signal for member in modes.members.values() for one in member.inputs if not one.clocks}
    wires = (wire for wire in modes.wires if wire.destination in unclocked)
    integrated = (one.name for one in plan.integrated if modes.with_ode)
    return _some_change(plan, wires, {*modes.members, *integrated})


def _some_change(plan: Plan, wires: Iterable[Wire], talking: Collection[str]) -> bool:
    """True if a source may change between events; discrete variables of the components `talking` do not."""
    moving = {source_signal(source.signal) for source in plan.stimuli.sources if not source.time_signal.steady}
    return any(wire.source in moving or _changes(plan, wire, talking) for wire in wires)


def _changes(plan: Plan, wire: Wire, talking: Collection[str]) -> bool:
    component = plan.network.components.get(wire.source.component)
    if component is None:
        return False  # an input of the system
    variable = component.description.variables[wire.source.variable]
    return component.name not in talking or variable.variability is Variability.CONTINUOUS


@dataclass(slots=True)
class CosimulationEvents:
    """Implements `masters.master.Events` for the members of an assembly.

    Each of them is an event iteration of the members. If events of the `ode` are those of the whole system, all its
    components go through each of them too.
    """

    assembly: Assembly
    running: RunningEvents
    ode: SteppedOde | None = None
    samples: bool = False
    failure: Failure | None = None
    seen: bool = True
    _chatter: ZenoDetector = field(init=False)
    _outputs: int = field(init=False)
    _reports: Mapping[int, StepReport] = field(init=False)

    def __post_init__(self) -> None:
        plan, kernel = self.assembly.plan, self.assembly.kernel
        self._chatter = ZenoDetector(plan.interval.step)
        every = enumerate(plan.instances)
        self._outputs = kernel.schedule([Call(i, (), one.output_slots) for i, one in every if one.output_slots])
        reports = {member.index: member.step for member in self.running.stepped}
        reports[len(plan.instances)] = self.assembly.ode.report if self.assembly.ode is not None else None
        self._reports = {index: report for index, report in reports.items() if report is not None}

    @property
    def pending(self) -> bool:
        return self.running.pending()

    @property
    def next_time(self) -> float:
        known = self.running.next_time
        return known if self.ode is None else min(known, self.ode.next_time)

    # -- steps ---------------------------------------------------------------------------------------------------

    @property
    def _checkpoint(self) -> Checkpoint | None:
        return self.assembly.checkpoint

    @property
    def _close(self) -> float:
        return CLOSE * self.assembly.plan.interval.step

    @property
    def goes_back(self) -> bool:
        return self._checkpoint is not None

    def before_steps(self) -> None:
        self.running.hide_ticks()
        for report in self._reports.values():
            report.reset()

    def before_step(self, t: float) -> Failure | None:
        self.before_steps()
        return None if self._checkpoint is None else self._checkpoint.save(t)

    def early(self, end: float, *, goes_on: bool = False) -> float | None:
        first = min((one.reached for one in self._reports.values() if one.reached is not None), default=end)
        if first < end - self._close:
            return first
        return end if goes_on and any(one.wanted for one in self._reports.values()) else None

    def go_back(self, t: float, end: float, *, all_of_them: bool) -> Failure | None:
        staying = frozenset() if all_of_them else frozenset(self._there(end))
        for index, report in self._reports.items():
            if index in staying:
                report.wait()
            else:
                report.reset()
        if self._checkpoint is None:
            return None
        failure = self._checkpoint.restore(t, staying)
        if failure is None and end - t <= self._close:
            # No step would read them.
            return self._explained(self.assembly.kernel.evaluate(self._outputs), t)
        return failure

    def _there(self, end: float) -> list[int]:
        places = ((index, report.reached) for index, report in self._reports.items())
        return [index for index, reached in places if reached is not None and abs(reached - end) <= self._close]

    @property
    def wanted(self) -> bool:
        return any(report.wanted for report in self._reports.values())

    # -- events --------------------------------------------------------------------------------------------------

    def begin(self, system: CoupledSystem) -> None:
        """The first event, right after initialization, which the members are in event mode for."""
        t = system.start
        try:
            self._leave(system, t, changed=self._iterate(system, t), first=True)
        except IntegrationStopped as stopped:
            self.failure = stopped.failure
        except FmiError as error:
            self.failure = self.assembly.refused(error, t)

    def handle(self, system: CoupledSystem, t: float, *, jump: bool) -> Failure | None:
        causes = tuple(self._causes(t))
        return self._event(system, t, causes, (lambda: self._jump(system, t)) if jump else _nothing)

    def intervene(self, system: CoupledSystem, t: float, action: Callable[[], None]) -> Failure | None:
        return self._event(system, t, (), action)

    def _event(
        self, system: CoupledSystem, t: float, causes: tuple[Cause, ...], action: Callable[[], None]
    ) -> Failure | None:
        try:
            self._chatter.note(t, causes)
            self.before_steps()
            self.running.enter()
            if self.ode is not None:
                self.ode.enter()
            action()
            seen = self._leave(system, t, changed=self._iterate(system, t))
            self.seen = seen or bool(causes) or action is not _nothing
        except IntegrationStopped as stopped:
            return stopped.failure
        except FmiError as error:
            return self.assembly.refused(error, t)
        return None

    def _leave(self, system: CoupledSystem, t: float, *, changed: bool, first: bool = False) -> bool:
        self.running.leave()
        seen = self.ode is None or self.ode.leave(changed=changed, first=first)
        self._beside(system, t)
        self.running.show_ticks()
        return seen

    def save_state(self) -> SavedState:
        wanted = [report.wanted for report in self._reports.values()]
        return {**self.running.save_state(), "wanted": np.array(wanted, dtype=bool)}

    def restore_state(self, state: SavedState) -> None:
        self.running.restore_state(state)
        for report, wanted in zip(self._reports.values(), state["wanted"].tolist(), strict=True):
            report.restore_state(wanted=wanted)

    def _causes(self, t: float) -> list[Cause]:
        found = [
            Cause(self.running.members[timer.member].name, f"clock {timer.clock.name}")
            for timer in self.running.clock_schedule.due(t + self._close)
        ]
        for member in self.running.stepped:
            if self._reports[member.index].wanted:
                found.append(Cause(member.name, "an event"))
            elif member.next_time <= t + self._close:
                found.append(Cause(member.name, "time event"))
        return found

    def _jump(self, system: CoupledSystem, t: float) -> None:
        assert system.stimuli is not None
        outcomes: list[Outcome] = []
        stimuli = system.stimuli
        if system.ode is None or self.ode is not None:
            outcomes.append(stimuli.jump())
        elif failure := system.ode.intervene(lambda: outcomes.append(stimuli.jump())):
            raise IntegrationStopped(failure)
        for outcome in outcomes:
            self._check(outcome, t)

    def _beside(self, system: CoupledSystem, t: float) -> None:
        """Handle the event in an ODE with events of its own, and its effect on members. History is discarded."""
        apart = system.ode if self.ode is None else None
        for _ in range(MAX_ITERATIONS):
            if apart is not None and (failure := apart.intervene(lambda: None)):
                raise IntegrationStopped(failure)
            if failure := system.settle(t):
                raise IntegrationStopped(failure)
            if apart is None or not self.running.pending():
                return
            self.running.enter()
            self._iterate(system, t)
            self.running.leave()
        raise IntegrationStopped(endless(t, (), ()))

    # -- event iteration -----------------------------------------------------------------------------------------

    def _iterate(self, system: CoupledSystem, t: float) -> bool:
        """Event iterations until the members settle; whether anything has changed. They stay in event mode."""
        evaluate = partial(self._evaluate, system)
        return self.running.settle(system.nominal, evaluate, self._update, t, t + self._close)

    def _update(self, t: float) -> list[Updated]:
        found = self.running.update(t)
        return found if self.ode is None else [*found, *self.ode.update(t)]

    def _evaluate(self, system: CoupledSystem, t: float) -> None:
        """Everything that the kernel exchanges, at this instant."""
        self._check(system.kernel.evaluate(self._outputs), t)
        system.kernel.exchange(system.everything.group)
        if failure := system.evaluate(system.everything.schedule, t):
            raise IntegrationStopped(failure)
        system.kernel.exchange(system.everything.group)

    def _check(self, outcome: Outcome, t: float) -> None:
        if failure := self._explained(outcome, t):
            raise IntegrationStopped(failure)

    def _explained(self, outcome: Outcome, t: float) -> Failure | None:
        return None if outcome.ok else self.assembly.explain(outcome, t)


def _nothing() -> None:
    pass


def begin_events(
    assembly: Assembly, running: RunningEvents, system: CoupledSystem, *, afresh: bool
) -> CosimulationEvents:
    """Events of the members of an assembly; handles the event at the start if the system starts `afresh`."""
    events = CosimulationEvents(
        assembly,
        running,
        system.ode if assembly.plan.event_modes.with_ode else None,
        system_takes_samples(assembly.plan),
    )
    if afresh:
        events.begin(system)
    return events
