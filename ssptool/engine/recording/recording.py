"""What is recorded of a run, and where."""

from collections.abc import Sequence
from pathlib import Path

from ssptool.dataclass import dataclass
from ssptool.engine.plan import Plan
from ssptool.engine.recording.thinning import All, Every, Grid, Thinning
from ssptool.engine.time_resolution import check_step


@dataclass(frozen=True, slots=True)
class Recording:
    """What is recorded of a run, and where.

    Attributes
    ----------
    output
        File that rows are written to as they come; CSV, Parquet or MAT by its ending.
    keep
        Keep the rows in memory, for `Result.trace`.
    signals
        Patterns of full names, such as "System1.*", of signals, variables of FMUs and connectors of nested systems;
        none: all signals that are exchanged.
    every
        Only each n-th row, and the last.
    output_step : [s]
        Only rows at this distance, and the last. Between communication points values are on straight lines, those of
        discrete signals held.
    """

    output: Path | None = None
    keep: bool = True
    signals: Sequence[str] = ()
    every: int = 1
    output_step: float | None = None

    def __post_init__(self) -> None:
        """A file may be given by its name."""
        if self.output is not None:
            object.__setattr__(self, "output", Path(self.output))

    def thinning(self, plan: Plan) -> Thinning:
        """Which rows are recorded.

        Raises
        ------
        ValueError
            A number is out of range.
        """
        if self.output_step is None:
            return All() if self.every == 1 else Every(self.every)
        if self.every != 1:
            raise ValueError("every n-th row and an output step exclude each other; found both")
        interval = plan.interval
        check_step("the output step", self.output_step, interval.start, interval.stop)
        return Grid(plan.interval.start, self.output_step, [column.held for column in plan.columns])

    def rows(self, plan: Plan) -> int:
        """How many rows are recorded, at most, of a run to the stop time, unless events or a master add some."""
        interval = plan.interval
        if self.output_step is None:
            return interval.steps // self.every + 2
        return int((interval.stop - interval.start) / self.output_step) + 2
