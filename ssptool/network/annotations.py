"""Run settings that other tools state in annotations of an SSD: step sizes, tolerances, algorithms, power bonds.

Annotations of the Open Simulation Platform (`osp:Algorithm`, `osp:SimulationInformation`) and of OMSimulator
(`oms:SimulationInformation`) are supported. Elements are found by local name, because tools use several namespaces for
the prefixes.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from lxml import etree

from ssptool.documents import ssc, ssd
from ssptool.documents.diagnostics import Position
from ssptool.documents.document import Document
from ssptool.documents.element import local_name
from ssptool.network.network import Annotated, Stated

ANNOTATION_PREFIXES = {
    "com.opensimulationplatform": "osp",
    "org.open-simulation-platform": "osp",
    "org.openmodelica": "oms",
}
"""Supported types of annotations, with the prefix of their elements in messages."""

_FIXED_STEP = {
    "FixedStepAlgorithm": ("baseStepSize", "stepSize"),
    "FixedStepMaster": ("stepSize",),
    "EccoAlgorithm": ("baseStepSize", "stepSize"),
}
_SOLVER = "VariableStepSolver"
_OTHER_ALGORITHMS = ("VariableStepMaster", "EccoAlgorithm")
_OPTIONS = {
    "numWorkerThreads": "--threads",
    "signalFilter": "--record",
    "loggingInterval": "--output-step",
    "resultFile": "--output",
}
"""Attributes without effect on a run, with the corresponding option on the command line."""
_WITHOUT_EFFECT = {"description", "bufferSize", "stepSizeHint"}
_NEUTRAL = {"numWorkerThreads": "-1", "signalFilter": ".*", "loggingInterval": "0"}


Holder: TypeAlias = ssd.DefaultExperiment | ssd.SystemStructureDescription | ssd.System | ssd.Component | ssd.Connection
"""An element whose annotations can contain run settings."""


class _Found(NamedTuple):
    """An element inside an annotation of a tool."""

    node: etree._Element
    name: str
    prefix: str
    position: Position

    @property
    def by(self) -> str:
        return f"{self.prefix}:{self.name}"


def read_annotated(document: Document) -> Annotated:
    """Read the annotations of an SSD, in this order: default experiment, outer systems, inner systems."""
    root = document.structure
    step_size: Stated | None = None
    tolerance: Stated | None = None
    notes: list[str] = []
    for found in _elements(document, _holders(root)):
        if found.name in _FIXED_STEP:
            stated = _annotated_number(found, *_FIXED_STEP[found.name], notes=notes)
            if stated is not None and step_size is not None and stated.value != step_size.value:
                notes.append(f"the step size {_told(stated)} is ignored: {_told(step_size)} takes precedence")
            step_size = step_size or stated
        elif found.name == _SOLVER:
            tolerance = tolerance or _annotated_number(found, "relativeTolerance", notes=notes)
        notes.extend(_unused(found))
    step_sizes = {}
    for component in root.every(ssd.Component):
        for found in _elements(document, [component]):
            hint = _annotated_number(
                found, "stepSizeHint", *(["value"] if found.name == "StepSizeHint" else []), notes=notes
            )
            if hint is not None:
                step_sizes[component.name] = hint
    return Annotated(step_size, tolerance, step_sizes, _power_bonds(document), tuple(dict.fromkeys(notes)))


def _power_bonds(document: Document) -> tuple[tuple[str, str], ...]:
    """Pairs of sources of connections of the root system that belong to the same bond."""
    bonds: dict[str, list[str]] = {}
    if next(document.root.iter(ssc.Annotation.qualified_name), None) is None:
        return ()  # fast exit without checking very many connections
    for connection in document.structure.system.connections:
        for found in _elements(document, [connection]):
            if found.name == "PowerBond":
                start = f"{connection.start_element}.{connection.start_connector}"
                bonds.setdefault(found.node.get("name", ""), []).append(start)
    return tuple((pair[0], pair[1]) for pair in bonds.values() if len(pair) == 2)


def _told(stated: Stated) -> str:
    return f"{stated.value:g} s of {stated.by} ({stated.position})"


def _holders(root: ssd.SystemStructureDescription) -> Iterator[Holder]:
    if root.default_experiment is not None:
        yield root.default_experiment
    yield root
    yield from root.systems()


def _elements(document: Document, holders: Iterable[Holder]) -> Iterator[_Found]:
    for holder in holders:
        for annotation in holder.annotations:
            prefix = ANNOTATION_PREFIXES.get(annotation.type)
            if prefix is None:
                continue
            for node in annotation.iterdescendants("*"):
                position = Position(document.name, document.line_of(node))
                yield _Found(node, local_name(node.tag), prefix, position)


def _annotated_number(found: _Found, *attributes: str, notes: list[str]) -> Stated | None:
    """The first of these attributes that exists, if it is a positive number."""
    for attribute in attributes:
        text = found.node.get(attribute)
        if text is None:
            continue
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if 0 < value < float("inf"):
            return Stated(value, found.by, found.position)
        notes.append(
            f'{found.position}: {found.by} states {attribute}="{text}", which is not a positive number: ignored'
        )
    return None


def _unused(found: _Found) -> Iterator[str]:
    """Stated attributes that a run ignores."""
    node, where = found.node, f"{found.position}: {found.by}"
    if found.name in _OTHER_ALGORITHMS:
        tolerance = node.get("relativeTolerance", "RTOL")
        yield f"{where} is ignored: the macro step keeps its size (--adaptive {tolerance} varies it)"
        return
    followed = {*_FIXED_STEP.get(found.name, ()), *_WITHOUT_EFFECT}
    if found.name == _SOLVER:
        followed.add("relativeTolerance")
        if (solver := node.get("description", "cvode")) != "cvode":
            yield f"{where}: the solver {solver} is not available; components of model exchange are integrated by CVODE"
    elif found.name not in _FIXED_STEP and found.name != "SimulationInformation":
        return
    for attribute, text in node.attrib.items():
        name, value = str(attribute), str(text)
        if name in followed or value.startswith(_NEUTRAL.get(name, "\0")):
            continue
        option = f" ({_OPTIONS[name]} sets it)" if name in _OPTIONS else ""
        yield f'{where}: {name}="{value}" is ignored{option}'
