"""Iterated steps, as registered with a kernel."""

from dataclasses import replace

import numpy as np

from ssptool.engine.kernel.interface import (
    OK,
    AcceptedSteps,
    Code,
    Floats,
    IterationCalls,
    IterationMemory,
    IterationReport,
    MeasureKind,
    Outcome,
    RuleKind,
    SecantMemory,
)
from ssptool.engine.kernel.twin.acceleration import SecantIterates, iterates_by
from ssptool.engine.kernel.twin.evaluation import TwinSchedules
from ssptool.engine.kernel.twin.inputs import TwinInputs
from ssptool.engine.kernel.twin.loop_solutions import Rescues
from ssptool.engine.kernel.twin.members import Groups
from ssptool.engine.kernel.twin.repetition import Repetition, RepetitionLimits, RepetitionMethod
from ssptool.engine.kernel.twin.slot_values import MAX_ORDER, SlotValues, check_index, item
from ssptool.engine.kernel.twin.stepper import TwinStepper

DISCARD = 2  # fmi2Discard, fmi3Discard
ENDS = ":terminateSimulation"
NO_SECANTS = SecantMemory(np.zeros(0, dtype=np.int64), np.zeros((0, 0)), np.zeros((0, 0)))


class TwinAttempts:
    """Attempts at the step of a group: `StepOperations` whose trouble is an Outcome.

    Attributes
    ----------
    t, h : [s]
        The present step: its start and size.
    """

    def __init__(
        self,
        calls: IterationCalls,
        slot_values: SlotValues,
        inputs: TwinInputs,
        stepper: TwinStepper,
        schedules: TwinSchedules,
        rescues: Rescues,
    ) -> None:
        self._calls, self._unknowns = calls, list(calls.unknowns)
        self._slot_values, self._inputs, self._stepper, self._schedules = slot_values, inputs, stepper, schedules
        self._rescues = rescues
        self.t = self.h = 0.0
        self._final = False

    def is_final(self) -> bool:
        return self._final

    def save(self) -> Outcome | None:
        return self._checked(self._stepper.save(self._calls.group))

    def restore(self) -> Outcome | None:
        return self._checked(self._stepper.restore(self._calls.group))

    def predict(self, order: int) -> Floats:
        slot_values, slots, h = self._slot_values, self._unknowns, self.h
        if order == 0:
            self.exchange()
            return np.array(slot_values.values[slots])
        self._inputs.extrapolate(self._calls.group, order)
        first, second = slot_values.input_rates[:, slots]
        return np.asarray(slot_values.input_value[slots] + h * first + h * h / 2 * second)

    def exchange(self) -> None:
        self._inputs.exchange(self._calls.group)

    def attempt(self, x: Floats) -> Outcome | None:
        calls, inputs = self._calls, self._inputs
        self._slot_values.values[self._unknowns] = x
        if calls.averages:
            inputs.interpolate(calls.held, 0, self.h)
        else:
            inputs.hold(calls.held)
        if calls.order:
            inputs.interpolate(calls.following, calls.order, self.h)
        else:
            inputs.hold(calls.following)
        outcome = self._stepper.advance(calls.group, self.t, self.h)
        if outcome.ok:
            outcome = self._schedules.evaluate(calls.schedule)
        if outcome.code is Code.LOOP:
            outcome = self._rescues.go_on(calls.schedule, outcome)
        if trouble := self._checked(outcome):
            return trouble
        self.exchange()
        return None

    def found(self) -> Floats:
        return self._slot_values.values[self._unknowns]

    def _checked(self, outcome: Outcome) -> Outcome | None:
        may_go_on = outcome.fmi_status == DISCARD or outcome.function.endswith(ENDS)
        self._final = outcome.code is Code.RANGE or (outcome.code is Code.FMI and not may_go_on)
        return None if outcome.ok else outcome


def limits_of(calls: IterationCalls) -> RepetitionLimits:
    """Limits of the steps of an iteration."""
    return RepetitionLimits(
        calls.prediction, calls.plain_iterations, calls.max_iterations, calls.retreats, calls.measures, calls.count
    )


class TwinIteration:
    """An iterated step; what it remembers is in `repetition` and `rule`."""

    def __init__(self, calls: IterationCalls, attempts: TwinAttempts) -> None:
        nominal = np.array(calls.nominal, dtype=float)
        self.attempts = attempts
        self.rule = iterates_by(calls.rule)
        self.repetition: Repetition[Outcome] = Repetition(
            RepetitionMethod(limits_of(calls), self.rule), attempts, nominal
        )


