"""Rules on connections, and on the algebraic loops that they close."""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from ssptool.documents import ssc, ssd
from ssptool.documents.diagnostics import Severity
from ssptool.documents.ssd import ConnectorKind as Kind
from ssptool.documents.vocabulary import media_type
from ssptool.errors import UnusableFile, abbreviated, counted
from ssptool.fmu.description import Causality, FmuDescription
from ssptool.fmu.terminals import FLOWS, flow_factor
from ssptool.network.conversion import Verdict
from ssptool.network.graph_algorithms import cyclic_components
from ssptool.network.legality import Carried, Owner, leads_forward, shape_words
from ssptool.rules.bindings import uses
from ssptool.rules.catalogue import (
    DERIVED,
    ERROR,
    INFO,
    MUST,
    POLICY,
    TEXT,
    WARNING,
    Chapter,
    Finding,
    content_of,
    near,
    renamed,
    repeats,
    without,
)
from ssptool.rules.links import (
    Indices,
    Link,
    LinkEnd,
    Side,
    SystemInterface,
    alike,
    both_ticking,
    by_name,
    carried_by,
    connections,
    coupled,
    declared,
    found_obstacles,
    indexed,
    instance_of,
    interface,
    links,
    loose,
)
from ssptool.rules.subjects import Structure, around, full_name, pool, remembered

CONNECTIONS = Chapter("Connections (SSP 2.0 §5.3.2)", section="SSP 2.0 §5.3.2")
ANY_BYTES = "application/octet-stream"
TABLE = "SSP 2.0 §5.3.2.1, table of allowed connections"


