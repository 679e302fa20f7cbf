"""Iterated steps as programs of the kernel, which asks back only for the next iterate."""

from typing import TYPE_CHECKING

import numpy as np

from ssptool.dataclass import dataclass
from ssptool.engine.ending import Failure
from ssptool.engine.kernel.interface import Floats, Instruction, IterationCalls, Op, Outcome
from ssptool.engine.loops.fixed_point import FixedPoint
from ssptool.engine.masters.acceleration import EachStep
from ssptool.engine.masters.agreement import GROWTH_LIMIT
from ssptool.engine.masters.inputs import Interpolate
from ssptool.engine.masters.master import Coupled, Stretch
from ssptool.engine.masters.measures import Absolute, Relative
from ssptool.engine.masters.partners import Memory

if TYPE_CHECKING:
    from ssptool.engine.masters.iterated import Iterated, Iteration
    from ssptool.engine.masters.iterated_group import Group

PREDICTION_ORDER = 2
"""Of the first guess: one more than needed for order, since a better guess saves iterations and costs
nothing.
"""


def suits(master: "Iterated", system: Coupled) -> bool:
    """Whether the kernel can do it: nothing is watched, nothing done in parts, the measure is a plain limit, and the
    first guess is extrapolated.
    """
    watched = system.stepwise or system.coupling_log is not None
    return not watched and isinstance(master.measure, Absolute | Relative) and master.prediction > 0


@dataclass(frozen=True, slots=True)
class ProgrammedIteration:
    """The same as `iteration`, as a program; `owner` has the number of its group for each instruction.

    `cautious` leaves every iterate but the first to the acceleration.
    """

    iteration: "Iteration"
    instructions: tuple[Instruction, ...]
    cautious: tuple[Instruction, ...]
    owner: tuple[int, ...]

    @np.errstate(over="ignore", invalid="ignore")  # iterates that run away are told of in the failure
    def run(self, first: int, rows: Floats) -> Stretch:
        system, done = self.iteration.system, 0
        if system.events is not None:
            return self._until_event(first, rows)
        counts: list[int] = []
        while done < len(rows):
            program = self.cautious if self.iteration.is_cautious else self.instructions
            outcome = system.kernel.run(program, system.start, system.step, first + done, rows[done:])
            counted = system.kernel.iterations().tolist()
            counts += counted[: outcome.steps]
            done += outcome.steps
            if outcome.ok:
                break
            most = self._finish(outcome, first + done, counted[outcome.steps])
            if isinstance(most, Failure):
                return Stretch(done, most, tuple(counts))
            counts.append(most)
            system.finish(first + done + 1, rows[done])
            done += 1
        return Stretch(done, None, tuple(counts))

    def _until_event(self, first: int, rows: Floats) -> Stretch:
        """Whatever the kernel cannot do alone interrupts the stretch: that step is done anew, one operation after the
        other.
        """
        system = self.iteration.system
        program = (*system.saving, *self.instructions)
        outcome = system.kernel.run(program, system.start, system.step, first, rows)
        counts = tuple(system.kernel.iterations().tolist()[: outcome.steps])
        return Stretch(outcome.steps, iterations=counts, interrupted=not outcome.ok)

    def _finish(self, outcome: Outcome, point: int, most: int) -> int | Failure:
        """The step from this point, of which the kernel could not do this instruction, until all groups have agreed."""
        system, groups = self.iteration.system, self.iteration.groups
        number = self.owner[outcome.instruction]
        t, end = system.time(point), system.time(point + 1)
        iterations = groups[number].carry_on(outcome, t, system.step, end)
        for group in groups[number + 1 :]:
            if isinstance(iterations, Failure):
                break
            most = max(most, iterations)
            iterations = group.step(t, system.step, end)
        return iterations if isinstance(iterations, Failure) else max(most, iterations)

    def memory(self) -> Memory:
        return self.iteration.memory()

    def recall(self, memory: Memory) -> None:
        self.iteration.recall(memory)

    def step(self, t: float, h: float, end: float) -> int | Failure:
        """One macro step, one operation after the other; neither accepted nor recorded."""
        return self.iteration.step(t, h, end)


def programmed(master: "Iterated", iteration: "Iteration") -> ProgrammedIteration:
    """The program of a macro step; each group learns which iteration of the kernel is its own."""
    instructions: list[Instruction] = []
    cautious: list[Instruction] = []
    owner: list[int] = []
    system = iteration.system
    for number, group in enumerate(iteration.groups):
        own = _instructions(master, system, group)
        instructions += own
        cautious += [_cautious(master, system, group)] if group.iteration is not None else own
        owner += [number] * len(own)
    begin = system.driving
    end = (Instruction(Op.EXCHANGE, system.everything.group), Instruction(Op.ACCEPT), Instruction(Op.RECORD))
    owner = [0] * len(begin) + owner
    return ProgrammedIteration(iteration, (*begin, *instructions, *end), (*begin, *cautious, *end), tuple(owner))


def _instructions(master: "Iterated", system: Coupled, group: "Group") -> tuple[Instruction, ...]:
    own = group.group
    if len(group.unknowns):
        group.iteration = system.kernel.iteration(_calls(master, group, master.plain_iterations))
        return (Instruction(Op.ITERATE, group.iteration),)
    return (
        Instruction(Op.EXCHANGE, own.group),
        Instruction(Op.HOLD, own.held),
        master.inputs.instruction(own.following),
        Instruction(Op.ADVANCE, own.group),
        Instruction(Op.EVALUATE, own.sweep),
    )


def _cautious(master: "Iterated", system: Coupled, group: "Group") -> Instruction:
    group.cautious_iteration = system.kernel.iteration(_calls(master, group, 1))
    return Instruction(Op.ITERATE, group.cautious_iteration)


def _calls(master: "Iterated", group: "Group", plain_iterations: int) -> IterationCalls:
    acceleration, measure, own = master.acceleration, master.measure, group.group
    method = acceleration.method if isinstance(acceleration, EachStep) else None
    relaxation = method.relaxation if isinstance(method, FixedPoint) else None
    return IterationCalls(
        group=own.group,
        following=own.following,
        held=own.held,
        sweep=own.sweep,
        unknowns=own.unknowns,
        nominal=own.nominal,
        order=master.inputs.order if isinstance(master.inputs, Interpolate) else 0,
        prediction=master.prediction,
        absolute=measure.limit if isinstance(measure, Absolute) else 0.0,
        relative=measure.limit if isinstance(measure, Relative) else 0.0,
        relaxation=1.0 if relaxation is None else relaxation,
        max_iterations=master.max_iterations
        if relaxation is not None
        else min(plain_iterations, master.max_iterations),
        growth=GROWTH_LIMIT,
    )
