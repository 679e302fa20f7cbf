"""Steps of a system that is nothing but an ODE, which a system in C++ integrates."""

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ssptool.engine.assembly.assembly import Assembly
from ssptool.engine.assembly.running_events import as_stopped, explanation
from ssptool.engine.failure import Failure, IntegrationStopped
from ssptool.engine.kernel.event_calls import Refused, Stopped
from ssptool.engine.kernel.interface import Code, Floats, Outcome
from ssptool.engine.kernel.ode import IntegrationEvent
from ssptool.engine.masters.master import CoupledSystem, StepBatch
from ssptool.engine.masters.protocols import NONE_UNCONVERGED, InstanceGroup, Unconverged
from ssptool.engine.ode.integration import WRONG_DERIVATIVES, remark_on_coarseness
from ssptool.engine.ode.solvers import ChosenSolver, choose_solver, on_retreat
from ssptool.engine.run import loops
from ssptool.engine.run.coupling import Evaluation, evaluation_in, real_slots
from ssptool.engine.run.freeze import integrator_of
from ssptool.engine.run.loops import LoopWork
from ssptool.fmu.instance import FmiError
from ssptool.fmu.model_exchange import functions_of_exchange

if TYPE_CHECKING:
    from ssptool.engine.kernel._kernel import NativeSystem


class OdeInSystem:
    """The ODE of an initialized and coupled system: its solver, and its words."""

    def __init__(self, native: "NativeSystem", assembly: Assembly, evaluation: Callable[[], Evaluation]) -> None:
        self._native, self._assembly, self._evaluation = native, assembly, evaluation
        plan = assembly.plan
        self._solver: ChosenSolver = choose_solver(integrator_of(plan).method, assembly.remark)
        native.integrate(self._solver.kind, self._solver.cvode, self._explained)
        assembly.at_end.callback(native.let_go)
        remark_on_coarseness(assembly.remark, plan.interval)

    def remark(self) -> None:
        """Remarks on what has happened since the last time."""
        for what, t, reason in self._native.take_remarks():
            match IntegrationEvent(what):
                case IntegrationEvent.RETREAT:
                    self._assembly.remark(on_retreat(self._solver.kind, t, reason))
                case IntegrationEvent.WRONG_DERIVATIVES:
                    self._assembly.remark(WRONG_DERIVATIVES)
                case IntegrationEvent.WRONG_DERIVATIVES_IN_LOOP:
                    self._assembly.remark(loops.WRONG_DERIVATIVES)

    def failure(self, error: Stopped | Refused, t: float) -> Failure:
        """Failure at t [s]."""
        found = explanation(error, self._assembly.instances)
        return found.failure if isinstance(found, IntegrationStopped) else self._assembly.refused(found, t)

    def _explained(self, outcome: Outcome, t: float) -> Stopped:
        return as_stopped(self._refused(outcome, t) or self._evaluation().explain(outcome, t))

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


class OdeSteps:
    """Steps of a system that is nothing but an ODE.

    Attributes
    ----------
    limit : [s]
        No row is made beyond; there is one at it.
    """

    def __init__(self, native: "NativeSystem", assembly: Assembly) -> None:
        self._native, self._assembly = native, assembly
        self.kernel = assembly.kernel
        self.unobserved: list[Failure] = []
        self.limit = assembly.plan.interval.stop
        native.couple()
        self._ode = OdeInSystem(native, assembly, lambda: self._evaluation)
        native.begin_alone()
        self._ode.remark()

    @property
    def start(self) -> float:
        """[s]"""
        return self._assembly.plan.interval.start

    @cached_property
    def _evaluation(self) -> Evaluation:
        """Puts loops into words."""
        return evaluation_in(self._assembly, self._native.loops)

    @property
    def system(self) -> CoupledSystem:
        """The coupled system that a run in Python has, as far as the last row needs it."""
        plan, evaluation = self._assembly.plan, self._evaluation
        everyone = InstanceGroup(group=0, following=0, held=0, schedule=0)
        return CoupledSystem(
            kernel=self.kernel,
            start=self.start,
            step=plan.interval.step,
            recorded=np.array(plan.recorded, dtype=np.intp),
            everything=everyone,
            groups=(everyone,),
            evaluate=evaluation,
            explain=evaluation.explain,
            stop=plan.interval.stop,
            reals=real_slots(plan),
        )

    @property
    def unconverged(self) -> Unconverged:
        """None: there are no iterated steps."""
        return NONE_UNCONVERGED

    def remarks(self) -> Iterable[str]:
        """None beside those that were made meanwhile."""
        return ()

    def record(self, time: float, row: Floats) -> None:
        """Write the row of present values; what cannot be observed is remembered."""
        outcome = self.kernel.record(time, row)
        if not outcome.ok:
            self.unobserved.append(self._evaluation.explain(outcome, time))

    def count_rescues(self, rescues: LoopWork) -> None:
        """Loops that needed the full chain of solvers."""
        work = self._native.rescue_work
        rescues.solved, rescues.iterations = work.solved, work.iterations

    def restart(self) -> None:
        """The integrator chooses its steps."""

    def run(self, _first: int, rows: Floats) -> StepBatch:
        """As `Stepper.run`."""
        found = self._native.run_alone(self.limit, rows)
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
