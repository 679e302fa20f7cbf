"""Values that describe kernel operations (calls, loops, iterations, programs, driven inputs) and their results."""

from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ssptool.fmu.description import INTEGER_RANGES

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Slots = Sequence[int]


class Code(IntEnum):
    """Status of an operation at its end."""

    OK = 0
    FMI = 1  # a function returned worse than a warning: see `instance`, `function`, `fmi_status`
    LOOP = 2  # an algebraic loop was not solved by the chord iteration: see `loop`
    NONFINITE = 3  # a component delivered nan or inf: see `instance`, `slot`
    COUPLING = 5  # an iteration of a step did not converge: see `iterations` and `iteration_report`
    EVENT = 6  # an instance in event mode has returned before the end of the step
    STOPPED = 7  # a step of a master in Python, which gives the reason
    RANGE = 4  # the integer in `slot` does not fit the type of the input of `instance`


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one kernel operation. `steps` counts the macro steps that `run` finished.

    `instruction` is the index in the program at which `run` stopped; `iterations` counts the iterations of ITERATE or
    `iterate` in that step, including the one that failed.

    `function` is the FMI function that failed. If an FMI 3.0 step returns OK but did not do its task, the flag follows
    after a colon: `fmi3DoStep:earlyReturn`, `…:eventHandlingNeeded`, `…:terminateSimulation`, and
    `…:lastSuccessfulTime` if that time is not the end of the step, or contradicts an early return.
    `terminateSimulation` fails the next step, since the step that reports it is valid; with an early return it fails
    that step itself.
    """

    code: Code = Code.OK
    instance: int = -1
    function: str = ""
    fmi_status: int = 0
    loop: int = -1
    slot: int = -1
    steps: int = 0
    instruction: int = -1
    iterations: int = 0

    @property
    def ok(self) -> bool:
        return self.code is Code.OK


OK = Outcome()


class Call(NamedTuple):
    """Evaluation of one instance without a step: exchange the wires into `inputs`, set them, then get `outputs`.

    Each uses one FMI call per type. Variables keep the order of their slots; consecutive slots are fastest.
    """

    instance: int
    inputs: Slots
    outputs: Slots


@dataclass(frozen=True, slots=True)
class LoopCalls:
    """A torn algebraic loop x = g(x): `body` evaluates g, from guesses x in the `torn` slots.

    `frozen` slots hold discrete signals through which the loop runs as well. They keep their values while `body` is
    evaluated, so that g is smooth; `update_frozen` then gives them their new values.

    The loop has converged when |g(x) − x| ≤ atol + rtol·max(|x|, nominal) in every torn slot. A schedule then updates
    the frozen slots, and iterates again as long as one of them changes. The solver starts from the present values of
    the torn slots and evaluates `body` at least once and at most `max_iterations` times. Afterwards `values` holds the
    last evaluation: g(x) in the torn slots, and in all other slots the values that follow from the guess x. If no
    solution is found, the torn slots get their previous values.

    The other fields are for methods that solve a loop far from its solution. `minimum` and `maximum`: bounds of the
    torn slots; empty: no bounds. `pattern`: pairs (i, j) for which torn slot i depends on guess j; None: any torn slot
    may depend on any guess. `directional`: the components give directional derivatives along the body. `rounding`:
    relative rounding error of the least precise signal.
    """

    torn: Slots
    body: tuple[Call, ...]
    nominal: Sequence[float]
    rtol: float
    atol: float
    max_iterations: int
    frozen: Slots = ()
    minimum: Sequence[float] = ()
    maximum: Sequence[float] = ()
    pattern: Collection[tuple[int, int]] | None = None
    directional: bool = False
    rounding: float = 2.0**-52


class RuleKind(IntEnum):
    """Kind of rule that computes the next iterate of a step; see `masters.acceleration`."""

    RELAXATION = 0
    AITKEN = 1
    SECANTS = 2
    ANDERSON = 3
    NEWTON = 4  # on the interface of the group


class IterateRule(NamedTuple):
    """Rule that computes the next iterate from the previous ones, in nominal values.

    Attributes
    ----------
    factor
        RELAXATION: x + factor·(found − x) is next; with 1, found itself. AITKEN: the first such factor of a step.
        ANDERSON: the factor of mixing.
    reuse, filter, max_columns
        SECANTS: number of earlier steps whose differences are kept; tolerance below which a difference that depends on
        earlier ones is left out; maximum number of differences.
    window
        ANDERSON: maximum number of differences.
    """

    kind: RuleKind = RuleKind.RELAXATION
    factor: float = 1.0
    reuse: int = 0
    filter: float = 0.0
    max_columns: int = 0
    window: int = 0

    @property
    def name(self) -> str:
        match self.kind:
            case RuleKind.RELAXATION:
                return "fixed point" if self.factor == 1 else f"fixed point (relaxation {self.factor:g})"
            case RuleKind.SECANTS:
                return "IQN-ILS"
            case RuleKind.NEWTON:
                return "interface Newton"
            case _:
                return self.kind.name.capitalize()


class MeasureKind(IntEnum):
    """Quantity that a measure of convergence limits: see `MeasureLimit`."""

    ABSOLUTE = 0
    RELATIVE = 1
    RESIDUAL_RELATIVE = 2


class MeasureLimit(NamedTuple):
    """A measure of convergence of x; `found` is the result of the step for x.

    ABSOLUTE: |found − x| ≤ limit in every unknown. RELATIVE: |found − x| ≤ limit·max(|x|, nominal) in every unknown.
    RESIDUAL_RELATIVE: ‖found − x‖ ≤ limit times its value at the first iterate of the step, in nominal values, or the
    rounding error.
    """

    kind: MeasureKind
    limit: float


class DividedSteps(NamedTuple):
    """Macro steps that the FMU of an instance has discarded, and then did in smaller ones.

    `steps` is their number, `most` the largest number of parts of one step, `since` the start of the first one [s].
    """

    instance: int
    steps: int
    most: int
    since: float


class Trial(IntEnum):
    """Result of trial steps of components whose inputs can only be constant over a step.

    Inputs are changed, and one step is compared with two of half the size. In a component that integrates its input
    over the step, both have the same effect at the end, and only a part of it after the first half. Components that
    apply one step of their own formula (Euler, leapfrog, Newmark), or follow their input at once, differ.
    """

    NONE = 0  # no trial steps
    INTEGRATES = 1
    STEPS = 2


Stretches: TypeAlias = tuple[tuple[float, float], ...]
"""Intervals of time, from and to [s], in ascending order."""


@dataclass(slots=True)
class AcceptedSteps:
    """Steps of an iteration that were accepted although their iterates did not agree.

    Attributes
    ----------
    floor
        The largest change that is known to be noise.
    noisy, level, signal, time
        Number of steps that were accepted at the noise of the FMUs; the largest change left in one of them, its
        unknown, and the start of that step [s].
    damped, unrepeated
        Steps that were done with stronger damping or by Newton's method, and without repetition.
    damped_from, unrepeated_from
        The start of the first one [s].
    failed, failed_damped
        Number of consecutive steps in which the chosen method, and stronger damping, did not converge.
    unconverged, residual, open_signal, open_time, grows
        Steps of a fixed number of iterations that had not converged; the largest last change in one of them, relative
        to the size, its unknown, and the start of that step [s]; true if a last change was larger than the first.
    steps, unplanned
        All steps, and those that were done with stronger damping, by Newton's method or without repetition.
    trial
        Result of trial steps for inputs that can only be constant.
    by_newton, by_newton_from
        Steps that were done by Newton's method because the chosen method did not converge; the start of the first [s].
    ends, ends_from
        Steps with inputs held at their value at the end, to damp ringing, and the start of the first [s].
    phase_left, phase_length, phase_since
        Such steps that are still to do, their number in the last phase, and the number of steps since then.
    """

    floor: float = 0.0
    noisy: int = 0
    level: float = 0.0
    signal: int = 0
    time: float = 0.0
    damped: int = 0
    damped_from: float = 0.0
    unrepeated: int = 0
    unrepeated_from: float = 0.0
    failed: int = 0
    failed_damped: int = 0
    unconverged: int = 0
    residual: float = 0.0
    open_signal: int = 0
    open_time: float = 0.0
    grows: bool = False
    steps: int = 0
    unplanned: int = 0
    trial: int = Trial.NONE
    by_newton: int = 0
    by_newton_from: float = 0.0
    ends: int = 0
    ends_from: float = 0.0
    phase_left: int = 0
    phase_length: int = 0
    phase_since: int = 0

    @property
    def remarkable(self) -> bool:
        """True if the run should report them."""
        otherwise = self.ends, self.by_newton, self.noisy, self.damped, self.unrepeated, self.unconverged
        return self.trial != Trial.NONE or any(otherwise)


class IterationReport(NamedTuple):
    """End of the last step of an iteration.

    Attributes
    ----------
    left_domain
        A component failed at an iterate, which may lie outside of its domain, unlike the solution.
    first, least
        The largest change at the first and the best iterate, relative to the larger of value and nominal value.
    noise
        Scatter of the outputs around the best iterate, if it was measured; 0: none.
    worst
        The unknown that changes most at the best iterate.
    stagnates, grows
        The change has stopped decreasing; iterates differ by more than the first ones did.
    escaped
        The step was done without repetition, and its values are far beyond all previous ones.
    best, change : (m,)
        The best iterate x, and found − x for it, in the units of the signals.
    judged : (k, 2)
        The largest change of each iterate, and the ratio of the difference to its limit; at most 400 rows.
    """

    left_domain: bool = False
    first: float = float("inf")
    least: float = float("inf")
    noise: float = 0.0
    worst: int = 0
    stagnates: bool = False
    grows: bool = False
    escaped: bool = False
    best: Floats = np.empty(0)
    change: Floats = np.empty(0)
    judged: Floats = np.empty((0, 2))


class SolveLoop(NamedTuple):
    """Instruction of a schedule: solve the loop with this index."""

    loop: int


class Op(IntEnum):
    """The instructions of a program that `run` repeats at every macro step."""

    EXCHANGE = 0  # argument: group. Copy every wire whose destination is an input of one of the group
    HOLD = 1  # argument: group. Inputs constant over the step, at their present value
    EXTRAPOLATE = 2  # argument: group. Inputs continue the polynomial through the last points
    INTERPOLATE = 3  # argument: group. Inputs run from their value at the start of the step to their present value
    ADVANCE = 4  # argument: group. Step the instances from t to t + h, then get their outputs
    EVALUATE = 5  # argument: schedule. Make the outputs consistent at the instant reached
    ACCEPT = 6  # argument: unused. The step is final: the present values enter the history
    RECORD = 7  # argument: unused. Write time and recorded slots to the next row; at most once in a program
    ITERATE = 8  # argument: iteration. Step its group again and again until its unknowns agree; see `iterate`
    DRIVE = 9  # argument: unused. Inputs that time tables drive follow these over the step; see `drive`
    SAVE = 10  # argument: group. Keep the FMU states
    ASK = 11  # argument: unused. A macro step of a master in another language, until its outputs are consistent
    MID_STEP = 12  # argument: group. Inputs constant over the step, at their value in its middle; see `mid_step`


class Instruction(NamedTuple):
    op: Op
    argument: int = 0
    order: int = 0
    """EXTRAPOLATE, INTERPOLATE: highest polynomial order, 1 or 2; INTERPOLATE with 0: mean of both ends; MID_STEP: 1 if
    the present values are those at the end of the step, 0 otherwise.
    """


class DrivenInputMode(IntEnum):
    """Profile of a driven input over a step, from its value at the start to that of its table at the end."""

    HELD = 0  # at its value at the start
    FOLLOWING = 1  # on the line from one to the other
    MIDDLE = 2  # held at their mean, or at that of its table where rows lie inside the step


class DrivenInput(NamedTuple):
    """An input that is connected to a driven slot. Only inputs of type Float64 can be other than held."""

    slot: int
    running: DrivenInputMode


@dataclass(frozen=True, slots=True)
class Substeps:
    """Number of equal steps of an instance in each step of the kernel.

    `moving` inputs vary over the step: over each substep if the FMU `follows` them, otherwise they have the value of
    the middle of the substep.
    """

    count: int = 1
    follows: bool = False
    moving: Slots = ()


FUNCTIONS: Mapping[int, tuple[str, ...]] = {
    1: ("fmiSetReal", "fmiGetReal", "fmiSetRealInputDerivatives", "fmiDoStep"),
    2: (
        "fmi2SetReal",
        "fmi2GetReal",
        "fmi2SetRealInputDerivatives",
        "fmi2DoStep",
        "fmi2GetFMUstate",
        "fmi2SetFMUstate",
        "fmi2FreeFMUstate",
        "fmi2GetDirectionalDerivative",
    ),
    3: (
        "fmi3SetFloat64",
        "fmi3GetFloat64",
        "fmi3DoStep",
        "fmi3GetFMUState",
        "fmi3SetFMUState",
        "fmi3FreeFMUState",
        "fmi3GetDirectionalDerivative",
    ),
}
"""Functions that an instance must have, by major version of FMI."""

EVENT_FUNCTIONS = (
    "fmi3EnterEventMode",
    "fmi3EnterStepMode",
    "fmi3UpdateDiscreteStates",
    "fmi3SetClock",
    "fmi3GetClock",
    "fmi3GetIntervalDecimal",
    "fmi3GetIntervalFraction",
    "fmi3GetShiftDecimal",
    "fmi3GetShiftFraction",
    "fmi3SetIntervalDecimal",
    "fmi3SetIntervalFraction",
    "fmi3SetShiftDecimal",
    "fmi3SetShiftFraction",
)
"""Functions of event mode and clocks, of components of FMI 3.0."""

FLOAT = "Float64"
HELD = "held Float64"
"""An input of type Float64 that keeps its value over each step, whatever the master does with other inputs."""
REAL_TYPES = frozenset({FLOAT, HELD, "Float32"})
"""Types whose slots hold doubles. All others hold integers."""

_SAME = (*INTEGER_RANGES, "Boolean", "String")
_BEFORE_FMI3 = {
    **dict.fromkeys((FLOAT, HELD), "Real"),
    "Int32": "Integer",
    "Boolean": "Boolean",
    "Enumeration": "Integer",
    "String": "String",
}
ACCESS: Mapping[int, Mapping[str, str]] = {
    1: _BEFORE_FMI3,
    2: _BEFORE_FMI3,
    3: {
        **dict.fromkeys((FLOAT, HELD), FLOAT),
        "Float32": "Float32",
        **{kind: kind for kind in _SAME},
        "Enumeration": "Int64",
        "Binary": "Binary",
    },
}
"""Suffixes of the functions that set and get variables of a type, by major version of FMI.

