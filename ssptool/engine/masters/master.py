"""Master algorithms: the coupled system that a master steps, and what it returns."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.failure import Failure, IntegrationStopped
from ssptool.engine.kernel.interface import LONG_AGO, Code, Floats, Instruction, Kernel, Op, Outcome
from ssptool.engine.masters.protocols import (
    NONE_UNCONVERGED,
    CheckpointProtocol,
    InputApproximation,
    InstanceGroup,
    InterfaceEnds,
    Ode,
    Participants,
    SavedState,
    SteppedOde,
    StimuliProtocol,
    Unconverged,
    UnplannedSteps,
)
from ssptool.engine.recording.iteration_log import IterationLog
from ssptool.engine.time_grid import grid_time
from ssptool.fmu.instance import FmiError

CLOSE = 1e-9
"""Fraction of a macro step within which a communication point counts as at an event or a jump."""


def tolerance_of_times(t: float, step: float) -> float:
    """Largest distance [s] of two times about t [s] that count as equal, in a run with macro steps of this size [s]."""
    return max(CLOSE * step, math.ulp(t))


class Events(Protocol):
    """Components whose events are handled in event mode, and their clocks."""

    failure: Failure | None
    """Failure that prevents the first instant."""
    seen: bool
    """True if the last event belongs in the trace."""
    samples: bool
    """True if signals that are read at events only may change between events."""

    @property
    def pending(self) -> bool:
        """True if a signal that is exchanged at events only has changed."""
        ...

    @property
    def next_time(self) -> float:
        """Time of the next known event [s]."""
        ...

    @property
    def goes_back(self) -> bool:
        """True if macro steps can be rolled back, for which states are saved at their start."""
        ...

    def before_steps(self) -> None:
        """Prepare macro steps, of which the kernel saves the states if need be."""
        ...

    def before_step(self, t: float) -> Failure | None:
        """A macro step begins at t [s], and all states are saved if need be."""
        ...

    def early(self, end: float, *, goes_on: bool = False) -> float | None:
        """Time at which the first component ended the macro step to `end` [s] early. If it `goes_on` without an event
        there, `end` itself where a component asks for an event.
        """
        ...

    def go_back(self, t: float, end: float, *, all_of_them: bool) -> Failure | None:
        """Go back to the start t of the macro step, which then leads to `end` [s].

        Components that have reached `end` stay there, unless all repeat the step.
        """
        ...

    @property
    def wanted(self) -> bool:
        """True if a component asks for an event at the end of the last step."""
        ...

    def handle(self, system: "CoupledSystem", t: float, *, jump: bool) -> Failure | None:
        """The event at t [s]; with `jump`, what acts from outside jumps too."""
        ...

    def intervene(self, system: "CoupledSystem", t: float, action: Callable[[], None]) -> Failure | None:
        """Call `action`, which may set any value at t [s]; this is an event."""
        ...

    def save_state(self) -> SavedState:
        """State needed to continue."""
        ...

    def restore_state(self, state: SavedState) -> None:
        """Go on from there."""
        ...


@dataclass(frozen=True, slots=True)
class CoupledSystem:
    """A loaded and initialized system, as a master algorithm sees it.

    Attributes
    ----------
    everything
        All instances.
    groups
        Strongly connected groups of instances, in an order in which signals flow from each to later ones
        only.
    evaluate
        (schedule, time [s]) → failure, if any. Solves loops with the full chain where the kernel's iteration fails.
    explain
        (outcome, time [s]) → the failure of a kernel operation, in words.
    integration
        The ODE of all components of model exchange, if there are no others.
    ode
        The ODE beside components of co-simulation. It is an instance of its own, stepped with the others.
    stepwise
        True if operations must be called one by one, because of logs or functions.
    stop : [s]
        Stop time of the run.
    nominal : (slots,)
        Nominal values, in the units of the signals.
    nominal_stated : (slots,)
        True where the nominal value is stated by an FMU.
    reals, discrete
        Slots of real numbers that a step size control compares (None: all), and of all other signals that it does.
    name_of
        Slot → name of its signal.
    interface_ends
        Connections that feed the unknowns of a group, in the order of the unknowns.
    checkpoint
        Checkpoint of all instances, if the master asks for one.
    second_checkpoint
        Another one, if steps are adaptive.
    coupling_log
        Log of the iterates of macro steps, if asked for.
    stimuli
        Inputs and scenario, if there are any.
    refused
        (error, time [s]) → the failure of an FMU outside of the kernel, in words.
    events
        Components in event mode, if there are any.
    settled
        Names of a group → steps that were accepted although their iteration did not converge.
    unobserved
        Failures to get variables for rows that no program of the kernel fills.
    """

    kernel: Kernel
    start: float
    step: float
    recorded: NDArray[np.intp]
    everything: InstanceGroup
    groups: tuple[InstanceGroup, ...]
    evaluate: Callable[[int, float], Failure | None]
    explain: Callable[[Outcome, float], Failure]
    integration: "SteppedAlone | None" = None
    ode: SteppedOde | None = None
    stepwise: bool = False
    stop: float = 0.0
    nominal: Floats = field(default_factory=lambda: np.ones(0))
    nominal_stated: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    reals: NDArray[np.intp] | None = None
    discrete: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    name_of: Callable[[int], str] = str
    interface_ends: Callable[[InstanceGroup], Sequence[InterfaceEnds]] = lambda _: ()
    checkpoint: CheckpointProtocol | None = None
    second_checkpoint: CheckpointProtocol | None = None
    coupling_log: IterationLog | None = None
    stimuli: StimuliProtocol | None = None
    refused: Callable[[FmiError, float], Failure] | None = None
    events: Events | None = None
    settled: dict[tuple[str, ...], UnplannedSteps] = field(default_factory=dict)
    unobserved: list[Failure] = field(default_factory=list)

    def explain_step(self, outcome: Outcome, t: float, end: float) -> Failure:
        """Failure of a step from t to `end` [s]; a value that is not finite, or a loop, counts as one at `end`."""
        return self.explain(outcome, end if outcome.code in (Code.NONFINITE, Code.LOOP) else t)

    def remarks(self) -> Iterator[str]:
        """Notes on macro steps that were done otherwise than planned, and on rows of events between their ends."""
        if self.ode is not None:
            yield from self.ode.remarks()
        for names, settled in self.settled.items():
            yield from settled.remarks(names)

    @property
    def unconverged(self) -> Unconverged:
        """Steps of a fixed number of iterations that had not converged, of all groups."""
        return reduce(Unconverged.beside, (settled.unconverged for settled in self.settled.values()), NONE_UNCONVERGED)

    @property
    def driving(self) -> tuple[Instruction, ...]:
        """Instructions at the start of a program of a macro step."""
        return () if self.stimuli is None else self.stimuli.instructions

    @property
    def width(self) -> int:
        """Length of a row: the time, and what is recorded."""
        return 1 + len(self.recorded)

    def time(self, point: int) -> float:
        """Communication point number `point` [s]; the same arithmetic as the kernel's."""
        return grid_time(self.start, self.step, point)

    def passed(self, t: float) -> int:
        """Number of the last communication point that is not after t [s], but for rounding."""
        number = round((t - self.start) / self.step)
        return number if self.time(number) <= t + CLOSE * self.step else number - 1

    @property
    def macro_steps(self) -> int:
        """Number of macro steps from start to stop, a shorter last one included."""
        number = self.passed(self.stop)
        return number + (self.stop - self.time(number) > CLOSE * self.step)

    def next_step(self, t: float, limit: float) -> tuple[float, float]:
        """Size and end [s] of the step from t to the next communication point, or to an earlier `limit`.

        A whole step has the very size of all others, not the difference of two rounded times.
        """
        number, h = self.passed(t), self.step
        point, whole = self.time(number + 1), t == self.time(number)
        if point > limit - CLOSE * h:
            whole, point = whole and point == limit, limit
        return (h if whole else point - t), point

    def cut(self, end: float, limit: float) -> float:
        """The end [s] of steps on the grid that lead to `end` or to an earlier `limit`, for which a communication point
        at it, but for rounding, stands.
        """
        point = self.time(self.passed(limit))
        limit = point if abs(point - limit) <= CLOSE * self.step else limit
        return limit if limit < end - CLOSE * self.step else end

    @property
    def saving(self) -> tuple[Instruction, ...]:
        """Instructions that save states at the start of each macro step that may be rolled back."""
        save = self.events is not None and self.events.goes_back
        return (Instruction(Op.SAVE, self.everything.group),) if save else ()

    def whole_steps(self, number: int, end: float) -> int:
        """Number of macro steps from this point of the grid until `end` [s], at most."""
        last = self.passed(end)
        # A time that rounding has put beside a point of the grid gets a step of its own.
        beside = 0.0 < abs(self.time(last) - end) <= CLOSE * self.step
        return last - number - beside

    def advance(self, instances: InstanceGroup, t: float, h: float) -> Outcome:
        """Step instances. Inputs run as set for the step."""
        return self.kernel.advance(instances.group, t, h)

    def finish(self, point: int, row: Floats) -> None:
        """The step that leads to this point is final: exchange, remember, record."""
        self.finish_at(self.time(point), row)

    def through_jump(self, time: float) -> Failure | None:
        """Let what acts from outside jump at this time [s], and what follows from it follow."""
        assert self.stimuli is not None and self.refused is not None
        outcomes: list[Outcome] = []
        jump = self.stimuli.jump
        try:
            if self.ode is None:
                outcomes.append(jump())
            elif failure := self.ode.intervene(lambda: outcomes.append(jump())):
                return failure
        except FmiError as error:
            return self.refused(error, time)
        except IntegrationStopped as stopped:
            return stopped.failure
        return next((self.explain(outcome, time) for outcome in outcomes if not outcome.ok), None) or self.settle(time)

    def settle(self, time: float) -> Failure | None:
        """After values were set at this time [s]: outputs follow, and the past is forgotten."""
        kernel, everything = self.kernel, self.everything
        kernel.exchange(everything.group)
        if failure := self.evaluate(everything.schedule, time):
            return failure
        kernel.exchange(everything.group)
        kernel.accept(LONG_AGO)
        kernel.accept(time)
        return None

    def finish_at(self, time: float, row: Floats) -> None:
        """The step that leads to this time is final: exchange, remember, record."""
        self.kernel.exchange(self.everything.group)
        self.kernel.accept(time)
        self.record(time, row)

    def record(self, time: float, row: Floats) -> None:
        """A row (1 + recorded,) of the trace, as everything is at this time [s]; see `unobserved`."""
        outcome = self.kernel.record(time, row)
        if not outcome.ok:
            self.unobserved.append(self.explain(outcome, time))


