"""The modelDescription.xml of an exported system (FMI 2.0.4, FMI 3.0)."""

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import networkx as nx
from lxml import etree

from ssptool.documents.vocabulary import double
from ssptool.engine.planning.plan import Plan
from ssptool.engine.stimuli.stimuli import known_units
from ssptool.exporting.capabilities import ExportInterface, able, capabilities_in, completed_step
from ssptool.exporting.continuous import continuous_dependencies, indicator_counts
from ssptool.exporting.interface import ContinuousRole, ExportedVariable
from ssptool.fmu.description import INTEGER_RANGES, Causality, InterfaceType
from ssptool.fmu.units import Exponents, PhysicalUnit
from ssptool.network.arrays import whole
from ssptool.network.dependencies import dependency_graph
from ssptool.network.network import Signal
from ssptool.network.signal_graph import Stage
from ssptool.version import __version__

VERSIONS = (2, 3)
"""Versions of FMI for exported FMUs."""

LOG_CATEGORIES = ("logStatusWarning", "logStatusDiscard", "logStatusError", "logStatusFatal")

_FLOATS = ("Float64", "Float32")

_TYPES = {
    2: {
        **dict.fromkeys(_FLOATS, "Real"),
        **dict.fromkeys(("Int8", "UInt8", "Int16", "UInt16", "Int32"), "Integer"),
        **{kind: kind for kind in ("Boolean", "Enumeration", "String")},
    },
    3: {
        kind: kind
        for kind in (
            *_FLOATS,
            *(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)),
            *("Boolean", "Enumeration", "String", "Binary", "Clock"),
        )
    },
}
"""Version of FMI → type of FMI 3.0 → type that represents it without loss."""


def type_in(fmi: int, kind: str) -> str:
    """Type of this version of FMI that represents a type of FMI 3.0 without loss; "" if there is none."""
    return _TYPES[fmi].get(kind, "")


def model_identifier(name: str) -> str:
    """Name of the library: the name of the system as a C identifier, short enough for a file."""
    found = re.sub(r"\W", "_", name, flags=re.ASCII)[:_LONGEST_IDENTIFIER]
    return found if found and not found[0].isdigit() else f"_{found}"


_LONGEST_IDENTIFIER = 64
"""Longest identifier: paths on Windows have at most 260 characters, and the folder of an importer may be long."""


def model_description(
    plan: Plan,
    variables: Sequence[ExportedVariable],
    token: str,
    fmi: int,
    interface: ExportInterface,
    units: Mapping[str, PhysicalUnit] = {},
) -> bytes:
    """The file for FMI 2.0 or 3.0; equal for equal plans. `units` are defined in the document of the system."""
    exchange = InterfaceType.MODEL_EXCHANGE in interface.types
    root = etree.Element(
        "fmiModelDescription",
        {
            "fmiVersion": f"{fmi}.0",
            "modelName": plan.name,
            "guid" if fmi == 2 else "instantiationToken": token,
            "generationTool": f"ssptool {__version__}",
            "variableNamingConvention": "flat",
            **({"numberOfEventIndicators": str(sum(indicator_counts(plan)))} if exchange and fmi == 2 else {}),
        },
    )
    for kind in interface.types:
        _add_interface(root, plan, kind, fmi)
    _add_units(root, known_units(plan.network, units), variables)
    _add_types(root, variables, fmi)
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
    states = {
        one.continuous.number: reference
        for reference, one in enumerate(variables)
        if one.continuous is not None and one.continuous.role is ContinuousRole.STATE
    }
    for reference, variable in enumerate(variables):
        _add_variable(found, reference, variable, fmi, states)
    structure = etree.SubElement(root, "ModelStructure")
    unknowns = _unknowns_of_exchange if exchange else _unknowns_of_simulation
    lists = unknowns(plan, variables)
    (_add_structure_of_fmi2 if fmi == 2 else _add_structure)(structure, lists)
    return etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True)


_OF_SIMULATION = (
    "canHandleVariableCommunicationStepSize",
    "canInterpolateInputs",
    "hasEventMode",
    "mightReturnEarlyFromDoStep",
)
"""Flags that do not exist for model exchange."""


def in_tools(plan: Plan) -> list[str]:
    """Components whose FMU needs the tool that exported it."""
    return [one.name for one in plan.instances if one.used_interface.needs_tool]


def _add_interface(root: Any, plan: Plan, kind: InterfaceType, fmi: int) -> None:
    exchange = kind is InterfaceType.MODEL_EXCHANGE
    attributes = {"modelIdentifier": model_identifier(plan.name)}
    if in_tools(plan):
        attributes["needsExecutionTool"] = "true"
    if exchange and fmi == 2 and not completed_step(plan):
        attributes["completedIntegratorStepNotNeeded"] = "true"
    if exchange and fmi == 3 and completed_step(plan):
        attributes["needsCompletedIntegratorStep"] = "true"
    for one in capabilities_in(plan, fmi):
        if one.able and not (exchange and one.flag in _OF_SIMULATION):
            attributes[one.flag] = "true"
    if not exchange and fmi == 3 and not able(plan, "canHandleVariableCommunicationStepSize"):
        attributes["fixedInternalStepSize"] = repr(plan.interval.step)
    etree.SubElement(root, "ModelExchange" if exchange else "CoSimulation", attributes)


