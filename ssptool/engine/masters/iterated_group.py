"""A group of instances that feed each other, and repeat a step until the values at its end agree."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ssptool.engine.ending import Ending, Failure
from ssptool.engine.kernel.interface import Code, Floats, Outcome
from ssptool.engine.loops.iterate import Proposal
from ssptool.engine.masters.acceleration import Interface
from ssptool.engine.masters.agreement import Agreement
from ssptool.engine.masters.caution import Caution
from ssptool.engine.masters.inputs import Interpolate
from ssptool.engine.masters.master import AskDerivatives, Coupled, Instances, StepDerivatives
from ssptool.engine.masters.partners import Memory, part_of, under

if TYPE_CHECKING:
    from ssptool.engine.masters.iterated import Iterated


class Group:
    """One group of instances, with what its steps need at hand."""

    def __init__(self, master: "Iterated", system: Coupled, group: Instances) -> None:
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
        self.caution = Caution(master.plain_iterations)
        self.ask_derivatives: AskDerivatives | None = None
        self.accelerator = master.acceleration.start(Interface(self._probe, self._pattern, self._derivatives))

    def memory(self) -> Memory:
        return {**self.caution.memory(), **under("acceleration", self.accelerator.memory())}

    def recall(self, memory: Memory) -> None:
        self.caution.recall(memory)
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
                return self._carried_away(failure, iteration)
            self.kernel.exchange(self.group.group)
            found = values[slots]
            agree = agreement.reached(x, found)
            self._log(iteration, x, found, agreement.excess, agree)
            if agree:
                return iteration
            plain = self.caution.goes_on_plainly(iteration, self.t, self.h)
            if agreement.lost(x, found) or iteration == master.max_iterations:
                break
            x = nominal * (found / nominal) if plain else nominal * propose(x / nominal, found / nominal)
            if failure := self._checked(self.kernel.restore):
                return failure
        return self._apart(iteration, x, found, agreement)

    def carry_on(self, outcome: Outcome, t: float, h: float, end: float) -> int | Failure:
        """From where the kernel could not go on by itself with this step."""
        self.t, self.h, self.end = t, h, end
        if self.iteration is None:
            if outcome.code is not Code.LOOP:
                return self.system.explain_step(outcome, t, end)
            return self.system.evaluate(self.group.sweep, end) or 1
        iteration = self.iteration
        if self.caution.given_up and self.cautious_iteration is not None:
            iteration = self.cautious_iteration
        x = self.kernel.guess(iteration)
        slots, values, nominal = self.unknowns, self.values, self.nominal
        agreement = Agreement(self.master.measure, nominal)
        propose: Proposal | None = None
        iterations = outcome.iterations
        while True:
            if failure := self._rescued(outcome):
                return self._carried_away(failure, iterations)
            found = values[slots]
            if agreement.reached(x, found):
                return iterations
            if agreement.lost(x, found) or iterations >= self.master.max_iterations:
                return self._apart(iterations, x, found, agreement)
            if self.caution.goes_on_plainly(iterations, t, h):
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
            return self.system.explain_step(outcome, self.t, self.end)
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
            return self.system.explain_step(outcome, self.t, self.end)
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

    def _apart(self, iterations: int, x: Floats, found: Floats, agreement: Agreement) -> Failure:
        change = np.abs(found - x) / np.maximum(np.abs(x), self.nominal)
        worst = int(np.argmax(change))
        names, signal = ", ".join(self.group.names), self.group.signals[worst]
        how = "the iteration diverges: " if agreement.growing else ""
        return self._gives_up(
            f"{how}after {iterations} iterations of the step from t = {self.t:g} s the inputs of {names} "
            f"still change by {float(change[worst]):.2g} of their size, most of all {signal} "
            f"(asked for: {self.master.measure.name})"
        )

    def _carried_away(self, failure: Failure, iteration: int) -> Failure:
        """A component failed: at an iterate, and not at a value that is part of the solution, unless at the first."""
        if iteration == 1 or (failure.ending is Ending.FMI and not failure.recoverable):
            return failure
        names = ", ".join(self.group.names)
        return self._gives_up(
            f"the iteration of the step from t = {self.t:g} s for the inputs of {names} came to values, in iteration "
            f"{iteration}, at which a component cannot be: {failure.message}",
            failure.messages,
        )

    def _gives_up(self, why: str, messages: tuple[str, ...] = ()) -> Failure:
        strong = ("IQN-ILS", "interface Newton")
        better = "newton" if self.master.acceleration.name in strong else "newton or iqn-ils"
        advice = (
            f"use another acceleration ({better}: they do where components answer stiffly), a smaller step size, "
            "a larger tolerance, or more iterations"
        )
        return Failure(Ending.COUPLING, why, advice, self.t, messages=messages)
