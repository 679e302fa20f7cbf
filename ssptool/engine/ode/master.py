"""Master of an ODE beside co-simulation, and the start of integration."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.assembly.assembly import Assembly
from ssptool.engine.assembly.ode_instance import OdeInstance
from ssptool.engine.event_mode.iteration import MAX_ITERATIONS, endless
from ssptool.engine.failure import Failure
from ssptool.engine.kernel.interface import Floats, copy_slots
from ssptool.engine.masters.jumps import start_limited
from ssptool.engine.masters.master import CoupledSystem, LimitedStepper, Master, SavableStepper, StepBatch, Stepper
from ssptool.engine.masters.protocols import Participants, SavedState, SteppedOde, StimuliProtocol, part_of, under
from ssptool.engine.ode.component import OdeAlone, OdeComponent
from ssptool.engine.ode.integration import Integration
from ssptool.engine.ode.integrator import Integrator
from ssptool.engine.ode.system import OdeSchedules, OdeSystem


@dataclass(frozen=True, slots=True)
class OdeInCoSimulation:
    """`base` couples; to it the ODE of all components of model exchange is one more component of co-simulation.

    To that it adds rows: each event inside a macro step has one for its left and one for its right side. There the
    signals of the ODE are those that it had, and outputs of all others those of the communication point before. Where
    signals of others that the ODE takes at events only change at a communication point, there is an event too. Where
    events of the ODE are those of the whole system, macro steps end at them, and `base` makes their rows.
    """

    base: Master
    integrator: Integrator

    @property
    def name(self) -> str:
        return self.base.name

    @property
    def chooses_steps(self) -> bool:
        return True

    def start(self, system: CoupledSystem) -> Stepper:
        if system.ode is None:
            raise ValueError("there are no components of model exchange in this system")
        return _WithEvents(start_limited(self.base, system), system, system.ode)

    def outline(self, groups: Sequence[Participants]) -> tuple[str, ...]:
        return (*self.base.outline(groups), *self.integrator.as_component())


def _nothing() -> None:
    pass


class Row(NamedTuple):
    """Time and signals, at a communication point or on a side of an event."""

    cells: Floats
    point: bool


class RecordedSystem(Protocol):
    """A system whose rows can be made; times in s."""

    @property
    def start(self) -> float: ...

    @property
    def stop(self) -> float: ...

    @property
    def width(self) -> int:
        """Length of a row."""
        ...

    @property
    def macro_steps(self) -> int: ...

    def record(self, time: float, row: Floats) -> None: ...


class EventfulOde(Protocol):
    """As `SteppedOde` has them."""

    @property
    def takes_event_signals(self) -> bool: ...

    def event_pending(self) -> bool: ...

    def with_event_rows(self, before: Floats, rows: Floats) -> tuple[Floats, NDArray[np.bool_]]: ...

    def new_counts(self) -> tuple[int, int]: ...


class StepsWithOde(ABC):
    """Puts rows of events between those of communication points.

    Attributes
    ----------
    limit : [s]
        No step goes beyond.
    """

    def __init__(self, base: LimitedStepper, system: RecordedSystem, ode: EventfulOde) -> None:
        self.base, self.ode = base, ode
        self._record = system.record
        self.rows: deque[Row] = deque()  # not handed out yet
        self.last = np.empty(system.width)
        system.record(system.start, self.last)
        self.failure: Failure | None = None
        self.done = system.macro_steps == 0
        self.waiting = False  # the next row of the base is made already
        self.limit = system.stop

    @abstractmethod
    def event(self, t: float) -> Failure | None:
        """An event of the ODE at t [s], and what follows from it outside."""

    def run(self, _first: int, rows: Floats) -> StepBatch:
        points = np.zeros(len(rows), dtype=bool)
        filled = self._hand_out(rows, points)
        iterations: tuple[int, ...] = ()
        rejected = events = 0
        while filled < len(rows) and not self.finished and self.failure is None:
            if not self.waiting and self.ode.event_pending():
                filled += self._react(rows[filled], points[filled : filled + 1])
                continue
            count = 1 if self.ode.takes_event_signals else len(rows) - filled
            self.base.limit = self.limit
            # Write rows to their final place if there are no events, so that each step is visible at once.
            batch = self.base.run(0, rows[filled : filled + count])
            iterations += batch.iterations
            rejected += batch.rejected
            events += batch.events
            filled = self._take(batch, rows, points, filled)
            if not batch.steps and not self.done:
                break  # at the limit
        failure = None if self.rows else self.failure
        own, evaluations = self.ode.new_counts()
        waiting = self.waiting or bool(self.rows)
        return StepBatch(
            filled,
            failure,
            iterations,
            rejected,
            finished=self.finished and not waiting,
            events=events + own,
            evaluations=evaluations,
            points=points[:filled],
            waiting=waiting,
        )

    def restart(self) -> None:
        self.base.restart()
        self._record(float(self.last[0]), self.last)

    @property
    def finished(self) -> bool:
        """True if all rows are delivered and no event is due."""
        return self.done and not self.waiting and not self.ode.event_pending()

    def _react(self, row: Floats, point: NDArray[np.bool_]) -> int:
        """Handle an event at the communication point reached, since signals of others that the ODE takes at events only
        have changed. Returns the number of rows filled.
        """
        t = float(self.last[0])
        for _ in range(MAX_ITERATIONS):
            self.failure = self.event(t)
            if self.failure is not None:
                return 0
            if not self.ode.event_pending():
                self._record(t, row)
                point[:] = True
                self.last = row.copy()
                return 1
        self.failure = endless(t, (), ())
        return 0

    def _take(self, batch: StepBatch, rows: Floats, points: NDArray[np.bool_], filled: int) -> int:
        """Put rows of events between those of a segment; what finds no room waits. Returns how many are filled now."""
        self.failure, self.waiting = batch.failure, batch.waiting
        self.done = batch.finished
        if not batch.steps:
            return filled
        found = rows[filled : filled + batch.steps]
        woven, are_points = self.ode.with_event_rows(self.last, found)
        self.last = found[-1].copy()
        room = min(len(woven), len(rows) - filled)
        self.rows.extend(map(Row, woven[room:], are_points[room:].tolist()))
        rows[filled : filled + room] = woven[:room]
        points[filled : filled + room] = are_points[:room]
        return filled + room

    def _hand_out(self, rows: Floats, points: NDArray[np.bool_]) -> int:
        filled = 0
        while filled < len(rows) and self.rows:
            row = self.rows.popleft()
            rows[filled], points[filled] = row.cells, row.point
            filled += 1
        return filled


class _WithEvents(StepsWithOde):
    """Steps of a coupled system with an ODE."""

    def __init__(self, base: LimitedStepper, system: CoupledSystem, ode: SteppedOde) -> None:
        super().__init__(base, system, ode)
        self._system, self._stepped = system, ode

    def event(self, t: float) -> Failure | None:
        if self._system.events is not None:
            return self._system.events.intervene(self._system, t, _nothing)
        return self._stepped.intervene(_nothing) or self._system.settle(t)

    def save_state(self) -> SavedState:
        if not isinstance(self.base, SavableStepper):
            raise TypeError("this master does not remember")
        return {
            "last": self.last,
            **under("base", self.base.save_state()),
            **under("ode", self._stepped.save_state()),
        }

    def restore_state(self, state: SavedState) -> None:
        self.last = state["last"]
        if isinstance(self.base, SavableStepper):
            self.base.restore_state(part_of(state, "base"))
        self.done = self.base.run(0, np.empty((0, len(self.last)))).finished
        self._stepped.restore_state(part_of(state, "ode"))


Evaluate = Callable[[int, float], Failure | None]


def begin_alone(assembly: Assembly, schedules: OdeSchedules, evaluate: Evaluate, *, afresh: bool) -> OdeAlone:
    """A system that is nothing but an ODE, at the first instant of continuous time; or if it does not start `afresh`,
    before it recalls where it was.
    """
    integration = _integration(assembly, schedules, evaluate, assembly.applied_stimuli)
    alone = OdeAlone(integration, assembly.plan.interval)
    if afresh:
        alone.begin()
    return alone


def begin_beside(assembly: Assembly, schedules: OdeSchedules, evaluate: Evaluate, *, afresh: bool) -> OdeComponent:
    """An ODE beside components of co-simulation, likewise; `schedules` and `evaluate` belong to its own kernel."""
    plan, own = assembly.plan, assembly.of_ode.kernel
    copy_slots(assembly.kernel, own, np.arange(len(own.values)), plan.numbered)
    integration = _integration(assembly.of_ode, schedules, evaluate)
    assert isinstance(assembly.ode, OdeInstance)
    component = OdeComponent(integration, assembly, assembly.ode)
    if afresh:
        component.begin()
    return component


def _integration(
    assembly: Assembly, schedules: OdeSchedules, evaluate: Evaluate, stimuli: StimuliProtocol | None = None
) -> Integration:
    plan, master = assembly.plan, assembly.plan.master
    integrator = master.integrator if isinstance(master, OdeInCoSimulation) else master
    assert plan.ode is not None and isinstance(integrator, Integrator)
    everyone = assembly.kernel.group(range(len(plan.instances)))
    system = OdeSystem(assembly, plan.ode, schedules, everyone, evaluate, stimuli)
    integration = Integration(system, plan, integrator)
    # Not at the end of the run, where a simulation can still be saved and its inputs set.
    assembly.at_end.callback(integration.close)
    return integration
