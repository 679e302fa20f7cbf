"""Units by name: those that the documents and FMUs of a system define, and those that a plain SI expression names."""

from collections.abc import Iterable, Iterator

from ssptool.documents import ssd, ssv
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.document import Document
from ssptool.documents.entries import MissingEntry
from ssptool.editing.draft import Draft
from ssptool.editing.errors import UnknownName
from ssptool.fmu.units import COMMON_NAMES, Unit, unit_of_name
from ssptool.network.units import document_units


def unit_named(draft: Draft, name: str, *first: ssv.ParameterSet) -> Unit:
    """The unit of this name in the given sets, the SSD, the FMUs, or the other parameter sets; else as it names itself.

    Raises
    ------
    UnknownName
        None of them defines it with a base unit, and it is no plain SI expression.
    """
    known: dict[str, Unit] = {}
    for units in _sources(draft, first):
        for unit in units:
            known.setdefault(unit.name, unit)
        if name in known:
            return known[name]
    told = unit_of_name(name)
    if told is None:
        raise UnknownName("unit", name, (*known, *COMMON_NAMES))
    return told


def _sources(draft: Draft, first: Iterable[ssv.ParameterSet]) -> Iterator[Iterable[Unit]]:
    """Where units are looked for, in this order."""
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
