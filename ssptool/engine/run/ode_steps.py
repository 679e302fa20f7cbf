"""Steps of a system with an ODE, which a C++ system integrates: of an ODE alone, or of a mixed system."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from ssptool.documents.diagnostics import BadData
from ssptool.engine.assembly.assembly import Assembly
from ssptool.engine.failure import Failure, failure_of_input
from ssptool.engine.kernel.calls import Code, Floats, Outcome, Stretches, functions_of_exchange
from ssptool.engine.kernel.ode import IntegrationEvent
from ssptool.engine.kernel.solutions import StepBatch, SystemRefusal
from ssptool.engine.masters.protocols import NONE_UNCONVERGED, Unconverged
from ssptool.engine.ode.events_between import EventsBetweenPoints
from ssptool.engine.ode.solvers import choose_solver, on_retreat
from ssptool.engine.planning.interval import coarseness
from ssptool.engine.planning.stimuli import SampledFunctions, slot_sources
from ssptool.engine.run.coupling import Evaluation, evaluation_in
from ssptool.engine.run.frozen_integration import integrator_of
from ssptool.engine.run.initialization import refused_call
from ssptool.engine.run.loops import WRONG_DERIVATIVES as WRONG_IN_LOOP
from ssptool.engine.run.system import LoadedSystem, StepsOfSystem, SystemSteps

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

    @cached_property
    def evaluation(self) -> Evaluation:
        """Messages about loops of the ODE."""
        return evaluation_in(self._assembly, self._loops)

    def _sample(self, t: float, begin: float, end: float, now: float) -> Failure | None:
        assert self._functions is not None
        try:
            self._functions.sample(t, begin, end)
        except BadData as error:
            return failure_of_input(error, now)
        return None

    def _explained(self, outcome: Outcome, t: float) -> Failure:
        return self._refused(outcome, t) or self.evaluation.explain(outcome, t)

    def _explained_refusal(self, refusal: SystemRefusal, t: float) -> Failure:
        return self._assembly.refused(refused_call(self._assembly, refusal), t)

    def _refused(self, outcome: Outcome, t: float) -> Failure | None:
        """Failure from a rejected call of a function of model exchange."""
        plan = self._assembly.plan
        if outcome.code is not Code.FMI or plan.ode is None or outcome.instance not in plan.ode.instances:
            return None
        planned = plan.instances[outcome.instance]
        if outcome.function not in functions_of_exchange(planned.description.fmi_major):
            return None
        return self._explained_refusal(SystemRefusal(planned.name, outcome.function, outcome.fmi_status), t)


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
        found = self._native.run(self.limit, rows, None)
        self._loaded.check_logs()
        self._ode.remark()
        return found if found.stopped is None else found._replace(failure=self._stopped(found.stopped, found.begin))


class OdeBesideSteps(SystemSteps):
    """Steps of a mixed system; rows of events of the ODE are inserted between those of macro steps."""

    def __init__(self, loaded: LoadedSystem, assembly: Assembly, *, resumed: bool = False) -> None:
        kernel = loaded.native.kernel_of_ode()  # the ODE is an instance of the kernel of the system
        kernel.report_time(assembly.logging.clock.address)
        self._events = EventsBetweenPoints(assembly.plan)
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
        reason = self._native.failure_of_ode()
        assert reason is not None  # the step has failed
        return self._stopped(reason, self._native.time_of_ode)

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
        batch = StepBatch()
        if self.failure is None or self._waiting:
            batch = self._advanced(rows)
            self._waiting = batch.waiting
            for t, at_point in batch.events_between:
                self._events.add(t, at_point=at_point)
        self._ode.remark()
        return batch._replace(failure=None if self._waiting else self.failure)

    def go_back(self, number: int) -> None:
        super().go_back(number)
        self._waiting = False
