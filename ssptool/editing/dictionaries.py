"""Signal dictionaries: create, fill, refer to, and remove them."""

from pathlib import Path

from ssptool.arguments import text
from ssptool.documents import ssb, ssd
from ssptool.documents.document import Document
from ssptool.documents.foreign_files import read_bytes
from ssptool.editing.changes import EditError
from ssptool.editing.draft import Draft, Place, store, stored
from ssptool.editing.interface import place as place_in_canvas
from ssptool.editing.interface import plain_type
from ssptool.editing.names import Name, find_system, places, require_free
from ssptool.editing.units import drop_unused, used_enumerations, used_units
from ssptool.errors import UnknownName, WrongUsage
from ssptool.network.legality import Owner, leads_forward

_KINDS = (
    ssd.ConnectorKind.INOUT,
    ssd.ConnectorKind.OUTPUT,
    ssd.ConnectorKind.INPUT,
    ssd.ConnectorKind.CALCULATED_PARAMETER,
    ssd.ConnectorKind.PARAMETER,
)


def add_dictionary(draft: Draft, name: str, into: Name, file: Path | str | None) -> ssd.SignalDictionary:
    """Add a signal dictionary to a system: an empty one in the structure itself, or the one in a file (`.ssb`).

    Raises
    ------
    EditError
        The system has a dictionary of that name, or the name is empty.
    FileNotFoundError, InvalidDocument
        The file or entry does not exist, or is not a signal dictionary.
    """
    where, system = find_system(draft.system, into)
    if not text("name", name):
        raise EditError("a signal dictionary needs a name")
    if name in {each.name for each in system.signal_dictionaries}:
        raise EditError(f"{where} already has a signal dictionary {name!r}: choose another name")
    if file is None:
        dictionary = ssd.SignalDictionary.new(name=name)
        dictionary.append(ssb.SignalDictionary.new(version=draft.version))
        system.add(dictionary)
    else:
        content = Document(str(file), read_bytes(Path(file))) if Path(file).is_file() else None
        (content or draft.archive.document(stored(draft, str(file)))).root_as(ssb.SignalDictionary)
        entry = store(draft, Path(file)) if content is not None else stored(draft, str(file))
        dictionary = ssd.SignalDictionary.new(source=draft.reference(entry), name=name)
        system.add(dictionary)
    draft.note(f"added the signal dictionary {name} to {where}")
    return dictionary


def add_entry(
    draft: Draft, dictionary: str, name: str, into: Name, type_name: str | None, unit: str | None
) -> ssb.DictionaryEntry:
    """Add a signal to a dictionary (default type: floating-point number).

    Raises
    ------
    UnknownName
        Neither the system nor an enclosing one has the dictionary, or the unit is unknown.
    EditError
        A signal of this name exists, or this version of SSP does not have the type.
    """
    where, _ = find_system(draft.system, into)
    found = seen_from(where, dictionary)
    content = _content(draft, found)
    if not name.strip():
        raise EditError("a signal needs a name")
    if name in {each.name for each in content.entries}:
        raise EditError(f"the dictionary {dictionary} already has a signal {name!r}")
    kind = type_name or ("Real" if content.get("version") == "1.0" else "Float64")
    entry = ssb.DictionaryEntry.new(name=name)
    entry.add(plain_type(draft, kind, unit, content))
    content.add(entry)
    draft.note(f"added the signal {name} ({kind}{f' in {unit}' if unit else ''}) to the dictionary {dictionary}")
    return entry


def add_reference(draft: Draft, name: str, dictionary: str, into: Name) -> ssd.SignalDictionaryReference:
    """Add a reference to a dictionary to a system, so that signals can be connected.

    Raises
    ------
    UnknownName
        Neither the system nor an enclosing one has the dictionary.
    EditError
        The name is taken.
    """
    where, system = find_system(draft.system, into)
    seen_from(where, dictionary)
    require_free(system, name, str(where), "choose another name")
    reference = ssd.SignalDictionaryReference.new(name=name, dictionary=dictionary)
    system.add(reference)
    place_in_canvas(reference, system)
    draft.note(f"added {name}, a reference to the signal dictionary {dictionary}, to {where}")
    return reference


