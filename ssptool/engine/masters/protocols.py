"""Parts of a coupled system besides instances: input approximations, groups of instances, saved states."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.typing import NDArray

from ssptool.engine.kernel.calls import Instruction, Op, Slots
from ssptool.errors import counted
from ssptool.network.network import Signal

if TYPE_CHECKING:
    from ssptool.engine.kernel._kernel import NativeKernel


SavedState = Mapping[str, NDArray[Any]]
"""State of a stepper or of a part of one, as arrays by name."""


def under(name: str, state: SavedState) -> dict[str, NDArray[Any]]:
    """Saved state of a part, with names as they are in the state of the whole."""
    return {f"{name}/{key}": value for key, value in state.items()}


def part_of(state: SavedState, name: str) -> SavedState:
    """Saved state of a part: the inverse of `under`."""
    return {key.removeprefix(f"{name}/"): value for key, value in state.items() if key.startswith(f"{name}/")}


@dataclass(frozen=True, slots=True)
class InputApproximation:
    """Approximation of inputs over a macro step (hold, mid-step, extrapolate, interpolate), as an instruction of a
    program or applied directly; see `masters.program`.

    Attributes
    ----------
    op
        HOLD, MID_STEP, EXTRAPOLATE or INTERPOLATE.
    order
        Order of the polynomial; 0: constant.
    held
        The approximation for components whose inputs can only be constant over a step; None: the same.
    ends, tried
        MID_STEP: from the values at both ends; only if trial steps allow it.
    passed
        MID_STEP from both ends: inputs on which outputs depend directly have their value at the end.
    """

    op: Op
    order: int = 0
    held: "InputApproximation | None" = None
    ends: bool = False
    tried: bool = False
    passed: bool = False

    @property
    def name(self) -> str:
        match self.op:
            case Op.HOLD:
                return "hold"
            case Op.MID_STEP if self.tried:
                return "mid-step (mean of both ends) where trial steps allow it, else the value at the end"
            case Op.MID_STEP:
                return "mid-step (mean of both ends)" if self.ends else "mid-step (extrapolated)"
            case Op.INTERPOLATE if self.order == 0:
                return "mean of both ends of each step"
            case _:
                return f"{self.op.name.lower()} (order {self.order})"

    @property
    def order_of_accuracy(self) -> int:
        """Order of accuracy of the solution of a coupled system with such inputs."""
        return {Op.HOLD: 1, Op.MID_STEP: 2}.get(self.op, self.order + 1 if self.order else 2)

    @property
    def from_the_past(self) -> "InputApproximation":
        """The approximation to use if the values at the end of the step are not known before it."""
        match self.op:
            case Op.MID_STEP:
                return InputApproximation(Op.MID_STEP)
            case Op.INTERPOLATE if self.order == 0:
                return InputApproximation(Op.HOLD)
            case Op.INTERPOLATE:
                return InputApproximation(Op.EXTRAPOLATE, self.order, self.where_held.from_the_past)
            case _:
                return self

    @property
    def of_passing(self) -> "InputApproximation":
        """The approximation for components with outputs that depend directly on inputs, if their values at the end of
        the step are known.
        """
        if self.passed:
            return InputApproximation(Op.HOLD)
        return replace(self, held=self.held and self.held.of_passing)

    @property
    def where_held(self) -> "InputApproximation":
        """The approximation for components whose inputs can only be constant over a step."""
        return self.held or self

    def instruction(self, group: int) -> Instruction:
        return Instruction(self.op, group, int(self.ends) if self.op is Op.MID_STEP else self.order)

    def apply(self, kernel: "NativeKernel", group: int, h: float) -> None:
        """Set the inputs of a group over a step of size h [s], as `instruction` does."""
        op, argument, order = self.instruction(group)
        match op:
            case Op.HOLD:
                kernel.hold(argument)
            case Op.MID_STEP:
                kernel.mid_step(argument, order, h)
            case Op.EXTRAPOLATE:
                kernel.extrapolate(argument, order)
            case Op.INTERPOLATE:
                kernel.interpolate(argument, order, h)
            case _:
                raise AssertionError(f"{op.name} sets no inputs")


@dataclass(frozen=True, slots=True)
class Unconverged:
    """Steps of a fixed number of iterations whose last iteration changed some signal by more than convergence allows.

    Attributes
    ----------
    residual
        The largest change in the last iteration of a step, relative to the larger of value and nominal value.
    signal, time
        The signal with that change, and the start of that step [s].
    iterations
        Number in each step.
    grows
        True if in some step the last iteration changed more than the first one.
    """

    steps: int = 0
    residual: float = 0.0
    signal: str = ""
    time: float = 0.0
    iterations: int = 0
    grows: bool = False

    def beside(self, other: "Unconverged") -> "Unconverged":
        """Merge two counts, keeping the worst step."""
        worst = self if self.residual >= other.residual else other
        return replace(worst, steps=self.steps + other.steps, grows=self.grows or other.grows)

    def text(self, who: str) -> str:
        if self.grows:
            advice = "the iteration diverges: use --acceleration iqn-ils or newton, or a smaller --step-size"
        else:
            advice = "leave out --iterations to iterate each step until it converges"
        steps, iterations = counted(self.steps, "macro step"), counted(self.iterations, "iteration")
        return (
            f"{steps} of {who} did not converge in {iterations}: the last one changes {self.signal} by up to "
            f"{self.residual:.2g} of its size (step from t = {self.time:.6g} s); {advice}"
        )


NONE_UNCONVERGED = Unconverged()


class Inexact(NamedTuple):
    """Errors of adaptive steps that cannot be repeated, as estimated.

    Attributes
    ----------
    steps
        Number of steps with more than ten times the error that they may have.
    error
        Sum of the errors of all steps, relative to the requested one.
    time, signal
        End of the worst step [s], and the signal that shows its error most.
    """

    steps: int = 0
    error: float = 0.0
    time: float = 0.0
    signal: str = ""


NONE_INEXACT = Inexact()


class InstanceGroup(NamedTuple):
    """Instances that are stepped together, as registered with the kernel.

    Attributes
    ----------
    group, following, held
        Kernel groups: all instances; those whose inputs follow the master's coupling; the others, whose inputs are
        held.
    schedule
        Kernel schedule that makes their outputs consistent at one instant.
    members
        Groups of one instance each, in the order in which they are stepped. Empty for a group of one.
    unknowns
        Input slots that are fed from inside the group: the unknowns of an iteration.
    nominal
        Nominal values of `unknowns`, in the same order.
    interpolates
        True if all its wired inputs come from instances that are stepped before it.
    passes_on
        True if an output depends directly on a wired input.
    names
        Names of the instances.
    signals
        Names of `unknowns`, in the same order.
    integrated
        True if the group contains the ODE of the components of model exchange, whose outputs are consistent only after
        a schedule.
    """

    group: int
    following: int
    held: int
    schedule: int
    members: tuple["InstanceGroup", ...] = ()
    unknowns: Slots = ()
    nominal: Sequence[float] = ()
    interpolates: bool = False
    passes_on: bool = False
    names: tuple[str, ...] = ()
    signals: tuple[str, ...] = ()
    integrated: bool = False


class InterfaceEnds(NamedTuple):
    """Ends of a connection inside a group of instances; `unit` is that of the destination."""

    source: Signal
    destination: Signal
    unit: str


class Participants(NamedTuple):
    """A group by the names of its instances, in the order in which they step, for an outline of a macro step.

    Attributes
    ----------
    following, held
        Names whose inputs follow the coupling; names whose inputs can only be held, or that have none.
    iterated
        True if they are mutually coupled.
    interpolates, passes_on
        Those of `InstanceGroup`, per name.
    integrated
        Names of the components in the ODE.
    """

    names: tuple[str, ...]
    following: tuple[str, ...]
    held: tuple[str, ...]
    iterated: bool
    interpolates: tuple[bool, ...]
    passes_on: tuple[bool, ...]
    integrated: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ", ".join(self.names)

    def moves(self, coupling: str, where_held: str = "hold") -> tuple[str, ...]:
        """Text for the course of the group's inputs over a step."""
        lines = ((coupling, self.following), (where_held, self.held))
        return tuple(f"inputs of {', '.join(names)}: {how}" for how, names in lines if names)

    def one_by_one(self) -> tuple["Participants", ...]:
        return tuple(
            Participants(
                (name,),
                tuple(n for n in self.following if n == name),
                tuple(n for n in self.held if n == name),
                False,
                (able,),
                (passes,),
                tuple(n for n in self.integrated if n == name),
            )
            for name, able, passes in zip(self.names, self.interpolates, self.passes_on, strict=True)
        )