class StepBatch(NamedTuple):
    """Some macro steps done.

    Attributes
    ----------
    steps
        Number of final steps, which is that of the rows filled.
    iterations
        One entry per step if there are any.
    rejected
        Steps that were taken back because their error was too large.
    finished
        A master with steps of its own choice has reached the stop time.
    events, evaluations
        Numbers of state and time events of model exchange, and of evaluations of the derivatives of all components
        together.
    points : (steps,)
        True for rows at communication points, False for sides of events between them; None: all are points.
    interrupted
        The step after them has been begun, and a component has returned before its end.
    waiting
        The next rows are made already; components are at the last of them, not at the last one here.
    """

    steps: int
    failure: Failure | None = None
    iterations: tuple[int, ...] = ()
    rejected: int = 0
    finished: bool = False
    events: int = 0
    evaluations: int = 0
    points: NDArray[np.bool_] | None = None
    interrupted: bool = False
    waiting: bool = False


class Stepper(Protocol):
    """A master algorithm at work on one system; what it remembers from step to step is in it."""

    def run(self, first: int, rows: Floats) -> StepBatch:
        """Do len(rows) macro steps from communication point `first`.

        Fills `rows` (steps, 1 + recorded). Called again and again, each time from where it came to.
        """
        ...


@runtime_checkable
class SavableStepper(Protocol):
    """A stepper, or a part of one, that can continue in another process with the same bits. It is saved while no rows
    are waiting.
    """

    def save_state(self) -> SavedState:
        """State needed to continue from the present point."""
        ...

    def restore_state(self, state: SavedState) -> None:
        """Go on from there. The kernel has the history that it had."""
        ...


