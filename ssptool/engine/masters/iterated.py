"""Iterated: repeat the step from a saved state until the values at its end agree."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ssptool.engine.ending import Ending, Failure
from ssptool.engine.kernel.interface import Floats, Outcome
from ssptool.engine.loops.anderson import Anderson
from ssptool.engine.loops.iterate import Proposal
from ssptool.engine.loops.solution import Convergence
from ssptool.engine.masters.inputs import Hold, Interpolate
from ssptool.engine.masters.master import Coupled, Instances, Participants, Stepper, Stretch

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
    acceleration: Acceleration = field(default_factory=Anderson)
    convergence: Convergence = field(default_factory=lambda: Convergence(rtol=1e-8))
    max_iterations: int = 30

    @property
    def name(self) -> str:
        return "iterated"

    @property
    def chooses_steps(self) -> bool:
        return False

    def start(self, system: Coupled) -> Stepper:
        return _Iteration(system, tuple(_Group(self, system, group) for group in system.groups))

    def outline(self, groups: Sequence[Participants]) -> tuple[str, ...]:
        lines: list[str] = []
        for group in groups:
            if group.iterated:
                lines += [
                    f"save states of {group}; guess their inputs at the end of the step by extrapolation",
                    f"repeat, at most {self.max_iterations} times, until inputs and their sources agree "
                    f"to {self.convergence.rtol:g} (acceleration: {self.acceleration.name}):",
                    *(f"  {line}" for line in (*group.moves(self.inputs.name), f"step {group}", "evaluate")),
                    f"  exchange; if they do not agree, restore states of {group}",
                ]
            else:
                lines += ["exchange", *group.moves(self.inputs.name), f"step {group}", "evaluate"]
        return tuple(lines)


@dataclass(frozen=True, slots=True)
class _Iteration:
    """All groups of a system, in the order of the signal flow."""

    system: Coupled
    groups: tuple["_Group", ...]

    def run(self, first: int, rows: Floats) -> Stretch:
        counts: list[int] = []
        for done in range(len(rows)):
            most = 1
            for group in self.groups:
                iterations = group.step(first + done)
                if isinstance(iterations, Failure):
                    return Stretch(done, iterations, tuple(counts))
                most = max(most, iterations)
            counts.append(most)
            self.system.finish(first + done + 1, rows[done])
        return Stretch(len(rows), None, tuple(counts))


class _Group:
    """One group of instances, with what its steps need at hand."""

    def __init__(self, master: Iterated, system: Coupled, group: Instances) -> None:
        self.master = master
        self.system = system
        self.kernel = system.kernel
        self.group = group
        self.unknowns = np.asarray(group.unknowns, dtype=np.intp)
        self.nominal = np.asarray(group.nominal, dtype=float)
        # Views, fetched once: asking the kernel for them costs more than reading them.
        self.values = self.kernel.values
        self.input_value = self.kernel.input_value
        self.input_rates = self.kernel.input_rates

    def step(self, point: int) -> int | Failure:
        """One macro step from this communication point; the number of iterations that it took."""
        t, end = self.system.time(point), self.system.time(point + 1)
        if len(self.unknowns):
            return self._iterate(t, end)
        # Nothing feeds back: what comes from earlier groups is known at the end of the step.
        self.kernel.exchange(self.group.group)
        return self._advance(t, end) or 1

    def _iterate(self, t: float, end: float) -> int | Failure:
        """Until what goes into the inputs at the end of the step is what comes out for them."""
        master, slots, values, nominal = self.master, self.unknowns, self.values, self.nominal
        if failure := self._checked(self.kernel.save, t):
            return failure
        x = found = self._predict()
        # x moves little while it is iterated, so that what is allowed is that at its first guess.
        allowed = master.convergence.allowed(x, nominal)
        propose = master.acceleration.proposal()
        self.kernel.exchange(self.group.group)
        for iteration in range(1, master.max_iterations + 1):
            values[slots] = x
            if failure := self._advance(t, end):
                return failure
            self.kernel.exchange(self.group.group)
            found = values[slots]
            if (np.abs(found - x) <= allowed).all():
                return iteration
            if iteration < master.max_iterations:
                x = nominal * propose(x / nominal, found / nominal)
                if failure := self._checked(self.kernel.restore, t):
                    return failure
        return self._diverged(t, x, found)

    def _predict(self) -> Floats:
        """Where the polynomial through the accepted points leads."""
        h, slots = self.system.step, self.unknowns
        self.kernel.extrapolate(self.group.group, PREDICTION_ORDER)
        first, second = self.input_rates[0][slots], self.input_rates[1][slots]
        return np.asarray(self.input_value[slots] + h * first + h * h / 2 * second)

    def _advance(self, t: float, end: float) -> Failure | None:
        kernel, group, h = self.kernel, self.group, self.system.step
        kernel.hold(group.held)
        self.master.inputs.apply(kernel, group.following, h)
        outcome = kernel.advance(group.group, t, h)
        if not outcome.ok:
            return self.system.explain(outcome, t)
        return self.system.evaluate(group.sweep, end)

    def _checked(self, operation: Callable[[int], Outcome], t: float) -> Failure | None:
        outcome = operation(self.group.group)
        return None if outcome.ok else self.system.explain(outcome, t)

    def _diverged(self, t: float, x: Floats, found: Floats) -> Failure:
        worst = float(np.max(np.abs(found - x) / np.maximum(np.abs(x), self.nominal)))
        names = ", ".join(self.group.names)
        return Failure(
            Ending.COUPLING,
            f"after {self.master.max_iterations} iterations of the step from t = {t:g} s the inputs of {names} "
            f"still change by {worst:.2g} of their size (allowed {self.master.convergence.rtol:g})",
            "use a smaller step size, another acceleration (anderson), a larger tolerance, or more iterations",
            t,
        )
