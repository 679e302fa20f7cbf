"""The parameters that a structure binds, under the names that prefixes and mappings give them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from ssptool.documents import ssd, ssm, ssv
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.element import Element
from ssptool.documents.vocabulary import PARAMETER_MAPPING, PARAMETER_SET
from ssptool.editing.draft import Draft
from ssptool.editing.names import Place, places
from ssptool.fmu.description import Value
from ssptool.network.arrays import undivided
from ssptool.network.network import Signal
from ssptool.network.parameters import Parameterization
from ssptool.network.targets import Target, Targets
from ssptool.network.tree import build_tree
from ssptool.network.wiring import Wiring

R = TypeVar("R", bound=Element)


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """A binding with its values, and the mapping that it has; each with the file in which it stands."""

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
        """Whether its mapping stands in the binding itself, and so belongs to nobody else."""
        holder = self.binding.parameter_mapping
        return holder is not None and holder.source is None


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """A parameter under the `name` that it has in the element of its binding, through `entry` if that is mapped."""

    bound: Bound
    parameter: ssv.Parameter
    entry: ssm.MappingEntry | None
    name: str

    @property
    def full(self) -> str:
        return ".".join((*self.bound.place.path, self.name))


def bound(draft: Draft) -> Iterator[Bound]:
    """All bindings of the structure whose values and mapping can be read, outer elements first."""
    for place in places(draft.system):
        for binding in place.element.parameter_bindings:
            values = _values(draft, binding)
            if values is None:
                continue
            mapping = binding.parameter_mapping
            if mapping is None:
                yield Bound(place, binding, *values, None, "")
            elif (renaming := _mapping(draft, mapping)) is not None:
                yield Bound(place, binding, *values, *renaming)


def uses(draft: Draft) -> Iterator[Use]:
    """Every parameter under every name it gets."""
    for each in bound(draft):
        yield from uses_of(each)


def uses_of(each: Bound) -> Iterator[Use]:
    for parameter in each.values.parameters:
        name = each.binding.prefix + parameter.name
        if each.mapping is None:
            yield Use(each, parameter, None, name)
            continue
        for entry in each.mapping.entries:
            if entry.source == name:
                yield Use(each, parameter, entry, entry.target)


def winner(found: list[Use]) -> Use | None:
    """The one whose value counts: an outer level beats an inner one, on one level the last (catalogue §1.6)."""
    ordered = sorted(found, key=lambda use: -len(use.bound.place.path))
    return ordered[-1] if ordered else None


class Addressees:
    """What full names of parameters address, in the elements and connections as they are now."""

    def __init__(self, draft: Draft) -> None:
        self._tree = build_tree(draft.archive, draft.document)
        self._wiring = Wiring(self._tree, undivided(self._tree))
        self._targets = Targets(self._tree, self._wiring)

    def of(self, full: str) -> list[Target]:
        return self._targets.named(full, ())

    def names(self) -> list[str]:
        return self._targets.names()

    def values(self) -> dict[Signal, Value]:
        """The values in force, of the bindings as they are at this moment."""
        parameters = Parameterization(self._tree, self._wiring)
        parameters.apply_bindings()
        found = {**parameters.boundary_assignments(), **parameters.assignments()}
        return {signal: assignment.value for signal, assignment in found.items()}


def _values(draft: Draft, binding: ssd.ParameterBinding) -> tuple[ssv.ParameterSet, str] | None:
    if binding.type != PARAMETER_SET:
        return None
    if binding.source is None:
        return None if binding.parameter_set is None else (binding.parameter_set, draft.document.name)
    return _root(draft, binding.source, binding.source_base, ssv.ParameterSet)


def _mapping(draft: Draft, mapping: ssd.ParameterMapping) -> tuple[ssm.ParameterMapping, str] | None:
    if mapping.type != PARAMETER_MAPPING:
        return None
    if mapping.source is None:
        return None if mapping.inline is None else (mapping.inline, draft.document.name)
    return _root(draft, mapping.source, mapping.source_base, ssm.ParameterMapping)


def _root(draft: Draft, source: str, base: ssd.SourceBase, kind: type[R]) -> tuple[R, str] | None:
    entry = draft.entry(source) if base is ssd.SourceBase.SSD else None
    if entry is None:
        return None
    try:
        return draft.archive.document(entry).root_as(kind), entry
    except InvalidDocument:
        return None
