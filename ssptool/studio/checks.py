"""Accuracy of runs of the studio, from finer runs after the end of a run. Its results are already shown during the
check.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ssptool.arguments import WantedAccuracy
from ssptool.engine.planning.plan import Plan
from ssptool.engine.run.accuracy import Accuracy, AccuracyMethod, StatedErrors
from ssptool.engine.run.refinement import AUTO_SECONDS, AccuracyCheck, CarryOut, unrepeatable
from ssptool.engine.trace import Trace

CANCELLED = "not checked; the check was cancelled"

FindAccuracy = Callable[[float, bool], Accuracy]
"""Finds the accuracy of a run that has ended, and took so many seconds; True: asked for, whatever time that takes."""


@dataclass(frozen=True, slots=True)
class LaterCheck(AccuracyCheck):
    """Check that is made after the run: when the run has ended, `ready` has it, unless the run cannot be repeated.

    A check of a short run is whole, as nobody waits for it: here most of its time is that of starting processes.
    """

    ready: list[FindAccuracy] = field(default_factory=list)

    def of(
        self, plan: Plan, trace: Trace | None, seconds: float, carry_out: CarryOut, left: Callable[[], float]
    ) -> Accuracy:
        if reason := unrepeatable(plan):
            return Accuracy(remark=reason)

        def found(own: float, asked: bool) -> Accuracy:
            return AccuracyCheck(self.replan, asked or 2 * own <= AUTO_SECONDS).of(plan, trace, own, carry_out, left)

        self.ready.append(found)
        return Accuracy()


def check_of(wanted: WantedAccuracy, replan: Callable[..., Plan]) -> AccuracyCheck:
    """The check of a run: after it, or before it if an accuracy is asked for, which decides the step."""
    if isinstance(wanted, float):
        return AccuracyCheck(replan, asked=True, wanted=wanted)
    return LaterCheck(replan)


@dataclass
class RunAccuracy:
    """The accuracy of one run, as a page shows it.

    `find` is the check that can still be made, `errors` are drawn as bands. The `seconds` of the run are without the
    start of its process: that of the first run of a studio takes far longer than those of others.
    """

    words: str = ""
    checking: bool = False
    find: FindAccuracy | None = None
    seconds: float = 0.0
    errors: StatedErrors | None = None

    def content(self) -> dict[str, Any]:
        return {"words": self.words, "checking": self.checking, "can_check": self.find is not None}

    def take(self, found: Accuracy) -> None:
        """Take what was found."""
        self.words = found.told(_as_field)
        self.errors = None if found.error is None else StatedErrors(found.error, found.errors)

    def look(self, asked: bool) -> None:
        """Make the check; one that was asked for is the last one. Raises whatever a run raises."""
        assert self.find is not None
        found = self.find(self.seconds, asked)
        self.take(found)
        if asked or found.method is not AccuracyMethod.NOT_CHECKED:
            self.find = None


def _as_field(name: str, value: str) -> str:
    """An option of the command line as the fields of the page are called."""
    return f"{name.replace('-', ' ')} {value}"
