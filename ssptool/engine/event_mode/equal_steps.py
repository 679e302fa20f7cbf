"""Macro steps from point to point of a grid, cut where events are."""

from ssptool.engine.ending import Ending, Failure
from ssptool.engine.kernel.interface import Floats
from ssptool.engine.masters.eventful import following
from ssptool.engine.masters.gauss_seidel import GaussSeidel
from ssptool.engine.masters.iterated import Iterated
from ssptool.engine.masters.iterated_natively import ProgrammedIteration
from ssptool.engine.masters.jacobi import Jacobi
from ssptool.engine.masters.master import CLOSE, Coupled, OneStepper, Stretch
from ssptool.engine.masters.partners import Events
from ssptool.engine.masters.program import Program

MAX_RETURNS = 100
"""So often may one macro step turn out to end earlier than the time it was cut to."""


class EqualSteps:
    """As many at once as there are until the next event, as far as it is known; else one by one.

    Attributes
    ----------
    waiting
        Rows that are not handed out yet: none.
    """

    waiting = False

    def __init__(self, base: Jacobi | GaussSeidel | Iterated, system: Coupled, events: Events) -> None:
        self.base, self.system, self.events = base, system, events
        self.programmed = base.start(system)  # of many steps at once; `stepper` is of one step of any size
        self.stepper: OneStepper = self.programmed if system.drive is None else following(self.programmed, system)

    def next(self, t: float, limit: float, rows: Floats) -> Stretch:
        """From t to some next points, none of them after `limit` [s], until when nothing is known to happen."""
        system, number = self.system, self.system.passed(t)
        together = not system.stepwise and t == system.time(number) and self._runs
        count = min(system.whole_steps(number, limit), len(rows)) if together else 0
        if not count:
            return self._step(t, limit, rows[0])
        self.events.before_steps()
        stretch = self.programmed.run(number, rows[:count])
        if not stretch.interrupted:
            return stretch
        done = stretch.steps
        last = self._begun(float(rows[done - 1, 0]) if done else t, limit, rows[done])
        return Stretch(done + last.steps, last.failure, (*stretch.iterations, *last.iterations))

    @property
    def _runs(self) -> bool:
        """Whether the kernel can be left alone with many steps."""
        stepper = self.programmed
        if self.events.samples:
            return False
        if isinstance(stepper, ProgrammedIteration):
            return self.events.goes_back and not stepper.iteration.is_cautious
        return isinstance(stepper, Program)

    def _begun(self, t: float, limit: float, row: Floats) -> Stretch:
        """The step in which a component has returned early: anew, or the rest of it where no other has to go back."""
        system = self.system
        system.kernel.take_back()
        if not self.events.goes_back:
            return self._step(t, limit, row, begun=True)
        outcome = system.kernel.restore(system.everything.group)
        return self._step(t, limit, row) if outcome.ok else Stretch(0, system.explain(outcome, t))

    def _step(self, t: float, limit: float, row: Floats, *, begun: bool = False) -> Stretch:
        """To the next communication point, or the event before it: one row, or none where the event is at t already.

        `begun`: it has been tried already, and a component has returned before its end.
        """
        h, end = self.system.next_step(t, limit)
        values = self.system.kernel.values
        before = values.copy()
        failure = None if begun else self.events.before_step(t)
        for _ in range(MAX_RETURNS):
            if failure is not None:
                return Stretch(0, failure)
            outcome = self.stepper.step(t, h, end) if end > t and not begun else 0
            begun = False
            early = self.events.early(end)
            if early is None:
                return self._arrive(t, outcome, end, row)
            # What a step that was too long came to, and be it a failure, does not count.
            end = early if early - t > CLOSE * self.system.step else t
            h = end - t
            values[:] = before
            everybody = not isinstance(self.base, Jacobi)
            failure = self.events.go_back(t, end, all_of_them=everybody and end > t)
        return Stretch(0, no_progress(t, end))

    def _arrive(self, t: float, outcome: int | Failure, end: float, row: Floats) -> Stretch:
        if isinstance(outcome, Failure):
            return Stretch(0, outcome)
        if end == t:
            return Stretch(0)  # an event where the step began: its left side is recorded
        self.system.finish_at(end, row)
        return Stretch(1, None, (outcome,))


def no_progress(t: float, end: float) -> Failure:
    """A macro step from t that shrinks and shrinks."""
    return Failure(
        Ending.EVENTS,
        f"a macro step has no end: after {MAX_RETURNS} attempts components still return before t = {end!r} s",
        "look for events that depend on how long a step is",
        t,
    )
