"""Units by name: those that the documents and FMUs of a system define."""

from ssptool.documents import ssd, ssv
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.document import Document
from ssptool.documents.entries import MissingEntry
from ssptool.editing.draft import Draft
from ssptool.editing.errors import UnknownName
from ssptool.fmu.units import Unit
from ssptool.network.units import document_units


def unit_named(draft: Draft, name: str, *first: ssv.ParameterSet) -> Unit:
    """The unit of this name in the given sets, the SSD, the FMUs, or the parameter sets of the archive.

    Raises
    ------
    UnknownName
        None of them defines it with a base unit.
    """
    known: dict[str, Unit] = {}
    for units in (*map(document_units, first), document_units(draft.root)):
        for unit in units.values():
            known.setdefault(unit.name, unit)
    if name in known:
        return known[name]
    for component in draft.root.every(ssd.Component):
        fmu = draft.fmu(component)
        for unit in () if fmu is None else fmu.units.values():
            if unit.exponents is not None:
                known.setdefault(unit.name, unit)
    for document in _sets(draft):
        for unit in document_units(document.root_as(ssv.ParameterSet)).values():
            known.setdefault(unit.name, unit)
    if name not in known:
        raise UnknownName("unit", name, known)
    return known[name]


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
