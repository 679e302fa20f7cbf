"""Jacobi: all read, then all step."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ssptool.engine.kernel.interface import Instruction, Op
from ssptool.engine.masters.master import CoupledSystem, OneStepper, Participants
from ssptool.engine.masters.program import Extrapolate, Hold, Program, set_inputs


@dataclass(frozen=True, slots=True)
class Jacobi:
    """Every instance steps with what all inputs were at the start of the step, held or extrapolated.

    `late`: outputs that depend on an input at the same instant stay what their instance delivered at the end of its
    own step, so that they lag one step behind. Many tools couple like this; it is there to compare with them.

    Held inputs give order 1, extrapolated ones order 2: also with parabolas, because the first step, which
    has no past, holds its inputs, and that error remains. Afterwards parabolas are the better ones.

    References
    ----------
    Kübler and Schiehlen 2000, "Two methods of simulator coupling".
    """

    inputs: Hold | Extrapolate = field(default_factory=Hold)
    late: bool = False

    @property
    def name(self) -> str:
        return "jacobi, outputs one step late" if self.late else "jacobi"

    @property
    def chooses_steps(self) -> bool:
        return False

    def start(self, system: CoupledSystem) -> OneStepper:
        everything = system.everything
        moving = self.inputs.instruction(everything.following)
        advance = Instruction(Op.ADVANCE, everything.group)
        return Program(system, (*set_inputs(everything, moving), advance), consistent=not self.late)

    def outline(self, groups: Sequence[Participants]) -> tuple[str, ...]:
        moves = (line for group in groups for line in group.moves(self.inputs.name))
        return (*moves, f"step {', '.join(map(str, groups))}", *([] if self.late else ["evaluate"]))
