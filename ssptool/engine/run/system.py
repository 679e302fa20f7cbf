"""Systems in C++ that carry out frozen plans: which plans they take, and what they do of a run.

The FMUs are those of an `Assembly`, and so is the wording of all that a system says: it answers with outcomes and
solutions, which are put into words as those of other runs. `carried_out` is the one place that decides.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ssptool.engine.assembly.applied_stimuli import endless_parameters
from ssptool.engine.assembly.assembly import Assembly
from ssptool.engine.assembly.instances import Pool, Sources
from ssptool.engine.assembly.running_events import explanation, failure_of
from ssptool.engine.failure import BadInputs, Failure, IntegrationStopped, RunError
from ssptool.engine.kernel import native_system
from ssptool.engine.kernel.calls import AcceptedSteps
from ssptool.engine.kernel.event_calls import Refused, Stopped
from ssptool.engine.kernel.interface import Floats, Kernel, read_slot
from ssptool.engine.kernel.solutions import NoSize, SystemBatch, SystemRefusal, Unsettled, WhyNoSize
from ssptool.engine.masters.adaptive import always_switching, too_inexact, too_small
from ssptool.engine.masters.energy import residuals_too_large
from ssptool.engine.masters.iterated import Iterated
from ssptool.engine.masters.iterated_groups import KernelGroup
from ssptool.engine.masters.iterated_steps import ProgrammedIteration
from ssptool.engine.masters.master import CoupledSystem, SavableStepper, StepBatch, Stepper
from ssptool.engine.masters.protocols import NONE_UNCONVERGED, SavedState, Unconverged
from ssptool.engine.planning.plan import Plan, PlannedInstance
from ssptool.engine.planning.stimuli import SampledFunctions, slot_sources
from ssptool.engine.run.coupling import Evaluation, couple, evaluation_in
from ssptool.engine.run.freeze import (
    asks_python,
    coupling_master,
    frozen_run,
    frozen_starts,
)
from ssptool.engine.run.initialization import (
    RESET,
    Initialization,
    InitializedSystem,
    carried_through,
    refused_guesses,
    refused_reset,
    unsettled_inputs,
)
from ssptool.engine.run.loops import WRONG_DERIVATIVES, ComponentFailed, LoopWork, RunningLoop
from ssptool.engine.watch import Watch
from ssptool.fmu.description import Value
from ssptool.fmu.instance import NO_FUNCTION, FmiError, FmuInstance
from ssptool.foreign_text import strict_json

if TYPE_CHECKING:
    from ssptool.engine.kernel._kernel import NativeSystem
    from ssptool.engine.run.asked_steps import AskedSteps
    from ssptool.engine.run.iterate_logs import IterateLogs


BY_PYTHON: Mapping[str, Callable[[Plan], bool]] = {}
"""Subjects that Python still carries out, since no system does → whether they are in a plan."""


def why_by_python(plan: Plan) -> str:
    """The first subject of a plan that no system carries out; "": it carries out all."""
    return next((what for what, is_in in BY_PYTHON.items() if is_in(plan)), "")


def carried_out(plan: Plan) -> bool:
    """Whether a system carries out the whole plan, from initialization to the last row."""
    return not why_by_python(plan)


class LoadedSystem:
    """A frozen plan that is loaded, for runs of all plans that differ from it in values of parameters only.

    Attributes
    ----------
    plan
        The plan of the present run.
    iterations
        Number of its groups whose steps are iterated.
    logs
        Logs of iterates of the present run, if there are any.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        content = frozen_run(plan)
        self.native = native_system(strict_json(content).encode())
        if plan.stimuli.actions:
            from ssptool.engine.run.frozen_scenario import frozen_scenario  # few runs have one

            self.native.state_scenario(strict_json(frozen_scenario(plan)).encode())
        self.iterations = len(content["stepping"].get("iterations", ()))
        self.logs: IterateLogs | None = None
        self._paths: dict[str, Path] = {}
        self._adopted: dict[int, FmuInstance] = {}

    def serves(self, plan: Plan) -> bool:
        """Whether it can carry out this plan, too; it is ready for that then."""
        if not _agree(self.plan, plan, _MAY_DIFFER):
            return False
        if len(plan.instances) != len(self.plan.instances) or self.plan.recorded != plan.recorded:
            return False
        pairs = list(zip(self.plan.instances, plan.instances, strict=True))
        if not all(_agree(one, other, _STARTS) and _same_signals(plan, one, other) for one, other in pairs):
            return False
        for number, (one, other) in enumerate(pairs):
            if one.starts is not other.starts:
                starts = strict_json(frozen_starts(other)).encode()
                self.native.state_starts(number, other.description.fmi_major, starts)
        self.plan = plan
        return True

    def path(self, source: str, sources: Sources) -> Path:
        """The file or folder of an FMU; the sources of all plans are the same."""
        if source not in self._paths:
            self._paths[source] = sources.local_path(source)
        return self._paths[source]

    def callback(self, index: int) -> tuple[int, int]:
        """Addresses of the environment of a component that asks for inputs inside a step, and of what it calls."""
        return self.native.callback(index)

    def adopt(
        self, index: int, instance: FmuInstance, functions: Callable[[], dict[str, int]], watch: Watch | None
    ) -> None:
        """A component of the plan; that of the run before it has already."""
        if self._adopted.get(index) is instance:
            return
        taken, component = {**instance.functions, **functions()}, instance.component
        if watch:
            taken, component = watch.stand_ins(index, taken, component)
        self.native.adopt(index, taken, component)
        self._adopted[index] = instance

    def begin(self) -> Kernel:
        """The kernel of the next run, whose components are adopted."""
        return self.native.begin()

    def release(self) -> None:
        """Free all saved states of components."""
        self.native.release()

    def resumed(self, index: int) -> int:
        """Number of steps that a component in event mode has ended early although it may not."""
        return self.native.resumed(index)

    def initialize(self, assembly: Assembly) -> InitializedSystem:
        """As `initialize` of components that Python leads."""
        self._log_iterates(assembly)
        return carried_through(SystemInitialization(assembly, self))

    def resume(self, assembly: Assembly, state: bytes) -> None:
        """Instead of initialization: components go on from a state that was saved.

        Raises
        ------
        FmiError
            A component refuses its state.
        RuntimeError, ValueError
            The state is of another system.
        """
        self._log_iterates(assembly)
        refusal = self.native.resume(state)
        if isinstance(refusal, SystemRefusal):
            raise _refused(assembly, refusal)
        for instance in assembly.instances:
            instance.was_initialized(done=True)

    def _log_iterates(self, assembly: Assembly) -> None:
        self.logs = None
        if assembly.loop_log is not None or assembly.coupling_log is not None:
            from ssptool.engine.run.iterate_logs import IterateLogs  # few runs have logs

            self.logs = IterateLogs(assembly)
            self.native.log_iterates(self.logs.loop, self.logs.step, self.logs.of_bonds)
            assembly.at_end.callback(self.native.log_iterates, None, None, None)


