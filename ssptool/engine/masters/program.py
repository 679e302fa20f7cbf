"""Macro steps as kernel programs, and input approximations (hold, mid-step, extrapolation, interpolation)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from ssptool.engine.failure import Failure
from ssptool.engine.kernel.interface import OK, Code, Floats, Instruction, Kernel, Op, Outcome
from ssptool.engine.masters.master import CoupledSystem, CouplingMaster, StepBatch
from ssptool.engine.masters.protocols import InputApproximation, InstanceGroup, SavedState


@dataclass(frozen=True, slots=True)
class Program:
    """A macro step that needs no decision: `steps`, then all outputs made consistent, exchanged and
    recorded.

    Without `consistent` outputs stay what each instance delivered at the end of its own step.
    """

    system: CoupledSystem
    steps: tuple[Instruction, ...] = field(default_factory=tuple)
    consistent: bool = True

    def instructions(self) -> tuple[Instruction, ...]:
        everything = self.system.everything
        return (
            *self.system.saving,
            *self.system.driving,
            *self.steps,
            *([Instruction(Op.EVALUATE, everything.schedule)] if self.consistent else []),
            Instruction(Op.EXCHANGE, everything.group),
            Instruction(Op.ACCEPT),
            Instruction(Op.RECORD),
        )

    def run(self, first: int, rows: Floats) -> StepBatch:
        """Hand it to the kernel for as many steps as it can do; help where it cannot solve a loop."""
        if self.system.stepwise:
            return self._stepwise(first, rows)
        system, instructions = self.system, self.instructions()
        done = 0
        while done < len(rows):
            outcome = system.kernel.run(instructions, system.start, system.step, first + done, rows[done:])
            done += outcome.steps
            if outcome.ok and not self._event_wanted:
                continue
            if outcome.ok or outcome.code is Code.EVENT:
                return StepBatch(done, interrupted=not outcome.ok)
            if outcome.code is not Code.LOOP:
                t, end = system.time(first + done), system.time(first + done + 1)
                return StepBatch(done, system.explain_step(outcome, t, end))
            # Repeat the schedule that stopped, with the full solvers.
            left = self.steps[outcome.instruction - len(system.saving) - len(system.driving) :]
            t, end = system.time(first + done), system.time(first + done + 1)
            if isinstance(rest := self._rest(left, t, system.step, end), Failure):
                return StepBatch(done, rest)
            system.finish(first + done + 1, rows[done])
            done += 1
            if self._event_wanted:
                break
        return StepBatch(done)

    @property
    def _event_wanted(self) -> bool:
        return self.system.events is not None and self.system.events.wanted

    def _stepwise(self, first: int, rows: Floats) -> StepBatch:
        for done in range(len(rows)):
            point = first + done
            outcome = self.step(self.system.time(point), self.system.step, self.system.time(point + 1))
            if isinstance(outcome, Failure):
                return StepBatch(done, outcome)
            self.system.finish(point + 1, rows[done])
        return StepBatch(len(rows))

    @property
    def interruptible(self) -> bool:
        return True

    def save_state(self) -> SavedState:
        return {}

    def restore_state(self, state: SavedState) -> None:
        pass

    def step(self, t: float, h: float, end: float) -> int | Failure:
        return self._rest(self.steps, t, h, end)

    def _rest(self, steps: Sequence[Instruction], t: float, h: float, end: float) -> int | Failure:
        """These last ones of the step, and outputs made consistent."""
        for instruction in steps:
            if instruction.op is Op.EVALUATE:
                if failure := self.system.evaluate(instruction.argument, end):
                    return failure
                continue
            outcome = self._execute(instruction, t, h)
            if not outcome.ok:
                return self.system.explain_step(outcome, t, end)
        if not self.consistent:
            return 1
        return self.system.evaluate(self.system.everything.schedule, end) or 1

    def _execute(self, instruction: Instruction, t: float, h: float) -> Outcome:
        kernel, argument = self.system.kernel, instruction.argument
        match instruction.op:
            case Op.EXCHANGE:
                kernel.exchange(argument)
            case Op.HOLD:
                kernel.hold(argument)
            case Op.EXTRAPOLATE:
                kernel.extrapolate(argument, instruction.order)
            case Op.INTERPOLATE:
                kernel.interpolate(argument, instruction.order, h)
            case Op.MID_STEP:
                kernel.mid_step(argument, instruction.order, h)
            case Op.ADVANCE:
                return self.system.advance(self._instances(argument), t, h)
            case _:
                raise AssertionError(f"{instruction.op} does not belong to a step")
        return OK

    def _instances(self, group: int) -> InstanceGroup:
        system = self.system
        sets = (one for whole in (system.everything, *system.groups) for one in (whole, *whole.members))
        return next(one for one in sets if one.group == group)


@runtime_checkable
class ProgrammedMaster(CouplingMaster, Protocol):
    """A master whose macro steps need no decision."""

    def program(self, system: CoupledSystem) -> Program: ...


def set_inputs(instances: InstanceGroup, inputs: InputApproximation) -> tuple[Instruction, ...]:
    """Inputs of the instances over a step, also of those that cannot follow them."""
    return (inputs.where_held.instruction(instances.held), inputs.instruction(instances.following))


@dataclass(frozen=True, slots=True)
class Hold:
    """Constant, at the values that inputs have when the step begins; with `ahead`, those of which the values at the end
    of the step are not known then are held at mid-step.
    """

    ahead: bool = False

    @property
    def name(self) -> str:
        return "hold, at mid-step what is not known yet" if self.ahead else "hold"

    @property
    def order(self) -> int:
        return 0

    @property
    def from_the_past(self) -> "Hold | MidStep":
        return MidStep() if self.ahead else self

    @property
    def where_held(self) -> "Hold":
        return self

    @property
    def order_of_accuracy(self) -> int:
        return 1

    def instruction(self, group: int) -> Instruction:
        return Instruction(Op.HOLD, group)

    def apply(self, kernel: Kernel, group: int, h: float) -> None:
        kernel.hold(group)


@dataclass(frozen=True, slots=True)
class MidStep:
    """Constant, at the value in the middle of the step: extrapolated, or with `ends` the mean of both ends.

    For a component that integrates finely inside of the step this is of order 2. Extrapolated, it is the method of
    Adams and Bashforth for the coupling, with half the range of stable steps on the negative real axis. So an input
    whose last changes differ in sign, or by more than twice, is held as by `Hold`: at such steps nothing can be known
    of the next one, and jumps or oscillations must not be amplified. At a smooth extremum that costs no order, because
    the value hardly changes there. With `ends`, the value at the end of the step damps what rings. Iterated steps that
    are `tried` take the mean only if trial steps at the start say that the components integrate their inputs.

    References
    ----------
    Hairer, Nørsett, Wanner 1993, "Solving ordinary differential equations I", §III.1 (Adams); Rannacher 1984, "Finite
    element solution of diffusion problems with irregular data" (damped steps after jumps).
    """

    ends: bool = False
    tried: bool = False

    @property
    def name(self) -> str:
        if self.tried:
            return "mid-step (mean of both ends) where trial steps allow it, else the value at the end"
        return "mid-step (mean of both ends)" if self.ends else "mid-step (extrapolated)"

    @property
    def order(self) -> int:
        return 0

    @property
    def from_the_past(self) -> "MidStep":
        return MidStep()

    @property
    def where_held(self) -> "MidStep":
        return self

    @property
    def order_of_accuracy(self) -> int:
        return 2

    def instruction(self, group: int) -> Instruction:
        return Instruction(Op.MID_STEP, group, int(self.ends))

    def apply(self, kernel: Kernel, group: int, h: float) -> None:
        kernel.mid_step(group, int(self.ends), h)


@dataclass(frozen=True, slots=True)
class Extrapolate:
    """The polynomial through the last accepted points, continued; `held`: where inputs can only be constant."""

    order: int = 1
    held: Hold | MidStep = field(default_factory=Hold)

    @property
    def name(self) -> str:
        return f"extrapolate (order {self.order})"

    @property
    def from_the_past(self) -> "Extrapolate":
        return self

    @property
    def where_held(self) -> Hold | MidStep:
        return self.held

    @property
    def order_of_accuracy(self) -> int:
        return self.order + 1

    def instruction(self, group: int) -> Instruction:
        return Instruction(Op.EXTRAPOLATE, group, self.order)

    def apply(self, kernel: Kernel, group: int, h: float) -> None:
        kernel.extrapolate(group, self.order)


@dataclass(frozen=True, slots=True)
class Mean:
    """Constant, the mean of the values at both ends of the step.

    For a component that integrates finely inside of the step this is of order 2: two that feed each other and are
    iterated keep the energy of an undamped oscillator, as Newmark's method of average acceleration does. A component
    that makes one implicit step of its own takes its inputs for those at the end of the step.

    References
    ----------
    Newmark 1959, "A method of computation for structural dynamics" (β = 1/4, γ = 1/2).
    """

    @property
    def name(self) -> str:
        return "mean of both ends of each step"

    @property
    def order(self) -> int:
        return 0

    @property
    def from_the_past(self) -> Hold:
        return Hold()

    @property
    def where_held(self) -> "Mean":
        return self

    @property
    def order_of_accuracy(self) -> int:
        return 2

    def instruction(self, group: int) -> Instruction:
        return Instruction(Op.INTERPOLATE, group, 0)

    def apply(self, kernel: Kernel, group: int, h: float) -> None:
        kernel.interpolate(group, 0, h)


@dataclass(frozen=True, slots=True)
class Interpolate:
    """The polynomial through the last accepted points and the values at the end of the step; `held`: where inputs can
    only be constant.
    """

    order: int = 1
    held: Hold | Mean | MidStep = field(default_factory=Hold)

    @property
    def name(self) -> str:
        return f"interpolate (order {self.order})"

    @property
    def from_the_past(self) -> Extrapolate:
        return Extrapolate(self.order, self.held.from_the_past)

    @property
    def where_held(self) -> Hold | Mean | MidStep:
        return self.held

    @property
    def order_of_accuracy(self) -> int:
        return self.order + 1

    def instruction(self, group: int) -> Instruction:
        return Instruction(Op.INTERPOLATE, group, self.order)

    def apply(self, kernel: Kernel, group: int, h: float) -> None:
        kernel.interpolate(group, self.order, h)
