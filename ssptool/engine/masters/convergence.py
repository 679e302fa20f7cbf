"""Convergence of iterated steps: measures with their limits, and remarks on steps that did not converge."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ssptool.engine.kernel.calls import AcceptedSteps, Floats, MeasureKind, MeasureLimit, Trial
from ssptool.engine.masters.protocols import NONE_UNCONVERGED, InstanceGroup, Unconverged
from ssptool.engine.settings import ASKED, Settings
from ssptool.errors import WrongValue, counted


@dataclass(frozen=True, slots=True)
class Measure:
    """Limits, all of which the difference between the inputs x of a step and the values `found` for them must meet.

    With a `count`, each step has that number of iterations instead, because some flow and structure solvers offer only
    a number of outer corrections. Values that are not finite never pass; a larger change than the limit in the last
    iteration is counted as not converged.

    References
    ----------
    Uekermann 2016, "Partitioned fluid-structure interaction on massively parallel systems", §3.5 (residual-relative).
    """

    limits: tuple[MeasureLimit, ...]
    count: int = 0

    @property
    def name(self) -> str:
        if self.count:
            return f"none, after {counted(self.count, 'iteration')}"
        return " and ".join(f"{_name(kind)} {limit:g}" for kind, limit in self.limits)

    def allowed(self, x: Floats, nominal: Floats) -> Floats:
        """The largest |found − x| that each signal may have, in its unit; inf if signals are not compared one by one.

        All (m,).
        """
        sizes = {MeasureKind.ABSOLUTE: np.ones_like(x), MeasureKind.RELATIVE: np.maximum(np.abs(x), nominal)}
        alone = (limit * sizes[kind] if kind in sizes else np.full_like(x, np.inf) for kind, limit in self.limits)
        return np.asarray(np.min(list(alone), axis=0))


def _name(kind: MeasureKind) -> str:
    return kind.name.lower().replace("_", "-")


def relative(limit: float, count: int = 0) -> Measure:
    """Every |found − x| is at most limit · max(|x|, nominal)."""
    return Measure((MeasureLimit(MeasureKind.RELATIVE, limit),), count)


DEFAULT_TOLERANCE = 1e-8
SINGLE_TOLERANCE = 1e-5
"""Tolerance of signals of type Float32."""

BESIDE_ERRORS, LEAST_TOLERANCE = 1e-7, 1e-12
"""Share of the error of adaptive steps that iterations may leave (each step may have a small part of it), and the
smallest tolerance.
"""


_KINDS = {_name(kind): kind for kind in MeasureKind}


def choose_measure(settings: Settings, *, single: bool) -> tuple[Measure, str]:
    """The measure in the settings (default: a relative one), and the reason; `single`: some signals are of type
    Float32.

    Raises
    ------
    WrongValue
        A measure of this name does not exist, or its limit is not positive.
    """
    limits = tuple(_limits(settings))
    if limits:
        return Measure(limits), ASKED
    if single:
        return relative(SINGLE_TOLERANCE), "signals of type Float32"
    if settings.adaptive is not None:
        limit = min(max(BESIDE_ERRORS * settings.adaptive, LEAST_TOLERANCE), DEFAULT_TOLERANCE)
        return relative(limit), "beside the errors of adaptive steps"
    return relative(DEFAULT_TOLERANCE), "default"


def _limits(settings: Settings) -> Iterator[MeasureLimit]:
    """Limits in the settings; `tolerance` is the short form of a relative one."""
    limits = {} if settings.tolerance is None else {_name(MeasureKind.RELATIVE): settings.tolerance}
    for name, limit in (limits | dict(settings.convergence)).items():
        if name not in _KINDS:
            raise WrongValue(f"convergence must be one of {', '.join(_KINDS)}; found {name!r}")
        if not 0 < limit < float("inf"):
            raise WrongValue(f"the {name} limit of convergence must be positive, found {limit:g}")
        yield MeasureLimit(_KINDS[name], limit)


_HELD: Mapping[int, str] = {
    Trial.INTEGRATES: "the mean of both ends of a step: in trial steps their FMUs integrate them",
    Trial.STEPS: "the value at the end of a step: trial steps do not show that their FMUs integrate them",
}


def unconverged_steps(group: InstanceGroup, steps: AcceptedSteps, count: int) -> Unconverged:
    """Steps with a fixed number (`count`) of iterations that had not converged, and the worst of them."""
    if not steps.unconverged:
        return NONE_UNCONVERGED
    return Unconverged(
        steps.unconverged, steps.residual, group.signals[steps.open_signal], steps.open_time, count, steps.grows
    )


def remarks_on_steps(group: InstanceGroup, steps: AcceptedSteps, count: int) -> Iterator[str]:
    """Remarks on accepted steps of a group that did not converge, or were done otherwise than planned."""
    who = ", ".join(group.names)
    if steps.trial != Trial.NONE:
        yield f"inputs of {who} that can only be held have {_HELD[steps.trial]}"
    if steps.noisy:
        yield (
            f"{_steps(steps.noisy)} of {who} stagnated at the noise of the FMUs and were accepted: "
            f"{group.signals[steps.signal]} changed by up to {steps.level:.2g} of its size (step from t = "
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
        yield unconverged_steps(group, steps, count).text(who)


def _steps(count: int) -> str:
    return counted(count, "macro step")
