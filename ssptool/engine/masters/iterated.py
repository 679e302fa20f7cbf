"""Iterated: repeat the step from a saved state until the values at its end agree."""

from collections.abc import Sequence
from dataclasses import field
from typing import NamedTuple

import numpy as np

from ssptool.dataclass import dataclass
from ssptool.engine.ending import Failure
from ssptool.engine.kernel.interface import Floats
from ssptool.engine.masters.acceleration import Acceleration
from ssptool.engine.masters.inputs import Hold, Interpolate
from ssptool.engine.masters.iqn_ils import IqnIls
from ssptool.engine.masters.iterated_group import Group
from ssptool.engine.masters.iterated_natively import (
    PREDICTION_ORDER,
    ProgrammedIteration,
    programmed,
    suits,
)
from ssptool.engine.masters.master import Coupled, Participants, Stretch
from ssptool.engine.masters.measures import FixedCount, Measure, Relative
from ssptool.engine.masters.partners import Memory, part_of, under


@dataclass(frozen=True, slots=True)
class Iterated:
    """Groups of instances that feed each other repeat a step until their inputs at its end agree with their
    sources.

    The first guess continues the polynomial of order `prediction` through the accepted points; of order 0, inputs
    stay at their sources' present values. Instances outside of such groups
    step once, in the order of the signal flow. Interpolated inputs of order k give order k + 1, held ones (at
    their value at the end of the step) order 1 and much damping.

    A change that stops falling at the noise of the FMUs is accepted there. A step that does not converge is a failure;
    if the master `retreats`, it is done with stronger damping, and then without repetition.

    References
    ----------
    Kübler and Schiehlen 2000, "Two methods of simulator coupling"; Küttler and Wall 2008 (acceleration).
    """

    inputs: Interpolate | Hold = field(default_factory=Interpolate)
    acceleration: Acceleration = field(default_factory=IqnIls)
    measure: Measure = field(default_factory=lambda: Relative(1e-8))
    max_iterations: int = 30
    prediction: int = PREDICTION_ORDER
    retreats: bool = False

    @property
    def name(self) -> str:
        return "iterated"

    @property
    def chooses_steps(self) -> bool:
        return False

    @property
    def plain_iterations(self) -> int:
        """How many iterates are plain before the acceleration is asked.

        No method does better than to agree at the second iterate; as long as a plain one does, the method that
        is taken by default is not needed, and costs more than a small FMU.
        """
        return 2 if isinstance(self.acceleration, IqnIls) else 1

    def start(self, system: Coupled) -> "Iteration | ProgrammedIteration":
        iteration = Iteration(system, tuple(Group(self, system, group) for group in system.groups))
        return programmed(self, iteration) if suits(self, system) else iteration

    def outline(self, groups: Sequence[Participants]) -> tuple[str, ...]:
        lines: list[str] = []
        for group in groups:
            if group.iterated:
                lines += [
                    f"save states of {group}; guess their inputs at the end of the step by extrapolation of order "
                    f"{self.prediction}",
                    self._repetition(),
                    *(f"  {line}" for line in (*group.moves(self.inputs.name), f"step {group}", "evaluate")),
                    f"  exchange; if they do not agree, restore states of {group}",
                ]
            else:
                lines += ["exchange", *group.moves(self.inputs.name), f"step {group}", "evaluate"]
        return tuple(lines)

    def _repetition(self) -> str:
        if isinstance(self.measure, FixedCount):
            return f"repeat, exactly {self.measure.count} times in all (acceleration: {self.acceleration.name}):"
        return (
            f"repeat, at most {self.max_iterations} times, until inputs and their sources agree "
            f"({self.measure.name}; acceleration: {self.acceleration.name}):"
        )


class Iteration(NamedTuple):
    """All groups of a system, in the order of the signal flow."""

    system: Coupled
    groups: tuple[Group, ...]

    @property
    def is_cautious(self) -> bool:
        return any(group.caution.given_up for group in self.groups)

    @np.errstate(over="ignore", invalid="ignore")  # iterates that run away are told of in the failure
    def run(self, first: int, rows: Floats) -> Stretch:
        counts: list[int] = []
        system, h = self.system, self.system.step
        for done in range(len(rows)):
            end = system.time(first + done + 1)
            if system.drive is not None:
                system.drive.begin(h, end)
            iterations = self.step(system.time(first + done), h, end)
            if isinstance(iterations, Failure):
                return Stretch(done, iterations, tuple(counts))
            counts.append(iterations)
            system.finish(first + done + 1, rows[done])
        return Stretch(len(rows), None, tuple(counts))

    def memory(self) -> Memory:
        memories = (under(f"group {number}", group.memory()) for number, group in enumerate(self.groups))
        return {name: value for memory in memories for name, value in memory.items()}

    def recall(self, memory: Memory) -> None:
        for number, group in enumerate(self.groups):
            group.recall(part_of(memory, f"group {number}"))

    def step(self, t: float, h: float, end: float) -> int | Failure:
        most = 1
        for group in self.groups:
            iterations = group.step(t, h, end)
            if isinstance(iterations, Failure):
                return iterations
            most = max(most, iterations)
        return most
