"""Iterated: repeat the step from a saved state until the values at its end agree."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ssptool.engine.ending import Ending, Failure
from ssptool.engine.kernel.interface import Floats, Outcome
from ssptool.engine.loops.fixed_point import FixedPoint
from ssptool.engine.loops.iterate import Proposal
from ssptool.engine.loops.solution import Convergence
from ssptool.engine.masters.inputs import Hold, Interpolate
from ssptool.engine.masters.master import Coupled, Set, Stretch

PREDICTION_ORDER = 2
"""Of the first guess: one more than needed for order, since a better guess saves iterations and costs
nothing.
"""


class Acceleration(Protocol):
    """How the next iterate follows from the last ones; the loop solvers that propose points serve here
    too.
    """

    @property
    def name(self) -> str: ...

    def proposal(self) -> Proposal: ...


@dataclass(frozen=True, slots=True)
class Iterated:
    """Groups of instances that feed each other repeat a step until their inputs at its end agree with their
    sources.

    The first guess continues the polynomial through the accepted points. Instances outside of such groups
    step once, in the order of the signal flow. Interpolated inputs of order k give order k + 1, held ones (at
    their value at the end of the step) order 1 and much damping.

    References
    ----------
    Kübler and Schiehlen 2000, "Two methods of simulator coupling"; Küttler and Wall 2008 (acceleration).
    """

    inputs: Interpolate | Hold = field(default_factory=Interpolate)
    acceleration: Acceleration = field(default_factory=FixedPoint)
    convergence: Convergence = field(default_factory=lambda: Convergence(rtol=1e-8))
    max_iterations: int = 30

    @property
    def name(self) -> str:
        return "iterated"

    def run(self, system: Coupled, first: int, rows: Floats) -> Stretch:
        counts: list[int] = []
        for done in range(len(rows)):
            most = 1
            for group in system.groups:
                attempt = _Step(self, system, group, first + done)
                iterations = attempt.iterate() if group.unknowns else attempt.once()
                if isinstance(iterations, Failure):
                    return Stretch(done, iterations, tuple(counts))
                most = max(most, iterations)
            counts.append(most)
            system.finish(first + done + 1, rows[done])
        return Stretch(len(rows), None, tuple(counts))


class _Step:
    """One macro step of one group."""

    def __init__(self, master: Iterated, system: Coupled, group: Set, point: int) -> None:
        self.master = master
        self.system = system
        self.kernel = system.kernel
        self.group = group
        self.t, self.end = system.time(point), system.time(point + 1)

    def once(self) -> int | Failure:
        """Nothing feeds back: what comes from earlier groups is known at the end of the step."""
        self.kernel.exchange(self.group.group)
        return self._advance() or 1

    def iterate(self) -> int | Failure:
        """Until what goes into the inputs at the end of the step is what comes out for them."""
        master, slots, values = self.master, list(self.group.unknowns), self.kernel.values
        nominal = np.asarray(self.group.nominal, dtype=float)
        if failure := self._checked(self.kernel.save):
            return failure
        x = self._predict(slots)
        propose = master.acceleration.proposal()
        self.kernel.exchange(self.group.group)
        for iteration in range(1, master.max_iterations + 1):
            values[slots] = x
            if failure := self._advance():
                return failure
            self.kernel.exchange(self.group.group)
            found = values[slots]
            if not np.all(np.isfinite(found)):
                return self._diverged(iteration, x, found)
            if master.convergence.reached(found - x, x, nominal):
                return iteration
            if iteration < master.max_iterations:
                x = nominal * propose(x / nominal, found / nominal)
                if failure := self._checked(self.kernel.restore):
                    return failure
        return self._diverged(master.max_iterations, x, found)

    def _predict(self, slots: list[int]) -> Floats:
        """Where the polynomial through the accepted points leads."""
        kernel, h = self.kernel, self.system.step
        kernel.extrapolate(self.group.group, PREDICTION_ORDER)
        value, (first, second) = kernel.input_value[slots], kernel.input_rates[:, slots]
        return np.asarray(value + h * first + h * h / 2 * second)

    def _advance(self) -> Failure | None:
        kernel, group, h = self.kernel, self.group, self.system.step
        kernel.hold(group.held)
        self.master.inputs.apply(kernel, group.following, h)
        outcome = kernel.advance(group.group, self.t, h)
        if not outcome.ok:
            return self.system.explain(outcome, self.t)
        return self.system.evaluate(group.sweep, self.end)

    def _checked(self, operation: Callable[[int], Outcome]) -> Failure | None:
        outcome = operation(self.group.group)
        return None if outcome.ok else self.system.explain(outcome, self.t)

    def _diverged(self, iterations: int, x: Floats, found: Floats) -> Failure:
        scale = np.maximum(np.abs(x), np.asarray(self.group.nominal))
        worst = float(np.max(np.abs(found - x) / scale))
        names = ", ".join(self.group.names)
        return Failure(
            Ending.COUPLING,
            f"after {iterations} iterations of the step from t = {self.t:g} s the inputs of {names} still change "
            f"by {worst:.2g} of their size (allowed {self.master.convergence.rtol:g})",
            "use a smaller step size, another acceleration (anderson), a larger tolerance, or more iterations",
            self.t,
        )
