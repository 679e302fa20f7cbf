"""The parameter values that documents give, by full name, whether or not an FMU has such a variable.

What the variables of an FMU get in the end is for `network.parameters` to say. This is for the rest: systems whose
FMUs are not there, and names that match nothing.
"""

from collections.abc import Iterator
from typing import Any, TypeVar

from ssptool.dataclass import dataclass
from ssptool.documents import ssc, ssd, ssm, ssv
from ssptool.documents.archive import Archive, UnresolvableUri
from ssptool.documents.diagnostics import InvalidDocument, Position
from ssptool.documents.document import Document
from ssptool.documents.element import Element
from ssptool.documents.entries import MissingEntry

R = TypeVar("R", bound=Element)


@dataclass(frozen=True, slots=True)
class Given:
    """A value as it is written, and what a mapping would make of it."""

    value: Any
    unit: str | None
    transformation: ssc.Transformation | None
    position: Position


def given_values(archive: Archive, structure: Document) -> dict[str, Given]:
    """Full names → values; outer bindings beat inner ones, later ones beat earlier ones (SSP 2.0 §5.2.3).

    Sources that cannot be read give nothing.
    """
    found: dict[str, Given] = {}
    owners = sorted(_owners((), structure.structure.system), key=lambda owner: -len(owner[0]))
    for path, element in owners:
        for binding in element.parameter_bindings:
            for name, given in _of_binding(archive, structure, binding):
                found[".".join((*path, name))] = given
    return found


def _owners(path: tuple[str, ...], element: ssd.SystemElement) -> Iterator[tuple[tuple[str, ...], ssd.SystemElement]]:
    yield path, element
    if isinstance(element, ssd.System):
        for inner in element.elements:
            yield from _owners((*path, inner.name), inner)


def _of_binding(archive: Archive, structure: Document, binding: ssd.ParameterBinding) -> Iterator[tuple[str, Given]]:
    values = _linked(archive, structure, binding.source, binding.parameter_set, ssv.ParameterSet)
    mapping = binding.parameter_mapping
    renames = None
    if mapping is not None:
        renames = _linked(archive, structure, mapping.source, mapping.inline, ssm.ParameterMapping)
    targets: dict[str, list[ssm.MappingEntry]] = {}
    for entry in () if renames is None else renames.entries:
        targets.setdefault(entry.source, []).append(entry)
    for parameter in () if values is None else values.parameters:
        name, value, unit = binding.prefix + parameter.name, parameter.value, parameter.unit
        if mapping is None:
            yield name, Given(value, unit, None, parameter.position)
        for entry in targets.get(name, ()):
            yield entry.target, Given(value, unit, entry.transformation, parameter.position)


def _linked(archive: Archive, structure: Document, source: str | None, inline: R | None, kind: type[R]) -> R | None:
    if source is None:
        return inline
    try:
        return archive.document(archive.resolve(structure.name, source)).root_as(kind)
    except (UnresolvableUri, MissingEntry, InvalidDocument):
        return None
