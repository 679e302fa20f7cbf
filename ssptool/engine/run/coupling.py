"""Coupling of a system: groups and schedules as registered with a kernel, and messages about loops."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.assembly.assembly import Assembly
from ssptool.engine.failure import Ending, Failure
from ssptool.engine.kernel.calls import Call, Code, Outcome, SolveLoop
from ssptool.engine.masters.master import Coupling
from ssptool.engine.masters.protocols import InstanceGroup, InterfaceEnds
from ssptool.engine.planning.plan import Plan, PlannedGroup
from ssptool.engine.run.loops import RunningLoop, unit_of


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Messages about loops in steps."""

    assembly: Assembly
    loops: Sequence[RunningLoop]

    def explain(self, outcome: Outcome, time: float) -> Failure:
        """Failure of an operation of the kernel, including a loop inside of an iterated step."""
        if outcome.code is not Code.LOOP:
            return self.assembly.explain(outcome, time)
        reports = (self._by_index[loop].report(one, time) for loop, one in self.assembly.kernel.latest_rescues)
        unsolved = next((report.failure() for report in reports if not report.ok), None)
        return unsolved or self._given_up(self._by_index[outcome.loop], time)

    @property
    def _by_index(self) -> dict[int, RunningLoop]:
        """The loops that the kernel knows, by index; these need not be all loops."""
        return {loop.index: loop for loop in self.loops if loop.kernel is self.assembly.kernel}

    def _given_up(self, loop: RunningLoop, time: float) -> Failure:
        names = ", ".join(map(str, loop.planned.signals))
        return Failure(
            Ending.LOOP,
            f"the algebraic loop {{{names}}} has a solution, but evaluations of the system do not stay at it",
            "look for signals that jump",
            time,
        )


def evaluation_in(assembly: Assembly, loops: Sequence[int]) -> Evaluation:
    """Evaluation in a system after its loops are registered. `loops` are their numbers in its kernel, in the order of
    the plan; -1 for loops that the kernel does not have.
    """
    found = [
        RunningLoop(assembly, assembly.plan.loops[number], number, index)
        for number, index in enumerate(loops)
        if index >= 0
    ]
    for loop in found:
        loop.rtol = assembly.kernel.loop_tolerance(loop.index)
    return Evaluation(assembly, found)


@dataclass(slots=True)
class Registrations:
    """Registrations for a kernel; the number of each is its index.

    Attributes
    ----------
    groups
        Groups of instance numbers.
    schedules
        Calls, and loops by their number in the plan.
    """

    plan: Plan
    groups: list[tuple[int, ...]] = field(default_factory=list)
    schedules: list[tuple[Call | SolveLoop, ...]] = field(default_factory=list)

    def coupling(self) -> Coupling:
        """Register all groups of the plan."""
        groups = tuple(map(self._group, self.plan.groups))
        everyone = _stepped(self.plan, tuple(range(len(self.plan.instances))))
        steps = tuple(step for group in self.plan.groups for step in group.schedule)
        everything = self._set(everyone, self._schedule(steps))
        coupling, leads = Coupling(everything, groups), (self.plan.event_modes.leader,)
        leader = next((one for one in coupling.one_by_one() if one.names == leads), None)
        return coupling._replace(leader=leader and leader._replace(interpolates=False))

    def _group(self, group: PlannedGroup) -> InstanceGroup:
        schedule = self._schedule(group.schedule)
        members = tuple(
            self._set(_stepped(self.plan, member), schedule, interpolates=able, passes_on=passes)
            for member, able, passes in zip(group.members, group.interpolates, group.passes_on, strict=True)
        )
        if len(members) == 1 and not group.unknowns:
            return members[0]
        return self._set(_stepped(self.plan, group.instances), schedule, members=members, unknowns=group.unknowns)

    def _set(
        self,
        instances: tuple[int, ...],
        schedule: int,
        *,
        members: tuple[InstanceGroup, ...] = (),
        unknowns: tuple[int, ...] = (),
        interpolates: bool = False,
        passes_on: bool = False,
    ) -> InstanceGroup:
        plan = self.plan
        components = [i for i in instances if i < len(plan.instances)]
        follow = {i: _follows(plan, i) for i in components}
        return InstanceGroup(
            group=self._numbered(instances),
            following=self._numbered(tuple(i for i in components if follow[i])),
            held=self._numbered(tuple(i for i in components if not follow[i])),
            schedule=schedule,
            members=members,
            unknowns=unknowns,
            nominal=tuple(plan.nominal[slot] for slot in unknowns),
            interpolates=interpolates,
            passes_on=passes_on,
            names=tuple(plan.instances[i].name for i in components),
            signals=tuple(str(plan.signals[slot]) for slot in unknowns),
            integrated=len(components) < len(instances),
        )

    def _numbered(self, instances: tuple[int, ...]) -> int:
        self.groups.append(instances)
        return len(self.groups) - 1

    def _schedule(self, steps: Sequence[Call | SolveLoop]) -> int:
        self.schedules.append(tuple(steps))
        return len(self.schedules) - 1


def interface_ends(plan: Plan, group: InstanceGroup) -> tuple[InterfaceEnds, ...]:
    """Connections that feed the unknowns of a group, in their order."""
    signals, sources = plan.signals, {wire.destination: wire.source for wire in plan.wires}
    return tuple(
        InterfaceEnds(signals[sources[slot]], signals[slot], unit_of(plan, signals[slot])) for slot in group.unknowns
    )


def other_slots(plan: Plan) -> NDArray[np.intp]:
    """Slots of signals that are not real numbers and matter to the run; inputs of components come last."""
    inputs = {slot for one in plan.instances for slot in one.input_slots}
    found = set(plan.integers) - set(plan.shown)
    return np.array(sorted(found, key=lambda slot: (slot in inputs, slot)), dtype=np.intp)


def nominal_stated(plan: Plan) -> NDArray[np.bool_]:
    """Mask of the slots whose nominal value an FMU states."""
    components = plan.network.components
    described = (
        (components[one.component].description.variables, one.variable) if one.component in components else ({}, "")
        for one in plan.signals
    )
    return np.array([name in variables and variables[name].nominal_stated for variables, name in described], dtype=bool)


def real_slots(plan: Plan) -> NDArray[np.intp] | None:
    """Slots of real numbers that matter to the run; None: all slots."""
    others = (*plan.integers, *plan.shown)
    return np.setdiff1d(np.arange(len(plan.signals)), others) if others else None


def _stepped(plan: Plan, instances: tuple[int, ...]) -> tuple[int, ...]:
    """Instances of a member. Model exchange has the ODE as an additional last instance, which steps all of them."""
    if plan.coupled_ode is None or plan.coupled_ode.instances[0] not in instances:
        return instances
    return (len(plan.instances), *instances)


def _follows(plan: Plan, instance: int) -> bool:
    """True if the inputs of the instance need not be held; with substeps, inputs of any instance can change from
    substep to substep.
    """
    planned = plan.instances[instance]
    able = planned.capabilities.follows or plan.substep_counts.get(planned.name, 1) > 1
    return able and any(name in planned.wired for name, _ in planned.moving)
