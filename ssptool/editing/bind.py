"""Parameters that a structure binds, with the names that result from prefixes and mappings; bind, map, unbind,
unmap.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from ssptool.arguments import path as file_path
from ssptool.documents import ssc, ssd, ssm, ssv
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.document import Document
from ssptool.documents.element import Element, insert_indented
from ssptool.documents.foreign_files import read_bytes
from ssptool.documents.vocabulary import PARAMETER_MAPPING, PARAMETER_SET, number_text
from ssptool.editing.changes import EditError
from ssptool.editing.draft import Draft, Place, store, store_copy, stored
from ssptool.editing.names import Name, enter, find_element, hosts, path_length, places, rest_below, shown
from ssptool.errors import UnknownName, WrongUsage, counted, hint
from ssptool.network.arrays import undivided
from ssptool.network.targets import NamedTarget, Targets
from ssptool.network.tree import build_tree
from ssptool.network.wiring import Wiring
from ssptool.option_words import Sharing

R = TypeVar("R", bound=Element)


@dataclass(frozen=True, slots=True, eq=False)
class BoundSet:
    """A binding with its values and its mapping, each with the file that contains it."""

    place: Place
    binding: ssd.ParameterBinding
    values: ssv.ParameterSet
    file: str
    mapping: ssm.ParameterMapping | None
    mapping_file: str

    def __str__(self) -> str:
        return self.file if self.binding.source is not None else f"the inline set of {self.place}"

    @property
    def maps_inline(self) -> bool:
        """True if its mapping is inline, so that no other binding uses it."""
        holder = self.binding.parameter_mapping
        return holder is not None and holder.source is None


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """A parameter with its `name` in the element of its binding, through `entry` if it is mapped."""

    bound: BoundSet
    parameter: ssv.Parameter
    entry: ssm.MappingEntry | None
    name: str

    @property
    def full(self) -> str:
        return ".".join((*self.bound.place.path, self.name))


def bound(draft: Draft) -> Iterator[BoundSet]:
    """All bindings of the structure whose values and mapping can be read, outer elements first."""
    for place in places(draft.system):
        for binding in place.element.parameter_bindings:
            values = _values(draft, binding)
            if values is None:
                continue
            mapping = binding.parameter_mapping
            if mapping is None:
                yield BoundSet(place, binding, *values, None, "")
            elif (renaming := _mapping(draft, mapping)) is not None:
                yield BoundSet(place, binding, *values, *renaming)


def uses(draft: Draft) -> Iterator[Use]:
    """Every parameter with every name it gets."""
    for each in bound(draft):
        yield from uses_of(each)


def uses_of(each: BoundSet) -> Iterator[Use]:
    for parameter in each.values.parameters:
        name = each.binding.prefix + parameter.name
        if each.mapping is None:
            yield Use(each, parameter, None, name)
            continue
        for entry in each.mapping.entries:
            if entry.source == name:
                yield Use(each, parameter, entry, entry.target)


def winner(found: list[Use]) -> Use | None:
    """The use whose value counts: outer levels override inner ones; on the same level the last one counts (catalogue
    §1.6).
    """
    ordered = sorted(found, key=lambda use: -len(use.bound.place.path))
    return ordered[-1] if ordered else None


class Addressees:
    """Targets of full names of parameters, among the present elements and connections."""

    def __init__(self, draft: Draft) -> None:
        with draft.archive.looked_up_once():
            self._tree = build_tree(draft.archive, draft.document)
        self._wiring = Wiring(self._tree, undivided(self._tree))
        self._targets = Targets(self._tree, self._wiring)

    def of(self, full: str) -> list[NamedTarget]:
        return self._targets.named(full, ())

    def names(self) -> list[str]:
        return self._targets.names()

    def in_other_case(self, full: str) -> str | None:
        return self._targets.in_other_case(full)

    def why_unknown(self, full: str) -> str:
        return self._targets.why_unknown(full)


def _values(draft: Draft, binding: ssd.ParameterBinding) -> tuple[ssv.ParameterSet, str] | None:
    if binding.type != PARAMETER_SET:
        return None
    if binding.source is None:
        return None if binding.parameter_set is None else (binding.parameter_set, draft.document.name)
    return _root_of(draft, binding.source, binding.source_base, ssv.ParameterSet)


def _mapping(draft: Draft, mapping: ssd.ParameterMapping) -> tuple[ssm.ParameterMapping, str] | None:
    if mapping.type != PARAMETER_MAPPING:
        return None
    if mapping.source is None:
        return None if mapping.inline is None else (mapping.inline, draft.document.name)
    return _root_of(draft, mapping.source, mapping.source_base, ssm.ParameterMapping)


def _root_of(draft: Draft, source: str, base: ssd.SourceBase, kind: type[R]) -> tuple[R, str] | None:
    entry = draft.entry(source) if base is ssd.SourceBase.SSD else None
    if entry is None:
        return None
    try:
        return draft.archive.document(entry).root_as(kind), entry
    except InvalidDocument:
        return None


def uses_inside(draft: Draft, name: str, sharing: Sharing, strict: bool = False) -> Iterator[Use]:
    """Parameters of nested structures with this `name`, outer structures last.

    Names are those in the given structure. Parameters of documents that other components also use are left out; with
    `strict`, they raise SharedStructure unless `sharing` allows the edit.
    """
    place = max((each for each in hosts(draft) if rest_below(name, each.path)), key=path_length, default=None)
    if place is None:
        return
    rest = shown(rest_below(name, place.path) or "")
    try:
        inner = enter(draft, place, Sharing.ALL)
        if _uses_of(inner, rest, sharing, strict) and sharing is not Sharing.ALL:
            inner = enter(draft, place, sharing)
    except WrongUsage:
        if strict:
            raise
        return
    for use in _uses_of(inner, rest, sharing, strict):
        where = Place((*place.path, *use.bound.place.path), use.bound.place.element, use.bound.place.around)
        file = use.bound.file
        if inner.archive is not draft.archive:
            file = inner.packages.name.removeprefix(draft.packages.name) + file
        yield replace(use, bound=replace(use.bound, place=where, file=file))


def _uses_of(inner: Draft, name: str, sharing: Sharing, strict: bool) -> list[Use]:
    return [*uses_inside(inner, name, sharing, strict), *(use for use in uses(inner) if use.full == name)]


def bind(
    draft: Draft, file: Path | str, to: Name, prefix: str, mapping: Path | str | None, inline: bool
) -> ssd.ParameterBinding:
    """Bind a parameter set to an element, after all other bindings, so that its values override theirs.

    Raises
    ------
    FileNotFoundError
        The file or entry does not exist.
    InvalidDocument
        It is not a parameter set, or not a mapping.
    """
    place = find_element(draft.system, to)
    root = _document(draft, file).root_as(ssv.ParameterSet)
    renaming = None if mapping is None else _document(draft, mapping).root_as(ssm.ParameterMapping)
    if inline:
        binding = ssd.ParameterBinding.new()
        if prefix:
            binding.prefix = prefix
        place.element.add(binding)
        _hold(binding, root)
    else:
        file = _stored(draft, file)
        binding = add_binding(draft, place.element, file, prefix)
    if mapping is not None and renaming is not None:
        binding.add(ssd.ParameterMapping.new(source=draft.reference(_stored(draft, mapping))))
    matching, missing = _matches(draft, binding)
    draft.note(f"bound {file} to {place}: {matching} of its {matching + len(missing)} names match a variable")
    if missing:
        draft.note(f"nothing matches {', '.join(missing[:6])}{' …' if len(missing) > 6 else ''}")
    return binding


def add_binding(draft: Draft, element: ssd.SystemElement, entry: str, prefix: str = "") -> ssd.ParameterBinding:
    binding = ssd.ParameterBinding.new(source=draft.reference(entry))
    if prefix:
        binding.prefix = prefix
    element.add(binding)
    return binding


def inline_set(draft: Draft, element: ssd.SystemElement, name: str) -> tuple[ssd.ParameterBinding, ssv.ParameterSet]:
    """A new binding of an element with an empty inline set."""
    values = ssv.ParameterSet.new(version=draft.version, name=name)
    binding = ssd.ParameterBinding.new()
    element.add(binding)
    _hold(binding, values)
    found = binding.parameter_set
    assert found is not None
    return binding, found


def add_mapping(
    draft: Draft,
    source: str,
    target: str,
    to: Name,
    of: str | None,
    factor: float | None,
    offset: float | None,
) -> ssm.MappingEntry:
    """Give a parameter of a binding another name, or an additional one.

    A binding with a mapping uses only mapped names. A binding without a mapping therefore also gets entries for all its
    matching names.

    Raises
    ------
    EditError
        There is no binding, or there are several and `of` does not select one; or the entry already exists.
    UnknownName
        The set has no such parameter, or the element no such variable.
    """
    chosen = chosen_binding(draft, to, of)
    sources = [chosen.binding.prefix + parameter.name for parameter in chosen.values.parameters]
    if source not in sources:
        raise UnknownName(f"{chosen} has no parameter {source!r}", source, sources)
    addressees = Addressees(draft)
    _require_target(addressees, chosen.place, target)
    for entry in () if chosen.mapping is None else chosen.mapping.entries:
        if entry.target == target:
            raise EditError(f"{target} already gets its value from {entry.source} in the mapping of {chosen}")
    mapping = ensure_mapping(draft, chosen, addressees, {}, taken=target)
    entry = ssm.MappingEntry.new(source=source, target=target)
    if factor is not None or offset is not None:
        entry.transformation = ssc.LinearTransformation.new()
        for key, value in (("factor", factor), ("offset", offset)):
            if value is not None:
                entry.transformation.set(key, number_text(value))
    mapping.add(entry)
    draft.note(f"mapped {source} to {target} in the binding of {chosen} to {chosen.place}")
    return entry


def _require_target(addressees: Addressees, place: Place, target: str) -> None:
    """Check that the target of a mapping is inside of the element of its binding. Raises UnknownName."""
    if addressees.of(".".join((*place.path, target))):
        return
    begin = "".join(f"{name}." for name in place.path)
    inside = [name.removeprefix(begin) for name in addressees.names() if name.startswith(begin)]
    tails = (target[dot + 1 :] for dot, letter in enumerate(target) if letter == ".")
    meant = next((tail for tail in tails if tail in inside), "")
    missing = addressees.why_unknown(".".join((*place.path, target)))
    near = (meant,) if meant else None
    raise UnknownName(f"{place} has no variable {target!r}", target, inside, near=near, because=missing)


def ensure_mapping(
    draft: Draft, each: BoundSet, addressees: Addressees, renamed: Mapping[str, str], taken: str = ""
) -> ssm.ParameterMapping:
    """Mapping of a binding, in which `renamed` names have their new targets.

    A new mapping keeps all other names that match something, except the `taken` one.
    """
    if each.mapping is not None:
        for entry in each.mapping.entries:
            entry.target = renamed.get(entry.target, entry.target)
        return each.mapping
    renaming = ssm.ParameterMapping.new(version=draft.version)
    for use in uses_of(each):
        target = renamed.get(use.name)
        if target is None and use.name != taken and addressees.of(use.full):
            target = use.name
        if target is not None:
            renaming.append(ssm.MappingEntry.new(source=use.name, target=target))
    holder = ssd.ParameterMapping.new()
    holder.append(renaming)
    each.binding.add(holder)
    if len(renaming):
        names = counted(len(renaming), "name")
        draft.note(f"the binding of {each} has a mapping now, which keeps the {names} that it used")
    return renaming


def chosen_binding(draft: Draft, to: Name, of: str | None) -> BoundSet:
    """The binding of an element that can be mapped; `of` is its set, if there are several.

    Raises
    ------
    EditError
        There is none, or there are several.
    """
    place = find_element(draft.system, to)
    found = [each for each in bound(draft) if each.place.element is place.element]
    if of is not None:
        found = [each for each in found if of in (each.file, each.file.rpartition("/")[2])]
    if not found:
        raise EditError(f"{place} has no binding{'' if of is None else f' of {of}'} that can be mapped: bind one first")
    if len(found) > 1:
        names = ", ".join(map(str, found))
        raise EditError(f"{place} has {len(found)} bindings ({names}): choose one with --of")
    return found[0]


def _document(draft: Draft, file: Path | str) -> Document:
    path = file_path("file", file)
    if path.is_file():
        return Document(str(file), read_bytes(path))
    return draft.archive.document(stored(draft, str(file)))


def _stored(draft: Draft, file: Path | str) -> str:
    return store(draft, Path(file)) if Path(file).is_file() else store_copy(draft, stored(draft, str(file)))


def _hold(binding: ssd.ParameterBinding, values: ssv.ParameterSet) -> None:
    """Copy the values into an inline binding, in the style of its surroundings."""
    holder = ssd.ParameterValues.new()
    binding.add(holder)
    insert_indented(holder, 0, values.copied())


def _matches(draft: Draft, binding: ssd.ParameterBinding) -> tuple[int, list[str]]:
    addressees = Addressees(draft)
    names = [use for each in bound(draft) if each.binding is binding for use in uses_of(each)]
    missing = [use.name for use in names if not addressees.of(use.full)]
    return len(names) - len(missing), missing


INLINE = "inline"


def unbind(draft: Draft, file: str, of: Name, number: int | None, with_resource: bool) -> None:
    """Remove a parameter binding of an element.

    Parameters
    ----------
    file
        The parameter set, as an entry or the name of one; or "inline".
    number
        Number of the binding, from 1, if the element has several of that set.
    with_resource
        Remove the files of the set and of its mapping from the archive, if nothing else refers to them.

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
    draft.note(f"unbound {_named(draft, binding)} from {place}")
    for entry in sorted(entries):
        draft.release(entry, with_resource)


