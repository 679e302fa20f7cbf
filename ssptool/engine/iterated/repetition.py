"""A macro step that is repeated from its start until the values at its end agree; retreats where they do not."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from ssptool.engine.iterated.acceleration import BeginsSteps
from ssptool.engine.iterated.convergence import (
    NOISE_LIMIT,
    Agreement,
    PlainIterationSwitch,
    counting_judge,
    judge_of,
)
from ssptool.engine.iterated.jacobians import Domain, FiniteDifferences
from ssptool.engine.iterated.proposals import AitkenRelaxation
from ssptool.engine.kernel.calls import AcceptedSteps, Floats, IterationReport, MeasureKind, MeasureLimit
from ssptool.engine.kernel.solutions import Convergence

STRONG_DAMPING = 0.1
"""Damping of the first step of a repetition with stronger damping."""

TRIED = 3
"""After so many steps in a row that a method has not done, the next one is taken at once."""

GROWTH_OF_UNPLANNED = 1e3
"""A step without agreement that leads beyond so many times the largest values so far is not accepted."""

NEWTON_ITERATIONS = 10
"""Limit of Newton's method, which takes 2 if the step is linear in its unknowns."""

Trouble = TypeVar("Trouble")
Trouble_co = TypeVar("Trouble_co", covariant=True)


class StepOperations(Protocol[Trouble_co]):
    """Operations on the group whose step is repeated. Unknowns (m,) are in the units of their signals.

    A `Trouble` is why one failed.
    """

    def save(self) -> Trouble_co | None:
        """Keep the states at the start of the step."""
        ...

    def restore(self) -> Trouble_co | None:
        """Go back to them."""
        ...

    def predict(self, order: int) -> Floats:
        """The unknowns at the end of the step, by the polynomial of this order through the accepted points."""
        ...

    def exchange(self) -> None:
        """Copy outputs to inputs."""
        ...

    def attempt(self, x: Floats) -> Trouble_co | None:
        """The step with these unknowns at its end, until what follows from them is in their places."""
        ...

    def found(self) -> Floats:
        """A copy of what is in the places of the unknowns."""
        ...

    def is_final(self) -> bool:
        """True if the last trouble is not one of the values at an iterate, so that no other iterate helps."""
        ...


@dataclass(frozen=True, slots=True)
class RepetitionLimits:
    """Limits of the iterations of a step; see `IterationCalls`."""

    prediction: int
    plain_iterations: int
    max_iterations: int
    retreats: bool
    measures: Sequence[MeasureLimit]
    count: int


@dataclass(frozen=True, slots=True)
class RepetitionMethod:
    """Method of a repetition: its limits, and the rule of the next iterate."""

    limits: RepetitionLimits
    rule: BeginsSteps


Watch = Callable[[int, Floats, Floats, Agreement, bool], None]
"""Told of every iterate: (its number, x, found, agreement so far, whether they agree)."""


def unwatched(_iteration: int, _x: Floats, _found: Floats, _agreement: Agreement, _agrees: bool) -> None:
    """Default observer of iterates: does nothing."""


