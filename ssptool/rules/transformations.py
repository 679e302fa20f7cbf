"""Rules on the transformations of connections and mapping entries."""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from ssptool.documents import ssc, ssv
from ssptool.documents.element import Element
from ssptool.documents.vocabulary import boolean, integer
from ssptool.fmu.description import INTEGER_RANGES
from ssptool.network.conversion import canonical, is_float, is_integer
from ssptool.network.legality import Carried
from ssptool.rules.bindings import uses
from ssptool.rules.catalogue import ERROR, INFO, MUST, TEXT, WARNING, Chapter, Finding, near, repeats
from ssptool.rules.links import enumeration_items, links
from ssptool.rules.subjects import Structure, container, every, found_once

TRANSFORMATIONS = Chapter(
    "Transformations of connections and mapping entries (SSP 2.0 §4.5.2)", section="SSP 2.0 §4.5.2"
)


class Transformed(NamedTuple):
    """A transformation with its two sides, each with a name for messages."""

    transformation: ssc.Transformation
    sides: tuple[tuple[str, Carried], tuple[str, Carried]]

    @property
    def source(self) -> Carried:
        return self.sides[0][1]

    @property
    def destination(self) -> Carried:
        return self.sides[1][1]


@TRANSFORMATIONS.rule("TRF-001", severity=ERROR, basis=TEXT, source="SSP 2.0 §4.5.2.1", blocks_run=True)
def linear_of_reals(structure: Structure) -> Iterator[Finding]:
    """A linear transformation is applied between floating-point types.

    Fix: use the transformation for the type, or convert in a component.
    """
    yield from _unsuitable(structure, ssc.LinearTransformation, is_float, "a floating-point type")


@TRANSFORMATIONS.rule("TRF-002", severity=ERROR, basis=TEXT, source="SSP 2.0 §4.5.2.2", blocks_run=True)
def boolean_mapping(structure: Structure) -> Iterator[Finding]:
    """A Boolean mapping is applied between Booleans.

    Fix: use the transformation for the type.
    """
    yield from _unsuitable(structure, ssc.BooleanMappingTransformation, lambda name: name == "Boolean", "Boolean")


@TRANSFORMATIONS.rule("TRF-003", severity=ERROR, basis=TEXT, source="SSP 2.0 §4.5.2.3", blocks_run=True)
def integer_mapping(structure: Structure) -> Iterator[Finding]:
    """An integer mapping is applied between integer types and enumerations.

    Fix: use the transformation for the type.
    """
    kind = ssc.IntegerMappingTransformation
    yield from _unsuitable(structure, kind, _is_discrete, "an integer type or an enumeration")


@TRANSFORMATIONS.rule("TRF-004", severity=ERROR, basis=TEXT, source="SSP 2.0 §4.5.2.4", blocks_run=True)
def enumeration_mapping(structure: Structure) -> Iterator[Finding]:
    """An enumeration mapping is applied between enumerations.

    Fix: use the transformation for the type.
    """
    kind = ssc.EnumerationMappingTransformation
    yield from _unsuitable(structure, kind, lambda name: name == "Enumeration", "an enumeration")


@TRANSFORMATIONS.rule("TRF-005", severity=ERROR, basis=MUST)
def distinct_sources(transformation: ssc.Transformation, structure: Structure) -> Iterator[Finding]:
    """No two entries of a mapping have the same source value.

    Values are compared, not their spelling: `1` and `true`, `01` and `1` are the same.

    Fix: delete one of the entries.

    Accepted: the last entry of a source value counts.
    """
    read = _READ.get(transformation.element_class)
    first: dict[object, ssc.MapEntry] = {}
    for entry in every(transformation, ssc.MapEntry) if read else ():
        value = read(entry.source) if read else None
        other = first.setdefault(value, entry)
        if other is not entry:
            message = f"the source '{entry.source}' has two entries"
            yield Finding(entry, message, "delete one of them", "source", fix=repeats(entry, other))


@TRANSFORMATIONS.rule(
    "TRF-007", severity=ERROR, basis=MUST, source="SSP 2.0 §4.5.2.3", versions=["2.0"], blocks_run=True
)
def targets_in_range(structure: Structure) -> Iterator[Finding]:
    """The targets of an integer mapping are in the range of the destination's type.

    Fix: correct the target, or the type.
    """
    for use in _transformed(structure):
        limits = INTEGER_RANGES.get(use.destination.type or "")
        if limits and isinstance(use.transformation, ssc.IntegerMappingTransformation):
            for entry in use.transformation.entries:
                if not limits[0] <= integer.read(entry.target) <= limits[1]:
                    message = f"{entry.target} is not in the range of {use.destination.type}"
                    yield Finding(entry, message, f"from {limits[0]} to {limits[1]}", "target")