class SystemInitialization(Initialization):
    """Passes of an initialization that a system does."""

    def __init__(self, assembly: Assembly, loaded: LoadedSystem) -> None:
        super().__init__(assembly)
        self._native, self._logs = loaded.native, loaded.logs

    def lead_through(self) -> None:
        refusal, stopped = self._initialized()
        if self._logs is not None:
            self._logs.check()
        self.assembly.restore_surroundings("in initialization")
        for number, instance in enumerate(self.assembly.instances):
            instance.was_initialized(done=self._native.initialized(number))
        self.notes += self._of_refused_guesses()
        self._report(refusal)
        if stopped is not None:
            raise explanation(stopped, self.assembly.instances)

    def _initialized(self) -> tuple[SystemRefusal | None, Stopped | Refused | None]:
        """Reason for which the initialization has ended before its time, if there is one."""
        try:
            return self._native.initialize(), None
        except (Stopped, Refused) as stopped:
            return None, stopped

    def evaluate_first_point(self) -> None:
        refusal = self._native.first_point()
        if self._logs is not None:
            self._logs.check()
        self._report(refusal)

    def _of_refused_guesses(self) -> Iterator[str]:
        planned = {one.name: (one, slots) for one, slots in self.plan.first_guesses()}
        for refusal in self._native.refused_guesses:
            one, slots = planned[refusal.component]
            names = [self.plan.signals[slot].variable for slot in slots]
            yield from refused_guesses(one, refusal.function, refusal.status, names)

    def _report(self, refusal: SystemRefusal | None) -> None:
        """Reports on loops so far; raises for what has been refused what `carried_through` takes."""
        start, loops = self.plan.interval.start, self.plan.loops
        for one in self._native.solved[len(self.reports) :]:
            loop = RunningLoop(self.assembly, loops[one.number], one.number, -1)
            self.reports.append(loop.report(one.solution, start, one.iterates))
        if refusal is None:
            return
        if refusal.outcome is not None:
            raise ComponentFailed(refusal.outcome)
        if refusal.loop is not None:
            raise IntegrationStopped(self.reports[-1].failure())
        if refusal.unsettled is not Unsettled.NOTHING:
            raise IntegrationStopped(self._unsettled_in(refusal))
        error = _refused(self.assembly, refusal)
        if refusal.function == RESET:
            failure = self.assembly.refused(error, start)
            raise IntegrationStopped(refused_reset(failure, self._values(refusal.names)))
        raise error

    def _unsettled_in(self, refusal: SystemRefusal) -> Failure:
        if refusal.unsettled is Unsettled.INPUTS_WITHOUT_MODE:
            return unsettled_inputs(self.plan, refusal.names)
        if refusal.unsettled is Unsettled.DISCRETE_SIGNALS:
            return self._unsettled("discrete signals", refusal.names)
        return endless_parameters(refusal.names, self.plan.interval.start)

    def _values(self, names: Collection[str]) -> dict[str, Value]:
        """Present values of signals of one component, by the names of its variables."""
        signals, types = self.plan.signals, self.plan.types
        slots = [slot for slot, signal in enumerate(signals) if str(signal) in names]
        return {signals[slot].variable: read_slot(self.kernel, slot, types[slot]) for slot in slots}


