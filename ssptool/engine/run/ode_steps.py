"""Steps of a system with an ODE, which a C++ system integrates: of an ODE alone, or of a mixed system."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ssptool.documents.diagnostics import BadData
from ssptool.engine.assembly.assembly import Assembly
from ssptool.engine.assembly.stopped import as_stopped, explanation
from ssptool.engine.failure import Failure, RunError, failure_of_input
from ssptool.engine.kernel.calls import Code, Floats, Outcome, Stretches, functions_of_exchange
from ssptool.engine.kernel.ode import IntegrationEvent
from ssptool.engine.kernel.stopped import Refused, Stopped
from ssptool.engine.masters.master import StepBatch
from ssptool.engine.masters.protocols import NONE_UNCONVERGED, Unconverged
from ssptool.engine.ode.events_between import EventsBetweenPoints
from ssptool.engine.ode.solvers import choose_solver, on_retreat
from ssptool.engine.planning.interval import coarseness
from ssptool.engine.planning.stimuli import SampledFunctions, slot_sources
from ssptool.engine.run.coupling import Evaluation, evaluation_in
from ssptool.engine.run.frozen_integration import integrator_of
from ssptool.engine.run.loops import WRONG_DERIVATIVES as WRONG_IN_LOOP
from ssptool.engine.run.system import LoadedSystem, StepsOfSystem, SystemSteps
from ssptool.fmu.instance import FmiError

if TYPE_CHECKING:
    from ssptool.engine.kernel._kernel import NativeSystem


WRONG_DERIVATIVES = (
    "directional derivatives of a component of model exchange are wrong: finite differences replace them"
)


class OdeInSystem:
    """The ODE of an initialized and coupled system, with its solver; the assembly has the kernel of the ODE."""

    def __init__(
        self,
        native: "NativeSystem",
        assembly: Assembly,
        loops: Sequence[int],
        functions: SampledFunctions | None = None,
    ) -> None:
        """`functions` drive the inputs of a system that consists of one ODE."""
        self._native, self._assembly, self._loops, self._functions = native, assembly, loops, functions
        plan = assembly.plan
        self._method, cvode = choose_solver(integrator_of(plan).method, assembly.remark)
        sample = self._sample if functions else None
        native.integrate(self._method, cvode, self._explained, self._explained_refusal, sample)
        assembly.at_end.callback(native.let_go)
        if note := coarseness(plan.interval.step, plan.interval.start, plan.interval.stop):
            assembly.remark(note)

    def remark(self) -> None:
        """Add remarks on new events since the last call."""
        for what, t, reason in self._native.take_remarks():
            match IntegrationEvent(what):
                case IntegrationEvent.RETREAT:
                    self._assembly.remark(on_retreat(self._method, t, reason))
                case IntegrationEvent.WRONG_DERIVATIVES:
                    self._assembly.remark(WRONG_DERIVATIVES)
                case IntegrationEvent.WRONG_DERIVATIVES_IN_LOOP:
                    self._assembly.remark(WRONG_IN_LOOP)

    def failure(self, error: Stopped | Refused, t: float) -> Failure:
        """Failure at t [s]."""
        found = explanation(error, self._assembly.instances)
        return found.failure if isinstance(found, RunError) else self._assembly.refused(found, t)

    @cached_property
    def evaluation(self) -> Evaluation:
        """Messages about loops of the ODE."""
        return evaluation_in(self._assembly, self._loops)

    def _sample(self, t: float, begin: float, end: float, now: float) -> Stopped | None:
        assert self._functions is not None
        try:
            self._functions.sample(t, begin, end)
        except BadData as error:
            return as_stopped(failure_of_input(error, now))
        return None

    def _explained(self, outcome: Outcome, t: float) -> Stopped:
        return as_stopped(self._refused(outcome, t) or self.evaluation.explain(outcome, t))

    def _explained_refusal(self, error: Refused, t: float) -> Stopped:
        return as_stopped(self.failure(error, t))

    def _refused(self, outcome: Outcome, t: float) -> Failure | None:
        """Failure from a rejected call of a function of model exchange."""
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
    """Prepare the first step of an initialized or resumed system with an ODE."""
    kind = OdeSteps if assembly.plan.is_one_ode else OdeBesideSteps
    return kind(loaded, assembly, resumed=resumed)


class OdeSteps(StepsOfSystem):
    """Steps of a system that consists of one ODE.

    Attributes
    ----------
    limit : [s]
        Time of the last row.
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
        """Always empty, because there are no iterated steps."""
        return NONE_UNCONVERGED

    @property
    def damped_phases(self) -> tuple[Stretches, ...]:
        """Always empty, because there are no iterated steps."""
        return ()

    def remarks(self) -> Iterable[str]:
        """Always empty, because remarks are added during the steps."""
        return ()

    def restart(self) -> None:
        """Does nothing, because the integrator chooses its steps."""

    def jacobian(self, time: float, states: Floats) -> Floats | None:
        """(n, n) df/dx at this time [s] and states (n,); None if the integrator cannot compute it, or an FMU rejects a
        call.
        """
        columns = self._native.jacobian(time, states.tolist())
        n = len(states)
        return columns.reshape(n, n).T if len(columns) == n * n else None

    def run(self, rows: Floats) -> StepBatch:
        """Compute as many rows as fit."""
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


