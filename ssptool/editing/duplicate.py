"""Duplicate an element, in its system or in another one, with the parameters that refer to it."""

from collections.abc import Sequence
from typing import TypeVar

from ssptool.documents import ssd, ssm
from ssptool.documents.element import Element
from ssptool.editing.add import next_name
from ssptool.editing.bind import Addressees, ensure_mapping
from ssptool.editing.changes import EditError
from ssptool.editing.draft import Draft, Place
from ssptool.editing.interface import put_beside
from ssptool.editing.names import Name, find_element, find_system, require_free
from ssptool.editing.rename import (
    RenamedUse,
    addressing,
    by_binding,
    is_shared,
    new_prefix,
    require_free_to_follow,
)


def duplicate(draft: Draft, name: Name, new: str | None = None, into: Name | None = None) -> str:
    """Copy an element into its system or another one, and return the name of the copy.

    The copy has the same connectors, bindings and values: parameters and mappings that refer to the element get
    additional entries for the copy; values from bindings that do not reach the copy become a binding of the copy.
    Connections are not copied. Files that the element refers to are shared.

    Parameters
    ----------
    new
        Name of the copy (default: the name of the element, with the next free number if it is used, `Fan2` for `Fan`).
    into
        The system that gets the copy (default: the system of the element).

    Raises
    ------
    UnknownName, AmbiguousName
        The element does not exist, or there are several.
    EditError
        It is the root system, the name is already used, the system is in the element itself, or a parameter cannot
        refer to the copy.
    """
    place = find_element(draft.system, name)
    system, old = place.system, place.element.name
    where = Place(place.path[:-1], system)
    if into is not None:
        where, system = find_system(draft.system, into)
        if where.path[: len(place.path)] == place.path:
            raise EditError(f"{place} cannot be copied into itself: name another system")
        _require_dictionaries(place, where, system)
    taken = {element.name for element in system.elements}
    if new is None:
        new = next_name(old, taken) if old in taken else old
    require_free(system, new, str(where), "choose another name")
    path = (*where.path, new)
    found = addressing(draft, place.path, path, None)
    reaching = [one for one in found if one.draft is not draft or _reaches(one, path)]
    require_free_to_follow(reaching)
    made = copied_without_ids(place.element)
    made.name = new
    system.add(made, keeps_lines=True)
    put_beside(made, system)
    draft.note(f"added {'.'.join(path)}, a copy of {place}")
    _copy_values(reaching)
    bind_values(draft, place, made, [one for one in found if one not in reaching])
    return new


def _reaches(one: RenamedUse, path: tuple[str, ...]) -> bool:
    """Whether the binding of a use is of a system around a path."""
    around = one.use.bound.place.path
    return around == path[: len(around)]


def _require_dictionaries(place: Place, where: Place, system: ssd.System) -> None:
    """References to signal dictionaries must mean the same ones in the other system."""
    inside = {one.name for each in place.element.every(ssd.System) for one in each.signal_dictionaries}
    for reference in place.element.every(ssd.SignalDictionaryReference):
        known = [_dictionary(around, reference.dictionary) for around in ((*where.around, system), place.around)]
        if reference.dictionary not in inside and known[0] is not known[1]:
            raise EditError(f"{place} refers to another signal dictionary {reference.dictionary!r} in {where}")


def _dictionary(around: Sequence[ssd.System], name: str) -> ssd.SignalDictionary | None:
    """The dictionary of this name that counts in the last of these systems, of which each contains the next."""
    found = (one for system in reversed(around) for one in system.signal_dictionaries if one.name == name)
    return next(found, None)


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
            binding = copied_without_ids(bound.binding)
            binding.prefix = prefix
            bound.place.element.add(binding, keeps_lines=True)
        else:
            for each in group:
                parameter = copied_without_ids(each.use.parameter)
                parameter.name = each.name[len(bound.binding.prefix) :]
                bound.values.add(parameter, keeps_lines=True)
    if found:
        told = f"{len(found)} parameters address" if len(found) > 1 else "one parameter addresses"
        found[0].draft.outermost.note(f"{told} the copy")


def bind_values(draft: Draft, place: Place, made: ssd.SystemElement, found: list[RenamedUse]) -> None:
    """Give a copy the values of bindings that do not reach it: the outermost last, since it wins."""
    before = len(".".join(place.path)) + 1
    for _, bound, group in reversed(by_binding(found)):
        binding = copied_without_ids(bound.binding)
        if binding.parameter_mapping is not None:
            binding.parameter_mapping.delete()
        renaming = ssm.ParameterMapping.new(version=draft.version)
        for each in group:
            stated = each.use.entry
            entry = ssm.MappingEntry.new(source=each.use.name) if stated is None else copied_without_ids(stated)
            entry.target = each.use.full[before:]
            renaming.append(entry)
        holder = ssd.ParameterMapping.new()
        holder.append(renaming)
        binding.add(holder)
        made.add(binding, keeps_lines=True)
        draft.note(f"the copy has a binding of {bound}, which does not reach it")


E = TypeVar("E", bound=Element)


def copied_without_ids(original: E) -> E:
    """Copy without identifiers, which must be unique in a document."""
    made = original.copied()
    for node in made.own():
        if "id" in node.attrib:
            del node.attrib["id"]
    return made
