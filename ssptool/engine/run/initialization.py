"""Consistent initialization: report on the solved loops, failed calls, and contradictions of FMUs."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from ssptool.engine.assembly.applied_stimuli import endless_parameters, unsettled
from ssptool.engine.assembly.assembly import Assembly
from ssptool.engine.failure import Ending, Failure, RunError
from ssptool.engine.kernel.slot_values import read_slot
from ssptool.engine.kernel.solutions import SystemRefusal, Unsettled
from ssptool.engine.method_names import WarningsName
from ssptool.engine.planning.plan import Feedthrough, FoundAtStart, Plan, PlannedInstance
from ssptool.engine.run.contradictions import UnheldStart, overridden_starts, unheld_starts
from ssptool.engine.run.feedthrough import undeclared_feedthrough
from ssptool.engine.run.loops import LoopReport, RunningLoop
from ssptool.errors import abbreviated
from ssptool.fmu.description import Value
from ssptool.fmu.instance import NO_FUNCTION, FmiError
from ssptool.fmu.messages import status_word

if TYPE_CHECKING:
    from ssptool.engine.kernel._kernel import NativeSystem

ROUNDS = 50
"""Largest number of evaluations of the system, in addition to one for each FMI 1.0 FMU, which a chain of them needs."""


RESET = "fmiResetSlave"


def refused_reset(failure: Failure, changed: Mapping[str, Value]) -> Failure:
    """Failure of the reset of an FMI 1.0 FMU that is needed because these inputs have changed since its
    initialization.
    """
    settings = " ".join(f"--set {failure.component}.{name}={value!r}" for name, value in changed.items())
    return replace(
        failure,
        message=f"{failure.message}; its inputs changed after its initialization, so it must be initialized again: "
        "FMI 1.0 has no initialization mode",
        advice=f"give it these inputs as start values: {settings}",
    )


def most_rounds(plan: Plan) -> int:
    """Largest number of evaluations of the system until all inputs of FMI 1.0 FMUs have settled."""
    return ROUNDS + sum(one.description.fmi_major == 1 for one in plan.instances)


def unsettled_inputs(plan: Plan, inputs: Sequence[str]) -> Failure:
    """Failure of an initialization in which these inputs of FMI 1.0 FMUs still change."""
    return Failure(
        Ending.LOOP,
        f"after {most_rounds(plan)} rounds, initial inputs of FMUs of FMI 1.0 still change: {', '.join(inputs)}; a "
        "loop through initial states cannot be solved without an initialization mode",
        "give start values for these inputs, or export the FMUs as FMI 2.0",
        plan.interval.start,
    )


MAX_ITERATIONS = 100
"""Largest number of iterations that exchange discrete signals before the first event."""


class InitializationReport(NamedTuple):
    """Report on initialization.

    Attributes
    ----------
    loops
        Reports on all algebraic loops that were solved or tried: in initialization mode, then at the first
        communication point.
    failure
        Reason of a failed initialization; None if the system is initialized.
    seconds : [s]
        Wall time.
    notes
        Notes on given start values that differ from those of the initialized system.
    unheld
        Parameters and similar variables whose FMUs have other values than the given or declared ones.
    """

    loops: tuple[LoopReport, ...]
    failure: Failure | None
    seconds: float
    notes: tuple[str, ...] = ()
    unheld: tuple[UnheldStart, ...] = ()

    @property
    def ok(self) -> bool:
        return self.failure is None


class Initialization:
    """One initialization, carried out by a C++ system.

    Attributes
    ----------
    reports
        Reports on loops so far.
    """

    def __init__(self, assembly: Assembly, native: "NativeSystem", check_logs: Callable[[], None]) -> None:
        """`check_logs` raises errors of writing a log."""
        self._assembly, self._native, self._check_logs = assembly, native, check_logs
        self._plan = assembly.plan
        self._reports: list[LoopReport] = []
        self._notes: list[str] = []
        self._found: FoundAtStart | None = None
        self._unheld: tuple[UnheldStart, ...] = ()

    def carried_out(self) -> tuple[InitializationReport, FoundAtStart | None]:
        """Set start values, solve for consistent initial values, leave initialization mode, evaluate the first row.

        The first failure ends the initialization, and is part of the report. Also returns facts that the plan lacks, if
        some were found.
        """
        began, assembly = perf_counter(), self._assembly
        failure: Failure | None = None
        start = self._plan.interval.start
        try:
            self._pass_through()
        except RunError as stopped:
            failure = stopped.failure
        except FmiError as error:
            failure = assembly.refused(error, start)
        seconds = perf_counter() - began
        report = InitializationReport(tuple(self._reports), failure, seconds, tuple(self._notes), self._unheld)
        return report, self._found

    def _pass_through(self) -> None:
        self._lead_through()
        for planned, instance in zip(self._plan.instances, self._assembly.instances, strict=True):
            self._notes += overridden_starts(planned, instance)
        warns = self._plan.settings.warnings is WarningsName.ON
        if warns:
            self._unheld = unheld_starts(self._assembly)
        self._evaluate_first_point()
        undeclared = self._found_feedthrough() if warns else ()
        substeps = self._found_substeps() if self._plan.by_need and not undeclared else {}
        if undeclared or substeps:
            self._found = FoundAtStart(undeclared, tuple(substeps.items()))

    def _found_feedthrough(self) -> tuple[Feedthrough, ...]:
        """Direct feedthrough that FMUs have but do not declare."""
        found = self._native.undeclared_feedthrough()
        if isinstance(found, SystemRefusal):
            raise refused_call(self._assembly, found)
        return undeclared_feedthrough(self._plan, found)

    def _found_substeps(self) -> Mapping[str, int]:
        """Number of substeps of components that get as many as they need."""
        from ssptool.engine.run.needed_substeps import found_substeps  # few runs have them

        numbers = self._native.needed_substeps()
        if isinstance(numbers, SystemRefusal):
            raise refused_call(self._assembly, numbers)
        found, failure = found_substeps(self._plan, numbers)
        if failure is not None:
            raise RunError(failure)
        return found

    def _lead_through(self) -> None:
        """Initialize all components: from start values through initialization mode."""
        reason = self._native.initialize()
        self._check_logs()
        self._assembly.restore_surroundings("in initialization")
        for number, instance in enumerate(self._assembly.instances):
            instance.was_initialized(done=self._native.initialized(number))
        self._notes += self._of_refused_guesses()
        self._report(reason)

    def _evaluate_first_point(self) -> None:
        """Evaluate outputs after initialization mode, including loops, so that the first row is consistent."""
        reason = self._native.first_point()
        self._check_logs()
        self._report(reason)

    def _of_refused_guesses(self) -> Iterator[str]:
        planned = {one.name: (one, slots) for one, slots in self._plan.first_guesses()}
        for refusal in self._native.refused_guesses:
            one, slots = planned[refusal.component]
            names = [self._plan.signals[slot].variable for slot in slots]
            yield from refused_guesses(one, refusal.function, refusal.status, names)

    def _report(self, refusal: SystemRefusal | Failure | None) -> None:
        """Make reports on loops so far; raise the error of a failed initialization for `carried_out`."""
        start, loops = self._plan.interval.start, self._plan.loops
        for one in self._native.solved(len(self._reports)):
            loop = RunningLoop(self._assembly, loops[one.number], one.number, -1)
            self._reports.append(loop.report(one.solution, start, one.iterates))
        if refusal is None:
            return
        if isinstance(refusal, Failure):
            raise RunError(refusal)
        if refusal.outcome is not None:
            raise RunError(self._assembly.explain(refusal.outcome, start))
        if refusal.loop is not None:
            raise RunError(self._reports[-1].failure())
        if refusal.unsettled is not Unsettled.NOTHING:
            raise RunError(self._unsettled_in(refusal))
        error = refused_call(self._assembly, refusal)
        if refusal.function == RESET:
            failure = self._assembly.refused(error, start)
            raise RunError(refused_reset(failure, self._values(refusal.names)))
        raise error

    def _unsettled_in(self, refusal: SystemRefusal) -> Failure:
        start = self._plan.interval.start
        if refusal.unsettled is Unsettled.INPUTS_WITHOUT_MODE:
            return unsettled_inputs(self._plan, refusal.names)
        if refusal.unsettled is Unsettled.DISCRETE_SIGNALS:
            what = "discrete signals do not settle in initialization mode"
            return unsettled(what, refusal.names, MAX_ITERATIONS, start)
        return endless_parameters(refusal.names, start)

    def _values(self, names: Collection[str]) -> dict[str, Value]:
        """Present values of signals of one component, by variable name."""
        signals, types, kernel = self._plan.signals, self._plan.types, self._assembly.kernel
        slots = [slot for slot, signal in enumerate(signals) if str(signal) in names]
        return {signals[slot].variable: read_slot(kernel, slot, types[slot]) for slot in slots}


def refused_call(assembly: Assembly, refusal: SystemRefusal) -> FmiError:
    """Error for an FMI function that a component rejected."""
    instance = next(one for one in assembly.instances if one.name == refusal.component)
    instance.note(refusal.status)
    advice = "" if instance.has(refusal.function) else NO_FUNCTION
    return FmiError(instance.name, refusal.function, refusal.status, instance.log.latest(), advice)


def refused_guesses(planned: PlannedInstance, function: str, status: int, names: Sequence[str]) -> Iterator[str]:
    """Note on first guesses of these variables that an FMU did not provide."""
    variables = planned.description.variables
    unknown = [name for name in names if planned.starts.get(name, variables[name].start) is None]
    if unknown:
        yield (
            f"{function} of {planned.name} returned {status_word(status)} for its inputs: the first guess of "
            f"{abbreviated(unknown)}, without a start value, is 0"
        )
