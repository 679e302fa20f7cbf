"""Coupled system of a run: the view that master algorithms have of initialized FMUs."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.assembly.assembly import Assembly
from ssptool.engine.event_mode.iteration import begin_events
from ssptool.engine.failure import Ending, Failure
from ssptool.engine.kernel.interface import Call, Code, Outcome, SolveLoop
from ssptool.engine.kernel.solutions import Solution
from ssptool.engine.masters.master import CoupledSystem, SteppedAlone
from ssptool.engine.masters.protocols import InstanceGroup, InterfaceEnds, SteppedOde
from ssptool.engine.planning.plan import Plan, PlannedGroup
from ssptool.engine.run.loops import WRONG_DERIVATIVES, LoopWork, RunningLoop, unit_of


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Evaluates schedules; loops that the chord iteration does not solve get the full chain of solvers and a new
    chord.
    """

    assembly: Assembly
    loops: Sequence[RunningLoop]
    rescues: LoopWork = field(default_factory=LoopWork)

    def __call__(self, schedule: int, time: float) -> Failure | None:
        kernel, watched = self.assembly.kernel, self.assembly.loop_log is not None
        outcome, rescues, iterates = kernel.evaluate_surely(schedule, watched)
        if iterates:
            by_index = self._by_index
            for iterate in iterates:
                by_index[iterate.loop].write(time, (iterate,))
        failure = self._failed_rescue(rescues, time) if rescues else None
        if failure is not None or outcome.ok:
            return failure
        if outcome.code is Code.LOOP:
            return self._given_up(self._by_index[outcome.loop], time)
        return self.assembly.explain(outcome, time)

    def explain(self, outcome: Outcome, time: float) -> Failure:
        """Failure of an operation of the kernel, that of a loop inside an iterated step included."""
        if outcome.code is not Code.LOOP:
            return self.assembly.explain(outcome, time)
        reports = (self._by_index[loop].report(one, time) for loop, one in self.assembly.kernel.latest_rescues)
        unsolved = next((report.failure() for report in reports if not report.ok), None)
        return unsolved or self._given_up(self._by_index[outcome.loop], time)

    def rescued(self) -> LoopWork:
        """Loops that needed the full chain of solvers, in schedules and inside iterated steps; a remark on the run, if
        derivatives were wrong.
        """
        inside = self.assembly.kernel.rescue_work
        if inside.contradicted:
            self.assembly.remark(WRONG_DERIVATIVES)
        return LoopWork(self.rescues.solved + inside.solved, self.rescues.iterations + inside.iterations)

    def scheduled(self) -> LoopWork:
        """Loop solves in schedules so far, without rescued loops."""
        kernels = [kernel for kernel in (self.assembly.kernel, self.assembly.ode_kernel) if kernel is not None]
        return LoopWork(sum(one.loops_solved for one in kernels), sum(one.loop_iterations for one in kernels))

    @property
    def _by_index(self) -> dict[int, RunningLoop]:
        """The loops that the kernel knows, which need not be all."""
        return {loop.index: loop for loop in self.loops if loop.kernel is self.assembly.kernel}

    def _failed_rescue(self, rescues: Sequence[tuple[int, Solution]], time: float) -> Failure | None:
        """Failure of the first loop that the full chain did not solve either."""
        failure = None
        for index, solution in rescues:
            report = self._by_index[index].report(solution, time)
            self.rescues.solved += 1
            self.rescues.iterations += solution.iterations
            if failure is None and not report.ok:
                failure = report.failure()
        return failure

    def _given_up(self, loop: RunningLoop, time: float) -> Failure:
        names = ", ".join(map(str, loop.planned.signals))
        return Failure(
            Ending.LOOP,
            f"the algebraic loop {{{names}}} has a solution, but evaluations of the system do not stay at it",
            "look for signals that jump",
            time,
        )


