"""The plan of a run: everything resolved, nothing loaded."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, pairwise, product
from types import MappingProxyType
from typing import NamedTuple

from ssptool.engine.binary_as_text import BINARY, CARRIED, NOTHING, kernel_types
from ssptool.engine.capabilities import Capabilities, capabilities
from ssptool.engine.cells import holds_integer
from ssptool.engine.choices import (
    COUPLED_TOLERANCE,
    Choice,
    Interval,
    choose_integrator,
    choose_interval,
    integrator_of,
    refuse_substeps,
)
from ssptool.engine.event_mode.master import with_event_mode
from ssptool.engine.event_mode.planned import CLOCK, NO_EVENT_MODES, EventModes, plan_event_modes
from ssptool.engine.implementations import choose_implementations
from ssptool.engine.iteration_log import check_log_name
from ssptool.engine.kernel.interface import FLOAT, Call, LoopCalls, SolveLoop
from ssptool.engine.loops.solution import Convergence
from ssptool.engine.master_choice import Situation, choose_master
from ssptool.engine.masters.energy import Bond
from ssptool.engine.masters.master import Master
from ssptool.engine.ode.beside import Beside
from ssptool.engine.power_bonds import NO_UNITS, PowerBond, Units, bonds_of
from ssptool.engine.refusals import refuse
from ssptool.engine.schedule import Graph, Loop, Step, Visit, needed_again, sweep
from ssptool.engine.settings import InitName, Settings
from ssptool.engine.stimuli.acting import acted_on, refuse_at_events, refuse_inside
from ssptool.engine.stimuli.stimuli import NO_STIMULI, Stimuli, extended, feed
from ssptool.engine.trace import Column
from ssptool.engine.unsupported import Unsupported
from ssptool.fmu.description import Causality, FmuDescription, InterfaceType, Value, Variability
from ssptool.network.arrays import wholes
from ssptool.network.blocks import Block, evaluation_order
from ssptool.network.cycles import component_cycles, component_graph
from ssptool.network.dependencies import DependencyGraph, Stage, dependency_graph
from ssptool.network.digraph import Digraph, condensation, strong_components, topological_order
from ssptool.network.network import Network, Port
from ssptool.network.signals import Conversion, Signal, Wire

LOOP_CONVERGENCE = Convergence(rtol=1e-12)
"""Of algebraic loops: tight, because whatever is left of a residual is in every recorded row."""

CHORD_ITERATIONS = 20
"""Of a loop within a sweep; a chord that needs more is out of date."""


@dataclass(frozen=True, slots=True)
class PlannedInstance:
    """An FMU to instantiate. Slots are those of `Plan.signals`; references the FMU's, in the same order.

    `wired` are the inputs with a wire that can vary over a step.
    `starts` are the values to set before initialization: parameters and start values, by variable; `structure` those of
    structural parameters, which come first. An array has a slot for each of its elements, one behind the other.
    Of a component in event mode, inputs that are set at events only and outputs that belong to clocks are in
    `Plan.event_modes` instead.
    """

    name: str
    source: str
    description: FmuDescription
    inputs: tuple[Signal, ...]
    outputs: tuple[Signal, ...]
    input_slots: tuple[int, ...]
    output_slots: tuple[int, ...]
    starts: Mapping[str, Value]
    wired: tuple[str, ...]
    capabilities: Capabilities
    interface: InterfaceType = InterfaceType.CO_SIMULATION
    structure: Mapping[str, Value] = field(default_factory=dict)

    @property
    def input_types(self) -> tuple[str, ...]:
        return tuple(self.description.variables[signal.variable].type for signal in self.inputs)

    @property
    def output_types(self) -> tuple[str, ...]:
        return tuple(self.description.variables[signal.variable].type for signal in self.outputs)

    @property
    def moving(self) -> tuple[tuple[str, int], ...]:
        """Inputs that can vary over a step, with their slots."""
        inputs = zip(self.inputs, self.input_types, self.input_slots, strict=True)
        return tuple((signal.variable, slot) for signal, kind, slot in inputs if kind == FLOAT)

    @property
    def input_references(self) -> tuple[int, ...]:
        return tuple(self.description.variables[signal.variable].reference for signal in self.inputs)

    @property
    def output_references(self) -> tuple[int, ...]:
        return tuple(self.description.variables[signal.variable].reference for signal in self.outputs)

    @property
    def input_elements(self) -> tuple[int, ...]:
        """The place of each in its array; 0 for scalars."""
        return tuple(self.description.variables[signal.variable].element for signal in self.inputs)

    @property
    def output_elements(self) -> tuple[int, ...]:
        return tuple(self.description.variables[signal.variable].element for signal in self.outputs)


class PlannedWire(NamedTuple):
    source: int
    destination: int
    conversion: Conversion


class PlannedGroup(NamedTuple):
    """What feeds each other, or a single one; `sweep` evaluates it at a communication point.

    `members` step one after the other: single instances, by index, or all that are integrated as one ODE.
    `unknowns` are the input slots that are fed from inside the group, from one member to another. `interpolates` says
    of each member that all its wired inputs come from members that are stepped before it.
    """

    members: tuple[tuple[int, ...], ...]
    sweep: tuple[Call | SolveLoop, ...]
    unknowns: tuple[int, ...]
    interpolates: tuple[bool, ...]

    @property
    def instances(self) -> tuple[int, ...]:
        return tuple(chain.from_iterable(self.members))


class PlannedOde(NamedTuple):
    """The components of model exchange, which are integrated together.

    Attributes
    ----------
    instances
        By index.
    sweep
        Computes their wired inputs and all outputs, states being given.
    inputs
        Slots of their inputs that something else feeds.
    alone
        There are no components of co-simulation, and `sweep` is that of communication points too.
    """

    instances: tuple[int, ...]
    sweep: tuple[Call | SolveLoop, ...]
    inputs: tuple[int, ...]
    alone: bool


@dataclass(frozen=True, slots=True)
class PlannedLoop:
    """An algebraic loop to solve.

    `torn` are the unknowns; `held` are discrete signals at which the loop is cut as well. `directional`: all its FMUs
    give directional derivatives that fit its body.
    """

    stage: Stage
    calls: LoopCalls
    signals: tuple[Signal, ...]
    torn: tuple[Signal, ...]
    held: tuple[Signal, ...]
    pattern: frozenset[tuple[int, int]]
    minimum: tuple[float, ...]
    maximum: tuple[float, ...]
    directional: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a run will do, decided.

    Attributes
    ----------
    signals, types
        Slot → signal, and its type.
    columns
        What is recorded, in the order of `recorded` (slots).
    groups
        In an order in which signals flow from each to later ones only.
    ode
        The components of model exchange; None where there are none.
    initialization
        The sweep of initialization mode.
    loops
        Of both stages; what `SolveLoop` in a sweep refers to.
    guesses
        Start values given for connected inputs, as guesses of the slots that feed them.
    choices
        What was chosen and why.
    notes
        What a reader should know besides, e.g. ports that are not exchanged.
    stimuli
        What acts on the system from outside: driven inputs, a scenario.
    event_modes
        Components of co-simulation whose events are handled in event mode, and their clocks.
    """

    network: Network
    settings: Settings
    interval: Interval
    master: Master
    init: InitName
    signals: tuple[Signal, ...]
    types: tuple[str, ...]
    nominal: tuple[float, ...]
    columns: tuple[Column, ...]
    recorded: tuple[int, ...]
    instances: tuple[PlannedInstance, ...]
    wires: tuple[PlannedWire, ...]
    groups: tuple[PlannedGroup, ...]
    ode: PlannedOde | None
    initialization: tuple[Call | SolveLoop, ...]
    loops: tuple[PlannedLoop, ...]
    constants: Mapping[int, Value]
    guesses: Mapping[int, Value]
    choices: tuple[Choice, ...]
    notes: tuple[str, ...]
    stimuli: Stimuli = NO_STIMULI
    event_modes: EventModes = NO_EVENT_MODES

    @property
    def name(self) -> str:
        return self.network.name

    @property
    def integrated(self) -> tuple[PlannedInstance, ...]:
        """The components of model exchange."""
        return () if self.ode is None else tuple(self.instances[index] for index in self.ode.instances)

    @property
    def coupled_ode(self) -> PlannedOde | None:
        """Where it is stepped beside components of co-simulation."""
        return None if self.ode is None or self.ode.alone else self.ode

    @property
    def integers(self) -> tuple[int, ...]:
        """Slots of signals that are no real numbers."""
        return tuple(slot for slot, kind in enumerate(self.types) if holds_integer(kind))


