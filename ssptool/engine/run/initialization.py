"""Consistent initialization: from loaded FMUs to a system whose connected values agree at the start time.

FMUs of FMI 1.0 have no initialization mode: `fmiInitializeSlave` takes such an FMU from its start values to the start
time at once. It is called when the evaluation reaches the FMU for the first time, with all inputs known by then. Its
initial state may depend on inputs that are known later or change: then the FMU is reset and initialized again, and the
system is evaluated again, until each FMU was initialized with the inputs that it has."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from time import perf_counter
from typing import NamedTuple

import numpy as np

from ssptool.engine.assembly.applied_stimuli import propagate_at_start, unsettled
from ssptool.engine.assembly.assembly import Assembly
from ssptool.engine.failure import Ending, Failure, IntegrationStopped
from ssptool.engine.kernel.interface import Call, SolveLoop, copy_slots, read_slot, write_slot
from ssptool.engine.method_names import InitName, WarningsName
from ssptool.engine.planning.plan import Feedthrough, Plan, PlannedInstance
from ssptool.engine.planning.schedule import LOOP_CONVERGENCE
from ssptool.engine.run.contradictions import UnheldStart, overridden_starts, undeclared_feedthrough, unheld_starts
from ssptool.engine.run.loops import ComponentFailed, LoopReport, RunningLoop
from ssptool.errors import abbreviated
from ssptool.fmu.description import Value
from ssptool.fmu.instance import FATAL, FmiError, FmuInstance
from ssptool.fmu.messages import status_word
from ssptool.network.network import Signal

_NOTHING: Mapping[str, Value] = {"Boolean": False, "String": "", "Float64": 0.0}

ROUNDS = 50
"""Largest number of evaluations of the system, besides one per such FMU, which a chain of them takes."""


def stated_value(planned: PlannedInstance, name: str) -> Value:
    """Value of a variable before its FMU can be asked."""
    variable = planned.description.variables[name]
    given = planned.starts.get(name, variable.start)
    return _NOTHING.get(variable.type, 0) if given is None else given


class Fmi1Initialization:
    """Initialize the FMI 1.0 FMUs of an assembly, which have no initialization mode."""

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        self._plan = assembly.plan
        instances = enumerate(assembly.instances)
        self._groups = {index: assembly.kernel.group((index,)) for index, one in instances if one.starts_over}
        self._sources = {wire.destination: wire.source for wire in self._plan.wires}
        self._known = set(self._plan.constants)
        self._with: dict[int, Mapping[str, Value]] = {}  # the inputs that each was initialized with

    def __bool__(self) -> bool:
        return bool(self._groups)

    @property
    def most_rounds(self) -> int:
        return most_rounds(self._plan)

    def before(self, step: Call | SolveLoop) -> None:
        """Initialize what a step of the schedule calls for the first time. Raises `FmiError`."""
        for call in self._calls(step):
            self._begin(call.instance)

    def after(self, step: Call | SolveLoop) -> None:
        """The outputs of a step are known."""
        for call in self._calls(step):
            self._known.update(call.outputs)

    def rest(self) -> None:
        """Initialize those that the schedule does not call. Raises `FmiError`."""
        for index in self._groups:
            self._begin(index)

    def renew(self) -> list[str]:
        """Initialize the FMUs again whose inputs have changed since their initialization; returns these FMUs.

        Raises
        ------
        FmiError
        """
        found = []
        for index, group in self._groups.items():
            planned, instance = self._plan.instances[index], self._assembly.instances[index]
            self._assembly.kernel.exchange(group)
            now = self._cells(planned)
            changed = [name for name in now if self._differ(planned, name, now[name], self._with[index][name])]
            if changed:
                instance.start_over({**planned.starts, **now})
                self._with[index] = now
                found += [str(Signal(planned.name, name)) for name in changed]
        return found

    def refused(self, error: FmiError) -> Failure:
        """An FMU that refused to be begun; what to do if it only refuses to be reset."""
        failure = self._assembly.refused(error, self._plan.interval.start)
        if error.function != RESET:
            return failure
        index = [one.name for one in self._plan.instances].index(error.instance)
        now = self._cells(self._plan.instances[index])
        changed = {name: value for name, value in now.items() if value != self._with[index][name]}
        return refused_reset(failure, changed)

    def unsettled(self, inputs: list[str]) -> Failure:
        """The rounds are over, and these inputs still change."""
        return unsettled_inputs(self._plan, inputs)

    def _begin(self, index: int) -> None:
        if index not in self._groups or index in self._with:
            return
        plan, kernel, instance = self._plan, self._assembly.kernel, self._assembly.instances[index]
        planned = plan.instances[index]
        kernel.exchange(self._groups[index])
        fed = [
            signal.variable
            for signal, slot in zip(planned.inputs, planned.input_slots, strict=True)
            if self._sources.get(slot) in self._known
        ]
        now = self._cells(planned)
        instance.set({**planned.starts, **{name: now[name] for name in fed}})
        instance.enter_initialization(plan.interval.start, plan.interval.stop, None)
        inputs = [signal.variable for signal in planned.inputs]
        try:
            self._with[index] = instance.get(inputs)
        except FmiError as error:
            if error.status == FATAL:
                raise
            stated = {name: stated_value(planned, name) for name in inputs}
            self._with[index] = stated | {name: now[name] for name in fed}
        for signal, slot in zip(planned.inputs, planned.input_slots, strict=True):
            write_slot(kernel, slot, plan.types[slot], self._with[index][signal.variable])

    def _calls(self, step: Call | SolveLoop) -> Iterator[Call]:
        if isinstance(step, Call):
            yield step
        else:
            yield from self._plan.loops[step.loop].calls.body

    def _cells(self, planned: PlannedInstance) -> dict[str, Value]:
        kernel, types = self._assembly.kernel, self._plan.types
        slots = zip(planned.inputs, planned.input_slots, strict=True)
        return {signal.variable: read_slot(kernel, slot, types[slot]) for signal, slot in slots}

    @staticmethod
    def _differ(planned: PlannedInstance, name: str, one: Value, other: Value) -> bool:
        if not isinstance(one, float) or not isinstance(other, float):
            return one != other
        scale = max(abs(one), planned.description.variables[name].nominal)
        return not abs(one - other) <= LOOP_CONVERGENCE.rtol * scale


RESET = "fmiResetSlave"


def refused_reset(failure: Failure, changed: Mapping[str, Value]) -> Failure:
    """Failure of a reset by an FMU of FMI 1.0, of which these inputs have changed since it was initialized."""
    settings = " ".join(f"--set {failure.component}.{name}={value!r}" for name, value in changed.items())
    return replace(
        failure,
        message=f"{failure.message}; its inputs changed after its initialization, so it must be initialized again: "
        "FMI 1.0 has no initialization mode",
        advice=f"give it these inputs as start values: {settings}",
    )


def most_rounds(plan: Plan) -> int:
    """Largest number of evaluations of the system until all inputs of FMUs of FMI 1.0 have settled."""
    return ROUNDS + sum(one.description.fmi_major == 1 for one in plan.instances)


def unsettled_inputs(plan: Plan, inputs: Sequence[str]) -> Failure:
    """Failure of an initialization in which these inputs of FMUs of FMI 1.0 still change."""
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
        Every algebraic loop that was solved or tried: in initialization mode, then at the first communication
        point.
    failure
        Reason of a failed initialization; None if the system is initialized.
    seconds : [s]
        Wall time.
    notes
        Given start values that are not those of the initialized system.
    unheld
        Parameters and the like whose FMUs have other values than those that were set or declared.
    """

    loops: tuple[LoopReport, ...]
    failure: Failure | None
    seconds: float
    notes: tuple[str, ...] = ()
    unheld: tuple[UnheldStart, ...] = ()

    @property
    def ok(self) -> bool:
        return self.failure is None