def _refused(assembly: Assembly, refusal: SystemRefusal) -> FmiError:
    """Refusal of a function by a component."""
    instance = next(one for one in assembly.instances if one.name == refusal.component)
    instance.note(refusal.status)
    advice = "" if instance.has(refusal.function) else NO_FUNCTION
    return FmiError(instance.name, refusal.function, refusal.status, instance.log.latest(), advice)


_STARTS = frozenset({"starts"})
_MAY_DIFFER = frozenset({"instances", "settings", "columns", "recorded", "choices", "notes", "accepted", "instead"})
"""Fields of a plan that say nothing to a system, or are compared otherwise."""


def _agree(one: Any, other: Any, but: frozenset[str]) -> bool:
    """Whether two plans, or parts of plans, have the very same values in all other fields."""
    return all(getattr(one, f.name) is getattr(other, f.name) for f in fields(one) if f.name not in but)


def _same_signals(plan: Plan, one: PlannedInstance, other: PlannedInstance) -> bool:
    """Whether start values differ in no variable that is exchanged, whose first guess may be such a value."""
    if one.starts is other.starts:
        return True
    exchanged = {signal.variable for signal in (*one.inputs, *one.outputs)}
    if (member := plan.event_modes.members.get(one.name)) is not None:
        exchanged |= {clocked.signal.variable for clocked in (*member.inputs, *member.outputs)}
    missing = object()
    names = one.starts.keys() | other.starts.keys()
    return all(one.starts.get(name, missing) == other.starts.get(name, missing) for name in exchanged & names)


def system_for(plan: Plan, pool: Pool | None) -> LoadedSystem | None:
    """A system for a run of this plan, out of the pool if one of an earlier run serves; None: Python carries it out."""
    kept = [] if pool is None else pool.systems
    found = next((one for one in kept if isinstance(one, LoadedSystem) and one.serves(plan)), None)
    if found is not None or not carried_out(plan):
        return found
    loaded = LoadedSystem(plan)
    kept[:] = [loaded]
    return loaded