def _add_units(root: Any, defined: Mapping[str, PhysicalUnit], variables: Sequence[ExportedVariable]) -> None:
    used = list(dict.fromkeys(one.unit for one in variables if one.unit and one.type in _FLOATS))
    if not used:
        return
    known = {"s": PhysicalUnit("s", Exponents(s=1)), **defined}
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


def _add_types(root: Any, variables: Sequence[ExportedVariable], fmi: int) -> None:
    """Add a type for each enumeration, which FMI requires."""
    enumerations = [one for one in variables if one.type == "Enumeration"]
    if not enumerations:
        return
    definitions = etree.SubElement(root, "TypeDefinitions")
    for one in enumerations:
        if fmi == 2:
            items = etree.SubElement(etree.SubElement(definitions, "SimpleType", name=_enumeration(one)), "Enumeration")
        else:
            items = etree.SubElement(definitions, "EnumerationType", name=_enumeration(one))
        for name, value in one.items or (("0", 0),):
            etree.SubElement(items, "Item", name=name, value=str(value))


_INITIAL = {
    **dict.fromkeys((Causality.OUTPUT, Causality.LOCAL, Causality.CALCULATED_PARAMETER), "calculated"),
    Causality.PARAMETER: "exact",
}


def _add_variable(parent: Any, reference: int, one: ExportedVariable, fmi: int, states: Mapping[int, int]) -> None:
    """Add a variable. FMI 2.0 has a child element for type-specific attributes; in FMI 3.0 the element itself has the
    type. `states`: reference of each state.
    """
    attributes = {
        "name": one.name,
        "valueReference": str(reference),
        **({"description": one.description} if one.description else {}),
        "causality": str(one.causality),
        "variability": str(one.variability),
        **({"initial": _INITIAL[one.causality]} if one.causality in _INITIAL and one.clock is None else {}),
        **({"clocks": " ".join(map(str, one.clocks))} if one.clocks and fmi == 3 else {}),
    }
    kind = type_in(fmi, one.type)
    of_type = _of_type(one)
    if one.continuous is not None and one.continuous.role is ContinuousRole.DERIVATIVE:
        # by index, or by reference
        of_type["derivative"] = str(states[one.continuous.number] + (1 if fmi == 2 else 0))
    starts = [_text(start, one.type) for start in one.starts]
    if fmi == 2:
        given = {"start": starts[0]} if starts else {}
        etree.SubElement(etree.SubElement(parent, "ScalarVariable", attributes), kind, {**of_type, **given})
        return
    in_elements = kind in ("String", "Binary")
    given = {"start": " ".join(starts)} if starts and not in_elements else {}
    variable = etree.SubElement(parent, kind, {**attributes, **of_type, **given})
    for extent in one.shape:
        etree.SubElement(variable, "Dimension", start=str(extent))
    for text in starts if in_elements else ():
        etree.SubElement(variable, "Start", value=text)


def _of_type(one: ExportedVariable) -> dict[str, str]:
    """Attributes that only some types have."""
    if one.clock is not None:
        return dict(one.clock.stated)
    if one.type == "Binary":
        return {"mimeType": one.mime_type} if one.mime_type else {}
    declared = {"declaredType": _enumeration(one)} if one.type == "Enumeration" else {}
    ends = {"min": one.minimum, "max": one.maximum} if one.type in _ORDERED else {}
    bounds = {name: text for name, end in ends.items() if (text := _bound(end, one.type))}
    if one.type not in _FLOATS:
        return {**declared, **bounds}
    unit = {"unit": one.unit} if one.unit else {}
    return {**unit, **bounds, **({"nominal": double.write(one.nominal)} if one.nominal != 1.0 else {})}


_ORDERED = (*_FLOATS, *INTEGER_RANGES, "Enumeration")

_EXACT = 2.0**53
"""Limit up to which doubles represent all integers; larger limits of a variable may be rounded."""


def _bound(end: float, kind: str) -> str:
    """Text of one end of a range; "" if there is none."""
    if not math.isfinite(end):
        return ""
    if kind in _FLOATS:
        return double.write(end)
    return str(math.trunc(end)) if abs(end) < _EXACT else ""


def _text(value: Any, kind: str) -> str:
    if kind in _FLOATS:
        return double.write(float(value))
    if kind == "Boolean":
        return "true" if value else "false"
    return value.hex() if kind == "Binary" else str(value)


Unknowns = Sequence[tuple[int, Sequence[int] | None]]
"""Variables by number, each with the numbers of its dependencies; None: it may depend on everything."""


