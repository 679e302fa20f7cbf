"""Solutions of algebraic loops: methods, tolerances and results."""

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.failure import Failure
from ssptool.engine.kernel.calls import OK, Floats, Integers, Outcome


class SolutionStatus(StrEnum):
    """Status of a loop solver at its end."""

    CONVERGED = "converged"
    MAX_ITERATIONS = "iteration limit reached"
    DIVERGED = "diverged"
    STALLED = "no step reduces the residual"
    SINGULAR = "singular Jacobian"
    INCONSISTENT = "its equations contradict each other"
    UNDETERMINED = "its equations do not determine its unknowns"
    SWITCHING = "its discrete signals do not settle"
    NONFINITE = "a component returned nan or inf, or rejected the values it was given"

    @property
    def advice(self) -> str:
        """Advice to the user; empty if converged."""
        return _ADVICE[self]


_ADVICE = {
    SolutionStatus.CONVERGED: "",
    SolutionStatus.MAX_ITERATIONS: "give start values closer to the solution (--set), or try another solver (--init "
    "newton, anderson or homotopy)",
    SolutionStatus.DIVERGED: "the loop gain is 1 or more: try --init newton",
    SolutionStatus.STALLED: "give start values closer to the solution, or check the min and max of the variables",
    SolutionStatus.SINGULAR: "the equations of the loop contradict or repeat each other here: check for "
    "gains of exactly 1, or give other start values",
    SolutionStatus.INCONSISTENT: "the loop has no solution near the best point: check for a gain of exactly 1 around "
    "the loop, or give other start values",
    SolutionStatus.UNDETERMINED: "the loop has infinitely many solutions: check for a gain of exactly 1 around the "
    "loop, or for components that only pass on each other's values",
    SolutionStatus.SWITCHING: "break the loop with a component that delays a discrete signal by a step, or give other "
    "start values",
    SolutionStatus.NONFINITE: "give start values for the loop's signals at which the components can be evaluated",
}


@dataclass(frozen=True, slots=True)
class Convergence:
    """Converged when |g(x) − x| ≤ atol + rtol·max(|x|, nominal) in every element."""

    rtol: float = 1e-12
    atol: float = 0.0

    def __post_init__(self) -> None:
        if not (self.rtol >= 0 and self.atol >= 0 and self.rtol + self.atol > 0):
            raise ValueError(
                f"tolerances must not be negative and not both 0, found rtol {self.rtol}, atol {self.atol}"
            )

    def allowed(self, x: Floats, nominal: Floats) -> Floats:
        """The largest difference of each element that passes, in the units of the signals; all (m,)."""
        return self.atol + self.rtol * np.maximum(np.abs(x), nominal)

    def reached(self, difference: Floats, x: Floats, nominal: Floats) -> bool:
        """True if `difference` is small at `x`; all (m,), in the units of the signals."""
        return bool((np.abs(difference) <= self.allowed(x, nominal)).all())


@dataclass(frozen=True, slots=True)
class Solution:
    """The best point found, and how it was reached.

    Attributes
    ----------
    x : (m,)
        The solution; where `status` is not CONVERGED, the iterate with the smallest residual.
    residual : (m,)
        g(x) − x at that point, in the units of the signals.
    iterations
        Points at which the residual was evaluated and judged; evaluations for a Jacobian not counted.
    residual_norm
        Largest |residual| / nominal.
    history
        `residual_norm` of every iterate, in order.
    solver
        Name of the method that found it.
    direction : (m,) or (0,)
        INCONSISTENT, UNDETERMINED: a change of x, of largest element 1, that comes back unchanged around the loop.
    switched : (k, n)
        SWITCHING: values that the frozen slots went through.
    rejected
        The last failed evaluation of a component at a point.
    contradicted
        True if the directional derivatives of a component are wrong.
    """

    x: Floats
    status: SolutionStatus
    iterations: int
    residual_norm: float
    residual: Floats
    history: tuple[float, ...]
    solver: str
    direction: Floats = field(default_factory=lambda: np.empty(0))
    switched: Integers = field(default_factory=lambda: np.empty((0, 0), dtype=np.int64))
    rejected: Outcome = OK
    contradicted: bool = False

    @property
    def converged(self) -> bool:
        return self.status is SolutionStatus.CONVERGED


