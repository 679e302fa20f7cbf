"""The run of an ODE from communication point to communication point, through its events."""

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from ssptool.engine.ending import Ending, Failure
from ssptool.engine.kernel.interface import Floats
from ssptool.engine.masters.master import Stretch
from ssptool.engine.ode.cvode import Arrival, Cvode, Effort, IntegrationFailed
from ssptool.engine.ode.events import Chatter, Outcome, iterate, wish_to_end
from ssptool.engine.ode.integrated import Integrated
from ssptool.engine.ode.jacobian import make_jacobian
from ssptool.engine.ode.stopped import Stopped
from ssptool.engine.ode.system import Cause, OdeSystem
from ssptool.engine.plan import Plan
from ssptool.fmu.binary import FmiError

SAME_TIME = 1e-12
"""Relative: an event this close to a communication point is at it."""

MAX_STUCK = 20
"""Internal steps in a row that may be too small for time to pass."""

STEPS_BETWEEN_EVENTS = 4
"""At least, where an event of the same cause has been seen before, for as long as it took to come back."""


@dataclass(frozen=True, slots=True)
class OdeStatistics:
    """What integrating took: state and time events, and the integrator's own counts."""

    events: int
    effort: Effort


class Integration:
    """Advances an `OdeSystem`. The integrator takes the steps it likes; communication points in between are
    interpolated with the order of its formula.
    """

    def __init__(self, system: OdeSystem, plan: Plan, master: Integrated) -> None:
        self.system = system
        self._interval, self._rtol, self._nominal = plan.interval, master.rtol, np.array(plan.nominal)
        self._sizes = np.ones(system.size)  # nominal values of the states
        self._solver = Cvode(
            master.method,
            system.slopes,
            system.size,
            rtol=master.rtol,
            g=system.signs,
            roots=system.indicators,
            jacobian=make_jacobian(system, plan, self._sizes, directional=master.directional),
        )
        self._chatter = Chatter(plan.interval.step)
        self._arrival = Arrival(plan.interval.start)
        self._handled = True  # whether what is to do at `_arrival` has been done
        self._next_time = math.inf
        self._timers: tuple[Cause, ...] = ()
        self._wary_until = math.inf
        self._restarted = plan.interval.start
        self._at_zero: frozenset[Cause] = frozenset()  # indicators, at the last restart
        self._told = OdeStatistics(0, Effort())  # what earlier stretches have reported
        self._reports_steps = any(model.reports_steps for model in system.models)
        self._stuck = 0  # internal steps in a row in which no time passed
        self._events = 0
        self._point = 1  # the next communication point
        self._rows: deque[Floats] = deque()  # recorded, and not handed out yet
        self._failure: Failure | None = None

    @property
    def statistics(self) -> OdeStatistics:
        return OdeStatistics(self._events, self._solver.effort)

    def begin(self) -> None:
        """From initialized components, which are in event mode, to the first instant of continuous time.

        What goes wrong comes out of the first `run`.
        """
        start = self._interval.start
        try:
            self._leave_event_mode(start, iterate(self.system, start, self._nominal), first=True)
        except Stopped as stopped:
            self._failure = stopped.failure
        except FmiError as error:
            self._failure = self.system.refused(error, start).failure
        else:
            self.system.row(start)  # the first point of the history

    def run(self, _first: int, rows: Floats) -> Stretch:
        """Fill the next rows: one per communication point, and two per event, its left and its right side.

        An event at a communication point takes the place of that point.
        """
        filled = 0
        while filled < len(rows) and self._produce():
            rows[filled] = self._rows.popleft()
            filled += 1
        finished = self._point > self._interval.steps and not self._rows
        failure = None if self._rows else self._failure
        before, self._told = self._told, self.statistics
        if finished or failure is not None:
            self.close()
        events = self._told.events - before.events
        evaluations = self._told.effort.evaluations - before.effort.evaluations
        return Stretch(filled, failure, finished=finished, events=events, evaluations=evaluations)

    def close(self) -> None:
        """Give back the memory of the integrator, as the end of the run does by itself."""
        self._solver.close()

    def _produce(self) -> bool:
        """Go on until there is a row to hand out; False at the end of the run and after a failure."""
        try:
            while not self._rows and self._failure is None and self._point <= self._interval.steps:
                point = self._interval.start + float(self._point) * self._interval.step
                self._point += self._advance(point)
        except Stopped as stopped:
            self._failure = stopped.failure
        except FmiError as error:
            self._failure = self.system.refused(error, self._arrival.t).failure
        return bool(self._rows)

    def _advance(self, point: float) -> int:
        """One thing after the other towards a communication point; returns 1 where it was reached."""
        at_point = _same(self._arrival.t, point)
        if self._arrival.t > point and not at_point:
            self._solver.interpolate(point)
            self.system.place(point, self._solver.between)
            self._rows.append(self.system.row(point))
            return 1
        if self._handled:
            self._step()
            return 0
        self._handled = True
        if not (at_point or self._arrival.roots or self._time_event_due() or self._reports_steps):
            return 0
        t = point if at_point else self._arrival.t
        self.system.place(self._arrival.t, self._solver.x)
        causes = self._causes()
        if causes:
            self._event(self._arrival.t, t, causes, at_point)
        elif at_point:
            self._rows.append(self.system.row(t))
        return int(at_point)

    def _step(self) -> None:
        limit = min(self._next_time, self._interval.stop)
        if limit <= self._arrival.t or _same(limit, self._arrival.t):
            self._arrival, self._handled = Arrival(self._arrival.t), False
            return
        if self._arrival.t > self._wary_until:
            self._wary_until = math.inf
            self._solver.limit_step(math.inf)
        before = self._arrival.t
        try:
            self._arrival, self._handled = self._solver.reach(limit), False
        except IntegrationFailed as error:
            raise Stopped(self._failed(error.reason, error.t)) from None
        stuck = self._arrival.t - before <= math.ulp(before) and not self._arrival.roots
        self._stuck = self._stuck + 1 if stuck else 0
        if self._stuck == MAX_STUCK:
            raise Stopped(self._failed("its steps have become too small for time to pass", before))

    def _time_event_due(self) -> bool:
        t = self._arrival.t
        return self._next_time <= t or _same(self._next_time, t)

    def _causes(self) -> tuple[Cause, ...]:
        """Why there is an event where the components are; empty if there is none. Tells them of the step."""
        t = self._arrival.t
        causes: list[Cause] = [self.system.causes[root] for root in self._arrival.roots]
        if self._time_event_due():
            causes += self._timers
        for model in self.system.models:
            event, terminate = model.completed_step()
            if terminate:
                raise Stopped(wish_to_end(model.name, t))
            if event:
                causes.append(Cause(model.name, "event after a step"))
        return tuple(causes)

    def _event(self, t: float, row_time: float, causes: tuple[Cause, ...], at_point: bool) -> None:
        """Through an event at t [s], with a row for each side.

        Where an indicator only leaves zero, to which the event before has put it, that is none, unless it changes
        something.
        """
        leaving = _same(t, self._restarted) and all(cause in self._at_zero for cause in causes)
        left = self.system.row(row_time)
        if at_point or not leaving:
            self._rows.append(left)
        for model in self.system.models:
            model.enter_event_mode()
        outcome = iterate(self.system, t, self._nominal)
        seen = outcome.changed or not leaving
        recurrence = self._chatter.note(t, causes) if seen else math.inf
        self._leave_event_mode(t, outcome, first=False)
        self._beware(t, recurrence)
        if seen:
            self._events += 1
            self._rows += [self.system.row(row_time)] if at_point or not leaving else [left, self.system.row(row_time)]

    def _beware(self, t: float, recurrence: float) -> None:
        """What came back after a short time may do so again, sooner: there and back within one step is not seen."""
        self._wary_until = t + recurrence
        if recurrence > 0:
            self._solver.limit_step(recurrence / STEPS_BETWEEN_EVENTS)

    def _leave_event_mode(self, t: float, outcome: Outcome, *, first: bool) -> None:
        self._next_time, self._timers = outcome.next_time, outcome.timers
        self.system.read_states(self._solver.x)
        if first or outcome.nominals_changed:
            self.system.read_nominals(self._sizes)
            np.multiply(self._sizes, self._rtol, out=self._solver.atol)
        for model in self.system.models:
            model.enter_continuous_time()
        self._solver.start(t)
        self.system.place(t, self._solver.x)
        self._restarted, self._at_zero = t, self.system.at_zero(t, self._solver.x)

    def _failed(self, reason: str, t: float) -> Failure:
        setback = self.system.setback
        why = f"; last: {setback.message}" if setback is not None else ""
        return Failure(
            Ending.INTEGRATION,
            f"the integrator cannot go on: {reason}{why}",
            "loosen the tolerance, or check parameters and start values: the solution may not exist from here",
            t,
            setback.component if setback is not None else "",
            setback.function if setback is not None else "",
        )


def _same(a: float, b: float) -> bool:
    return abs(a - b) <= SAME_TIME * max(1.0, abs(b))
