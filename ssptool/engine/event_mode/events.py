"""Events of co-simulation: bringing components to one, and through it."""

from collections.abc import Callable, Mapping
from dataclasses import field

import numpy as np

from ssptool.dataclass import dataclass
from ssptool.engine.assembly import Assembly
from ssptool.engine.chatter import Cause, Chatter, wish_to_end
from ssptool.engine.checkpoint import Checkpoint
from ssptool.engine.ending import Failure
from ssptool.engine.event_mode.iteration import MAX_ITERATIONS, EventIteration, endless
from ssptool.engine.event_mode.running import RunningEvents
from ssptool.engine.event_mode.sampling import system_takes_samples
from ssptool.engine.event_mode.steps import StepReport
from ssptool.engine.kernel.interface import Call, Outcome
from ssptool.engine.masters.master import CLOSE, Coupled
from ssptool.engine.masters.partners import Component, Memory, Updated
from ssptool.engine.stopped import Stopped
from ssptool.fmu.instance import FmiError


@dataclass(slots=True)
class Events:
    """Implements `masters.master.Events` for the members of an assembly.

    Each of them is an event iteration of the members. If events of the `ode` are those of the whole system, all its
    components go through each of them too.
    """

    assembly: Assembly
    running: RunningEvents
    ode: Component | None = None
    samples: bool = False
    failure: Failure | None = None
    seen: bool = True
    _chatter: Chatter = field(init=False)
    _outputs: int = field(init=False)
    _reports: Mapping[int, StepReport] = field(init=False)

    def __post_init__(self) -> None:
        plan, kernel = self.assembly.plan, self.assembly.kernel
        self._chatter = Chatter(plan.interval.step)
        every = enumerate(plan.instances)
        self._outputs = kernel.sweep([Call(i, (), one.output_slots) for i, one in every if one.output_slots])
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
            # There is no step that would read them.
            return self._explained(self.assembly.kernel.evaluate(self._outputs), t)
        return failure

    def _there(self, end: float) -> list[int]:
        places = ((index, report.reached) for index, report in self._reports.items())
        return [index for index, reached in places if reached is not None and abs(reached - end) <= self._close]

    @property
    def wanted(self) -> bool:
        return any(report.wanted for report in self._reports.values())

    # -- events --------------------------------------------------------------------------------------------------

    def begin(self, system: Coupled) -> None:
        """The first event, right after initialization, which the members are in event mode for."""
        t = system.start
        try:
            self._leave(system, t, changed=self._iterate(system, t), first=True)
        except Stopped as stopped:
            self.failure = stopped.failure
        except FmiError as error:
            self.failure = self.assembly.refused(error, t)

    def handle(self, system: Coupled, t: float, *, jump: bool) -> Failure | None:
        causes = tuple(self._causes(t))
        return self._event(system, t, causes, (lambda: self._jump(system, t)) if jump else _nothing)

    def intervene(self, system: Coupled, t: float, action: Callable[[], None]) -> Failure | None:
        return self._event(system, t, (), action)

    def _event(
        self, system: Coupled, t: float, causes: tuple[Cause, ...], action: Callable[[], None]
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
        except Stopped as stopped:
            return stopped.failure
        except FmiError as error:
            return self.assembly.refused(error, t)
        return None

    def _leave(self, system: Coupled, t: float, *, changed: bool, first: bool = False) -> bool:
        self.running.leave()
        seen = self.ode is None or self.ode.leave(changed=changed, first=first)
        self._beside(system, t)
        self.running.show_ticks()
        return seen

    def memory(self) -> Memory:
        wanted = [report.wanted for report in self._reports.values()]
        return {**self.running.memory(), "wanted": np.array(wanted, dtype=bool)}

    def recall(self, memory: Memory) -> None:
        self.running.recall(memory)
        for report, wanted in zip(self._reports.values(), memory["wanted"].tolist(), strict=True):
            report.recall(wanted=wanted)

    def _causes(self, t: float) -> list[Cause]:
        found = [
            Cause(self.running.members[timer.member].name, f"clock {timer.clock.name}")
            for timer in self.running.agenda.due(t + self._close)
        ]
        for member in self.running.stepped:
            if self._reports[member.index].wanted:
                found.append(Cause(member.name, "an event"))
            elif member.next_time <= t + self._close:
                found.append(Cause(member.name, "time event"))
        return found

    def _jump(self, system: Coupled, t: float) -> None:
        assert system.drive is not None
        outcomes: list[Outcome] = []
        drive = system.drive
        if system.ode is None or self.ode is not None:
            outcomes.append(drive.jump())
        elif failure := system.ode.intervene(lambda: outcomes.append(drive.jump())):
            raise Stopped(failure)
        for outcome in outcomes:
            self._check(outcome, t)

    def _beside(self, system: Coupled, t: float) -> None:
        """What follows in an ODE that has events of its own, and from there back in members. The past is forgotten."""
        apart = system.ode if self.ode is None else None
        for _ in range(MAX_ITERATIONS):
            if apart is not None and (failure := apart.intervene(lambda: None)):
                raise Stopped(failure)
            if failure := system.settle(t):
                raise Stopped(failure)
            if apart is None or not self.running.pending():
                return
            self.running.enter()
            self._iterate(system, t)
            self.running.leave()
        raise Stopped(endless(t, (), ()))

    # -- event iteration -----------------------------------------------------------------------------------------

    def _iterate(self, system: Coupled, t: float) -> bool:
        """Event iterations until the members settle; whether anything has changed. They stay in event mode."""
        return self._iteration(system).settle(t, t + self._close)

    def _iteration(self, system: Coupled) -> EventIteration:
        return EventIteration(self.running, system.nominal, lambda t: self._evaluate(system, t), self._update)

    def _update(self, t: float) -> list[Updated]:
        found = []
        for member in self.running.stepped:
            update = member.mode.update()
            if update.terminate:
                raise Stopped(wish_to_end(member.name, t))
            member.next_time = update.next_time
            found.append(Updated(member.name, update.again))
        return found if self.ode is None else [*found, *self.ode.update(t)]

    def _evaluate(self, system: Coupled, t: float) -> None:
        """Everything that the kernel exchanges, at this instant."""
        self._check(system.kernel.evaluate(self._outputs), t)
        system.kernel.exchange(system.everything.group)
        if failure := system.evaluate(system.everything.sweep, t):
            raise Stopped(failure)
        system.kernel.exchange(system.everything.group)

    def _check(self, outcome: Outcome, t: float) -> None:
        if failure := self._explained(outcome, t):
            raise Stopped(failure)

    def _explained(self, outcome: Outcome, t: float) -> Failure | None:
        return None if outcome.ok else self.assembly.explain(outcome, t)


def _nothing() -> None:
    pass


def begin_events(assembly: Assembly, running: RunningEvents, system: Coupled, *, afresh: bool) -> Events:
    """What is to be done at events; the one at the start is done if the system starts `afresh`."""
    events = Events(
        assembly,
        running,
        system.ode if assembly.plan.event_modes.with_ode else None,
        system_takes_samples(assembly.plan),
    )
    if afresh:
        events.begin(system)
    return events
