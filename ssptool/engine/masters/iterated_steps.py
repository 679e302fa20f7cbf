"""Iterated macro steps: repeat the step of a group from a saved state until its interface values converge.

Groups without special needs iterate inside the kernel, which returns to Python only for the next iterate."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

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
from ssptool.engine.kernel.interface import Code, Floats, Instruction, IterationCalls, Op, Outcome
from ssptool.engine.kernel.twin.loop_solvers import Aitken, FixedPoint
from ssptool.engine.kernel.twin.proposals import Proposal
from ssptool.engine.masters.acceleration import Acceleration, EachStep, GroupInterface, IqnIls
from ssptool.engine.masters.convergence import (
    GROWTH_LIMIT,
    NOISE_LIMIT,
    NOISE_MARGIN,
    TRIED,
    Absolute,
    Agreement,
    FixedCount,
    Measure,
    PlainIterationSwitch,
    Relative,
    settled_of,
)
from ssptool.engine.masters.master import CoupledSystem, StepBatch, run_step_by_step
from ssptool.engine.masters.program import Interpolate
from ssptool.engine.masters.protocols import (
    AskDerivatives,
    InputApproximation,
    InstanceGroup,
    SavedState,
    StepDerivatives,
    Unconverged,
    part_of,
    under,
)
from ssptool.errors import counted
from ssptool.fmu.units import with_unit

STRONG_DAMPING = 0.1
"""Damping of the first step of a repetition with stronger damping."""


PREDICTION_ORDER = 2
"""Order of the first guess: one more than accuracy needs, since a better guess saves iterations and costs
nothing.
"""


WORTH_ALLOWING = 0.1
"""A larger tolerance is no advice."""


FOURTH_DIFFERENCE = 70.0**0.5
"""The standard deviation of a fourth difference of independent values: of 1, -4, 6, -4, 1 times the value."""

PROBED = (0, -3, 2, -1, 3, -2, 1)
"""Places around an iterate, in an order in which noise that changes slowly from call to call is no smooth response."""


class IteratedGroup:
    """One group of instances, with what its steps need at hand."""

    def __init__(self, master: "IterationMethod", system: CoupledSystem, group: InstanceGroup) -> None:
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
        # Numbers of the kernel's iterations; which one ran last does not matter if there is none.
        self.iteration: int | None = None
        self.cautious_iteration: int | None = None
        self.by_kernel = 0  # iterates of the present step of which the kernel has told the last one only
        self.plain_switch = PlainIterationSwitch(master.plain_iterations)
        self.settled = settled_of(system.settled, group.names)
        self.ask_derivatives: AskDerivatives | None = None
        self.accelerator = master.acceleration.start(GroupInterface(self._probe, self._pattern, self._derivatives))

    def save_state(self) -> SavedState:
        return {
            **self.plain_switch.save_state(),
            **self.settled.save_state(),
            **under("acceleration", self.accelerator.save_state()),
        }

    def restore_state(self, state: SavedState) -> None:
        self.plain_switch.restore_state(state)
        self.settled.restore_state(state)
        self.accelerator.restore_state(part_of(state, "acceleration"))

    def step(self, t: float, h: float, end: float) -> int | Failure:
        """One macro step; the number of iterations that it took."""
        self.t, self.h, self.end = t, h, end
        if len(self.unknowns):
            return self._iterate()
        # Nothing feeds back: values from earlier groups are known at the end of the step.
        self.kernel.exchange(self.group.group)
        return self._advance() or 1

    def _iterate(self) -> int | Failure:
        """Until what goes into the inputs at the end of the step is what comes out for them."""
        master, slots, values, nominal = self.master, self.unknowns, self.values, self.nominal
        if failure := self._checked(self.kernel.save):
            return failure
        self.by_kernel, x = 0, self._predict(master.prediction)
        agreement = Agreement(master.measure, nominal, self.settled.floor)
        propose = self.accelerator.begin()
        self.kernel.exchange(self.group.group)
        iteration = 0
        while True:
            iteration += 1
            values[slots] = x
            if failure := self._advance():
                return self._carried_away(failure, iteration, agreement)
            self.kernel.exchange(self.group.group)
            found = values[slots]
            agree = agreement.reached(x, found)
            self._log(iteration, x, found, agreement.excess, agree)
            if agree:
                self._judge_fixed_count(agreement, iteration)
                return self._agreed(agreement, iteration)
            plain = self.plain_switch.goes_on_plainly(iteration, self.t, self.h)
            if agreement.lost(x, found) or self._is_enough(agreement, iteration, plain):
                return self._accept_noise(iteration, agreement)
            x = nominal * (found / nominal) if plain else nominal * propose(x / nominal, found / nominal)
            if failure := self._checked(self.kernel.restore):
                return failure

    def resume(self, outcome: Outcome, t: float, h: float, end: float) -> int | Failure:
        """Continue a step that the kernel could not finish by itself."""
        self.t, self.h, self.end = t, h, end
        if self.iteration is None:
            if outcome.code is not Code.LOOP:
                return self.system.explain_step(outcome, t, end)
            return self.system.evaluate(self.group.schedule, end) or 1
        iteration = self.iteration
        if self.plain_switch.given_up and self.cautious_iteration is not None:
            iteration = self.cautious_iteration
        x = self.kernel.guess(iteration)
        slots, values, nominal = self.unknowns, self.values, self.nominal
        agreement = Agreement(self.master.measure, nominal, self.settled.floor)
        propose: Proposal | None = None
        iterations = outcome.iterations
        self.by_kernel = iterations - 1
        while True:
            if failure := self._rescued(outcome):
                return self._carried_away(failure, iterations, agreement)
            found = values[slots]
            if agreement.reached(x, found):
                return self._agreed(agreement, iterations)
            plain = self.plain_switch.goes_on_plainly(iterations, t, h)
            if agreement.lost(x, found) or self._is_enough(agreement, iterations, plain):
                return self._accept_noise(iterations, agreement)
            if plain:
                x[:] = nominal * (found / nominal)
            else:
                propose = propose or self.accelerator.begin()
                x[:] = nominal * propose(x / nominal, found / nominal)
            outcome = self.kernel.iterate(iteration, t, h, False)
            iterations += 1

    def _is_enough(self, agreement: Agreement, iteration: int, plain: bool) -> bool:
        """True if no further iterate can improve the step."""
        if iteration >= self.master.max_iterations:
            return True
        if agreement.stagnates and not agreement.probed and agreement.least <= NOISE_LIMIT:
            agreement.noise, agreement.probed = self._noise(agreement), True
        hopeless = self.master.retreats and self.settled.failed >= TRIED and not plain
        return hopeless or agreement.is_noise

    def _judge_fixed_count(self, agreement: Agreement, iterations: int) -> None:
        """Judge whether a step of a fixed number of iterations has converged."""
        measure = self.master.measure
        if isinstance(measure, FixedCount) and not agreement.last <= measure.limit:
            signal = self.group.signals[agreement.last_worst]
            grows = agreement.grows or not agreement.last <= agreement.first
            self.settled.note_unconverged(Unconverged(1, agreement.last, signal, self.t, iterations, grows))

    def _agreed(self, agreement: Agreement, iterations: int) -> int:
        self.settled.failed = 0
        if agreement.noisy:
            self.settled.note_noise(self.t, agreement.last, self.group.signals[agreement.worst])
        return iterations

    def _rescued(self, outcome: Outcome) -> Failure | None:
        """After an iterate whose loops the kernel did not solve."""
        if outcome.ok or outcome.code is Code.COUPLING:
            return None
        if outcome.code is not Code.LOOP:
            return self.system.explain_step(outcome, self.t, self.end)
        if failure := self.system.evaluate(self.group.schedule, self.end):
            return failure
        self.kernel.exchange(self.group.group)
        return None

    def _predict(self, order: int) -> Floats:
        """Predict the unknowns by the polynomial of this order through the accepted points."""
        h, slots = self.h, self.unknowns
        if order == 0:
            self.kernel.exchange(self.group.group)
            return np.array(self.values[slots])
        self.kernel.extrapolate(self.group.group, order)
        first, second = self.input_rates[0][slots], self.input_rates[1][slots]
        return np.asarray(self.input_value[slots] + h * first + h * h / 2 * second)

    def _probe(self, x: Floats) -> Floats:
        """Repeat the present step with x at its end; x and result in nominal values."""
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
        """Derivatives of `_probe` at the present iterate."""
        if self.ask_derivatives is None:
            self.ask_derivatives = self.system.interface_derivatives(self.group)
        found = self.ask_derivatives(self.h, self.master.inputs.order)
        return StepDerivatives(found.matrix * self.nominal / self.nominal[:, None], found.known)

    def _advance(self) -> Failure | None:
        kernel, group = self.kernel, self.group
        kernel.hold(group.held)
        self.master.inputs.apply(kernel, group.following, self.h)
        outcome = self.system.advance(group, self.t, self.h)
        if not outcome.ok:
            return self.system.explain_step(outcome, self.t, self.end)
        return self.system.evaluate(group.schedule, self.end)

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

    # -- where the iterates do not come to agree -------------------------------------------------------------------

    def _accept_noise(self, iterations: int, agreement: Agreement) -> int | Failure:
        """Accept a change that the noise of the FMUs explains; else try other methods, unless the user asked for this
        one.
        """
        if not agreement.is_noise:
            agreement.noise = self._noise(agreement)
        if agreement.is_noise:
            return self._stands(agreement) or iterations
        return self._retry(iterations, lambda: self._not_converged(iterations, agreement))

    def _noise(self, agreement: Agreement) -> float:
        """Scatter of the results of the step around the best iterate, relative to their sizes; 0: none.

        Fourth differences of a smooth response vanish with the fourth power of the distance, however steep and bent it
        is; those of noise do not.
        """
        if not agreement.least < np.inf:
            return 0.0
        x = agreement.best / self.nominal
        size = np.maximum(np.abs(x), 1.0)
        found = np.empty((len(PROBED), x.size))
        for place in PROBED:
            found[place + len(PROBED) // 2] = self._probe(x + place * agreement.least * size)
        strays = np.sqrt(np.mean(np.square(np.diff(found, 4, axis=0) / size), axis=0)) / FOURTH_DIFFERENCE
        stray = float(strays.max())
        return stray if np.isfinite(stray) else 0.0

    def _stands(self, agreement: Agreement) -> Failure | None:
        """Repeat the step with the best iterate, which no iteration can improve because of noise."""
        if failure := self._anew(agreement.best):
            return failure
        self.settled.floor = min(max(self.settled.floor, agreement.least, 4.0 * agreement.noise), NOISE_LIMIT)
        self.settled.failed = 0
        self.settled.note_noise(self.t, agreement.least, self.group.signals[agreement.worst])
        return None

    def _retry(self, iterations: int, failed: Callable[[], Failure]) -> int | Failure:
        """Repeat the step with stronger damping, else do it once, unless the user asked for this master."""
        settled = self.settled
        if not self.master.retreats:
            return failed()
        settled.failed += 1
        if settled.failed_damped < TRIED and (damped := self._damped()):
            settled.note_damped(self.t)
            return iterations + damped
        if failure := self._anew(self._predict(1)):
            return self._after_unconverged(failure)
        settled.note_unrepeated(self.t)
        return iterations + 1

    def _damped(self) -> int:
        """Iterations of this step that start with a strong damping; 0: they do not converge either."""
        slots, nominal = self.unknowns, self.nominal
        agreement, propose = Agreement(self.master.measure, nominal), Aitken(STRONG_DAMPING).proposal()
        x = self._predict(1)
        for iteration in range(1, self.master.max_iterations + 1):
            if self._anew(x):
                return 0
            found = self.values[slots]
            if agreement.reached(x, found):
                return iteration
            if agreement.lost(x, found):
                return 0
            x = nominal * propose(x / nominal, found / nominal)
        return 0

    def _anew(self, x: Floats) -> Failure | None:
        """The present step once more, with x at its end."""
        if failure := self._checked(self.kernel.restore):
            return failure
        self.values[self.unknowns] = x
        if failure := self._advance():
            return failure
        self.kernel.exchange(self.group.group)
        return None

    def _not_converged(self, iterations: int, agreement: Agreement) -> Failure:
        names, iteration = ", ".join(self.group.names), self._failed(iterations, agreement)
        step = f"of the step from t = {seconds_text(self.t)} for the inputs of {names}"
        left = f"{_largest_change(iteration)} (asked for: {self.master.measure.name})"
        noisy = agreement.least <= NOISE_MARGIN * agreement.noise
        stays = noisy or (agreement.stagnates and agreement.least < agreement.first)
        if stays and agreement.least <= 1.0:  # what changes by more than its size does not stay where it is
            known = f", the noise of the FMUs is {agreement.noise:.2g}" if agreement.noise else ""
            rest = 2.0 * max(agreement.least, 2.0 * agreement.noise)
            allow = f"allow what is left with --tolerance {rest:.0e}, or " if rest < WORTH_ALLOWING else ""
            return self._gives_up(
                f"the iteration {step} stagnates after {counted(iterations, 'iteration')}: {left}{known}",
                f"{allow}step without iterations (--master jacobi)",
                iteration,
            )
        if agreement.grows or agreement.least > 1.0:  # what changes by more than its size comes no nearer
            return self._gives_up(
                f"the iteration {step} diverges after {counted(iterations, 'iteration')}: {left}",
                self._remedy(),
                iteration,
            )
        return self._gives_up(
            f"the iteration {step} has not converged after {counted(iterations, 'iteration')}: {left}",
            f"allow more with --max-iterations {2 * self.master.max_iterations}, {self._remedy()}, or step without "
            "iterations (--master jacobi)",
            iteration,
        )

    def _failed(self, iterations: int, agreement: Agreement) -> FailedIteration:
        """All iterates of the present step, which is given up."""
        earlier = self._iterates_of_kernel()
        best = min(earlier, agreement, key=lambda one: one.least if one.judged else np.inf)
        numbered = [*enumerate(earlier.judged, 1), *enumerate(agreement.judged, 1 + self.by_kernel)]
        points = [(number, change, change / excess) for number, (change, excess) in numbered if excess > 0.0]
        connections, left_out = largest_first(self._connections(best))
        method, least = self.master.acceleration.name, finite(best.least)
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

    def _connections(self, best: Agreement) -> Iterator[IteratedConnection]:
        allowed = self.master.measure.allowed(best.best, self.nominal)
        relative = np.abs(best.change) / np.maximum(np.abs(best.best), self.nominal)
        numbers = np.transpose((best.best, best.change, allowed, relative)).tolist()
        for (source, destination, unit), row in zip(self.system.interface_ends(self.group), numbers, strict=True):
            value, change, limit, share = map(finite, row)
            ends = str(source), str(destination), source.component, destination.component
            yield IteratedConnection(*ends, value, unit, change, limit, share)

    def _iterates_of_kernel(self) -> Agreement:
        """Judge the iterates of the present step that the kernel has kept for itself, by doing them once more."""
        agreement = Agreement(self.master.measure, self.nominal)
        propose = FixedPoint(_relaxation(self.master) or 1.0).proposal()
        x = self._predict(self.master.prediction) if self.by_kernel else self.nominal
        for _ in range(self.by_kernel):
            if self._anew(x):
                break
            found = self.values[self.unknowns]
            agreement.reached(x, found)
            x = self.nominal * propose(x / self.nominal, found / self.nominal)
        return agreement

    def _carried_away(self, failure: Failure, iteration: int, agreement: Agreement) -> int | Failure:
        """A component failed: at an iterate, and not at a value that is part of the solution, unless at the first."""
        if iteration == 1 or (failure.ending is Ending.FMI and not failure.recoverable):
            return self._after_unconverged(failure)
        names = ", ".join(self.group.names)
        why = (
            f"the iteration of the step from t = {seconds_text(self.t)} for the inputs of {names} left the domain of a "
            f"component in iteration {iteration}: {failure.message}"
        )
        return self._retry(
            iteration,
            lambda: self._gives_up(why, self._remedy(), self._failed(iteration, agreement), failure.messages),
        )

    def _after_unconverged(self, failure: Failure) -> Failure:
        """A failure that earlier steps without iterations may have led to says so."""
        if not self.settled.unrepeated:
            return failure
        more = f"--max-iterations {2 * self.master.max_iterations}"
        cause = f"steps since t = {self.settled.unrepeated_from:.6g} s that did not converge may have led to this"
        return replace(
            failure, advice=f"{cause}: allow more iterations with {more}, {self._remedy()}; {failure.advice}"
        )

    def _remedy(self) -> str:
        strong = ("IQN-ILS", "interface Newton")
        better = "newton" if self.master.acceleration.name in strong else "newton or iqn-ils"
        return f"use --acceleration {better}, or a smaller --step-size"

    def _gives_up(self, why: str, advice: str, iteration: FailedIteration, messages: tuple[str, ...] = ()) -> Failure:
        return Failure(Ending.COUPLING, why, advice, self.t, messages=messages, iteration=iteration)


def _largest_change(iteration: FailedIteration) -> str:
    """The largest change at the best iterate in words, in the unit of its signal and over its size."""
    worst = iteration.worst
    if worst is None or worst.residual is None or worst.relative is None:
        return "a value is not finite"
    change = with_unit(f"{abs(worst.residual):.3g}", worst.unit)
    return f"{worst.destination} changes by {change}, {worst.relative:.3g} of its size"


def suits(master: "IterationMethod", system: CoupledSystem) -> bool:
    """True if the kernel can iterate the group: no log, no substeps, a plain limit as measure, and an extrapolated
    first guess.
    """
    watched = system.stepwise or system.coupling_log is not None
    return not watched and isinstance(master.measure, Absolute | Relative) and master.prediction > 0


@dataclass(frozen=True, slots=True)
class ProgrammedIteration:
    """The same as `iteration`, as a program; `owner` has the number of its group for each instruction.

    `cautious` leaves every iterate but the first to the acceleration.
    """

    iteration: "GroupIteration"
    instructions: tuple[Instruction, ...]
    cautious: tuple[Instruction, ...]
    owner: tuple[int, ...]

    @np.errstate(over="ignore", invalid="ignore")  # the failure reports diverging iterates
    def run(self, first: int, rows: Floats) -> StepBatch:
        system, done = self.iteration.system, 0
        if system.events is not None:
            return self._until_event(first, rows)
        counts: list[int] = []
        while done < len(rows):
            program = self.cautious if self.iteration.is_cautious else self.instructions
            outcome = system.kernel.run(program, system.start, system.step, first + done, rows[done:])
            counted = system.kernel.iterations().tolist()
            counts += counted[: outcome.steps]
            done += outcome.steps
            if outcome.ok:
                break
            most = self._finish(outcome, first + done, counted[outcome.steps])
            if isinstance(most, Failure):
                return StepBatch(done, most, tuple(counts))
            counts.append(most)
            system.finish(first + done + 1, rows[done])
            done += 1
        return StepBatch(done, None, tuple(counts))

    def _until_event(self, first: int, rows: Floats) -> StepBatch:
        """Whatever the kernel cannot do alone interrupts the segment: that step is repeated, one operation after the
        other.
        """
        system = self.iteration.system
        program = (*system.saving, *self.instructions)
        outcome = system.kernel.run(program, system.start, system.step, first, rows)
        counts = tuple(system.kernel.iterations().tolist()[: outcome.steps])
        return StepBatch(outcome.steps, iterations=counts, interrupted=not outcome.ok)

    def _finish(self, outcome: Outcome, point: int, most: int) -> int | Failure:
        """Finish the step at the instruction that the kernel could not do, until all groups agree."""
        system, groups = self.iteration.system, self.iteration.groups
        number = self.owner[outcome.instruction]
        t, end = system.time(point), system.time(point + 1)
        iterations = groups[number].resume(outcome, t, system.step, end)
        for group in groups[number + 1 :]:
            if isinstance(iterations, Failure):
                break
            most = max(most, iterations)
            iterations = group.step(t, system.step, end)
        return iterations if isinstance(iterations, Failure) else max(most, iterations)

    @property
    def interruptible(self) -> bool:
        system = self.iteration.system
        return system.events is not None and system.events.goes_back and not self.iteration.is_cautious

    def save_state(self) -> SavedState:
        return self.iteration.save_state()

    def restore_state(self, state: SavedState) -> None:
        self.iteration.restore_state(state)

    def step(self, t: float, h: float, end: float) -> int | Failure:
        """One macro step, one operation after the other; neither accepted nor recorded."""
        return self.iteration.step(t, h, end)


def programmed(master: "IterationMethod", iteration: "GroupIteration") -> ProgrammedIteration:
    """The program of a macro step; each group learns which iteration of the kernel is its own."""
    instructions: list[Instruction] = []
    cautious: list[Instruction] = []
    owner: list[int] = []
    system = iteration.system
    for number, group in enumerate(iteration.groups):
        own = _instructions(master, system, group)
        instructions += own
        cautious += [_cautious(master, system, group)] if group.iteration is not None else own
        owner += [number] * len(own)
    begin = system.driving
    end = (Instruction(Op.EXCHANGE, system.everything.group), Instruction(Op.ACCEPT), Instruction(Op.RECORD))
    owner = [0] * len(begin) + owner
    return ProgrammedIteration(iteration, (*begin, *instructions, *end), (*begin, *cautious, *end), tuple(owner))


def _instructions(master: "IterationMethod", system: CoupledSystem, group: "IteratedGroup") -> tuple[Instruction, ...]:
    own = group.group
    if len(group.unknowns):
        group.iteration = system.kernel.iteration(_calls(master, group, master.plain_iterations))
        return (Instruction(Op.ITERATE, group.iteration),)
    return (
        Instruction(Op.EXCHANGE, own.group),
        Instruction(Op.HOLD, own.held),
        master.inputs.instruction(own.following),
        Instruction(Op.ADVANCE, own.group),
        Instruction(Op.EVALUATE, own.schedule),
    )


def _cautious(master: "IterationMethod", system: CoupledSystem, group: "IteratedGroup") -> Instruction:
    group.cautious_iteration = system.kernel.iteration(_calls(master, group, 1))
    return Instruction(Op.ITERATE, group.cautious_iteration)


def _relaxation(master: "IterationMethod") -> float | None:
    """The constant relaxation of all iterates, which the kernel can then do by itself; None: they need a method."""
    acceleration = master.acceleration
    method = acceleration.method if isinstance(acceleration, EachStep) else None
    return method.relaxation if isinstance(method, FixedPoint) else None


def _calls(master: "IterationMethod", group: "IteratedGroup", plain_iterations: int) -> IterationCalls:
    measure, own = master.measure, group.group
    relaxation = _relaxation(master)
    return IterationCalls(
        group=own.group,
        following=own.following,
        held=own.held,
        schedule=own.schedule,
        unknowns=own.unknowns,
        nominal=own.nominal,
        order=master.inputs.order,
        prediction=master.prediction,
        absolute=measure.limit if isinstance(measure, Absolute) else 0.0,
        relative=measure.limit if isinstance(measure, Relative) else 0.0,
        relaxation=1.0 if relaxation is None else relaxation,
        max_iterations=master.max_iterations
        if relaxation is not None
        else min(plain_iterations, master.max_iterations),
        growth=GROWTH_LIMIT,
    )


@dataclass(frozen=True, slots=True)
class IterationMethod:
    """Method of iterated steps.

    Attributes
    ----------
    inputs
        Approximation of the inputs over a macro step.
    acceleration
        Method that makes the next iterate from those before.
    measure
        Criterion of convergence.
    max_iterations
        Limit of one macro step.
    prediction
        Order of the polynomial through accepted points that gives the first guess.
    retreats
        True if steps that do not converge are repeated with stronger damping, and then done without repetition.
    """

    inputs: InputApproximation = field(default_factory=Interpolate)
    acceleration: Acceleration = field(default_factory=IqnIls)
    measure: Measure = field(default_factory=lambda: Relative(1e-8))
    max_iterations: int = 30
    prediction: int = PREDICTION_ORDER
    retreats: bool = False

    @property
    def plain_iterations(self) -> int:
        """Number of plain iterates before the acceleration is asked.

        No method does better than to agree at the second iterate; as long as a plain one does, the method that
        is taken by default is not needed, and costs more than a small FMU.
        """
        return 2 if isinstance(self.acceleration, IqnIls) else 1


class GroupIteration(NamedTuple):
    """Iterated steps of all groups of a system, in the order of the signal flow."""

    system: CoupledSystem
    groups: tuple[IteratedGroup, ...]

    @property
    def is_cautious(self) -> bool:
        return any(group.plain_switch.given_up for group in self.groups)

    @np.errstate(over="ignore", invalid="ignore")  # the failure reports diverging iterates
    def run(self, first: int, rows: Floats) -> StepBatch:
        return run_step_by_step(self, self.system, first, rows)

    def save_state(self) -> SavedState:
        states = (under(f"group {number}", group.save_state()) for number, group in enumerate(self.groups))
        return {name: value for state in states for name, value in state.items()}

    def restore_state(self, state: SavedState) -> None:
        for number, group in enumerate(self.groups):
            group.restore_state(part_of(state, f"group {number}"))

    def step(self, t: float, h: float, end: float) -> int | Failure:
        most = 1
        for group in self.groups:
            iterations = group.step(t, h, end)
            if isinstance(iterations, Failure):
                return iterations
            most = max(most, iterations)
        return most
