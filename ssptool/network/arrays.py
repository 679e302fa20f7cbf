"""Arrays: their sizes, their elements, and the elements that a connection connects (SSP 2.0 §4.5.3 and §5.3.2).

The FMU states a size, or a structural parameter that the system may set. The flat network has one signal for each
element."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod

from ssptool.fmu.description import FmuDescription, Shape, element_names, shape_text
from ssptool.network.connectors import ConnectorKey, Extents, FlatConnector, flat_connectors
from ssptool.network.network import FlatComponent, Leg, Network, Port, Signal, Wire
from ssptool.network.tree import MOST_ELEMENTS, ComponentPlace, Tree, dotted, sized


def elements(array: Signal, shape: Shape) -> tuple[Signal, ...]:
    """Elements of an array, in order."""
    return tuple(Signal(array.component, name) for name in element_names(array.variable, shape))


def whole(signal: Signal, arrays: Collection[Signal]) -> Signal:
    """The array that contains a signal as element; the signal itself if it is not an element."""
    name, bracket, _ = signal.variable.rpartition("[")
    array = Signal(signal.component, name) if bracket and signal.variable.endswith("]") else signal
    return array if array in arrays else signal


def wholes(network: Network) -> dict[Signal, Signal]:
    """Array of every element that has a port."""
    parts = (network.ports, network.boundaries, *(component.ports for component in network.components.values()))
    signals = (port.signal for ports in parts for port in ports) if network.arrays else ()
    found = ((signal, whole(signal, network.arrays)) for signal in signals)
    return {signal: array for signal, array in found if array is not signal}


def with_whole_arrays(network: Network) -> Network:
    """The network with one port for each array, and one wire for each connection of whole arrays, for display.

    Wires of single elements, descriptions and assignments are unchanged.
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
    """Ends of all wires, each pair once, with arrays instead of elements."""
    arrays = network.arrays
    ends = ((whole(wire.source, arrays), whole(wire.destination, arrays)) for wire in network.wires)
    return tuple(dict.fromkeys(ends))


def _component(component: FlatComponent, known: Mapping[Signal, Signal]) -> FlatComponent:
    return replace(component, ports=_ports(component.ports, known))


def _ports(ports: Iterable[Port], known: Mapping[Signal, Signal]) -> tuple[Port, ...]:
    found: dict[Signal, Port] = {}
    for port in ports:
        signal = known.get(port.signal, port.signal)
        found.setdefault(signal, port if signal is port.signal else port._replace(signal=signal))
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
    """True if wires connect every element of an array to its counterpart, with the same conversion."""
    pairs = zip(elements(source, shapes[source]), elements(destination, shapes[destination]), strict=False)
    alike = all(wire.conversion == wires[0].conversion for wire in wires)
    return alike and shapes[source] == shapes[destination] and [(w.source, w.destination) for w in wires] == list(pairs)


def _leg(leg: Leg, known: Mapping[Signal, Signal]) -> Leg:
    return leg._replace(
        source=known.get(leg.source, leg.source), destination=known.get(leg.destination, leg.destination)
    )


def undivided(tree: Tree) -> dict[ConnectorKey, FlatConnector]:
    """The connectors of a tree with whole arrays instead of elements, as in the documents."""
    tree.components[:] = [replace(place, elements=place.fmu) for place in tree.components]
    return {key: connector._replace(extents=()) for key, connector in flat_connectors(tree).items()}


def check_stated(tree: Tree) -> None:
    """Reject connectors whose stated size differs from that of their variable."""
    for place in tree.components:
        for connector in place.component.connectors if place.elements.arrays else ():
            shape = place.elements.arrays.get(connector.name)
            stated = [dimension.size for dimension in connector.dimensions]
            if shape is None or not stated:
                continue
            sizes = zip(stated, shape, strict=False)
            if len(stated) != len(shape) or any(size not in (None, extent) for size, extent in sizes):
                found = ", ".join("?" if size is None else str(size) for size in stated)
                what = f"{dotted(place.path)}.{connector.name}"
                tree.refuse(
                    place.scope.survey.position(connector),
                    f"the dimensions [{found}] of the connector {what}, whose variable is {shape_text(shape)}",
                    rules=("FMU-007",),
                )


def structural(place: ComponentPlace) -> frozenset[str]:
    """Structural parameters that determine sizes of arrays."""
    return frozenset(size for variable in place.fmu.variables.values() for size in variable.sizes if size is not None)


def has_variable_sizes(tree: Tree, known: Mapping[ConnectorKey, FlatConnector]) -> bool:
    """True if parameters determine sizes of arrays."""
    by_connectors = any(isinstance(each, str) for one in known.values() for each in one.extents)
    return by_connectors or any(structural(place) for place in tree.components if place.elements.arrays)


def resize(tree: Tree, given: Mapping[Signal, int]) -> None:
    """Set sizes of arrays in a tree according to these values of variables and connectors."""
    tree.sizes = given
    known: dict[tuple[str, tuple[tuple[str, int], ...]], FmuDescription] = {}
    for number, place in enumerate(tree.components):
        name = dotted(place.path)
        own = {size: given[Signal(name, size)] for size in structural(place) if Signal(name, size) in given}
        if own:
            key = (place.source, tuple(sorted(own.items())))
            if key not in known:
                known[key] = sized(place.fmu, own, place.source, tree)
            tree.components[number] = replace(place, elements=known[key])


