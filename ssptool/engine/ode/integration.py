"""Integration of an ODE from one time to another, through its events; the kernel does it (core/integration.cpp)."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ssptool.engine.assembly.running_events import as_stopped
from ssptool.engine.event_mode.iteration import Cause, EventHistory, ode_takes_samples
from ssptool.engine.failure import IntegrationStopped
from ssptool.engine.kernel import native_integration
from ssptool.engine.kernel.event_calls import Refused, Stopped
from ssptool.engine.kernel.interface import Floats, Outcome
from ssptool.engine.kernel.ode import CauseText, ContinuousCalls, Effort, KernelPosition, OdeCalls, SolverKind
from ssptool.engine.ode.integration_state import IntegrationState
from ssptool.engine.ode.integrator import Integrator
from ssptool.engine.ode.jacobian import jacobian_calls
from ssptool.engine.ode.solvers import choose_solver, on_retreat
from ssptool.engine.ode.system import OdeSystem, saves_state
from ssptool.engine.planning.interval import Interval, coarseness
from ssptool.engine.planning.plan import Plan

if TYPE_CHECKING:
    from ssptool.engine.kernel._kernel import NativeIntegration


WRONG_DERIVATIVES = (
    "directional derivatives of a component of model exchange are wrong: finite differences replace them"
)


@dataclass(frozen=True, slots=True)
class OdeStatistics:
    """Effort of an integration: state events, time events, and the counts of the integrator."""

    events: int
    effort: Effort


class Integration:
    """Advances an `OdeSystem` from one communication point to the next. The integrator chooses its steps, also beyond
    such points, which are then interpolated with the order of its formula. Where inputs are taken at events, it stops
    at each point. So it does where an event indicator has another sign at a point than before, although it was not seen
    to cross zero: then it goes back to where all had the signs that they should, and finds the event.

    The kernel calls the `OdeOwner` of this one for rows, stimuli and Jacobians.

    Attributes
    ----------
    rows
        Recorded, and not taken away yet: one per communication point, and two per event, its left and its right side.
        An event at a communication point takes the place of that point.
    """

    def __init__(self, system: OdeSystem, plan: Plan, integrator: Integrator) -> None:
        self.system, self.rows = system, deque[Floats]()
        self._events, self._interval = system.events, plan.interval
        calls = _calls(system, plan, integrator)
        self._core: NativeIntegration = native_integration(
            system.kernel, system.events.core, calls, _Owner(self, calls.solver)
        )

    @property
    def core(self) -> "NativeIntegration":
        return self._core

    @property
    def statistics(self) -> OdeStatistics:
        return OdeStatistics(self._core.events, self._core.effort)

    @property
    def time(self) -> float:
        return self._core.time

    def begin(self) -> None:
        remark_on_coarseness(self.system.remark, self._interval)
        with self._events.explained():
            self._core.begin()

    def cross_at_start(self) -> None:
        with self._events.explained():
            self._core.cross_at_start()

    def position(self, t: float) -> IntegrationState:
        with self._events.explained():
            position = self._core.position(t)
        causes = self.system.causes
        return IntegrationState(
            t=position.t,
            x=position.x,
            values=self.system.kernel.values.copy(),
            next_time=position.next_time,
            timers=_causes(position.timers),
            limited_until=position.limited_until,
            longest_step=position.longest_step,
            restarted=position.restarted,
            at_zero=frozenset(causes[number] for number in position.at_zero),
            seen={Cause(*cause): EventHistory(total, tuple(t)) for cause, (total, t) in position.seen.items()},
            clock_schedule=tuple(self._events.clock_schedule.save_state()),
            events=position.events,
            first_step=position.first_step,
            retreated=position.retreated,
        )

    def go_to(self, position: IntegrationState) -> None:
        self._restore(position)
        with self._events.explained():
            self._core.go_to(self._within_kernel(position))

    def start_over(self, position: IntegrationState) -> None:
        self._restore(position)
        with self._events.explained():
            self._core.start_over(self._within_kernel(position))

    def intervene(self, action: Callable[[], None]) -> None:
        with self._events.explained():
            self._core.intervene(action)

    def advance(self, point: float, limit: float) -> bool:
        try:
            return self._core.advance(point, limit)
        except (Stopped, Refused) as error:
            raise self._events.explanation(error) from None

    def close(self) -> None:
        self._core.close()

    def _restore(self, position: IntegrationState) -> None:
        """Restore the parts of a position that the kernel's position does not have."""
        self._events.clock_schedule.restore_state(position.clock_schedule)
        self.system.kernel.values[:] = position.values

    def _within_kernel(self, position: IntegrationState) -> KernelPosition:
        return KernelPosition(
            t=position.t,
            x=position.x,
            next_time=position.next_time,
            timers=[(cause.component, cause.what) for cause in position.timers],
            limited_until=position.limited_until,
            longest_step=position.longest_step,
            restarted=position.restarted,
            at_zero=[number for number, cause in enumerate(self.system.causes) if cause in position.at_zero],
            seen={(cause.component, cause.what): (one.total, one.times) for cause, one in position.seen.items()},
            events=position.events,
            first_step=position.first_step,
            retreated=position.retreated,
        )