class _RegisteredKernel:
    """The kernel of a system, for those who register what the system has registered already, in the same order."""

    def __init__(self, kernel: Kernel, schedules: int = 0) -> None:
        """`schedules`: so many were registered before."""
        self._kernel = kernel
        self._counts = {"group": 0, "schedule": schedules, "iteration": 0}
        self.registered = False  # all of them

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)

    def group(self, _: object) -> int:
        return self._next("group")

    def schedule(self, _: object) -> int:
        return self._next("schedule")

    def iteration(self, _: object) -> int:
        return self._next("iteration")

    def set_accepted_steps(self, iteration: int, accepted: AcceptedSteps) -> None:
        """While they are registered, they are what they are."""
        if self.registered:
            self._kernel.set_accepted_steps(iteration, accepted)

    def _next(self, what: str) -> int:
        self._counts[what] += 1
        return self._counts[what] - 1


class _Registering(_RegisteredKernel):
    """Nothing moves."""

    def exchange(self, _: int) -> None: ...

    def accept(self, _: float) -> None: ...


class _InputSources:
    """Input sources of a system, in its present segment."""

    def __init__(self, plan: Plan, kernel: Kernel, native: "NativeSystem") -> None:
        self._kernel, self._native = kernel, native
        self._functions = SampledFunctions(slot_sources(plan), kernel)
        self._segment = plan.interval.start, math.inf
        self._error: BaseException | None = None

    @property
    def end(self) -> float:
        """End of the segment [s]."""
        return self._native.end_of_segment

    @property
    def sample(self) -> Callable[[float, float, float], bool] | None:
        """Has functions called; None: there are none."""
        return self._sample if self._functions else None

    def _sample(self, t: float, begin: float, end: float) -> bool:
        self._segment = begin, end
        try:
            self._functions.sample(t, begin, end)
        except BaseException as error:  # it passes the system by
            self._error = error
            return False
        return True

    def failure(self, t: float) -> Failure:
        """Failure of the function that gave no value, at t [s]. Raises what is no such failure."""
        assert self._error is not None
        if not isinstance(self._error, BadInputs):
            raise self._error
        return self._error.failure(t)

    def write(self, t: float) -> None:
        """As `StimuliProtocol.write`."""
        self._functions.sample(t, *self._segment)
        self._kernel.write(t)


