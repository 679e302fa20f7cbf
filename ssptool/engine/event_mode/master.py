"""A master whose macro steps end where an event happens in a component, or a clock ticks."""

from collections.abc import Sequence

import numpy as np

from ssptool.dataclass import dataclass
from ssptool.engine.ending import Ending, Failure
from ssptool.engine.event_mode.planned import EventModes
from ssptool.engine.kernel.interface import Floats
from ssptool.engine.masters.eventful import following
from ssptool.engine.masters.gauss_seidel import GaussSeidel
from ssptool.engine.masters.iterated import Iterated
from ssptool.engine.masters.iterated_natively import ProgrammedIteration
from ssptool.engine.masters.jacobi import Jacobi
from ssptool.engine.masters.master import (
    CLOSE,
    Coupled,
    Events,
    Master,
    Memory,
    OneStepper,
    Participants,
    Remembering,
    Stepper,
    Stretch,
    part_of,
    under,
)
from ssptool.engine.masters.program import Program
from ssptool.engine.stimuli.findings import BadInputs

MAX_RETURNS = 100
"""So often may one macro step turn out to end earlier than the time it was cut to."""


@dataclass(frozen=True, slots=True)
class WithEvents:
    """The macro steps of another master, cut where a clock ticks, where a time event is due, where an input jumps, and
    where a component returns early: then all others go back and step to that time too, and the event is handled there,
    with one row for each side of it.

    If not all can go back, components may not return early, and what happens inside a macro step is handled at its end.
    `with_ode`: an ODE beside them is one of those that return early, at each of its events.

    References
    ----------
    FMI 3.0 §4.2.1 (early return, event mode of co-simulation).
    """

    base: Jacobi | GaussSeidel | Iterated
    with_ode: bool = False

    @property
    def name(self) -> str:
        return self.base.name

    @property
    def chooses_steps(self) -> bool:
        return True

    def start(self, system: Coupled) -> Stepper:
        return _Stretches(self, system)

    def outline(self, groups: Sequence[Participants]) -> tuple[str, ...]:
        who, together = ("a component or the ODE", ", with all components") if self.with_ode else ("a component", "")
        return (
            "the step ends at the next tick of a clock, time event or jump of an input",
            *self.base.outline(groups),
            f"where {who} returns early: all others go back and step to that time",
            f"at an event{together}: record, enter event mode, tick clocks, exchange and update discrete states until "
            "all settle, enter step mode, record again",
        )


def with_event_mode(master: Master, events: EventModes) -> Master:
    """The master for components in event mode."""
    assert events and isinstance(master, Jacobi | GaussSeidel | Iterated)
    return WithEvents(master, events.with_ode)


