"""How inputs run over a macro step."""

from typing import Protocol

from ssptool.dataclass import dataclass
from ssptool.engine.kernel.interface import Instruction, Kernel, Op


class Inputs(Protocol):
    """A coupling of inputs over a macro step, as an instruction of a program or applied at once.

    `order_of_accuracy` is that of the solution of a coupled system with such inputs.
    """

    @property
    def name(self) -> str: ...

    @property
    def order_of_accuracy(self) -> int: ...

    def instruction(self, group: int) -> Instruction: ...

    def apply(self, kernel: Kernel, group: int, h: float) -> None: ...


@dataclass(frozen=True, slots=True)
class Hold:
    """Constant, at the values that inputs have when the step begins."""

    @property
    def name(self) -> str:
        return "hold"

    @property
    def order_of_accuracy(self) -> int:
        return 1

    def instruction(self, group: int) -> Instruction:
        return Instruction(Op.HOLD, group)

    def apply(self, kernel: Kernel, group: int, h: float) -> None:
        kernel.hold(group)


@dataclass(frozen=True, slots=True)
class Extrapolate:
    """The polynomial through the last accepted points, continued."""

    order: int = 1

    @property
    def name(self) -> str:
        return f"extrapolate (order {self.order})"

    @property
    def order_of_accuracy(self) -> int:
        return self.order + 1

    def instruction(self, group: int) -> Instruction:
        return Instruction(Op.EXTRAPOLATE, group, self.order)

    def apply(self, kernel: Kernel, group: int, h: float) -> None:
        kernel.extrapolate(group, self.order)


@dataclass(frozen=True, slots=True)
class Interpolate:
    """The polynomial through the last accepted points and the values at the end of the step."""

    order: int = 1

    @property
    def name(self) -> str:
        return f"interpolate (order {self.order})"

    @property
    def order_of_accuracy(self) -> int:
        return self.order + 1

    def instruction(self, group: int) -> Instruction:
        return Instruction(Op.INTERPOLATE, group, self.order)

    def apply(self, kernel: Kernel, group: int, h: float) -> None:
        kernel.interpolate(group, self.order, h)