@CONNECTIONS.rule("SSD-CONN-001", severity=ERROR, basis=TEXT, blocks_run=True)
def known_elements(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """The ends of a connection are at elements of its own system, or at the system itself.

    A connection does not reach into a subsystem; it ends at a connector of the subsystem.

    Fix: correct the name, or connect to a connector of the subsystem.
    """
    elements = interface(system, structure).elements
    for connection, side, element, _ in _loose_ends(system, structure):
        if element and element not in elements:
            outer = element.partition(".")[0]
            inside = f"connect to a connector of '{outer}'" if outer in elements else ""
            message = f"the system '{system.name}' has no element '{element}'"
            fix = renamed(connection, f"{side}Element", elements)
            yield Finding(connection, message, inside or near(element, elements), f"{side}Element", fix=fix)


@CONNECTIONS.rule("SSD-CONN-002", severity=ERROR, basis=MUST, source="SSP 2.0 §5.2.1, §5.3.2", blocks_run=True)
def known_connectors(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """The ends of a connection are connectors that the SSD declares.

    A variable of this name in the FMU is not enough.

    Fix: correct the name, or declare the connector at its element.
    """
    seen = interface(system, structure)
    for connection, side, element, connector in _loose_ends(system, structure):
        known = not element or element in seen.elements
        if known and seen.connector(element, connector) is None:
            what = f"'{element}'" if element else f"the system '{system.name}' itself"
            message = f"{what} has no connector '{connector}'"
            advice = _how_to_declare(seen, element, connector, structure)
            fix = renamed(connection, f"{side}Connector", seen.connectors[element])
            yield Finding(connection, message, advice, f"{side}Connector", fix=fix)


@CONNECTIONS.rule("SSD-CONN-003", severity=ERROR, basis=MUST, source=TABLE)
def legal_kinds(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """The kinds of the two connectors allow a flow from one to the other.

    Start and end of a connection state no direction; the kinds do: an output of an element feeds an input of another
    element or an output of the system, and so on. Two outputs cannot be connected.

    Fix: connect an output with an input; or correct the kind of a connector.

    Accepted: the connection is left out. Some pairs are legal in a file of version 2.0 only.
    """
    for same in alike(system, structure):
        start, end = same[0].start.side, same[0].end.side
        if same[0].flow is None and Kind.UNSPECIFIED not in (start.kind, end.kind) and not both_ticking(same[0]):
            later = (
                structure.version == "1.0" and leads_forward(start.owner, start.kind, end.owner, end.kind) is not None
            )
            advice = "legal since SSP 2.0: declare that version" if later else _counsel(start, end)
            for link in same:
                message = f"{_described(link.start)} cannot be connected to {_described(link.end)}"
                yield Finding(link.connection, message, advice)


@CONNECTIONS.rule("SSD-CONN-004", severity=ERROR, basis=MUST, source="SSP 2.0 §5.3.2.1")
def one_driver(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """A connector takes its value from one source only.

    With two sources the result would depend on the order in which signals are exchanged.

    Fix: delete a connection, or merge the sources in a component.

    Accepted: the first of the connections, in the order of the document, gives the value.
    """
    drivers: dict[LinkEnd | tuple[LinkEnd, Indices], Link] = {}
    for link in links(system, structure):
        if link.flow is None:
            continue
        destination, indices = link.flow[1], _indices(link, link.flow[1])
        first = drivers.setdefault(destination if indices is None else (destination, indices), link)
        if link is not first and _source(link) is not _source(first):
            line = structure.line_of(first.connection)
            message = f"{destination} is driven by {_source(link)} and by {_source(first)} (line {line})"
            yield Finding(link.connection, message, "delete one of the two, or merge the sources in a component")


@CONNECTIONS.rule("SSD-CONN-007", severity=ERROR, basis=DERIVED, source="SSP 2.0 §5.3.2.1")
def no_duplicates(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """Two connectors are connected once, in either orientation.

    If two connections of the same connectors differ in units or transformations, the value is ambiguous (an error). If
    they are equal, one of them is redundant (a warning).

    Fix: delete one of them.

    Accepted: the first of the connections, in the order of the document, counts.
    """
    first: dict[Hashable, ssd.Connection] = {}
    for stated in connections(system, structure):
        connection, start, end = stated.connection, stated.start, stated.end
        ends: Hashable = (start, end) if start < end else (end, start)
        if stated.start_indices is not None or stated.end_indices is not None:
            ends = frozenset(((start, stated.start_indices), (end, stated.end_indices)))
        other = first.setdefault(ends, connection)
        if other is not connection:
            message = f"line {structure.line_of(other)} connects the same connectors"
            fix = repeats(connection, other)
            severity = None if _carriage(connection) != _carriage(other) else WARNING
            yield Finding(connection, message, "delete one of the connections", severity=severity, fix=fix)


@CONNECTIONS.rule(
    "SSD-CONN-008", severity=ERROR, basis=POLICY, source="SSP 2.0 §5.3.2.1 leaves this to the implementation"
)
def compatible_types(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """The value of a source fits the type of its destination.

    SSP lets each tool decide which types it converts. ssptool converts without loss (an information), and between
    enumerations and integers (a warning, unless the connection has a mapping). It refuses conversions that may lose
    information, between Booleans and numbers, and of texts, binaries and clocks. The type of an end is the one that its
    connector states, else that of the FMU's variable.

    Fix: connect connectors of one type, or convert in a component.

    Accepted: a number passes to the narrower type and ends the run where it does not fit; enumerations pass as their
    numbers; other conversions are refused.
    """
    yield from against("SSD-CONN-008", system, structure)


@CONNECTIONS.rule("SSD-CONN-009", severity=ERROR, basis=DERIVED, source="SSP 2.0 §4.5.3, §5.3.2", versions=["2.0"])
def equal_shapes(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """Two connectors that are connected as a whole have the same dimensions.

    Fix: connect single elements by indices, or correct the dimensions.

    Accepted: the connection is left out.
    """
    yield from against("SSD-CONN-009", system, structure)


@CONNECTIONS.rule("SSD-CONN-010", severity=ERROR, basis=DERIVED, versions=["2.0"])
def fitting_indices(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """Indices pick one element of an array: one per dimension, counted from 1, within the size.

    Fix: give one index for each dimension of the connector.

    Accepted: the connection is left out.
    """
    for link in indexed(system, structure):
        for end, indices, side in (
            (link.start, link.start_indices, "start"),
            (link.end, link.end_indices, "end"),
        ):
            shape = end.side.shape
            if indices and shape is not None:
                fit = len(indices) == len(shape) and all(
                    index >= 1 and (size is None or index <= size) for index, size in zip(indices, shape, strict=True)
                )
                if not fit:
                    found = " ".join(map(str, indices))
                    message = f"the indices {found} pick no element of {end}, which is {shape_words(shape)}"
                    yield Finding(link.connection, message, "", f"{side}Indices")


@CONNECTIONS.rule("SSD-CONN-011", severity=ERROR, basis=DERIVED, versions=["2.0"])
def some_indices(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """A list of indices is not empty.

    Fix: remove the attribute to connect the whole connector.

    Accepted: the connection is left out.
    """
    for stated in connections(system, structure):
        for side, indices in (("start", stated.start_indices), ("end", stated.end_indices)):
            if indices == ():
                message = "the list of indices is empty"
                yield Finding(stated.connection, message, "remove the attribute", f"{side}Indices")


@CONNECTIONS.rule("SSD-CONN-012", severity=ERROR, basis=DERIVED, source="SSP 2.0 §5.3.2.1", versions=["2.0"])
def one_driver_per_element(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """An array that takes its value as a whole has no other source for a single element.

    That element would have two sources. Different elements may have different sources.

    Fix: delete one of the connections.

    Accepted: the first of the connections, in the order of the document, gives an element its value.
    """
    found = indexed(system, structure)
    single = [link for link in found if link.flow is not None and _indices(link, link.flow[1]) is not None]
    whole: dict[LinkEnd, Link] = {}
    for link in links(system, structure) if single else ():
        if link.flow is not None and _indices(link, link.flow[1]) is None:
            whole.setdefault(link.flow[1], link)
    for link in single:
        if _destination(link) in whole:
            line = structure.line_of(whole[_destination(link)].connection)
            message = f"line {line} already gives all elements of {_destination(link)} a value"
            yield Finding(link.connection, message, "delete one of the connections")


@CONNECTIONS.rule("SSD-CONN-013", severity=WARNING, basis=POLICY)
def absent_not_empty(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """At the enclosing system `startElement` or `endElement` is left out, not empty.

    Some tools write an empty name; other tools read it as an element without a name.

    Fix: remove the attribute.
    """
    for stated in connections(system, structure):
        if stated.start.element and stated.end.element:
            continue
        for name, (element, _) in (("startElement", stated.start), ("endElement", stated.end)):
            if not element and stated.connection.get(name) == "":
                message = f"{name} is empty; it is read as the enclosing system"
                fix = without(stated.connection, name)
                yield Finding(stated.connection, message, "remove the attribute", name, fix=fix)


@CONNECTIONS.rule("TYPE-004", severity=WARNING, basis=TEXT, source="SSP 2.0 §4.5.1")
def same_media_types(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """Two binaries that are connected have the same media type.

    Bytes are not converted, so the receiver must understand the media type of the source. `application/octet-stream`
    may be connected to every media type.

    Fix: connect other connectors, or correct a media type.
    """
    for same in alike(system, structure):
        start, end = same[0].start.side.says.type, same[0].end.side.says.type
        if same[0].flow is not None and isinstance(start, ssc.Binary) and isinstance(end, ssc.Binary):
            here, there = media_type(start.mime_type), media_type(end.mime_type)
            if here != there and ANY_BYTES not in (here, there):
                for link in same:
                    yield Finding(link.connection, f"{link.start} is {here}, {link.end} is {there}")


@CONNECTIONS.rule("SSD-CONN-014", severity=WARNING, basis=TEXT, source="SSP 2.0 §5.3.2.1", versions=["2.0"])
def one_direction(structure: Structure) -> Iterator[Finding]:
    """All connections of an `unspecified` connector give it one direction.

    A connector of a system that takes its value outside gives it inside. If connections contradict each other, the
    standard leaves the result to the tool.

    Fix: state the kinds of the connectors.
    """
    directions: dict[ssd.Connector, tuple[bool, ssd.Connection]] = {}
    for system in structure.systems:
        some = any(
            Kind.UNSPECIFIED in (same[0].start.side.kind, same[0].end.side.kind) for same in alike(system, structure)
        )
        for link in links(system, structure) if some else ():
            for end in link.flow or ():
                if end.side.kind is Kind.UNSPECIFIED:
                    # True if the connector gets its value from outside.
                    takes = (end is _destination(link)) is bool(end.element)
                    known, other = directions.setdefault(end.connector, (takes, link.connection))
                    if known is not takes:
                        line = structure.line_of(other)
                        yield Finding(link.connection, f"{end} is connected the other way round in line {line}")


@CONNECTIONS.rule(
    "SSD-CONN-101", severity=INFO, basis=DERIVED, source="SSP 2.0 §5.3.2; FMI 2.0.4 §2.2.7, FMI 3.0 §2.4.7.4"
)
def connected_inputs(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """Inputs of elements are connected.

    An input without a connection keeps its start value during the whole run, unless `--inputs` or a scenario drives it;
    `ssptool plan` names the value. It is a warning if the FMU states no start value and no parameter sets one. Inputs
    of the only element of a system are not reported.

    Fix: connect the input (`ssptool connect`), or drive it (`ssptool run --inputs`).
    """
    met = {end for stated in connections(system, structure) for end in (stated.start, stated.end)}
    elements = system.elements
    for element in elements if len(elements) > 1 else ():
        owner = element.name
        for one in by_name(element, structure).values():
            if one.says.kind is not Kind.INPUT or (owner, one.name) in met:
                continue
            carried = carried_by(one, element, structure)
            if carried.type != "Clock":
                advice = _connecting(system, element, one.name, carried, structure)
                severity = WARNING if _lacks_start(element, one.name, structure) else None
                message = f"the input '{one.name}' of '{owner}' is not connected"
                yield Finding(one.connector, message, advice, "name", severity)


def _lacks_start(element: ssd.SystemElement, name: str, structure: Structure) -> bool:
    """True if neither the FMU of an element nor a parameter provides a start value for an input."""
    description = structure.fmu_of(element)
    variable = None if description is None else description.variables.get(name)
    if variable is None or variable.start is not None:
        return False
    return not any(
        target.element is element and target.name == name for use in uses(structure) for target in use.targets
    )


def _connecting(
    system: ssd.System, element: ssd.SystemElement, name: str, wanted: Carried, structure: Structure
) -> str:
    """Command that connects an input to the only output of another element with the same name, type and unit."""
    beside = [
        other
        for other in system.elements
        if other is not element
        and (found := by_name(other, structure).get(name)) is not None
        and found.says.kind is Kind.OUTPUT
        and (carried := carried_by(found, other, structure)).type == wanted.type
        and carried.unit == wanted.unit
    ]
    if structure.archive.is_generated:
        return f"connect it in {element.position.file}, or drive it with --inputs"
    if len(beside) != 1:
        return "connect it with `ssptool connect`, set a constant with `ssptool set`, or drive it with --inputs"
    around_it = [outer.name for outer in around(element, ssd.System)][-2::-1]
    source, destination = (".".join((*around_it, one.name, name)) for one in (beside[0], element))
    return f"connect it: `ssptool connect SYSTEM {source} {destination}`"


@CONNECTIONS.rule("SSD-CONN-102", severity=WARNING, basis=DERIVED, source="SSP 2.0 §5.3.2; FMI 3.0 §2.4.9.2.2")
def flows_of_terminals(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """Flows between terminals sum to zero at each node.

    Members of terminals with the `variableKind` inflow or outflow are flows, such as a current. What flows into one
    component flows out of the other one: between two inflows, or two outflows, the connection has the factor −1. A flow
    is not connected to a signal, and not to two others, as each of these would get all of it.

    Fix: connect the terminals with `ssptool connect`, which sets the factor.
    """
    if not any(_FLOWING & {*_member_kinds(element, structure).values()} for element in system.elements):
        return
    met: dict[LinkEnd, Link] = {}
    for link in links(system, structure):
        if link.flow is None:
            continue
        one, other = (_member_kinds(end.owner, structure).get(end.name, "") for end in link.flow)
        if not (one and other) or not {one, other} & _FLOWING:
            continue
        source, destination = link.flow
        wanted, transformation = flow_factor(one, other), link.transformation
        factor = transformation.factor if isinstance(transformation, ssc.LinearTransformation) else 1.0
        first = met.setdefault(source, link)
        if wanted is None:
            yield Finding(link.connection, f"{source} is of variableKind '{one}', {destination} of '{other}'")
        elif factor * wanted <= 0:
            message = f"{source} is of variableKind '{one}', {destination} of '{other}', but the factor is {factor:g}"
            yield Finding(
                link.connection, message, f"use the factor {wanted:g}: what flows into one flows out of the other"
            )
        elif first is not link:
            line = structure.line_of(first.connection)
            message = f"{source} is a flow that line {line} connects already"
            yield Finding(link.connection, message, "put a component that adds the flows between the three")


_FLOWING = frozenset(FLOWS)


@remembered
def _member_kinds(element: ssd.SystemElement, structure: Structure) -> Mapping[str, str]:
    """The `variableKind` of the variables of an FMU that are members of terminals."""
    if not isinstance(element, ssd.Component) or structure.fmu_of(element) is None:
        return {}
    terminals = structure.fmu_files[structure.reference(element, element.source or "").entry].terminals
    known = () if isinstance(terminals, UnusableFile) else terminals.values()
    return {member.variable: member.kind for terminal in known for member in terminal.members}


def _loose_ends(system: ssd.System, structure: Structure) -> Iterator[tuple[ssd.Connection, str, str, str]]:
    """The ends of connections with an undeclared connector."""
    for stated in loose(system, structure):
        yield stated.connection, "start", *stated.start
        yield stated.connection, "end", *stated.end


def _carriage(connection: ssd.Connection) -> object:
    """The conversion of a connection as a comparable value."""
    transformation = connection.transformation
    return connection.suppress_unit_conversion, None if transformation is None else content_of(transformation)


def _source(link: Link) -> LinkEnd:
    assert link.flow is not None
    return link.flow[0]


def _destination(link: Link) -> LinkEnd:
    assert link.flow is not None
    return link.flow[1]


def _indices(link: Link, end: LinkEnd) -> tuple[int, ...] | None:
    return link.start_indices if end is link.start else link.end_indices


def _how_to_declare(seen: SystemInterface, element: str, connector: str, structure: Structure) -> str:
    owner = seen.elements.get(element)
    description, instance = structure.fmu_of(owner), instance_of(owner, structure)
    if description is not None and connector in description.variables:
        return "the FMU has this variable: declare a connector for it at the component"
    if instance is not None and connector in by_name(instance.system, instance.structure):
        return "the nested system has this connector: declare it also at the component"
    known = seen.connectors[element]
    return near(connector, known) if known else "it declares no connectors at all"


def _described(end: LinkEnd) -> str:
    return f"{end} ({end.declared.says.kind})"


def _counsel(start: Side, end: Side) -> str:
    kinds, inside = {start.says.kind, end.says.kind}, start.owner is end.owner is Owner.ELEMENT
    if kinds == {Kind.OUTPUT} and inside:
        return "an output can only be connected to inputs of other elements; change the kind of one of them"
    if kinds == {Kind.INPUT} and inside:
        return "an input takes its value from an output of another element"
    if Kind.INOUT in kinds:
        return "use an output and an input"
    return "see the table of allowed connections in the standard"


def against(code: str, system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """Findings of a rule on the values at both ends of connections."""
    for link, one in found_obstacles(system, structure):
        if one.code == code and one.verdict is not Verdict.OK:
            message, severity = one.between(_source(link), _destination(link)), _SEVERITIES.get(one.verdict)
            yield Finding(link.connection, message, one.advice, severity=severity)


_SEVERITIES = {Verdict.INFO: Severity.INFO, Verdict.WARNING: Severity.WARNING}


LOOPS = Chapter("Algebraic loops, from the dependencies that FMUs declare (SSP 2.0 §5.3.2)")

ElementConnector = tuple[ssd.SystemElement, str]


@LOOPS.rule("SSD-CONN-015", severity=INFO, basis=DERIVED, source="SSP 2.0 §5.3.2")
def algebraic_loops(structure: Structure) -> Iterator[Finding]:
    """Signals do not form an algebraic loop.

    In an algebraic loop every signal depends on itself at the same instant: each component needs the output of another
    one to compute its own. ssptool solves the loop at every communication point; other tools may not. An output without
    declared dependencies depends on all inputs of its FMU.

    Fix: none is needed; `ssptool graph` shows the dependencies that close the loop.
    """
    needs, wires = _dependencies(structure)
    alike: dict[tuple[tuple[str, str], ...], list[list[ElementConnector]]] = {}
    for cycle in _cycles(needs):
        alike.setdefault(_kind(cycle), []).append(cycle)
    for first, *others in alike.values():
        message = "algebraic loop: " + " → ".join(_name(signal) for signal in reversed(first))
        if others:
            message += f" (and {counted(len(others), 'loop')} like it: {abbreviated(map(_members, others))})"
        wired = [wires[wire] for wire in pairwise(first) if wire in wires]
        yield Finding(min(wired, key=structure.line_of), message)


def _cycles(needs: "Needs") -> Iterator[list["ElementConnector"]]:
    """Cycles of signals without a common one, each with its first signal repeated at the end."""
    for signals in cyclic_components(needs):
        inside = set(signals)
        left = {signal: [other for other in needs[signal] if other in inside] for signal in signals}
        while cycle := _cycle(left):
            yield cycle
            for signal in cycle:
                left.pop(signal, None)


def _kind(cycle: list["ElementConnector"]) -> tuple[tuple[str, str], ...]:
    """Sources of the elements and names of the connectors of a cycle, equal for loops of the same FMUs."""
    signals = [(element.get("source") or element.name, connector) for element, connector in cycle[1:]]
    return min(tuple(signals[place:] + signals[:place]) for place in range(len(signals)))


def _members(cycle: list["ElementConnector"]) -> str:
    """Names of the elements of a cycle."""
    return " and ".join(dict.fromkeys(full_name(element) for element, _ in reversed(cycle)))


Needs: TypeAlias = dict[ElementConnector, dict[ElementConnector, None]]
"""Signal → signals that it directly depends on."""


def _dependencies(
    structure: Structure,
) -> tuple[Needs, dict[tuple[ElementConnector, ElementConnector], ssd.Connection]]:
    needs: Needs = {}
    wires = {}
    # Only mutually coupled parts can have loops, through direct feedthrough; all other parts are left out.
    near = coupled(structure)
    taking: dict[ssd.SystemElement, frozenset[str]] = {}
    for system in structure.systems if near else ():
        for component in system.elements:
            description = structure.fmu_of(component) if component in near else None
            if description is not None:
                feedthrough = _feedthrough_of(component, description, structure)
                taking[component] = feedthrough.names
                for output, name in feedthrough.pairs:
                    _add(needs, (component, output), (component, name))

    def takes_part(end: LinkEnd) -> bool:
        names = taking.get(end.owner)
        return structure.fmu_of(end.owner) is None if names is None else end.name in names

    for system in structure.systems if near else ():
        for link in links(system, structure):
            if link.flow is not None and all(map(takes_part, link.flow)):
                source, destination = ((end.owner, end.name) for end in link.flow)
                _add(needs, destination, source)
                wires[destination, source] = link.connection
    return needs, wires


def _add(needs: Needs, signal: ElementConnector, needed: ElementConnector) -> None:
    needs.setdefault(signal, {})[needed] = None
    needs.setdefault(needed, {})


def _feedthrough_of(component: ssd.SystemElement, description: FmuDescription, structure: Structure) -> "_Feedthrough":
    names = tuple(connector.name for connector in declared(component, structure))
    known, key = pool(_Feedthrough, structure), (id(description), names)
    feedthrough = known.get(key)
    if feedthrough is None:
        pairs = tuple(_feedthrough(description, names))
        feedthrough = known[key] = _Feedthrough(pairs, frozenset(name for pair in pairs for name in pair))
    return feedthrough


class _Feedthrough(NamedTuple):
    """Pairs of an output and an input that it directly depends on, and all their names; shared by all components of an
    FMU with the same connectors.
    """

    pairs: tuple[tuple[str, str], ...]
    names: frozenset[str]


def _feedthrough(description: FmuDescription, connectors: Iterable[str]) -> Iterator[tuple[str, str]]:
    names = dict.fromkeys(connectors)
    inputs = {name: place for place, name in enumerate(names) if _is(description, name, Causality.INPUT)}
    for output in names:
        if _is(description, output, Causality.OUTPUT):
            stated = description.outputs.get(output)
            needed = inputs if stated is None else sorted(stated & inputs.keys(), key=inputs.__getitem__)
            yield from ((output, name) for name in needed)


def _is(description: FmuDescription, name: str, causality: Causality) -> bool:
    variable = description.variables.get(name)
    return variable is not None and variable.causality is causality


def _cycle(graph: Mapping[ElementConnector, Iterable[ElementConnector]]) -> list[ElementConnector]:
    """A cycle of signals, each depending on the next, with the first one repeated at the end; empty without a cycle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as found:
        # The exception lists each vertex before the one that depends on it.
        cycle: list[ElementConnector] = found.args[1]
        return cycle[::-1]
    return []


def _name(signal: ElementConnector) -> str:
    return f"{signal[0].name}.{signal[1]}"