def evaluation_in(assembly: Assembly, loops: Sequence[int]) -> Evaluation:
    """Evaluation in a system that has made the loops ready; `loops` are their numbers in its kernel, by number in the
    plan: -1 for those that the kernel does not have.
    """
    found = [
        RunningLoop(assembly, assembly.plan.loops[number], number, index)
        for number, index in enumerate(loops)
        if index >= 0
    ]
    for loop in found:
        loop.rtol = assembly.kernel.loop_tolerance(loop.index)
    return Evaluation(assembly, found)


def couple(
    assembly: Assembly,
    evaluation: Evaluation,
    loops: dict[int, RunningLoop],
    *,
    afresh: bool = True,
    ode: SteppedOde | None = None,
) -> CoupledSystem:
    """Register groups and schedules with the kernel, and accept the start time as the first point.

    If not `afresh`, the state of an earlier run must be restored next. `ode` is one beside co-simulation that has begun
    already.
    """
    plan, kernel = assembly.plan, assembly.kernel
    groups = tuple(_group(assembly, group, evaluation, loops) for group in plan.groups)
    everyone = _stepped(plan, tuple(range(len(plan.instances))))
    steps = tuple(step for group in plan.groups for step in group.schedule)
    everything = _set(assembly, everyone, kernel.schedule(_registered(steps, loops)))
    if plan.coupled_ode and ode is None:
        ode = _begin_beside(assembly, evaluation, loops, everything, afresh)
    kernel.exchange(everything.group)
    kernel.accept(plan.interval.start)
    system = CoupledSystem(
        kernel=kernel,
        start=plan.interval.start,
        step=plan.interval.step,
        recorded=np.array(plan.recorded, dtype=np.intp),
        everything=everything,
        groups=groups,
        evaluate=evaluation,
        explain=evaluation.explain,
        integration=_begin_alone(assembly, evaluation, loops, everything, afresh) if plan.is_one_ode else None,
        ode=ode,
        stepwise=assembly.loop_log is not None or _asks_functions(assembly),
        stop=plan.interval.stop,
        nominal=np.array(plan.nominal),
        nominal_stated=nominal_stated(plan),
        reals=real_slots(plan),
        discrete=other_slots(plan),
        name_of=lambda slot: str(plan.signals[slot]),
        interface_ends=partial(_interface_ends, plan),
        checkpoint=assembly.checkpoint,
        second_checkpoint=assembly.second_checkpoint,
        coupling_log=assembly.coupling_log,
        stimuli=assembly.applied_stimuli,
        refused=assembly.refused,
    )
    if assembly.events is None:
        return system
    events = begin_events(assembly, assembly.events, system, afresh=afresh)
    return replace(system, events=events)


def _interface_ends(plan: Plan, group: InstanceGroup) -> tuple[InterfaceEnds, ...]:
    signals, sources = plan.signals, {wire.destination: wire.source for wire in plan.wires}
    return tuple(
        InterfaceEnds(signals[sources[slot]], signals[slot], unit_of(plan, signals[slot])) for slot in group.unknowns
    )


def other_slots(plan: Plan) -> NDArray[np.intp]:
    """Slots of signals that are not real numbers and matter to the run, inputs of components last."""
    inputs = {slot for one in plan.instances for slot in one.input_slots}
    found = set(plan.integers) - set(plan.shown)
    return np.array(sorted(found, key=lambda slot: (slot in inputs, slot)), dtype=np.intp)


def nominal_stated(plan: Plan) -> NDArray[np.bool_]:
    """By slot: an FMU states a nominal value."""
    components = plan.network.components
    described = (
        (components[one.component].description.variables, one.variable) if one.component in components else ({}, "")
        for one in plan.signals
    )
    return np.array([name in variables and variables[name].nominal_stated for variables, name in described], dtype=bool)


def real_slots(plan: Plan) -> NDArray[np.intp] | None:
    """Slots of real numbers that matter to the run; None: all do."""
    others = (*plan.integers, *plan.shown)
    return np.setdiff1d(np.arange(len(plan.signals)), others) if others else None