class _Stretches:
    """Step after step and event after event, row by row."""

    def __init__(self, master: WithEvents, system: Coupled) -> None:
        assert system.events is not None
        self.system = system
        self.events: Events = system.events
        self.base = master.base
        self.programmed = master.base.start(system)  # of many steps at once; `stepper` is of one step of any size
        self.stepper: OneStepper = self.programmed if system.drive is None else following(self.programmed, system)
        self.t = system.start
        self.failure = self.events.failure

    @property
    def finished(self) -> bool:
        return self.t >= self.system.stop - self._close and not self._event_due

    @property
    def _close(self) -> float:
        return CLOSE * self.system.step

    @property
    def _jump_due(self) -> bool:
        return self.system.drive is not None and self.t >= self.system.drive.end - self._close

    @property
    def _event_due(self) -> bool:
        return self.events.wanted or self._jump_due or self.t >= self.events.next_time - self._close

    def run(self, first: int, rows: Floats) -> Stretch:
        filled = events = 0
        iterations: list[int] = []
        while filled < len(rows) and self.failure is None and not self.finished:
            try:
                if self._event_due:
                    done = self._event(rows[filled])
                    events += done
                else:
                    done = self._steps(rows[filled:], iterations)
            except BadInputs as error:
                self.failure = error.failure(self.t)
                break
            filled += done
        return Stretch(filled, self.failure, tuple(iterations), finished=self.finished, events=events)

    def memory(self) -> Memory:
        own = {"t": np.array(self.t), **under("events", self.events.memory())}
        if self.system.drive is not None:
            own["stretch"] = np.array(self.system.drive.stretch)
        return {**own, **(under("base", self.stepper.memory()) if isinstance(self.stepper, Remembering) else {})}

    def recall(self, memory: Memory) -> None:
        self.t = float(memory["t"])
        self.events.recall(part_of(memory, "events"))
        if self.system.drive is not None:
            self.system.drive.go_to(int(memory["stretch"]))
        if isinstance(self.stepper, Remembering):
            self.stepper.recall(part_of(memory, "base"))

    # -- events --------------------------------------------------------------------------------------------------

    def _event(self, row: Floats) -> int:
        """To the other side of the present instant; how many rows are filled."""
        self.failure = self.events.handle(self.system, self.t, jump=self._jump_due)
        if self.failure is not None or not self.events.seen:
            return 0
        self._record(row)
        return 1

    def _record(self, row: Floats) -> None:
        row[0] = self.t
        row[1:] = self.system.kernel.values[self.system.recorded]

    # -- steps ---------------------------------------------------------------------------------------------------

    def _steps(self, rows: Floats, iterations: list[int]) -> int:
        """As many as there are until the next event, as far as it is known; how many rows are filled."""
        count = min(self._whole_steps(), len(rows))
        if not count:
            return self._step(rows[0], iterations)
        self.events.before_steps()
        stretch = self.programmed.run(self.system.passed(self.t), rows[:count])
        self.failure = stretch.failure
        iterations += stretch.iterations
        if stretch.steps:
            self.t = float(rows[stretch.steps - 1, 0])
        if not stretch.interrupted:
            return stretch.steps
        return stretch.steps + self._begun(rows[stretch.steps], iterations)

    def _whole_steps(self) -> int:
        """Macro steps that the kernel can do at once: between points of the grid, and before what is known to come."""
        system, number = self.system, self.system.passed(self.t)
        if system.stepwise or self.t != system.time(number) or not self._runs:
            return 0
        return system.whole_steps(number, self._limit)

    @property
    def _runs(self) -> bool:
        """Whether the kernel can be left alone with many steps."""
        stepper = self.programmed
        if isinstance(stepper, ProgrammedIteration):
            return self.events.goes_back and not stepper.iteration.is_cautious
        return isinstance(stepper, Program)

    def _begun(self, row: Floats, iterations: list[int]) -> int:
        """The step in which a component has returned early: anew, or the rest of it where no other has to go back."""
        system = self.system
        system.kernel.take_back()
        if not self.events.goes_back:
            return self._step(row, iterations, begun=True)
        outcome = system.kernel.restore(system.everything.group)
        if not outcome.ok:
            self.failure = system.explain(outcome, self.t)
            return 0
        return self._step(row, iterations)

    def _step(self, row: Floats, iterations: list[int], *, begun: bool = False) -> int:
        """To the next communication point, or the event before it; how many rows are filled.

        `begun`: it has been tried already, and a component has returned before its end.
        """
        t, (h, end) = self.t, self._aim()
        values = self.system.kernel.values
        before = values.copy()
        self.failure = None if begun else self.events.before_step(t)
        for _ in range(MAX_RETURNS):
            if self.failure is not None:
                return 0
            outcome = self.stepper.step(t, h, end) if end > t and not begun else 0
            begun = False
            early = self.events.early(end)
            if early is None:
                return self._arrive(outcome, end, row, iterations)
            # What a step that was too long came to, and be it a failure, does not count.
            end = early if early - t > self._close else t
            h = end - t
            values[:] = before
            everybody = not isinstance(self.base, Jacobi)
            self.failure = self.events.go_back(t, end, all_of_them=everybody and end > t)
        self.failure = _no_progress(t, end)
        return 0

    def _arrive(self, outcome: int | Failure, end: float, row: Floats, iterations: list[int]) -> int:
        if isinstance(outcome, Failure):
            self.failure = outcome
            return 0
        if end == self.t:
            return 0  # an event where the step began: its left side is recorded
        self.system.finish_at(end, row)
        self.t = end
        iterations.append(outcome)
        return 1

    def _aim(self) -> tuple[float, float]:
        """Size and end of the next step [s]: a point of the grid, or what comes before that."""
        return self.system.next_step(self.t, self._limit)

    @property
    def _limit(self) -> float:
        """Until when nothing is known to happen [s]."""
        limit = min(self.events.next_time, self.system.stop)
        return limit if self.system.drive is None else min(limit, self.system.drive.end)


def _no_progress(t: float, end: float) -> Failure:
    return Failure(
        Ending.EVENTS,
        f"a macro step has no end: after {MAX_RETURNS} attempts components still return before t = {end!r} s",
        "look for events that depend on how long a step is",
        t,
    )
