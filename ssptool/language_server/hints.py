"""Inlay hints: type and unit of both ends of a connection, and the values of variables after all parameters apply."""

from collections.abc import Iterator

from lsprotocol import types
from lxml import etree

from ssptool.documents import ssv
from ssptool.documents.diagnostics import Position
from ssptool.documents.document import Document
from ssptool.language_server.places import Places
from ssptool.language_server.snapshot import SystemSnapshot
from ssptool.network.network import Assignment, Network, Signal
from ssptool.rules.links import LinkEnd, links
from ssptool.studies.designs import value_text

MOST_TOLD = 12
"""Maximum number of variables in the tooltip of a hint."""


def hints(snapshot: SystemSnapshot, document: Document, within: types.Range) -> list[types.InlayHint]:
    """The hints in a range of lines."""
    return [*_ends(snapshot, document, within), *_parameters(snapshot, document, within)]


def _ends(snapshot: SystemSnapshot, document: Document, within: types.Range) -> Iterator[types.InlayHint]:
    structure = snapshot.structure_of(document)
    if structure is None or structure.file.document is not document or not structure.file.valid:
        return
    for system in structure.root.systems():
        for link in links(system, structure):
            if _is_in(within, document, link.connection):
                for side, end in (("start", link.start), ("end", link.end)):
                    if told := _told(end):
                        yield _behind(snapshot, document, link.connection, f"{side}Connector", told)


def _told(end: LinkEnd) -> str:
    """The type, as the document states it, if it does, and the unit."""
    carried = end.carried
    stated = end.declared.says.type_name or carried.type or ""
    return " ".join(filter(None, (stated, "" if carried.unit is None else carried.unit.name)))


def _parameters(snapshot: SystemSnapshot, document: Document, within: types.Range) -> Iterator[types.InlayHint]:
    shown = [one for one in document.root.iter(ssv.Parameter.qualified_name) if _is_in(within, document, one)]
    structure = snapshot.structure_of(document) if shown else None
    network = None if structure is None else snapshot.network(structure)
    for parameter in shown if network is not None else ():
        typed = next((one for one in parameter.iterchildren("*") if one.get("value") is not None), None)
        if not isinstance(parameter, ssv.Parameter) or typed is None or network is None:
            continue
        given, lost = _given(network, document, parameter)
        if given or lost:
            told = list(dict.fromkeys(map(_value, given.values())))
            text = f"→ {told[0]}" if len(told) == 1 else f"→ {len(told)} values" if told else "overridden"
            names = [f"{signal} = {_value(one)}" for signal, one in given.items()]
            names += [f"{signal} = {_value(one)}, from {_origin(one)}" for signal, one in lost.items()]
            more = [f"and {len(names) - MOST_TOLD} more"] if len(names) > MOST_TOLD else []
            yield _behind(snapshot, document, typed, "value", text, "\n\n".join(names[:MOST_TOLD] + more))


def _given(
    network: Network, document: Document, parameter: ssv.Parameter
) -> tuple[dict[Signal, Assignment], dict[Signal, Assignment]]:
    """The variables that take their value from a parameter, and those for which another parameter overrides it."""
    here = Position(document.name, document.line_of(parameter))
    given, lost = {}, {}
    for signal, assignment in network.assignments.items():
        if _is_from(assignment, here, parameter.name):
            given[signal] = assignment
        elif any(_is_from(one.assignment, here, parameter.name) for one in assignment.overridden):
            lost[signal] = assignment
    return given, lost


def _is_from(assignment: Assignment, here: Position, name: str) -> bool:
    return any(step.position[:2] == here[:2] and name in step.name for step in assignment.chain)


def _value(assignment: Assignment) -> str:
    value = assignment.value
    text = value_text(value) if isinstance(value, bool | int | float | str) else str(value)
    return f"{text} {assignment.unit}" if assignment.unit else text


def _origin(assignment: Assignment) -> str:
    return str(assignment.chain[0].position) if assignment.chain else "elsewhere"


def _is_in(within: types.Range, document: Document, element: etree._Element) -> bool:
    return within.start.line < document.line_of(element) <= within.end.line + 1


def _behind(
    snapshot: SystemSnapshot, document: Document, element: etree._Element, attribute: str, text: str, told: str = ""
) -> types.InlayHint:
    """A hint after the closing quotation mark of an attribute."""
    places: Places = snapshot.places(document)
    _, end = snapshot.extent(document, element, attribute)
    tooltip = types.MarkupContent(types.MarkupKind.Markdown, told) if told else None
    return types.InlayHint(places.position(end + 1), text, tooltip=tooltip, padding_left=True)
