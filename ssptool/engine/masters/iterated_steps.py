"""Iterated macro steps of all groups of a system, as a program of the kernel where that can do them."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ssptool.engine.failure import Failure
from ssptool.engine.kernel.interface import Code, Floats, Instruction, Op, Outcome
from ssptool.engine.masters.iterated_groups import (
    IteratedGroup,
    IterationMethod,
    KernelGroup,
    SteppedGroup,
    iterated_group,
)
from ssptool.engine.masters.master import CoupledSystem, StepBatch, run_step_by_step
from ssptool.engine.masters.program import set_inputs
from ssptool.engine.masters.protocols import SavedState, part_of, under


class GroupIteration(NamedTuple):
    """Iterated steps of all groups of a system, in the order of the signal flow."""

    system: CoupledSystem
    groups: tuple[IteratedGroup, ...]

    @np.errstate(over="ignore", invalid="ignore")  # the failure reports diverging iterates
    def run(self, first: int, rows: Floats) -> StepBatch:
        return run_step_by_step(self, self.system, first, rows)

    def save_state(self) -> SavedState:
        states = (under(f"group {number}", group.save_state()) for number, group in enumerate(self.groups))
        return {name: value for state in states for name, value in state.items()}

    def restore_state(self, state: SavedState) -> None:
        for number, group in enumerate(self.groups):
            group.restore_state(part_of(state, f"group {number}"))

    def step(self, t: float, h: float, end: float) -> int | Failure:
        most = 1
        for group in self.groups:
            iterations = group.step(t, h, end)
            if isinstance(iterations, Failure):
                return iterations
            most = max(most, iterations)
        return most


@dataclass(frozen=True, slots=True)
class ProgrammedIteration:
    """The same as `iteration`, as a program; `owner` has the number of its group for each instruction."""

    iteration: GroupIteration
    instructions: tuple[Instruction, ...]
    owner: tuple[int, ...]

    @np.errstate(over="ignore", invalid="ignore")  # the failure reports diverging iterates
    def run(self, first: int, rows: Floats) -> StepBatch:
        system, done = self.iteration.system, 0
        if system.events is not None:
            return self._until_event(first, rows)
        counts: list[int] = []
        while done < len(rows):
            outcome = system.kernel.run(self.instructions, system.start, system.step, first + done, rows[done:])
            counted = system.kernel.iterations().tolist()
            counts += counted[: outcome.steps]
            done += outcome.steps
            if outcome.ok:
                break
            most = self._finish(outcome, first + done, counted[outcome.steps])
            if isinstance(most, Failure):
                return StepBatch(done, most, tuple(counts))
            counts.append(most)
            system.finish(first + done + 1, rows[done])
            done += 1
        return StepBatch(done, None, tuple(counts))

    def _until_event(self, first: int, rows: Floats) -> StepBatch:
        """Run a segment; if the kernel cannot do a step alone, that step is repeated, one operation after the
        other.
        """
        system = self.iteration.system
        program = (*system.saving, *self.instructions)
        outcome = system.kernel.run(program, system.start, system.step, first, rows)
        counts = tuple(system.kernel.iterations().tolist()[: outcome.steps])
        return StepBatch(outcome.steps, iterations=counts, interrupted=not outcome.ok)

    def _finish(self, outcome: Outcome, point: int, most: int) -> int | Failure:
        """The step that the kernel has ended: its failure, or the rest of it after a group that it does not iterate and
        whose loops it does not solve.
        """
        system, groups = self.iteration.system, self.iteration.groups
        number = self.owner[outcome.instruction]
        group = groups[number]
        t, end = system.time(point), system.time(point + 1)
        if isinstance(group, KernelGroup):
            return group.explain(outcome, t, end)
        if outcome.code is not Code.LOOP:
            return system.explain_step(outcome, t, end)
        failure = system.evaluate(system.groups[number].schedule, end)
        for later in groups[number + 1 :]:
            if failure is not None:
                break
            iterations = later.step(t, system.step, end)
            if isinstance(iterations, Failure):
                return iterations
            most = max(most, iterations)
        return failure or most

    @property
    def interruptible(self) -> bool:
        events = self.iteration.system.events
        return events is not None and events.goes_back

    def save_state(self) -> SavedState:
        return self.iteration.save_state()

    def restore_state(self, state: SavedState) -> None:
        self.iteration.restore_state(state)

    def step(self, t: float, h: float, end: float) -> int | Failure:
        """One macro step, one group after the other; neither accepted nor recorded."""
        return self.iteration.step(t, h, end)


def started(method: IterationMethod, system: CoupledSystem) -> GroupIteration | ProgrammedIteration:
    """All groups of a system, ready for the first macro step; as a program if the kernel can do them all."""
    groups = tuple(iterated_group(method, system, group) for group in system.groups)
    iteration = GroupIteration(system, groups)
    if system.stepwise:
        return iteration
    instructions: list[Instruction] = []
    owner: list[int] = []
    for number, group in enumerate(groups):
        own = _instructions(group)
        instructions += own
        owner += [number] * len(own)
    begin = system.driving
    end = (Instruction(Op.EXCHANGE, system.everything.group), Instruction(Op.ACCEPT), Instruction(Op.RECORD))
    return ProgrammedIteration(iteration, (*begin, *instructions, *end), (*([0] * len(begin)), *owner))


def _instructions(group: IteratedGroup) -> tuple[Instruction, ...]:
    if isinstance(group, KernelGroup):
        return (Instruction(Op.ITERATE, group.iteration),)
    assert isinstance(group, SteppedGroup)
    own = group.group
    return (
        Instruction(Op.EXCHANGE, own.group),
        *set_inputs(own, group.inputs),
        Instruction(Op.ADVANCE, own.group),
        Instruction(Op.EVALUATE, own.schedule),
    )