The types of a call are visited in this order.
"""


def prefix(major: int) -> str:
    """Prefix of FMI function names; FMI 1.0 puts the name of the model before it, which is omitted here."""
    return "fmi" if major == 1 else f"fmi{major}"


def functions_for(major: int, types: Container[str]) -> tuple[str, ...]:
    """Functions that an instance with variables of these types must have."""
    suffixes = dict.fromkeys(suffix for kind, suffix in ACCESS[major].items() if kind in types)
    access = (f"{prefix(major)}{verb}{suffix}" for suffix in suffixes for verb in ("Set", "Get"))
    return tuple(dict.fromkeys((*FUNCTIONS[major], *access)))


_OF_EXCHANGE = (
    "SetTime",
    "SetContinuousStates",
    "GetContinuousStates",
    "GetNominalsOfContinuousStates",
    "GetEventIndicators",
    "EnterEventMode",
    "EnterContinuousTimeMode",
    "CompletedIntegratorStep",
    "GetDirectionalDerivative",
)
_STATES, _INDICATORS = "GetNumberOfContinuousStates", "GetNumberOfEventIndicators"
_OF_EXCHANGE_ONLY = {
    2: ("GetDerivatives", "NewDiscreteStates"),
    3: ("GetContinuousStateDerivatives", "UpdateDiscreteStates", _STATES, _INDICATORS),
}


def functions_of_exchange(major: int) -> tuple[str, ...]:
    """Functions of model exchange (FMI 2.0 §3, FMI 3.0 §3), which the kernel calls, by major version of FMI."""
    return tuple(f"fmi{major}{name}" for name in (*_OF_EXCHANGE, *_OF_EXCHANGE_ONLY[major]))
