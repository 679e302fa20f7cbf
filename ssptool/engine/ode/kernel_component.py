"""ODE beside co-simulation in the native kernel: the same as `OdeComponent`, stepped without Python in between."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.assembly.assembly import Assembly
from ssptool.engine.assembly.kernel_events import KernelEvents, as_stopped
from ssptool.engine.assembly.ode_instance import KernelOdeInstance
from ssptool.engine.failure import Failure, IntegrationStopped
from ssptool.engine.kernel.interface import Floats
from ssptool.engine.masters.protocols import SavedState, Updated
from ssptool.engine.ode.component import OdeExchange, Tally, exchange_calls
from ssptool.engine.ode.event_rows import (
    EventRow,
    EventRows,
    all_points,
    restore_contents,
    saved_component,
    saved_rows,
)
from ssptool.engine.ode.events import IntegrationState
from ssptool.engine.ode.kernel_integration import KernelIntegration
from ssptool.fmu.instance import FmiError

if TYPE_CHECKING:
    from ssptool.engine.kernel._kernel import NativeOdeComponent


class KernelOdeComponent:
    """See `OdeComponent`; the kernel of all components steps `instance`, which is this one."""

    def __init__(self, integration: KernelIntegration, assembly: Assembly, instance: KernelOdeInstance) -> None:
        assert isinstance(integration.system.events, KernelEvents)
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
        OdeExchange(self._exchange, self._system.kernel, self._outside).write_everything()

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
        """Of what the last call has ended with; raises what is not of a component."""
        try:
            with self._events.explained():
                self._core.rethrow()
        except (IntegrationStopped, FmiError) as error:
            return self._failure(error)

    def _failure(self, error: IntegrationStopped | FmiError) -> Failure:
        if isinstance(error, FmiError):
            error = self._system.refused(error, self._integration.time)
        return error.failure
