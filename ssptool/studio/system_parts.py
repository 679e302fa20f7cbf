"""Statements of documents about a system itself, not about its elements: times, units, bindings, dictionaries."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ssptool.documents.document import Document
from ssptool.documents.element import Element
from ssptool.documents.vocabulary import NSMAP, number_text
from ssptool.errors import counted
from ssptool.network.tree import ElementPath, dotted
from ssptool.studio.model import SystemModel, XmlText, no_such_sheet

_OF_DOCUMENT = {"DefaultExperiment": "Default experiment", "Units": "Units", "Enumerations": "Enumerations"}
_OF_SYSTEM = {
    "ParameterBindings": "Parameter bindings",
    "SignalDictionaries": "Signal dictionaries",
    "Annotations": "Annotations",
}
"""Parts by the name of their XML element; the diagram shows elements, connectors and connections."""


def system_content(model: SystemModel, sheet: ElementPath) -> Mapping[str, Any]:
    """A system, or the one around a group: its facts, the times of its experiment, and its parts with their text.

    Raises WrongUsage.
    """
    path = model.system_of(sheet)
    place = next((one for one in model.tree.systems if one.path == path), None)
    if place is None:
        raise no_such_sheet(path)
    document, system = place.scope.document, place.system
    structure = document.structure if document.structure.system is system else None
    experiment = None if structure is None else structure.default_experiment
    times = (None, None) if experiment is None else (experiment.start_time, experiment.stop_time)
    described = [None if structure is None else structure.description, system.description]
    name = dotted(path) or model.structure.structure.name
    kinds = {"element": system.elements, "connection": system.connections, "connector": system.connectors}
    return {
        "title": name,
        "where": f"{document.name}:{system.line}",
        "facts": [*dict.fromkeys(filter(None, described)), ", ".join(counted(len(v), k) for k, v in kinds.items())],
        "values": [],
        # The verbs of experiments edit the document of the whole system.
        "experiment": None if path else ["" if time is None else number_text(time) for time in times],
        "parts": [
            *(() if structure is None else _parts(document, structure, _OF_DOCUMENT, name)),
            *_parts(document, system, _OF_SYSTEM, name),
        ],
    }


def _parts(document: Document, around: Element, titles: Mapping[str, str], name: str) -> Iterator[Mapping[str, Any]]:
    """The parts that are there, each with its file, line and text."""
    for tag, title in titles.items():
        node = around.find(f"{{{NSMAP['ssd']}}}{tag}")
        if not isinstance(node, Element):
            continue
        yield {
            "title": f"{title} of {name}",
            "heading": title,
            "where": f"{document.name}:{node.line}",
            "file": document.name,
            "line": node.line,
            "xml": XmlText.of(document, node).shown if _begins_its_line(node) else "",
        }


def _begins_its_line(node: Element) -> bool:
    """False if another element starts in the same line, which an edit of that line would find instead of this one."""
    around, inside = node.getparent(), _first_element(node.itersiblings(preceding=True))
    before = inside if inside is not None else around if isinstance(around, Element) else None
    while inside is not None:  # the last element inside of the one before it
        before, inside = inside, _first_element(inside.iterchildren(reversed=True))
    return before is None or before.line != node.line


def _first_element(nodes: Iterable[object]) -> Element | None:
    return next((one for one in nodes if isinstance(one, Element)), None)
