"""Macro steps that end at events and clock ticks, of fixed or adaptive size."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ssptool.engine.failure import BadInputs, Ending, Failure, UnsupportedByFmu
from ssptool.engine.kernel.interface import Floats
from ssptool.engine.masters.jumps import following
from ssptool.engine.masters.master import (
    CLOSE,
    CoupledSystem,
    CouplingMaster,
    Events,
    InterruptibleStepper,
    Master,
    OneStepper,
    SavableStepper,
    StepBatch,
    Stepper,
    StepSizeControl,
)
from ssptool.engine.masters.protocols import Participants, SavedState, part_of, under
from ssptool.engine.masters.registry import SAVES
from ssptool.engine.planning.events import NO_EVENT_MODES, EventModes, clock_wires, saves
from ssptool.fmu.description import InterfaceType, Variability
from ssptool.network.network import Network, Wire

MAX_RETURNS = 100
"""Largest number of early returns in one macro step."""


class EqualSteps:
    """Steps of equal size: many in one call up to the next known event, else one by one.

    Attributes
    ----------
    waiting
        Rows that are not handed out yet: none.
    """

    waiting = False

    def __init__(self, base: CouplingMaster, system: CoupledSystem, events: Events) -> None:
        self.base, self.system, self.events = base, system, events
        self.programmed = base.start(system)  # of many steps at once; `stepper` is of one step of any size
        self.stepper: OneStepper = self.programmed if system.stimuli is None else following(self.programmed, system)

    def next(self, t: float, limit: float, rows: Floats) -> StepBatch:
        """Step from t to some next points, none after `limit` [s], the time of the next known event."""
        system, number = self.system, self.system.passed(t)
        together = not system.stepwise and t == system.time(number) and self._runs
        count = min(system.whole_steps(number, limit), len(rows)) if together else 0
        if not count:
            return self._step(t, limit, rows[0])
        self.events.before_steps()
        batch = self.programmed.run(number, rows[:count])
        if not batch.interrupted:
            return batch
        done = batch.steps
        last = self._begun(float(rows[done - 1, 0]) if done else t, limit, rows[done])
        return StepBatch(done + last.steps, last.failure, (*batch.iterations, *last.iterations))

    @property
    def _runs(self) -> bool:
        """True if the kernel can do many steps in one call."""
        stepper = self.programmed
        return not self.events.samples and isinstance(stepper, InterruptibleStepper) and stepper.interruptible

    def _begun(self, t: float, limit: float, row: Floats) -> StepBatch:
        """The step in which a component has returned early: anew, or the rest of it where no other has to go back."""
        system = self.system
        system.kernel.discard_point()
        if not self.events.goes_back:
            return self._step(t, limit, row, begun=True)
        outcome = system.kernel.restore(system.everything.group)
        return self._step(t, limit, row) if outcome.ok else StepBatch(0, system.explain(outcome, t))

    def _step(self, t: float, limit: float, row: Floats, *, begun: bool = False) -> StepBatch:
        """Step to the next communication point, or to an event before it; returns one row, or none if the event is at
        t.

        `begun`: it has been tried already, and a component has returned before its end.
        """
        h, end = self.system.next_step(t, limit)
        values = self.system.kernel.values
        failure = None if begun else self.events.before_step(t)
        before = values.copy()  # without ticks
        for _ in range(MAX_RETURNS):
            if failure is not None:
                return StepBatch(0, failure)
            outcome = self.stepper.step(t, h, end) if end > t and not begun else 0
            begun = False
            early = self.events.early(end)
            if early is None:
                return self._arrive(t, outcome, end, row)
            # Discard the result of a step that was too long, even a failure.
            end = early if early - t > CLOSE * self.system.step else t
            h = end - t
            values[:] = before
            everybody = not self.base.independent_steps
            failure = self.events.go_back(t, end, all_of_them=everybody and end > t)
        return StepBatch(0, no_progress(t, end))

    def _arrive(self, t: float, outcome: int | Failure, end: float, row: Floats) -> StepBatch:
        if isinstance(outcome, Failure):
            return StepBatch(0, outcome)
        if end == t:
            return StepBatch(0)  # an event where the step began: its left side is recorded
        self.system.finish_at(end, row)
        return StepBatch(1, None, (outcome,))


def no_progress(t: float, end: float) -> Failure:
    """A macro step from t that shrinks and shrinks."""
    return Failure(
        Ending.EVENTS,
        f"a macro step does not finish: after {MAX_RETURNS} attempts components still return before t = {end:.12g} s",
        "look for events that depend on how long a step is",
        t,
    )


class _ReturnedEarly(Exception):
    """In an attempt to step, a component has an event at `time` [s], before it is over."""

    def __init__(self, time: float) -> None:
        super().__init__(f"an event at t = {time!r} s")
        self.time = time


class AdaptiveSteps:
    """Steps as the master chooses them, none beyond the next event that is known.

    An attempt in which a component returns early, or asks for an event before its end, is rolled back as one with too
    large an error; the next ones end there.
    """

    def __init__(self, master: StepSizeControl, system: CoupledSystem, events: Events) -> None:
        self.system, self.events = system, events
        self.stepper = master.driven(self._look).start(system)
        self.waiting = False  # the next row is made already

    def next(self, t: float, limit: float, rows: Floats) -> StepBatch:
        """Step from t to the next point, not after `limit` [s], the time of the next known event."""
        stepper, values = self.stepper, self.system.kernel.values
        if self.waiting:
            return self._handed_out(stepper.run(0, rows[:1]))
        self.events.before_steps()
        before, rejected = values.copy(), 0
        for _ in range(MAX_RETURNS):
            stepper.limit = limit
            try:
                batch = stepper.run(0, rows[:1])
            except _ReturnedEarly as early:
                limit, rejected = early.time if early.time - t > self._close else t, rejected + 1
                if failure := self._back(t, limit, before):
                    return StepBatch(0, failure, rejected=rejected)
                if limit > t:
                    continue
                return StepBatch(0, rejected=rejected)  # an event where the step began: its left side is recorded
            return self._handed_out(batch._replace(rejected=batch.rejected + rejected))
        return StepBatch(0, no_progress(t, limit), rejected=rejected)

    def _handed_out(self, batch: StepBatch) -> StepBatch:
        self.waiting = batch.waiting
        return batch

    @property
    def _close(self) -> float:
        return CLOSE * self.system.step

    def _look(self, end: float) -> None:
        """After a step to `end` [s], maybe one of several."""
        early = self.events.early(end, goes_on=end < self.stepper.limit)
        if early is not None:
            raise _ReturnedEarly(early)

    def _back(self, t: float, limit: float, before: Floats) -> Failure | None:
        self.system.kernel.values[:] = before
        failure = self.events.go_back(t, limit, all_of_them=limit > t)
        self.system.kernel.accept(t)
        return failure


@dataclass(frozen=True, slots=True)
class WithEvents:
    """The macro steps of another master, cut where a clock ticks, where a time event is due, where an input jumps, and
    where a component returns early: then all others go back and step to that time too, and the event is handled there,
    with one row for each side of it.

    If not all can go back, components may not return early, and what happens inside a macro step is handled at its end.
    `with_ode`: an ODE beside them is one of those that return early, at each of its events.

    References
    ----------
    FMI 3.0 §4.2.1 (early return, event mode of co-simulation).
    """

    base: CouplingMaster | StepSizeControl
    with_ode: bool = False

    @property
    def name(self) -> str:
        return self.base.name

    @property
    def chooses_steps(self) -> bool:
        return True

    def start(self, system: CoupledSystem) -> Stepper:
        return _Stretches(self, system)

    def outline(self, groups: Sequence[Participants]) -> tuple[str, ...]:
        who, together = ("a component or the ODE", ", with all components") if self.with_ode else ("a component", "")
        return (
            "the step ends at the next tick of a clock, time event or jump of an input",
            *self.base.outline(groups),
            f"where {who} returns early: all others go back and step to that time",
            f"at an event{together}: record, enter event mode, tick clocks, exchange and update discrete states until "
            "all settle, enter step mode, record again",
        )


def with_event_mode(master: CouplingMaster | StepSizeControl, events: EventModes) -> Master:
    """The master for components in event mode."""
    assert events
    return WithEvents(master, events.with_ode)


class _Stretches:
    """Step after step and event after event, row by row.

    Attributes
    ----------
    limit : [s]
        No step goes beyond.
    """

    def __init__(self, master: WithEvents, system: CoupledSystem) -> None:
        assert system.events is not None
        self.system = system
        self.events: Events = system.events
        self.steps: EqualSteps | AdaptiveSteps
        if isinstance(master.base, StepSizeControl):
            self.steps = AdaptiveSteps(master.base, system, self.events)
        else:
            self.steps = EqualSteps(master.base, system, self.events)
        self.t, self.limit = system.start, system.stop
        self.failure = self.events.failure

    @property
    def finished(self) -> bool:
        return not self.steps.waiting and self.t >= self.system.stop - self._close and not self._event_due

    @property
    def _close(self) -> float:
        return CLOSE * self.system.step

    @property
    def _jump_due(self) -> bool:
        return self.system.stimuli is not None and self.t >= self.system.stimuli.end - self._close

    @property
    def _event_due(self) -> bool:
        known = self.events.wanted or self._jump_due or self.t >= self.events.next_time - self._close
        return known or (self.events.samples and self.events.pending)

    @property
    def _limit(self) -> float:
        """Until when nothing is known to happen, and steps may lead [s]."""
        end = min(self.events.next_time, self.system.stop)
        end = end if self.system.stimuli is None else min(end, self.system.stimuli.end)
        return self.system.cut(end, self.limit) if isinstance(self.steps, EqualSteps) else min(end, self.limit)

    def run(self, first: int, rows: Floats) -> StepBatch:
        filled = events = rejected = 0
        iterations: list[int] = []
        while filled < len(rows) and self.failure is None and not self.finished:
            try:
                if self._event_due and not self.steps.waiting:
                    done = self._event(rows[filled])
                    events += done
                elif not self.steps.waiting and self.t >= self.limit - self._close:
                    break
                else:
                    batch = self.steps.next(self.t, self._limit, rows[filled:])
                    self.failure, done = batch.failure, batch.steps
                    iterations += batch.iterations
                    rejected += batch.rejected
            except BadInputs as error:
                self.failure = error.failure(self.t)
                break
            filled += done
            if done:
                self.t = float(rows[filled - 1, 0])
        return StepBatch(
            filled,
            self.failure,
            tuple(iterations),
            rejected,
            finished=self.finished,
            events=events,
            waiting=self.steps.waiting,
        )

    def restart(self) -> None:
        if isinstance(self.steps, AdaptiveSteps):
            self.steps.stepper.restart()

    def save_state(self) -> SavedState:
        own = {"t": np.array(self.t), **under("events", self.events.save_state())}
        if self.system.stimuli is not None:
            own["stretch"] = np.array(self.system.stimuli.segment)
        stepper = self.steps.stepper
        return {**own, **(under("base", stepper.save_state()) if isinstance(stepper, SavableStepper) else {})}

    def restore_state(self, state: SavedState) -> None:
        self.t = float(state["t"])
        self.events.restore_state(part_of(state, "events"))
        if self.system.stimuli is not None:
            self.system.stimuli.go_to(int(state["stretch"]))
        if isinstance(self.steps.stepper, SavableStepper):
            self.steps.stepper.restore_state(part_of(state, "base"))

    def _event(self, row: Floats) -> int:
        """Handle the event at the present time; returns the number of rows filled."""
        self.failure = self.events.handle(self.system, self.t, jump=self._jump_due)
        if self.failure is not None or not self.events.seen:
            return 0
        self.system.record(self.t, row)
        return 1


def shared_with_ode(
    network: Network, implementations: Mapping[str, InterfaceType], of_simulation: EventModes, of_ode: EventModes
) -> tuple[EventModes, EventModes]:
    """The event modes of the whole system, and those that the ODE has for itself.

    Where clocks, or what changes at events only, lead from one to the other, all are members of the first: a macro step
    then ends at every event of the ODE, and all components go through it together. Where the macro step could not be
    taken back to there, the ODE handles its events alone, and others get their effects at communication points.

    Raises
    ------
    UnsupportedByFmu
        Clocks are connected, and a macro step cannot be taken back to where one of the ODE ticks.
    """
    crossing = [wire for wire in network.wires if _crosses(wire, implementations)]
    clocks = [wire for wire in crossing if wire.destination in clock_wires(network).get(wire.source, ())]
    if clocks and not of_simulation.rolls_back:
        unable = [name for name, one in network.components.items() if not saves(one, implementations[name])]
        what = (
            f"the connection {clocks[0].source} → {clocks[0].destination} of clocks of model exchange and co-simulation"
        )
        raise UnsupportedByFmu(unable[0], SAVES, what, "both as model exchange, or both as co-simulation")
    heard = {signal for modes in (of_simulation, of_ode) for signal in modes.signals}
    silent = {name for name, kind in implementations.items() if kind is InterfaceType.CO_SIMULATION}
    silent -= of_simulation.members.keys()  # what these do inside a step, nobody knows
    told = (one for one in crossing if one.destination in heard and one.source.component not in silent)
    # Continuous signals are sampled on both sides.
    jumps = any(network.variable(one.source).variability is not Variability.CONTINUOUS for one in told)
    if not of_simulation.rolls_back or not jumps:
        return of_simulation, of_ode
    together = of_simulation.beside(of_ode)
    return replace(together, clock_wires=clock_wires(network), with_ode=True), NO_EVENT_MODES


def _crosses(wire: Wire, implementations: Mapping[str, InterfaceType]) -> bool:
    ends = [implementations.get(signal.component) for signal in (wire.source, wire.destination)]
    return None not in ends and ends[0] is not ends[1]
