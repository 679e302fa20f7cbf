"""What there is to say of an algebraic loop that was solved, or was not."""

from collections.abc import Mapping
from typing import Any

from ssptool.dataclass import dataclass
from ssptool.engine.ending import Ending, Failure
from ssptool.engine.few import few
from ssptool.engine.loops.solution import Solution
from ssptool.network.dependencies import Stage
from ssptool.network.signals import Signal

_SHOWN = 12
"""Signals of a loop that a message shows; of more unknowns those with the largest residuals."""


@dataclass(frozen=True, slots=True)
class LoopReport:
    """How one algebraic loop was solved.

    `torn` are its unknowns, in the order of `solution.x`; `cause` says what stood in the way, if that is known: which
    component could not be evaluated, in which direction nothing changes, which bounds were reached.
    """

    stage: Stage
    time: float
    signals: tuple[Signal, ...]
    torn: tuple[Signal, ...]
    solution: Solution
    cause: str = ""

    @property
    def ok(self) -> bool:
        return self.solution.converged

    @property
    def residuals(self) -> Mapping[Signal, float]:
        """g(x) − x of each unknown, in its unit."""
        return dict(zip(self.torn, self.solution.residual.tolist(), strict=True))

    @property
    def values(self) -> Mapping[Signal, float]:
        """The best point found."""
        return dict(zip(self.torn, self.solution.x.tolist(), strict=True))

    def facts(self) -> dict[str, Any]:
        """What there is to say of it in JSON."""
        return {
            "stage": self.stage,
            "signals": list(map(str, self.signals)),
            "torn": list(map(str, self.torn)),
            "solver": self.solution.solver,
            "status": self.solution.status,
            "iterations": self.solution.iterations,
            "residual_norm": self.solution.residual_norm,
        }

    def failure(self) -> Failure:
        """For a report that is not `ok`."""
        solution = self.solution
        cause = f"; {self.cause}" if self.cause else ""
        residuals, values, shown = self.residuals, self.values, list(self.torn)
        if len(shown) > _SHOWN:
            shown.sort(key=lambda signal: -abs(residuals[signal]))
        best = "; best point: " if shown else ""
        points = few((f"{s} = {values[s]:.6g} (residual {residuals[s]:.3g})" for s in shown), _SHOWN)
        count = f"{solution.iterations} iteration{'s' * (solution.iterations != 1)}"
        return Failure(
            Ending.LOOP,
            f"the algebraic loop {{{few(self.signals, _SHOWN)}}} was not solved by {solution.solver}: "
            f"{solution.status} after {count}{cause}{best}{points}",
            solution.status.advice,
            self.time,
        )


@dataclass(slots=True)
class LoopWork:
    """How often solutions of loops were looked for, and the iterations of that."""

    solved: int = 0
    iterations: int = 0
