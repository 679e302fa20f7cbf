"""Consistent initialization: from loaded FMUs to a system whose connected values agree at the start time."""

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from time import perf_counter
from typing import NamedTuple

import numpy as np

from ssptool.engine.assembly.assembly import Assembly
from ssptool.engine.assembly.clocks import WithoutInterval, without_interval
from ssptool.engine.assembly.event_members import OutOfRange
from ssptool.engine.assembly.propagation import pass_on_at_start, unsettled
from ssptool.engine.failure import Failure, IntegrationStopped
from ssptool.engine.kernel.interface import Call, SolveLoop
from ssptool.engine.kernel.slots import copy_cells, write_cell
from ssptool.engine.loops.solution import Solution
from ssptool.engine.planning.plan import PlannedInstance
from ssptool.engine.run.fmi1 import Fmi1Initialization
from ssptool.engine.run.loops import ComponentFailed, LoopReport, RunningLoop
from ssptool.engine.settings import InitName
from ssptool.fmu.description import Causality, Variable
from ssptool.fmu.instance import FmiError, FmuInstance
from ssptool.network.conversion import is_float
from ssptool.network.network import Signal

_TOLERANCE = 1e-6
"""Of a value, relative to it or to its nominal value if that is larger: what FMUs solve for at the start, they solve to
about so much."""

_COMPUTED = (Causality.OUTPUT, Causality.LOCAL)


def departures(planned: PlannedInstance, instance: FmuInstance) -> Iterator[str]:
    """What to say of each given value that an FMU does not have any more at the end of initialization mode.

    Asked for are variables that are neither parameters nor inputs, since only those may be too many: n states take n
    values, and one more, say of an acceleration, either repeats what these imply or contradicts it.
    """
    variables = planned.description.variables
    redundant = [name for name in planned.starts if _may_depart(variables[name])]
    if not redundant:
        return
    with contextlib.suppress(FmiError):  # only asked in order to tell; the run goes on without
        for name, found in instance.get(redundant).items():
            given = planned.starts[name]
            if isinstance(given, float) and isinstance(found, float) and not _near(found, given, variables[name]):
                yield _message(f"{planned.name}.{name}", given, found, variables[name])


def _may_depart(variable: Variable) -> bool:
    return variable.causality in _COMPUTED and is_float(variable.type)


def _near(found: float, given: float, variable: Variable) -> bool:
    scale = max(abs(given), abs(variable.nominal))
    return math.isfinite(found) and abs(found - given) <= _TOLERANCE * scale


def _message(name: str, given: float, found: float, variable: Variable) -> str:
    unit = f" {variable.unit}" if variable.unit else ""
    begins = f"{name} was given as {given:g}{unit} and starts as {found:g}{unit}"
    if variable.initial == "approx":
        return f"{begins}: a guess from which the FMU found the other (initial='approx')"
    return (
        f"{begins}, although the FMU takes it as exact: it follows from other start values and parameters, which "
        "contradict it; leave it out, or change those"
    )


MAX_ITERATIONS = 100
"""Of what discrete signals are passed on in, before the first event."""


class InitializationReport(NamedTuple):
    """How initialization went.

    Attributes
    ----------
    loops
        Every algebraic loop that was solved or tried: in initialization mode, then at the first communication
        point.
    failure
        None where the system is initialized.
    seconds : [s]
        Wall time.
    notes
        Given start values that are not those of the initialized system.
    """

    loops: tuple[LoopReport, ...]
    failure: Failure | None
    seconds: float
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.failure is None


class InitializedSystem(NamedTuple):
    """A system at the start time; `loops` by their number in the plan, ready for the kernel's sweeps."""

    loops: dict[int, RunningLoop]
    report: InitializationReport


def initialize(assembly: Assembly) -> InitializedSystem:
    """Set start values, solve for consistent initial values, leave initialization mode, evaluate the first
    row.

    What goes wrong is in the report: the first failure ends it.
    """
    began = perf_counter()
    run = _Initialization(assembly)
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
    return InitializedSystem(
        run.sweep_loops, InitializationReport(tuple(run.reports), failure, seconds, tuple(run.notes))
    )


