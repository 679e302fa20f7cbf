"""What is registered with a kernel once, to be done many times: calls, loops, iterations, programs."""

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from ssptool.dataclass import dataclass
from ssptool.engine.kernel.arrays import Slots


class Call(NamedTuple):
    """At one instant, without a step: exchange the wires into `inputs`, set these, then get `outputs`.

    Each with one FMI call per type, in which variables have the order of their slots: consecutive ones are fastest.
    """

    instance: int
    inputs: Slots
    outputs: Slots


@dataclass(frozen=True, slots=True)
class LoopCalls:
    """A torn algebraic loop: from guesses of the `torn` slots `body` evaluates everything in it, these last.

    `held` slots are of discrete signals, through which a loop may run as well. They keep their values while the body is
    evaluated, so that g is smooth; what comes out of them is put in by `settle`.

    Converged when |g(x) − x| ≤ atol + rtol·max(|x|, nominal) in every torn slot. Sweeps settle then, and go on as long
    as a held slot changes. They start from the
    present values of the torn slots and evaluate the body at least once, at most `max_iterations` times;
    afterwards `values` holds what the last evaluation delivered: g(x) in the torn slots, and in all others
    what followed from the guess x. If that is no solution, the torn slots have the values that they had before.
    """

    torn: Slots
    body: tuple[Call, ...]
    nominal: Sequence[float]
    rtol: float
    atol: float
    max_iterations: int
    held: Slots = ()


@dataclass(frozen=True, slots=True)
class IterationCalls:
    """A step that is repeated until what goes into the `unknowns` (input slots) at its end is what comes out.

    `group` are the instances, of which the inputs of those in `following` are interpolated with `order` (0: held at
    their value at the end of the step) and those of the others in `held` held. The first guess is the polynomial
    of `prediction` order through the accepted points. An iterate agrees where
    |found − x| ≤ absolute + relative·max(|x|, nominal) in every unknown; else x + relaxation·(found − x)
    is next, calculated in nominal values. After `max_iterations` iterations, or where the largest difference, in
    nominal values, is more than `growth` times the smallest one before, the operation ends.
    """

    group: int
    following: int
    held: int
    sweep: int
    unknowns: Slots
    nominal: Sequence[float]
    order: int
    prediction: int
    absolute: float
    relative: float
    relaxation: float
    max_iterations: int
    growth: float


class SolveLoop(NamedTuple):
    """Solve the loop with this index, at this place of a sweep."""

    loop: int


class Op(IntEnum):
    """The instructions of a program that `run` repeats at every macro step."""

    EXCHANGE = 0  # argument: group. Copy every wire whose destination is an input of one of the group
    HOLD = 1  # argument: group. Inputs constant over the step, at their present value
    EXTRAPOLATE = 2  # argument: group. Inputs continue the polynomial through the last points
    INTERPOLATE = 3  # argument: group. Inputs run from their value at the start of the step to their present value
    ADVANCE = 4  # argument: group. Step the instances from t to t + h, then get their outputs
    EVALUATE = 5  # argument: sweep. Make the outputs consistent at the instant reached
    ACCEPT = 6  # argument: unused. The step is final: the present values enter the history
    RECORD = 7  # argument: unused. Write time and recorded slots to the next row; at most once in a program
    ITERATE = 8  # argument: iteration. Step its group again and again until its unknowns agree
    DRIVE = 9  # argument: unused. Inputs that courses lead to run over the step as these do; see `drive`
    SAVE = 10  # argument: group. Keep the FMU states
    FORGET = 11  # argument: unused. The present values are those of long ago: nothing before bends a polynomial now


class Instruction(NamedTuple):
    op: Op
    argument: int = 0
    order: int = 0  # EXTRAPOLATE, INTERPOLATE: highest polynomial order, 1 or 2