@TRANSFORMATIONS.rule("TRF-008", severity=INFO, basis=TEXT, source="SSP 2.0 §4.5.2.3", versions=["2.0"])
def sources_in_range(structure: Structure) -> Iterator[Finding]:
    """The sources of an integer mapping are in the range of the source's type.

    Other sources are legal, but never occur.

    Fix: delete the entry, or correct it.
    """
    for use in _transformed(structure):
        limits = INTEGER_RANGES.get(use.source.type or "")
        if limits and isinstance(use.transformation, ssc.IntegerMappingTransformation):
            for entry in use.transformation.entries:
                if not limits[0] <= integer.read(entry.source) <= limits[1]:
                    message = f"{entry.source} is not in the range of {use.source.type} and never occurs"
                    yield Finding(entry, message, f"from {limits[0]} to {limits[1]}", "source")


@TRANSFORMATIONS.rule("TRF-009", severity=ERROR, basis=MUST, source="SSP 2.0 §4.5.2.3, §4.5.2.4")
def existing_items(structure: Structure) -> Iterator[Finding]:
    """A mapping names items of the enumeration, or values of its items.

    Fix: correct the name.

    Accepted: the entry is left out, so the value passes unchanged.
    """
    for use in _transformed(structure):
        for attribute, side in (("source", use.source), ("target", use.destination)):
            if side.type == "Enumeration" and side.items:
                yield from _strangers(use.transformation, attribute, side.items)


@TRANSFORMATIONS.rule("TRF-010", severity=WARNING, basis=TEXT, source="SSP 2.0 §4.5.2.3, §4.5.2.4")
def every_item_arrives(structure: Structure) -> Iterator[Finding]:
    """Between two enumerations every item of the source becomes an item of the destination.

    A value without an entry passes unchanged.

    Fix: add an entry for the item.
    """
    for use in _transformed(structure):
        known = use.source.items and use.destination.items
        if known and use.source.type == use.destination.type == "Enumeration":
            lost = _passed_on_in_vain(use)
            if lost:
                message = f"the mapping has no entry for {', '.join(lost[:3])}, which the destination does not have"
                yield Finding(use.transformation, message, "add an entry")


_READ: dict[type[Element], Callable[[str], object]] = {
    ssc.BooleanMappingTransformation: boolean.read,
    ssc.IntegerMappingTransformation: integer.read,
    ssc.EnumerationMappingTransformation: str,
}


def _strangers(transformation: ssc.Transformation, attribute: str, items: Mapping[str, int]) -> Iterator[Finding]:
    for entry in every(transformation, ssc.MapEntry):
        text = entry.get(attribute, "")
        by_number = isinstance(transformation, ssc.IntegerMappingTransformation)
        if by_number and integer.read(text) not in items.values():
            yield Finding(entry, f"the enumeration has no item of value {text}", "", attribute)
        elif isinstance(transformation, ssc.EnumerationMappingTransformation) and text not in items:
            yield Finding(entry, f"the enumeration has no item '{text}'", near(text, items), attribute)


def _passed_on_in_vain(use: Transformed) -> list[str]:
    """Items of the source without an entry that do not exist in the destination."""
    source, destination = use.source.items or {}, use.destination.items or {}
    match use.transformation:
        case ssc.EnumerationMappingTransformation():
            mapped = use.transformation.table
            return [f"'{name}'" for name in source if name not in mapped and name not in destination]
        case ssc.IntegerMappingTransformation():
            numbers = use.transformation.table
            known = set(destination.values())
            return [f"'{name}'" for name, value in source.items() if value not in numbers and value not in known]
        case _:
            return []


@found_once
def _transformed(structure: Structure) -> tuple[Transformed, ...]:
    """The transformations of connections, then those of mapping entries."""
    return (*_of_connections(structure), *_of_mappings(structure))


def _of_connections(structure: Structure) -> Iterator[Transformed]:
    for system in structure.systems:
        for link in links(system, structure):
            if link.flow is not None and link.transformation is not None:
                source, destination = ((str(end), end.carried) for end in link.flow)
                yield Transformed(link.transformation, (source, destination))


def _of_mappings(structure: Structure) -> Iterator[Transformed]:
    for use in uses(structure):
        if use.entry is not None and use.entry.transformation is not None:
            for target in use.targets:
                source = (f"the parameter '{use.parameter.name}'", _parameter(use.parameter))
                yield Transformed(use.entry.transformation, (source, (str(target), target.carried)))


def _is_discrete(name: str) -> bool:
    return is_integer(name) or name == "Enumeration"


def _unsuitable(
    structure: Structure, kind: type[ssc.Transformation], fits: Callable[[str], bool], wanted: str
) -> Iterator[Finding]:
    for use in _transformed(structure):
        if isinstance(use.transformation, kind):
            for name, side in use.sides:
                if side.type is not None and not fits(side.type):
                    yield Finding(use.transformation, f"{name} is {side.type}, not {wanted}")


def _parameter(parameter: ssv.Parameter) -> Carried:
    name = parameter.type.name if isinstance(parameter.type, ssv.Enumeration) else None
    items = None if name is None else enumeration_items(container(parameter), name)
    return Carried(None if parameter.type_name is None else canonical(parameter.type_name), None, items)