def unmap(draft: Draft, source: str, target: str, to: Name, of: str | None) -> None:
    """Remove an entry from the mapping of a binding.

    An inline mapping that has become redundant, because every name of the set maps to itself, is also removed.

    Raises
    ------
    EditError
        There is no binding, or there are several and `of` does not select one; or its mapping does not contain the
        entry.
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
    if not drop_idle_mapping(draft, chosen) and chosen.mapping is not None and not chosen.mapping.entries:
        draft.note(f"no parameter of {chosen} is used now; `unmap --all` lets its own names count again")


def unmap_all(draft: Draft, to: Name, of: str | None) -> None:
    """Remove the mapping of a binding, so that the parameters have their own names. Raises as `unmap`."""
    chosen = chosen_binding(draft, to, of)
    holder = chosen.binding.parameter_mapping
    if holder is None:
        raise EditError(f"the binding of {chosen} to {chosen.place} has no mapping")
    entry = draft.entry(holder.source)
    _drop_mapping(draft, chosen, holder)
    draft.release(entry)


def _binding(draft: Draft, place: Place, file: str, number: int | None) -> ssd.ParameterBinding:
    bindings = place.element.parameter_bindings
    found = [each for each in bindings if _is_meant(draft, each, file)]
    if not found:
        known = ", ".join(dict.fromkeys(_named(draft, each) for each in bindings))
        raise EditError(f"{place} has no binding of {file}; {f'it has {known}' if known else 'it has none at all'}")
    if number is None and len(found) > 1:
        raise EditError(f"{place} has {len(found)} bindings of {file}: choose one with --number 1 … {len(found)}")
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


def drop_idle_mapping(draft: Draft, chosen: BoundSet) -> bool:
    """Remove an inline mapping that has become redundant; returns true if it did."""
    holder = chosen.binding.parameter_mapping
    if holder is None or not _means_nothing(draft, chosen):
        return False
    _drop_mapping(draft, chosen, holder)
    return True


def _drop_mapping(draft: Draft, chosen: BoundSet, holder: ssd.ParameterMapping) -> None:
    holder.delete()
    draft.note(f"the binding of {chosen} to {chosen.place} has no mapping now")


def _means_nothing(draft: Draft, chosen: BoundSet) -> bool:
    """True if an inline mapping is redundant."""
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
