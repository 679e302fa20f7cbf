"""Iterated: repeat the step from a saved state until the values at its end agree."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import NamedTuple

import numpy as np

from ssptool.dataclass import dataclass
from ssptool.engine.ending import Ending, Failure
from ssptool.engine.kernel.interface import Code, Floats, Outcome
from ssptool.engine.loops.iterate import Proposal
from ssptool.engine.masters.acceleration import Acceleration, Interface
from ssptool.engine.masters.agreement import Agreement
from ssptool.engine.masters.inputs import Hold, Interpolate
from ssptool.engine.masters.iqn_ils import IqnIls
from ssptool.engine.masters.iterated_natively import (
    PREDICTION_ORDER,
    ProgrammedIteration,
    programmed,
    suits,
)
from ssptool.engine.masters.master import AskDerivatives, Coupled, Instances, Participants, StepDerivatives, Stretch
from ssptool.engine.masters.measures import FixedCount, Measure, Relative
from ssptool.engine.masters.partners import Memory, part_of, under

MISSES, MISSES_WITHIN = 5, 50
"""So many steps in which plain iteration was not good enough, within so many steps, are too many."""


@dataclass(frozen=True, slots=True)
class Iterated:
    """Groups of instances that feed each other repeat a step until their inputs at its end agree with their
    sources.

    The first guess continues the polynomial of order `prediction` through the accepted points; of order 0, inputs
    stay at their sources' present values. Instances outside of such groups
    step once, in the order of the signal flow. Interpolated inputs of order k give order k + 1, held ones (at
    their value at the end of the step) order 1 and much damping.

    References
    ----------
    Kübler and Schiehlen 2000, "Two methods of simulator coupling"; Küttler and Wall 2008 (acceleration).
    """

    inputs: Interpolate | Hold = field(default_factory=Interpolate)
    acceleration: Acceleration = field(default_factory=IqnIls)
    measure: Measure = field(default_factory=lambda: Relative(1e-8))
    max_iterations: int = 30
    prediction: int = PREDICTION_ORDER

    @property
    def name(self) -> str:
        return "iterated"

    @property
    def chooses_steps(self) -> bool:
        return False

    @property
    def plain_iterations(self) -> int:
        """How many iterates are plain before the acceleration is asked.

        No method does better than to agree at the second iterate; as long as a plain one does, the method that
        is taken by default is not needed, and costs more than a small FMU.
        """
        return 2 if isinstance(self.acceleration, IqnIls) else 1

    def start(self, system: Coupled) -> "Iteration | ProgrammedIteration":
        iteration = Iteration(system, tuple(Group(self, system, group) for group in system.groups))
        return programmed(self, iteration) if suits(self, system) else iteration

    def outline(self, groups: Sequence[Participants]) -> tuple[str, ...]:
        lines: list[str] = []
        for group in groups:
            if group.iterated:
                lines += [
                    f"save states of {group}; guess their inputs at the end of the step by extrapolation of order "
                    f"{self.prediction}",
                    self._repetition(),
                    *(f"  {line}" for line in (*group.moves(self.inputs.name), f"step {group}", "evaluate")),
                    f"  exchange; if they do not agree, restore states of {group}",
                ]
            else:
                lines += ["exchange", *group.moves(self.inputs.name), f"step {group}", "evaluate"]
        return tuple(lines)

    def _repetition(self) -> str:
        if isinstance(self.measure, FixedCount):
            return f"repeat, exactly {self.measure.count} times in all (acceleration: {self.acceleration.name}):"
        return (
            f"repeat, at most {self.max_iterations} times, until inputs and their sources agree "
            f"({self.measure.name}; acceleration: {self.acceleration.name}):"
        )


class Iteration(NamedTuple):
    """All groups of a system, in the order of the signal flow."""

    system: Coupled
    groups: tuple["Group", ...]

    @property
    def is_cautious(self) -> bool:
        return any(group.cautious for group in self.groups)

    @np.errstate(over="ignore", invalid="ignore")  # iterates that run away are told of in the failure
    def run(self, first: int, rows: Floats) -> Stretch:
        counts: list[int] = []
        system, h = self.system, self.system.step
        for done in range(len(rows)):
            end = system.time(first + done + 1)
            if system.drive is not None:
                system.drive.begin(h, end)
            iterations = self.step(system.time(first + done), h, end)
            if isinstance(iterations, Failure):
                return Stretch(done, iterations, tuple(counts))
            counts.append(iterations)
            system.finish(first + done + 1, rows[done])
        return Stretch(len(rows), None, tuple(counts))

    def memory(self) -> Memory:
        memories = (under(f"group {number}", group.memory()) for number, group in enumerate(self.groups))
        return {name: value for memory in memories for name, value in memory.items()}

    def recall(self, memory: Memory) -> None:
        for number, group in enumerate(self.groups):
            group.recall(part_of(memory, f"group {number}"))

    def step(self, t: float, h: float, end: float) -> int | Failure:
        most = 1
        for group in self.groups:
            iterations = group.step(t, h, end)
            if isinstance(iterations, Failure):
                return iterations
            most = max(most, iterations)
        return most


class Group:
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
        self.t, self.h, self.end = system.start, system.step, system.start
        # Those of the kernel; which one is the last that was run does not matter where there is none of either.
        self.iteration: int | None = None
        self.cautious_iteration: int | None = None
        self.cautious = master.plain_iterations == 1
        self.misses: deque[float] = deque(maxlen=MISSES)
        self.ask_derivatives: AskDerivatives | None = None
        self.accelerator = master.acceleration.start(Interface(self._probe, self._pattern, self._derivatives))

    def memory(self) -> Memory:
        own = {"cautious": np.array(self.cautious), "misses": np.array(self.misses, dtype=float)}
        return {**own, **under("acceleration", self.accelerator.memory())}

    def recall(self, memory: Memory) -> None:
        self.cautious = bool(memory["cautious"])
        self.misses.extend(memory["misses"].tolist())
        self.accelerator.recall(part_of(memory, "acceleration"))

    def step(self, t: float, h: float, end: float) -> int | Failure:
        """One macro step; the number of iterations that it took."""
        self.t, self.h, self.end = t, h, end
        if len(self.unknowns):
            return self._iterate()
        # Nothing feeds back: what comes from earlier groups is known at the end of the step.
        self.kernel.exchange(self.group.group)
        return self._advance() or 1

    def _iterate(self) -> int | Failure:
        """Until what goes into the inputs at the end of the step is what comes out for them."""
        master, slots, values, nominal = self.master, self.unknowns, self.values, self.nominal
        if failure := self._checked(self.kernel.save):
            return failure
        x = self._predict()
        agreement = Agreement(master.measure, nominal)
        propose = self.accelerator.begin()
        self.kernel.exchange(self.group.group)
        for iteration in range(1, master.max_iterations + 1):
            values[slots] = x
            if failure := self._advance():
                return self._carried_away(failure, iteration) if iteration > 1 else failure
            self.kernel.exchange(self.group.group)
            found = values[slots]
            agree = agreement.reached(x, found)
            if self.system.coupling_log is not None:
                self._log(iteration, x, found, agreement.excess, agree)
            if agree:
                return iteration
            plain = self._plain(iteration)
            if agreement.lost(x, found) or iteration == master.max_iterations:
                break
            x = nominal * (found / nominal) if plain else nominal * propose(x / nominal, found / nominal)
            if failure := self._checked(self.kernel.restore):
                return failure
        return self._apart(iteration, x, found, agreement.growing)

    def _plain(self, iteration: int) -> bool:
        """Whether what was found in this iteration is the next iterate, without acceleration.

        Where that was not good enough in several of the last steps it is given up.
        """
        if not self.cautious and iteration == self.master.plain_iterations:
            self.misses.append(self.t)
            within = self.t - self.misses[0] < MISSES_WITHIN * self.h
            self.cautious = len(self.misses) == self.misses.maxlen and within
            return False
        return not self.cautious and iteration < self.master.plain_iterations

    def carry_on(self, outcome: Outcome, t: float, h: float, end: float) -> int | Failure:
        """From where the kernel could not go on by itself with this step."""
        self.t, self.h, self.end = t, h, end
        if self.iteration is None:
            if outcome.code is not Code.LOOP:
                return self.system.explain(outcome, t)
            return self.system.evaluate(self.group.sweep, end) or 1
        iteration = self.iteration
        if self.cautious and self.cautious_iteration is not None:
            iteration = self.cautious_iteration
        x = self.kernel.guess(iteration)
        slots, values, nominal = self.unknowns, self.values, self.nominal
        agreement = Agreement(self.master.measure, nominal)
        propose: Proposal | None = None
        iterations = outcome.iterations
        while True:
            if failure := self._rescued(outcome):
                return self._carried_away(failure, iterations) if iterations > 1 else failure
            found = values[slots]
            if agreement.reached(x, found):
                return iterations
            if agreement.lost(x, found) or iterations >= self.master.max_iterations:
                return self._apart(iterations, x, found, agreement.growing)
            if self._plain(iterations):
                x[:] = nominal * (found / nominal)
            else:
                propose = propose or self.accelerator.begin()
                x[:] = nominal * propose(x / nominal, found / nominal)
            outcome = self.kernel.iterate(iteration, t, h, False)
            iterations += 1

    def _rescued(self, outcome: Outcome) -> Failure | None:
        """After an iterate whose loops the kernel did not solve."""
        if outcome.ok or outcome.code is Code.COUPLING:
            return None
        if outcome.code is not Code.LOOP:
            return self.system.explain(outcome, self.t)
        if failure := self.system.evaluate(self.group.sweep, self.end):
            return failure
        self.kernel.exchange(self.group.group)
        return None

    def _predict(self) -> Floats:
        """Where the polynomial through the accepted points leads."""
        h, slots, order = self.h, self.unknowns, self.master.prediction
        if order == 0:
            self.kernel.exchange(self.group.group)
            return np.array(self.values[slots])
        self.kernel.extrapolate(self.group.group, order)
        first, second = self.input_rates[0][slots], self.input_rates[1][slots]
        return np.asarray(self.input_value[slots] + h * first + h * h / 2 * second)

    def _probe(self, x: Floats) -> Floats:
        """The present step anew, with x at its end; both in nominal values."""
        if self._checked(self.kernel.restore):
            return np.full_like(x, np.nan)
        self.values[self.unknowns] = x * self.nominal
        if self._advance():
            return np.full_like(x, np.nan)
        self.kernel.exchange(self.group.group)
        return np.asarray(self.values[self.unknowns] / self.nominal)

    def _pattern(self) -> "np.ndarray[tuple[int, ...], np.dtype[np.bool_]]":
        return self.system.interface_pattern(self.group)

    def _derivatives(self) -> StepDerivatives:
        """Of `_probe`, at the iterate at which the components are."""
        if self.ask_derivatives is None:
            self.ask_derivatives = self.system.interface_derivatives(self.group)
        inputs = self.master.inputs
        found = self.ask_derivatives(self.h, inputs.order if isinstance(inputs, Interpolate) else 0)
        return StepDerivatives(found.matrix * self.nominal / self.nominal[:, None], found.known)

    def _advance(self) -> Failure | None:
        kernel, group = self.kernel, self.group
        kernel.hold(group.held)
        self.master.inputs.apply(kernel, group.following, self.h)
        outcome = self.system.advance(group, self.t, self.h)
        if not outcome.ok:
            return self.system.explain(outcome, self.t)
        return self.system.evaluate(group.sweep, self.end)

    def _checked(self, operation: Callable[[int], Outcome]) -> Failure | None:
        outcome = operation(self.group.group)
        return None if outcome.ok else self.system.explain(outcome, self.t)

    def _log(self, iteration: int, x: Floats, found: Floats, excess: float, converged: bool) -> None:
        if self.system.coupling_log is not None:
            facts = (self.end, ", ".join(self.group.names), iteration, excess, converged)
            values, residuals = (
                dict(zip(self.group.signals, numbers.tolist(), strict=True)) for numbers in (x, found - x)
            )
            self.system.coupling_log.write(facts, values, residuals)

    def _apart(self, iterations: int, x: Floats, found: Floats, growing: bool) -> Failure:
        change = np.abs(found - x) / np.maximum(np.abs(x), self.nominal)
        worst = int(np.argmax(change))
        names, signal = ", ".join(self.group.names), self.group.signals[worst]
        how = "the iteration diverges: " if growing else ""
        return Failure(
            Ending.COUPLING,
            f"{how}after {iterations} iterations of the step from t = {self.t:g} s the inputs of {names} "
            f"still change by {float(change[worst]):.2g} of their size, most of all {signal} "
            f"(asked for: {self.master.measure.name})",
            self._advice(),
            self.t,
        )

    def _carried_away(self, failure: Failure, iteration: int) -> Failure:
        """A component failed at an iterate, not at a value that is part of the solution."""
        if failure.ending is Ending.FMI and not failure.recoverable:
            return failure
        names = ", ".join(self.group.names)
        return Failure(
            Ending.COUPLING,
            f"the iteration of the step from t = {self.t:g} s for the inputs of {names} came to values, in iteration "
            f"{iteration}, at which a component cannot be: {failure.message}",
            self._advice(),
            self.t,
            messages=failure.messages,
        )

    def _advice(self) -> str:
        strong = ("IQN-ILS", "interface Newton")
        better = "newton" if self.master.acceleration.name in strong else "newton or iqn-ils"
        return (
            f"use another acceleration ({better}: they do where components answer stiffly), a smaller step size, "
            "a larger tolerance, or more iterations"
        )