class SteppedAlone(Stepper, Ode, Protocol):
    """A system that is nothing but an ODE."""


@runtime_checkable
class OneStepper(Stepper, Protocol):
    """A stepper that can also be asked for one step of any size, from where it is."""

    def step(self, t: float, h: float, end: float) -> int | Failure:
        """One macro step from t to `end`, until the outputs there are consistent: the number of its iterations.

        It is neither accepted nor recorded, and may be taken back: the next one then begins at the same t, or at an
        earlier one. Inputs that are driven from outside have been told the step.
        """
        ...


@runtime_checkable
class InterruptibleStepper(OneStepper, Protocol):
    """A stepper whose `run` may end where a component asks for an event in the middle of a macro step."""

    @property
    def interruptible(self) -> bool:
        """True if the next `run` ends at events, and then returns `interrupted`; else `step` is called instead where
        there are events.
        """
        ...


def run_step_by_step(stepper: OneStepper, system: "CoupledSystem", first: int, rows: Floats) -> StepBatch:
    """`Stepper.run` of a stepper that does nothing beyond its `step`."""
    counts: list[int] = []
    for done in range(len(rows)):
        end = system.time(first + done + 1)
        if system.stimuli is not None:
            system.stimuli.begin(system.step, end)
        iterations = stepper.step(system.time(first + done), system.step, end)
        if isinstance(iterations, Failure):
            return StepBatch(done, iterations, tuple(counts))
        counts.append(iterations)
        system.finish(first + done + 1, rows[done])
    return StepBatch(len(rows), None, tuple(counts))


