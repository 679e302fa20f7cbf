"""Outputs made consistent at one instant: calls and loops, in order."""

from collections.abc import Sequence

from ssptool.engine.kernel.interface import OK, Call, Outcome, SolveLoop
from ssptool.engine.kernel.twin.calls import Calls, ResolvedCall
from ssptool.engine.kernel.twin.checks import check_index, item
from ssptool.engine.kernel.twin.loops import Loops


class Sweeps:
    def __init__(self, calls: Calls, loops: Loops) -> None:
        self._calls, self._loops = calls, loops
        self._every: list[tuple[ResolvedCall | SolveLoop, ...]] = []

    def __len__(self) -> int:
        return len(self._every)

    def register(self, steps: Sequence[Call | SolveLoop]) -> int:
        resolved: list[ResolvedCall | SolveLoop] = []
        for step in steps:
            if isinstance(step, SolveLoop):
                check_index(step.loop, self._loops, "loop")
                resolved.append(step)
            else:
                resolved.append(self._calls.resolve(step))
        self._every.append(tuple(resolved))
        return len(self._every) - 1

    def evaluate(self, sweep: int) -> Outcome:
        for step in item(self._every, sweep, "sweep"):
            outcome = self._loops.solve(step.loop) if isinstance(step, SolveLoop) else self._calls.perform(step)
            if not outcome.ok:
                return outcome
        return OK
