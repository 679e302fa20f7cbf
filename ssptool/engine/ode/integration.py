"""Integration of an ODE from one time to another, through its events; the twin of core/integration.cpp."""

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ssptool.engine.event_mode.iteration import Cause, ZenoDetector, ode_takes_samples
from ssptool.engine.failure import IntegrationStopped, wish_to_end
from ssptool.engine.kernel import create_solver
from ssptool.engine.kernel.interface import Floats
from ssptool.engine.kernel.ode import Arrival, Effort, IntegrationFailed, OdeSolver, SolverKind
from ssptool.engine.masters.master import tolerance_of_times
from ssptool.engine.ode.events import TIME_EVENT, Crossings, EventOutcome, IndicatorLookAhead, IntegrationState, iterate
from ssptool.engine.ode.integrator import Integrator
from ssptool.engine.ode.jacobian import jacobian_calls, make_jacobian
from ssptool.engine.ode.solvers import (
    RETREAT,
    ChosenSolver,
    cannot_go_on,
    choose_solver,
    remark_on_retreat,
)
from ssptool.engine.ode.system import OdeSystem
from ssptool.engine.planning.interval import Interval, coarseness
from ssptool.engine.planning.plan import Plan

MAX_STUCK = 20
"""Internal steps in a row that may be too small for time to pass."""

JUMP = Cause("the system", "a jump of an input")

SAMPLE = Cause("the system", "a discrete input")

