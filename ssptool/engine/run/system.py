"""C++ systems that carry out frozen plans, for Python.

Their FMUs belong to an `Assembly`. This module turns the outcomes and solutions that a system returns into failures and
remarks.
"""

import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import fields
from functools import cached_property, reduce
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from ssptool.documents.diagnostics import BadData
from ssptool.engine.assembly.applied_stimuli import endless_parameters
from ssptool.engine.assembly.assembly import Adopted, Assembly
from ssptool.engine.assembly.instances import Pool
from ssptool.engine.failure import Failure, RunError, failure_of_input
from ssptool.engine.kernel import native_system
from ssptool.engine.kernel.calls import AcceptedSteps, Code, Floats, Op, Outcome, Stretches
from ssptool.engine.kernel.solutions import NoSize, StepBatch, SystemRefusal, Unsettled, WhyNoSize
from ssptool.engine.masters.convergence import remarks_on_steps, unconverged_steps
from ssptool.engine.masters.iterated import Iterated
from ssptool.engine.masters.iteration_failures import IterationFailures
from ssptool.engine.masters.master import CoupledSystem, Coupling, CouplingMaster, time_of_failure
from ssptool.engine.masters.protocols import NONE_UNCONVERGED, Inexact, InstanceGroup, SavedState, Unconverged
from ssptool.engine.masters.step_sizes import always_switching, residuals_too_large, too_inexact, too_small
from ssptool.engine.planning.plan import FoundAtStart, Plan, PlannedInstance
from ssptool.engine.planning.stimuli import SampledFunctions, slot_sources
from ssptool.engine.run.coupling import Evaluation, Registrations, evaluation_in, interface_ends, real_slots
from ssptool.engine.run.freeze import asks_python, coupling_master, frozen_run, frozen_starts, program_of
from ssptool.engine.run.initialization import Initialization, InitializationReport, refused_call
from ssptool.engine.run.loops import WRONG_DERIVATIVES
from ssptool.engine.run.unresolved_growth import UnresolvedGrowth
from ssptool.fmu.instance import FmiError
from ssptool.foreign_text import strict_json

if TYPE_CHECKING:
    from ssptool.engine.kernel._kernel import NativeKernel, NativeSystem
    from ssptool.engine.run.asked_steps import AskedSteps
    from ssptool.engine.run.iterate_logs import IterateLogs