def make_plan(
    network: Network,
    settings: Settings,
    stimuli: Stimuli = NO_STIMULI,
    bonds: tuple[PowerBond, ...] = (),
    units: Units = NO_UNITS,
) -> Plan:
    """Resolve names to slots, dependencies to sweeps, and what the user left open to choices with reasons.

    `bonds` are power bonds that are taken where the settings declare none; `units` define those of the system.

    Raises
    ------
    Unsupported, UnsupportedByFmu, UnsupportedCombination
        The system or the settings need what cannot be simulated.
    ValueError
        A time or a number does not fit.
    BadInputs
        A driven input has no value at the start time.
    """
    refuse(network)
    for log in (settings.log_loops, settings.log_coupling):
        if log is not None:
            check_log_name(log)
    interval, time_choices = choose_interval(network, settings)
    stimuli.check_start(interval.start)
    network = extended(network, stimuli, interval.start)
    implementations = choose_implementations(network, settings)
    events = plan_event_modes(network, implementations.of, adaptive=settings.adaptive is not None)
    refuse_at_events(stimuli, events)
    table = _Table(network, implementations.of, stimuli, events)
    instances = tuple(table.instance(name) for name in network.components)
    schedules = _Schedules(table, instances, implementations.exchange)
    initialization = schedules.initialization()
    ode = schedules.ode()
    groups = schedules.groups() if ode is None or not ode.alone else (schedules.whole(ode),)
    master, master_choices = _choose_master(
        schedules, settings, ode, interval, bonds_of(network, settings, bonds, schedules.exchange, units)
    )
    return Plan(
        network=network,
        settings=settings,
        interval=interval,
        master=master,
        init=settings.init,
        signals=table.signals,
        nominal=table.nominal,
        types=table.types,
        columns=tuple(table.column(table.ports[slot]) for slot in table.recorded),
        recorded=table.recorded,
        instances=instances,
        wires=table.wires(),
        groups=groups,
        ode=ode,
        initialization=initialization,
        loops=tuple(schedules.loops),
        constants=MappingProxyType(table.constants() | table.driven(interval.start)),
        guesses=MappingProxyType(table.guesses()),
        choices=(*time_choices, implementations.choice, *master_choices, _init_choice(settings, schedules.loops)),
        notes=(*table.notes(), *implementations.notes, *events.notes),
        stimuli=stimuli,
        event_modes=events,
    )