class StepsOfSystem:
    """Rows of an initialized system, and loops in words.

    Attributes
    ----------
    unobserved
        Failures to get variables for rows.
    """

    def __init__(self, loaded: LoadedSystem, assembly: Assembly) -> None:
        self._native, self.assembly = loaded.native, assembly
        self.kernel = assembly.kernel
        self.unobserved: list[Failure] = []

    @property
    def start(self) -> float:
        """[s]"""
        return self.assembly.plan.interval.start

    @cached_property
    def _evaluation(self) -> Evaluation:
        """Puts loops into words."""
        return evaluation_in(self.assembly, self._native.loops)

    def record(self, time: float, row: Floats) -> None:
        """Write the row of present values; what cannot be observed is remembered."""
        outcome = self.kernel.record(time, row)
        if not outcome.ok:
            self.unobserved.append(self._evaluation.explain(outcome, time))

    def intervene(self, time: float, act: Callable[[], None], *, at_events: bool) -> Failure | None:
        """Do something to components in event mode: with an event of the whole system, or one of the ODE."""
        try:
            reason = self._native.intervene(act, not at_events)
        except FmiError as error:
            return self.assembly.refused(error, self._time_of(error.instance, time))
        return None if reason is None else self._stopped(reason, time)

    def follow(self, components: Collection[str], time: float) -> Failure | None:
        """Outputs follow from what was set in these components, and the past is forgotten."""
        parts = [number for number, one in enumerate(self.assembly.plan.instances) if one.name in components]
        reason = self._native.follow(parts)
        return None if reason is None else self._stopped(reason, time)

    def save(self) -> bytes:
        """The complete state, for `LoadedSystem.resume`; no row waits. Raises `FmiError`, `RunError`."""
        found = self._native.save()
        if isinstance(found, bytes):
            return found
        if isinstance(found, SystemRefusal) and found.outcome is None:
            raise _refused(self.assembly, found)
        raise RunError(self._stopped(found, self.start))

    def memory(self) -> SavedState | None:
        """Memory of a master in Python, which is no part of the system; None: it cannot be stored."""
        return {}

    def recall(self, memory: SavedState) -> None:
        """Go on with this memory."""

    def _go_on(self) -> None:
        """As the simulation was that is resumed."""
        reason = self._native.go_on()
        if reason is not None:
            raise RunError(self._stopped(reason, self.start))

    def _stopped(self, reason: SystemRefusal | Stopped, time: float) -> Failure:
        """Failure outside of a step."""
        if isinstance(reason, Stopped):
            return failure_of(reason)
        if reason.unsettled is Unsettled.PARAMETERS:
            return endless_parameters(reason.names, time)
        if reason.outcome is not None:
            return self._evaluation.explain(reason.outcome, time)
        return self.assembly.refused(_refused(self.assembly, reason), self._time_of(reason.component, time))

    def _time_of(self, _component: str, time: float) -> float:
        """Time [s] at which a component is that has refused something at this time."""
        return time

    def count_rescues(self, rescues: LoopWork) -> None:
        """Loops in steps that needed the full chain of solvers."""
        work = self._native.rescue_work
        rescues.solved, rescues.iterations = work.solved, work.iterations


