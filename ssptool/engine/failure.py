"""Ends of a run and refusals: failures as values, and the exceptions that stop a run before or while it computes."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from ssptool.documents.diagnostics import BadData
from ssptool.foreign_text import one_line


class Ending(StrEnum):
    """Status of a run at its end."""

    COMPLETED = "completed"
    LOOP = "an algebraic loop was not solved"
    COUPLING = "the iteration of a macro step did not converge"
    STEP = "the macro step became too small"
    FMI = "an FMU refused a call"
    NONFINITE = "a component returned nan or inf"
    UNSTABLE = "the coupling is unstable with these steps"
    CRASHED = "the process of the FMUs crashed"
    EXITED = "an FMU ended the process"
    TIMEOUT = "the time allowed was used up"
    MEMORY = "the memory allowed was used up"
    INTEGRATION = "the integrator could not go on"
    EVENTS = "events without end"
    INPUTS = "an input has no value"
    TERMINATED = "ended by a component"


MOST_CONNECTIONS, MOST_POINTS = 20, 400
"""Largest number of connections of a failed iteration, and of points of all its curves. Other connections are only
counted; curves are thinned.
"""


@dataclass(frozen=True, slots=True)
class IteratedConnection:
    """Connection of a loop, at the best iterate of an iteration that failed.

    Attributes
    ----------
    source, destination
        Full names of both variables.
    source_component, destination_component
        Full names of their components.
    value
        Value that goes into the destination, in `unit`; None: not a finite number.
    residual
        Value that comes out of the source for it, less `value`, in `unit`; None: not a finite number, or not iterated.
    allowed
        Largest |residual| that counts as converged, in `unit`; None: not iterated, but computed from the others, or not
        judged by itself.
    relative
        The relative residual: |residual| over what its iteration compares it with (`FailedIteration.relative_to`).
    """

    source: str
    destination: str
    source_component: str
    destination_component: str
    value: float | None
    unit: str = ""
    residual: float | None = None
    allowed: float | None = None
    relative: float | None = None


@dataclass(frozen=True, slots=True)
class ResidualCurve:
    """The largest relative residual at iterates of one method, and what was allowed there.

    `iterations` are the numbers of the iterates. Iterates at which it is not finite are left out.
    """

    method: str
    iterations: tuple[int, ...]
    residuals: tuple[float, ...]
    allowed: tuple[float, ...]


Points = Sequence[tuple[int, float, float]]
"""Points of a residual curve: (iteration, residual, allowed)."""


def residual_curves(points: Mapping[str, Points]) -> tuple[ResidualCurve, ...]:
    """Residual curves by method. If there are more than `MOST_POINTS` in total, each curve keeps its share, including
    its first, last and least point.
    """
    finite_ones = {method: [one for one in own if all(map(math.isfinite, one))] for method, own in points.items()}
    share = MOST_POINTS // max(1, len(points)) - 3 if sum(map(len, finite_ones.values())) > MOST_POINTS else MOST_POINTS
    return tuple(ResidualCurve(method, *_columns(own, max(1, share))) for method, own in finite_ones.items())


def _columns(points: Points, share: int) -> tuple[tuple[int, ...], tuple[float, ...], tuple[float, ...]]:
    if not points:
        return (), (), ()
    every, last = -(-len(points) // share), len(points) - 1
    least = min(range(len(points)), key=lambda place: points[place][1])
    kept = [point for place, point in enumerate(points) if place % every == 0 or place in (least, last)]
    numbers, residuals, allowed = zip(*kept, strict=True)
    return numbers, residuals, allowed


@dataclass(frozen=True, slots=True)
class FailedIteration:
    """Iteration of a loop of connections that did not converge: of an algebraic loop, or of a macro step.

    Attributes
    ----------
    method
        Name of the method that came closest.
    iterations
        Number of iterations of all methods that were tried.
    residual, allowed
        The largest relative residual at the best iterate, and its limit there; None: not finite.
    relative_to
        Residuals are relative to: "nominal value", or the larger of that and the value, "size".
    connections
        At most `MOST_CONNECTIONS`, the largest relative residual first.
    left_out
        Number of connections that are not among them.
    curves
        One for each method, in the order in which they were tried.
    """

    method: str
    iterations: int
    residual: float | None
    allowed: float | None
    relative_to: str
    connections: tuple[IteratedConnection, ...]
    left_out: int
    curves: tuple[ResidualCurve, ...]

    @property
    def worst(self) -> IteratedConnection | None:
        """The connection with the largest relative residual; None if no residual is finite."""
        first = self.connections[0] if self.connections else None
        return None if first is None or first.residual is None else first


def largest_first(connections: Iterable[IteratedConnection]) -> tuple[tuple[IteratedConnection, ...], int]:
    """The first `MOST_CONNECTIONS` by relative residual (those that are not iterated come last), and the number of the
    others.
    """
    every = sorted(connections, key=lambda one: (one.relative is None, -(one.relative or 0.0)))
    return tuple(every[:MOST_CONNECTIONS]), len(every[MOST_CONNECTIONS:])


def seconds_text(time: float) -> str:
    """Time [s] of a run as text, with the same digits in summaries, messages and reports."""
    return f"{time:.12g} s"


def finite(value: float) -> float | None:
    """The number, or None in place of nan and inf."""
    return float(value) if math.isfinite(value) else None


@dataclass(frozen=True, slots=True)
class Failure:
    """Reason of an early end of a run.

    Attributes
    ----------
    time : [s]
        The communication point at which it happened, or from which the failing step started; of a value that is not
        finite the time at which it is that, of a component that ends the simulation that end.
    component, function
        Full name of the component and FMI function, if it happened in one place.
    messages
        Last log messages of the FMU.
    recoverable
        The FMU can continue from a saved state: it only rejected what it was asked for.
    iteration
        The iteration that did not converge, if this is why the run ended.
    """

    ending: Ending
    message: str
    advice: str
    time: float
    component: str = ""
    function: str = ""
    messages: tuple[str, ...] = ()
    recoverable: bool = False
    iteration: FailedIteration | None = None

    def __str__(self) -> str:
        said = "".join(f"\n  {one_line(f'{self.component}: {message}')}" for message in self.messages)
        return f"at t = {seconds_text(self.time)}: {self.message}; {self.advice}{said}"


class RunError(Exception):
    """The run did not reach its end."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