@runtime_checkable
class LimitedStepper(Stepper, Protocol):
    """A stepper whose steps end where they are asked to.

    Attributes
    ----------
    limit : [s]
        No step goes beyond; none is done where it is reached.
    """

    limit: float

    def restart(self) -> None:
        """Choose sizes from the first one on: values were set at the present point."""
        ...


class Master(Protocol):
    """A master algorithm: a frozen dataclass with slots. Its `repr` states everything that steps depend on, since a
    saved simulation continues only with an equal master.
    """

    @property
    def name(self) -> str: ...

    @property
    def chooses_steps(self) -> bool:
        """The size of macro steps is the master's choice, so their number is not known beforehand."""
        ...

    def start(self, system: CoupledSystem) -> Stepper:
        """Ready for the first macro step."""
        ...

    def outline(self, groups: Sequence[Participants]) -> tuple[str, ...]:
        """Calls of a macro step in words, until the outputs at its end are known."""
        ...


class CouplingMaster(Master, Protocol):
    """A master that states how components are coupled over one macro step of any size.

    Adaptive steps, jumps of inputs, events and a shorter last step are built on it. A class that derives from it has
    the properties that are stated here.
    """

    @property
    def inputs(self) -> InputApproximation: ...

    @property
    def chooses_steps(self) -> bool:
        return False

    @property
    def independent_steps(self) -> bool:
        """True if the step of a component does not depend on the others in the same step, so that a rollback of others
        does not repeat it.
        """
        return False

    @property
    def side_by_side(self) -> bool:
        """True if components may step in parallel."""
        return True

    def start(self, system: CoupledSystem) -> OneStepper: ...


def nothing(end: float) -> None:
    """Default action after a step: none."""


@runtime_checkable
class StepSizeControl(Master, Protocol):
    """A master that chooses the sizes of the macro steps of another one, `base`."""

    @property
    def base(self) -> CouplingMaster: ...

    def start(self, system: CoupledSystem) -> LimitedStepper: ...

    def driven(self, after: Callable[[float], None] = nothing) -> "StepSizeControl":
        """The same control, whose steps follow the input sources. After each step that may be rolled back, `after` is
        called with its end [s]; an exception from it ends the attempt.
        """
        ...