def shapes(
    tree: Tree, connectors: Mapping[ConnectorKey, FlatConnector], pairs: Iterable[tuple[ConnectorKey, ConnectorKey]]
) -> dict[ConnectorKey, Shape]:
    """The shapes of all connectors that are arrays.

    A system's connector without a size gets the size of the connectors that it is connected to as a whole (`pairs`).
    Arrays of unknown size are unsupported.
    """
    extents = {key: _stated(tree, connector) for key, connector in connectors.items() if connector.extents}
    if any(None in known for known in extents.values()):
        _deduce(extents, tuple(pairs))
    for key, known in extents.items():
        if None in known:
            tree.refuse(connectors[key].position, f"the array {str(key.signal)!r} of unknown size")
    found = {key: tuple(int(extent or 0) for extent in known) for key, known in extents.items()}
    return _bounded(tree, connectors, found)


def _bounded(
    tree: Tree, connectors: Mapping[ConnectorKey, FlatConnector], known: dict[ConnectorKey, Shape]
) -> dict[ConnectorKey, Shape]:
    """Shapes with the largest arrays emptied, and reported as unsupported, until the number of elements is within the
    limit.
    """
    total = sum(map(prod, known.values()))
    for key, shape in sorted(known.items(), key=lambda item: -prod(item[1])):
        if total <= MOST_ELEMENTS:
            break
        what = f"the connector {str(key.signal)!r} with its {prod(shape)} elements ({shape_text(shape)})"
        tree.refuse(connectors[key].position, f"{what}: connectors may have {MOST_ELEMENTS} in total")
        total -= prod(shape)
        known[key] = tuple(0 for _ in shape)
    return known


def element_key(key: ConnectorKey, name: str) -> ConnectorKey:
    """The key of an element of the array at `key`."""
    return key._replace(connector=name)


def by_element(
    connectors: Mapping[ConnectorKey, FlatConnector], known: Mapping[ConnectorKey, Shape]
) -> dict[ConnectorKey, FlatConnector]:
    """The connectors, with each array replaced by its elements."""
    if not known:
        return dict(connectors)
    found: dict[ConnectorKey, FlatConnector] = {}
    for key, connector in connectors.items():
        shape = known.get(key)
        if shape is None:
            found[key] = connector
            continue
        for name in element_names(key.connector, shape):
            own = element_key(key, name)
            found.setdefault(own, connector._replace(key=own, signal=own.signal, extents=(), array=key.connector))
    return found


class Unpaired(ValueError):
    """The two ends of a connection have different shapes, or an index is not that of an element."""


def pairs_of_elements(
    source: tuple[ConnectorKey, Shape, Sequence[int] | None],
    destination: tuple[ConnectorKey, Shape, Sequence[int] | None],
) -> Iterator[tuple[ConnectorKey, ConnectorKey]]:
    """Pairs of connected elements for a connection between two connectors with shapes and indices.

    Raises
    ------
    Unpaired
    """
    (start, from_shape), (end, to_shape) = (_picked(*each) for each in (source, destination))
    if from_shape != to_shape:
        whole = f"{source[0].signal} is {shape_text(from_shape)}, {destination[0].signal} is {shape_text(to_shape)}"
        raise Unpaired(f"a connection of different shapes: {whole}")
    return zip(start, end, strict=True)


def _picked(key: ConnectorKey, shape: Shape, indices: Sequence[int] | None) -> tuple[list[ConnectorKey], Shape]:
    """The selected elements and their shape; a single element counts as a scalar (AMB-08: counted from 1)."""
    if indices is None:
        return [element_key(key, name) for name in element_names(key.connector, shape)], shape
    fits = len(indices) == len(shape) and all(1 <= i <= extent for i, extent in zip(indices, shape, strict=True))
    if not fits or not shape:
        found = " ".join(map(str, indices))
        raise Unpaired(f"the indices {found!r} pick no element of {key.signal}, which is {shape_text(shape)}")
    return [element_key(key, f"{key.connector}[{','.join(map(str, indices))}]")], ()


def _stated(tree: Tree, connector: FlatConnector) -> Extents:
    """The extents of a connector, using the values of its size connectors."""
    beside, extents = connector.signal.component, connector.extents
    return tuple(tree.sizes.get(Signal(beside, each)) if isinstance(each, str) else each for each in extents)


def _deduce(extents: dict[ConnectorKey, Extents], pairs: Sequence[tuple[ConnectorKey, ConnectorKey]]) -> None:
    """Fill in unknown extents from the other ends of connections, until nothing changes."""
    arrays = [pair for pair in pairs if all(key in extents for key in pair)]
    while True:
        before = dict(extents)
        for one, other in (*arrays, *((b, a) for a, b in arrays)):
            ours, theirs = extents[one], extents[other]
            if None in ours and len(ours) == len(theirs):
                extents[one] = tuple(b if a is None else a for a, b in zip(ours, theirs, strict=True))
        if before == extents:
            return