class Iterate(NamedTuple):
    """One iterate of a loop: `x` and `residual` (m,), with its number in the order of a solver."""

    loop: int
    solver: str
    number: int
    x: Floats
    residual: Floats


class RescueWork(NamedTuple):
    """Loops that needed the full chain of methods, and their iterations. `contradicted`: one of them has shown that the
    directional derivatives of a component are wrong.
    """

    solved: int = 0
    iterations: int = 0
    contradicted: bool = False


class LoopInSystem(NamedTuple):
    """A loop that a system solved, or tried to solve, in initialization: its number in the plan, and its iterates if it
    was not solved.
    """

    number: int
    solution: Solution
    iterates: tuple[Iterate, ...] = ()


class Unsettled(IntEnum):
    """Variables that still change after the largest number of repetitions of initialization."""

    NOTHING, INPUTS_WITHOUT_MODE, PARAMETERS, DISCRETE_SIGNALS = range(4)


class SystemRefusal(NamedTuple):
    """Reason why a system is not initialized: a function that a component refused, an operation of its kernel, a
    loop without solution, or variables that do not settle.

    Attributes
    ----------
    names
        Full names of the variables that do not settle; for an FMU that cannot be reset, of its changed inputs.
    """

    component: str = ""
    function: str = ""
    status: int = 0
    outcome: Outcome | None = None
    loop: int | None = None
    unsettled: Unsettled = Unsettled.NOTHING
    names: tuple[str, ...] = ()


class WhyNoSize(IntEnum):
    """Reasons why no size of macro steps is small enough."""

    FAILED, INEXACT, SWITCHING, RESIDUALS = range(4)


class NoSize(NamedTuple):
    """No step from a time [s] is small enough: the last one failed, the error of a signal is too large, a signal that
    is not a real number changes again and again, or energy residuals of power bonds are too large.

    Attributes
    ----------
    size : [s]
        The smallest step; for a signal that changes again and again, the size of a pair of steps.
    slot, error
        The signal, and its error or that of the residuals; 1 is allowed.
    """

    why: WhyNoSize
    time: float
    size: float
    slot: int
    error: float


class StepBatch(NamedTuple):
    """Rows of macro steps and events of a system.

    Attributes
    ----------
    steps
        Number of final steps, and of rows filled.
    failure
        Reason of the end, after all rows: `outcome`, `stopped`, `unsampled` or `no_size`, in words.
    iterations
        One entry per step, if steps are iterated.
    rejected
        Steps that were repeated because their error was too large.
    finished
        A master that chooses its steps, or an integrator, has reached the stop time.
    events, evaluations
        Numbers of state and time events of model exchange, and of evaluations of the derivatives of all components
        together.
    points : (steps,)
        True for rows at communication points, False for sides of events between them; None: all are points.
    waiting
        The next rows are finished already; components are at the last of those, not at the last row here.
    outcome
        If it is a failure, that of the next step, from `begin` to `end` [s].
    rescuing
        The outcome is that of a loop for which better methods were tried.
    alone
        Number of steps that the kernel did one at a time.
    unobserved
        Outcome and time [s] of the first row for which a variable could not be got.
    stopped
        A reason to stop at `begin` other than the outcome of a step.
    unsampled
        A function that drives an input gave no value.
    no_size
        A reason to stop in addition to the outcome, with steps of variable size.
    events_between
        Events of an ODE next to other components: time [s], and true if it is a communication point.
    """

    steps: int = 0
    failure: Failure | None = None
    iterations: Integers = np.empty(0, dtype=np.int64)
    rejected: int = 0
    finished: bool = False
    events: int = 0
    evaluations: int = 0
    points: NDArray[np.bool_] | None = None
    waiting: bool = False
    outcome: Outcome = OK
    begin: float = 0.0
    end: float = 0.0
    rescuing: bool = False
    alone: int = 0
    unobserved: tuple[Outcome, float] | None = None
    stopped: SystemRefusal | Failure | None = None
    unsampled: bool = False
    no_size: NoSize | None = None
    events_between: tuple[tuple[float, bool], ...] = ()

    def up_to(self, steps: int, failure: Failure) -> Self:
        """The first steps of the batch, after which the run fails."""
        points, waiting = None if self.points is None else self.points[:steps], self.waiting and steps == self.steps
        iterations = self.iterations[:steps]
        return self._replace(steps=steps, failure=failure, iterations=iterations, points=points, waiting=waiting)
