"""Duplicate an element, with the parameters that refer to it."""

from typing import TypeVar

from ssptool.documents.element import Element
from ssptool.editing.add import next_name
from ssptool.editing.bind import Addressees, ensure_mapping
from ssptool.editing.draft import Draft, Place
from ssptool.editing.interface import put_beside
from ssptool.editing.names import Name, find_element, require_free
from ssptool.editing.rename import (
    RenamedUse,
    addressing,
    by_binding,
    is_shared,
    new_prefix,
    require_free_to_follow,
)


def duplicate(draft: Draft, name: Name, new: str | None = None) -> str:
    """Copy an element within its system, and return the name of the copy.

    The copy has the same connectors, bindings and values: parameters and mappings that refer to the element get
    additional entries for the copy. Connections are not copied. Files that the element refers to are shared.

    Parameters
    ----------
    new
        Name of the copy (default: the name of the element with the next free number, `Fan2` for `Fan`).

    Raises
    ------
    UnknownName, AmbiguousName
        The element does not exist, or there are several.
    EditError
        It is the root system, the name is already used, or a parameter cannot refer to the copy.
    """
    place = find_element(draft.system, name)
    system, old = place.system, place.element.name
    where = Place(place.path[:-1], system)
    if new is None:
        new = next_name(old, {element.name for element in system.elements})
    require_free(system, new, str(where), "choose another name")
    path = (*place.path[:-1], new)
    found = addressing(draft, place.path, path, None)
    require_free_to_follow(found)
    made = _without_ids(place.element.copied())
    made.name = new
    system.add(made, keeps_lines=True)
    put_beside(made, system)
    draft.note(f"added {'.'.join(path)}, a copy of {place}")
    _copy_values(found)
    return new


def _copy_values(found: list[RenamedUse]) -> None:
    for draft, bound, group in by_binding(found):
        mapping = bound.mapping
        if mapping is None and is_shared(draft, bound):
            mapping = ensure_mapping(draft, bound, Addressees(draft), {})
        if mapping is not None:
            entries = {entry.target: entry for entry in mapping.entries}
            for each in group:
                made = entries[each.use.name].copied()
                made.target = each.name
                mapping.add(made, keeps_lines=True)
        elif (prefix := new_prefix(bound, group)) is not None:
            binding = _without_ids(bound.binding.copied())
            binding.prefix = prefix
            bound.place.element.add(binding, keeps_lines=True)
        else:
            for each in group:
                parameter = _without_ids(each.use.parameter.copied())
                parameter.name = each.name[len(bound.binding.prefix) :]
                bound.values.add(parameter, keeps_lines=True)
    if found:
        told = f"{len(found)} parameters address" if len(found) > 1 else "one parameter addresses"
        found[0].draft.outermost.note(f"{told} the copy")


E = TypeVar("E", bound=Element)


def _without_ids(made: E) -> E:
    """A copy without identifiers, which must be unique in a document."""
    for node in made.own():
        if "id" in node.attrib:
            del node.attrib["id"]
    return made
