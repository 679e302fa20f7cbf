"""ODE stepped between communication points: alone, or beside co-simulation, where it can be set back; the latter is the
twin of core/ode_component.cpp.
"""

import contextlib
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.assembly.assembly import Assembly
from ssptool.engine.event_mode.iteration import SETTLED
from ssptool.engine.failure import Ending, Failure, IntegrationStopped
from ssptool.engine.kernel.interface import FLOAT, Floats, Kernel, copy_slots
from ssptool.engine.kernel.ode import Effort, OdeExchangeCalls
from ssptool.engine.masters.master import CLOSE, StepBatch, tolerance_of_times
from ssptool.engine.masters.protocols import SavedState, Updated, part_of, under
from ssptool.engine.ode.event_rows import EventRow, EventRows, all_points, restore_contents, saved_component, saved_rows
from ssptool.engine.ode.events import IntegrationState, Updates
from ssptool.engine.ode.integration import Integration, OdeStatistics
from ssptool.engine.ode.kernel_integration import KernelIntegration
from ssptool.engine.ode.system import OdeInputPolynomials, SavedFmuStates, saves_state
from ssptool.engine.planning.interval import Interval
from ssptool.engine.planning.plan import Plan
from ssptool.engine.time_grid import grid_time
from ssptool.fmu.instance import FmiError

AnyIntegration = Integration | KernelIntegration


@dataclass(slots=True)
class Tally:
    """Counts of an integration that are not reported yet."""

    integration: AnyIntegration
    told: OdeStatistics = field(default_factory=lambda: OdeStatistics(0, Effort()))

    def new_counts(self) -> tuple[int, int]:
        """Events, and evaluations of f."""
        before, self.told = self.told, self.integration.statistics
        return self.told.events - before.events, self.told.effort.evaluations - before.effort.evaluations


def exchange_calls(plan: Plan) -> OdeExchangeCalls:
    """What the ODE of a plan exchanges with other components."""
    assert plan.ode is not None
    inputs, numbered = list(plan.ode.inputs), set(plan.numbered)
    received = [slot for one in plan.integrated for slot in one.input_slots]
    outputs = (slot for one in plan.integrated for slot in one.output_slots)
    return OdeExchangeCalls(
        moving=[plan.types[slot] == FLOAT for slot in inputs],
        nominal=np.array(plan.nominal)[inputs],
        received=received,
        shown=[*received, *outputs, *plan.ode_event_slots],
        event_signals=plan.ode_event_slots,
        event_sources=plan.ode_event_sources,
        contents=plan.numbered,
        content_columns=[place for place, slot in enumerate(plan.recorded, start=1) if slot in numbered],
        start=plan.interval.start,
        macro_step=plan.interval.step,
        hands_over=plan.event_modes.with_ode,
    )


class OdeExchange:
    """Exchange between the kernel of the ODE, `inside`, and that of all components, `outside`."""

    def __init__(self, calls: OdeExchangeCalls, inside: Kernel, outside: Kernel) -> None:
        self._inside, self._outside = inside, outside
        self._numbered = frozenset(calls.contents)
        self._at_events = np.array(calls.event_signals, dtype=np.intp)
        self._everything = np.array(calls.shown, dtype=np.intp)
        self._sources = np.array(calls.event_sources, dtype=np.intp)
        self._inputs = np.array(calls.received, dtype=np.intp)
        self._columns = calls.content_columns

    @property
    def takes_event_signals(self) -> bool:
        """True if signals from outside the ODE are exchanged at events."""
        return bool(self._sources.size)

    def read_event_signals(self) -> None:
        """Copy signals that are exchanged at events from outside to inside."""
        self._copy(self._outside, self._inside, self._sources)

    def read_inputs(self) -> None:
        """Copy all continuous inputs from outside to inside."""
        self._inside.values[self._inputs] = self._outside.values[self._inputs]

    def write_event_signals(self) -> None:
        """Publish the discrete signals of the ODE's components; the kernel outside gets their continuous outputs
        itself.
        """
        self._copy(self._inside, self._outside, self._at_events)

    def write_everything(self) -> None:
        self._copy(self._inside, self._outside, self._everything)

    def renumbered(self, row: Floats) -> Floats:
        """A row (1 + recorded,) from inside as it is outside."""
        if self._columns:
            cells = row.view(np.int64)
            for place in self._columns:
                cells[place] = self._outside.number(self._inside.content(int(cells[place])))
        return row

    def _copy(self, source: Kernel, destination: Kernel, slots: "np.ndarray[tuple[int], np.dtype[np.intp]]") -> None:
        if slots.size:
            copy_slots(source, destination, slots, self._numbered.intersection(slots.tolist()))


