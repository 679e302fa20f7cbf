"""Elements and the arrays that they are of, in a flat network."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ssptool.fmu.elements import Shape, element_names
from ssptool.network.network import Component, Network, Port
from ssptool.network.signals import Leg, Signal, Wire


def elements(array: Signal, shape: Shape) -> tuple[Signal, ...]:
    """The elements of an array, in their order."""
    return tuple(Signal(array.component, name) for name in element_names(array.variable, shape))


def wholes(network: Network) -> dict[Signal, Signal]:
    """The array of every element."""
    return {element: array for array, shape in network.arrays.items() for element in elements(array, shape)}


def with_whole_arrays(network: Network) -> Network:
    """The network for people: one port for each array, and one wire where arrays are connected as a whole.

    A wire of single elements stays. Descriptions and assignments stay as they are.
    """
    if not network.arrays:
        return network
    whole = wholes(network)
    return replace(
        network,
        components={name: _component(component, whole) for name, component in network.components.items()},
        ports=_ports(network.ports, whole),
        boundaries=_ports(network.boundaries, whole),
        wires=tuple(_wires(network.wires, whole, network.arrays)),
        dangling=tuple(_wires(network.dangling, whole, network.arrays)),
    )


def _component(component: Component, whole: Mapping[Signal, Signal]) -> Component:
    return replace(component, ports=_ports(component.ports, whole))


def _ports(ports: Iterable[Port], whole: Mapping[Signal, Signal]) -> tuple[Port, ...]:
    found: dict[Signal, Port] = {}
    for port in ports:
        signal = whole.get(port.signal, port.signal)
        found.setdefault(signal, port if signal is port.signal else replace(port, signal=signal))
    return tuple(found.values())


def _wires(wires: Iterable[Wire], whole: Mapping[Signal, Signal], shapes: Mapping[Signal, Shape]) -> Iterator[Wire]:
    between: dict[tuple[Signal, Signal] | int, list[Wire]] = {}
    for number, wire in enumerate(wires):
        ends = whole.get(wire.source), whole.get(wire.destination)
        between.setdefault(number if ends[0] is None or ends[1] is None else (ends[0], ends[1]), []).append(wire)
    for key, group in between.items():
        if isinstance(key, int) or not _covers(group, *key, shapes):
            yield from group
        else:
            yield Wire(*key, group[0].conversion, tuple(_leg(leg, whole) for leg in group[0].legs))


def _covers(wires: list[Wire], source: Signal, destination: Signal, shapes: Mapping[Signal, Shape]) -> bool:
    """Whether these lead from each element of an array to its counterpart, all in the same way."""
    pairs = zip(elements(source, shapes[source]), elements(destination, shapes[destination]), strict=False)
    alike = all(wire.conversion == wires[0].conversion for wire in wires)
    return alike and shapes[source] == shapes[destination] and [(w.source, w.destination) for w in wires] == list(pairs)


def _leg(leg: Leg, whole: Mapping[Signal, Signal]) -> Leg:
    return replace(
        leg, source=whole.get(leg.source, leg.source), destination=whole.get(leg.destination, leg.destination)
    )
