"""The modelDescription.xml of an exported system, as FMI 2.0.4 has it."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import networkx as nx
from lxml import etree

from ssptool.engine.planning.plan import Plan
from ssptool.exporting.capabilities import export_capabilities
from ssptool.exporting.frozen_plan import type_of_fmi2
from ssptool.exporting.interface import ExportedVariable, known_units
from ssptool.fmu.description import Causality
from ssptool.fmu.units import PhysicalUnit
from ssptool.network.arrays import whole
from ssptool.network.dependencies import Stage, dependency_graph
from ssptool.version import __version__

LOG_CATEGORIES = ("logStatusWarning", "logStatusDiscard", "logStatusError", "logStatusFatal")


def model_identifier(name: str) -> str:
    """The name of the library: that of the system as an identifier of C."""
    found = re.sub(r"\W", "_", name, flags=re.ASCII)
    return found if found and not found[0].isdigit() else f"_{found}"


def model_description(plan: Plan, variables: Sequence[ExportedVariable], token: str) -> bytes:
    """The file; equal for equal plans."""
    root = etree.Element(
        "fmiModelDescription",
        fmiVersion="2.0",
        modelName=plan.name,
        guid=token,
        generationTool=f"ssptool {__version__}",
        variableNamingConvention="flat",
    )
    etree.SubElement(
        root,
        "CoSimulation",
        {
            "modelIdentifier": model_identifier(plan.name),
            **{one.flag: "true" for one in export_capabilities(plan) if one.able},
        },
    )
    _add_units(root, plan, variables)
    _add_types(root, variables)
    categories = etree.SubElement(root, "LogCategories")
    for name in LOG_CATEGORIES:
        etree.SubElement(categories, "Category", name=name)
    interval = plan.interval
    etree.SubElement(
        root,
        "DefaultExperiment",
        startTime=repr(interval.start),
        stopTime=repr(interval.stop),
        stepSize=repr(interval.step),
    )
    found = etree.SubElement(root, "ModelVariables")
    for reference, variable in enumerate(variables):
        _add_variable(found, reference, variable)
    _add_structure(root, plan, variables)
    return etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True)


def _add_units(root: Any, plan: Plan, variables: Sequence[ExportedVariable]) -> None:
    used = list(dict.fromkeys(one.unit for one in variables if one.unit and type_of_fmi2(one.type) == "Real"))
    if not used:
        return
    known = known_units(plan)
    definitions = etree.SubElement(root, "UnitDefinitions")
    for name in used:
        unit = etree.SubElement(definitions, "Unit", name=name)
        if name in known and known[name].exponents is not None:
            _add_base_unit(unit, known[name])


def _add_base_unit(element: Any, unit: PhysicalUnit) -> None:
    assert unit.exponents is not None
    powers = {name: str(power) for name, power in unit.exponents._asdict().items() if power}
    scale = {"factor": repr(unit.factor)} if unit.factor != 1.0 else {}
    shift = {"offset": repr(unit.offset)} if unit.offset else {}
    etree.SubElement(element, "BaseUnit", {**powers, **scale, **shift})


def _enumeration(variable: ExportedVariable) -> str:
    return f"{variable.name}.items"


def _add_types(root: Any, variables: Sequence[ExportedVariable]) -> None:
    """A type for each enumeration, which FMI 2.0 does not do without."""
    enumerations = [one for one in variables if one.type == "Enumeration"]
    if not enumerations:
        return
    definitions = etree.SubElement(root, "TypeDefinitions")
    for one in enumerations:
        kind = etree.SubElement(definitions, "SimpleType", name=_enumeration(one))
        items = etree.SubElement(kind, "Enumeration")
        for name, value in one.items or (("0", 0),):
            etree.SubElement(items, "Item", name=name, value=str(value))


def _add_variable(parent: Any, reference: int, one: ExportedVariable) -> None:
    initial = {Causality.OUTPUT: "calculated", Causality.LOCAL: "calculated", Causality.PARAMETER: "exact"}
    attributes = {
        "name": one.name,
        "valueReference": str(reference),
        **({"description": one.description} if one.description else {}),
        "causality": str(one.causality),
        "variability": str(one.variability),
        **({"initial": initial[one.causality]} if one.causality in initial else {}),
    }
    kind = type_of_fmi2(one.type)
    typed = {"declaredType": _enumeration(one)} if kind == "Enumeration" else {}
    unit = {"unit": one.unit} if one.unit and kind == "Real" else {}
    start = {} if one.start is None else {"start": _text(one.start, kind)}
    etree.SubElement(etree.SubElement(parent, "ScalarVariable", attributes), kind, {**typed, **unit, **start})


def _text(value: Any, kind: str) -> str:
    match kind:
        case "Real":
            return repr(float(value))
        case "Boolean":
            return "true" if value else "false"
        case _:
            return str(value)


def _add_structure(root: Any, plan: Plan, variables: Sequence[ExportedVariable]) -> None:
    structure = etree.SubElement(root, "ModelStructure")
    outputs = [number for number, one in enumerate(variables) if one.causality is Causality.OUTPUT]
    if not outputs:
        return
    parameters = [number for number, one in enumerate(variables) if one.causality is Causality.PARAMETER]
    for name, stage, more in (
        ("Outputs", Stage.COMMUNICATION, ()),
        ("InitialUnknowns", Stage.INITIALIZATION, parameters),
    ):
        found = etree.SubElement(structure, name)
        needed = _needed_inputs(plan, variables, stage)
        for number in outputs:
            known = sorted({*needed[number], *more})
            etree.SubElement(
                found, "Unknown", index=str(number + 1), dependencies=" ".join(str(one + 1) for one in known)
            )


def _needed_inputs(plan: Plan, variables: Sequence[ExportedVariable], stage: Stage) -> dict[int, Iterable[int]]:
    """Numbers of the inputs of the system on which each output depends at one instant."""
    graph = dependency_graph(plan.network, stage)
    arrays = plan.network.arrays
    inputs = {
        whole(one.signal, arrays): number for number, one in enumerate(variables) if one.causality is Causality.INPUT
    }
    found: dict[int, Iterable[int]] = {}
    for number, one in enumerate(variables):
        if one.causality is Causality.OUTPUT:
            signal = whole(one.signal, arrays)
            before = nx.ancestors(graph, signal) if signal in graph else set()
            found[number] = [inputs[each] for each in inputs if each in before]
    return found
