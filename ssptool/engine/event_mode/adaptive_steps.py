"""Macro steps of varying size that end where events are."""

from dataclasses import replace

from ssptool.engine.ending import Failure
from ssptool.engine.event_mode.equal_steps import MAX_RETURNS, no_progress
from ssptool.engine.kernel.interface import Floats
from ssptool.engine.masters.adaptive import Adaptive
from ssptool.engine.masters.energy import EnergyControlled
from ssptool.engine.masters.eventful import Following
from ssptool.engine.masters.master import CLOSE, Coupled, Stretch
from ssptool.engine.masters.partners import Events


class _ReturnedEarly(Exception):
    """In an attempt to step, a component has an event at `time` [s], before it is over."""

    def __init__(self, time: float) -> None:
        super().__init__(f"an event at t = {time!r} s")
        self.time = time


class AdaptiveSteps:
    """Steps as the master chooses them, none beyond the next event that is known.

    An attempt in which a component returns early, or asks for an event before its end, is taken back like one whose
    error is too large; the next ones end there.
    """

    def __init__(self, master: Adaptive | EnergyControlled, system: Coupled, events: Events) -> None:
        self.system, self.events = system, events
        if isinstance(master, Adaptive):
            master = replace(master, base=Following(master.base, self._look))
        self.stepper = master.start(system)

    @property
    def waiting(self) -> bool:
        """Rows are not handed out yet."""
        return self.stepper.waiting

    def next(self, t: float, limit: float, rows: Floats) -> Stretch:
        """From t to the next point, not after `limit` [s], until when nothing is known to happen."""
        stepper, values = self.stepper, self.system.kernel.values
        if self.waiting:
            return stepper.run(0, rows[:1])
        self.events.before_steps()
        before, rejected = values.copy(), 0
        for _ in range(MAX_RETURNS):
            stepper.limit = limit
            try:
                stretch = stepper.run(0, rows[:1])
            except _ReturnedEarly as early:
                limit, rejected = early.time if early.time - t > self._close else t, rejected + 1
                if failure := self._back(t, limit, before):
                    return Stretch(0, failure, rejected=rejected)
                if limit > t:
                    continue
                return Stretch(0, rejected=rejected)  # an event where the step began: its left side is recorded
            return stretch._replace(rejected=stretch.rejected + rejected)
        return Stretch(0, no_progress(t, limit), rejected=rejected)

    @property
    def _close(self) -> float:
        return CLOSE * self.system.step

    def _look(self, end: float) -> None:
        """After a step to `end` [s], maybe one of several."""
        early = self.events.early(end, goes_on=end < self.stepper.limit)
        if early is not None:
            raise _ReturnedEarly(early)

    def _back(self, t: float, limit: float, before: Floats) -> Failure | None:
        self.system.kernel.values[:] = before
        failure = self.events.go_back(t, limit, all_of_them=limit > t)
        self.system.kernel.accept(t)
        return failure
