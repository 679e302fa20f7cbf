"""A master whose macro steps end where an event happens in a component, or a clock ticks."""

from collections.abc import Sequence

import numpy as np

from ssptool.dataclass import dataclass
from ssptool.engine.event_mode.adaptive_steps import AdaptiveSteps
from ssptool.engine.event_mode.equal_steps import EqualSteps
from ssptool.engine.event_mode.planned import EventModes
from ssptool.engine.kernel.interface import Floats
from ssptool.engine.masters.adaptive import Adaptive
from ssptool.engine.masters.energy import EnergyControlled
from ssptool.engine.masters.gauss_seidel import GaussSeidel
from ssptool.engine.masters.iterated import Iterated
from ssptool.engine.masters.jacobi import Jacobi
from ssptool.engine.masters.master import CLOSE, Coupled, Master, Participants, Remembering, Stepper, Stretch
from ssptool.engine.masters.partners import Events, Memory, part_of, under
from ssptool.engine.stimuli.findings import BadInputs


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

    base: Jacobi | GaussSeidel | Iterated | Adaptive | EnergyControlled
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
    assert events and isinstance(master, Jacobi | GaussSeidel | Iterated | Adaptive | EnergyControlled)
    return WithEvents(master, events.with_ode)


class _Stretches:
    """Step after step and event after event, row by row."""

    def __init__(self, master: WithEvents, system: Coupled) -> None:
        assert system.events is not None
        self.system = system
        self.events: Events = system.events
        self.steps: EqualSteps | AdaptiveSteps
        if isinstance(master.base, Adaptive | EnergyControlled):
            self.steps = AdaptiveSteps(master.base, system, self.events)
        else:
            self.steps = EqualSteps(master.base, system, self.events)
        self.t = system.start
        self.failure = self.events.failure

    @property
    def finished(self) -> bool:
        return not self.steps.waiting and self.t >= self.system.stop - self._close and not self._event_due

    @property
    def _close(self) -> float:
        return CLOSE * self.system.step

    @property
    def _jump_due(self) -> bool:
        return self.system.drive is not None and self.t >= self.system.drive.end - self._close

    @property
    def _event_due(self) -> bool:
        known = self.events.wanted or self._jump_due or self.t >= self.events.next_time - self._close
        return known or (self.events.samples and self.events.pending)

    @property
    def _limit(self) -> float:
        """Until when nothing is known to happen [s]."""
        limit = min(self.events.next_time, self.system.stop)
        return limit if self.system.drive is None else min(limit, self.system.drive.end)

    def run(self, first: int, rows: Floats) -> Stretch:
        filled = events = rejected = 0
        iterations: list[int] = []
        while filled < len(rows) and self.failure is None and not self.finished:
            try:
                if self._event_due and not self.steps.waiting:
                    done = self._event(rows[filled])
                    events += done
                else:
                    stretch = self.steps.next(self.t, self._limit, rows[filled:])
                    self.failure, done = stretch.failure, stretch.steps
                    iterations += stretch.iterations
                    rejected += stretch.rejected
            except BadInputs as error:
                self.failure = error.failure(self.t)
                break
            filled += done
            if done:
                self.t = float(rows[filled - 1, 0])
        return Stretch(filled, self.failure, tuple(iterations), rejected, finished=self.finished, events=events)

    def memory(self) -> Memory:
        own = {"t": np.array(self.t), **under("events", self.events.memory())}
        if self.system.drive is not None:
            own["stretch"] = np.array(self.system.drive.stretch)
        stepper = self.steps.stepper
        return {**own, **(under("base", stepper.memory()) if isinstance(stepper, Remembering) else {})}

    def recall(self, memory: Memory) -> None:
        self.t = float(memory["t"])
        self.events.recall(part_of(memory, "events"))
        if self.system.drive is not None:
            self.system.drive.go_to(int(memory["stretch"]))
        if isinstance(self.steps.stepper, Remembering):
            self.steps.stepper.recall(part_of(memory, "base"))

    def _event(self, row: Floats) -> int:
        """To the other side of the present instant; how many rows are filled."""
        self.failure = self.events.handle(self.system, self.t, jump=self._jump_due)
        if self.failure is not None or not self.events.seen:
            return 0
        self.system.record(self.t, row)
        return 1