def remark_on_coarseness(remark: Callable[[str], None], interval: Interval) -> None:
    """Remark on a communication step that is too coarse for the times of the run to be told apart."""
    if note := coarseness(interval.step, interval.start, interval.stop):
        remark(note)


def _causes(causes: Iterable[CauseText]) -> tuple[Cause, ...]:
    return tuple(Cause(component, what) for component, what in causes)


@contextmanager
def _stopping() -> Iterator[None]:
    """Raise `IntegrationStopped` as what the kernel gets over, or ends with."""
    try:
        yield
    except IntegrationStopped as stopped:
        raise as_stopped(stopped.failure) from None


class _Owner:
    """`OdeOwner` of an integration."""

    def __init__(self, integration: Integration, kind: SolverKind) -> None:
        self._integration, self._system, self._kind = integration, integration.system, kind

    def explain(self, outcome: Outcome, t: float) -> Stopped:
        return as_stopped(self._system.explain(outcome, t))

    def rescue(self, schedule: int, t: float) -> Stopped | None:
        failure = self._system.rescue(schedule, t)
        return None if failure is None else as_stopped(failure)

    def row(self, row: Floats) -> None:
        self._integration.rows.append(row)

    def no_row(self) -> None:
        self._integration.rows.pop()

    def write(self, t: float) -> None:
        with _stopping():
            self._system.write_stimuli(t)

    def limit(self, t: float) -> float:
        assert self._system.stimuli is not None
        return self._system.stimuli.limit(t)

    def segment_end(self) -> float:
        assert self._system.stimuli is not None
        return self._system.stimuli.end

    def jump(self, t: float) -> None:
        with _stopping():
            self._system.jump(t)

    def contradicted(self) -> None:
        self._system.remark(WRONG_DERIVATIVES)

    def retreated(self, t: float, reason: str) -> None:
        self._system.remark(on_retreat(self._kind, t, reason))


def _calls(system: OdeSystem, plan: Plan, integrator: Integrator) -> OdeCalls:
    solver = choose_solver(integrator.method, system.remark)
    jacobian = jacobian_calls(plan, system.size, integrator) if integrator.method.is_implicit else None
    return OdeCalls(
        models=[
            ContinuousCalls(
                instance=index,
                name=model.name,
                fmi_major=model.major,
                component=model.component,
                functions=model.functions,
                states=model.states,
                indicators=model.indicators,
                reports_steps=model.reports_steps,
                directional=jacobian is not None and jacobian.directional,
                slopes=[variable.name for variable in plan.instances[index].description.state_derivatives],
                saves_state=saves_state(plan, index),
            )
            for index, model in zip(system.instances, system.models, strict=True)
        ],
        whole=system.schedules.whole,
        slopes=system.schedules.slopes,
        everyone=system.everyone,
        inputs=system.inputs.tolist(),
        nominal=np.array(plan.nominal),
        solver=solver.kind,
        rtol=integrator.rtol,
        cvode=solver.cvode,
        start=plan.interval.start,
        stop=plan.interval.stop,
        macro_step=plan.interval.step,
        takes_samples=ode_takes_samples(plan),
        jacobian=jacobian,
        has_stimuli=system.stimuli is not None,
        retreats=integrator.retreats,
    )
