"""Steps that are repeated until what goes into inputs is what comes out."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ssptool.engine.kernel.interface import OK, Code, Floats, IterationCalls, Outcome
from ssptool.engine.kernel.twin.evaluation import TwinSchedules
from ssptool.engine.kernel.twin.inputs import TwinInputs
from ssptool.engine.kernel.twin.members import Groups
from ssptool.engine.kernel.twin.slot_values import MAX_ORDER, SlotValues, check_index, check_order, item
from ssptool.engine.kernel.twin.stepper import TwinStepper


class TwinIteration(NamedTuple):
    calls: IterationCalls
    x: Floats

    def excess(self, values: Floats) -> float:
        """Factor by which the difference between output and guess exceeds its limit."""
        absolute, relative = self.calls.absolute, self.calls.relative
        sizes = zip(self.x, self.calls.nominal, strict=True)
        return self._largest(values, [absolute + relative * max(abs(x), nominal) for x, nominal in sizes])

    def difference(self, values: Floats) -> float:
        """The difference in nominal values."""
        return self._largest(values, self.calls.nominal)

    def _largest(self, values: Floats, units: Sequence[float]) -> float:
        """In units of these; nan if one is nan."""
        most = 0.0
        for x, slot, unit in zip(self.x, self.calls.unknowns, units, strict=True):
            own = abs(values[slot] - x) / unit
            most = most if own <= most or math.isnan(most) else own
        return most


class Iterations:
    """`counts` are those of the steps of a run."""

    def __init__(
        self,
        slot_values: SlotValues,
        groups: Groups,
        inputs: TwinInputs,
        stepper: TwinStepper,
        schedules: TwinSchedules,
    ) -> None:
        self._slot_values, self._groups, self._inputs = slot_values, groups, inputs
        self._stepper, self._schedules = stepper, schedules
        self._every: list[TwinIteration] = []
        self.counts: list[int] = []

    def __len__(self) -> int:
        return len(self._every)

    def __getitem__(self, iteration: int) -> TwinIteration:
        return item(self._every, iteration, "iteration")

    def add(self, calls: IterationCalls) -> int:
        for group in (calls.group, calls.following, calls.held):
            check_index(group, self._groups, "group")
        check_index(calls.schedule, self._schedules, "schedule")
        check_order(calls.prediction)
        if calls.order not in range(MAX_ORDER + 1):
            raise ValueError(f"polynomial order is {calls.order}, must be 0 to {MAX_ORDER}")
        if calls.max_iterations < 1:
            raise ValueError(f"max_iterations is {calls.max_iterations}, must be at least 1")
        if len(calls.nominal) != len(calls.unknowns):
            raise ValueError("as many nominal values as unknowns are needed")
        for slot in calls.unknowns:
            self._slot_values.check(slot)
            if slot in self._slot_values.holds_integer:
                raise ValueError(f"slot {slot} holds integers and cannot be iterated")
        self._every.append(TwinIteration(calls, np.zeros(len(calls.unknowns))))
        return len(self._every) - 1

    def iterate(self, iteration: int, t: float, h: float, first: bool) -> Outcome:
        inputs, stepper, own = self._inputs, self._stepper, self[iteration]
        calls = own.calls
        outcome = stepper.save(calls.group) if first else stepper.restore(calls.group)
        if not outcome.ok:
            return outcome
        if first:
            self._predict(own, h)
            inputs.exchange(calls.group)
        for i, slot in enumerate(calls.unknowns):
            self._slot_values.values[slot] = own.x[i]
        inputs.hold(calls.held)
        if calls.order:
            inputs.interpolate(calls.following, calls.order, h)
        else:
            inputs.hold(calls.following)
        outcome = stepper.advance(calls.group, t, h)
        if outcome.ok:
            outcome = self._schedules.evaluate(calls.schedule)
        if outcome.ok:
            inputs.exchange(calls.group)
        return outcome

    def _predict(self, own: TwinIteration, h: float) -> None:
        """Predict the unknowns by the polynomial through the accepted points."""
        calls, slot_values = own.calls, self._slot_values
        self._inputs.extrapolate(calls.group, calls.prediction)
        for i, slot in enumerate(calls.unknowns):
            first, second = slot_values.input_rates[:, slot]
            own.x[i] = slot_values.input_value[slot] + h * first + h * h / 2 * second

    @np.errstate(over="ignore", invalid="ignore")  # an iterate that runs away is reported in the outcome
    def converge(self, iteration: int, t: float, h: float) -> Outcome:
        own, values = self[iteration], self._slot_values.values
        calls, least = own.calls, math.inf
        for count in range(1, calls.max_iterations + 1):
            outcome = self.iterate(iteration, t, h, count == 1)
            if not outcome.ok:
                return replace(outcome, iterations=count)
            if own.excess(values) <= 1.0:
                self.counts[-1] = max(self.counts[-1], count)
                return OK
            difference = own.difference(values)
            if count == calls.max_iterations or not difference <= calls.growth * least:
                break
            least = min(least, difference)
            for i, slot in enumerate(calls.unknowns):
                own.x[i] = _relaxed(own.x[i], values[slot], calls.nominal[i], calls.relaxation)
        return Outcome(Code.COUPLING, iterations=count)


def _relaxed(x: float, found: float, nominal: float, relaxation: float) -> float:
    if relaxation == 1.0:
        return nominal * (found / nominal)
    x, found = x / nominal, found / nominal
    return nominal * (x + relaxation * (found - x))
