"""Signals of loops that grow by orders of magnitude and are not resolved by the steps: a coupling that blows up."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ssptool.engine.failure import Ending, Failure
from ssptool.engine.kernel.calls import FLOAT, Floats
from ssptool.engine.kernel.solutions import StepBatch
from ssptool.engine.planning.plan import Plan
from ssptool.engine.run.accuracy import Accuracy

if TYPE_CHECKING:
    from ssptool.engine.kernel._kernel import NativeKernel

GROWN = 1e12
"""Growth over the start or nominal value (the larger one) from which on a signal is examined."""

AGAIN = 1e3
"""Further growth after which a resolved signal is examined again."""

MOST_ROWS, FEWEST_ROWS = 24, 8
"""Number of rows up to the growth that are examined."""

ROUGH = 0.5
"""Typical distance of a value from the line through the last two, relative to the largest of the three, from which on a
signal is not resolved: an exponential that grows to 3.4 times its value in one step, or 9 steps per period. Inputs that
are held or follow a polynomial are then wrong by about as much as they change.
"""

UNSTABLE_HERE = "with these steps, the coupling is unstable"


class UnresolvedGrowth:
    """Examination of the rows of a run. Growth alone is legitimate: the system itself may be unstable.

    The kernel ends batches of steps at rows that must be examined, so that no step is done after a failure.
    """

    def __init__(self, plan: Plan, kernel: "NativeKernel") -> None:
        """The kernel has the start values."""
        loops = {slot for group in plan.groups for slot in group.unknowns}
        continuous = {slot for one in plan.instances for _, slot in one.moving}
        fed = {wire.source for wire in plan.wires if wire.destination in loops & continuous}
        places = [place for place, slot in enumerate(plan.recorded) if slot in fed and plan.types[slot] == FLOAT]
        self._names = [str(plan.signals[plan.recorded[place]]) for place in places]
        self._cells = [0, *(1 + place for place in places)]
        slots = [plan.recorded[place] for place in places]
        self._limits = GROWN * np.maximum(np.abs(kernel.values[slots]), np.abs([plan.nominal[slot] for slot in slots]))
        self._rows = np.empty((0, len(self._cells)))
        self._resolved: dict[str, float] = {}
        self._kernel = kernel
        self._watch()

    def _watch(self) -> None:
        self._kernel.watch(self._cells[1:], self._limits.tolist())

    def judged(self, batch: StepBatch, rows: Floats) -> StepBatch:
        """The batch, which has filled the first `rows`; up to the first growth that is not resolved, with a failure."""
        if not self._names or not batch.steps:
            return batch
        # The kernel ends a batch with the step that exceeds a limit, so earlier rows are within all of them.
        first = max(batch.steps - 2 * MOST_ROWS, 0)
        new = rows[first : batch.steps, self._cells]
        before = self._rows[self._rows[:, 0] <= new[0, 0]]  # later ones were taken back
        own = np.concatenate((before, new))
        self._rows = own[-MOST_ROWS:]
        with np.errstate(all="ignore"):
            over = np.flatnonzero((np.abs(new[:, 1:]) > self._limits).any(axis=0))
            found = [(row, place) for place in over.tolist() if (row := self._first(own, place)) is not None]
        if len(over):
            self._watch()
        if not found:
            return batch
        row, place = min(found)
        steps = min(max(first + row - len(before) + 1, 1), batch.steps)
        grown = f"{self._names[place]} has grown to {own[row, 1 + place]:.2g} and changes in each step by as much"
        return batch.up_to(steps, unstable(f"{grown}: {UNSTABLE_HERE}", float(own[row, 0])))

    def _first(self, rows: Floats, place: int) -> int | None:
        """The first row up to which a signal has grown without being resolved; None if there is none."""
        t, values = rows[:, 0], rows[:, 1 + place]
        while len(beyond := np.flatnonzero(np.abs(values) > self._limits[place])):
            row = max(int(beyond[0]), FEWEST_ROWS - 1)
            if row >= len(rows):
                return None
            part = slice(max(row + 1 - MOST_ROWS, 0), row + 1)
            if is_rough(t[part], values[part]):
                return row
            self._limits[place] = AGAIN * np.abs(values[row])
            self._resolved[self._names[place]] = float(values[row])
        return None

    def remarks(self) -> Iterator[str]:
        """Remarks on signals that have grown although the steps resolve them; only finer runs show what is right."""
        for name, value in self._resolved.items():
            yield f"{name} has grown to {value:.2g}: unless the system itself grows so far, {UNSTABLE_HERE}"


def unstable(what: str, time: float) -> Failure:
    """Failure of a run that blows up from a time [s] on."""
    advice = "use FMUs that save their state, --adaptive 1e-3, or a smaller --step-size (--accuracy 1e-3 looks for one)"
    return Failure(Ending.UNSTABLE, what, advice, time)


def blown_up(accuracy: Accuracy) -> Failure | None:
    """Failure of a run that has blown up according to its accuracy; None if it has not."""
    return unstable(accuracy.remark, accuracy.time or 0.0) if accuracy.blown_up else None


def is_rough(t: Floats, values: Floats) -> bool:
    """True if values (n,) at times (n,) [s] are typically far from the line through the two before. Rows at one time
    are not compared.
    """
    scaled = values / np.abs(values).max()
    slopes = np.diff(scaled) / np.diff(t)
    apart = np.abs((slopes[1:] - slopes[:-1]) * np.diff(t)[1:])
    size = np.abs(scaled)
    apart /= np.maximum(np.maximum(size[:-2], size[1:-1]), size[2:])
    known = apart[np.isfinite(apart)]
    return len(known) > 0 and bool(np.median(known) > ROUGH)
