"""Elements and the arrays that they are of, in a flat network."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from ssptool.fmu.shapes import Shape, element_names
from ssptool.network.network import Component, Network, Port
from ssptool.network.signals import Leg, Signal, Wire


def elements(array: Signal, shape: Shape) -> tuple[Signal, ...]:
    """The elements of an array, in their order."""
    return tuple(Signal(array.component, name) for name in element_names(array.variable, shape))


def whole(signal: Signal, arrays: Collection[Signal]) -> Signal:
    """The array of which this is an element; the signal itself if it is none of these."""
    name, bracket, _ = signal.variable.rpartition("[")
    array = Signal(signal.component, name) if bracket and signal.variable.endswith("]") else signal
    return array if array in arrays else signal


def wholes(network: Network) -> dict[Signal, Signal]:
    """The array of every element that has a port."""
    parts = (network.ports, network.boundaries, *(component.ports for component in network.components.values()))
    signals = (port.signal for ports in parts for port in ports) if network.arrays else ()
    found = ((signal, whole(signal, network.arrays)) for signal in signals)
    return {signal: array for signal, array in found if array is not signal}


def with_whole_arrays(network: Network) -> Network:
    """The network for people: one port for each array, and one wire where arrays are connected as a whole.

    A wire of single elements stays. Descriptions and assignments stay as they are.
    """
    if not network.arrays:
        return network
    known = wholes(network)
    return replace(
        network,
        components={name: _component(component, known) for name, component in network.components.items()},
        ports=_ports(network.ports, known),
        boundaries=_ports(network.boundaries, known),
        wires=tuple(_wires(network.wires, known, network.arrays)),
        dangling=tuple(_wires(network.dangling, known, network.arrays)),
    )


def connected(network: Network) -> tuple[tuple[Signal, Signal], ...]:
    """The ends of all wires, once each, an element standing for its array."""
    arrays = network.arrays
    ends = ((whole(wire.source, arrays), whole(wire.destination, arrays)) for wire in network.wires)
    return tuple(dict.fromkeys(ends))


def _component(component: Component, known: Mapping[Signal, Signal]) -> Component:
    return replace(component, ports=_ports(component.ports, known))


def _ports(ports: Iterable[Port], known: Mapping[Signal, Signal]) -> tuple[Port, ...]:
    found: dict[Signal, Port] = {}
    for port in ports:
        signal = known.get(port.signal, port.signal)
        found.setdefault(signal, port if signal is port.signal else replace(port, signal=signal))
    return tuple(found.values())


def _wires(wires: Iterable[Wire], known: Mapping[Signal, Signal], shapes: Mapping[Signal, Shape]) -> Iterator[Wire]:
    between: dict[tuple[Signal, Signal] | int, list[Wire]] = {}
    for number, wire in enumerate(wires):
        ends = known.get(wire.source), known.get(wire.destination)
        between.setdefault(number if ends[0] is None or ends[1] is None else (ends[0], ends[1]), []).append(wire)
    for key, group in between.items():
        if isinstance(key, int) or not _covers(group, *key, shapes):
            yield from group
        else:
            yield Wire(*key, group[0].conversion, tuple(_leg(leg, known) for leg in group[0].legs))


def _covers(wires: list[Wire], source: Signal, destination: Signal, shapes: Mapping[Signal, Shape]) -> bool:
    """Whether these lead from each element of an array to its counterpart, all in the same way."""
    pairs = zip(elements(source, shapes[source]), elements(destination, shapes[destination]), strict=False)
    alike = all(wire.conversion == wires[0].conversion for wire in wires)
    return alike and shapes[source] == shapes[destination] and [(w.source, w.destination) for w in wires] == list(pairs)


def _leg(leg: Leg, known: Mapping[Signal, Signal]) -> Leg:
    return leg._replace(
        source=known.get(leg.source, leg.source), destination=known.get(leg.destination, leg.destination)
    )