class LoadedSystem:
    """A loaded frozen plan, for runs of all plans that differ from it only in values of parameters.

    Attributes
    ----------
    plan
        The plan of the present run.
    iterations
        Number of iterated groups.
    asks_python
        True if a master in Python does its macro steps.
    chunk
        Macro steps between two checks of the clock, if known from an earlier run.
    logs
        Logs of iterates of the present run, if there are any.
    adopted
        Its components.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        content = frozen_run(plan)
        self.native = native_system(strict_json(content).encode())
        if plan.stimuli.actions:
            from ssptool.engine.run.frozen_scenario import frozen_scenario  # rarely needed

            self.native.state_scenario(strict_json(frozen_scenario(plan)).encode())
        self.iterations = len(content["stepping"].get("iterations", ()))
        self.asks_python = plan.ode is None and asks_python(coupling_master(plan))
        self.chunk: int | None = None
        self._exchanged: dict[str, frozenset[str]] = {}
        self.logs: IterateLogs | None = None
        self.adopted: Adopted = WeakValueDictionary()

    def serves(self, plan: Plan) -> bool:
        """Prepare for this plan, and return true, if the system can also carry it out."""
        if not _agree(_FIXED, self.plan, plan) or self.plan.recorded != plan.recorded:
            return False
        if len(plan.instances) != len(self.plan.instances):
            return False
        pairs = list(zip(self.plan.instances, plan.instances, strict=True))
        if not all(_agree(_FIXED_OF_PART, *pair) and self._same_signals(*pair) for pair in pairs):
            return False
        for number, (one, other) in enumerate(pairs):
            if one.starts is not other.starts:
                starts = strict_json(frozen_starts(other)).encode()
                self.native.state_starts(number, other.description.fmi_major, starts)
        self.plan = plan
        return True

    def _same_signals(self, one: PlannedInstance, other: PlannedInstance) -> bool:
        """True if start values of exchanged variables are equal."""
        if one.starts is other.starts:
            return True
        if one.name not in self._exchanged:
            self._exchanged[one.name] = _exchanged(self.plan, one)
        missing, names = object(), one.starts.keys() | other.starts.keys()
        first, second = one.starts, other.starts
        return all(first.get(name, missing) == second.get(name, missing) for name in self._exchanged[one.name] & names)

    def initialize(self, assembly: Assembly) -> tuple[InitializationReport, FoundAtStart | None]:
        """Initialize from start values to the first row: a report, which contains the failure if there is one, and
        facts that the plan lacks, if some were found.
        """
        self._log_iterates(assembly)
        return Initialization(assembly, self.native, self.check_logs).carried_out()

    def resume(self, assembly: Assembly, state: bytes) -> None:
        """Continue from a saved state, instead of initializing.

        Raises
        ------
        FmiError
            A component rejects its state.
        RuntimeError, ValueError
            The state belongs to another system.
        """
        self._log_iterates(assembly)
        refusal = self.native.resume(state)
        if isinstance(refusal, SystemRefusal):
            raise refused_call(assembly, refusal)
        for instance in assembly.instances:
            instance.was_initialized(done=True)

    def check_logs(self) -> None:
        """Raise the stored error of a log, if there is one."""
        if self.logs is not None:
            self.logs.check()

    def _log_iterates(self, assembly: Assembly) -> None:
        self.logs = None
        if assembly.loop_log is not None or assembly.coupling_log is not None:
            from ssptool.engine.run.iterate_logs import IterateLogs  # rarely needed

            self.logs = IterateLogs(assembly)
            self.native.log_iterates(self.logs.loop, self.logs.step, self.logs.of_bonds)
            assembly.at_end.callback(self.native.log_iterates, None, None, None)


_MAY_DIFFER = frozenset({"instances", "settings", "columns", "recorded", "choices", "notes", "accepted", "instead"})
"""Fields of a plan that the system does not use, or that are compared separately."""

_FIXED = attrgetter(*(field.name for field in fields(Plan) if field.name not in _MAY_DIFFER))
_FIXED_OF_PART = attrgetter(*(field.name for field in fields(PlannedInstance) if field.name != "starts"))


def _agree(values: Callable[[Any], Any], one: Any, other: Any) -> bool:
    """True if two plans, or parts of plans, have equal values."""
    return all(map(is_, values(one), values(other)))


def _exchanged(plan: Plan, one: PlannedInstance) -> frozenset[str]:
    """Variables whose start value may be used as a first guess."""
    signals = (*one.inputs, *one.outputs)
    if (member := plan.event_modes.members.get(one.name)) is not None:
        signals = (*signals, *(clocked.signal for clocked in (*member.inputs, *member.outputs)))
    return frozenset(signal.variable for signal in signals)


def system_for(plan: Plan, pool: Pool | None) -> LoadedSystem:
    """A system for a run of this plan: one of an earlier run from the pool if possible, otherwise a new one."""
    kept = [] if pool is None else pool.systems
    found = next((one for one in kept if isinstance(one, LoadedSystem) and one.serves(plan)), None)
    if found is not None:
        return found
    loaded = LoadedSystem(plan)
    kept[:] = [loaded]
    return loaded


class _InputSources:
    """Input sources of a system, in its present segment."""

    def __init__(self, plan: Plan, kernel: "NativeKernel", native: "NativeSystem") -> None:
        self._kernel, self._native = kernel, native
        self.functions = SampledFunctions(slot_sources(plan), kernel)
        self._segment = plan.interval.start, math.inf
        self._error: BaseException | None = None

    @property
    def sample(self) -> Callable[[float, float, float], bool] | None:
        """Function that calls the functions of input sources; None if there are none."""
        return self._sample if self.functions else None

    def _sample(self, t: float, begin: float, end: float) -> bool:
        self._segment = begin, end
        try:
            self.functions.sample(t, begin, end)
        except BaseException as error:  # it cannot pass through the system, so it is stored
            self._error = error
            return False
        return True

    def failure(self, t: float) -> Failure:
        """Failure of the function that returned no value, at t [s]. Raises any other error of the function."""
        assert self._error is not None
        if not isinstance(self._error, BadData):
            raise self._error
        return failure_of_input(self._error, t)

    def write(self, t: float) -> None:
        """Write the values of all input sources at t [s], in the present segment."""
        self.functions.sample(t, *self._segment)
        self._kernel.write(t)


class SystemSteps:
    """Macro steps of an initialized system, with its rows, and messages about its loops.

    Attributes
    ----------
    limit : [s]
        Time that no step exceeds.
    failure
        Reason of an early end.
    unobserved
        Failed reads of variables for rows.
    """

    def __init__(self, loaded: LoadedSystem, assembly: Assembly, *, resumed: bool = False) -> None:
        self._loaded, self._native, self.assembly = loaded, loaded.native, assembly
        self.kernel, plan = assembly.kernel, assembly.plan
        self.unobserved: list[Failure] = []
        self._iterations = loaded.iterations
        self._counts = loaded.asks_python or (not plan.is_one_ode and isinstance(coupling_master(plan), Iterated))
        self.limit = math.inf
        # An empty schedule, whose number is the offset of the following schedules.
        self._schedules = self.kernel.schedule(()) + 1
        self._native.couple()
        self._sources = _InputSources(plan, self.kernel, self._native)
        self._growth = UnresolvedGrowth(plan, self.kernel)
        self._asked = self._ask(coupling_master(plan)) if loaded.asks_python else None
        if loaded.logs is not None and not plan.is_one_ode:
            loaded.logs.groups = self._coupling.groups
        first = self._begin(resumed=resumed)
        self.failure = None if first is None else self._stopped(first, self.start)

    def _begin(self, *, resumed: bool) -> SystemRefusal | Failure | None:
        """Begin steps after the coupling, or continue from the restored state. Returns the reason of a failure at the
        start.
        """
        if not resumed:
            return self._native.begin_steps()
        self._go_on()
        return None

    @property
    def start(self) -> float:
        """Start time [s]."""
        return self.assembly.plan.interval.start

    def show_end(self, time: float) -> None:
        """Make outputs of the ODE consistent at this time [s], at which one of its components has ended the simulation.
        May raise `RunError`, `FmiError`.
        """

    @cached_property
    def _evaluation(self) -> Evaluation:
        """Messages about loops."""
        return evaluation_in(self.assembly, self._native.loops)

    def record(self, time: float, row: Floats) -> None:
        """Write the row of present values; failed reads are stored in `unobserved`."""
        outcome = self.kernel.record(time, row)
        if not outcome.ok:
            self.unobserved.append(self._evaluation.explain(outcome, time))

    def intervene(self, time: float, act: Callable[[], None], *, at_events: bool) -> Failure | None:
        """Call `act`, which changes components in event mode, within an event of the whole system or of the ODE."""
        try:
            reason = self._native.intervene(act, not at_events)
        except FmiError as error:
            return self.assembly.refused(error, self._time_of(error.instance, time))
        return None if reason is None else self._stopped(reason, time)

    def follow(self, components: Collection[str], time: float) -> Failure | None:
        """Update outputs after these components were set, and forget the past."""
        parts = [number for number, one in enumerate(self.assembly.plan.instances) if one.name in components]
        reason = self._native.follow(parts)
        return None if reason is None else self._stopped(reason, time)

    def save(self) -> bytes:
        """Return the complete state, for `LoadedSystem.resume`; no rows may wait. Raises `FmiError`, `RunError`."""
        found = self._native.save()
        if not isinstance(found, bytes):
            raise self._refusal(found)
        return found

    def keep(self) -> int:
        """Keep the complete state in memory, for `go_back`; no rows may wait. Raises `FmiError`, `RunError`."""
        found = self._native.keep()
        if not isinstance(found, int):
            raise self._refusal(found)
        return found

    def go_back(self, number: int) -> None:
        """Restore a kept state. Raises `FmiError`, `RunError`."""
        reason = self._native.go_back(number)
        if reason is not None:
            raise self._refusal(reason)
        self.unobserved.clear()
        self.failure = None

    def _refusal(self, reason: SystemRefusal | Failure) -> Exception:
        if isinstance(reason, SystemRefusal) and reason.outcome is None:
            return refused_call(self.assembly, reason)
        return RunError(self._stopped(reason, self.start))

    @property
    def inexact(self) -> Inexact:
        """Errors of adaptive steps that cannot be repeated."""
        steps, error, time, slot = self._native.inexact
        return Inexact(steps, error, time, "" if slot < 0 else str(self.assembly.plan.signals[slot]))

    def _go_on(self) -> None:
        """Continue from the restored state."""
        reason = self._native.go_on()
        if reason is not None:
            raise RunError(self._stopped(reason, self.start))

    def _stopped(self, reason: SystemRefusal | Failure, time: float) -> Failure:
        """Failure outside of a step."""
        if isinstance(reason, Failure):
            return reason
        if reason.unsettled is Unsettled.PARAMETERS:
            return endless_parameters(reason.names, time)
        if reason.outcome is not None:
            return self._evaluation.explain(reason.outcome, time)
        return self.assembly.refused(refused_call(self.assembly, reason), self._time_of(reason.component, time))

    def _time_of(self, _component: str, time: float) -> float:
        """Time [s] of a component that rejected a call at this time [s]."""
        return time

    def rescues(self) -> tuple[int, int]:
        """Number of loop solves in steps that needed the full chain of solvers, and of their iterations. If derivatives
        were wrong, a remark is added.
        """
        outside, inside = self._native.rescue_work, self.kernel.rescue_work
        if outside.contradicted or inside.contradicted:
            self.assembly.remark(WRONG_DERIVATIVES)
        return (outside.solved + inside.solved, outside.iterations + inside.iterations)

    def _ask(self, master: CouplingMaster) -> "AskedSteps":
        """Connect a master in Python to the system."""
        assert asks_python(master)
        from ssptool.engine.run.asked_steps import AskedSteps  # rarely needed

        self.assembly.at_end.callback(self._native.answer_steps, None)
        return AskedSteps(self._native, master.start(self._system))

    @property
    def _system(self) -> CoupledSystem:
        """The system as a master in Python sees it."""
        plan = self.assembly.plan
        return CoupledSystem(
            self.kernel,
            self.start,
            plan.interval.step,
            self._coupling,
            self._evaluate,
            self._evaluation.explain,
            real_slots(plan),
        )

    @cached_property
    def _coupling(self) -> Coupling:
        """The coupling as registered with the kernel, with numbers of schedules shifted by the earlier ones."""
        return Registrations(self.assembly.plan).coupling()

    @property
    def everyone(self) -> int:
        """The group of all components."""
        return 0 if self.assembly.plan.is_one_ode else self._coupling.everything.group

    @property
    def next_jump(self) -> float:
        """The next jump of inputs or scenarios [s], which has a row on each side; inf for an ODE, whose integrator
        handles jumps.
        """
        return math.inf if self.assembly.plan.is_one_ode else self._native.end_of_segment

    def write_inputs(self, time: float) -> None:
        """Write the values of all input sources at this time [s]."""
        self._sources.write(time)

    def _evaluate(self, schedule: int, time: float) -> Failure | None:
        outcome = self._native.evaluate(self._schedules + schedule)
        return None if outcome.ok else self._evaluation.explain(outcome, time)

    @property
    def _iterated(self) -> Iterator[tuple[InstanceGroup, AcceptedSteps, int]]:
        """Iterated groups, with their accepted steps, and the number of iterations of each step, if it is fixed."""
        master = coupling_master(self.assembly.plan)
        if isinstance(master, Iterated):
            for number, group in enumerate(one for one in self._coupling.groups if len(one.unknowns)):
                yield group, self.kernel.accepted_steps(number), master.count

    @property
    def _tells(self) -> bool:
        """True if there are accepted steps to report."""
        return any(self.kernel.accepted_steps(number).remarkable for number in range(self._iterations))

    @property
    def unconverged(self) -> Unconverged:
        """Steps with a fixed number of iterations that had not converged, of all groups."""
        if not self._tells:
            return NONE_UNCONVERGED
        return reduce(Unconverged.beside, (unconverged_steps(*one) for one in self._iterated), NONE_UNCONVERGED)

    @property
    def damped_phases(self) -> tuple[Stretches, ...]:
        """Intervals of time [s] in whose steps inputs were held at their value at the end, for each iterated group."""
        return tuple(self.kernel.damped_phases(number) for number in range(self._iterations))

    def remarks(self) -> Iterator[str]:
        """Remarks on accepted steps, and on events between communication points."""
        if self._tells:
            for one in self._iterated:
                yield from remarks_on_steps(*one)

    def growth(self) -> Iterator[str]:
        """Remarks on signals that have grown by orders of magnitude."""
        return self._growth.remarks()

    def restart(self) -> None:
        """Restart the control of step sizes, if there is one."""
        self._native.restart()

    def run(self, rows: Floats) -> StepBatch:
        """Do steps until `rows` is full. Each call continues where the previous one ended."""
        return StepBatch(failure=self.failure) if self.failure is not None else self._advanced(rows)

    def _advanced(self, rows: Floats) -> StepBatch:
        """Rows of steps, cut where the coupling turns out to be unstable."""
        done = self._native.run(self.limit, rows, self._sources.sample)
        self._loaded.check_logs()
        if done.unobserved is not None:
            self.unobserved.append(self._evaluation.explain(*done.unobserved))
        failure = self.failure or self._failure_after(done)
        if not self._counts:
            done = done._replace(iterations=np.ones(done.alone, dtype=np.int64))
        done = self._growth.judged(done._replace(failure=failure), rows)
        self.failure = done.failure
        return done

    def _failure_after(self, done: StepBatch) -> Failure | None:
        if done.stopped is not None:
            return self._stopped(done.stopped, done.begin)
        if done.unsampled:
            return self._sources.failure(done.begin)
        if done.no_size is not None:
            return self._without_size(done, done.no_size)
        return None if done.outcome.ok else self._failure(done)

    def memory(self) -> SavedState | None:
        """Memory of a master in Python, which is not part of the system; None if it cannot be stored."""
        return {} if self._asked is None else self._asked.memory()

    def recall(self, memory: SavedState) -> None:
        """Restore this memory."""
        if self._asked is not None:
            self._asked.recall(memory)

    def _without_size(self, done: StepBatch, why: NoSize) -> Failure:
        """Failure because no step is small enough."""
        if why.why is WhyNoSize.FAILED:
            failed = self._failure(done)
            return too_small(why.size, failed.message, why.time, failed)
        if why.why is WhyNoSize.RESIDUALS:
            return residuals_too_large(why.size, why.error, why.time)
        name = str(self.assembly.plan.signals[why.slot])
        if why.why is WhyNoSize.INEXACT:
            return too_inexact(why.size, name, why.error, why.time)
        return always_switching(name, why.size, why.time)

    def _failure(self, done: StepBatch) -> Failure:
        outcome, t, end = done.outcome, done.begin, done.end
        if self._asked is not None and (failure := self._asked.failure()):
            return failure
        if done.rescuing:
            return self._evaluation.explain(outcome, end)
        if (number := self._iteration_of(outcome)) is None:
            return self._evaluation.explain(outcome, time_of_failure(outcome, t, end))
        component = None
        if outcome.code is not Code.COUPLING:
            component = self._evaluation.explain(outcome, time_of_failure(outcome, t, end))
        return self._iteration_failures(number).of_step(
            t, outcome.iterations, self.kernel.iteration_report(number), component
        )

    def _iteration_of(self, outcome: Outcome) -> int | None:
        """Number of the failed iteration; None if the failure is another one."""
        plan = self.assembly.plan
        if not self._iterations:
            return None
        steps = program_of(plan, self._coupling).steps
        place = outcome.instruction - bool(plan.stimuli.sources)
        found = steps[place] if 0 <= place < len(steps) else None
        return found.argument if found is not None and found.op is Op.ITERATE else None

    def _iteration_failures(self, number: int) -> IterationFailures:
        """Messages about failures of this iteration."""
        plan, master = self.assembly.plan, coupling_master(self.assembly.plan)
        assert isinstance(master, Iterated)
        group, steps, _ = list(self._iterated)[number]
        return IterationFailures(master, group, interface_ends(plan, group), steps)
