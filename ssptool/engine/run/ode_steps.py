"""Steps of a system with an ODE, which a system in C++ integrates: of nothing else, or beside co-simulation."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.assembly.assembly import Assembly
from ssptool.engine.assembly.stopped import as_stopped, explanation
from ssptool.engine.failure import BadInputs, Ending, Failure, IntegrationStopped
from ssptool.engine.kernel.calls import Code, Floats, Outcome, Stretches
from ssptool.engine.kernel.ode import IntegrationEvent
from ssptool.engine.kernel.stopped import Refused, Stopped
from ssptool.engine.masters.master import StepBatch
from ssptool.engine.masters.protocols import NONE_UNCONVERGED, Unconverged
from ssptool.engine.ode.event_rows import EventRows, all_points
from ssptool.engine.ode.solvers import ChosenSolver, choose_solver, on_retreat
from ssptool.engine.planning.interval import coarseness
from ssptool.engine.planning.stimuli import SampledFunctions, slot_sources
from ssptool.engine.run.coupling import Evaluation, evaluation_in
from ssptool.engine.run.frozen_integration import integrator_of
from ssptool.engine.run.loops import WRONG_DERIVATIVES as WRONG_IN_LOOP
from ssptool.engine.run.system import LoadedSystem, StepsOfSystem, SystemSteps
from ssptool.fmu.instance import FmiError
from ssptool.fmu.model_exchange import functions_of_exchange

if TYPE_CHECKING:
    from ssptool.engine.kernel._kernel import NativeSystem


WRONG_DERIVATIVES = (
    "directional derivatives of a component of model exchange are wrong: finite differences replace them"
)


class OdeInSystem:
    """The ODE of an initialized and coupled system, with its solver. The kernel of the assembly is that of the ODE."""

    def __init__(
        self,
        native: "NativeSystem",
        assembly: Assembly,
        loops: Sequence[int],
        functions: SampledFunctions | None = None,
    ) -> None:
        """`functions` drive the inputs of an ODE that is alone."""
        self._native, self._assembly, self._loops, self._functions = native, assembly, loops, functions
        plan = assembly.plan
        self._solver: ChosenSolver = choose_solver(integrator_of(plan).method, assembly.remark)
        sample = self._sample if functions else None
        native.integrate(self._solver.kind, self._solver.cvode, self._explained, self._explained_refusal, sample)
        assembly.at_end.callback(native.let_go)
        if note := coarseness(plan.interval.step, plan.interval.start, plan.interval.stop):
            assembly.remark(note)

    def remark(self) -> None:
        """Remarks on what has happened since the last time."""
        for what, t, reason in self._native.take_remarks():
            match IntegrationEvent(what):
                case IntegrationEvent.RETREAT:
                    self._assembly.remark(on_retreat(self._solver.kind, t, reason))
                case IntegrationEvent.WRONG_DERIVATIVES:
                    self._assembly.remark(WRONG_DERIVATIVES)
                case IntegrationEvent.WRONG_DERIVATIVES_IN_LOOP:
                    self._assembly.remark(WRONG_IN_LOOP)

    def failure(self, error: Stopped | Refused, t: float) -> Failure:
        """Failure at t [s]."""
        found = explanation(error, self._assembly.instances)
        return found.failure if isinstance(found, IntegrationStopped) else self._assembly.refused(found, t)

    @cached_property
    def evaluation(self) -> Evaluation:
        """Puts loops into words."""
        return evaluation_in(self._assembly, self._loops)

    def _sample(self, t: float, begin: float, end: float, now: float) -> Stopped | None:
        assert self._functions is not None
        try:
            self._functions.sample(t, begin, end)
        except BadInputs as error:
            return as_stopped(error.failure(now))
        return None

    def _explained(self, outcome: Outcome, t: float) -> Stopped:
        return as_stopped(self._refused(outcome, t) or self.evaluation.explain(outcome, t))

    def _explained_refusal(self, error: Refused, t: float) -> Stopped:
        return as_stopped(self.failure(error, t))

    def _refused(self, outcome: Outcome, t: float) -> Failure | None:
        """Failure of a function of model exchange."""
        plan = self._assembly.plan
        if outcome.code is not Code.FMI or plan.ode is None or outcome.instance not in plan.ode.instances:
            return None
        planned, instance = plan.instances[outcome.instance], self._assembly.instances[outcome.instance]
        if outcome.function not in functions_of_exchange(planned.description.fmi_major):
            return None
        instance.note(outcome.fmi_status)
        messages = instance.log.latest()
        return self._assembly.refused(FmiError(instance.name, outcome.function, outcome.fmi_status, messages), t)


def steps_with_ode(loaded: LoadedSystem, assembly: Assembly, *, resumed: bool = False) -> "OdeSteps | OdeBesideSteps":
    """Ready for the first step of an initialized system with an ODE, or of one that is resumed."""
    kind = OdeSteps if assembly.plan.is_one_ode else OdeBesideSteps
    return kind(loaded, assembly, resumed=resumed)


class OdeSteps(StepsOfSystem):
    """Steps of a system that is nothing but an ODE.

    Attributes
    ----------
    limit : [s]
        No row is made beyond; there is one at it.
    """

    def __init__(self, loaded: LoadedSystem, assembly: Assembly, *, resumed: bool = False) -> None:
        super().__init__(loaded, assembly)
        self.limit = assembly.plan.interval.stop
        self._native.couple()
        functions = SampledFunctions(slot_sources(assembly.plan), self.kernel)
        self._ode = OdeInSystem(self._native, assembly, self._native.loops, functions)
        if resumed:
            self._go_on()
        else:
            self._native.begin_alone()
        self._ode.remark()

    @cached_property
    def _evaluation(self) -> Evaluation:
        return self._ode.evaluation

    @property
    def unconverged(self) -> Unconverged:
        """None: there are no iterated steps."""
        return NONE_UNCONVERGED

    @property
    def damped_phases(self) -> tuple[Stretches, ...]:
        """None: there are no iterated steps."""
        return ()

    def remarks(self) -> Iterable[str]:
        """None beside those that were made meanwhile."""
        return ()

    def restart(self) -> None:
        """The integrator chooses its steps."""

    def jacobian(self, time: float, states: Floats) -> Floats | None:
        """(n, n) df/dx at this time [s] and states (n,); None: the integrator has no way to it, or an FMU refuses."""
        columns = self._native.jacobian(time, states.tolist())
        n = len(states)
        return columns.reshape(n, n).T if len(columns) == n * n else None

    def run(self, _first: int, rows: Floats) -> StepBatch:
        """Make as many rows as there is room for."""
        found = self._native.run_alone(self.limit, rows)
        self._loaded.check_logs()
        self._ode.remark()
        return StepBatch(
            found.rows,
            None if found.failure is None else self._ode.failure(found.failure, found.t),
            finished=found.finished,
            events=found.events,
            evaluations=found.evaluations,
            points=np.array(found.points, dtype=bool),
            waiting=found.waiting,
        )


class OdeBeside:
    """An ODE beside co-simulation, as an instance of the kernel that a system steps.

    Attributes
    ----------
    assembly
        With it.
    """

    def __init__(self, native: "NativeSystem", assembly: Assembly) -> None:
        self._native = native
        kernel = native.kernel_of_ode()
        kernel.report_time(assembly.logging.clock.address)
        self.assembly = replace(assembly, explain_ode=self.explain, ode_kernel=kernel)
        self._event_rows = EventRows(assembly.plan)
        self._told = 0, 0
        self.takes_event_signals = bool(assembly.plan.ode_event_sources)

    def begin(self, *, resumed: bool) -> None:
        """Go from a coupled system to the first instant, unless it is `resumed`."""
        self._words = OdeInSystem(self._native, self.assembly.of_ode, self._native.loops_of_ode)
        if not resumed:
            self._native.begin_beside()
        self._words.remark()

    def remark(self) -> None:
        """Remarks on what has happened since the last time."""
        self._words.remark()

    def explain(self) -> Failure:
        """Failure of the last step."""
        try:
            self._native.rethrow()
        except (Stopped, Refused) as error:
            return self._words.failure(error, self._native.time_of_ode)

    def event_pending(self) -> bool:
        return self._native.event_pending()

    def with_event_rows(self, before: Floats, rows: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        if not self._native.has_rows:
            return rows, all_points(rows)
        return self._event_rows.woven(before, rows, self._native.take_row)

    def remarks(self) -> Iterator[str]:
        return self._event_rows.remarks()

    def new_counts(self) -> tuple[int, int]:
        before, self._told = self._told, self._native.counts_of_ode()
        return self._told[0] - before[0], self._told[1] - before[1]


MAX_ITERATIONS = 100
"""Largest number of events at one communication point because of signals that the ODE takes at events only."""


def _endless(t: float) -> Failure:
    """Failure of such events at t [s]."""
    return Failure(
        Ending.EVENTS,
        f"the event iteration does not converge: after {MAX_ITERATIONS} iterations signals still change",
        "look for clocks and discrete equations that drive each other around a loop of connections",
        t,
    )


class Row(NamedTuple):
    """Time and signals, at a communication point or on a side of an event."""

    cells: Floats
    point: bool


class OdeBesideSteps(SystemSteps):
    """Steps of a system with an ODE beside co-simulation: rows of its events stand between those of macro steps."""

    def __init__(self, loaded: LoadedSystem, assembly: Assembly, *, resumed: bool = False) -> None:
        self._beside = OdeBeside(loaded.native, assembly)
        super().__init__(loaded, self._beside.assembly, resumed=resumed)
        self.limit = assembly.plan.interval.stop
        self.rows: deque[Row] = deque()  # not handed out yet
        self.last = np.empty(1 + len(assembly.plan.recorded))
        self.record(self._native.time if resumed else self.start, self.last)
        self.done = self._nothing_to_step
        self.waiting = False  # the next row of macro steps is made already

    @property
    def _nothing_to_step(self) -> bool:
        return self._native.finished or self.assembly.plan.interval.steps == 0

    def _begin_ode(self, *, resumed: bool) -> None:
        self._beside.begin(resumed=resumed)

    def remarks(self) -> Iterator[str]:
        yield from self._beside.remarks()
        yield from super().remarks()

    def _time_of(self, component: str, time: float) -> float:
        # An ODE with events of its own is where its integration is, which is not exactly there.
        apart = not self.assembly.plan.event_modes.with_ode
        integrated = component in {one.name for one in self.assembly.plan.integrated}
        return self._native.time_of_ode if apart and integrated else time

    def show_end(self, time: float) -> None:
        self._native.show_end(time)

    def run(self, _first: int, rows: Floats) -> StepBatch:
        points = np.zeros(len(rows), dtype=bool)
        filled = self._hand_out(rows, points)
        iterations: tuple[int, ...] = ()
        rejected = events = 0
        while filled < len(rows) and not self.finished and self.failure is None:
            if not self.waiting and self._beside.event_pending():
                filled += self._react(rows[filled], points[filled : filled + 1])
                continue
            count = 1 if self._beside.takes_event_signals else len(rows) - filled
            # Write rows to their final place if there are no events, so that each step is visible at once.
            batch = super().run(0, rows[filled : filled + count])
            iterations += batch.iterations
            rejected += batch.rejected
            events += batch.events
            filled = self._take(batch, rows, points, filled)
            if not batch.steps and not self.done:
                break  # at the limit
        self._beside.remark()
        failure = None if self.rows else self.failure
        own, evaluations = self._beside.new_counts()
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
        super().restart()
        self.record(float(self.last[0]), self.last)

    @property
    def finished(self) -> bool:
        """True if all rows are delivered and no event is due."""
        return self.done and not self.waiting and not self._beside.event_pending()

    def _react(self, row: Floats, point: NDArray[np.bool_]) -> int:
        """Handle an event at the communication point reached, since signals of others that the ODE takes at events only
        have changed. Returns the number of rows filled.
        """
        t = float(self.last[0])
        for _ in range(MAX_ITERATIONS):
            reason = self._native.react()
            if reason is not None:
                self.failure = self._stopped(reason, t)
                return 0
            if not self._beside.event_pending():
                self.record(t, row)
                point[:] = True
                self.last = row.copy()
                return 1
        self.failure = _endless(t)
        return 0

    def _take(self, batch: StepBatch, rows: Floats, points: NDArray[np.bool_], filled: int) -> int:
        """Put rows of events between those of a segment; what finds no room waits. Returns how many are filled now."""
        self.failure, self.waiting = batch.failure, batch.waiting
        self.done = batch.finished
        if not batch.steps:
            return filled
        found = rows[filled : filled + batch.steps]
        woven, are_points = self._beside.with_event_rows(self.last, found)
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

    def go_back(self, number: int) -> None:
        super().go_back(number)
        self.rows.clear()
        self.waiting = False
        self.record(self._native.time, self.last)
        self.done = self._nothing_to_step
        self._beside.new_counts()  # those of the future