def _choose_master(
    schedules: "_Schedules",
    settings: Settings,
    ode: PlannedOde | None,
    interval: Interval,
    bonds: tuple[PowerBond, ...],
) -> tuple[Master, tuple[Choice, ...]]:
    everyone = {one.name: one.capabilities for one in schedules.instances}
    exchange = {name: everyone[name] for name in schedules.exchange}
    if ode is not None and ode.alone:
        return choose_integrator(exchange, settings)
    fed = {
        one.name: one.capabilities for one in schedules.instances if one.name in exchange or schedules.table.feeds(one)
    }
    bonded = tuple(dict.fromkeys(signal.component for bond in bonds for signal in (bond.first, bond.second)))
    situation = Situation(fed, schedules.cycles(), everyone, tuple(map(schedules.table.bond, bonds)), bonded)
    base, choices = choose_master(situation, settings)
    acted = acted_on(base, schedules.table.stimuli, everyone, interval)
    base = with_event_mode(base, schedules.table.events) if schedules.table.events else acted
    if ode is None:
        return base, choices
    refuse_substeps(exchange, settings)
    refuse_inside(schedules.table.stimuli, exchange)
    integrator, more = integrator_of(exchange, settings, COUPLED_TOLERANCE)
    if settings.threads > 1:
        more = (
            *more,
            Choice("threads", "1", "components of model exchange must rest while all of them are integrated"),
        )
    return Beside(base, integrator), (*choices, *more)


