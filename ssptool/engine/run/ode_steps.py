"""Steps of a system with an ODE, which a C++ system integrates: of an ODE alone, or of a mixed system."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

from ssptool.documents.diagnostics import BadData
from ssptool.engine.assembly.assembly import Assembly
from ssptool.engine.failure import Failure, failure_of_input
from ssptool.engine.kernel.calls import Code, Floats, Outcome, functions_of_exchange
from ssptool.engine.kernel.ode import IntegrationEvent
from ssptool.engine.kernel.solutions import StepBatch, SystemRefusal
from ssptool.engine.ode.events_between import EventsBetweenPoints
from ssptool.engine.ode.solvers import choose_solver, on_retreat
from ssptool.engine.planning.interval import coarseness
from ssptool.engine.run.coupling import Evaluation, evaluation_in
from ssptool.engine.run.frozen_integration import integrator_of
from ssptool.engine.run.initialization import refused_call
from ssptool.engine.run.loops import WRONG_DERIVATIVES as WRONG_IN_LOOP
from ssptool.engine.run.system import LoadedSystem, SystemSteps

WRONG_DERIVATIVES = (
    "directional derivatives of a component of model exchange are wrong: finite differences replace them"
)


class OdeSteps(SystemSteps):
    """Steps of a system with an ODE, which is the whole system or is next to other components; rows of its events
    are inserted between those of macro steps.
    """

    def __init__(self, loaded: LoadedSystem, assembly: Assembly, *, resumed: bool = False) -> None:
        self._alone = assembly.plan.is_one_ode
        self._events = EventsBetweenPoints(assembly.plan)
        self._waiting = False  # finished rows wait for space
        if not self._alone:
            kernel = loaded.native.kernel_of_ode()  # the ODE is an instance of the kernel of the system
            kernel.report_time(assembly.logging.clock.address)
            assembly = replace(assembly, explain_ode=self._explain_ode, ode_kernel=kernel)
        super().__init__(loaded, assembly, resumed=resumed)
        self.limit = assembly.plan.interval.stop

    def _begin(self, *, resumed: bool) -> SystemRefusal | Failure | None:
        self._integrate()
        if resumed and self._alone:
            self._go_on()
        elif not resumed:
            self._native.begin_alone() if self._alone else self._native.begin_beside()
        self._remark_events()
        return None if self._alone else super()._begin(resumed=resumed)

    def _integrate(self) -> None:
        """Give the coupled system the solver of the ODE."""
        plan, assembly = self.assembly.plan, self.assembly
        self._method, cvode = choose_solver(integrator_of(plan).method, assembly.remark)
        # Next to other components, functions are sampled at communication points.
        sample = self._sample if self._alone and self._sources.functions else None
        self._native.integrate(self._method, cvode, self._explained, self._explained_refusal, sample)
        assembly.at_end.callback(self._native.let_go)
        if note := coarseness(plan.interval.step, plan.interval.start, plan.interval.stop):
            assembly.remark(note)

    def _remark_events(self) -> None:
        """Add remarks on events of the integration since the last call."""
        for what, t, reason in self._native.take_remarks():
            match IntegrationEvent(what):
                case IntegrationEvent.RETREAT:
                    self.assembly.remark(on_retreat(self._method, t, reason))
                case IntegrationEvent.WRONG_DERIVATIVES:
                    self.assembly.remark(WRONG_DERIVATIVES)
                case IntegrationEvent.WRONG_DERIVATIVES_IN_LOOP:
                    self.assembly.remark(WRONG_IN_LOOP)

    @cached_property
    def _evaluation_of_ode(self) -> Evaluation:
        """Messages about loops of the ODE."""
        return self._evaluation if self._alone else evaluation_in(self.assembly.of_ode, self._native.loops_of_ode)

    def _sample(self, t: float, begin: float, end: float, now: float) -> Failure | None:
        try:
            self._sources.functions.sample(t, begin, end)
        except BadData as error:
            return failure_of_input(error, now)
        return None

    def _explained(self, outcome: Outcome, t: float) -> Failure:
        return self._refused(outcome, t) or self._evaluation_of_ode.explain(outcome, t)

    def _explained_refusal(self, refusal: SystemRefusal, t: float) -> Failure:
        return self.assembly.refused(refused_call(self.assembly, refusal), t)

    def _refused(self, outcome: Outcome, t: float) -> Failure | None:
        """Failure from a rejected call of a function of model exchange."""
        plan = self.assembly.plan
        if outcome.code is not Code.FMI or plan.ode is None or outcome.instance not in plan.ode.instances:
            return None
        planned = plan.instances[outcome.instance]
        if outcome.function not in functions_of_exchange(planned.description.fmi_major):
            return None
        return self._explained_refusal(SystemRefusal(planned.name, outcome.function, outcome.fmi_status), t)

    def jacobian(self, time: float, states: Floats) -> Floats | None:
        """(n, n) df/dx at this time [s] and states (n,); None if the integrator cannot compute it, or an FMU rejects a
        call.
        """
        columns = self._native.jacobian(time, states.tolist())
        n = len(states)
        return columns.reshape(n, n).T if len(columns) == n * n else None

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
        apart = not self._alone and not self.assembly.plan.event_modes.with_ode
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
        self._remark_events()
        return batch._replace(failure=None if self._waiting else self.failure)

    def go_back(self, number: int) -> None:
        super().go_back(number)
        self._waiting = False