@dataclass(slots=True)
class Snapshot:
    """A position, and the states of the components, which are kept before the first event after it only."""

    position: IntegrationState
    inputs: OdeInputPolynomials | None
    signs: Floats
    end: float
    states: SavedFmuStates | None = None


class OdeComponent:
    """`step`, `save`, `restore` and `free`, for a kernel; the rows of events, for the trace.

    `assembly` is that of all components, whose kernel says how inputs run; the integration has a kernel of its own.
    Where its events are those of the whole system, a step ends at each, and `enter`, `update` and `leave` are how it
    goes through them with all others.
    """

    def __init__(self, integration: Integration, assembly: Assembly) -> None:
        ode = assembly.plan.ode
        assert ode is not None
        self.integration = integration
        self._system = integration.system
        self._assembly, self._kernel = assembly, assembly.kernel
        able = {index: saves_state(assembly.plan, index) for index in ode.instances}
        self._able = tuple(assembly.instances[index] for index, can in able.items() if can)
        self._unable = tuple(assembly.instances[index] for index, can in able.items() if not can)
        self._inputs = np.array(ode.inputs, dtype=np.intp)
        calls = exchange_calls(assembly.plan)
        self._exchange = OdeExchange(calls, integration.system.kernel, assembly.kernel)
        self._nominal, self._moving = calls.nominal, np.array(calls.moving, dtype=bool)
        self._event_rows = EventRows(assembly.plan)
        self._snapshots: dict[int, Snapshot] = {}
        self._numbers = count(1)
        self._events: deque[EventRow] = deque()
        self._signs: Floats = np.empty(0)  # indicators at the end of the last step
        self._end = calls.start  # of that step; an event there leaves the integration a little before
        self._tally = Tally(integration)
        self._failure: Failure | None = None
        self._updates = Updates(integration.system)
        self._macro_step = calls.macro_step
        integration.hands_over = calls.hands_over
        integration.before_event = self._keep_states

    # -- what a kernel asks for -----------------------------------------------------------------------------------

    def begin(self) -> None:
        """Go from initialized components to the first instant of continuous time; a failure ends the first step.

        Where events are those of the whole system, that is what the first one leads to.
        """
        integration = self.integration
        if integration.hands_over:
            return
        try:
            integration.begin()
            # Events at the start come before the first row, which is made afterwards.
            integration.cross_at_start()
            integration.rows.clear()
            self._signs = integration.indicators()
        except IntegrationStopped as stopped:
            self._failure = stopped.failure
        except FmiError as error:
            self._failure = self._system.refused(error, integration.time).failure
        self._exchange.write_everything()

    def step(self, t: float, h: float) -> float | None:
        """Integrate from t to t + h [s], or to the time returned if an event is due; may raise `IntegrationStopped`."""
        if self._failure is not None:
            raise IntegrationStopped(self._failure)
        try:
            self._integrate(t, h)
        except FmiError as error:
            raise self._system.refused(error, self.integration.time) from None
        return min(self.integration.time, t + h) if self.integration.due else None

    def save(self, number: int) -> int:
        """Remember where it is, in place of what had this number (0: none); returns its number."""
        self.free(number)
        number = number or next(self._numbers)
        position = self.integration.position(self.integration.time)
        self._snapshots[number] = Snapshot(position, self._system.input_polynomials, self._signs, self._end)
        return number

    def restore(self, number: int) -> None:
        """Restore a saved position. Raises `IntegrationStopped`."""
        snapshot = self._snapshots[number]
        try:
            if snapshot.states is not None:
                snapshot.states.go_back()
        except FmiError as error:
            raise self._system.refused(error, snapshot.position.t) from None
        self._system.input_polynomials, self._signs, self._end = snapshot.inputs, snapshot.signs, snapshot.end
        self.integration.go_to(snapshot.position)
        self.integration.rows.clear()  # of a step that failed
        self._exchange.write_event_signals()
        while self._events and self._events[-1].end > snapshot.end:
            self._events.pop()

    def free(self, number: int) -> None:
        """Forget what has this number, if anything has."""
        snapshot = self._snapshots.pop(number, None)
        if snapshot is not None and snapshot.states is not None:
            shared = any(other.states is snapshot.states for other in self._snapshots.values())
            if not shared:
                snapshot.states.drop()

    # -- what a master asks for ------------------------------------------------------------------------------------

    def with_event_rows(self, before: Floats, rows: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        return self._event_rows.woven(before, rows, self._take_row) if self._events else (rows, all_points(rows))

    def remarks(self) -> Iterator[str]:
        return self._event_rows.remarks()

    def show_end(self, t: float) -> None:
        """Make outputs consistent at t [s], where a component has ended the simulation, and visible outside."""
        self._system.settle(t)
        self._exchange.write_everything()

    def _take_row(self, until: float) -> Floats | None:
        return self._events.popleft().row if self._events and self._events[0].end <= until else None

    def intervene(self, action: Callable[[], None]) -> Failure | None:
        """Let something be done to the components; what follows from it is in their outputs."""

        def act() -> None:
            action()
            self._exchange.read_inputs()
            self._exchange.read_event_signals()

        try:
            self.integration.intervene(act)
            self._signs = self.integration.indicators()
        except IntegrationStopped as stopped:
            return stopped.failure
        except FmiError as error:
            return self._system.refused(error, self.integration.time).failure
        self._exchange.write_event_signals()
        return None

    # -- in events of the whole system -----------------------------------------------------------------------------

    @property
    def next_time(self) -> float:
        return self.integration.next_time

    @property
    def _close(self) -> float:
        return tolerance_of_times(self.integration.time, self._macro_step)

    def enter(self) -> None:
        self.integration.enter(self._close)
        self._updates = Updates(self._system)

    def update(self, t: float) -> list[Updated]:
        return self._updates.update(t)

    def leave(self, *, changed: bool, first: bool) -> bool:
        t = self.integration.time
        self._exchange.read_inputs()
        if self._inputs.size:
            held = np.zeros(self._inputs.size)
            self._system.input_polynomials = OdeInputPolynomials(t, self._kernel.values[self._inputs], held, held)
        seen = self.integration.leave(self._updates.outcome(t, self._close, changed=changed), first=first)
        self._signs = self.integration.indicators()
        return seen

    # ---------------------------------------------------------------------------------------------------------------

    @property
    def takes_event_signals(self) -> bool:
        return self._exchange.takes_event_signals

    def event_pending(self) -> bool:
        if not self._exchange.takes_event_signals or self._failure is not None:
            return False
        self._exchange.read_event_signals()
        return self._system.events.pending()

    def new_counts(self) -> tuple[int, int]:
        return self._tally.new_counts()

    def save_state(self) -> SavedState:
        position = self.integration.position(self.integration.time)
        self.integration.start_over(position)
        return saved_component(self._system, position, self._signs, self._end, self._events)

    def restore_state(self, state: SavedState) -> None:
        restore_contents(self._system.kernel, state)
        self.integration.go_to(IntegrationState.restored(state))
        self._tally = Tally(self.integration, self.integration.statistics)
        self._signs, self._end = state["signs"], float(state["end"])
        self._events = deque(saved_rows(state))

    # ---------------------------------------------------------------------------------------------------------------

    def _integrate(self, t: float, h: float) -> None:
        integration, end = self.integration, t + h
        before, input_polynomials = self._system.input_polynomials, self._input_polynomials(t)
        if input_polynomials is not None:
            self._system.input_polynomials = input_polynomials
            if before is None or integration.time != t or not self._continues(before.at(t), input_polynomials.value):
                # A crossing that an event a moment after t has handled must not count again.
                ahead = t < integration.time <= t + self._close
                integration.restart(integration.time if ahead else t, self._signs)
        while not integration.due and not integration.advance(end, end):
            pass
        if not integration.due:
            integration.rows.pop()  # the communication point's is made when all components are there
        self._events.extend(EventRow(end, self._exchange.renumbered(row)) for row in integration.rows)
        integration.rows.clear()
        self._signs, self._end = integration.indicators(), end
        self._exchange.write_event_signals()

    def _continues(self, before: Floats, after: Floats) -> bool:
        """True if inputs do not jump, up to rounding, so that the integrator need not restart."""
        return bool(np.all(np.abs(after - before) <= SETTLED * np.maximum(np.abs(before), self._nominal)))

    def _input_polynomials(self, t: float) -> OdeInputPolynomials | None:
        """Polynomials of the inputs over the macro step from t; None without inputs."""
        if not self._inputs.size:
            return None
        # Only inputs of type Float64 have polynomials; all others are held.
        value, rates = self._kernel.input_value[self._inputs], self._kernel.input_rates[:, self._inputs]
        if not self._moving.all():
            value = np.where(self._moving, value, self._kernel.values[self._inputs])
            rates *= self._moving
        return OdeInputPolynomials(t, value, rates[0], rates[1])

    def _keep_states(self) -> None:
        """Events change what is not in a position; so states are kept for all those positions that have none."""
        bare = [snapshot for snapshot in self._snapshots.values() if snapshot.states is None]
        if bare:
            states = SavedFmuStates.of(self._able, self._unable, self.integration.time)
            for snapshot in bare:
                snapshot.states = states


class OdeAlone:
    """Steps an integration to the end of the run. What has gone wrong before comes out of the first `run`.

    Attributes
    ----------
    limit : [s]
        No row is made beyond; there is one at it.
    """

    def __init__(self, integration: AnyIntegration, interval: Interval) -> None:
        self.integration = integration
        self._interval = interval
        self._tally = Tally(integration)
        self.limit = interval.stop
        self._point = 1  # the next communication point
        self._at_point = True  # the last row that was made is that of a communication point
        self._reached = interval.start  # by rows that were handed out
        self._last = np.full(integration.system.width, interval.start)  # of these
        self._failure: Failure | None = None

    def begin(self) -> None:
        """Go from initialized components to the first instant of continuous time."""
        start = self._interval.start
        try:
            self.integration.begin()
        except IntegrationStopped as stopped:
            self._failure = stopped.failure
        except FmiError as error:
            self._failure = self.integration.system.refused(error, start).failure
        else:
            self._last = self.integration.system.row(start)  # the first point of the history

    def run(self, _first: int, rows: Floats) -> StepBatch:
        waiting, filled = self.integration.rows, 0
        points = np.zeros(len(rows), dtype=bool)
        while filled < len(rows) and self._produce():
            rows[filled] = self._last = waiting.popleft()
            points[filled] = self._at_point and not waiting
            self._reached = float(rows[filled, 0])
            filled += 1
        finished = self._point > self._interval.steps and not waiting
        failure = None if waiting else self._failure
        events, evaluations = self._tally.new_counts()
        return StepBatch(
            filled,
            failure,
            finished=finished,
            events=events,
            evaluations=evaluations,
            points=points[:filled],
            waiting=bool(waiting),
        )

    def _produce(self) -> bool:
        """Go on until there is a row to hand out; False at the end of the run and after a failure."""
        integration = self.integration
        try:
            if self._point == 1 and self._failure is None:
                integration.cross_at_start()
            while not integration.rows and self._failure is None and not self._stands:
                point, limited = self._next_end()
                self._at_point = integration.advance(point, self._interval.stop)
                self._point += self._at_point and not limited
        except IntegrationStopped as stopped:
            self._failure = stopped.failure
            self._end_there()
        except FmiError as error:
            self._failure = integration.system.refused(error, integration.time).failure
        return bool(integration.rows)

    @property
    def _stands(self) -> bool:
        """True at the end of the run, and at the limit."""
        at_limit = self._at_point and self._reached >= self.limit - CLOSE * self._interval.step
        return self._point > self._interval.steps or at_limit

    def _next_end(self) -> tuple[float, bool]:
        """The next communication point [s], or the limit if that comes before; and whether it does."""
        point = min(grid_time(self._interval.start, self._interval.step, self._point), self._interval.stop)
        limited = self.limit < point - CLOSE * self._interval.step
        return (self.limit if limited else point), limited

    def restart(self) -> None:
        """Nothing: `intervene` restarts the integrator."""

    def _end_there(self) -> None:
        """A row where a component has ended the simulation, after its last event, which need be at no point."""
        integration, failure = self.integration, self._failure
        if failure is None or failure.ending is not Ending.TERMINATED or failure.time > self._interval.stop:
            return
        if integration.rows:
            self._last = integration.rows[-1]
        since, t = float(self._last[0]), failure.time
        t = since if abs(t - since) <= CLOSE * self._interval.step else t
        with contextlib.suppress(IntegrationStopped, FmiError):  # the end itself is well without it
            integration.system.settle(failure.time)
            row = integration.system.row(t)
            if t >= since and row.tobytes() != self._last.tobytes():
                integration.rows.append(row)

    def intervene(self, action: Callable[[], None]) -> Failure | None:
        """Let something be done to the components, at the communication point that was reached."""
        integration = self.integration
        try:
            integration.go_to(integration.position(self._reached))
            integration.intervene(action)
        except IntegrationStopped as stopped:
            return stopped.failure
        except FmiError as error:
            return integration.system.refused(error, self._reached).failure
        return None

    def save_state(self) -> SavedState:
        stimuli = self.integration.system.stimuli
        position = self.integration.position(self._reached)
        self.integration.start_over(position)
        return {
            "point": np.array([self._point, self._at_point]),
            **({} if stimuli is None else {"stretch": np.array(stimuli.segment)}),
            **under("position", position.save_state()),
        }

    def restore_state(self, state: SavedState) -> None:
        self._point, self._at_point = state["point"].tolist()
        if self.integration.system.stimuli is not None:
            self.integration.system.stimuli.go_to(int(state["stretch"]))
        position = IntegrationState.restored(part_of(state, "position"))
        self._reached = position.t
        self.integration.go_to(position)
        self._tally = Tally(self.integration, self.integration.statistics)
