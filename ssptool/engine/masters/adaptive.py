"""Adaptive macro steps: each is done once whole and once in two halves, and their difference decides."""

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ssptool.engine.failure import Ending, Failure
from ssptool.engine.kernel.interface import Floats
from ssptool.engine.masters.comparison import StepComparison
from ssptool.engine.masters.jumps import MasterWithInputSources
from ssptool.engine.masters.master import CoupledSystem, CouplingMaster, SavableStepper, StepBatch, nothing
from ssptool.engine.masters.protocols import Participants, SavedState, part_of, under

_RECOVERABLE = (Ending.COUPLING, Ending.LOOP, Ending.NONFINITE)
"""Ways to fail that a smaller step may avoid."""


@dataclass(frozen=True, slots=True)
class Adaptive:
    """Macro steps of a size at which the estimated error of each is within `tolerance` · (size of the signal), in every
    real signal, and at which signals of other types do not change, except in steps that are short.

    From a saved state two steps of size h are compared with one of 2 h: for a master of order p the difference is
    2^p − 1 times the error of the former, which are kept. Both their ends are communication points of the trace.

    A pair of steps in which a Boolean, an integer, an enumeration or a text changes, or right after which it does,
    is halved until it is not longer than `tolerance` times the pair in which the change was first seen: the time of the
    change is then as exact as the signals are between changes.

    `largest` is the size that no step exceeds [s].

    References
    ----------
    Schierz, Arnold, Clauß 2012, "Co-simulation with communication step size control in an FMI compatible master
    algorithm"; Hairer, Nørsett, Wanner 1993, "Solving ordinary differential equations I", §II.4 (the controller).
    """

    base: CouplingMaster
    tolerance: float = 1e-4
    largest: float = math.inf
    safety: float = 0.9
    least_factor: float = 0.2
    largest_factor: float = 2.0
    smallest: float = 1e-12

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
            f"if they differ by more than {self.tolerance:g} allows, or a signal that is not a real number changes, "
            "restore and try smaller steps",
        )


class _Tried(NamedTuple):
    """Two steps of size h that lead to `end` [s], with their error (1: what is allowed), the slot of a signal that has
    changed although it is not a real number, the rows of both and their iterations; `middle` are the values after the
    first one, `coarse` those that one step of twice the size gives.
    """

    h: float
    end: float
    error: float
    switch: int | None
    middle: Floats
    coarse: Floats
    rows: tuple[Floats, Floats]
    counts: tuple[int, int]

    @property
    def exact(self) -> bool:
        return self.error <= 1.0


_ISOLATED = 3
"""Pairs of the smallest size in a row that may have too large an error, because a real signal jumps in them."""

_MANY_SWITCHES = 100.0
_FORGOTTEN = 0.25
"""A run ends after so many changes in short pairs, less this for each pair without one."""