def _begin_alone(
    assembly: Assembly, evaluation: Evaluation, loops: dict[int, RunningLoop], everything: InstanceGroup, afresh: bool
) -> SteppedAlone:
    from ssptool.engine.ode.master import begin_alone  # only systems of model exchange load CVODE
    from ssptool.engine.ode.system import OdeSchedules

    assert assembly.plan.ode is not None
    slopes = assembly.kernel.schedule(_registered(assembly.plan.ode.slopes, loops))
    return begin_alone(assembly, OdeSchedules(everything.schedule, slopes), evaluation, afresh=afresh)


def _begin_beside(
    assembly: Assembly, evaluation: Evaluation, loops: dict[int, RunningLoop], everything: InstanceGroup, afresh: bool
) -> SteppedOde:
    from ssptool.engine.ode.master import begin_beside  # only systems of model exchange load CVODE
    from ssptool.engine.ode.system import OdeSchedules

    ode = assembly.plan.coupled_ode
    assert ode is not None
    own = Evaluation(assembly.of_ode, evaluation.loops, evaluation.rescues)
    whole, slopes = (assembly.of_ode.kernel.schedule(_registered(steps, loops)) for steps in (ode.schedule, ode.slopes))
    component = begin_beside(assembly, OdeSchedules(whole, slopes), own, afresh=afresh)
    if afresh:
        # A failure here recurs in the first step, which reports it.
        evaluation(everything.schedule, assembly.plan.interval.start)
    return component


def _asks_functions(assembly: Assembly) -> bool:
    return assembly.applied_stimuli is not None and assembly.applied_stimuli.stepwise


def _group(
    assembly: Assembly, group: PlannedGroup, evaluation: Evaluation, loops: dict[int, RunningLoop]
) -> InstanceGroup:
    schedule = assembly.kernel.schedule(_registered(group.schedule, loops))
    members = tuple(
        _set(assembly, _stepped(assembly.plan, member), schedule, interpolates=able)
        for member, able in zip(group.members, group.interpolates, strict=True)
    )
    if len(members) == 1 and not group.unknowns:
        return members[0]
    instances = _stepped(assembly.plan, group.instances)
    return _set(assembly, instances, schedule, members=members, unknowns=group.unknowns)


def _stepped(plan: Plan, instances: tuple[int, ...]) -> tuple[int, ...]:
    """Instances of a member, for model exchange with the ODE as one more instance behind them: its step is that of all
    of them.
    """
    if plan.coupled_ode is None or plan.coupled_ode.instances[0] not in instances:
        return instances
    return (len(plan.instances), *instances)


def _set(
    assembly: Assembly,
    instances: tuple[int, ...],
    schedule: int,
    *,
    members: tuple[InstanceGroup, ...] = (),
    unknowns: tuple[int, ...] = (),
    interpolates: bool = False,
) -> InstanceGroup:
    plan, kernel = assembly.plan, assembly.kernel
    components = [i for i in instances if i < len(plan.instances)]
    follow = {i: _follows(plan, i) for i in components}
    return InstanceGroup(
        group=kernel.group(instances),
        following=kernel.group([i for i in components if follow[i]]),
        held=kernel.group([i for i in components if not follow[i]]),
        schedule=schedule,
        members=members,
        unknowns=unknowns,
        nominal=tuple(plan.nominal[slot] for slot in unknowns),
        interpolates=interpolates,
        names=tuple(plan.instances[i].name for i in components),
        signals=tuple(str(plan.signals[slot]) for slot in unknowns),
        integrated=len(components) < len(instances),
    )


def _follows(plan: Plan, instance: int) -> bool:
    """True if its inputs can do more than be held; in substeps any can, substep by substep."""
    planned = plan.instances[instance]
    able = planned.capabilities.follows or plan.substep_counts.get(planned.name, 1) > 1
    return able and any(name in planned.wired for name, _ in planned.moving)


def _registered(steps: Sequence[Call | SolveLoop], loops: dict[int, RunningLoop]) -> tuple[Call | SolveLoop, ...]:
    """The plan's numbers of loops replaced by the kernel's."""
    return tuple(SolveLoop(loops[step.loop].index) if isinstance(step, SolveLoop) else step for step in steps)
