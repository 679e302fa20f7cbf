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

    With interpolation, an instance gets interpolated inputs if all of them come from instances already stepped; others
    are extrapolated. Of inputs that can only be held, the former have the mean of both ends, or their value at the end
    if outputs depend directly on them: what is passed on to the next instances belongs to the end of the step.

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

    def inputs_of(self, interpolates: bool, passes_on: bool) -> InputApproximation:
        if not interpolates:
            return self.inputs.from_the_past
        return self.inputs.of_passing if passes_on else self.inputs

    def program(self, coupling: Coupling) -> Program:
        return Program(tuple(step for one in coupling.one_by_one() for step in self._step(one)))

    def outline(self, groups: Sequence[Participants]) -> tuple[str, ...]:
        lines: list[str] = []
        for one in (one for group in groups for one in group.one_by_one()):
            inputs = self.inputs_of(one.interpolates[0], one.passes_on[0])
            moves = one.moves(inputs.name, inputs.where_held.name)
            lines += [f"exchange into {one}", *moves, f"step {one}"]
            lines += [f"evaluate {one}"] * bool(one.integrated)
        return (*lines, "evaluate")

    def _step(self, one: InstanceGroup) -> Iterator[Instruction]:
        yield Instruction(Op.EXCHANGE, one.group)
        yield from set_inputs(one, self.inputs_of(one.interpolates, one.passes_on))
        yield Instruction(Op.ADVANCE, one.group)
        if one.integrated:
            yield Instruction(Op.EVALUATE, one.schedule)


def _create(
    inputs: InputApproximation, settings: Settings, situation: Situation
) -> tuple[GaussSeidel, Sequence[Choice]]:
    return GaussSeidel(inputs), ()


MASTER = MasterEntry(_create, approximation=ApproximationName.INTERPOLATE)