class InitializedSystem(NamedTuple):
    """A system at the start time; `loops` by their number in the plan, ready for the kernel's schedules.

    `undeclared` feedthrough is in no schedule: the system has to be planned with it, and initialized again.
    """

    loops: dict[int, RunningLoop]
    report: InitializationReport
    undeclared: tuple[Feedthrough, ...] = ()


def initialize(assembly: Assembly) -> InitializedSystem:
    """Set start values, solve for consistent initial values, leave initialization mode, evaluate the first
    row.

    What goes wrong is in the report: the first failure ends it.
    """
    return carried_through(Initialization(assembly))


def carried_through(run: "Initialization") -> InitializedSystem:
    """Initialize by the passes of this object, as `initialize` does."""
    began, assembly = perf_counter(), run.assembly
    failure: Failure | None = None
    start = assembly.plan.interval.start
    try:
        run.pass_through()
    except IntegrationStopped as stopped:
        failure = stopped.failure
    except FmiError as error:
        failure = assembly.refused(error, start)
    except ComponentFailed as error:
        failure = assembly.explain(error.outcome, start)
    seconds = perf_counter() - began
    report = InitializationReport(tuple(run.reports), failure, seconds, tuple(run.notes), run.unheld)
    return InitializedSystem(run.kernel_loops, report, run.undeclared)