def remove_dictionary(draft: Draft, name: str, into: Name, signal: str | None) -> None:
    """Remove a dictionary from a system, or one signal from the dictionary.

    Raises
    ------
    UnknownName
        The dictionary or signal does not exist.
    EditError
        References use it; the message lists them.
    """
    where, system = find_system(draft.system, into)
    own = {each.name: each for each in system.signal_dictionaries}
    if name not in own:
        raise UnknownName(f"{where} has no signal dictionary {name!r}", name, own)
    using = [(each, reference) for each, reference in _references(draft) if _declared(each) is own[name]]
    if signal is None:
        if using:
            named = ", ".join(str(each) for each, _ in using)
            raise EditError(f"the dictionary {name} is used by {named}: remove that first")
        entry = draft.entry(own[name].source)
        own[name].delete()
        draft.note(f"removed the signal dictionary {name} from {where}")
        draft.release(entry)
        return
    content = _content(draft, own[name])
    found = [each for each in content.entries if each.name == signal]
    if not found:
        raise UnknownName(f"the dictionary {name} has no signal {signal!r}", signal, [e.name for e in content.entries])
    if users := [f"{each}.{signal}" for each, reference in using if _has(reference, signal)]:
        raise EditError(f"the signal {signal} is used by the connector {', '.join(users)}: remove that first")
    units, enumerations = used_units(found[0]), used_enumerations(found[0])
    found[0].delete()
    drop_unused(content, units, enumerations)
    draft.note(f"removed the signal {signal} from the dictionary {name}")


def seen_from(place: Place, name: str) -> ssd.SignalDictionary:
    """The dictionary with this name in a system or in the nearest enclosing system (SSP 2.0 §5.3.3)."""
    systems = [*([place.element] if isinstance(place.element, ssd.System) else []), *reversed(place.around)]
    for system in systems:
        for dictionary in system.signal_dictionaries:
            if dictionary.name == name:
                return dictionary
    known = [dictionary.name for system in systems for dictionary in system.signal_dictionaries]
    raise UnknownName(f"there is no signal dictionary {name!r} in {place} or around it", name, known)


def signals_of(draft: Draft, place: Place) -> dict[str, ssb.DictionaryEntry]:
    """Signals of the dictionary of a reference, by name; empty if it is not a reference, or its dictionary is
    unreadable.
    """
    if not isinstance(place.element, ssd.SignalDictionaryReference):
        return {}
    try:
        content = _content(draft, seen_from(place, place.element.dictionary))
    except WrongUsage:
        return {}
    return {entry.name: entry for entry in reversed(content.entries)}


def signal_of(draft: Draft, place: Place, name: str) -> ssb.DictionaryEntry | None:
    """Signal of a connector of a reference, by name; None if there is none."""
    return signals_of(draft, place).get(name)


def add_access(
    draft: Draft, place: Place, signal: ssb.DictionaryEntry, partner: ssd.ConnectorKind, inside: bool
) -> ssd.Connector:
    """Add the connector for a signal to a reference, of a kind that fits its partner.

    `inside`: the partner is a connector of the enclosing system. The kind is `inout` if possible; the direction then
    follows from the connections. The connector states no type, because the signal has one.
    """
    owner = Owner.SYSTEM if inside else Owner.ELEMENT
    legal = (kind for kind in _KINDS if leads_forward(Owner.ELEMENT, kind, owner, partner, draft.version) is not None)
    kind = next(legal, None)
    if kind is None:
        raise EditError(f"{place} cannot be connected to a connector of kind {partner}")
    connector = ssd.Connector.new(name=signal.name, kind=kind)
    place.element.add(connector)
    draft.note(f"added the connector {signal.name} ({kind}) to {place}")
    return connector


def _content(draft: Draft, dictionary: ssd.SignalDictionary) -> ssb.SignalDictionary:
    if dictionary.source is None:
        content = dictionary.inline
    else:
        entry = draft.entry(dictionary.source)
        content = None if entry is None else draft.archive.document(entry).root_as(ssb.SignalDictionary)
    if content is None:
        raise EditError(f"the signal dictionary {dictionary.name} cannot be read: see `ssptool validate`")
    return content


def _references(draft: Draft) -> list[tuple[Place, ssd.SignalDictionaryReference]]:
    found = ((place, place.element) for place in places(draft.system))
    return [(place, each) for place, each in found if isinstance(each, ssd.SignalDictionaryReference)]


def _declared(place: Place) -> ssd.SignalDictionary | None:
    assert isinstance(place.element, ssd.SignalDictionaryReference)
    try:
        return seen_from(place, place.element.dictionary)
    except UnknownName:
        return None


def _has(reference: ssd.SignalDictionaryReference, signal: str) -> bool:
    return signal in {connector.name for connector in reference.connectors}