class Pairs:
    """Two steps at a time; components are only ever at the end of the second one when `run` returns.

    Attributes
    ----------
    limit : [s]
        No step goes beyond.
    """

    def __init__(self, master: Adaptive, system: CoupledSystem) -> None:
        if system.checkpoint is None or system.second_checkpoint is None:
            raise ValueError("adaptive steps need checkpoints of all instances")
        self.master = master
        self.system = system
        self.checkpoint, self.ahead = system.checkpoint, system.second_checkpoint
        self.stepper = master.base.start(system)
        self.values = system.kernel.values
        self.comparison = StepComparison(system, master.tolerance, master.base.inputs.order_of_accuracy)
        self.t, self.limit = system.start, system.stop
        ulps = 8 * math.ulp(max(abs(system.start), abs(system.stop)))
        self.smallest = max(master.smallest * (system.stop - system.start), ulps)
        self.rows: deque[Floats] = deque()
        self.counts: list[int] = []
        self.rejected = 0
        self.jumps = 0  # pairs of the smallest size in a row whose error was too large
        self.switches = 0.0  # lately, in short pairs
        self.restart()

    @property
    def finished(self) -> bool:
        return not self.rows and self.t >= self.system.stop

    def restart(self) -> None:
        self.h = min(self.system.step, self.master.largest)
        self.usual = 0.0  # size of the latest steps without a switch, but for some small ones [s]
        self.first, self.until = (
            0.0,
            -math.inf,
        )  # while a switch is located: `usual` then, and an end before which it is
        self.past: list[tuple[float, Floats]] = []  # the latest points that a step back must recall

    def save_state(self) -> SavedState:
        if not isinstance(self.stepper, SavableStepper):
            raise TypeError(f"{self.master.base.name} does not remember")
        return {
            "times": np.array([self.t, self.h, self.usual, self.first, self.until]),
            "switches": np.array([self.switches, self.jumps]),
            "sizes": self.comparison.sizes,
            "past": np.array([[time, *values] for time, values in self.past]).reshape(-1, 1 + len(self.values)),
            **under("base", self.stepper.save_state()),
        }

    def restore_state(self, state: SavedState) -> None:
        self.t, self.h, self.usual, self.first, self.until = state["times"].tolist()
        self.switches, self.jumps = float(state["switches"][0]), int(state["switches"][1])
        self.comparison.sizes = state["sizes"]
        self.past = [(float(row[0]), row[1:].copy()) for row in state["past"]]
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
        if self.past and (self.past[-1][0] != self.t or not _same(self.past[-1][1], before)):
            self.past = []  # of before an event
        self.past = [*self.past[-3:-1], (self.t, before)]
        if failure := self.checkpoint.save(self.t):
            return failure
        while True:
            tried = self._try(self._fitting(), before)
            if isinstance(tried, Failure):
                if not a_smaller_step_may_do(tried):
                    return tried
                self.h *= self.master.least_factor
                if self.h < self.smallest:
                    return too_small(self.smallest, tried.message, self.t, tried)
            else:
                unlocated = self._unlocated_switch(tried)
                if isinstance(unlocated, Failure):
                    return unlocated
                factor = 0.5 if unlocated else self._factor(tried.error)
                if (tried.exact and not unlocated) or tried.h * factor < self.smallest:
                    return self._accept(tried, factor)
                self.h = tried.h * factor
            self.rejected += 1
            if failure := self._back():
                return failure

    def _try(self, h: float, before: Floats) -> _Tried | Failure:
        """Two steps of size h from t, accepted by the kernel only."""
        t, middle = self.t, self.t + h
        end = t + 2 * h if 2 * h < self.limit - t else self.limit
        whole = self.stepper.step(t, end - t, end)
        if isinstance(whole, Failure):
            return whole
        self.system.kernel.exchange(self.system.everything.group)
        coarse = self.values.copy()
        if failure := self._back():
            return failure
        rows = np.empty((2, 1 + len(self.system.recorded)))
        counts: list[int] = []
        instants = [before, coarse]
        for (since, until), row in zip(((t, middle), (middle, end)), rows, strict=True):
            count = self.stepper.step(since, until - since, until)
            if isinstance(count, Failure):
                return count
            self.system.finish_at(until, row)
            counts.append(count)
            instants.append(self.values.copy())
        error, switch = self.comparison.error(self.values, coarse), self.comparison.changed(*instants)
        return _Tried(h, end, error, switch, instants[2], coarse, (rows[0], rows[1]), (counts[0], counts[1]))

    def _unlocated_switch(self, tried: _Tried) -> bool | Failure:
        """True if a signal that is not a real number changes in these steps or right after them, and they are longer
        than that allows.
        """
        usual = self.first or max(tried.h, self.usual)
        short = max(self.master.tolerance * usual, 4 * self.smallest)
        switch = tried.switch
        if switch is None and tried.exact and 2 * tried.h > short:
            found = self._switch_ahead(tried.end, short)
            if isinstance(found, Failure):
                return found
            switch = found
        if switch is None:
            return False
        self.first, self.until = usual, tried.end
        return 2 * tried.h > short or not tried.exact

    def _factor(self, error: float) -> float:
        master = self.master
        if error <= 0:
            return master.largest_factor
        if np.isnan(error):
            return master.least_factor
        best = master.safety * error ** (-1 / (master.base.inputs.order_of_accuracy + 1))
        return float(np.clip(best, master.least_factor, master.largest_factor))

    def _switch_ahead(self, end: float, size: float) -> int | Failure | None:
        """The slot of a signal that a step of this size [s] from the end of a pair changes, although it is not a real
        number: it was the pair that led to that, as where a threshold was crossed in it.
        """
        stop = self.system.stop if self.system.stimuli is None else min(self.system.stop, self.system.stimuli.end)
        if not len(self.comparison.discrete) or self.system.events is not None or end + size > stop:
            return None
        if failure := self.ahead.save(end):
            return failure
        before = self.values.copy()
        outcome = self.stepper.step(end, size, end + size)
        self.system.kernel.exchange(self.system.everything.group)
        switch = None if isinstance(outcome, Failure) else self.comparison.changed(before, self.values)
        failure = self.ahead.restore(end)
        self.values[:] = before
        return failure or switch

    def _accept(self, tried: _Tried, factor: float) -> Failure | None:
        if failure := self._hopeless(tried):
            return failure
        self.comparison.accept(self.values)
        self.rows.extend(tried.rows)
        self.counts += tried.counts
        self.past += [(float(tried.rows[0][0]), tried.middle), (tried.end, self.values.copy())]
        self.t = tried.end
        if tried.switch is not None or self.t >= self.until:
            self.first = 0.0
        if tried.switch is None and not self.first:
            self.usual = max(tried.h, self.usual / 2)
        # Steps that were only cut do not say that the chosen size is too large.
        chosen = max(tried.h * factor, self.h) if tried.h < self.h else tried.h * factor
        self.h = max(min(chosen, self.h if self.first else self.master.largest), self.smallest)
        return None

    def _hopeless(self, tried: _Tried) -> Failure | None:
        """Failure if signals jump or switch again and again, however small steps are."""
        self.switches = max(self.switches + (1.0 if tried.switch is not None else -_FORGOTTEN), 0.0)
        if tried.switch is not None and self.switches > _MANY_SWITCHES:
            return always_switching(self.system.name_of(tried.switch), 2 * tried.h, self.t)
        self.jumps = 0 if tried.exact else self.jumps + 1
        if self.jumps:
            self.comparison.tolerate(self.values, tried.coarse)
        if self.jumps > _ISOLATED or np.isnan(tried.error):
            name = self.comparison.worst(self.values, tried.coarse)
            return too_inexact(self.smallest, name, tried.error, self.t)
        return None

    def _fitting(self) -> float:
        """h, or what makes the last pairs end at the limit."""
        left = self.limit - self.t
        if left <= 2.02 * self.h and left <= 2 * self.master.largest:
            return left / 2
        return left / 4 if left < 4 * self.h else self.h

    def _back(self) -> Failure | None:
        """Go back to the communication point t."""
        failure = self.checkpoint.restore(self.t)
        for time, values in self.past:
            self.values[:] = values
            self.system.kernel.accept(time)
        return failure