class Initialization:
    """The passes of one initialization."""

    def __init__(self, assembly: Assembly) -> None:
        self.assembly = assembly
        self.plan = assembly.plan
        self.kernel = assembly.kernel
        self.reports: list[LoopReport] = []
        self.notes: list[str] = []
        self.kernel_loops: dict[int, RunningLoop] = {}
        self.undeclared: tuple[Feedthrough, ...] = ()
        self.unheld: tuple[UnheldStart, ...] = ()
        self.second_guesses: dict[int, float] = {}
        self.at_events = [] if assembly.events is None else [assembly.events]
        if assembly.integrated is not None:
            self.at_events.append(assembly.integrated)

    @cached_property
    def beginnings(self) -> Fmi1Initialization:
        return Fmi1Initialization(self.assembly)

    def pass_through(self) -> None:
        self.lead_through()
        for planned, instance in zip(self.plan.instances, self.assembly.instances, strict=True):
            self.notes += overridden_starts(planned, instance)
        if self.plan.settings.warnings is WarningsName.ON:
            self.unheld = unheld_starts(self.assembly)
        self.evaluate_first_point()
        if self.plan.settings.warnings is WarningsName.ON:
            self.undeclared = undeclared_feedthrough(self.assembly)

    def lead_through(self) -> None:
        """Lead all components from start values through initialization mode."""
        self._enter()
        self._guess()
        self._make_consistent()
        self._pass_on_at_start()
        self._set_clocks()
        for instance in self.assembly.instances:
            instance.exit_initialization()

    def _enter(self) -> None:
        interval = self.plan.interval
        for planned, instance in zip(self.plan.instances, self.assembly.instances, strict=True):
            if instance.starts_over:
                continue
            if planned.structure:
                instance.configure(planned.structure)
            if planned.starts:
                instance.set(planned.starts)
            instance.enter_initialization(interval.start, interval.stop, None)
        propagate_at_start(self.plan, {instance.name: instance for instance in self.assembly.instances})

    def _settle(self) -> None:
        """Repeat initialization with FMI 1.0 FMUs until each was initialized with the inputs that it has."""
        beginnings = self.beginnings
        try:
            for step in self.plan.initialization:
                beginnings.before(step)
                self._walk([step], self._solve_at_start)
                beginnings.after(step)
            beginnings.rest()
            for _ in range(beginnings.most_rounds):
                changed = beginnings.renew()
                if not changed:
                    return
                self.reports.clear()
                self._walk(self.plan.initialization, self._solve_at_start)
        except FmiError as error:
            raise IntegrationStopped(beginnings.refused(error)) from error
        raise IntegrationStopped(beginnings.unsettled(changed))

    def _guess(self) -> None:
        """Present values of inputs and of torn outputs; over them what the system says of its inputs and
        loops.

        Other outputs are not asked for: before its inputs are set, an FMU may not be able to compute them.
        """
        values = self.kernel.values
        cut = self.plan.cut
        for (planned, slots), instance in zip(self.plan.first_guesses(), self.assembly.instances, strict=True):
            names = [self.plan.signals[slot].variable for slot in slots]
            if instance.starts_over:
                found: Mapping[str, Value] = {name: stated_value(planned, name) for name in names}
            else:
                found = self._asked(planned, instance, names)
            for slot, name in zip(slots, names, strict=True):
                write_slot(self.kernel, slot, self.plan.types[slot], found[name])
        real = np.ones(len(values), dtype=bool)
        real[list(self.plan.integers)] = False
        values[real & ~np.isfinite(values)] = 0.0
        for events in self.at_events:
            events.present()
        # The start value of an output may be invalid for its component; that of the input that it feeds is valid.
        for wire in self.plan.wires:
            if wire.source in cut and real[wire.source] and wire.conversion.factor:
                back = (values[wire.destination] - wire.conversion.offset) / wire.conversion.factor
                self.second_guesses[wire.source] = float(back)
        for slot, value in {**self.plan.constants, **self.plan.guesses}.items():
            write_slot(self.kernel, slot, self.plan.types[slot], value)

    def _asked(self, planned: PlannedInstance, instance: FmuInstance, names: Sequence[str]) -> Mapping[str, Value]:
        """Present values; what an FMU is stated to have if it refuses to return inputs."""
        try:
            return instance.get(names)
        except FmiError as error:
            if error.status == FATAL or (instance.process is not None and instance.process.lost):
                raise
            self.notes += refused_guesses(planned, error.function, error.status, names)
            return {name: stated_value(planned, name) for name in names}

    def _make_consistent(self) -> None:
        if self.beginnings:
            self._settle()
        else:
            self._walk(self.plan.initialization, self._solve_at_start)

    def _pass_on_at_start(self) -> None:
        """Exchange discrete signals without a clock until they settle."""
        for _ in range(MAX_ITERATIONS):
            changed = [signal for events in self.at_events for signal in events.propagate_at_start()]
            if not changed:
                return
            self._make_consistent()
        raise IntegrationStopped(self._unsettled("discrete signals", changed))

    def _unsettled(self, what: str, signals: Iterable[Signal | str]) -> Failure:
        what = f"{what} do not settle in initialization mode"
        return unsettled(what, signals, MAX_ITERATIONS, self.plan.interval.start)

    def _set_clocks(self) -> None:
        for events in self.at_events:
            events.clock_schedule.begin()

    def _walk(
        self, steps: Sequence[Call | SolveLoop], solve: Callable[[int], None], assembly: Assembly | None = None
    ) -> None:
        assembly = assembly or self.assembly
        for step in _runs(steps):
            if isinstance(step, SolveLoop):
                solve(step.loop)
                continue
            outcome = assembly.perform(step)
            if not outcome.ok:
                raise IntegrationStopped(assembly.explain(outcome, self.plan.interval.start))

    def _solve_at_start(self, number: int) -> None:
        self._solve(RunningLoop(self.assembly, self.plan.loops[number], number), self.plan.init)

    def _solve_for_kernel(self, number: int, assembly: Assembly | None = None) -> None:
        loop = RunningLoop(assembly or self.assembly, self.plan.loops[number], number)
        self._solve(loop, InitName.AUTO)
        loop.for_kernel()
        self.kernel_loops[number] = loop

    def _solve(self, loop: RunningLoop, how: InitName) -> None:
        report = loop.solve(how, self.plan.interval.start, self.second_guesses)
        self.reports.append(report)
        if not report.ok:
            raise IntegrationStopped(report.failure())

    def evaluate_first_point(self) -> None:
        """Outputs after initialization mode, loops included, so that the first row is consistent in
        itself.
        """
        outputs = [
            Call(index, (), planned.output_slots)
            for index, planned in enumerate(self.plan.instances)
            if planned.output_slots
        ]
        self._walk(outputs, self._solve_for_kernel)
        for group in self.plan.groups:
            self._walk(group.schedule, self._solve_for_kernel)
        if self.plan.coupled_ode is not None:
            own = self.assembly.of_ode
            copy_slots(self.kernel, own.kernel, np.arange(len(self.kernel.values)), self.plan.numbered)
            self._walk(self.plan.coupled_ode.schedule, lambda number: self._solve_for_kernel(number, own), own)


def refused_guesses(planned: PlannedInstance, function: str, status: int, names: Sequence[str]) -> Iterator[str]:
    """Note on first guesses of these variables, for which an FMU was asked in vain."""
    variables = planned.description.variables
    unknown = [name for name in names if planned.starts.get(name, variables[name].start) is None]
    if unknown:
        yield (
            f"{function} of {planned.name} returned {status_word(status)} for its inputs: the first guess of "
            f"{abbreviated(unknown)}, without a start value, is 0"
        )


def _runs(steps: Sequence[Call | SolveLoop]) -> Iterator[tuple[Call, ...] | SolveLoop]:
    """Consecutive calls together."""
    calls: list[Call] = []
    for step in steps:
        if isinstance(step, Call):
            calls.append(step)
            continue
        if calls:
            yield tuple(calls)
            calls = []
        yield step
    if calls:
        yield tuple(calls)
