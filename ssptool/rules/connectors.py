"""Connectors (SSP 2.0 §5.2.1)."""

from collections.abc import Iterator

from ssptool.documents import ssd
from ssptool.documents.ssd import ConnectorKind as Kind
from ssptool.rules.catalogue import ERROR, INFO, MUST, POLICY, TEXT, WARNING, Finding, rule
from ssptool.rules.links import links
from ssptool.rules.subjects import Structure, is_fmu

SECTION = "SSP 2.0 §5.2.1"


@rule("SSD-CTR-001", severity=ERROR, basis=MUST, source=SECTION)
def distinct_connectors(element: ssd.SystemElement, structure: Structure) -> Iterator[Finding]:
    """The connectors of an element have different names, whatever their kinds.

    Connections address connectors by name.

    Fix: rename one of them, or delete it.
    """
    first: dict[str, ssd.Connector] = {}
    for connector in element.connectors:
        other = first.setdefault(connector.name, connector)
        if other is not connector:
            message = f"'{element.name}' has another connector '{connector.name}' in line {structure.line_of(other)}"
            yield Finding(connector, message, "rename or delete one of them", "name")


@rule("SSD-CTR-003", severity=ERROR, basis=TEXT, source=SECTION)
def inout_on_references(element: ssd.SystemElement, structure: Structure) -> Iterator[Finding]:
    """The kind `inout` is for signal dictionary references.

    An FMU has no variable that is input and output at once (an error); of a system such a connector can never be
    connected from inside (a warning).

    Fix: use an input and an output.
    """
    if isinstance(element, ssd.SignalDictionaryReference):
        return
    fmu = isinstance(element, ssd.Component) and is_fmu(element)
    for connector in element.connectors:
        if connector.kind is Kind.INOUT:
            message = f"'{connector.name}' of '{element.name}' is inout, but that is no signal dictionary reference"
            yield Finding(connector, message, "use an input and an output", "kind", ERROR if fmu else WARNING)


@rule("SSD-CTR-004", severity=WARNING, basis=POLICY, source="SSP 2.0 §5.2.1; the schema admits an empty name")
def named_connectors(connector: ssd.Connector, structure: Structure) -> Iterator[Finding]:
    """The name of a connector is not empty.

    It has to be that of a variable.

    Fix: write the name of the variable.
    """
    if not connector.name.strip():
        yield Finding(connector, "the name of the connector is empty", "", "name")


@rule("SSD-CTR-005", severity=INFO, basis=TEXT, source=SECTION, versions=["2.0"])
def local_unconnected(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """Connectors of kind `local` are for looking at, not for connections.

    They may be connected, and act as outputs then; but what is local to a component may change with its next version.

    Fix: make it an output of the FMU.
    """
    for link in links(system, structure):
        for end in (link.start, link.end):
            if end.end.element and end.connector.kind is Kind.LOCAL:
                yield Finding(link.connection, f"{end} is local and acts as an output here")


@rule("SSD-CTR-006", severity=INFO, basis=TEXT, source=SECTION + ", §5.3.2.1", versions=["2.0"])
def specified_kinds(connector: ssd.Connector, structure: Structure) -> Iterator[Finding]:
    """A connector states its kind.

    What a connection with an `unspecified` connector means is up to each tool.

    Fix: state the kind.
    """
    if connector.kind is Kind.UNSPECIFIED:
        yield Finding(connector, f"the kind of '{connector.name}' is unspecified", "", "kind")