class Iterations:
    """`counts` are those of the steps of a run."""

    def __init__(
        self,
        slot_values: SlotValues,
        groups: Groups,
        inputs: TwinInputs,
        stepper: TwinStepper,
        schedules: TwinSchedules,
        rescues: Rescues,
    ) -> None:
        self._slot_values, self._groups, self._inputs = slot_values, groups, inputs
        self._stepper, self._schedules, self._rescues = stepper, schedules, rescues
        self._every: list[TwinIteration] = []
        self.counts: list[int] = []

    def __len__(self) -> int:
        return len(self._every)

    def __getitem__(self, iteration: int) -> TwinIteration:
        return item(self._every, iteration, "iteration")

    def add(self, calls: IterationCalls) -> int:
        self._check(calls)
        parts = self._slot_values, self._inputs, self._stepper, self._schedules, self._rescues
        attempts = TwinAttempts(calls, *parts)
        self._every.append(TwinIteration(calls, attempts))
        return len(self._every) - 1

    def _check(self, calls: IterationCalls) -> None:
        for group in (calls.group, calls.following, calls.held):
            check_index(group, self._groups, "group")
        check_index(calls.schedule, self._schedules, "schedule")
        for order in (calls.prediction, calls.order):
            if order not in range(MAX_ORDER + 1):
                raise ValueError(f"polynomial order is {order}, must be 0 to {MAX_ORDER}")
        _check_measures(calls)
        for name, number in (("max_iterations", calls.max_iterations), ("plain_iterations", calls.plain_iterations)):
            if number < 1:
                raise ValueError(f"{name} is {number}, must be at least 1")
        if calls.rule.kind is RuleKind.SECANTS and (calls.rule.max_columns < 1 or calls.rule.reuse < 0):
            raise ValueError("at least 1 column is needed, and no negative number of steps")
        if calls.rule.kind is RuleKind.ANDERSON and calls.rule.window < 1:
            raise ValueError(f"window is {calls.rule.window}, must be at least 1")
        if not calls.unknowns or len(calls.nominal) != len(calls.unknowns):
            raise ValueError("at least 1 unknown and as many nominal values as unknowns are needed")
        for slot in calls.unknowns:
            self._slot_values.check(slot)
            if slot in self._slot_values.holds_integer:
                raise ValueError(f"slot {slot} holds integers and cannot be iterated")

    @np.errstate(over="ignore", invalid="ignore")  # an iterate that runs away is reported in the outcome
    def iterate(self, iteration: int, t: float, h: float) -> Outcome:
        own = self[iteration]
        own.attempts.t, own.attempts.h = t, h
        found = own.repetition.step(t, h)
        if isinstance(found, int):
            return Outcome(iterations=found)
        outcome = Outcome(Code.COUPLING) if found is None else found
        return replace(outcome, iterations=own.repetition.iterations)

    def converge(self, iteration: int, t: float, h: float) -> Outcome:
        """`iterate` as part of a program."""
        outcome = self.iterate(iteration, t, h)
        if not outcome.ok:
            return outcome
        self.counts[-1] = max(self.counts[-1], outcome.iterations)
        return OK

    def report(self, iteration: int) -> IterationReport:
        return self[iteration].repetition.report

    def memory(self, iteration: int) -> IterationMemory:
        own, switch = self[iteration], self[iteration].repetition.switch
        secants = own.rule.memory if isinstance(own.rule, SecantIterates) else NO_SECANTS
        return IterationMemory(switch.given_up, np.array(switch.misses, dtype=float), secants)

    def set_memory(self, iteration: int, memory: IterationMemory) -> None:
        own, switch = self[iteration], self[iteration].repetition.switch
        switch.given_up = memory.given_up
        switch.misses.clear()
        switch.misses.extend(memory.misses.tolist())
        if isinstance(own.rule, SecantIterates):
            own.rule.memory = memory.secants

    def accepted(self, iteration: int) -> AcceptedSteps:
        return replace(self[iteration].repetition.accepted)

    def set_accepted(self, iteration: int, accepted: AcceptedSteps) -> None:
        self[iteration].repetition.accepted = replace(accepted)


def _check_measures(calls: IterationCalls) -> None:
    if not calls.measures or any(not one.limit > 0.0 for one in calls.measures):
        raise ValueError("at least 1 measure of convergence is needed, and limits must be positive")
    if calls.count < 0:
        raise ValueError(f"the number of iterations is {calls.count}, must not be negative")
    if calls.count and [one.kind for one in calls.measures] != [MeasureKind.RELATIVE]:
        raise ValueError("a fixed number of iterations is judged by 1 relative measure")
