"""Accuracy of runs of the studio, from finer runs after the end of a run. The results of the run are already shown
during the check.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ssptool.arguments import WantedAccuracy
from ssptool.engine.planning.plan import Plan
from ssptool.engine.run.accuracy import Accuracy, AccuracyMethod, StatedErrors
from ssptool.engine.run.accuracy_check import AccuracyCheck, Examined, unrepeatable
from ssptool.engine.run.refinement import AUTO_SECONDS, CarryOut
from ssptool.engine.trace import Trace

CANCELLED = "not checked; the check was cancelled"

FindAccuracy = Callable[[float, bool], Accuracy]
"""Function that finds the accuracy of a completed run of this duration [s]. True: the user requested it, so it may take
any time.
"""


@dataclass(frozen=True, slots=True)
class LaterCheck(AccuracyCheck):
    """Check after the run: `ready` has it when the run has ended, unless the run cannot be repeated.

    The check of a short run is always complete, because nobody waits for it; most of its time is the start of
    processes.
    """

    ready: list[FindAccuracy] = field(default_factory=list)

    def examined(
        self, plan: Plan, trace: Trace | None, seconds: float, carry_out: CarryOut, left: Callable[[], float]
    ) -> Examined:
        if reason := unrepeatable(plan):
            return Examined(Accuracy(remark=reason))

        def found(own: float, asked: bool) -> Accuracy:
            return AccuracyCheck(self.replan, asked or 2 * own <= AUTO_SECONDS).of(plan, trace, own, carry_out, left)

        self.ready.append(found)
        return Examined(Accuracy())


def check_of(wanted: WantedAccuracy, replan: Callable[..., Plan]) -> AccuracyCheck:
    """The check of a run: after it, or before it if an accuracy is requested, which determines the step."""
    if isinstance(wanted, float):
        return AccuracyCheck(replan, asked=True, wanted=wanted)
    return LaterCheck(replan)


@dataclass
class RunAccuracy:
    """The accuracy of one run, as a page shows it.

    `find` does the check, while it is possible; `errors` are drawn as bands. The `seconds` of the run do not include
    the start of its process, which takes far longer for the first run of a studio.
    """

    words: str = ""
    checking: bool = False
    find: FindAccuracy | None = None
    seconds: float = 0.0
    errors: StatedErrors | None = None

    def content(self) -> dict[str, Any]:
        return {"words": self.words, "checking": self.checking, "can_check": self.find is not None}

    def take(self, found: Accuracy) -> None:
        """Store an accuracy."""
        self.words = found.told(_as_field)
        self.errors = None if found.error is None else StatedErrors(found.error, found.errors)

    def look(self, asked: bool) -> None:
        """Do the check; after a requested check there is no other one. Raises the errors of a run."""
        assert self.find is not None
        found = self.find(self.seconds, asked)
        self.take(found)
        if asked or found.method is not AccuracyMethod.NOT_CHECKED:
            self.find = None


def _as_field(name: str, value: str) -> str:
    """A command-line option, named as in the fields of the page."""
    return f"{name.replace('-', ' ')} {value}"