class _StructureLists(NamedTuple):
    """The lists of a model structure."""

    outputs: Unknowns
    derivatives: Unknowns
    initial: Unknowns
    indicators: Unknowns


def _add_structure_of_fmi2(structure: Any, lists: _StructureLists) -> None:
    """Add lists of unknowns with numbers from 1."""
    named = (("Outputs", lists.outputs), ("Derivatives", lists.derivatives), ("InitialUnknowns", lists.initial))
    for name, unknowns in named:
        if not unknowns:
            continue
        found = etree.SubElement(structure, name)
        for number, known in unknowns:
            needed = {} if known is None else {"dependencies": " ".join(str(one + 1) for one in known)}
            etree.SubElement(found, "Unknown", {"index": str(number + 1), **needed})


def _add_structure(structure: Any, lists: _StructureLists) -> None:
    """Add unknowns with their value references."""
    named = (
        ("Output", lists.outputs),
        ("ContinuousStateDerivative", lists.derivatives),
        ("InitialUnknown", lists.initial),
        ("EventIndicator", lists.indicators),
    )
    for name, unknowns in named:
        for number, known in unknowns:
            needed = {} if known is None else {"dependencies": " ".join(map(str, known))}
            etree.SubElement(structure, name, {"valueReference": str(number), **needed})


def _unknowns_of_simulation(plan: Plan, variables: Sequence[ExportedVariable]) -> _StructureLists:
    needed = _needed_inputs(plan, variables, Stage.COMMUNICATION)
    outputs = [(number, known if variables[number].clock is None else None) for number, known in needed.items()]
    return _StructureLists(outputs, (), _initial(plan, variables, []), ())


def _unknowns_of_exchange(plan: Plan, variables: Sequence[ExportedVariable]) -> _StructureLists:
    """Unknowns of model exchange: states, derivatives and event indicators are part of the structure, and outputs also
    depend on states. Event indicators may depend on everything.
    """
    dependencies = continuous_dependencies(plan, variables)
    signal = plan.network.arrays
    roles: dict[ContinuousRole, list[int]] = {role: [] for role in ContinuousRole}
    for number, one in enumerate(variables):
        if one.continuous is not None:
            roles[one.continuous.role].append(number)
    outputs = [number for number, one in enumerate(variables) if one.causality is Causality.OUTPUT]
    known = sorted(number for numbers in dependencies.knowns.values() for number in numbers)
    derivatives = roles[ContinuousRole.DERIVATIVE]
    return _StructureLists(
        [(number, dependencies.of(whole(variables[number].signal, signal))) for number in outputs],
        [(number, dependencies.of(_whole_derivative(plan, variables[number].signal))) for number in derivatives],
        _initial(plan, variables, [*roles[ContinuousRole.STATE], *derivatives]),
        [(number, known) for number in roles[ContinuousRole.INDICATOR]],
    )


def _whole_derivative(plan: Plan, signal: Signal) -> Signal:
    """The array that contains a derivative as element, or the derivative itself; it need not be a connector."""
    description = plan.network.components[signal.component].description
    return Signal(signal.component, description.variables[signal.variable].array or signal.variable)


def _initial(plan: Plan, variables: Sequence[ExportedVariable], continuous: Sequence[int]) -> Unknowns:
    """Variables that are calculated in initialization mode, including from parameters; `continuous` are states and
    derivatives.
    """
    parameters = [number for number, one in enumerate(variables) if one.causality is Causality.PARAMETER]
    inputs = [number for number, one in enumerate(variables) if one.causality is Causality.INPUT]
    outputs = _needed_inputs(plan, variables, Stage.INITIALIZATION)
    calculated = [number for number, one in enumerate(variables) if one.causality is Causality.CALCULATED_PARAMETER]
    found: dict[int, Sequence[int] | None] = dict.fromkeys(calculated)
    # Outputs that belong to clocks.
    free = {number: known for number, known in outputs.items() if not variables[number].clocks}
    found |= {number: sorted({*known, *parameters}) for number, known in free.items()}
    found |= {number: sorted({*inputs, *parameters}) for number in continuous if number not in found}
    return [(number, found[number]) for number in sorted(found)]


def _needed_inputs(plan: Plan, variables: Sequence[ExportedVariable], stage: Stage) -> dict[int, list[int]]:
    """Numbers of the inputs of the system that each output depends on at one instant."""
    graph = dependency_graph(plan.network, stage)
    arrays = plan.network.arrays
    inputs = defaultdict(list)
    for number, one in enumerate(variables):
        if one.causality is Causality.INPUT:
            inputs[whole(one.signal, arrays)].append(number)
    found: dict[int, list[int]] = {}
    for number, one in enumerate(variables):
        if one.causality is Causality.OUTPUT:
            signal = whole(one.signal, arrays)
            before = nx.ancestors(graph, signal) if signal in graph else set()
            found[number] = [each for known, numbers in inputs.items() if known in before for each in numbers]
    return found
