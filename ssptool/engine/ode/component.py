"""ODE stepped between communication points: alone, or beside co-simulation, where it can be set back."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.assembly.assembly import Assembly
from ssptool.engine.assembly.ode_instance import OdeInstance
from ssptool.engine.assembly.running_events import as_stopped
from ssptool.engine.failure import Ending, Failure, IntegrationStopped
from ssptool.engine.kernel.interface import FLOAT, Floats, copy_slots
from ssptool.engine.kernel.ode import Effort, OdeExchangeCalls
from ssptool.engine.masters.master import CLOSE, StepBatch
from ssptool.engine.masters.protocols import SavedState, Updated, part_of, under
from ssptool.engine.ode.event_rows import EventRow, EventRows, all_points, restore_contents, saved_component, saved_rows
from ssptool.engine.ode.integration import Integration, OdeStatistics
from ssptool.engine.ode.integration_state import IntegrationState
from ssptool.engine.planning.interval import Interval
from ssptool.engine.planning.plan import Plan
from ssptool.engine.time_grid import grid_time
from ssptool.fmu.instance import FmiError

if TYPE_CHECKING:
    from ssptool.engine.kernel._kernel import NativeOdeComponent


@dataclass(slots=True)
class Tally:
    """Counts of an integration that are not reported yet."""

    integration: Integration
    told: OdeStatistics = field(default_factory=lambda: OdeStatistics(0, Effort()))

    def new_counts(self) -> tuple[int, int]:
        """Events, and evaluations of f."""
        before, self.told = self.told, self.integration.statistics
        return self.told.events - before.events, self.told.effort.evaluations - before.effort.evaluations


def exchange_calls(plan: Plan) -> OdeExchangeCalls:
    """Exchange of the ODE of a plan with other components."""
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


class OdeComponent:
    """ODE beside components of co-simulation, which the kernel of all components steps as `instance`; the integration
    has a kernel of its own.

    Where its events are those of the whole system, a step ends at each, and `enter`, `update` and `leave` are how it
    goes through them with all others.
    """

    def __init__(self, integration: Integration, assembly: Assembly, instance: OdeInstance) -> None:
        self._integration, self._system = integration, integration.system
        self._events = integration.system.events
        self._core: NativeOdeComponent = instance.core
        self._exchange, self._outside = exchange_calls(assembly.plan), assembly.kernel
        self._core.attach(integration.core, self._exchange)
        instance.explanation = self._explanation
        self._event_rows = EventRows(assembly.plan)
        self._tally = Tally(integration)

    def begin(self) -> None:
        try:
            with self._events.explained():
                self._core.begin()
        except (IntegrationStopped, FmiError) as error:
            self._core.refuse_steps(as_stopped(self._failure(error)))

    def with_event_rows(self, before: Floats, rows: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        return self._event_rows.woven(before, rows, self._take_row) if self._core.has_rows else (rows, all_points(rows))

    def remarks(self) -> Iterator[str]:
        return self._event_rows.remarks()

    def show_end(self, t: float) -> None:
        """Make outputs consistent at t [s], where a component has ended the simulation, and visible outside."""
        self._system.settle(t)
        shown = np.array(self._exchange.shown, dtype=np.intp)
        copy_slots(self._system.kernel, self._outside, shown, set(self._exchange.contents).intersection(shown.tolist()))

    def _take_row(self, until: float) -> Floats | None:
        found = self._core.take_row(until)
        return None if found is None else found[1]

    def intervene(self, action: Callable[[], None]) -> Failure | None:
        try:
            with self._events.explained():
                self._core.intervene(action)
        except (IntegrationStopped, FmiError) as error:
            return self._failure(error)
        return None

    @property
    def next_time(self) -> float:
        return self._core.next_time

    def enter(self) -> None:
        with self._events.explained():
            self._core.enter()

    def update(self, t: float) -> list[Updated]:
        with self._events.explained():
            return [Updated(name, again) for name, again in self._core.update(t)]

    def leave(self, *, changed: bool, first: bool) -> bool:
        with self._events.explained():
            return self._core.leave(changed, first)

    @property
    def takes_event_signals(self) -> bool:
        return self._core.takes_event_signals

    def event_pending(self) -> bool:
        return self._core.event_pending()

    def new_counts(self) -> tuple[int, int]:
        return self._tally.new_counts()

    def save_state(self) -> SavedState:
        position = self._integration.position(self._integration.time)
        self._integration.start_over(position)
        rows = (EventRow(end, row) for end, row in self._core.rows())
        return saved_component(self._system, position, self._core.signs, self._core.end, rows)

    def restore_state(self, state: SavedState) -> None:
        restore_contents(self._system.kernel, state)
        self._integration.go_to(IntegrationState.restored(state))
        self._tally = Tally(self._integration, self._integration.statistics)
        self._core.go_on_from(state["signs"], float(state["end"]), saved_rows(state))

    def _explanation(self) -> Failure:
        """Explanation of the end of the last call; raises errors that are not of a component."""
        try:
            with self._events.explained():
                self._core.rethrow()
        except (IntegrationStopped, FmiError) as error:
            return self._failure(error)

    def _failure(self, error: IntegrationStopped | FmiError) -> Failure:
        if isinstance(error, FmiError):
            error = self._system.refused(error, self._integration.time)
        return error.failure


class OdeAlone:
    """Steps an integration to the end of the run. What has gone wrong before comes out of the first `run`.

    Attributes
    ----------
    limit : [s]
        No row is made beyond; there is one at it.
    """

    def __init__(self, integration: Integration, interval: Interval) -> None:
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
