"""Adaptive macro steps: each is done once whole and once in two halves, and their difference decides."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ssptool.engine.failure import Ending, Failure
from ssptool.engine.kernel.interface import Floats
from ssptool.engine.masters.jumps import MasterWithInputSources
from ssptool.engine.masters.master import CoupledSystem, CouplingMaster, SavableStepper, StepBatch, nothing
from ssptool.engine.masters.protocols import Participants, SavedState, part_of, under

_RECOVERABLE = (Ending.COUPLING, Ending.LOOP, Ending.NONFINITE)
"""Ways to fail that a smaller step may avoid."""


@dataclass(frozen=True, slots=True)
class Adaptive:
    """Macro steps of a size at which the estimated error of each is within `tolerance` · max(|y|, nominal), in every
    signal.

    From a saved state two steps of size h are compared with one of 2 h: for a master of order p the difference is
    2^p − 1 times the error of the former, which are kept. Both their ends are communication points of the trace.

    References
    ----------
    Schierz, Arnold, Clauß 2012, "Co-simulation with communication step size control in an FMI compatible master
    algorithm"; Hairer, Nørsett, Wanner 1993, "Solving ordinary differential equations I", §II.4 (the controller).
    """

    base: CouplingMaster
    tolerance: float = 1e-4
    safety: float = 0.9
    least_factor: float = 0.2
    largest_factor: float = 2.0
    smallest: float = 1e-9

    @property
    def name(self) -> str:
        return f"{self.base.name}, adaptive steps"

    @property
    def chooses_steps(self) -> bool:
        return True

    def driven(self, after: Callable[[float], None] = nothing) -> "Adaptive":
        return replace(self, base=MasterWithInputSources(self.base, after))

    def start(self, system: CoupledSystem) -> "Pairs":
        return Pairs(self, system)

    def outline(self, groups: Sequence[Participants]) -> tuple[str, ...]:
        return (
            "save all states",
            "one step of twice the size:",
            *(f"  {line}" for line in self.base.outline(groups)),
            "restore all states; the same in two steps",
            f"if they differ by more than {self.tolerance:g} allows, restore and try smaller steps",
        )


class Pairs:
    """Two steps at a time; components are only ever at the end of the second one when `run` returns.

    Attributes
    ----------
    limit : [s]
        No step goes beyond.
    """

    def __init__(self, master: Adaptive, system: CoupledSystem) -> None:
        if system.checkpoint is None:
            raise ValueError("adaptive steps need a checkpoint of all instances")
        self.master = master
        self.system = system
        self.checkpoint = system.checkpoint
        self.stepper = master.base.start(system)
        self.values = system.kernel.values
        self.t, self.h, self.limit = system.start, system.step, system.stop
        self.rows: deque[Floats] = deque()
        self.counts: list[int] = []
        self.rejected = 0

    @property
    def finished(self) -> bool:
        return not self.rows and self.t >= self.system.stop

    def restart(self) -> None:
        self.h = self.system.step

    def save_state(self) -> SavedState:
        if not isinstance(self.stepper, SavableStepper):
            raise TypeError(f"{self.master.base.name} does not remember")
        return {"times": np.array([self.t, self.h]), **under("base", self.stepper.save_state())}

    def restore_state(self, state: SavedState) -> None:
        self.t, self.h = state["times"].tolist()
        if isinstance(self.stepper, SavableStepper):
            self.stepper.restore_state(part_of(state, "base"))

    @np.errstate(over="ignore", invalid="ignore")  # steps that run away are taken back
    def run(self, first: int, rows: Floats) -> StepBatch:
        self.counts, self.rejected = [], 0
        filled = 0
        while filled < len(rows) and (self.rows or self.t < self.limit):
            if not self.rows and (failure := self._pair()):
                return StepBatch(filled, failure, tuple(self.counts), self.rejected)
            rows[filled] = self.rows.popleft()
            filled += 1
        counts = tuple(self.counts)
        return StepBatch(filled, None, counts, self.rejected, self.finished, waiting=bool(self.rows))

    def _pair(self) -> Failure | None:
        """Two steps of a size at which they are exact enough."""
        before = self.values.copy()
        if failure := self.checkpoint.save(self.t):
            return failure
        smallest = self.master.smallest * (self.system.stop - self.system.start)
        while True:
            h = self._fitting()
            error = self._try(h, before)
            if isinstance(error, Failure) and error.ending not in _RECOVERABLE and not error.recoverable:
                return error
            if not isinstance(error, Failure) and error <= 1.0:
                self._grow(h, error)
                return None
            self.rejected += 1
            self.h = h * (self.master.least_factor if isinstance(error, Failure) else self._factor(error))
            if self.h < smallest:
                return self._too_small(error)
            if failure := self._back(before):
                return failure

    def _try(self, h: float, before: Floats) -> float | Failure:
        """The error of two steps of size h from t, 1 being what is allowed; they are final if it is not above 1."""
        t, middle = self.t, self.t + h
        end = t + 2 * h if 2 * h < self.limit - t else self.limit
        whole = self.stepper.step(t, end - t, end)
        if isinstance(whole, Failure):
            return whole
        self.system.kernel.exchange(self.system.everything.group)
        coarse = self.values.copy()
        if failure := self._back(before):
            return failure
        counts = [self.stepper.step(t, middle - t, middle)]
        row = np.empty(1 + len(self.system.recorded))
        if not isinstance(counts[0], Failure):
            self.system.finish_at(middle, row)
            counts.append(self.stepper.step(middle, end - middle, end))
        if isinstance(counts[-1], Failure):
            return counts[-1]
        self.system.kernel.exchange(self.system.everything.group)
        error = self._error(coarse)
        if error <= 1.0:
            last = np.empty_like(row)
            self.system.finish_at(end, last)
            self.rows.extend((row, last))
            self.counts += [count for count in counts if not isinstance(count, Failure)]
            self.t = end
        return error

    def _error(self, coarse: Floats) -> float:
        fine, nominal, order = self.values, self.system.nominal, self.master.base.inputs.order_of_accuracy
        if (reals := self.system.reals) is not None:
            # The bits of an integer need not be those of a number.
            fine, coarse, nominal = fine[reals], coarse[reals], nominal[reals]
        allowed = self.master.tolerance * np.maximum(np.abs(fine), nominal)
        return float(np.max(np.abs(fine - coarse) / allowed, initial=0.0) / (2**order - 1))

    def _grow(self, h: float, error: float) -> None:
        """After steps of size h. What was only cut does not say that the size that was chosen is too large."""
        chosen = h * self._factor(error)
        self.h = max(chosen, self.h) if h < self.h else chosen

    def _factor(self, error: float) -> float:
        if error <= 0:
            return self.master.largest_factor
        if np.isnan(error):
            return self.master.least_factor
        best = self.master.safety * error ** (-1 / (self.master.base.inputs.order_of_accuracy + 1))
        return float(np.clip(best, self.master.least_factor, self.master.largest_factor))

    def _fitting(self) -> float:
        """h, or what makes the last pairs end at the limit."""
        left = self.limit - self.t
        if left <= 2.02 * self.h:
            return left / 2
        return left / 4 if left < 4 * self.h else self.h

    def _back(self, before: Floats) -> Failure | None:
        """Go back to the communication point t."""
        failure = self.checkpoint.restore(self.t)
        self.values[:] = before
        self.system.kernel.accept(self.t)
        return failure

    def _too_small(self, error: float | Failure) -> Failure:
        why = error.message if isinstance(error, Failure) else f"its error is still {error:.2g} times the tolerance"
        return Failure(
            Ending.STEP,
            f"the macro step would have to be smaller than {self.h:.2g} s: {why}",
            "look for a signal that jumps, loosen the tolerance of the adaptive steps, or use fixed ones",
            self.t,
            iteration=error.iteration if isinstance(error, Failure) else None,
        )
