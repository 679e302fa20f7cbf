"""Flatten a system structure and its FMUs to a network: components, their ports, and wires between them."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path as FilePath

from ssptool.documents.archive import Archive
from ssptool.documents.document import Document, garbage_collection_paused
from ssptool.documents.ssd import Connector, DefaultExperiment
from ssptool.fmu.description import Shape
from ssptool.fmu.model_description_xml import MODEL_DESCRIPTION
from ssptool.many_values import made
from ssptool.network.annotations import read_annotated
from ssptool.network.arrays import check_stated, has_variable_sizes, resize
from ssptool.network.connectors import ConnectorKey, FlatConnector, flat_connectors, stated_connector
from ssptool.network.network import (
    Experiment,
    FlatComponent,
    MissingComponent,
    Network,
    Port,
    Signal,
    TableComponent,
    UnresolvedConnection,
    Wire,
)
from ssptool.network.parameters import Parameterization
from ssptool.network.tree import ComponentPlace, ElementPath, MissingPlace, SystemPlace, Tree, build_tree, dotted
from ssptool.network.wiring import Wiring
from ssptool.work_in_progress import tell

NO_START_VALUES: Mapping[str, str] = {}
ROOT_SOURCES = frozenset({"input", "parameter", "structuralParameter"})
"""Kinds of connectors through which a system receives values."""


def build_network(
    archive: Archive,
    structure: Document,
    *,
    start_values: Mapping[str, str] = NO_START_VALUES,
    parameter_files: Sequence[FilePath] = (),
) -> Network:
    """Flatten a system structure.

    Illegal connections are left out; the rules report them, and components with missing and unreadable FMUs, which are
    in `Network.missing`. Unsupported features of the documents are listed in `Network.unsupported`.

    Parameters
    ----------
    start_values
        Full name of a variable (`System1.m1`) → its value as text; start values override all other values.
    parameter_files
        Parameter sets (`.ssv`) applied to the root system after its own bindings; the last one counts.

    Raises
    ------
    InvalidDocument
        A required attribute is missing or has an invalid value, or a parameter file cannot be read.
    UnknownName, InvalidValue
        A start value names an unknown variable, or one that cannot be set; or its text is not a value of the type.
    """
    with garbage_collection_paused(), archive.looked_up_once():
        return _build(archive, structure, start_values, parameter_files)


def _build(
    archive: Archive, structure: Document, start_values: Mapping[str, str], parameter_files: Sequence[FilePath]
) -> Network:
    tell("reading")
    tree = build_tree(archive, structure)
    tell("connecting components")
    known = flat_connectors(tree)
    if has_variable_sizes(tree, known):
        known = _sized(tree, known, start_values, parameter_files)
    check_stated(tree)
    wiring = Wiring(tree, known)
    parameters = Parameterization(tree, wiring)
    parameters.apply_bindings()
    for path in parameter_files:
        parameters.apply_file(path)
    parameters.apply_start_values(start_values)
    components = _components(tree, wiring)
    wires, dangling = _wires(wiring)
    assignments = parameters.assignments()
    stated = structure.structure.default_experiment
    network = Network(
        name=structure.structure.name,
        components=components,
        ports=tuple(_port(one) for one in wiring.connectors.values() if one.variable is None and one.key.of_root),
        wires=wires,
        assignments=assignments,
        experiment=_experiment(stated),
        experiment_position=None if stated is None else stated.position,
        annotated=read_annotated(structure),
        unsupported=tuple(dict.fromkeys(tree.unsupported)),
        unmatched=parameters.unmatched,
        boundaries=tuple(_boundaries(wiring)),
        boundary_assignments=parameters.boundary_assignments(),
        dangling=dangling,
        arrays=_arrays(tree, wiring),
        assumed_units=tuple(tree.assumed_units.values()),
        missing=_missing_components(tree),
        unresolved=_unresolved_connections(tree),
    )
    return _with_tables(network, tree) if any(place.table is not None for place in tree.components) else network


def _with_tables(network: Network, tree: Tree) -> Network:
    """Replace tables by inputs of the system that have the full names of their outputs."""
    components, ports = dict(network.components), list(network.ports)
    tables: dict[str, TableComponent] = {}
    for place in tree.components:
        if place.table is None:
            continue
        component = components.pop(dotted(place.path))
        ports += (port._replace(signal=_as_input(port.signal), kind="input") for port in component.ports)
        outputs = {_as_input(Signal(component.name, name)): output for name, output in place.table.items()}
        tables[component.name] = TableComponent(component.name, component.source, component.position, outputs)

    def moved(wire: Wire) -> Wire:
        return wire._replace(source=_as_input(wire.source)) if wire.source.component in tables else wire

    wires, dangling = tuple(map(moved, network.wires)), tuple(map(moved, network.dangling))
    return replace(network, components=components, ports=tuple(ports), wires=wires, dangling=dangling, tables=tables)


def _as_input(signal: Signal) -> Signal:
    """The input of the system that has the full name of a signal."""
    return Signal("", str(signal))


def _sized(
    tree: Tree,
    known: Mapping[ConnectorKey, FlatConnector],
    start_values: Mapping[str, str],
    parameter_files: Sequence[FilePath],
) -> dict[ConnectorKey, FlatConnector]:
    """Size arrays by parameters (other values are applied later), and return the connectors."""
    # Invalid values are rejected when all values are applied.
    scratch = replace(tree, unsupported=[], assumed_units={})
    parameters = Parameterization(scratch, Wiring(scratch, known))
    parameters.apply_bindings()
    for path in parameter_files:
        parameters.apply_file(path)
    parameters.apply_sizes(start_values)
    given = {**parameters.boundary_assignments(), **parameters.assignments()}
    resize(tree, {signal: one.value for signal, one in given.items() if type(one.value) is int})
    return flat_connectors(tree)


def _arrays(tree: Tree, wiring: Wiring) -> dict[Signal, Shape]:
    """Shapes of connectors, and of variables without one."""
    shapes = {key.signal: shape for key, shape in wiring.shapes.items()}
    for place in tree.components:
        name = dotted(place.path)
        shapes.update((Signal(name, array), shape) for array, shape in place.elements.arrays.items())
    return shapes


def _components(tree: Tree, wiring: Wiring) -> dict[str, FlatComponent]:
    ports: dict[ElementPath, list[Port]] = defaultdict(list)
    for key, connector in wiring.connectors.items():
        if connector.variable is not None:
            ports[key.path].append(_port(connector))
    inside: dict[tuple[Archive, str], str] = {}
    return {dotted(place.path): _component(place, tuple(ports[place.path]), inside) for place in tree.components}


def _component(place: ComponentPlace, ports: tuple[Port, ...], inside: dict[tuple[Archive, str], str]) -> FlatComponent:
    """`inside` are the model descriptions of earlier components, by their archive and FMU."""
    archive = place.scope.archive
    description = inside.get((archive, place.source))
    if description is None:
        description = archive.stated(archive.inside(place.source, MODEL_DESCRIPTION))
        inside[archive, place.source] = description
    return FlatComponent(
        name=dotted(place.path),
        source=place.source,
        implementation=str(place.component.implementation),
        description=place.elements,
        ports=ports,
        position=place.scope.survey.position(place.component),
        model_description=description,
    )


def _port(connector: FlatConnector) -> Port:
    unit = connector.unit if connector.variable is None else connector.variable_unit
    return made(
        Port,
        (
            connector.signal,
            connector.kind._value_,  # without a call, because there are very many
            connector.type or "Float64",  # a type that cannot be deduced is an error of the document (TYPE-002)
            None if unit is None else unit.name,
            connector.description,
            connector.position,
            connector.clock,
        ),
    )


def _wires(wiring: Wiring) -> tuple[tuple[Wire, ...], tuple[Wire, ...]]:
    """Flows between components, and from and to the root system, in the order of their connections; and dangling flows.

    Dangling flows start or end at the connector of a nested system.
    """
    found, dangling = wiring.plain.copy(), []
    for key, connector in wiring.leading_on:
        source = connector.variable is not None or (key.of_root and connector.kind in ROOT_SOURCES)
        if source or not (key.of_root or key in wiring.driven):  # where flows start
            for flow in wiring.flows_from(key):
                if source and not flow.dangles:
                    found.append((flow.order, flow.wire))
                else:
                    dangling.append(flow.wire)
    found.sort(key=itemgetter(0))
    return tuple([wire for _, wire in found]), tuple(dangling)


def _boundaries(wiring: Wiring) -> Iterator[Port]:
    for key, connector in wiring.connectors.items():
        if connector.variable is not None or key.of_root:
            continue
        if not (key.inner and ConnectorKey(key.path, key.connector) in wiring.connectors):
            port = _port(connector)
            yield port if key.dictionary is None else port._replace(kind="dictionary entry")


def _experiment(stated: DefaultExperiment | None) -> Experiment:
    return Experiment(None, None) if stated is None else Experiment(stated.start_time, stated.stop_time)


def _missing_components(tree: Tree) -> dict[str, MissingComponent]:
    """The missing components by their full names."""
    return {dotted(place.path): _missing(place) for place in tree.missing}


def _missing(place: MissingPlace) -> MissingComponent:
    component = place.component
    return MissingComponent(
        name=dotted(place.path),
        source=component.source or "",
        kind=place.kind,
        problem=place.problem,
        ports=tuple(_stated_port(place, connector) for connector in component.connectors),
        position=component.position,
    )


def _stated_port(place: MissingPlace, connector: Connector) -> Port:
    stated = stated_connector(connector, place.path, place.scope)
    unit = None if stated.unit is None else stated.unit.name
    return Port(
        stated.signal, str(stated.kind), stated.type or "", unit, stated.description, stated.position, stated.clock
    )


def _unresolved_connections(tree: Tree) -> tuple[UnresolvedConnection, ...]:
    """The connections with an end at a missing component, in document order."""
    missing = {place.path for place in tree.missing}
    return tuple(found for system in tree.systems for found in _unresolved(system, missing)) if missing else ()


def _unresolved(place: SystemPlace, missing: set[ElementPath]) -> Iterator[UnresolvedConnection]:
    for connection in place.system.connections:
        ends = connection.ends
        paths = [(*place.path, end.element) if end.element else place.path for end in ends]
        if not missing.isdisjoint(paths):
            start, end = (Signal(dotted(path), one.connector) for path, one in zip(paths, ends, strict=True))
            yield UnresolvedConnection(start, end, place.scope.survey.position(connection))
