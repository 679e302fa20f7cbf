"""Rules on signal dictionaries, their entries and references to them."""

from collections.abc import Iterator
from typing import NamedTuple

from ssptool.documents import ssb, ssd
from ssptool.documents.vocabulary import SIGNAL_DICTIONARY
from ssptool.network.conversion import Verdict, convertible, relation, verdict
from ssptool.rules.catalogue import DERIVED, ERROR, INFO, MUST, TEXT, WARNING, Chapter, Finding, near
from ssptool.rules.fixes import renamed
from ssptool.rules.links import Link, links
from ssptool.rules.subjects import Structure, around, content, found_once, wrong_content, wrong_number

DICTIONARIES = Chapter("Signal dictionaries (SSP 2.0 §5.3.3, §5.5, §8)")


@DICTIONARIES.rule("SSD-DICT-001", severity=ERROR, basis=TEXT, source="SSP 2.0 §5.3.3")
def distinct_dictionaries(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """The signal dictionaries of a system have different names.

    References find a dictionary by name.

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

    Fix: remove the attribute or the content; with neither there is no dictionary.
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

    The nearest one of that name is meant; those of other branches cannot be seen.

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
    """A connector of a signal dictionary reference has a type, dimensions and a unit that go with those of its entry.

    What a connector does not state is that of the entry.

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
    """A signal of a dictionary takes its value in one place, over all references to the dictionary.

    All references share one set of values; of two writers nobody can tell which holds.

    Fix: delete a connection, or use another entry.

    Accepted: the first connection to the entry, in the order of the document, gives the value.
    """
    for entry, accesses in _accesses(structure).items():
        writers = [access for access in accesses if access.writes]
        for access in writers[1:]:
            if access.reference is not writers[0].reference:
                line = structure.line_of(writers[0].link.connection)
                message = f"'{entry[1]}' of the dictionary takes its value from the connection in line {line} already"
                yield Finding(access.link.connection, message, "delete one of the two connections")


@DICTIONARIES.rule("SSD-DICT-009", severity=WARNING, basis=DERIVED, source="SSP 2.0 §5.3.3")
def some_writer(structure: Structure) -> Iterator[Finding]:
    """A signal of a dictionary that is read takes its value from somewhere.

    Fix: connect a source to a reference to this dictionary, or correct the name of the entry.
    """
    for entry, accesses in _accesses(structure).items():
        if not any(access.writes for access in accesses):
            message = f"nothing gives '{entry[1]}' of the dictionary a value"
            yield Finding(accesses[0].link.connection, message)


class Access(NamedTuple):
    """One connection of a reference, which gives the entry a value or takes it from there."""

    reference: ssd.SystemElement
    link: Link
    writes: bool


Entry = tuple[ssd.SignalDictionary, str]


@found_once
def _accesses(structure: Structure) -> dict[Entry, list[Access]]:
    """All connections of all references, by dictionary and entry."""
    found: dict[Entry, list[Access]] = {}
    some = bool(structure.all(ssd.SignalDictionaryReference))
    for system in structure.root.systems() if some else ():
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

    There is nothing that the values could set.

    Fix: bind the parameters to the component that gives the signal.
    """
    for binding in reference.parameter_bindings:
        yield Finding(binding, f"'{reference.name}' is a signal dictionary reference")


@DICTIONARIES.rule(
    "SSB-001", severity=ERROR, basis=TEXT, source="SSP 2.0 §8.1.1; that names are not empty is our policy"
)
def distinct_entries(dictionary: ssb.SignalDictionary, structure: Structure) -> Iterator[Finding]:
    """The entries of a signal dictionary have different names, which are not empty.

    Connectors find entries by name.

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
    """The nearest dictionary of the name, from the own system outwards."""
    for system in _around(reference):
        for dictionary in system.signal_dictionaries:
            if dictionary.name == reference.dictionary:
                return dictionary
    return None