def _init_choice(settings: Settings, loops: Sequence[PlannedLoop]) -> Choice:
    at_start = [loop for loop in loops if loop.stage is Stage.INITIALIZATION]
    if settings.init is not InitName.AUTO:
        return Choice("init", settings.init, "asked for")
    if not at_start:
        return Choice("init", "one pass", "no algebraic loop at the start")
    chain = "newton, then accelerated and damped iteration, then homotopy"
    return Choice("init", chain, f"{len(at_start)} algebraic loop(s) at the start")


class _Table:
    """Slots: every input and output of every component and of the system, of a type that is carried, in document
    order.
    """

    def __init__(
        self,
        network: Network,
        implementations: Mapping[str, InterfaceType],
        stimuli: Stimuli,
        events: EventModes,
    ) -> None:
        self.network = network
        self.events = events
        self.flow = events.between_events(network)
        self.at_events = events.inputs | events.outputs
        self.implementations = implementations
        self.stimuli = stimuli
        self.fed = {feed(driven.signal): driven for driven in stimuli.driven}
        every = chain(network.ports, *(component.ports for component in network.components.values()))
        self.ports = tuple(port for port in every if port.kind in ("input", "output") and self._carries(port))
        self.signals = tuple(port.signal for port in self.ports)
        self.types = tuple(port.type for port in self.ports)
        # An input of a component that is driven is recorded there, not where its values come from.
        hidden = {signal for signal, driven in self.fed.items() if signal != driven.signal}
        self.recorded = tuple(slot for slot, signal in enumerate(self.signals) if signal not in hidden)
        self.slots = {signal: slot for slot, signal in enumerate(self.signals)}
        self.whole = {signal: array for signal, array in wholes(network).items() if signal in self.slots}
        self.arrays: dict[Signal, list[int]] = defaultdict(list)
        for signal, array in self.whole.items():
            self.arrays[array].append(self.slots[signal])
        self.sources = {wire.destination: wire for wire in self.flow.wires}
        self.nominal = tuple(self._nominal(signal) for signal in self.signals)
        self.starts: dict[str, dict[str, Value]] = defaultdict(dict)
        self.structure: dict[str, dict[str, Value]] = defaultdict(dict)
        for signal, given in network.assignments.items():
            kind = self.structure if _is_structural(network, signal) else self.starts
            kind[signal.component][signal.variable] = given.value
        self._check_wires()

    def _carries(self, port: Port) -> bool:
        component = self.network.components.get(port.signal.component)
        if component is None:
            return port.type in CARRIED[3]
        # In model exchange, what is not continuous may be set at events only.
        if self.implementations[component.name] is InterfaceType.MODEL_EXCHANGE:
            return port.type == FLOAT
        return port.type in CARRIED.get(component.description.fmi_major, ())

    def _check_wires(self) -> None:
        for wire in self.flow.wires:
            for signal in (wire.source, wire.destination):
                if signal not in self.slots:
                    raise Unsupported(
                        f"connection {wire.source} → {wire.destination}",
                        f"{signal} is of another type than {FLOAT}, and its component is integrated as model exchange",
                        "use co-simulation for the component, or remove the connection",
                    )

    def slots_of(self, signal: Signal) -> tuple[int, ...]:
        """Of a scalar, or of all elements of an array; none if it is not exchanged."""
        if signal in self.arrays:
            return tuple(self.arrays[signal])
        return (self.slots[signal],) if signal in self.slots else ()

    def bond(self, bond: PowerBond) -> Bond:
        first, second, into_first, into_second = (
            self.slots[signal] for signal in (bond.first, bond.second, bond.into_first, bond.into_second)
        )
        return Bond(
            name=str(bond),
            first=first,
            second=second,
            into_first=into_first,
            into_second=into_second,
            first_factor=bond.first_factor,
            second_factor=bond.second_factor,
            first_scale=bond.first_scale,
            second_scale=bond.second_scale,
            nominal=bond.nominal,
        )

    def kind(self, signal: Signal) -> str:
        """The type of a scalar, an element or an array."""
        return self.types[self.slots[signal] if signal in self.slots else self.arrays[signal][0]]

    def _nominal(self, signal: Signal) -> float:
        component = self.network.components.get(signal.component)
        return component.description.variables[signal.variable].nominal if component else 1.0

    def instance(self, name: str) -> PlannedInstance:
        component = self.network.components[name]
        ports = [port for port in component.ports if port.signal in self.slots]
        ports = [port for port in ports if port.signal not in self.at_events]
        inputs = tuple(port.signal for port in ports if port.kind == "input")
        outputs = tuple(port.signal for port in ports if port.kind == "output")
        wired = tuple(s.variable for s in inputs if s in self.sources and self.kind(s) == FLOAT)
        return PlannedInstance(
            name=name,
            source=component.source,
            description=component.description,
            inputs=inputs,
            outputs=outputs,
            input_slots=tuple(self.slots[signal] for signal in inputs),
            output_slots=tuple(self.slots[signal] for signal in outputs),
            starts=MappingProxyType(self.starts[name]),
            wired=wired,
            capabilities=capabilities(component, wired, self.implementations[name]),
            interface=self.implementations[name],
            structure=MappingProxyType(self.structure[name]),
        )

    def feeds(self, instance: PlannedInstance) -> bool:
        """Whether a wire leads to the instance."""
        return any(signal in self.sources for signal in instance.inputs)

    def wires(self) -> tuple[PlannedWire, ...]:
        return tuple(
            PlannedWire(self.slots[wire.source], self.slots[wire.destination], wire.conversion)
            for wire in self.flow.wires
        )

    def constants(self) -> dict[int, Value]:
        """Inputs of the system itself, which nothing drives: their start values, or else what they lead to
        has.
        """
        inputs = [port.signal for port in self.network.ports if port.signal in self.slots and port.kind == "input"]
        found: dict[int, Value | None] = {self.slots[signal]: self._value(signal) for signal in inputs}
        for wire in self.network.wires:
            slot = self.slots.get(wire.source)
            if slot is not None and slot in found and found[slot] is None:
                found[slot] = self._there(wire)
        return {slot: self._nothing(slot) if value is None else value for slot, value in found.items()}

    def driven(self, start: float) -> dict[int, Value]:
        """Driven inputs at the start time [s]."""
        return {self.slots[signal]: driven.course.after(start) for signal, driven in self.fed.items()}

    def _there(self, wire: Wire) -> Value | None:
        """What the source of a wire has if its destination has the value that it is given, or else states."""
        if holds_integer(self.kind(wire.source)):
            # A table leads one way only.
            known = None if wire.conversion.table else self._value(wire.destination)
            return known if known is not None or wire.conversion.table else self._start(wire.destination)
        return self._back(wire, self._given(wire.destination) or self._stated(wire.destination))

    def _nothing(self, slot: int) -> Value:
        return NOTHING.get(self.types[slot], 0)

    def _value(self, signal: Signal) -> Value | None:
        assignment = self.network.assignments.get(signal)
        return None if assignment is None else assignment.value

    def guesses(self) -> dict[int, Value]:
        """What a start value of a connected input says of its source. The last one given wins."""
        found: dict[int, Value] = {}
        for wire in self.flow.wires:
            if wire.source in self.fed:
                continue
            if not holds_integer(self.kind(wire.source)):
                value: Value | None = self._back(wire, self._given(wire.destination))
            else:
                value = None if wire.conversion.table else self._value(wire.destination)
            if value is not None:
                found[self.slots[wire.source]] = value
        return found

    def _back(self, wire: Wire, value: float | None) -> float | None:
        """What the source of a wire must have for its destination to have `value`."""
        conversion = wire.conversion
        return None if value is None or not conversion.factor else (value - conversion.offset) / conversion.factor

    def _stated(self, signal: Signal) -> float | None:
        start = self._start(signal)
        return None if start is None else float(start)

    def _start(self, signal: Signal) -> Value | None:
        """The FMU's own start value."""
        component = self.network.components.get(signal.component)
        return component.description.variables[signal.variable].start if component else None

    def _given(self, signal: Signal) -> float | None:
        assignment = self.network.assignments.get(signal)
        return None if assignment is None else float(assignment.value)

    def column(self, port: Port) -> Column:
        component = self.network.components.get(port.signal.component)
        known = component.description.variables.get(port.signal.variable) if component else None
        events = known is not None and known.variability is not Variability.CONTINUOUS
        discrete = events and not holds_integer(port.type)
        (kind,) = kernel_types((port.type,))  # of bytes, texts of hexadecimal digits are recorded
        return Column(str(port.signal), port.unit, kind, port.description, discrete)

    def notes(self) -> Iterable[str]:
        for parameter in self.network.unmatched:
            near = f"; did you mean {', '.join(parameter.near)}?" if parameter.near else ""
            yield f"{parameter.position}: parameter {parameter.name} is that of no variable and has no effect{near}"
        for component in self.network.components.values():
            others = [
                str(port.signal)
                for port in component.ports
                if port.kind in ("input", "output") and port.signal not in self.slots and port.type != CLOCK
            ]
            if others:
                yield f"neither exchanged nor recorded, because signals of their type are not: {', '.join(others)}"
        if binaries := [str(signal) for signal, kind in zip(self.signals, self.types, strict=True) if kind == BINARY]:
            yield f"recorded as texts of hexadecimal digits, because they are bytes: {', '.join(binaries)}"