STEPS_BETWEEN_EVENTS = 4
"""At least, where an event of the same cause has been seen before, for as long as it took to come back."""


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

    Attributes
    ----------
    rows
        Recorded, and not taken away yet: one per communication point, and two per event, its left and its right side.
        An event at a communication point takes the place of that point.
    before_event
        Called before the components enter event mode.
    hands_over
        The caller handles events with `enter` and `leave`: it stops before each, and leaves no row.
    due
        Why there is one where it has stopped; empty if there is none.
    """

    def __init__(self, system: OdeSystem, plan: Plan, master: Integrator) -> None:
        self.system = system
        self.rows: deque[Floats] = deque()
        self.before_event: Callable[[], None] = lambda: None
        self.hands_over = False
        self.due: tuple[Cause, ...] = ()
        self._start, self._rtol, self._nominal = plan.interval.start, master.rtol, np.array(plan.nominal)
        self._sizes = np.ones(system.size)  # nominal values of the states
        self._jacobian = make_jacobian(
            system,
            jacobian_calls(plan, system.size, master),
            self._sizes,
            on_contradiction=lambda: system.remark(WRONG_DERIVATIVES),
        )
        self._chosen = choose_solver(master.method, system)
        self._retreats = master.retreats
        self._solver = self._make(self._chosen)
        self._other: OdeSolver | None = None  # the one that is not at work
        self._retreated = False
        self._retreat: tuple[float, str] | None = None  # time and reason of one that has not made a step yet
        self._interval, self._macro_step = plan.interval, plan.interval.step
        self._chatter = ZenoDetector(plan.interval.step)
        self._arrival = Arrival(plan.interval.start)
        self._handled = True  # whether what is to do at `_arrival` has been done
        self._next_time = math.inf
        self._timers: tuple[Cause, ...] = ()
        self._limited_until = self._longest_step = math.inf
        self._crossings = Crossings(system, plan.interval)
        self._reports_steps = any(model.reports_steps for model in system.models)
        self._samples = ode_takes_samples(plan)
        self._stops_until = -math.inf  # at communication points [s]
        self._first_step = 0.0  # the last one that the integrator began with, where inputs had changed
        self._stuck = 0  # internal steps in a row in which no time passed
        self._events = 0

    def _make(self, solver: ChosenSolver) -> OdeSolver:
        return create_solver(
            solver.kind,
            self.system.slopes,
            self.system.size,
            rtol=self._rtol,
            g=self.system.signs,
            roots=self.system.indicators,
            jacobian=self._jacobian,
            cvode=solver.cvode,
            native=False,
        )

    @property
    def statistics(self) -> OdeStatistics:
        effort = self._solver.effort + Effort(evaluations=self._jacobian.evaluations)
        return OdeStatistics(self._events, effort if self._other is None else effort + self._other.effort)

    @property
    def _begun_with(self) -> float:
        """The size of the last first step [s], at which the next one is tried too; 0: it is to be estimated."""
        return self._solver.first_step if self._solver.has_moved else self._first_step

    @property
    def time(self) -> float:
        """Time reached [s]."""
        return self._arrival.t

    # -- to the start, or to where it was -------------------------------------------------------------------------

    def begin(self) -> None:
        """Go from initialized components, which are in event mode, to the first instant of continuous time.

        Raises
        ------
        Stopped, FmiError
            A component refuses or asks to end the simulation, or the event iteration does not end.
        """
        remark_on_coarseness(self.system, self._interval)
        self._leave_event_mode(self._start, self._iterate(self._start), first=True)

    def cross_at_start(self) -> None:
        """Handle indicators that are zero at the start and not a moment later as crossings at the start. Such an event
        has a right row; the left one is there.

        Raises
        ------
        Stopped, FmiError
        """
        while self._same(self._arrival.t, self._start) and self._crossings.leaving:
            before, x = self._arrival.t, self._solver.x.copy()
            roots = tuple(sorted(self._crossings.leaving))
            self._go_ahead(self._crossings.ahead)
            t = self._arrival.t
            self._arrival = Arrival(t, roots)
            self.enter()
            outcome = self._iterate(t)
            self._leave_event_mode(t, outcome, first=False)
            if not outcome.changed:
                self._solver.x[:], self._arrival = x, Arrival(before)
                self._solver.start(before)
                self._stand_at(before)
                return
            self._chatter.note(t, tuple(self.system.causes[i] for i in roots))
            self._events += 1
            self.rows.append(self.system.row(self._start))

    def position(self, t: float) -> IntegrationState:
        """State at a time t [s] that the integration has reached; it may already be further, but past no event."""
        x = self._solver.x
        if self._same(self._arrival.t, t):
            t = self._arrival.t
        elif self._arrival.t > t:
            self._solver.interpolate(t)
            x = self._solver.between
        return IntegrationState(
            t=t,
            x=x.copy(),
            values=self.system.kernel.values.copy(),
            next_time=self._next_time,
            timers=self._timers,
            limited_until=self._limited_until,
            longest_step=self._longest_step,
            restarted=self._crossings.restarted,
            at_zero=self._crossings.at_zero,
            seen=self._chatter.seen,
            clock_schedule=tuple(self.system.events.clock_schedule.save_state()),
            events=self._events,
            first_step=self._begun_with,
            retreated=self._retreated,
        )

    def go_to(self, position: IntegrationState) -> None:
        """Restore an earlier state; the discrete states of the components must already be restored.

        Raises
        ------
        Stopped
            The system cannot be evaluated there.
        """
        self._arrival, self._handled, self._stuck, self.due = Arrival(position.t), True, 0, ()
        self._use_retreat(position.retreated)
        self._next_time, self._timers = position.next_time, position.timers
        self._limited_until = position.limited_until
        self._limit_step(position.longest_step)
        crossings = self._crossings
        crossings.restarted, crossings.at_zero = position.restarted, position.at_zero
        self._chatter.seen = position.seen
        self.system.events.clock_schedule.restore_state(position.clock_schedule)
        self._events = position.events
        self._solver.x[:] = position.x
        self.system.kernel.values[:] = position.values
        self._read_sizes()
        self._jacobian.start()
        self._first_step = position.first_step
        self._solver.start(position.t, self._first_step)
        self.system.place(position.t, self._solver.x)
        crossings.drop_anchor(position.t, self._solver.x)
        crossings.look_ahead(position.t, self._solver.x)

    def start_over(self, position: IntegrationState) -> None:
        """Restart at the present state, as `go_to` does, without what was learned from earlier steps."""
        self.system.input_polynomials = None
        self._jacobian.forget()
        self.go_to(position)

    def restart(self, t: float, before: Floats) -> None:
        """Inputs have changed at t [s], where it is: restart, through an event if an indicator has crossed zero.

        `before` (indicators,) are those before the change. An event here has only a right row: the left one is there.

        Raises
        ------
        Stopped, FmiError
        """
        self._arrival, self._handled = Arrival(t), True
        self._first_step = self._begun_with
        self._jacobian.start()
        if not self.system.indicators:
            self._solver.start(t, self._first_step)
            return
        self.system.place(t, self._solver.x)
        crossed = (self.indicators() > 0) != (before > 0)
        causes = tuple(cause for cause, has in zip(self.system.causes, crossed.tolist(), strict=True) if has)
        if causes and self.hands_over:
            self.due = causes
        elif causes:
            left = len(self.rows)
            self._event(t, causes, at_point=True)
            del self.rows[left]
        else:
            self._solver.start(t, self._first_step)
            self._stand_at(t)

    def intervene(self, action: Callable[[], None]) -> None:
        """Let something be done to the components where it is, all of them in event mode; it leaves no row.

        Raises
        ------
        Stopped, FmiError
        """
        self.enter()
        action()
        t = self._arrival.t
        self._leave_event_mode(t, self._iterate(t), first=False)

    @property
    def next_time(self) -> float:
        """Time of the next event that is known beforehand [s]."""
        return self._next_time

    def enter(self, within: float = 0.0) -> None:
        """Put all components into event mode at the present time, or at a time event at most `within` [s] away.

        Raises
        ------
        Stopped, FmiError
        """
        self.before_event()
        if self._arrival.t < self._next_time <= self._arrival.t + within:
            self._arrival = Arrival(self._next_time)
            self.system.place(self._arrival.t, self._solver.x)
        for model in self.system.models:
            model.enter_event_mode()

    def leave(self, outcome: EventOutcome, *, first: bool) -> bool:
        """Leave event mode after `enter` and event iterations with this result, or at the `first` event after
        initialization; returns whether the event belongs in the trace.

        Raises
        ------
        Stopped, FmiError
        """
        t, causes, self.due = self._arrival.t, self.due, ()
        seen = outcome.changed or not (causes and self._crossings.is_leaving(t, causes))
        timers = self._timers
        self._leave_event_mode(t, outcome, first=first)
        if seen:
            self._limit_steps_for_a_while(t, self._chatter.note(t, _suspect(causes, timers)))
        return seen

    def indicators(self) -> Floats:
        """Event indicators (k,) where it is. Raises `IntegrationStopped`."""
        return self.system.indicators_at(self._arrival.t, self._solver.x)

    def close(self) -> None:
        """Give back the memory of the integrators."""
        self._solver.close()
        if self._other is not None:
            self._other.close()

    # -- forward --------------------------------------------------------------------------------------------------

    def advance(self, point: float, limit: float) -> bool:
        """Do the next part of the way to a communication point [s], never past `limit` ≥ point [s]; returns True if the
        point is reached, and the last row is then that of the point.

        Raises
        ------
        Stopped, FmiError
        """
        at_point = self._same(self._arrival.t, point)
        if self._arrival.t > point and not at_point:
            self._solver.interpolate(point)
            self.system.place(point, self._solver.between)
            if not self._crossings.hold(point, self._solver.between):
                self._stops_until = point
                self._back_to_anchor()
                return False
            self.rows.append(self.system.row(point))
            return True
        if self._handled:
            # The integrator returns after each step only if FMUs count steps or steps are limited.
            stop = point if self._samples or point <= self._stops_until else limit
            whole_way = stop <= point and not self._reports_steps and self._longest_step == math.inf
            self._step(stop, step_by_step=not whole_way)
            return False
        self._handled = True
        if not (at_point or self._arrival.roots or self._time_event_due() or self._jump_due() or self._reports_steps):
            return False
        t = point if at_point else self._arrival.t
        self.system.place(self._arrival.t, self._solver.x)
        ahead = self._just_ahead() if at_point else None
        causes = self._causes(at_point=at_point)
        if causes and self.hands_over:
            self._go_ahead(ahead)
            self.due = causes
        elif causes:
            self._event(t, causes, at_point, ahead)
        elif at_point:
            self._crossings.drop_anchor(t, self._solver.x)
            self.rows.append(self.system.row(t))
        return at_point

    def _just_ahead(self) -> IndicatorLookAhead | None:
        ahead = None if self._jump_due() else self._crossings.just_ahead(self._arrival.t, self._solver.x)
        if ahead is not None:
            crossed = ahead.crossed(self._crossings.anchor.signs)
            self._arrival = Arrival(self._arrival.t, tuple(sorted(crossed.union(self._arrival.roots))))
        return ahead

    def _go_ahead(self, ahead: IndicatorLookAhead | None) -> None:
        if ahead is not None:
            self._arrival = Arrival(ahead.t, self._arrival.roots)
            self._solver.x[:] = ahead.x
            self.system.place(ahead.t, self._solver.x)

    def _back_to_anchor(self) -> None:
        anchor = self._crossings.anchor
        self._solver.x[:] = anchor.x
        self._arrival, self._handled = Arrival(anchor.t), True
        self._jacobian.start()
        self._solver.start(anchor.t)
        self.system.place(anchor.t, self._solver.x)

    def _stand_at(self, t: float) -> None:
        """The integrator has been started at t [s]."""
        self.system.place(t, self._solver.x)
        self._crossings.start(t, self._solver.x, self._arrival.roots)

    def _was_there_and_back(self) -> bool:
        """True if the first step after a start leads over a zero crossing and back; the integration has then gone back.

        Raises
        ------
        Stopped
            Both are too close to be seen, and those before have come ever faster.
        """
        t, unseen = self._crossings.anchor.t, self._crossings.unseen(self._arrival)
        span = self._arrival.t - t
        if span <= 2 * tolerance_of_times(t, self._macro_step):
            for i in sorted(unseen):
                self._chatter.lose(self.system.causes[i])
            return False
        if unseen:
            self._back_to_anchor()
            self._crossings.leaving, self._limited_until = unseen, t + span
            self._limit_step(span / STEPS_BETWEEN_EVENTS)
        return bool(unseen)

    def _step(self, stop: float, *, step_by_step: bool) -> None:
        stimuli, limit = self.system.stimuli, min(self._next_time, stop)
        if limit <= self._arrival.t or self._same(limit, self._arrival.t) or self._jump_due():
            self._arrival, self._handled = Arrival(self._arrival.t), False
            return
        if stimuli is not None:
            limit = min(limit, stimuli.limit(self._arrival.t))
        if self._arrival.t > self._limited_until:
            self._limited_until = math.inf
            self._limit_step(math.inf)
        before, elapsed = self._arrival.t, self._solver.elapsed
        self.system.events.hide_ticks()
        try:
            slowly = step_by_step or bool(self._crossings.leaving)
            self._arrival, self._handled = self._solver.reach(limit, step_by_step=slowly), False
        except IntegrationFailed as error:
            self._go_on_or_retreat(error.reason, error.t)
            return
        if self._was_there_and_back():
            return
        stuck = self._solver.elapsed - elapsed <= math.ulp(elapsed) and not self._arrival.roots
        self._stuck = self._stuck + 1 if stuck else 0
        if not stuck:
            self.system.last_failure = None  # it has been avoided
            if self._retreat is not None:
                remark_on_retreat(self.system, self._chosen.kind, *self._retreat)
                self._retreat = None
        if self._stuck == MAX_STUCK:
            self._go_on_or_retreat("its steps have become smaller than the resolution of time", before)

    def _go_on_or_retreat(self, reason: str, t: float) -> None:
        """Let the other solver go on. Where it cannot either, what the first one failed of is the reason."""
        if not self._retreats or self._retreated:
            reason = reason if self._retreat is None else self._retreat[1]
            raise IntegrationStopped(cannot_go_on(reason, t, self.system.last_failure)) from None
        here = self._solver.time
        self._retreat_from(self._arrival.t if self._same(here, self._arrival.t) else here, reason)

    def _retreat_from(self, t: float, reason: str) -> None:
        """Let the other solver go on from t [s], where the one at work is."""
        left = self._solver
        self._use_retreat(True)
        self._solver.x[:], self._solver.atol[:] = left.x, left.atol
        self._solver.start(t)
        self._handled = self._handled and t == self._arrival.t
        self._arrival, self._stuck = Arrival(t), 0
        self._retreat = t, reason

    def _use_retreat(self, retreated: bool) -> None:
        self._retreat = None
        if retreated != self._retreated:
            self._solver, self._other = self._other_solver(), self._solver
            self._retreated = retreated
            self._solver.limit_step(self._longest_step)

    def _other_solver(self) -> OdeSolver:
        if self._other is None:
            self._other = self._make(ChosenSolver(SolverKind[RETREAT.name]))
        return self._other

    def _jump_due(self) -> bool:
        stimuli, t = self.system.stimuli, self._arrival.t
        return stimuli is not None and t >= stimuli.end - tolerance_of_times(t, self._macro_step)

    def _time_event_due(self) -> bool:
        t = self._arrival.t
        return self._next_time <= t or self._same(self._next_time, t)

    def _causes(self, *, at_point: bool) -> tuple[Cause, ...]:
        """Tell the components of the step; causes of an event at its end, empty if there is none.

        What changes all the time, but is taken at events only, is so at communication points.
        """
        t = self._arrival.t
        causes: list[Cause] = [self.system.causes[root] for root in self._arrival.roots]
        if self._time_event_due():
            causes += self._timers
        if self._jump_due():
            causes.append(JUMP)
        if at_point and self.system.events.pending():
            causes.append(SAMPLE)
        for model in self.system.models:
            event, terminate = model.completed_step()
            if terminate:
                raise IntegrationStopped(wish_to_end(model.name, t))
            if event:
                causes.append(Cause(model.name, "event after a step"))
        return tuple(causes)

    def _event(
        self, row_time: float, causes: tuple[Cause, ...], at_point: bool, ahead: IndicatorLookAhead | None = None
    ) -> None:
        """Through an event where it is, or just `ahead`, with a row for each side."""
        t = self._arrival.t
        leaving = self._crossings.is_leaving(t, causes)
        left, timers = self.system.row(row_time), self._timers
        if at_point or not leaving:
            self.rows.append(left)
        self._go_ahead(ahead)
        self.enter(tolerance_of_times(t, self._macro_step))
        t = self._arrival.t
        if JUMP in causes:
            self.system.jump(t)
        outcome = self._iterate(t)
        seen = outcome.changed or not leaving
        self._leave_event_mode(t, outcome, first=False)
        if seen:
            self._limit_steps_for_a_while(t, self._chatter.note(t, _suspect(causes, timers)))
            self._events += 1
            self.rows += [self.system.row(row_time)] if at_point or not leaving else [left, self.system.row(row_time)]

    def _limit_steps_for_a_while(self, t: float, recurrence: float) -> None:
        """Limit steps for some time, because a crossing that came back soon may do so again within one step, unseen."""
        self._limited_until = t + recurrence
        if recurrence > 0:
            self._limit_step(recurrence / STEPS_BETWEEN_EVENTS)

    def _limit_step(self, h: float) -> None:
        if h != self._longest_step:
            self._longest_step = h
            self._solver.limit_step(h)

    def _leave_event_mode(self, t: float, outcome: EventOutcome, *, first: bool) -> None:
        self._next_time, self._timers = outcome.next_time, outcome.timers
        self.system.read_states(self._solver.x)
        if first or outcome.nominals_changed:
            self._read_sizes()
        for model in self.system.models:
            model.enter_continuous_time()
        self._jacobian.forget()
        self._first_step = 0.0
        self._solver.start(t)
        self._stand_at(t)

    def _read_sizes(self) -> None:
        self.system.read_nominals(self._sizes)
        np.multiply(self._sizes, self._rtol, out=self._solver.atol)

    def _iterate(self, t: float) -> EventOutcome:
        return iterate(self.system, t, self._nominal, tolerance_of_times(t, self._macro_step))

    def _same(self, a: float, b: float) -> bool:
        return abs(a - b) <= tolerance_of_times(b, self._macro_step)


def remark_on_coarseness(system: OdeSystem, interval: Interval) -> None:
    """Remark on a communication step that is too coarse for the times of the run to be told apart."""
    if note := coarseness(interval.step, interval.start, interval.stop):
        system.remark(note)


def _suspect(causes: tuple[Cause, ...], timers: tuple[Cause, ...]) -> tuple[Cause, ...]:
    """Causes that may chatter: neither what comes from outside, nor clocks, which tick as often as they say."""
    clocks = {timer for timer in timers if timer.what != TIME_EVENT}
    return tuple(cause for cause in causes if cause not in (JUMP, SAMPLE) and cause not in clocks)