def a_smaller_step_may_do(failure: Failure) -> bool:
    """Whether a step that has failed like this may be avoided by a smaller one."""
    return failure.ending in _RECOVERABLE or failure.recoverable


def too_small(smallest: float, why: str, t: float, failure: Failure | None = None) -> Failure:
    """Failure at t of steps that are not smaller than this [s], in which there was that `failure`."""
    return Failure(
        Ending.STEP,
        f"the macro step would have to be smaller than {smallest:.2g} s: {why}",
        "look for a signal that jumps, loosen the tolerance of the adaptive steps, or use fixed ones",
        t,
        iteration=None if failure is None else failure.iteration,
    )


def too_inexact(smallest: float, name: str, error: float, t: float) -> Failure:
    """Failure at t of steps of the smallest size [s], because of the error of a signal; 1 is what is allowed."""
    return too_small(smallest, f"the error of {name} is still {error:.2g} times the tolerance", t)


def always_switching(name: str, size: float, t: float) -> Failure:
    """Failure at t of pairs of steps of this size [s], in which a signal changes too often."""
    return Failure(
        Ending.STEP,
        f"{name} changes again and again, however small the macro step is ({size:.2g} s for a pair of steps)",
        "its FMU counts or toggles at each step, or switches without hysteresis; use fixed steps (no adaptive)",
        t,
    )


def _same(one: Floats, other: Floats) -> bool:
    """True if all bits are the same."""
    return bool(np.array_equal(one.view(np.int64), other.view(np.int64)))
