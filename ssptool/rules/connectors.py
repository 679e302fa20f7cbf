"""Rules on connectors."""

from collections.abc import Collection, Iterator

from ssptool.documents import ssd
from ssptool.documents.ssd import ConnectorKind as Kind
from ssptool.network.conversion import Verdict, convertible, verdict
from ssptool.rules.catalogue import ERROR, INFO, MUST, POLICY, TEXT, WARNING, XSD, Chapter, Finding, near
from ssptool.rules.links import (
    Carried,
    Declared,
    Statement,
    alike,
    attached,
    by_name,
    carried_inside,
    declared,
    distinct_types,
    distinct_units,
    instance_of,
    stated_by,
)
from ssptool.rules.subjects import Structure, is_fmu

CONNECTORS = Chapter("Connectors (SSP 2.0 §5.2.1)", section="SSP 2.0 §5.2.1")


@CONNECTORS.rule("SSD-CTR-001", severity=ERROR, basis=MUST)
def distinct_connectors(element: ssd.SystemElement, structure: Structure) -> Iterator[Finding]:
    """The connectors of an element have different names, whatever their kinds.

    Connections address connectors by name.

    Fix: rename one of them, or delete it.

    Accepted: the first connector of a name counts.
    """
    first = by_name(element, structure)
    for one in declared(element, structure) if len(first) < len(declared(element, structure)) else ():
        other = first[one.name].connector
        if other is not one.connector:
            message = f"'{element.name}' has another connector '{one.name}' in line {structure.line_of(other)}"
            yield Finding(one.connector, message, "rename or delete one of them", "name")


@CONNECTORS.rule("SSD-CTR-003", severity=ERROR, basis=TEXT)
def inout_on_references(element: ssd.SystemElement, structure: Structure) -> Iterator[Finding]:
    """The kind `inout` is for signal dictionary references.

    An FMU has no variable that is input and output at once (an error); of a system such a connector can never be
    connected from inside (a warning).

    Fix: use an input and an output.

    Accepted: the connector is there, but a connection to it still ends the run.
    """
    if isinstance(element, ssd.SignalDictionaryReference):
        return
    fmu = isinstance(element, ssd.Component) and is_fmu(element)
    for connector, name, says in declared(element, structure):
        if says.kind is Kind.INOUT:
            message = f"'{name}' of '{element.name}' is inout, but that is no signal dictionary reference"
            yield Finding(connector, message, "use an input and an output", "kind", ERROR if fmu else WARNING)


@CONNECTORS.rule(
    "SSD-CTR-004", severity=WARNING, basis=POLICY, source="SSP 2.0 §5.2.1; the schema admits an empty name"
)
def named_connectors(element: ssd.SystemElement, structure: Structure) -> Iterator[Finding]:
    """The name of a connector is not empty.

    It has to be that of a variable.

    Fix: write the name of the variable.
    """
    for connector, name, _ in declared(element, structure):
        if not name.strip():
            yield Finding(connector, "the name of the connector is empty", "", "name")


