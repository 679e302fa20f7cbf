"""Gauss–Seidel master: instances step in turn, each with the newest values."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ssptool.engine.kernel.calls import Instruction, Op
from ssptool.engine.masters.master import Coupling, CouplingMaster
from ssptool.engine.masters.program import HOLD, Program, set_inputs
from ssptool.engine.masters.protocols import InputApproximation, InstanceGroup, Participants
from ssptool.engine.masters.registry import MasterEntry, Situation
from ssptool.engine.method_names import ApproximationName
from ssptool.engine.settings import Choice, Settings


@dataclass(frozen=True, slots=True)
class GaussSeidel(CouplingMaster):
    """Instances step in the order of the signal flow; inputs from instances already stepped have their new values.

    With held inputs, such inputs have their value at the end of the step throughout it. With interpolation, an instance
    gets interpolated inputs if all of them come from instances already stepped; others are extrapolated.

    References
    ----------
    Kübler and Schiehlen 2000, "Two methods of simulator coupling".
    """

    inputs: InputApproximation = HOLD

    @property
    def name(self) -> str:
        return "gauss-seidel"

    @property
    def follows_a_leader(self) -> bool:
        return True

    @property
    def side_by_side(self) -> bool:
        return False

    def program(self, coupling: Coupling) -> Program:
        return Program(tuple(step for one in coupling.one_by_one() for step in self._step(one)))

    def outline(self, groups: Sequence[Participants]) -> tuple[str, ...]:
        lines: list[str] = []
        for one in (one for group in groups for one in group.one_by_one()):
            inputs = self._coupling(one.interpolates[0])
            moves = one.moves(inputs.name, inputs.where_held.name)
            lines += [f"exchange into {one}", *moves, f"step {one}"]
            lines += [f"evaluate {one}"] * bool(one.integrated)
        return (*lines, "evaluate")

    def _step(self, one: InstanceGroup) -> Iterator[Instruction]:
        yield Instruction(Op.EXCHANGE, one.group)
        yield from set_inputs(one, self._coupling(one.interpolates))
        yield Instruction(Op.ADVANCE, one.group)
        if one.integrated:
            yield Instruction(Op.EVALUATE, one.schedule)

    def _coupling(self, interpolates: bool) -> InputApproximation:
        return self.inputs if interpolates else self.inputs.from_the_past


def _create(
    inputs: InputApproximation, settings: Settings, situation: Situation
) -> tuple[GaussSeidel, Sequence[Choice]]:
    return GaussSeidel(inputs), ()


MASTER = MasterEntry(_create, approximation=ApproximationName.INTERPOLATE)