class SystemSteps(StepsOfSystem):
    """Macro steps of an initialized system; a coupled system in Python is made only where something is to be said.

    Attributes
    ----------
    limit : [s]
        No step goes beyond.
    ode
        The ODE beside co-simulation.
    failure
        Reason of the end.
    """

    def __init__(
        self,
        loaded: LoadedSystem,
        assembly: Assembly,
        *,
        ode: Any = None,
        resumed: bool = False,
    ) -> None:
        super().__init__(loaded, assembly)
        self._logs, self._iterations = loaded.logs, loaded.iterations
        self.limit = math.inf
        self.ode: Any = ode
        # An empty one: its number tells those of the schedules that come next.
        self._schedules = self.kernel.schedule(()) + 1
        self._native.couple()
        self._sources = _InputSources(assembly.plan, self.kernel, self._native)
        self._asked: AskedSteps | None = None
        if asks_python(coupling_master(assembly.plan)):
            from ssptool.engine.run import asked_steps  # masters of other packages

            self._asked = asked_steps.AskedSteps(self._native, self._stepped[1])
            assembly.at_end.callback(self._native.answer_steps, None)
        if ode is not None:
            ode.begin(resumed=resumed)
        if resumed:
            self._go_on()
        if self._logs is not None:
            self._logs.groups = self.system.groups
        first = None if resumed else self._native.begin_steps()
        self.failure = None if first is None else self._stopped(first, self.start)

    @cached_property
    def _stepped(self) -> tuple[CoupledSystem, Stepper]:
        """The coupled system that a run in Python has, with its stepper."""
        master = coupling_master(self.assembly.plan)
        registering: Any = _Registering(self.kernel, self._schedules)
        unlogged = replace(self.assembly, kernel=registering, loop_log=None, coupling_log=None)
        coupled = couple(unlogged, self._evaluation, self.loops, ode=self.ode)
        stimuli: Any = self._sources
        system = replace(
            coupled, kernel=self.kernel, evaluate=self._evaluate, stimuli=stimuli, unobserved=self.unobserved
        )
        if asks_python(master):
            return system, master.start(system)
        registered: Any = _RegisteredKernel(self.kernel)
        stepper = master.start(replace(coupled, kernel=registered))
        registered.registered = True
        return system, stepper

    def _evaluate(self, schedule: int, time: float) -> Failure | None:
        outcome = self._native.evaluate(schedule)
        return None if outcome.ok else self._evaluation.explain(outcome, time)

    @property
    def system(self) -> CoupledSystem:
        """The coupled system that a run in Python has, for words."""
        return self._stepped[0]

    @property
    def _tells(self) -> bool:
        """Whether steps were accepted of which something is to be said."""
        accepted = map(self.kernel.accepted_steps, range(self._iterations))
        return any(one.trial or one.noisy or one.damped or one.unrepeated or one.unconverged for one in accepted)

    @property
    def unconverged(self) -> Unconverged:
        """Steps of a fixed number of iterations that had not converged."""
        return self.system.unconverged if self._tells else NONE_UNCONVERGED

    def remarks(self) -> Iterable[str]:
        """Remarks on accepted steps."""
        return self.system.remarks() if self._tells else ()

    def count_rescues(self, rescues: LoopWork) -> None:
        """Loops in steps that needed the full chain of solvers; a remark on the run, if derivatives were wrong."""
        super().count_rescues(rescues)
        if self._native.rescue_work.contradicted:
            self.assembly.remark(WRONG_DERIVATIVES)

    def restart(self) -> None:
        """Sizes of steps begin anew, where they are chosen."""
        self._native.restart()

    def run(self, first: int, rows: Floats) -> StepBatch:
        """As `Stepper.run`."""
        if self.failure is not None:
            return StepBatch(0, self.failure)
        done = self._native.run(self.limit, rows, self._sources.sample)
        if self._logs is not None:
            self._logs.check()
        if done.unobserved is not None:
            self.unobserved.append(self._evaluation.explain(*done.unobserved))
        if done.stopped is not None:
            self.failure = self._stopped(done.stopped, done.begin)
        elif done.unsampled:
            self.failure = self._sources.failure(done.begin)
        elif done.no_size is not None:
            self.failure = self._without_size(done, done.no_size)
        elif not done.outcome.ok:
            self.failure = self._failure(done)
        counted = self._asked is not None or isinstance(coupling_master(self.assembly.plan), Iterated)
        counts = tuple(done.iterations.tolist()) if counted else (1,) * done.alone
        return StepBatch(
            done.steps,
            self.failure,
            counts,
            done.rejected,
            finished=self._native.finished,
            events=done.events,
            waiting=done.waiting,
        )

    @property
    def loops(self) -> dict[int, RunningLoop]:
        """Loops in steps, by number in the plan."""
        return {loop.number: loop for loop in self._evaluation.loops}

    def memory(self) -> SavedState | None:
        if self._asked is None:
            return {}
        stepper = self._stepped[1]
        return stepper.save_state() if isinstance(stepper, SavableStepper) else None

    def recall(self, memory: SavedState) -> None:
        stepper = self._stepped[1]
        if self._asked is not None and isinstance(stepper, SavableStepper):
            stepper.restore_state(memory)

    def _without_size(self, done: SystemBatch, why: NoSize) -> Failure:
        """Failure where no step is small enough."""
        if why.why is WhyNoSize.FAILED:
            failed = self._failure(done)
            return too_small(why.size, failed.message, why.time, failed)
        if why.why is WhyNoSize.RESIDUALS:
            return residuals_too_large(why.size, why.error, why.time)
        name = str(self.assembly.plan.signals[why.slot])
        if why.why is WhyNoSize.INEXACT:
            return too_inexact(why.size, name, why.error, why.time)
        return always_switching(name, why.size, why.time)

    def _failure(self, done: SystemBatch) -> Failure:
        outcome, t, end = done.outcome, done.begin, done.end
        if self._asked is not None and (failure := self._asked.failure()):
            return failure
        if done.rescuing:
            return self._evaluation.explain(outcome, end)
        system, stepper = self._stepped
        if isinstance(stepper, ProgrammedIteration) and self._iterations:
            driving = bool(self.assembly.plan.stimuli.sources)
            group = stepper.iteration.groups[stepper.owner[outcome.instruction - driving]]
            if isinstance(group, KernelGroup):
                return group.explain(outcome, t, end)
        return system.explain_step(outcome, t, end)
