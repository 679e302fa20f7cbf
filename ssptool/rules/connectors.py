"""Rules on connectors, and on signal dictionaries with their entries and references to them."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from ssptool.documents import ssb, ssd
from ssptool.documents.ssd import ConnectorKind
from ssptool.documents.vocabulary import SIGNAL_DICTIONARY
from ssptool.network.conversion import Verdict, convertible, relation, verdict
from ssptool.network.legality import Carried
from ssptool.rules.catalogue import (
    DERIVED,
    ERROR,
    INFO,
    MUST,
    POLICY,
    TEXT,
    WARNING,
    XSD,
    Chapter,
    Finding,
    near,
    renamed,
)
from ssptool.rules.links import (
    Declared,
    Link,
    Statement,
    alike,
    attached,
    by_name,
    carried_inside,
    declared,
    declared_as,
    distinct_types,
    distinct_units,
    instance_of,
    links,
    stated_by,
    stated_connectors,
)
from ssptool.rules.subjects import Structure, around, content, found_once, is_fmu, wrong_content, wrong_number

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

    An FMU has no variable that is input and output at once (an error). An `inout` connector of a system cannot be
    connected from inside (a warning).

    Fix: use an input and an output.

    Accepted: the connector is kept, but a connection to it still ends the run.
    """
    if isinstance(element, ssd.SignalDictionaryReference):
        return
    fmu = isinstance(element, ssd.Component) and is_fmu(element)
    for connector, name, _ in declared_as(element, structure, lambda says: says.kind is ConnectorKind.INOUT):
        message = f"'{name}' is inout, but '{element.name}' is not a signal dictionary reference"
        yield Finding(connector, message, "use an input and an output", "kind", ERROR if fmu else WARNING)


@CONNECTORS.rule(
    "SSD-CTR-004", severity=WARNING, basis=POLICY, source="SSP 2.0 §5.2.1; the schema admits an empty name"
)
def named_connectors(element: ssd.SystemElement, structure: Structure) -> Iterator[Finding]:
    """The name of a connector is not empty.

    It must be the name of a variable.

    Fix: write the name of the variable.
    """
    for connector, name, _ in declared(element, structure) if stated_connectors(element, structure).nameless else ():
        if not name.strip():
            yield Finding(connector, "the name of the connector is empty", "", "name")


