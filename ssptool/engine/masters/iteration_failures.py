"""Failures of iterated steps, in words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ssptool.engine.failure import (
    Ending,
    FailedIteration,
    Failure,
    IteratedConnection,
    finite,
    largest_first,
    residual_curves,
    seconds_text,
)
from ssptool.engine.kernel.calls import (
    AcceptedSteps,
    IterationReport,
)
from ssptool.engine.masters.iterated import Iterated
from ssptool.engine.masters.protocols import InstanceGroup, InterfaceEnds
from ssptool.errors import counted
from ssptool.fmu.units import with_unit

NOISE_MARGIN = 10.0
"""Largest remaining change that noise explains, as a multiple of the noise."""

GROWTH_OF_UNPLANNED = 1e3
"""A step without agreement is rejected if its values exceed this multiple of the largest values so far."""

WORTH_ALLOWING = 0.1
"""A larger remaining change is not suggested as a tolerance."""


@dataclass(frozen=True, slots=True)
class IterationFailures:
    """Failures of the iterated steps of one group: messages, and facts of the iteration.

    Attributes
    ----------
    ends
        Connections that feed the unknowns, in their order.
    accepted
        Steps so far.
    """

    method: Iterated
    group: InstanceGroup
    ends: Sequence[InterfaceEnds]
    accepted: AcceptedSteps

    def of_step(self, t: float, iterations: int, report: IterationReport, component: Failure | None) -> Failure:
        """Failure of a step from t [s]: that of a component, or of the iteration itself."""
        if component is None:
            failure = self._not_converged(t, iterations, report)
            return self._unplanned(failure, report) if self.method.retreats else failure
        return self._left_domain(t, iterations, report, component) if report.left_domain else self._later(component)

    def _not_converged(self, t: float, iterations: int, report: IterationReport) -> Failure:
        names, iteration = ", ".join(self.group.names), self._failed(iterations, report)
        step = f"of the step from t = {seconds_text(t)} for the inputs of {names}"
        tried = counted(iterations, "iteration")
        left = f"{_largest_change(iteration)} (asked for: {self.method.measure.name})"
        noisy = report.least <= NOISE_MARGIN * report.noise
        stays = noisy or (report.stagnates and report.least < report.first)
        if stays and report.least <= 1.0:  # a change by more than the size is not stagnation
            known = f", the noise of the FMUs is {report.noise:.2g}" if report.noise else ""
            rest = 2.0 * max(report.least, 2.0 * report.noise)
            allow = f"allow what is left with --tolerance {rest:.0e}, or " if rest < WORTH_ALLOWING else ""
            why = f"the iteration {step} stagnates after {tried}: {left}{known}"
            return _gives_up(t, why, f"{allow}step without iterations (--master jacobi)", iteration)
        if report.grows or report.least > 1.0:  # a change by more than the size does not come closer
            return _gives_up(t, f"the iteration {step} diverges after {tried}: {left}", self._remedy(), iteration)
        return _gives_up(
            t,
            f"the iteration {step} has not converged after {tried}: {left}",
            f"allow more with {self._more()}, {self._remedy()}, or step without iterations (--master jacobi)",
            iteration,
        )

    def _unplanned(self, failure: Failure, report: IterationReport) -> Failure:
        """Failure of steps that were not done as planned: too many of them, or one with values far beyond all
        before.
        """
        steps, names = self.accepted, ", ".join(self.group.names)
        why = (
            f"{steps.unplanned} of {counted(steps.steps, 'macro step')} of {names} did not converge as planned "
            f"({steps.damped} done with stronger damping or Newton's method, {steps.unrepeated} with extrapolated "
            "inputs)"
        )
        if report.escaped:
            why = (
                f"a macro step of {names} did not converge, and with extrapolated inputs it leads to more than "
                f"{GROWTH_OF_UNPLANNED:g} times the largest values so far"
            )
        advice = failure.advice if "--master jacobi" in failure.advice else self._possible()
        return replace(failure, message=f"{why}; the last: {failure.message}", advice=advice)

    def _possible(self) -> str:
        return (
            "possible remedies: --implementation me, if all FMUs offer model exchange; a smaller --step-size; "
            f"--acceleration {self._better()}, compared with a smaller step size, because stiff coupling may ring"
        )

    def _failed(self, iterations: int, report: IterationReport) -> FailedIteration:
        """All iterates of a step that was given up."""
        numbered = enumerate(report.judged.tolist(), start=1)
        points = [(number, change, change / excess) for number, (change, excess) in numbered if excess > 0.0]
        connections, left_out = largest_first(self._connections(report))
        method, least = self.method.acceleration.name, finite(report.least)
        return FailedIteration(
            method=method,
            iterations=iterations,
            residual=least,
            allowed=next((finite(limit) for _, change, limit in points if change == least), None),
            relative_to="size",
            connections=connections,
            left_out=left_out,
            curves=residual_curves({method: points}),
        )

    def _connections(self, report: IterationReport) -> Iterator[IteratedConnection]:
        nominal = np.asarray(self.group.nominal, dtype=float)
        allowed = self.method.measure.allowed(report.best, nominal)
        relative = np.abs(report.change) / np.maximum(np.abs(report.best), nominal)
        numbers = np.transpose((report.best, report.change, allowed, relative)).tolist()
        for (source, destination, unit), row in zip(self.ends, numbers, strict=True):
            value, change, limit, share = map(finite, row)
            ends = str(source), str(destination), source.component, destination.component
            yield IteratedConnection(*ends, value, unit, change, limit, share)

    def _left_domain(self, t: float, iterations: int, report: IterationReport, failure: Failure) -> Failure:
        """Failure of a component at an iterate, which may lie outside of its domain, unlike the solution."""
        names = ", ".join(self.group.names)
        why = (
            f"the iteration of the step from t = {seconds_text(t)} for the inputs of {names} left the domain of a "
            f"component in iteration {iterations}: {failure.message}"
        )
        return _gives_up(t, why, self._remedy(), self._failed(iterations, report), failure.messages)

    def _later(self, failure: Failure) -> Failure:
        """The failure, with a hint to earlier steps without iterations that may have caused it."""
        steps = self.accepted
        if not steps.unrepeated:
            return failure
        cause = f"steps since t = {steps.unrepeated_from:.6g} s that did not converge may have led to this"
        advice = f"{cause}: allow more iterations with {self._more()}, {self._remedy()}; {failure.advice}"
        return replace(failure, advice=advice)

    def _more(self) -> str:
        return f"--max-iterations {2 * self.method.max_iterations}"

    def _remedy(self) -> str:
        return f"use --acceleration {self._better()}, or a smaller --step-size"

    def _better(self) -> str:
        strong = ("IQN-ILS", "interface Newton")
        return "newton" if self.method.acceleration.name in strong else "newton or iqn-ils"


def _gives_up(t: float, why: str, advice: str, iteration: FailedIteration, messages: tuple[str, ...] = ()) -> Failure:
    return Failure(Ending.COUPLING, why, advice, t, messages=messages, iteration=iteration)


def _largest_change(iteration: FailedIteration) -> str:
    """Text for the largest change at the best iterate, in the unit of its signal and relative to its size."""
    worst = iteration.worst
    if worst is None or worst.residual is None or worst.relative is None:
        return "a value is not finite"
    change = with_unit(f"{abs(worst.residual):.3g}", worst.unit)
    return f"{worst.destination} changes by {change}, {worst.relative:.3g} of its size"
