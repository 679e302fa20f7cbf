"""Statements of documents about a system itself, not about its elements: times, units, bindings, dictionaries."""

from collections.abc import Iterator, Mapping
from typing import Any

from ssptool.documents.element import Element
from ssptool.documents.vocabulary import NSMAP, number_text
from ssptool.errors import counted
from ssptool.network.tree import ElementPath, build_tree, dotted
from ssptool.studio.model import SystemModel, no_such_sheet

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
    place = next((one for one in build_tree(model.archive, model.structure).systems if one.path == path), None)
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
            *(() if structure is None else _parts(model, document.name, structure, _OF_DOCUMENT, name)),
            *_parts(model, document.name, system, _OF_SYSTEM, name),
        ],
    }


def _parts(
    model: SystemModel, file: str, around: Element, titles: Mapping[str, str], name: str
) -> Iterator[Mapping[str, Any]]:
    """The parts that are there, each with its file, line and text."""
    for tag, title in titles.items():
        node = around.find(f"{{{NSMAP['ssd']}}}{tag}")
        if not isinstance(node, Element):
            continue
        xml = model.xml(file, node.line)
        # An element that starts in the same line would be found instead of it.
        alone = xml is not None and xml.raw.partition(">")[0].split()[0].endswith(f":{tag}")
        yield {
            "title": f"{title} of {name}",
            "heading": title,
            "where": f"{file}:{node.line}",
            "file": file,
            "line": node.line,
            "xml": xml.shown if xml is not None and alone else "",
        }
