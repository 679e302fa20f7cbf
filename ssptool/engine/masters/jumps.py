"""Macro steps that end where inputs or scenarios jump, and a shorter last step."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import numpy as np

from ssptool.engine.failure import BadInputs, Failure
from ssptool.engine.kernel.interface import Floats
from ssptool.engine.masters.master import (
    CLOSE,
    CoupledSystem,
    CouplingMaster,
    LimitedStepper,
    Master,
    OneStepper,
    SavableStepper,
    StepBatch,
    Stepper,
    StepSizeControl,
    nothing,
)
from ssptool.engine.masters.program import Program
from ssptool.engine.masters.protocols import (
    InputApproximation,
    Participants,
    SavedState,
    StimuliProtocol,
    part_of,
    under,
)


@dataclass(frozen=True, slots=True)
class WithShortStep:
    """The macro steps of another master, all of one size except those that are cut at the stop time, or where
    a program asks for it; the next one then leads to the next point of the grid.
    """

    base: CouplingMaster

    @property
    def name(self) -> str:
        return self.base.name

    @property
    def chooses_steps(self) -> bool:
        return False

    def start(self, system: CoupledSystem) -> LimitedStepper:
        return _Stretches(self.base, system)

    def outline(self, groups: Sequence[Participants]) -> tuple[str, ...]:
        return self.base.outline(groups)


def start_limited(master: Master, system: CoupledSystem) -> LimitedStepper:
    """Start a master so that its steps end where they are asked to."""
    if not master.chooses_steps and not isinstance(master, WithShortStep):
        master = WithShortStep(cast("CouplingMaster", master))
    stepper = master.start(system)
    if not isinstance(stepper, LimitedStepper):
        raise TypeError(f"master {master.name} chooses its steps, but its stepper has no limit")
    return stepper


@dataclass(frozen=True, slots=True)
class StepsToInputJumps:
    """The macro steps of another master, cut at every jump of an input: each is a communication point with one row for
    each side, and no input is extrapolated over it.

    Driven inputs run over a step as they are given, where the FMU can follow; else they have the value of its middle,
    which is exact to the second order, or where inputs are to be held that of its start.
    """

    base: CouplingMaster | StepSizeControl

    @property
    def name(self) -> str:
        return self.base.name

    @property
    def chooses_steps(self) -> bool:
        return True

    def start(self, system: CoupledSystem) -> Stepper:
        return _Stretches(self.base, system)

    def outline(self, groups: Sequence[Participants]) -> tuple[str, ...]:
        return (
            "driven inputs follow their time series; the step ends where one of them jumps",
            *self.base.outline(groups),
            "at a jump: record, set the inputs that jump and all that depend on them, record again",
        )


@dataclass(frozen=True, slots=True)
class MasterWithInputSources(CouplingMaster):
    """A master whose steps follow the input sources; `after` is called with the end of each step."""

    base: CouplingMaster
    after: Callable[[float], None] = nothing

    @property
    def name(self) -> str:
        return self.base.name

    @property
    def inputs(self) -> InputApproximation:
        return self.base.inputs

    def start(self, system: CoupledSystem) -> OneStepper:
        return following(self.base.start(system), system, self.after)

    def outline(self, groups: Sequence[Participants]) -> tuple[str, ...]:
        return self.base.outline(groups)


class _Follower(NamedTuple):
    stepper: OneStepper
    stimuli: StimuliProtocol | None
    after: Callable[[float], None]

    def run(self, first: int, rows: Floats) -> StepBatch:
        raise AssertionError("steps are asked for one by one")

    def save_state(self) -> SavedState:
        return _save_state(self.stepper)

    def restore_state(self, state: SavedState) -> None:
        _restore_state(self.stepper, state)

    def step(self, t: float, h: float, end: float) -> int | Failure:
        if self.stimuli is not None:
            self.stimuli.begin(h, end)
        outcome = self.stepper.step(t, h, end)
        self.after(end)
        return outcome


def following(stepper: OneStepper, system: CoupledSystem, after: Callable[[float], None] = nothing) -> OneStepper:
    """The same stepper, whose steps follow the input sources; `after` is called with the end of each step."""
    return _Follower(stepper, system.stimuli, after)


def _save_state(stepper: Stepper) -> SavedState:
    if not isinstance(stepper, SavableStepper):
        raise TypeError("this master does not remember")
    return stepper.save_state()


def _restore_state(stepper: Stepper, state: SavedState) -> None:
    if isinstance(stepper, SavableStepper):
        stepper.restore_state(state)


class _Stretches:
    """Segment after segment between jumps, row by row.

    Attributes
    ----------
    limit : [s]
        No step goes beyond.
    """

    def __init__(self, base: CouplingMaster | StepSizeControl, system: CoupledSystem) -> None:
        self.system, self.stimuli, self.base = system, system.stimuli, base
        self.t, self.limit = system.start, system.stop
        self.counts: list[int] = []
        self.rejected = 0
        self.waiting = False  # the next row is made already
        self.steps = self._steps()

    @property
    def finished(self) -> bool:
        # A jump that rounding has put just before the stop time leaves no step to be done.
        return self.t >= self.system.stop - CLOSE * self.system.step and not self._at_jump

    @property
    def _at_jump(self) -> bool:
        return self.stimuli is not None and self.t >= self.stimuli.end

    @property
    def _end(self) -> float:
        """End of the present segment, or of the run."""
        stop = self.system.stop
        return stop if self.stimuli is None else min(self.stimuli.end, stop)

    def _steps(self) -> "_Equal | _Varying":
        if isinstance(self.base, StepSizeControl):
            return _Varying(self.base.driven(), self.system)
        stepper = self.base.start(self.system)
        return _Equal(stepper, following(stepper, self.system), self.system)

    def run(self, first: int, rows: Floats) -> StepBatch:
        self.counts, self.rejected = [], 0
        filled, failure = 0, None
        while filled < len(rows) and not self.finished and failure is None:
            if self._at_jump:
                failure = self._jump(rows[filled])
                filled += failure is None
                continue
            if not self.waiting and self.t >= self.limit - CLOSE * self.system.step:
                break
            try:
                taken = self.steps.next(self.t, self._end, self.limit, rows[filled:])
            except BadInputs as error:
                failure = error.failure(self.t)
                continue
            self.counts += taken.iterations
            self.rejected += taken.rejected
            filled += taken.steps
            failure, self.waiting = taken.failure, taken.waiting
            if taken.steps:
                self.t = float(rows[filled - 1, 0])
        counts = tuple(self.counts)
        return StepBatch(filled, failure, counts, self.rejected, self.finished, waiting=self.waiting)

    def restart(self) -> None:
        if isinstance(self.steps.stepper, LimitedStepper):
            self.steps.stepper.restart()

    def save_state(self) -> SavedState:
        own = {"t": np.array(self.t)}
        if self.stimuli is not None:
            own["stretch"] = np.array(self.stimuli.segment)
        return {**own, **under("base", _save_state(self.steps.stepper))}

    def restore_state(self, state: SavedState) -> None:
        self.t = float(state["t"])
        if self.stimuli is not None:
            self.stimuli.go_to(int(state["stretch"]))
        self.steps = self._steps()
        _restore_state(self.steps.stepper, part_of(state, "base"))

    def _jump(self, row: Floats) -> Failure | None:
        """The other side of the instant that has been reached."""
        try:
            failure = self.system.through_jump(self.t)
        except BadInputs as error:
            failure = error.failure(self.t)
        if failure is not None:
            return failure
        self.system.record(self.t, row)
        self.restart()
        return None


@dataclass(slots=True)
class _Equal:
    """Macro steps from point to point of the grid, cut at the end of a segment and at the limit: as many at once as are
    whole, where nothing changes from one to the next.
    """

    stepper: OneStepper
    follower: OneStepper
    system: CoupledSystem

    def next(self, t: float, end: float, limit: float, rows: Floats) -> StepBatch:
        """Step from t to some next points, none after `end` or `limit` [s]."""
        system, number = self.system, self.system.passed(t)
        end = system.cut(end, limit)
        on_grid = not system.stepwise and t == system.time(number)
        count = system.whole_steps(number, end) if on_grid else 0
        if count:
            return self.stepper.run(number, rows[:count])
        return self._one(t, end, rows[0])

    def _one(self, t: float, end: float, row: Floats) -> StepBatch:
        h, point = self.system.next_step(t, end)
        iterations = self.follower.step(t, h, point)
        if isinstance(iterations, Failure):
            return StepBatch(0, iterations)
        self.system.finish_at(point, row)
        return StepBatch(1, None, () if isinstance(self.stepper, Program) else (iterations,))


class _Varying:
    """Steps of varying size."""

    def __init__(self, master: StepSizeControl, system: CoupledSystem) -> None:
        self.stepper = master.start(replace(system, stepwise=True))

    def next(self, t: float, end: float, limit: float, rows: Floats) -> StepBatch:
        self.stepper.limit = min(end, limit)
        return self.stepper.run(0, rows[:1])  # those before stay if an input source has no value
