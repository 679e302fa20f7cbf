"""Macro steps as kernel programs, and input approximations (hold, mid-step, extrapolation, interpolation)."""

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

from ssptool.engine.kernel.calls import Instruction, Op
from ssptool.engine.masters.master import Coupling, CouplingMaster
from ssptool.engine.masters.protocols import InputApproximation, InstanceGroup

FrozenIteration: TypeAlias = dict[str, Any]
"""An iterated step of a group, as the frozen plan contains it."""


@dataclass(frozen=True, slots=True)
class Program:
    """A macro step without decisions: `steps`, then all outputs are made consistent, exchanged and recorded.

    Attributes
    ----------
    iterations
        Iterations of ITERATE, by its argument.
    consistent
        True: outputs are made consistent after the steps. False: they are consistent already, or keep the values that
        each component delivered at the end of its own step.
    interruptible
        True if a batch of steps may end at the event of a component, even if no component can go back.
    """

    steps: tuple[Instruction, ...]
    iterations: tuple[FrozenIteration, ...] = ()
    consistent: bool = True
    interruptible: bool = True

    def instructions(self, everything: InstanceGroup) -> tuple[Instruction, ...]:
        """All instructions of a macro step."""
        return (
            *self.steps,
            *([Instruction(Op.EVALUATE, everything.schedule)] if self.consistent else []),
            Instruction(Op.EXCHANGE, everything.group),
            Instruction(Op.ACCEPT),
            Instruction(Op.RECORD),
        )


ASKED = Program((Instruction(Op.ASK),), consistent=False, interruptible=False)
"""Step of a master in Python, which makes outputs consistent itself."""


@runtime_checkable
class ProgrammedMaster(CouplingMaster, Protocol):
    """A master whose macro steps need no decisions."""

    def program(self, coupling: Coupling) -> Program: ...


def set_inputs(instances: InstanceGroup, inputs: InputApproximation) -> tuple[Instruction, ...]:
    """Instructions that set the inputs of the instances over a step, including inputs that can only be constant."""
    return (inputs.where_held.instruction(instances.held), inputs.instruction(instances.following))


HOLD = InputApproximation(Op.HOLD)
"""Constant inputs: their values at the start of the step."""

MEAN = InputApproximation(Op.INTERPOLATE)
"""Constant inputs: the mean of the values at both ends of the step.

If a component integrates with small steps inside of the step, this has order 2: two such components that are mutually
coupled and iterated keep the energy of an undamped oscillator, as Newmark's method of average acceleration does. A
component that does one implicit step itself interprets its inputs as those at the end of the step.

References
----------
Newmark 1959, "A method of computation for structural dynamics" (β = 1/4, γ = 1/2).
"""


def mid_step(*, ends: bool = False, tried: bool = False, passed: bool = False) -> InputApproximation:
    """Constant inputs: the value in the middle of the step, extrapolated, or with `ends` the mean of both ends.

    If a component integrates with small steps inside of the step, this has order 2. Extrapolated, it is the method of
    Adams and Bashforth for the coupling, with half the range of stable steps on the negative real axis. Therefore an
    input whose last changes differ in sign, or by more than a factor of two, is held as by `HOLD`: after such changes
    the next one cannot be predicted, and jumps or oscillations must not be amplified. At a smooth extremum this costs
    no order, because the value hardly changes there. With `ends`, the value at the end of the step damps ringing.
    Iterated steps that are `tried` use the mean only if trial steps at the start show that the components integrate
    their inputs. With `passed`, components whose outputs depend directly on inputs have the value at the end, so that
    what they pass on in the same step belongs to its end.

    References
    ----------
    Hairer, Nørsett, Wanner 1993, "Solving ordinary differential equations I", §III.1 (Adams); Rannacher 1984, "Finite
    element solution of diffusion problems with irregular data" (damped steps after jumps).
    """
    return InputApproximation(Op.MID_STEP, ends=ends, tried=tried, passed=passed)


def extrapolate(order: int = 1, held: InputApproximation = HOLD) -> InputApproximation:
    """Inputs that continue the polynomial through the last accepted points; `held`: approximation of inputs that can
    only be constant.
    """
    return InputApproximation(Op.EXTRAPOLATE, order, held)


def interpolate(order: int = 1, held: InputApproximation = HOLD) -> InputApproximation:
    """Inputs on the polynomial through the last accepted points and the values at the end of the step; `held`:
    approximation of inputs that can only be constant.
    """
    return InputApproximation(Op.INTERPOLATE, order, held)