class Repetition(Generic[Trouble]):
    """The steps of one group, each repeated until the values at its end agree.

    Attributes
    ----------
    accepted, switch
        State that outlasts a step, beside that of the rule.
    agreement, iterations
        Of the last step.
    left_domain
        The last step failed at an iterate, not at values that need be part of the solution.
    escaped
        The last step was done without repetition, and leads to values far beyond all before.
    """

    def __init__(
        self, method: RepetitionMethod, operations: StepOperations[Trouble], nominal: Floats, watch: Watch = unwatched
    ) -> None:
        self._method, self._operations, self._nominal, self._watch = method, operations, nominal, watch
        self.accepted = AcceptedSteps()
        self.switch = PlainIterationSwitch(method.limits.plain_iterations)
        self.agreement = self._begin_agreement()
        self.iterations = 0
        self.left_domain = self.escaped = False
        self._t = 0.0
        self._sizes = np.array(nominal, dtype=float)

    def _begin_agreement(self, floor: float = 0.0) -> Agreement:
        count = self._method.limits.count
        judge = counting_judge(count) if count else judge_of(self._method.limits.measures, self._nominal)
        return Agreement(judge, self._nominal, floor, counted=count > 0)

    @property
    def report(self) -> IterationReport:
        found = self.agreement
        return IterationReport(
            self.left_domain,
            found.first,
            found.least,
            found.noise,
            found.worst,
            found.stagnates,
            found.grows,
            self.escaped,
            found.best,
            found.change,
            np.array(found.judged).reshape(-1, 2),
        )

    def step(self, t: float, h: float) -> "int | Trouble | None":
        """The step of size h from t [s]: the number of iterations that it took, None if they do not converge, or what
        failed.
        """
        operations, nominal = self._operations, self._nominal
        self._t, self.iterations, self.left_domain, self.escaped = t, 1, False, False
        self.accepted.steps += 1
        self.agreement = agreement = self._begin_agreement(self.accepted.floor)
        if trouble := operations.save():
            return trouble
        x = operations.predict(self._method.limits.prediction)
        operations.exchange()
        self._sizes = np.maximum(self._sizes, np.abs(operations.found()))
        propose = self._method.rule.begin()
        trouble = operations.attempt(x)
        while trouble is None:
            found = operations.found()
            agrees = agreement.reached(x, found)
            self._watch(self.iterations, x, found, agreement, agrees)
            if agrees:
                return self._agreed()
            plain = self.switch.goes_on_plainly(self.iterations, t, h)
            if agreement.lost(x, found) or self._is_enough(plain):
                return self._accept_noise()
            x = nominal * (found / nominal) if plain else nominal * propose(x / nominal, found / nominal)
            self.iterations += 1
            trouble = self._again(x)
        return self._carried_away(trouble)

    def probe(self, x: Floats) -> Floats:
        """The present step with x (m,) at its end; both in nominal values. nan if that fails."""
        if self._again(x * self._nominal) is not None:
            return np.full_like(x, np.nan)
        return self._operations.found() / self._nominal

    def _again(self, x: Floats) -> Trouble | None:
        trouble = self._operations.restore()
        return self._operations.attempt(x) if trouble is None else trouble

    def _agreed(self) -> int:
        agreement = self.agreement
        self.accepted.failed = 0
        if agreement.noisy:
            self.accepted.note_noise(self._t, agreement.last, agreement.worst)
        if self._method.limits.count:
            self._judge_last(agreement)
        return self.iterations

    def _judge_last(self, agreement: Agreement) -> None:
        """Judge whether a step of a fixed number of iterations has converged."""
        (limit,) = (one.limit for one in self._method.limits.measures if one.kind is MeasureKind.RELATIVE)
        if not agreement.last <= limit:
            grows = agreement.grows or not agreement.last <= agreement.first
            self.accepted.note_unconverged(self._t, agreement.last, agreement.last_worst, grows)

    def _is_enough(self, plain: bool) -> bool:
        """True if no further iterate can improve the step."""
        agreement, limits = self.agreement, self._method.limits
        if self.iterations >= limits.max_iterations:
            return True
        if agreement.stagnates and not agreement.probed and agreement.least <= NOISE_LIMIT:
            agreement.probe(self.probe)
        hopeless = limits.retreats and self.accepted.failed >= TRIED and not plain
        return hopeless or agreement.is_noise

    def _accept_noise(self) -> "int | Trouble | None":
        """Accept a change that the noise of the FMUs explains; else retreat."""
        if not self.agreement.is_noise:
            self.agreement.probe(self.probe)
        return self._settle() if self.agreement.is_noise else self._retreat(None)

    def _settle(self) -> int | Trouble:
        """Repeat the step with the best iterate, which no iteration can improve because of noise."""
        agreement, accepted = self.agreement, self.accepted
        if trouble := self._again(agreement.best):
            return trouble
        accepted.floor = min(max(accepted.floor, agreement.least, 4.0 * agreement.noise), NOISE_LIMIT)
        accepted.failed = 0
        accepted.note_noise(self._t, agreement.least, agreement.worst)
        return self.iterations

    def _carried_away(self, trouble: Trouble) -> "int | Trouble | None":
        """A component failed: at an iterate, and not at a value that is part of the solution, unless at the first."""
        return trouble if self.iterations == 1 or self._operations.is_final() else self._retreat(trouble)

    def _retreat(self, trouble: Trouble | None) -> "int | Trouble | None":
        """Repeat the step with stronger damping, by Newton's method, else do it once, unless the user asked for this
        method.
        """
        accepted = self.accepted
        if not self._method.limits.retreats:
            self.left_domain = trouble is not None
            return trouble
        accepted.failed += 1
        more = 0
        if accepted.failed_damped < TRIED:
            more = self._damped() or (0 if self._operations.is_final() else self._by_newton())
        if more:
            accepted.note_damped(self._t)
            return self._otherwise(self.iterations + more)
        if trouble := self._again(self._operations.predict(1)):
            return trouble
        accepted.note_unrepeated(self._t)
        self.escaped = not np.all(np.abs(self._operations.found()) <= GROWTH_OF_UNPLANNED * self._sizes)
        return self._otherwise(self.iterations + 1)

    def _otherwise(self, iterations: int) -> int | None:
        """A step that was not done as planned, of which there may be few."""
        if not self.escaped and not self.accepted.too_many_unplanned:
            return iterations
        self.iterations = iterations
        return None

    def _by_newton(self) -> int:
        """Iterations of this step by Newton's method with differences; 0: it does not converge."""
        from ssptool.engine.iterated.newton import Newton  # few steps need it

        operations, nominal, size = self._operations, self._nominal, len(self._nominal)
        evaluations, given_up = 0, False

        def g(x: Floats) -> Floats:
            nonlocal evaluations, given_up
            if given_up:
                return np.full(size, np.nan)
            evaluations += 1
            if self._again(x) is None:
                return operations.found()
            given_up = operations.is_final()
            return np.full(size, np.nan)

        limit = min(one.limit for one in self._method.limits.measures)
        domain = Domain(nominal, np.full(size, -np.inf), np.full(size, np.inf))
        newton = Newton(FiniteDifferences(), Convergence(limit), NEWTON_ITERATIONS)
        solution = newton.solve(g, operations.predict(1), domain)
        if not solution.converged or given_up or self._again(solution.x) is not None:
            return 0
        return evaluations + 1 if self._begin_agreement().reached(solution.x, operations.found()) else 0

    def _damped(self) -> int:
        """Iterations of this step that start with a strong damping; 0: they do not converge either."""
        operations, nominal = self._operations, self._nominal
        agreement, propose = self._begin_agreement(), AitkenRelaxation(STRONG_DAMPING)
        x = operations.predict(1)
        for iteration in range(1, self._method.limits.max_iterations + 1):
            if self._again(x) is not None:
                return 0
            found = operations.found()
            if agreement.reached(x, found):
                return iteration
            if agreement.lost(x, found):
                return 0
            x = nominal * propose(x / nominal, found / nominal)
        return 0
