"""Signal dictionaries (SSP 2.0 §5.3.3, §5.5, §8)."""

from collections.abc import Iterator

from ssptool.documents import ssb, ssd
from ssptool.rules.catalogue import DERIVED, ERROR, INFO, MUST, TEXT, WARNING, Finding, near, rule
from ssptool.rules.inline import content, wrong_content, wrong_number
from ssptool.rules.subjects import SIGNAL_DICTIONARY_TYPE, Structure
from ssptool.rules.trees import around


@rule("SSD-DICT-001", severity=ERROR, basis=TEXT, source="SSP 2.0 §5.3.3")
def distinct_dictionaries(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """The signal dictionaries of a system have different names.

    References find a dictionary by name.

    Fix: rename one of them.
    """
    seen: set[str] = set()
    for dictionary in system.signal_dictionaries:
        if dictionary.name in seen:
            yield Finding(dictionary, f"there are two dictionaries '{dictionary.name}'", "", "name")
        seen.add(dictionary.name)


@rule("SSD-DICT-002", severity=ERROR, basis=MUST, source="SSP 2.0 §5.3.3")
def one_place_of_dictionary(dictionary: ssd.SignalDictionary, structure: Structure) -> Iterator[Finding]:
    """A signal dictionary is either written inline or named by `source`.

    Fix: remove the attribute or the content; with neither there is no dictionary.
    """
    yield from wrong_number(dictionary, dictionary.source, content(dictionary), "the dictionary")


@rule("SSD-DICT-003", severity=ERROR, basis=MUST, source="SSP 2.0 §5.3.3")
def inline_dictionary(dictionary: ssd.SignalDictionary, structure: Structure) -> Iterator[Finding]:
    """An inline signal dictionary is one `ssb:SignalDictionary`.

    Its entries do not stand in the SSD directly.

    Fix: put an `ssb:SignalDictionary` with its `version` around them.
    """
    if dictionary.type == SIGNAL_DICTIONARY_TYPE and dictionary.source is None:
        yield from wrong_content(dictionary, content(dictionary), ssb.SignalDictionary)


@rule("SSD-DICT-004", severity=ERROR, basis=MUST, source="SSP 2.0 §5.5")
def known_dictionary(reference: ssd.SignalDictionaryReference, structure: Structure) -> Iterator[Finding]:
    """A signal dictionary reference names a dictionary of its own system or of one around it.

    The nearest one of that name is meant; those of other branches cannot be seen.

    Fix: correct the name, or move the dictionary to a system around all its references.
    """
    if _declaration(reference) is None:
        known = [one.name for system in _around(reference) for one in system.signal_dictionaries]
        message = f"no dictionary '{reference.dictionary}' in this system or around it"
        yield Finding(reference, message, near(reference.dictionary, known), "dictionary")


@rule("SSD-DICT-006", severity=ERROR, basis=MUST, source="SSP 2.0 §5.5")
def known_entries(reference: ssd.SignalDictionaryReference, structure: Structure) -> Iterator[Finding]:
    """The connectors of a signal dictionary reference name entries of the dictionary.

    Fix: correct the name, or add the entry.
    """
    declaration = _declaration(reference)
    dictionary = None if declaration is None else structure.dictionary_of(declaration)
    if dictionary is not None:
        names = [entry.name for entry in dictionary.entries]
        for connector in reference.connectors:
            if connector.name not in names:
                message = f"the dictionary '{reference.dictionary}' has no entry '{connector.name}'"
                yield Finding(connector, message, near(connector.name, names), "name")


@rule("SSD-DICT-011", severity=WARNING, basis=DERIVED, source="SSP 2.0 §5.2")
def no_parameters(reference: ssd.SignalDictionaryReference, structure: Structure) -> Iterator[Finding]:
    """Signal dictionary references have no parameter bindings.

    There is nothing that the values could set.

    Fix: bind the parameters to the component that gives the signal.
    """
    for binding in reference.parameter_bindings:
        yield Finding(binding, f"'{reference.name}' is a signal dictionary reference")


@rule("SSB-001", severity=ERROR, basis=TEXT, source="SSP 2.0 §8.1.1; that names are not empty is our policy")
def distinct_entries(dictionary: ssb.SignalDictionary, structure: Structure) -> Iterator[Finding]:
    """The entries of a signal dictionary have different names, which are not empty.

    Connectors find entries by name.

    Fix: rename one of them.
    """
    seen: set[str] = set()
    for entry in dictionary.entries:
        if entry.name in seen or not entry.name.strip():
            what = "the name is empty" if not entry.name.strip() else f"there are two entries '{entry.name}'"
            yield Finding(entry, what, "", "name")
        seen.add(entry.name)


@rule("SSB-003", severity=INFO, basis=TEXT, source="SSP 2.0 §8, §8.1")
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