def failure_of_kernel(
    ending: str,
    message: str,
    advice: str,
    t: float,
    component: str,
    function: str,
    recoverable: bool,
    told: Failure | None,
) -> Failure:
    """Failure with this name of its ending that a kernel gives as the reason to stop at t [s]. `told` is the failure
    that it was told before, if there is one.
    """
    if told is not None:
        if (told.message, told.time) == (message, t):
            return told
        return replace(told, ending=Ending[ending], message=message, time=t, recoverable=recoverable)
    if Ending[ending] is Ending.TERMINATED:
        return wish_to_end(component, t)
    return Failure(Ending[ending], message, advice, t, component, function, recoverable=recoverable)


def wish_to_end(name: str, t: float, reached: float | None = None) -> Failure:
    """Failure of a component that ends the simulation at this communication point [s], or in the step from it, which
    then ends at `reached` [s].

    After the start of the run this is a regular end.
    """
    at = t if reached is None else max(t, reached)
    return Failure(
        Ending.TERMINATED,
        f"component {name} ended the simulation at t = {at:.12g} s",
        "see its messages (--fmu-log FILE), and check its parameters and inputs",
        at,
        name,
    )


class Unsupported(Exception):
    """The system uses a feature that this version does not simulate."""

    def __init__(self, subject: str, reason: str, advice: str) -> None:
        super().__init__(f"{subject}: {reason}; {advice}")
        self.subject = subject
        self.reason = reason
        self.advice = advice


class UnsupportedByFmu(Unsupported):
    """A request needs a capability that an FMU does not have."""

    def __init__(self, component: str, capability: str, requested: str, alternative: str) -> None:
        super().__init__(
            f"component {component}",
            f"{requested} requires an FMU that {capability}; the FMU of this component does not",
            f"use {alternative}",
        )
        self.component = component
        self.capability = capability
        self.requested = requested
        self.alternative = alternative


def failure_of_input(error: BadData, time: float) -> Failure:
    """Failure of a run at a time [s] at which a function that drives an input gives no value."""
    what = "; ".join(f"input {finding.column}: {finding.message}" for finding in error.findings)
    return Failure(Ending.INPUTS, what, "see the function that drives the input", time)