class _Schedules:
    """Sweeps as kernel calls; collects the loops that they refer to."""

    def __init__(self, table: _Table, instances: Sequence[PlannedInstance], exchange: Sequence[str]) -> None:
        self.table = table
        self.instances = instances
        self.exchange = tuple(exchange)
        self.index = {one.name: number for number, one in enumerate(instances)}
        every = chain.from_iterable(one.outputs for one in instances)
        self.outputs = frozenset(table.whole.get(signal, signal) for signal in every)
        self.loops: list[PlannedLoop] = []

    def initialization(self) -> tuple[Call | SolveLoop, ...]:
        graph = self._graph(Stage.INITIALIZATION)
        blocks = [block for block in evaluation_order(graph) if self._inside(block)]
        return self._calls(sweep(graph, blocks, self.outputs), graph, Stage.INITIALIZATION)

    def groups(self) -> tuple[PlannedGroup, ...]:
        graph = self._graph(Stage.COMMUNICATION)
        # What an ODE computes is not delivered by a step of its components, so all of it is asked for.
        needed = needed_again(graph, self.outputs) | {signal for signal in graph if signal.component in self.exchange}
        order = self._group_order()
        place = {name: number for number, names in enumerate(order) for name in names}
        blocks: dict[int, list[Block]] = defaultdict(list)
        for block in evaluation_order(graph):
            if self._inside(block) and not needed.isdisjoint(block.signals):
                blocks[place[block.signals[0].component]].append(block)
        groups: list[PlannedGroup] = []
        stepped: set[str] = set()
        for number, names in enumerate(order):
            steps = sweep(graph, blocks[number], self.outputs)
            calls = self._calls(steps, graph, Stage.COMMUNICATION)
            groups.append(self._group(names, calls, stepped))
        return tuple(groups)

    def cycles(self) -> tuple[tuple[str, ...], ...]:
        """Components that feed each other, those of an ODE being as one."""
        if not self.exchange:
            return component_cycles(self.table.flow)
        flow, inside = self._flow(), set(self.exchange)
        parts = (part for part in strong_components(flow) if not inside.issuperset(part))
        found = (part for part in parts if len(part) > 1 or any(name in flow.after[name] for name in part))
        return tuple(sorted(tuple(sorted(part)) for part in found))

    def ode(self) -> PlannedOde | None:
        """With the states given, every output and every wired input of the components of model exchange."""
        if not self.exchange:
            return None
        inside = set(self.exchange)
        whole = self._graph(Stage.CONTINUOUS)
        graph = whole.part(signal for signal in whole if signal.component in inside)
        blocks = [block for block in evaluation_order(graph) if self._inside(block)]
        calls = self._calls(sweep(graph, blocks, self.outputs), graph, Stage.CONTINUOUS)
        sources, slots = self.table.sources, self.table.slots
        fed = [s for name in self.exchange for s in self.instances[self.index[name]].inputs if s in sources]
        inputs = tuple(slots[signal] for signal in fed if sources[signal].source.component not in inside)
        indices = tuple(self.index[name] for name in self.exchange)
        return PlannedOde(indices, calls, inputs, alone=len(indices) == len(self.instances))

    def whole(self, ode: PlannedOde) -> PlannedGroup:
        """The group of a system that is nothing but an ODE."""
        return PlannedGroup((ode.instances,), ode.sweep, (), (False,))

    def _graph(self, stage: Stage) -> DependencyGraph:
        """Without the outputs that stay what they are between events: they depend on nothing."""
        graph = dependency_graph(self.table.flow, stage)
        fixed = self.table.events.outputs
        return graph.part(signal for signal in graph if signal not in fixed) if fixed else graph

    def _inside(self, block: Block) -> bool:
        """Signals of components that have slots; the system's own inputs and outputs are neither set nor
        computed.
        """
        return bool(block.signals[0].component) and bool(self.table.slots_of(block.signals[0]))

    def _group_order(self) -> list[tuple[str, ...]]:
        parts = condensation(self._flow())
        order = topological_order(parts, lambda names: min(self.index[name] for name in names))
        return [tuple(sorted(names, key=self.index.__getitem__)) for names in order]

    def _flow(self) -> Digraph[str, None]:
        """Which component has inputs from which; those of an ODE lead to each other, so that they stay together."""
        flow = component_graph(self.table.flow)
        for one, other in pairwise((*self.exchange, *self.exchange[:1])):
            flow.add_edge(one, other, None)
        return flow

    def _group(self, names: tuple[str, ...], calls: tuple[Call | SolveLoop, ...], stepped: set[str]) -> PlannedGroup:
        sources, slots, inside = self.table.sources, self.table.slots, set(names)
        unknowns: list[int] = []
        interpolates: list[bool] = []
        members = self._members(names)
        for member in members:
            own = set(member) & set(self.exchange)
            inputs = [signal for name in member for signal in self.instances[self.index[name]].inputs]
            feeding = {signal: sources[signal].source.component for signal in inputs if signal in sources}
            unknowns += [
                slots[signal]
                for signal, source in feeding.items()
                if source in inside - own and not holds_integer(self.table.kind(signal))
            ]
            interpolates.append(all(source == "" or source in stepped | own for source in feeding.values()))
            stepped |= set(member)
        indices = tuple(tuple(map(self.index.__getitem__, member)) for member in members)
        return PlannedGroup(indices, calls, tuple(unknowns), tuple(interpolates))

    def _members(self, names: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Single components, and last an ODE: it can make the most of inputs that are known over the whole step."""
        singles = [(name,) for name in names if name not in self.exchange]
        return singles + ([self.exchange] if self.exchange and self.exchange[0] in names else [])

    def _calls(self, steps: Iterable[Step], graph: Graph, stage: Stage) -> tuple[Call | SolveLoop, ...]:
        calls: list[Call | SolveLoop] = []
        for step in steps:
            if isinstance(step, Visit):
                calls.append(self._call(step))
            else:
                calls.append(SolveLoop(len(self.loops)))
                self.loops.append(self._loop(step, graph, stage))
        return tuple(calls)

    def _pattern(self, loop: Loop, real: Sequence[Signal]) -> frozenset[tuple[int, int]]:
        """Of the unknowns; by elements: what holds between two arrays holds between any of theirs."""
        sizes = [len(self.table.slots_of(signal)) if signal in real else 0 for signal in loop.torn]
        places = [range(end - size, end) for size, end in zip(sizes, accumulate(sizes), strict=True)]
        return frozenset(chain.from_iterable(product(places[i], places[j]) for i, j in loop.pattern))

    def _call(self, visit: Visit) -> Call:
        """Arrays are set and got as a whole."""
        inputs, outputs = self._slots(visit.inputs), self._slots(visit.outputs)
        return Call(self.index[visit.component], inputs, outputs)

    def _slots(self, signals: Iterable[Signal]) -> tuple[int, ...]:
        return tuple(chain.from_iterable(map(self.table.slots_of, signals)))

    def _loop(self, loop: Loop, graph: Graph, stage: Stage) -> PlannedLoop:
        real = [signal for signal in loop.torn if not holds_integer(self.table.kind(signal))]
        torn, held = self._slots(real), self._slots(signal for signal in loop.torn if signal not in real)
        unknowns = tuple(self.table.signals[slot] for slot in torn)
        components = self.table.network.components
        variables = [components[signal.component].description.variables[signal.variable] for signal in unknowns]
        calls = LoopCalls(
            torn=torn,
            body=tuple(self._call(visit) for visit in loop.body),
            nominal=tuple(self.table.nominal[slot] for slot in torn),
            rtol=LOOP_CONVERGENCE.rtol,
            atol=LOOP_CONVERGENCE.atol,
            max_iterations=CHORD_ITERATIONS,
            held=held,
        )
        instances = [self.instances[self.index[name]] for name in loop.components]
        able = all(one.capabilities.directional_derivatives for one in instances)
        return PlannedLoop(
            stage=stage,
            calls=calls,
            signals=loop.signals,
            torn=unknowns,
            held=tuple(self.table.signals[slot] for slot in held),
            pattern=self._pattern(loop, real),
            minimum=tuple(variable.minimum for variable in variables),
            maximum=tuple(variable.maximum for variable in variables),
            directional=able
            and _visits_are_whole(loop, graph)
            and all(self.table.kind(signal) != "Float32" for signal in loop.signals),
        )


def _is_structural(network: Network, signal: Signal) -> bool:
    component = network.components.get(signal.component)
    variable = component.description.variables.get(signal.variable) if component else None
    return variable is not None and variable.causality is Causality.STRUCTURAL_PARAMETER


def _visits_are_whole(loop: Loop, graph: Graph) -> bool:
    """Each visit sets all inputs of the loop that its outputs need, as a product along the visits assumes."""
    members = set(loop.signals)
    for visit in loop.body:
        for output in visit.outputs:
            needed = {s for s in graph.before[output] if s in members and s.component == visit.component}
            if not needed.issubset(visit.inputs):
                return False
    return True
