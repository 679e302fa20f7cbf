"""Inputs and scenarios of a plan: as slots, as time tables of the kernel, and as text."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ssptool.arguments import WrongArgument, path
from ssptool.engine.kernel.calls import (
    FLOAT,
    DrivenInput,
    DrivenInputMode,
)
from ssptool.engine.kernel.slot_values import slot_value
from ssptool.engine.method_names import ApproximationName
from ssptool.engine.planning.interval import start_time
from ssptool.engine.planning.plan import Plan, PlannedInstance
from ssptool.engine.settings import Settings
from ssptool.engine.stimuli.inputs import interpolated, resolve_inputs
from ssptool.engine.stimuli.scenario import Scenario, resolve_scenario
from ssptool.engine.stimuli.stimuli import NO_STIMULI, Stimuli, of_tables, source_signal
from ssptool.engine.stimuli.time_signals import Action, Constant, Overridden, SignalOverride, Table, TimeSignal
from ssptool.errors import counted
from ssptool.fmu.description import Value, Variability
from ssptool.fmu.units import PhysicalUnit
from ssptool.network.network import Network, Signal
from ssptool.public_calls import public

if TYPE_CHECKING:
    from ssptool.engine.kernel._kernel import NativeKernel
    from ssptool.engine.stimuli.inputs import InputData


def resolve(
    network: Network,
    settings: Settings,
    inputs: "InputData | None",
    interpolation: str | Mapping[str, str] | None,
    scenario: "Scenario | Path | str | None",
    units: Mapping[str, PhysicalUnit],
) -> Stimuli:
    """Resolve the stimuli of a system: `units` are those that its documents define.

    Raises
    ------
    BadData
        Inputs or scenario are wrong; the error lists all findings.
    OSError
        A file cannot be read.
    """
    if interpolation is not None and inputs is None:
        raise WrongArgument("interpolation", interpolation, "left out where there are no inputs")
    if inputs is None and scenario is None and not network.tables:
        return NO_STIMULI
    driven = () if inputs is None else resolve_inputs(interpolated(inputs, interpolation), network, units)
    given = {one.signal for one in driven}
    driven = (*(one for one in of_tables(network) if one.signal not in given), *driven)
    files = dict.fromkeys(one.file for one in driven if one.file is not None)
    if scenario is None:
        return Stimuli(driven, files=tuple(files))
    if not isinstance(scenario, Scenario):
        from ssptool.engine.stimuli.scenario_file import read_scenario  # few runs read YAML

        scenario = read_scenario(path("scenario", scenario))
    resolved = resolve_scenario(scenario, network, driven, start_time(network, settings)[0])
    more = () if scenario.file is None else (scenario.file,)
    return replace(resolved, files=(*files, *more))


class SlotSource(NamedTuple):
    """A slot of a type, with the signal over time that drives it."""

    slot: int
    type: str
    time_signal: TimeSignal


def slot_sources(plan: Plan) -> tuple[SlotSource, ...]:
    slots = {signal: slot for slot, signal in enumerate(plan.signals)}
    places = [(slots[source_signal(source.signal)], source.time_signal) for source in plan.stimuli.sources]
    return tuple(SlotSource(slot, plan.types[slot], time_signal) for slot, time_signal in places)


class TableRows(NamedTuple):
    times: tuple[float, ...]
    values: tuple[Value, ...]
    linear: bool


_ANY_TIME = (0.0,)


def table_rows(time_signal: TimeSignal) -> TableRows | None:
    """Rows of a time series that is a table; a constant has one row."""
    match time_signal:
        case Constant(value):
            return TableRows(_ANY_TIME, (value,), False)
        case Table(times, values):
            return TableRows(tuple(times), tuple(values), time_signal.continuous)
        case Overridden(base):
            return table_rows(base)
        case _:
            return None


def column_rows(time_signal: TimeSignal, start: float) -> TableRows:
    """Rows of a time series as a column of a kernel; a function has its present value, that of the start time [s]."""
    return table_rows(time_signal) or TableRows(_ANY_TIME, (time_signal.after(start),), False)


class SampledFunctions:
    """Functions that drive inputs. The kernel stores the present value of each as a column with one row."""

    def __init__(self, sources: Sequence[SlotSource], kernel: "NativeKernel") -> None:
        self._kernel = kernel
        functions = [place for place, one in enumerate(sources) if table_rows(one.time_signal) is None]
        self._sampled = tuple((sources[place], kernel.table_column(place)) for place in functions)

    def __bool__(self) -> bool:
        return bool(self._sampled)

    def sample(self, t: float, begin: float, end: float) -> None:
        """Write their values at t [s], within the interval from `begin` to `end` [s], to their columns."""
        for source, column in self._sampled:
            time_signal = source.time_signal
            value = time_signal.before(end) if t >= end else time_signal.after(max(t, begin))
            # A function may read the slot of the previous one.
            column[0] = slot_value(self._kernel, source.type, value)


def driven_inputs(plan: Plan) -> tuple[DrivenInput, ...]:
    """Inputs of components that are connected to driven inputs."""
    time_signals = {one.slot: one.time_signal for one in slot_sources(plan)}
    sources = {wire.destination: time_signals[wire.source] for wire in plan.wires if wire.source in time_signals}
    return tuple(
        DrivenInput(slot, input_mode(plan, one, place, sources[slot].continuous))
        for one in plan.instances
        for place, slot in enumerate(one.input_slots)
        if slot in sources
    )


def input_mode(plan: Plan, instance: PlannedInstance, place: int, continuous: bool) -> DrivenInputMode:
    """Profile of an input over a step: along its signal if possible; otherwise held, at the mean over the step if
    continuous.
    """
    if not continuous or instance.input_types[place] != FLOAT or plan.settings.approximation is ApproximationName.HOLD:
        return DrivenInputMode.HELD
    variable = instance.description.variables[instance.inputs[place].variable]
    if variable.variability is not Variability.CONTINUOUS:
        return DrivenInputMode.HELD
    if instance.capabilities.follows or plan.substep_counts.get(instance.name, 1) > 1:
        return DrivenInputMode.FOLLOWING
    return DrivenInputMode.MIDDLE


_MODES = {
    DrivenInputMode.HELD: "held from the start of each step",
    DrivenInputMode.FOLLOWING: "follows it over each step",
    DrivenInputMode.MIDDLE: "held at its mean over each step, since the FMU follows no inputs",
}


@public
def input_origins(plan: Plan) -> Iterator[str]:
    """One line for each input of the system, each driven input of a component, and each event of the scenario. Lines
    below a driven input state the approximation of the connected inputs over a macro step.
    """
    driven = {source_signal(one.signal): one for one in plan.stimuli.sources}
    ways = dict(_ways(plan)) if driven else {}
    # The first one, if there are several.
    fed = {wire.source: wire.destination for wire in reversed(plan.network.wires)}
    for slot, value in plan.constants.items():
        signal = plan.signals[slot]
        if signal in driven:
            one = driven[signal]
            yield f"{one.signal}: {one.origin}{_row_count(one.time_signal)}; {value!r} at the start"
            yield from (f"  {line}" for line in ways.get(signal, ()))
        else:
            yield f"{signal}: {value!r} all the time, {_reason(plan, signal, fed.get(signal))}"
    for line in plan.stimuli.events:
        yield f"scenario, {line}"


def stimuli_by_signal(stimuli: Stimuli) -> Mapping[Signal, tuple[str, ...]]:
    """Lines on the input sources and overrides of each signal."""
    found: dict[Signal, list[str]] = defaultdict(list)
    for source in stimuli.sources:
        found[source.signal].append(f"driven by {source.origin}{_row_count(source.time_signal)}")
        if isinstance(source.time_signal, Overridden):
            found[source.signal] += _changes(source.time_signal.overrides)
    for connection in stimuli.connections:
        if connection.source not in found:  # if several wires start there, the first one counts
            found[connection.source] += (
                f"{line}, at the inputs that it feeds" for line in _changes(connection.at_source)
            )
        found[connection.destination] += (f"{line}, at {connection.source}" for line in _changes(connection.at_source))
        found[connection.destination] += _changes(connection.at_destination)
    for setting in stimuli.parameter_changes:
        found[setting.signal] += _changes(setting.overrides)
    return {signal: tuple(lines) for signal, lines in found.items() if lines}


def _ways(plan: Plan) -> Iterator[tuple[Signal, tuple[str, ...]]]:
    destinations: dict[int, list[int]] = defaultdict(list)
    for wire in plan.wires:
        destinations[wire.source].append(wire.destination)
    running = {one.slot: one.running for one in driven_inputs(plan)}
    integrated = {signal for one in plan.integrated for signal in one.inputs}
    for one in slot_sources(plan):
        slots = [slot for slot in destinations[one.slot] if slot in running]
        ends = ((plan.signals[slot], _MODES[running[slot]]) for slot in slots)
        alone = plan.is_one_ode
        lines = (
            f"{end}: {'has its value at every instant' if alone and end in integrated else how}" for end, how in ends
        )
        yield plan.signals[one.slot], tuple(lines)


def _row_count(time_signal: TimeSignal) -> str:
    """Number of rows of a table with more than one row."""
    if isinstance(time_signal, Overridden):
        return _row_count(time_signal.base)
    if not isinstance(time_signal, Table) or len(time_signal.times) < 2:
        return ""
    jumps = len(time_signal.jumps)
    jumping = f", {counted(jumps, 'jump')}" if jumps else ""
    rows, last = counted(len(time_signal.times), "row"), time_signal.times[-1]
    return f", {rows} from {time_signal.first:g} s to {last:g} s{jumping}"


def _changes(overrides: Iterable[SignalOverride]) -> Iterator[str]:
    for one in overrides:
        match one.action:
            case Action.OVERRIDE:
                yield f"from t = {one.time:g} s: {one.value!r}"
            case Action.BIAS:
                yield f"from t = {one.time:g} s: {one.value!r} is added"
            case Action.RESET:
                yield f"from t = {one.time:g} s: reset"


def _reason(plan: Plan, signal: Signal, fed: Signal | None) -> str:
    if signal in plan.network.assignments:
        return "its value in the system (see ssptool explain)"
    return "its start value" if fed is None else f"the value that {fed} starts from"
