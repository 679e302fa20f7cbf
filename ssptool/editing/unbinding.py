"""Unbind and unmap: the inverse of bind and map."""

from ssptool.documents import ssd, ssm
from ssptool.editing.binding import chosen_binding
from ssptool.editing.draft import Draft
from ssptool.editing.errors import EditError, hint
from ssptool.editing.names import Name, Place, find_element
from ssptool.editing.parameters import Addressees, Bound

INLINE = "inline"


def unbind(draft: Draft, file: str, of: Name, number: int | None, with_resource: bool) -> None:
    """Take a parameter binding away from an element.

    Parameters
    ----------
    file
        The parameter set, as an entry or the name of one; or "inline".
    number
        Which one is meant, from 1, if the element has several of that set.
    with_resource
        Take the files of the set and of its mapping out of the archive, if nothing else refers to them.

    Raises
    ------
    UnknownName, AmbiguousName
        There is no such element, or there are several.
    EditError
        It has no such binding, or several.
    """
    place = find_element(draft.system, of)
    binding = _binding(draft, place, file, number)
    mapping = binding.parameter_mapping
    sources = [binding.source, None if mapping is None else mapping.source]
    entries = {entry for source in sources if (entry := draft.entry(source))}
    binding.delete()
    draft.note(f"took the binding of {_named(draft, binding)} away from {place}")
    for entry in sorted(entries):
        draft.release(entry, with_resource)


def unmap(draft: Draft, source: str, target: str, to: Name, of: str | None) -> None:
    """Take an entry out of the mapping of a binding.

    An inline mapping that means nothing any more, because every name of the set stands for itself, goes as well.

    Raises
    ------
    EditError
        There is no binding, or several and `of` does not say which; or its mapping has no such entry.
    """
    chosen = chosen_binding(draft, to, of)
    entries = () if chosen.mapping is None else chosen.mapping.entries
    found = [entry for entry in entries if (entry.source, entry.target) == (source, target)]
    if not found:
        known = [f"{entry.source}={entry.target}" for entry in entries]
        has = f"the mapping of {chosen} has no" if known else f"the binding of {chosen} has no mapping with an"
        raise EditError(f"{has} entry {source}={target}{hint(f'{source}={target}', known)}")
    for entry in found:
        entry.delete()
    draft.note(f"{source} no longer sets {target} in the binding of {chosen} to {chosen.place}")
    if _means_nothing(draft, chosen):
        unmap_all(draft, to, of)
    elif chosen.mapping is not None and not chosen.mapping.entries:
        draft.note(f"no parameter of {chosen} is used now; `unmap --all` lets its own names count again")


def unmap_all(draft: Draft, to: Name, of: str | None) -> None:
    """Take the mapping of a binding away: the parameters have their own names again. Raises as `unmap`."""
    chosen = chosen_binding(draft, to, of)
    holder = chosen.binding.parameter_mapping
    if holder is None:
        raise EditError(f"the binding of {chosen} to {chosen.place} has no mapping")
    entry = draft.entry(holder.source)
    holder.delete()
    draft.note(f"the binding of {chosen} to {chosen.place} has no mapping now")
    draft.release(entry)


def _binding(draft: Draft, place: Place, file: str, number: int | None) -> ssd.ParameterBinding:
    bindings = place.element.parameter_bindings
    found = [each for each in bindings if _is_meant(draft, each, file)]
    if not found:
        known = ", ".join(dict.fromkeys(_named(draft, each) for each in bindings))
        raise EditError(f"{place} has no binding of {file}; {f'it has {known}' if known else 'it has none at all'}")
    if number is None and len(found) > 1:
        raise EditError(f"{place} has {len(found)} bindings of {file}: say which one with --number 1 … {len(found)}")
    if number is not None and not 1 <= number <= len(found):
        raise EditError(f"{place} has {len(found)} bindings of {file}, so there is no number {number}")
    return found[(number or 1) - 1]


def _is_meant(draft: Draft, binding: ssd.ParameterBinding, file: str) -> bool:
    if binding.source is None:
        return file == INLINE
    entry = draft.entry(binding.source) or binding.source
    return file in (entry, entry.rpartition("/")[2], binding.source)


def _named(draft: Draft, binding: ssd.ParameterBinding) -> str:
    return INLINE if binding.source is None else draft.entry(binding.source) or binding.source


def _means_nothing(draft: Draft, chosen: Bound) -> bool:
    """Whether an inline mapping only says what would hold without it."""
    holder, mapping = chosen.binding.parameter_mapping, chosen.mapping
    if holder is None or holder.source is not None or mapping is None:
        return False
    if not mapping.entries or not all(map(_is_plain, mapping.entries)):
        return False
    mapped = {entry.source for entry in mapping.entries}
    names = [chosen.binding.prefix + parameter.name for parameter in chosen.values.parameters]
    addressees = Addressees(draft)
    return not any(addressees.of(".".join((*chosen.place.path, name))) for name in names if name not in mapped)


def _is_plain(entry: ssm.MappingEntry) -> bool:
    return entry.source == entry.target and entry.transformation is None and not entry.suppress_unit_conversion
