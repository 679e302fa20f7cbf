"""Convergence of iterated steps: measures with their limits, and remarks on steps that did not converge."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np

from ssptool.engine.kernel.calls import AcceptedSteps, Floats, MeasureKind, MeasureLimit, Trial
from ssptool.engine.masters.protocols import NONE_UNCONVERGED, Unconverged
from ssptool.engine.settings import ASKED, Settings
from ssptool.errors import WrongValue, counted


class MeasureName(StrEnum):
    """Name of a convergence criterion."""

    ABSOLUTE = "absolute"
    RELATIVE = "relative"
    RESIDUAL_RELATIVE = "residual-relative"


class Measure(Protocol):
    """Limit of the difference between the inputs x of a step and the values `found` for them."""

    @property
    def name(self) -> str: ...

    @property
    def limits(self) -> tuple[MeasureLimit, ...]:
        """Limits that decide whether an iterate has converged."""
        ...

    def allowed(self, x: Floats, nominal: Floats) -> Floats:
        """The largest |found − x| that each signal may have, in its unit; inf if signals are not compared one by one.

        All (m,).
        """
        ...


@dataclass(frozen=True, slots=True)
class Absolute:
    """Every |found − x| is at most the limit, in the unit of its signal."""

    limit: float

    @property
    def name(self) -> str:
        return f"absolute {self.limit:g}"

    @property
    def limits(self) -> tuple[MeasureLimit, ...]:
        return (MeasureLimit(MeasureKind.ABSOLUTE, self.limit),)

    def allowed(self, x: Floats, nominal: Floats) -> Floats:
        return np.full_like(x, self.limit)


@dataclass(frozen=True, slots=True)
class Relative:
    """Every |found − x| is at most limit · max(|x|, nominal)."""

    limit: float

    @property
    def name(self) -> str:
        return f"relative {self.limit:g}"

    @property
    def limits(self) -> tuple[MeasureLimit, ...]:
        return (MeasureLimit(MeasureKind.RELATIVE, self.limit),)

    def allowed(self, x: Floats, nominal: Floats) -> Floats:
        return np.asarray(self.limit * np.maximum(np.abs(x), nominal))


@dataclass(frozen=True, slots=True)
class ResidualRelative:
    """‖found − x‖ is at most `limit` times its value at the first guess, or the rounding error; 2-norm in nominal
    values.

    References
    ----------
    Uekermann 2016, "Partitioned fluid-structure interaction on massively parallel systems", §3.5.
    """

    limit: float

    @property
    def name(self) -> str:
        return f"residual-relative {self.limit:g}"

    @property
    def limits(self) -> tuple[MeasureLimit, ...]:
        return (MeasureLimit(MeasureKind.RESIDUAL_RELATIVE, self.limit),)

    def allowed(self, x: Floats, nominal: Floats) -> Floats:
        return np.full_like(x, np.inf)


@dataclass(frozen=True, slots=True)
class AllOf:
    """Several measures that must all be met."""

    measures: tuple[Measure, ...]

    @property
    def name(self) -> str:
        return " and ".join(measure.name for measure in self.measures)

    @property
    def limits(self) -> tuple[MeasureLimit, ...]:
        return tuple(limit for measure in self.measures for limit in measure.limits)

    def allowed(self, x: Floats, nominal: Floats) -> Floats:
        return np.asarray(np.min([measure.allowed(x, nominal) for measure in self.measures], axis=0))


DEFAULT_TOLERANCE = 1e-8
SINGLE_TOLERANCE = 1e-5
"""Tolerance of signals of type Float32."""

BESIDE_ERRORS, LEAST_TOLERANCE = 1e-7, 1e-12
"""Share of the error of adaptive steps that iterations may leave (each step may have a small part of it), and the
smallest tolerance.
"""


@dataclass(frozen=True, slots=True)
class FixedCount:
    """A fixed number of iterations per step, without a convergence measure.

    Some flow and structure solvers offer only a number of outer corrections. Values that are not finite never pass. A
    larger change than `limit` in the last iteration, relative to the size of a signal, does not count.
    """

    count: int
    limit: float = DEFAULT_TOLERANCE

    @property
    def name(self) -> str:
        return f"none, after {counted(self.count, 'iteration')}"

    @property
    def limits(self) -> tuple[MeasureLimit, ...]:
        return (MeasureLimit(MeasureKind.RELATIVE, self.limit),)

    def allowed(self, x: Floats, nominal: Floats) -> Floats:
        return np.asarray(self.limit * np.maximum(np.abs(x), nominal))


MEASURES: Mapping[MeasureName, Callable[[float], Measure]] = {
    MeasureName.ABSOLUTE: Absolute,
    MeasureName.RELATIVE: Relative,
    MeasureName.RESIDUAL_RELATIVE: ResidualRelative,
}


def choose_measure(settings: Settings, *, single: bool) -> tuple[Measure, str]:
    """The measure in the settings (default: a relative one), and the reason; `single`: some signals are of type
    Float32.

    Raises
    ------
    WrongValue
        A measure of this name does not exist, or its limit is not positive.
    """
    measures = list(_measures(settings))
    if not measures and single:
        return Relative(SINGLE_TOLERANCE), "signals of type Float32"
    if not measures and settings.adaptive is not None:
        limit = min(max(BESIDE_ERRORS * settings.adaptive, LEAST_TOLERANCE), DEFAULT_TOLERANCE)
        return Relative(limit), "beside the errors of adaptive steps"
    if not measures:
        return Relative(DEFAULT_TOLERANCE), "default"
    return measures[0] if len(measures) == 1 else AllOf(tuple(measures)), ASKED


def _measures(settings: Settings) -> Iterator[Measure]:
    """Measures in the settings; `tolerance` is the short form of a relative one."""
    limits: dict[str, float] = {} if settings.tolerance is None else {MeasureName.RELATIVE: settings.tolerance}
    for name, limit in (limits | dict(settings.convergence)).items():
        if name not in list(MeasureName):
            raise WrongValue(f"convergence must be one of {', '.join(MeasureName)}; found {name!r}")
        if not 0 < limit < float("inf"):
            raise WrongValue(f"the {name} limit of convergence must be positive, found {limit:g}")
        yield MEASURES[MeasureName(name)](limit)


_HELD: Mapping[int, str] = {
    Trial.INTEGRATES: "the mean of both ends of a step: in trial steps their FMUs integrate them",
    Trial.STEPS: "the value at the end of a step: trial steps do not show that their FMUs integrate them",
}


@dataclass(slots=True)
class UnconvergedSteps:
    """Accepted steps of a group whose iteration did not converge.

    Attributes
    ----------
    signals
        Names of the unknowns of the group.
    accepted
        Steps so far.
    count
        Iterations of each step, if their number is fixed.
    """

    signals: tuple[str, ...]
    accepted: AcceptedSteps
    count: int = 0

    @property
    def unconverged(self) -> Unconverged:
        """Steps with a fixed number of iterations that had not converged, and the worst of them."""
        steps = self.accepted
        if not steps.unconverged:
            return NONE_UNCONVERGED
        worst = steps.residual, self.signals[steps.open_signal], steps.open_time
        return Unconverged(steps.unconverged, *worst, self.count, steps.grows)

    def remarks(self, names: tuple[str, ...]) -> Iterator[str]:
        who, steps = ", ".join(names), self.accepted
        if steps.trial != Trial.NONE:
            yield f"inputs of {who} that can only be held have {_HELD[steps.trial]}"
        if steps.noisy:
            yield (
                f"{_steps(steps.noisy)} of {who} stagnated at the noise of the FMUs and were accepted: "
                f"{self.signals[steps.signal]} changed by up to {steps.level:.2g} of its size (step from t = "
                f"{steps.time:.6g} s)"
            )
        if steps.ends:
            yield (
                f"in {_steps(steps.ends)} of {who}, the first from t = {steps.ends_from:.6g} s, inputs had their value "
                "at the end of the step: the coupling is stiff, and would ring with inputs that run over the step; "
                "such steps are of order 1"
            )
        if steps.by_newton:
            yield (
                f"{_steps(steps.by_newton)} of {who} used Newton's method, as IQN-ILS did not converge, the first from "
                f"t = {steps.by_newton_from:.6g} s"
            )
        if steps.damped:
            yield (
                f"{_steps(steps.damped)} of {who} did not converge and were repeated with stronger damping or Newton's "
                f"method, the first from t = {steps.damped_from:.6g} s"
            )
        if steps.unrepeated:
            yield (
                f"{_steps(steps.unrepeated)} of {who} did not converge and were done without iterations, with "
                f"extrapolated inputs, the first from t = {steps.unrepeated_from:.6g} s; compare with a smaller step "
                "size"
            )
        if steps.unconverged:
            yield self.unconverged.text(who)


def _steps(count: int) -> str:
    return counted(count, "macro step")
