"""Copy elements of another system into a system: values, files, units and the connections between them come along."""

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from ssptool.documents import ssc, ssd, ssv
from ssptool.documents.element import Element
from ssptool.documents.storage import MissingEntry
from ssptool.documents.uri import UP, UnresolvableUri
from ssptool.editing.add import next_name
from ssptool.editing.changes import EditError
from ssptool.editing.draft import Draft, Place, store_content
from ssptool.editing.duplicate import bind_values, copied_without_ids
from ssptool.editing.grouping import box_around, elements_of_one_system
from ssptool.editing.interface import box_of, free_spot, hold, put_beside, shift_by
from ssptool.editing.names import Name, find_system
from ssptool.editing.rename import addressing
from ssptool.editing.units import use_enumeration, use_unit, used_enumerations, used_units
from ssptool.editing.versions import upgrade_document
from ssptool.network.conversion import document_units
from ssptool.option_words import Types


def paste(draft: Draft, source: Draft, names: Sequence[Name], into: Name) -> list[str]:
    """Copy elements of one system of `source` into a system, and return the names of the copies.

    Values from bindings around the elements become bindings of the copies. Connections between the elements are
    copied, and no others. Files are copied into `resources`, except those that are there with the same content.

    Parameters
    ----------
    names
        Full names of the elements (default: all elements of the root system).

    Raises
    ------
    UnknownName, AmbiguousName
        An element or the system does not exist, or there are several.
    EditError
        The elements are not in one system, or need a signal dictionary, a file or a unit that cannot be copied.
    """
    where, system = find_system(draft.system, into)
    if source.version == "2.0":
        draft.require_ssp_2("the copied elements are from a system in SSP 2.0, and may use features")
    elif draft.version == "2.0":
        upgrade_document(source.document, Types.KEEP)
    places = elements_of_one_system(source, names or [(one.name,) for one in source.system.elements])
    made = {place.element.name: _copy(draft, source, place) for place in places}
    taken, renamed = {one.name for one in system.elements}, dict[str, str]()
    for old, copy in made.items():
        copy.name = renamed[old] = next_name(old, taken) if old in taken else old
        taken.add(copy.name)
        system.add(copy, keeps_lines=True)
        draft.note(f"added {'.'.join((*where.path, copy.name))}, a copy of {old} in {source.archive.path.name}")
    _put_together(system, [*made.values()])
    _connect(draft, places[0].system, system, renamed)
    return [*renamed.values()]


def _copy(draft: Draft, source: Draft, place: Place) -> ssd.SystemElement:
    """A copy that refers to nothing in the other system."""
    _require_own_dictionaries(place)
    made = copied_without_ids(place.element)
    bind_values(draft, place, made, addressing(source, place.path, place.path, None))
    for node in _referring(made):
        node.set("source", _stored(draft, source, place, node.get("source", "")))
    _define_units(draft, source, made)
    _define_enumerations(draft, source, made)
    return made


def _require_own_dictionaries(place: Place) -> None:
    inside = {one.name for each in place.element.every(ssd.System) for one in each.signal_dictionaries}
    for reference in place.element.every(ssd.SignalDictionaryReference):
        if reference.dictionary not in inside:
            raise EditError(f"{place} refers to the signal dictionary {reference.dictionary!r}, which is not in it")


def _referring(made: Element) -> Iterator[Element]:
    """Elements that refer to files of their package."""
    for node in made.own():
        if isinstance(node, ssd.Component | ssd.ParameterBinding | ssd.ParameterMapping | ssd.SignalDictionary):
            base = getattr(node, "source_base", ssd.SourceBase.SSD)
            if node.get("source") and base is ssd.SourceBase.SSD:
                yield node


def _stored(draft: Draft, source: Draft, place: Place, uri: str) -> str:
    """The reference to a copy of a file; an absolute address stays as it is."""
    try:
        entry = source.archive.resolve(source.document.name, uri)
    except UnresolvableUri:
        entry = ""
    if urlsplit(uri).scheme:
        return uri
    if "#" in uri or entry.startswith(UP) or not source.archive.has(entry):
        raise EditError(f"{place} refers to {uri}, which is not a file of {source.archive.path.name}")
    try:
        content = source.archive.content(entry)
    except (MissingEntry, OSError):
        raise EditError(f"{place} refers to {uri}, which is not a file: pack it first") from None
    if entry.lower().endswith(".ssd"):
        inner = source.archive.document(entry).root_as(ssd.SystemStructureDescription)
        if any(node.get("source") for node in inner.own()):
            raise EditError(f"{place} refers to {uri}, which refers to further files: make a package (.ssp) of them")
    return draft.reference(store_content(draft, PurePosixPath(entry).name, content))


def _define_units(draft: Draft, source: Draft, made: Element) -> None:
    """Units of connectors; those of parameter sets inside of bindings are defined there."""
    known = document_units(source.root)
    for name in sorted(used_units(made) & known.keys()):
        users = [node for node in made.own() if node.get("unit") == name and not _in_parameter_set(node)]
        new = use_unit(draft.root, known[name]) if users else None
        for node in users:
            node.set("unit", new or name)


def _in_parameter_set(node: Element) -> bool:
    return next(node.iterancestors(ssv.ParameterSet.qualified_name), None) is not None


def _define_enumerations(draft: Draft, source: Draft, made: Element) -> None:
    known = {one.name: {item.name: item.value for item in one.items} for one in source.root.enumerations}
    for name in sorted(used_enumerations(made) & known.keys()):
        new = use_enumeration(draft.root, name, known[name])
        for node in made.every(ssc.Enumeration):
            if node.get("name") == name and not _in_parameter_set(node):
                node.set("name", new)


def _put_together(system: ssd.System, made: list[ssd.SystemElement]) -> None:
    """Move copies to free room, several as a group if all have a position."""
    others = [box for one in system.elements if one not in made and (box := box_of(one)) is not None]
    around = box_around(made)
    if len(made) > 1 and around is not None and all(box_of(one) is not None for one in made):
        spot = free_spot(others, 0, (around.x2 - around.x1, around.y2 - around.y1)) if others else around
        for one in made:
            shift_by(one, spot.x1 - around.x1, spot.y1 - around.y1)
        hold(system, spot)
    elif others:
        for one in made:
            put_beside(one, system)


def _connect(draft: Draft, origin: ssd.System, system: ssd.System, renamed: dict[str, str]) -> None:
    """Copy the connections between the elements."""
    count = 0
    for one in origin.connections:
        if one.start_element in renamed and one.end_element in renamed:
            made = copied_without_ids(one)
            made.start_element, made.end_element = renamed[one.start_element], renamed[one.end_element]
            if made.geometry is not None:
                made.geometry.delete()
            system.add(made, keeps_lines=True)
            count += 1
    if count:
        draft.note(f"copied {count} connection{'s' * (count > 1)} between them")