@CONNECTORS.rule("SSD-CTR-005", severity=INFO, basis=TEXT, versions=["2.0"])
def local_unconnected(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """Connectors of kind `local` are for monitoring and have no connections.

    A connected `local` connector acts as an output, but a local variable may change with the next version of the
    component.

    Fix: make it an output of the FMU.
    """
    for same in alike(system, structure):
        for link in same if ConnectorKind.LOCAL in (same[0].start.side.kind, same[0].end.side.kind) else ():
            for end in (link.start, link.end):
                if end.element and end.side.kind is ConnectorKind.LOCAL:
                    yield Finding(link.connection, f"{end} is local and acts as an output here")


@CONNECTORS.rule("TYPE-002", severity=ERROR, basis=XSD, source="SSP 2.0, schema documentation of Connector; §4.5.1")
def known_types(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """The type of a system's connector is stated, or follows from the connectors behind it.

    If their types differ, the type is ambiguous (an error). If there are none, or their types are unknown, the
    connector is not in use yet (an information).

    Fix: state the type.

    Accepted: the connector has the type of its source; a connection of types that cannot be converted still ends the
    run.
    """
    inside = attached(system, structure)
    for connector, name, says in declared(system, structure):
        if says.type is None:
            types = distinct_types(inside.get(name, ()))
            if len(types) > 1:
                message = f"'{name}' has no type, and the connectors behind it have different ones: {', '.join(types)}"
                yield Finding(connector, message, "state the type")
            elif not types:
                yield Finding(connector, f"the type of '{name}' is not known", "state it", severity=INFO)


@CONNECTORS.rule("UNIT-010", severity=ERROR, basis=TEXT, source="SSP 2.0 §4.5.1")
def known_units(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """The unit of a system's connector is stated, or follows from the connectors behind it.

    If one of them is in metres and another in millimetres, the unit is ambiguous. Reals without any unit are legal.

    Fix: state the unit.

    Accepted: the value passes unchanged, without conversion at this connector.
    """
    for connector, name, says in declared(system, structure):
        units = distinct_units(attached(system, structure).get(name, ()))
        if says.unit is None and len(units) > 1:
            names = ", ".join(f"'{unit.name}'" for unit in units)
            message = f"'{name}' has no unit, and the connectors behind it have different ones: {names}"
            yield Finding(connector, message, "state the unit")


@CONNECTORS.rule("SSD-CTR-009", severity=ERROR, basis=TEXT, blocks_run=True)
def connectors_of_inner_systems(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """The connectors of a component that refers to a system are connectors of that system, of the same kind.

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
    """The connectors of a component that refers to a system have the same types as inside.

    They also have the same dimensions, and units of the same quantity. What only one side states holds for both. If the
    inner system does not state a type or unit, that of the connectors connected to it inside counts.

    Fix: state the same type on both sides.

    Accepted: the type inside counts, and the value passes the boundary without conversion.
    """
    for connector, inner, _ in _with_inner(component, structure):
        inside = carried_inside(connector.name, component, structure)
        if inner is not None and inside is not None:
            yield from _compared_inside(connector, stated_by(connector.says, structure), inner, inside)


def _compared_inside(outer: Declared, outside: Carried, inner: Declared, inside: Carried) -> Iterator[Finding]:
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
    """True if two types are equal, or if the inner system states none and the values can be converted."""
    if inner.type is not None or outside == inside:
        return outside == inside
    taken = inner.kind in (ConnectorKind.INPUT, ConnectorKind.PARAMETER, ConnectorKind.STRUCTURAL_PARAMETER)
    return verdict(*((outside, inside) if taken else (inside, outside))) is not Verdict.ERROR


@CONNECTORS.rule("SSD-CTR-006", severity=INFO, basis=TEXT, source="SSP 2.0 §5.2.1, §5.3.2.1", versions=["2.0"])
def specified_kinds(element: ssd.SystemElement, structure: Structure) -> Iterator[Finding]:
    """A connector states its kind.

    The standard leaves it to the tool what a connection with an `unspecified` connector means.

    Fix: state the kind.
    """
    for connector, name, _ in declared_as(element, structure, lambda says: says.kind is ConnectorKind.UNSPECIFIED):
        yield Finding(connector, f"the kind of '{name}' is unspecified", "", "kind")


def _with_inner(
    component: ssd.Component, structure: Structure
) -> Iterator[tuple[Declared, Declared | None, Collection[str]]]:
    """The connectors of a component, each with the connector of the system that it refers to, and the names of the
    latter.
    """
    instance = instance_of(component, structure)
    if instance is not None:
        inside = {connector.name: connector for connector in declared(instance.system, instance.structure)}
        for connector in declared(component, structure):
            yield connector, inside.get(connector.name), inside


DICTIONARIES = Chapter("Signal dictionaries (SSP 2.0 §5.3.3, §5.5, §8)")


@DICTIONARIES.rule("SSD-DICT-001", severity=ERROR, basis=TEXT, source="SSP 2.0 §5.3.3")
def distinct_dictionaries(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """The signal dictionaries of a system have different names.

    References refer to a dictionary by name.

    Fix: rename one of them.

    Accepted: the first dictionary of a name counts.
    """
    seen: set[str] = set()
    for dictionary in system.signal_dictionaries:
        if dictionary.name in seen:
            yield Finding(dictionary, f"there are two dictionaries '{dictionary.name}'", "", "name")
        seen.add(dictionary.name)


@DICTIONARIES.rule("SSD-DICT-002", severity=ERROR, basis=MUST, source="SSP 2.0 §5.3.3", blocks_run=True)
def one_place_of_dictionary(dictionary: ssd.SignalDictionary, structure: Structure) -> Iterator[Finding]:
    """A signal dictionary is either written inline or named by `source`.

    Fix: remove the attribute or the content, or add one of them.
    """
    yield from wrong_number(dictionary, dictionary.source, content(dictionary), "the dictionary")


@DICTIONARIES.rule("SSD-DICT-003", severity=ERROR, basis=MUST, source="SSP 2.0 §5.3.3", blocks_run=True)
def inline_dictionary(dictionary: ssd.SignalDictionary, structure: Structure) -> Iterator[Finding]:
    """An inline signal dictionary is one `ssb:SignalDictionary`.

    Its entries do not stand in the SSD directly.

    Fix: put an `ssb:SignalDictionary` with its `version` around them.
    """
    if dictionary.type == SIGNAL_DICTIONARY and dictionary.source is None:
        yield from wrong_content(dictionary, content(dictionary), ssb.SignalDictionary)


@DICTIONARIES.rule("SSD-DICT-004", severity=ERROR, basis=MUST, source="SSP 2.0 §5.5", blocks_run=True)
def known_dictionary(reference: ssd.SignalDictionaryReference, structure: Structure) -> Iterator[Finding]:
    """A signal dictionary reference names a dictionary of its own system or of one around it.

    The nearest dictionary of that name counts; dictionaries of other branches are out of reach.

    Fix: correct the name, or move the dictionary to a system around all its references.
    """
    if _declaration(reference) is None:
        known = [one.name for system in _around(reference) for one in system.signal_dictionaries]
        message = f"no dictionary '{reference.dictionary}' in this system or around it"
        fix = renamed(reference, "dictionary", known)
        yield Finding(reference, message, near(reference.dictionary, known), "dictionary", fix=fix)


@DICTIONARIES.rule("SSD-DICT-006", severity=ERROR, basis=MUST, source="SSP 2.0 §5.5", blocks_run=True)
def known_entries(reference: ssd.SignalDictionaryReference, structure: Structure) -> Iterator[Finding]:
    """The connectors of a signal dictionary reference name entries of the dictionary.

    Fix: correct the name, or add the entry.
    """
    declaration = _declaration(reference)
    dictionary = None if declaration is None else structure.dictionary_of(declaration)
    if dictionary is not None:
        names = dict.fromkeys(entry.name for entry in dictionary.entries)
        for connector in reference.connectors:
            if connector.name not in names:
                message = f"the dictionary '{reference.dictionary}' has no entry '{connector.name}'"
                yield Finding(connector, message, near(connector.name, names), "name")


@DICTIONARIES.rule("SSD-DICT-007", severity=ERROR, basis=DERIVED, source="SSP 2.0 §5.5, §8.1.1", blocks_run=True)
def fitting_entries(reference: ssd.SignalDictionaryReference, structure: Structure) -> Iterator[Finding]:
    """Type, dimensions and unit of a signal dictionary reference's connector fit those of its entry.

    A connector takes from the entry what it does not state itself.

    Fix: state what the entry states.
    """
    declaration = _declaration(reference)
    dictionary = None if declaration is None else structure.dictionary_of(declaration)
    entries = {} if dictionary is None else {entry.name: entry for entry in dictionary.entries}
    for connector in reference.connectors:
        entry = entries.get(connector.name)
        if entry is not None and dictionary is not None:
            yield from _compared(connector, entry, dictionary, structure)


@DICTIONARIES.rule("SSD-DICT-008", severity=ERROR, basis=DERIVED, source="SSP 2.0 §5.3.2.1")
def one_writer(structure: Structure) -> Iterator[Finding]:
    """An entry of a signal dictionary has one source, over all references to the dictionary.

    All references share one set of values; with two sources the value is ambiguous.

    Fix: delete a connection, or use another entry.

    Accepted: the first connection to the entry, in the order of the document, gives the value.
    """
    for entry, accesses in _accesses(structure).items():
        writers = [access for access in accesses if access.writes]
        for access in writers[1:]:
            if access.reference is not writers[0].reference:
                line = structure.line_of(writers[0].link.connection)
                message = f"the connection in line {line} already gives the entry '{entry[1]}' a value"
                yield Finding(access.link.connection, message, "delete one of the two connections")


@DICTIONARIES.rule("SSD-DICT-009", severity=WARNING, basis=DERIVED, source="SSP 2.0 §5.3.3")
def some_writer(structure: Structure) -> Iterator[Finding]:
    """An entry of a signal dictionary that a connection reads has a source.

    Fix: connect a source to a reference to this dictionary, or correct the name of the entry.
    """
    for entry, accesses in _accesses(structure).items():
        if not any(access.writes for access in accesses):
            message = f"the entry '{entry[1]}' of the dictionary is read, but has no source"
            yield Finding(accesses[0].link.connection, message)


class Access(NamedTuple):
    """A connection of a reference, which writes or reads an entry."""

    reference: ssd.SystemElement
    link: Link
    writes: bool


EntryKey = tuple[ssd.SignalDictionary, str]


@found_once
def _accesses(structure: Structure) -> dict[EntryKey, list[Access]]:
    """All connections of all references, by dictionary and entry."""
    found: dict[EntryKey, list[Access]] = {}
    some = bool(structure.all(ssd.SignalDictionaryReference))
    for system in structure.systems if some else ():
        for link in links(system, structure):
            for end in link.flow or ():
                declaration = None
                if isinstance(end.owner, ssd.SignalDictionaryReference):
                    declaration = _declaration(end.owner)
                if declaration is not None and link.flow is not None:
                    access = Access(end.owner, link, end is link.flow[1])
                    found.setdefault((declaration, end.name), []).append(access)
    return found


def _compared(
    connector: ssd.Connector, entry: ssb.DictionaryEntry, dictionary: ssb.SignalDictionary, structure: Structure
) -> Iterator[Finding]:
    stated, own = connector.type_name, entry.type_name
    if stated is not None and own is not None and verdict(stated, own) is Verdict.ERROR:
        yield Finding(connector, f"the connector is {stated}, the entry {own}: {relation(stated, own)}")
    sizes = [[dimension.size for dimension in side.dimensions] for side in (connector, entry)]
    if stated is not None and sizes[0] != sizes[1]:
        yield Finding(connector, f"the connector has the dimensions {sizes[0]}, the entry {sizes[1]}")
    unit = structure.unit(structure.root, connector.unit)
    own_unit = structure.unit(dictionary, entry.unit)
    if unit is not None and own_unit is not None and not convertible(unit, own_unit):
        message = f"the connector is in '{unit.name}', the entry in '{own_unit.name}'"
        yield Finding(connector, message, "these units cannot be converted")


@DICTIONARIES.rule("SSD-DICT-011", severity=WARNING, basis=DERIVED, source="SSP 2.0 §5.2")
def no_parameters(reference: ssd.SignalDictionaryReference, structure: Structure) -> Iterator[Finding]:
    """Signal dictionary references have no parameter bindings.

    A reference has no parameters of its own.

    Fix: bind the parameters to the component that gives the signal.
    """
    for binding in reference.parameter_bindings:
        yield Finding(binding, f"'{reference.name}' is a signal dictionary reference")


@DICTIONARIES.rule(
    "SSB-001", severity=ERROR, basis=TEXT, source="SSP 2.0 §8.1.1; that names are not empty is our policy"
)
def distinct_entries(dictionary: ssb.SignalDictionary, structure: Structure) -> Iterator[Finding]:
    """The entries of a signal dictionary have different names, which are not empty.

    Connectors refer to entries by name.

    Fix: rename one of them.

    Accepted: the first entry of a name counts.
    """
    seen: set[str] = set()
    for entry in dictionary.entries:
        if entry.name in seen or not entry.name.strip():
            what = "the name is empty" if not entry.name.strip() else f"there are two entries '{entry.name}'"
            yield Finding(entry, what, "", "name")
        seen.add(entry.name)


@DICTIONARIES.rule("SSB-003", severity=INFO, basis=TEXT, source="SSP 2.0 §8, §8.1")
def some_entries(dictionary: ssb.SignalDictionary, structure: Structure) -> Iterator[Finding]:
    """A signal dictionary has entries.

    The standard says both "one or more" and "an arbitrary number"; an empty one is of no use.

    Fix: add entries, or delete the dictionary.
    """
    if not dictionary.entries:
        yield Finding(dictionary, "the dictionary has no entries")


def _around(reference: ssd.SignalDictionaryReference) -> list[ssd.System]:
    return list(around(reference, ssd.System))


def _declaration(reference: ssd.SignalDictionaryReference) -> ssd.SignalDictionary | None:
    """The nearest dictionary of this name, searching from the own system outwards."""
    for system in _around(reference):
        for dictionary in system.signal_dictionaries:
            if dictionary.name == reference.dictionary:
                return dictionary
    return None
