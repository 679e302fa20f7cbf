"""Graph of the dependencies between signals of a system at one instant, with numbers as vertices.

Large systems have hundreds of thousands of vertices, so these are numbers, in the order of the names of their signals.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from ssptool.fmu.description import FmuDescription, Variability
from ssptool.network.arrays import wholes
from ssptool.network.network import FlatComponent, Network, Signal, Wire


class Stage(StrEnum):
    """Stage of dependencies: FMUs declare those of initialization mode separately."""

    INITIALIZATION = "initialization"
    COMMUNICATION = "communication"
    """A communication point of co-simulation: outputs with respect to inputs at that instant."""
    CONTINUOUS = "continuous"
    """Continuous-time mode of model exchange: the same dependencies of the FMU, with known states."""


class Need(StrEnum):
    """The reason why one signal needs another: an attribute of an edge."""

    WIRE = "wire"
    DECLARED = "declared feedthrough"
    UNDECLARED = "undeclared feedthrough"
    """The FMU declares no dependencies of the output, so it may depend on every input."""


RUNNING_DESTINATIONS = frozenset({"input", "output", "inout", "local"})
"""Kinds of connectors with values while the system runs; parameters only have values during initialization."""


def needs(component: FlatComponent, output: str, stage: Stage) -> frozenset[str] | None:
    """The signals that an output (or whole array) depends on at one instant; arrays are whole.

    None if the FMU declares no dependencies, so that it depends on all inputs.
    """
    return _declared(component.description, output, stage)


def _declared(fmu: FmuDescription, output: str, stage: Stage) -> frozenset[str] | None:
    variable = (fmu.whole or fmu.variables).get(output)
    if variable is not None and variable.variability is Variability.CONSTANT:
        return frozenset()
    if stage is not Stage.INITIALIZATION:
        # Variables that are fixed after initialization have no dependencies.
        if variable is not None and variable.variability is Variability.FIXED:
            return frozenset()
        if output not in fmu.outputs and output in fmu.states:
            # A state is known at a communication point.
            return frozenset()
        return fmu.outputs.get(output, fmu.derivatives.get(output))
    if output not in fmu.initial_unknowns and variable is not None and variable.initial == "exact":
        return frozenset()
    return fmu.initial_unknowns.get(output)


_NONE: Sequence[int] = ()
"""Shared empty value, because most vertices have either only wires or only feedthrough."""


class ComponentEnds(NamedTuple):
    """Wired inputs of a component by variable, and its outputs."""

    description: FmuDescription
    inputs: Mapping[str, int]
    outputs: Sequence[tuple[str, int]]


@dataclass(frozen=True, slots=True, eq=False)
class WiredSignals:
    """The vertices of a system and its wires: the part of its graph that is the same for all stages, without
    feedthrough.

    Vertices are ports that are wired or are outputs; an array is one vertex, because it is set and read as a whole.

    Attributes
    ----------
    signals
        Vertex → its signal, sorted.
    types
        Vertex → its type, if it is not Float64.
    met
        The vertices in the order of wires and components.
    wires
        Vertex → the vertices to which it is connected.
    components
        Components with the vertices of their ports.
    """

    signals: Sequence[Signal]
    types: Mapping[int, str]
    met: Sequence[int]
    wires: Sequence[Sequence[int]]
    components: Sequence[ComponentEnds]


def active_wires(network: Network, stage: Stage) -> Sequence[Wire]:
    """Wires that pass on values at a stage; while a system runs, wires to parameters do not."""
    if stage is Stage.INITIALIZATION:
        return network.wires
    if network.kinds <= RUNNING_DESTINATIONS:
        return network.wires
    resting = {port.signal for port in network.every_port() if port.kind not in RUNNING_DESTINATIONS}
    active = tuple(wire for wire in network.wires if wire.destination not in resting)
    return active if len(active) < len(network.wires) else network.wires


def wired_signals(
    network: Network, wires: Iterable[Wire], kept: Callable[[Signal], bool] | None = None
) -> WiredSignals:
    """Signals of a network with these wires; with `kept`, only those for which it is true."""
    whole = wholes(network)
    ends = [signal for wire in wires for signal in (wire.source, wire.destination)]
    if whole:
        ends = [whole.get(signal, signal) for signal in ends]
    number = {signal: place for place, signal in enumerate(dict.fromkeys(ends))}
    starts, finishes = ([number[signal] for signal in one] for one in (ends[::2], ends[1::2]))
    leaving = set(starts)
    outputs = [
        [number.setdefault(signal, len(number)) for signal in _outputs(component, whole, number, leaving)]
        for component in network.components.values()
    ]
    signals = list(number)
    # Their order, but faster to compare: names contain no null character.
    keys = ["\0".join(signal) for signal in signals]
    by_name = sorted(range(len(signals)), key=keys.__getitem__)
    if kept is not None:
        by_name = [place for place in by_name if kept(signals[place])]
    vertex = {place: rank for rank, place in enumerate(by_name)}
    inputs: dict[str, dict[str, int]] = {name: {} for name in network.components}
    for place in dict.fromkeys(finishes):
        component, variable = signals[place]
        if component in inputs and place in vertex:
            inputs[component][variable] = vertex[place]
    return WiredSignals(
        signals=[signals[place] for place in by_name],
        types={vertex[place]: kind for place, kind in _types(network, whole, number) if place in vertex},
        met=[vertex[place] for place in range(len(signals)) if place in vertex],
        wires=_connected(vertex, zip(starts, finishes, strict=True)),
        components=[
            ComponentEnds(
                one.description, inputs[one.name], [(signals[p].variable, vertex[p]) for p in own if p in vertex]
            )
            for one, own in zip(network.components.values(), outputs, strict=True)
        ],
    )


def _outputs(
    component: FlatComponent, whole: Mapping[Signal, Signal], number: Mapping[Signal, int], leaving: AbstractSet[int]
) -> Iterable[Signal]:
    """Outputs of a component, and its other ports at which a wire starts."""
    if not whole:
        ports = component.ports
        return [port.signal for port in ports if port.kind == "output" or number.get(port.signal) in leaving]
    kinds = {whole.get(port.signal, port.signal): port.kind for port in component.ports}
    return [signal for signal, kind in kinds.items() if kind == "output" or number.get(signal) in leaving]


def _types(network: Network, whole: Mapping[Signal, Signal], number: Mapping[Signal, int]) -> Iterator[tuple[int, str]]:
    for port in network.every_port() if network.types - {"Float64"} else ():
        if port.type != "Float64" and (place := number.get(whole.get(port.signal, port.signal))) is not None:
            yield place, port.type


def _connected(vertex: Mapping[int, int], wires: Iterable[tuple[int, int]]) -> list[Sequence[int]]:
    """Destinations of each vertex, each once."""
    found: dict[int, list[int]] = {}
    for start, finish in wires:
        if start in vertex and finish in vertex:
            found.setdefault(vertex[start], []).append(vertex[finish])
    return [tuple(dict.fromkeys(found[place])) if place in found else _NONE for place in range(len(vertex))]


@dataclass(frozen=True, slots=True, eq=False)
class SignalGraph:
    """Needs between signals at one instant: an edge points from a signal to one that needs it.

    Attributes
    ----------
    wired
        The vertices and the wires.
    feedthrough
        Vertex → the outputs of its component that depend on it.
    after
        Vertex → all vertices that need it.
    undeclared
        Outputs whose dependencies their FMU does not declare.
    declared
        Outputs of each FMU, by its identity, and the inputs that they depend on by its declaration (None: all).
    """

    wired: WiredSignals
    feedthrough: Sequence[Sequence[int]]
    after: Sequence[Sequence[int]]
    undeclared: AbstractSet[int]
    declared: Mapping[int, Mapping[str, frozenset[str] | None]]

    @property
    def signals(self) -> Sequence[Signal]:
        return self.wired.signals

    def need(self, source: int, destination: int) -> Need:
        """The reason for an edge."""
        if destination not in self.feedthrough[source]:
            return Need.WIRE
        return Need.UNDECLARED if destination in self.undeclared else Need.DECLARED


def signal_graph(wired: WiredSignals, stage: Stage, known: SignalGraph | None = None) -> SignalGraph:
    """The graph of a stage; `known` if it has the same signals and the same dependencies."""
    fmus: dict[int, tuple[FmuDescription, set[str]]] = {}
    for fmu, _, outputs in wired.components:
        fmus.setdefault(id(fmu), (fmu, set()))[1].update([variable for variable, _ in outputs])
    tables = {key: {name: _declared(fmu, name, stage) for name in names} for key, (fmu, names) in fmus.items()}
    if known is not None and known.wired is wired and known.declared == tables:
        return known
    found: dict[int, list[int]] = {}
    undeclared = set[int]()
    for fmu, inputs, outputs in wired.components:
        table = tables[id(fmu)]
        for variable, output in outputs:
            declared = table[variable]
            if declared is None:
                undeclared.add(output)
            for name in inputs if declared is None else declared:
                if name in inputs:
                    found.setdefault(inputs[name], []).append(output)
    feedthrough = [found.get(vertex, _NONE) for vertex in range(len(wired.signals))]
    pairs = zip(wired.wires, feedthrough, strict=True)
    after = [tuple(dict.fromkeys((*one, *two))) if one and two else one or two for one, two in pairs]
    return SignalGraph(wired, feedthrough, after, undeclared, tables)