class OdeBesideSteps(SystemSteps):
    """Steps of a mixed system; rows of events of the ODE are inserted between those of macro steps."""

    def __init__(self, loaded: LoadedSystem, assembly: Assembly, *, resumed: bool = False) -> None:
        kernel = loaded.native.kernel_of_ode()  # the ODE is an instance of the kernel of the system
        kernel.report_time(assembly.logging.clock.address)
        self._events = EventsBetweenPoints(assembly.plan)
        self._told = 0, 0
        self._waiting = False  # finished rows wait for space
        own = replace(assembly, explain_ode=self._explain_ode, ode_kernel=kernel)
        super().__init__(loaded, own, resumed=resumed)
        self.limit = assembly.plan.interval.stop

    def _begin_ode(self, *, resumed: bool) -> None:
        self._ode = OdeInSystem(self._native, self.assembly.of_ode, self._native.loops_of_ode)
        if not resumed:
            self._native.begin_beside()
        self._ode.remark()

    def _explain_ode(self) -> Failure:
        """Failure of the last step of the ODE."""
        try:
            self._native.rethrow()
        except (Stopped, Refused) as error:
            return self._ode.failure(error, self._native.time_of_ode)

    def _new_counts(self) -> tuple[int, int]:
        """Numbers of events of the ODE and of evaluations of f since the last call."""
        before, self._told = self._told, self._native.counts_of_ode()
        return self._told[0] - before[0], self._told[1] - before[1]

    def remarks(self) -> Iterator[str]:
        yield from self._events.remarks()
        yield from super().remarks()

    def _time_of(self, component: str, time: float) -> float:
        # An ODE with its own events has its own time, which may differ slightly from that of the macro steps.
        apart = not self.assembly.plan.event_modes.with_ode
        integrated = component in {one.name for one in self.assembly.plan.integrated}
        return self._native.time_of_ode if apart and integrated else time

    def show_end(self, time: float) -> None:
        self._native.show_end(time)

    def run(self, rows: Floats) -> StepBatch:
        batch = StepBatch(0)
        if self.failure is None or self._waiting:
            done = self._advanced(rows)
            self._waiting = done.waiting
            for t, at_point in done.events_between:
                self._events.add(t, at_point=at_point)
            batch = self._batch(done)._replace(points=np.array(done.points, dtype=bool))
            batch = self._judged(batch, rows)
            self._waiting &= batch.steps == done.steps
        self._ode.remark()
        own, evaluations = self._new_counts()
        failure = None if self._waiting else self.failure
        return batch._replace(failure=failure, events=batch.events + own, evaluations=evaluations)

    def go_back(self, number: int) -> None:
        super().go_back(number)
        self._waiting = False
        self._new_counts()  # discard counts of undone steps
