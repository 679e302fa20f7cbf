"""Gauss–Seidel: one after the other, each with the newest values."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ssptool.engine.kernel.interface import Instruction, Op
from ssptool.engine.masters.master import CoupledSystem, InstanceGroup, OneStepper, Participants
from ssptool.engine.masters.program import Extrapolate, Hold, Interpolate, Program, set_inputs


@dataclass(frozen=True, slots=True)
class GaussSeidel:
    """Instances step in the order of the signal flow; inputs from those already stepped have their new
    values.

    Held, such inputs have their value at the end of the step throughout it. Interpolated, an instance all of
    whose inputs come from instances already stepped gets them as they ran; the others extrapolate.

    References
    ----------
    Kübler and Schiehlen 2000, "Two methods of simulator coupling".
    """

    inputs: Hold | Extrapolate | Interpolate = field(default_factory=Hold)

    @property
    def name(self) -> str:
        return "gauss-seidel"

    @property
    def chooses_steps(self) -> bool:
        return False

    def start(self, system: CoupledSystem) -> OneStepper:
        ones = (one for group in system.groups for one in group.members or (group,))
        return Program(system, tuple(step for one in ones for step in self._step(one)))

    def outline(self, groups: Sequence[Participants]) -> tuple[str, ...]:
        lines: list[str] = []
        for one in (one for group in groups for one in group.one_by_one()):
            lines += [f"exchange into {one}", *one.moves(self._coupling(one.interpolates[0]).name), f"step {one}"]
            lines += [f"evaluate {one}"] * bool(one.integrated)
        return (*lines, "evaluate")

    def _step(self, one: InstanceGroup) -> Iterator[Instruction]:
        yield Instruction(Op.EXCHANGE, one.group)
        yield from set_inputs(one, self._coupling(one.interpolates).instruction(one.following))
        yield Instruction(Op.ADVANCE, one.group)
        if one.integrated:
            yield Instruction(Op.EVALUATE, one.sweep)

    def _coupling(self, interpolates: bool) -> Hold | Extrapolate | Interpolate:
        if isinstance(self.inputs, Interpolate) and not interpolates:
            return Extrapolate(self.inputs.order)
        return self.inputs
