"""Units and enumerations by name: those of documents and FMUs, and known units.

A definition is added to a document when it is first used, and removed when it is no longer used.
"""

from collections.abc import Iterable, Iterator, Mapping

from ssptool.documents import ssb, ssc, ssd, ssv
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.document import Document
from ssptool.documents.element import Element
from ssptool.documents.storage import MissingEntry
from ssptool.editing.draft import Draft
from ssptool.errors import UnknownName
from ssptool.fmu.units import COMMON_NAMES, PhysicalUnit, unit_of_name
from ssptool.network.conversion import define_unit, document_units


def unit_named(draft: Draft, name: str, *first: ssv.ParameterSet) -> PhysicalUnit:
    """Unit with this name in the given sets, the SSD, the FMUs, or the other parameter sets; otherwise derived from the
    name.

    Raises
    ------
    UnknownName
        None of them defines it with a base unit, and it is not a plain SI expression.
    """
    known: dict[str, PhysicalUnit] = {}
    for units in _sources(draft, first):
        for unit in units:
            known.setdefault(unit.name, unit)
        if name in known:
            return known[name]
    told = unit_of_name(name)
    if told is None:
        raise UnknownName(f"there is no unit {name!r}", name, sorted({*known, *COMMON_NAMES}))
    return told


def _sources(draft: Draft, first: Iterable[ssv.ParameterSet]) -> Iterator[Iterable[PhysicalUnit]]:
    """Sources of units, in the order of the search."""
    yield from (document_units(each).values() for each in first)
    yield document_units(draft.root).values()
    for component in draft.root.every(ssd.Component):
        if (fmu := draft.fmu(component)) is not None:
            yield (unit for unit in fmu.units.values() if unit.exponents is not None)
    yield from (document_units(inline).values() for inline in draft.root.every(ssv.ParameterSet))
    yield from (document_units(document.root_as(ssv.ParameterSet)).values() for document in _sets(draft))


def _sets(draft: Draft) -> list[Document]:
    found = []
    for name in draft.archive.names():
        if name.lower().endswith(".ssv"):
            try:
                document = draft.archive.document(name)
                document.root_as(ssv.ParameterSet)
            except (InvalidDocument, MissingEntry):
                continue
            found.append(document)
    return found


Root = ssd.SystemStructureDescription | ssv.ParameterSet | ssb.SignalDictionary


def use_unit(root: Root, unit: PhysicalUnit | None) -> str | None:
    """Name of a unit in a document; the unit is defined there if necessary.

    If the FMU states no base unit, the result is None (catalogue, AMB-31), because the name means nothing more in the
    document than in the FMU. A name that the document uses for another unit gets a number.
    """
    if unit is None or not unit.defined:
        return None
    defined = document_units(root)
    if defined.get(unit.name) == unit:
        return unit.name
    for name, other in defined.items():
        if (other.exponents, other.factor, other.offset) == (unit.exponents, unit.factor, unit.offset):
            return name
    name = _free(unit.name, defined)
    define_unit(root, unit._replace(name=name))
    return name


def use_enumeration(root: Root, name: str, items: Mapping[str, int]) -> str:
    """Name of an enumeration with these items in a document; it is defined there if necessary."""
    defined = {each.name: {item.name: item.value for item in each.items} for each in root.enumerations}
    if defined.get(name) == dict(items):
        return name
    name = _free(name, defined)
    enumeration = ssc.Enumeration.new(name=name)
    for item, value in items.items():
        enumeration.append(ssc.EnumerationItem.new(name=item, value=value))
    root.add(enumeration)
    return name


def used_units(root: Element) -> set[str]:
    """Units that are used below an element."""
    return {unit for node in root.own() if (unit := node.get("unit")) is not None}


def used_enumerations(root: Element) -> set[str]:
    """Enumerations that are used by types below an element."""
    return {
        name
        for node in (*root.every(ssc.Enumeration), *root.every(ssv.Enumeration))
        if isinstance(node.getparent(), ssd.Connector | ssv.Parameter) and (name := node.get("name")) is not None
    }


def drop_unused(root: Root, units: Iterable[str], enumerations: Iterable[str]) -> list[str]:
    """Remove those of the given definitions that the document no longer uses; returns their names."""
    dropped = []
    kinds: tuple[tuple[str, tuple[ssc.Unit | ssc.Enumeration, ...], set[str]], ...] = (
        ("unit", root.units, set(units) - used_units(root)),
        ("enumeration", root.enumerations, set(enumerations) - used_enumerations(root)),
    )
    for what, definitions, unused in kinds:
        for definition in definitions:
            if definition.name in unused:
                dropped.append(f"{what} {definition.name}")
                definition.delete()
    return dropped


def _free(name: str, taken: Iterable[str]) -> str:
    names = set(taken)
    number = 2
    free = name
    while free in names:
        free = f"{name}_{number}"
        number += 1
    return free