class _Initialization:
    """The passes of one initialization."""

    def __init__(self, assembly: Assembly) -> None:
        self.assembly = assembly
        self.plan = assembly.plan
        self.kernel = assembly.kernel
        self.reports: list[LoopReport] = []
        self.notes: list[str] = []
        self.sweep_loops: dict[int, RunningLoop] = {}
        self.second_guesses: dict[int, float] = {}
        self.beginnings = Fmi1Initialization(assembly)
        self.at_events = [] if assembly.events is None else [assembly.events]
        if assembly.integrated is not None:
            self.at_events.append(assembly.integrated)

    def pass_through(self) -> None:
        self._enter()
        self._guess()
        self._make_consistent()
        self._pass_on_at_start()
        self._set_clocks()
        for instance in self.assembly.instances:
            instance.exit_initialization()
        for planned, instance in zip(self.plan.instances, self.assembly.instances, strict=True):
            self.notes += departures(planned, instance)
        self._first_point()

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
        pass_on_at_start(self.plan, {instance.name: instance for instance in self.assembly.instances})

    def _settle(self) -> None:
        """With FMUs that have no initialization mode: again, until each was initialized with the inputs that it has."""
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
                found = {name: self.beginnings.stated(planned, name) for name in names}
            else:
                found = instance.get(names)
            for slot, name in zip(slots, names, strict=True):
                write_cell(self.kernel, slot, self.plan.types[slot], found[name])
        real = np.ones(len(values), dtype=bool)
        real[list(self.plan.integers)] = False
        values[real & ~np.isfinite(values)] = 0.0
        for events in self.at_events:
            events.present()
        # An output may start from where its component cannot be; what it feeds starts from where that can be.
        for wire in self.plan.wires:
            if wire.source in cut and real[wire.source] and wire.conversion.factor:
                back = (values[wire.destination] - wire.conversion.offset) / wire.conversion.factor
                self.second_guesses[wire.source] = float(back)
        for slot, value in {**self.plan.constants, **self.plan.guesses}.items():
            write_cell(self.kernel, slot, self.plan.types[slot], value)

    def _make_consistent(self) -> None:
        if self.beginnings:
            self._settle()
        else:
            self._walk(self.plan.initialization, self._solve_at_start)

    def _pass_on_at_start(self) -> None:
        """What is exchanged at events and belongs to no clock, until it settles."""
        for _ in range(MAX_ITERATIONS):
            try:
                changed = [signal for events in self.at_events for signal in events.pass_on_at_start()]
            except OutOfRange as error:
                raise IntegrationStopped(error.failure(self.plan.interval.start)) from None
            if not changed:
                return
            self._make_consistent()
        raise IntegrationStopped(self._unsettled("discrete signals", changed))

    def _unsettled(self, what: str, signals: Iterable[Signal]) -> Failure:
        what = f"{what} do not settle in initialization mode"
        return unsettled(what, signals, MAX_ITERATIONS, self.plan.interval.start)

    def _set_clocks(self) -> None:
        try:
            for events in self.at_events:
                events.agenda.begin(events.modes)
        except WithoutInterval as error:
            raise IntegrationStopped(without_interval(error, self.plan.interval.start)) from error

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

    def _solve_for_sweeps(self, number: int, assembly: Assembly | None = None) -> None:
        loop = RunningLoop(assembly or self.assembly, self.plan.loops[number], number)
        solution = self._solve(loop, InitName.AUTO)
        self.sweep_loops[number] = loop.for_sweeps(solution.x)

    def _solve(self, loop: RunningLoop, how: InitName) -> Solution:
        report = loop.solve(how, self.plan.interval.start, self.second_guesses)
        self.reports.append(report)
        if not report.ok:
            raise IntegrationStopped(report.failure())
        return report.solution

    def _first_point(self) -> None:
        """Outputs after initialization mode, loops included, so that the first row is consistent in
        itself.
        """
        outputs = [
            Call(index, (), planned.output_slots)
            for index, planned in enumerate(self.plan.instances)
            if planned.output_slots
        ]
        self._walk(outputs, self._solve_for_sweeps)
        for group in self.plan.groups:
            self._walk(group.sweep, self._solve_for_sweeps)
        if self.plan.coupled_ode is not None:
            own = self.assembly.of_ode
            copy_cells(self.kernel, own.kernel, np.arange(len(self.kernel.values)), self.plan.numbered)
            self._walk(self.plan.coupled_ode.sweep, lambda number: self._solve_for_sweeps(number, own), own)


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
