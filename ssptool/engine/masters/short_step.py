"""Fixed macro steps with a shorter last one."""

from collections.abc import Sequence
from dataclasses import dataclass

from ssptool.engine.failure import Failure
from ssptool.engine.kernel.interface import Floats
from ssptool.engine.masters.master import (
    CoupledSystem,
    CouplingMaster,
    OneStepper,
    Participants,
    Remembering,
    StepBatch,
)
from ssptool.engine.masters.protocols import Memory


@dataclass(frozen=True, slots=True)
class WithShortStep:
    """The macro steps of another master, which are all of one size, and one that leads from the last of their ends to
    the stop time.
    """

    base: CouplingMaster

    @property
    def name(self) -> str:
        return self.base.name

    @property
    def chooses_steps(self) -> bool:
        return False

    def start(self, system: CoupledSystem) -> OneStepper:
        return _ToTheStop(self.base.start(system), system)

    def outline(self, groups: Sequence[Participants]) -> tuple[str, ...]:
        return self.base.outline(groups)


class _ToTheStop:
    """Whole steps as the stepper does them, and the rest."""

    def __init__(self, stepper: OneStepper, system: CoupledSystem) -> None:
        self.stepper, self.system = stepper, system

    def run(self, first: int, rows: Floats) -> StepBatch:
        system = self.system
        whole = min(system.whole_steps(first, system.stop), len(rows))
        done = self.stepper.run(first, rows[:whole]) if whole > 0 else StepBatch(0)
        if done.failure is not None or done.interrupted or not done.steps == whole < len(rows):
            return done
        t = system.time(first + whole)
        h, end = system.next_step(t, system.stop)
        if system.drive is not None:
            system.drive.begin(h, end)
        iterations = self.stepper.step(t, h, end)
        if isinstance(iterations, Failure):
            return StepBatch(whole, iterations, done.iterations)
        system.finish_at(end, rows[whole])
        return StepBatch(whole + 1, None, (*done.iterations, iterations))

    def step(self, t: float, h: float, end: float) -> int | Failure:
        return self.stepper.step(t, h, end)

    def memory(self) -> Memory:
        if not isinstance(self.stepper, Remembering):
            raise TypeError("this master does not remember")
        return self.stepper.memory()

    def recall(self, memory: Memory) -> None:
        if isinstance(self.stepper, Remembering):
            self.stepper.recall(memory)