@CONNECTORS.rule("SSD-CTR-005", severity=INFO, basis=TEXT, versions=["2.0"])
def local_unconnected(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """Connectors of kind `local` are for looking at, not for connections.

    They may be connected, and act as outputs then; but what is local to a component may change with its next version.

    Fix: make it an output of the FMU.
    """
    for same in alike(system, structure):
        for link in same if Kind.LOCAL in (same[0].start.side.kind, same[0].end.side.kind) else ():
            for end in (link.start, link.end):
                if end.element and end.side.kind is Kind.LOCAL:
                    yield Finding(link.connection, f"{end} is local and acts as an output here")


@CONNECTORS.rule("TYPE-002", severity=ERROR, basis=XSD, source="SSP 2.0, schema documentation of Connector; §4.5.1")
def known_types(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """The type of a system's connector is stated, or that of all connectors behind it.

    Where those differ, nobody can tell which is meant: an error. Where there are none, or their types are not known,
    the connector carries nothing yet: an information.

    Fix: state the type.

    Accepted: the connector carries what comes from its source; a connection of types that cannot be converted still
    ends the run.
    """
    inside = attached(system, structure)
    for connector, name, says in declared(system, structure):
        if says.type is None:
            types = distinct_types(inside.get(name, ()))
            if len(types) > 1:
                message = f"'{name}' has no type, and those behind it differ: {', '.join(types)}"
                yield Finding(connector, message, "state the type")
            elif not types:
                yield Finding(connector, f"the type of '{name}' is not known", "state it", severity=INFO)


@CONNECTORS.rule("UNIT-010", severity=ERROR, basis=TEXT, source="SSP 2.0 §4.5.1")
def known_units(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """The unit of a system's connector is stated, or that of all connectors behind it.

    With a metre and a millimetre behind it, a number could mean either. (Reals without any unit are legal.)

    Fix: state the unit.

    Accepted: the value passes as it is, without conversion at this connector.
    """
    for connector, name, says in declared(system, structure):
        units = distinct_units(attached(system, structure).get(name, ()))
        if says.unit is None and len(units) > 1:
            names = ", ".join(f"'{unit.name}'" for unit in units)
            message = f"'{name}' has no unit, and those behind it differ: {names}"
            yield Finding(connector, message, "state the unit")


@CONNECTORS.rule("SSD-CTR-009", severity=ERROR, basis=TEXT, blocks_run=True)
def connectors_of_inner_systems(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """The connectors of a component that is a system of its own are connectors of that system, of the same kind.

    Fix: correct the name or the kind, or declare the connector inside.
    """
    for (connector, name, says), inner, known in _with_inner(component, structure):
        if inner is None:
            message = f"'{component.source}' has no connector '{name}'"
            yield Finding(connector, message, near(name, known), "name")
        elif inner.says.kind is not says.kind:
            yield Finding(connector, f"the connector is {says.kind} here and {inner.says.kind} inside", "", "kind")


@CONNECTORS.rule("SSD-CTR-010", severity=ERROR, basis=XSD, source="SSP 2.0, schema documentation of Connector")
def types_of_inner_systems(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """The connectors of a component that is a system of its own have the types that they have inside.

    So they have the same dimensions, and units of the same quantity. Where only one side states any of these, it
    holds for both; a type or unit that the system inside does not state is that of what is connected there.

    Fix: state the same type on both sides.

    Accepted: the type inside counts, and the value passes the boundary without conversion.
    """
    for connector, inner, _ in _with_inner(component, structure):
        inside = carried_inside(connector.name, component, structure)
        if inner is not None and inside is not None:
            yield from _compared(connector, stated_by(connector.says, structure), inner, inside)


def _compared(outer: Declared, outside: Carried, inner: Declared, inside: Carried) -> Iterator[Finding]:
    connector, type = outer.connector, outer.says.type
    sizes = [list(side.says.sizes) for side in (outer, inner)]
    if outside.type is not None and inside.type is not None and not _alike(inner.says, outside.type, inside.type):
        yield Finding(connector, f"the connector is {outside.type} here and {inside.type} inside")
    elif type is not None and inner.says.type is not None and sizes[0] != sizes[1]:
        yield Finding(connector, f"the connector has the dimensions {sizes[0]} here and {sizes[1]} inside")
    elif outside.unit is not None and inside.unit is not None and not convertible(outside.unit, inside.unit):
        message = f"the connector is in '{outside.unit.name}' here and in '{inside.unit.name}' inside"
        place = connector if connector.type is None else connector.type
        yield Finding(place, message, "these units cannot be converted", "unit")


def _alike(inner: Statement, outside: str, inside: str) -> bool:
    """Whether the two types are the same; where the system inside states none, whether values can be converted."""
    if inner.type is not None or outside == inside:
        return outside == inside
    taken = inner.kind in (Kind.INPUT, Kind.PARAMETER, Kind.STRUCTURAL_PARAMETER)
    return verdict(*((outside, inside) if taken else (inside, outside))) is not Verdict.ERROR


@CONNECTORS.rule("SSD-CTR-006", severity=INFO, basis=TEXT, source="SSP 2.0 §5.2.1, §5.3.2.1", versions=["2.0"])
def specified_kinds(element: ssd.SystemElement, structure: Structure) -> Iterator[Finding]:
    """A connector states its kind.

    What a connection with an `unspecified` connector means is up to each tool.

    Fix: state the kind.
    """
    for connector, name, says in declared(element, structure):
        if says.kind is Kind.UNSPECIFIED:
            yield Finding(connector, f"the kind of '{name}' is unspecified", "", "kind")


def _with_inner(
    component: ssd.Component, structure: Structure
) -> Iterator[tuple[Declared, Declared | None, Collection[str]]]:
    """The connectors of a component with those inside the system that it is, and the names of all there."""
    instance = instance_of(component, structure)
    if instance is not None:
        inside = {connector.name: connector for connector in declared(instance.system, instance.structure)}
        for connector in declared(component, structure):
            yield connector, inside.get(connector.name), inside
