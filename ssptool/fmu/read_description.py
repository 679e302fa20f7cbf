"""Read a modelDescription.xml of FMI 1.0, 2.0 or 3.x into an `FmuDescription`, and check it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from math import isfinite, prod
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from lxml import etree

from ssptool.documents.generated import fmi1_role
from ssptool.fmu.consistency import inconsistencies
from ssptool.fmu.description import (
    Causality,
    Dependencies,
    FmuDescription,
    FmuExperiment,
    Interface,
    UnreadableFmu,
    Value,
    Variability,
    Variable,
)
from ssptool.fmu.model_description_xml import (
    UNREADABLE,
    CachedByContent,
    model_description,
    parse_model_description,
    python_modules,
    source_line,
    unreadable_reason,
)
from ssptool.fmu.model_variables import ModelVariables, RawVariable, Unknown, read_model_variables
from ssptool.fmu.safe_reading import DescriptionProblem, of_starts, read_safely
from ssptool.fmu.units import DisplayUnit, Exponents, PhysicalUnit


def read_description(path: Path) -> FmuDescription:
    """Read the model description of an FMU (a zip or an unpacked folder).

    Raises
    ------
    UnreadableFmu
        The file is missing, is not a zip, or has no modelDescription.xml; or the XML is not well-formed, of another FMI
        version than 1.0, 2.0 and 3.x, or has an unreadable value.
    """
    try:
        description = description_from_xml(model_description(path))
        modules = python_modules(path)
        return replace(description, python_modules=modules) if modules else description
    except UNREADABLE as error:
        raise UnreadableFmu(path, unreadable_reason(error)) from error


@CachedByContent
def description_from_xml(content: bytes) -> FmuDescription:
    """Read a model description from its XML; flaws get a safe reading."""
    root = parse_model_description(content)
    read_safely(root, _schema(root.get("fmiVersion", "")[:1]))
    return frozen_description(read_model_variables(root), root)


_FMI3_TYPE = {"Real": "Float64", "Integer": "Int32"}
_INTEGERS = frozenset(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))
_TYPES = _INTEGERS | {"Float32", "Float64", "Boolean", "String", "Enumeration", "Binary", "Clock"}
_INFINITY = float("inf")
_INT32 = 2**31
_OSMP_BINARY = "{*}osmp-binary-variable"


def frozen_description(raw: ModelVariables, root: etree._Element) -> FmuDescription:
    """The description with these variables and this structure; everything else is read from its XML."""
    aliases = _aliases(raw.variables)
    read = _variable_of_fmi3 if raw.major >= 3 else _variable
    variables = {variable.name: read(variable) for variable in raw.variables}
    variables |= dict(_with_display_units(raw, variables, root))
    if raw.major == 1:
        return _description_of_fmi1(root, variables)
    return FmuDescription(
        fmi_version=root.get("fmiVersion", ""),
        model_name=root.get("modelName", ""),
        token=root.get("guid" if raw.major == 2 else "instantiationToken", ""),
        co_simulation=_interface(root.find("CoSimulation"), raw.major),
        model_exchange=_interface(root.find("ModelExchange"), raw.major),
        scheduled_execution=root.find("ScheduledExecution") is not None,
        variables=MappingProxyType(variables),
        units=MappingProxyType({node.get("name", ""): _unit(node) for node in root.iterfind("UnitDefinitions/Unit")}),
        outputs=_dependencies(raw.outputs, aliases),
        derivatives=_dependencies(raw.derivatives, aliases),
        initial_unknowns=_dependencies(raw.initial_unknowns, aliases),
        event_indicators=_event_indicators(raw, root),
        binaries=frozenset(node.get("name", "") for node in root.iter(_OSMP_BINARY)),
        experiment=_experiment(root.find("DefaultExperiment")),
        log_categories=tuple(filter(None, (node.get("name") for node in root.iterfind("LogCategories/Category")))),
    )


def _with_display_units(
    raw: ModelVariables, variables: Mapping[str, Variable], root: etree._Element
) -> Iterator[tuple[str, Variable]]:
    """Variables whose display unit the FMU defines."""
    known = display_units(root)
    for one in raw.variables if known else ():
        name = one.display_unit or (one.declared.display_unit if one.declared is not None else None)
        variable = variables[one.name]
        if name is not None and (found := known.get((variable.unit or "", name))) is not None:
            yield one.name, variable._replace(display=found)


def display_units(root: etree._Element) -> Mapping[tuple[str, str], DisplayUnit]:
    """Display units, by the names of unit and display unit."""
    found = {}
    for unit in root.iterfind("UnitDefinitions/*"):
        for node in unit.iterfind("DisplayUnit"):
            factor = float(node.get("factor", "1"))
            if factor and isfinite(factor):
                name, offset = node.get("name", ""), float(node.get("offset", "0"))
                found[unit.get("name", ""), name] = DisplayUnit(name, factor, offset, _flag(node, "inverse"))
        found |= {(unit.get("unit", ""), one.name): one for one in _fmi1_display_units(unit)}
    return found


def _event_indicators(raw: ModelVariables, root: etree._Element) -> int:
    if raw.major >= 3:
        return sum(prod(unknown.variable.shape) for unknown in raw.event_indicators)
    return int(root.get("numberOfEventIndicators", "0"))


def _description_of_fmi1(root: etree._Element, variables: Mapping[str, Variable]) -> FmuDescription:
    nodes = {node.get("name"): node for node in root.iterfind("ModelVariables/*")}
    own = {name: _of_fmi1(variable, nodes[name]) for name, variable in variables.items()}
    outputs = fmi1_dependencies(root.iterfind("ModelVariables/ScalarVariable"))
    identifier = root.get("modelIdentifier", "")
    return FmuDescription(
        fmi_version=root.get("fmiVersion", ""),
        model_name=root.get("modelName", ""),
        token=root.get("guid", ""),
        co_simulation=_co_simulation_of_fmi1(root),
        model_exchange=Interface(identifier, False, False, False) if root.find("Implementation") is None else None,
        scheduled_execution=False,
        variables=MappingProxyType(own),
        units=fmi1_units(root),
        outputs=outputs,
        derivatives=MappingProxyType({}),
        # Without initialization mode, the dependencies at communication points also apply to the first one.
        initial_unknowns=outputs,
        event_indicators=int(root.get("numberOfEventIndicators", "0")),
        binaries=frozenset(node.get("name", "") for node in root.iter(_OSMP_BINARY)),
        experiment=_experiment(root.find("DefaultExperiment")),
    )


def _of_fmi1(variable: Variable, node: etree._Element) -> Variable:
    role = fmi1_role(node)
    return variable._replace(
        causality=Causality(role.causality),
        variability=Variability(role.variability),
        initial=role.initial,
        negated=node.get("alias") == NEGATED_ALIAS,
    )


def _co_simulation_of_fmi1(root: etree._Element) -> Interface | None:
    """Co-simulation of FMI 1.0; None for model exchange, which states no capabilities."""
    for kind in ("CoSimulation_StandAlone", "CoSimulation_Tool"):
        if (node := root.find(f"Implementation/{kind}")) is not None:
            stated = node.find("Capabilities")
            flags = {} if stated is None else {str(name): str(value) for name, value in stated.attrib.items()}
            return Interface(
                model_identifier=root.get("modelIdentifier", ""),
                saves_state=False,
                serializes_state=False,
                directional_derivatives=False,
                variable_step=_is_true(flags.get("canHandleVariableCommunicationStepSize")),
                input_derivatives=_is_true(flags.get("canInterpolateInputs")),
                output_derivative_order=int(flags.get("maxOutputDerivativeOrder", "0")),
                once_per_process=_is_true(flags.get("canBeInstantiatedOnlyOncePerProcess")),
                needs_tool=kind == "CoSimulation_Tool",
                rejects_steps=_is_true(flags.get("canRejectSteps")),
            )
    return None


def _experiment(node: etree._Element | None) -> FmuExperiment:
    if node is None:
        return FmuExperiment()
    start, stop, step_size, tolerance = map(_finite, map(node.get, ("startTime", "stopTime", "stepSize", "tolerance")))
    return FmuExperiment(start, stop, step_size, tolerance, source_line(node))


def _finite(text: str | None) -> float | None:
    """A finite number; None for anything else: an FMU is not rejected for that."""
    try:
        return None if text is None or not isfinite(float(text)) else float(text)
    except ValueError:
        return None


def _unit(node: etree._Element) -> PhysicalUnit:
    name, base = node.get("name", ""), node.find("BaseUnit")
    if base is None:
        return PhysicalUnit(name, None)
    exponents = Exponents(*(int(base.get(symbol, "0")) for symbol in Exponents._fields))
    for symbol, exponent in zip(exponents._fields, exponents, strict=True):
        if not -_INT32 <= exponent < _INT32:
            raise ValueError(f'unit "{name}": {symbol}="{exponent}" is not an integer of 32 bits')
    return PhysicalUnit(name, exponents, float(base.get("factor", "1")), float(base.get("offset", "0")))


def _interface(node: etree._Element | None, major: int) -> Interface | None:
    """The interface; flags with different names in FMI 2.0 and 3.0 are looked up by version."""
    if node is None:
        return None
    state, plural = ("State", "s") if major >= 3 else ("state", "")
    return Interface(
        model_identifier=node.get("modelIdentifier", ""),
        saves_state=_flag(node, f"canGetAndSetFMU{state}"),
        serializes_state=_flag(node, f"canSerializeFMU{state}"),
        directional_derivatives=_flag(node, f"providesDirectionalDerivative{plural}"),
        variable_step=_flag(node, "canHandleVariableCommunicationStepSize"),
        input_derivatives=_flag(node, "canInterpolateInputs"),
        output_derivative_order=int(node.get("maxOutputDerivativeOrder", "0")),
        intermediate_update=_flag(node, "providesIntermediateUpdate"),
        once_per_process=_flag(node, "canBeInstantiatedOnlyOncePerProcess"),
        needs_tool=_flag(node, "needsExecutionTool"),
        event_mode=_flag(node, "hasEventMode"),
        may_return_early=_flag(node, "mightReturnEarlyFromDoStep"),
        # FMI 2.0 and 3.0 have opposite flags; only in FMI 2.0 is the call needed by default.
        needs_completed_step=_flag(node, "needsCompletedIntegratorStep")
        or (major == 2 and not _flag(node, "completedIntegratorStepNotNeeded")),
        adjoint_derivatives=_flag(node, "providesAdjointDerivatives"),
        fixed_step=_positive(node, "fixedInternalStepSize"),
        line=source_line(node),
    )


def _positive(node: etree._Element, attribute: str) -> float | None:
    number = _finite(node.get(attribute))
    return number if number is not None and number > 0 else None


def _flag(node: etree._Element, attribute: str) -> bool:
    return _is_true(node.get(attribute))


def _is_true(text: str | None) -> bool:
    return text is not None and text.strip() in _TRUE


def _variable(raw: RawVariable) -> Variable:
    kind = _FMI3_TYPE.get(raw.type, raw.type)
    if kind not in _TYPES:
        raise ValueError(f'variable "{raw.name}": <{raw.type}> is not a type of FMI')
    declared = raw.declared
    starts = () if raw.start is None and raw.starts is None else _starts(_start_texts(raw), kind)
    unit, nominal, minimum, maximum = _quantities(raw)
    return Variable(
        name=raw.name,
        reference=raw.reference,
        type=kind,
        causality=_CAUSALITIES.get(raw.causality) or Causality(raw.causality),
        variability=_VARIABILITIES.get(raw.variability) or Variability(raw.variability),
        initial=raw.initial,
        start=starts[0] if starts else None,
        unit=unit,
        nominal=1.0 if nominal is None else abs(float(nominal)) or 1.0,
        minimum=-_INFINITY if minimum is None else float(minimum),
        maximum=_INFINITY if maximum is None else float(maximum),
        relative_quantity=_is_true(raw.typed.get("relativeQuantity"))
        or (declared is not None and _is_true(declared.relative_quantity)),
        shape=(),
        items=_NO_ITEMS if declared is None else declared.items,
        description=raw.description or "",
        derivative_of=None if raw.state is None else raw.state.name,
        intermediate_update=False,
        line=raw.line,
        starts=starts,
        declared_type=None if declared is None else declared.name,
        nominal_stated=nominal is not None,
    )


def _variable_of_fmi3(raw: RawVariable) -> Variable:
    return _variable(raw)._replace(
        shape=raw.shape,
        intermediate_update=_is_true(raw.own.get("intermediateUpdate")),
        clocks=tuple([clock.name for clock in raw.clocks]),
        sizes=raw.sizes,
        clock=tuple((str(name), str(value)) for name, value in raw.own.items()) if raw.type == "Clock" else (),
        mime_type=raw.own.get("mimeType"),
    )


_CAUSALITIES = {one.value: one for one in Causality}
_VARIABILITIES = {one.value: one for one in Variability}
_NO_ITEMS: Mapping[str, int] = MappingProxyType({})
_TRUE = ("true", "1")


def _quantities(raw: RawVariable) -> tuple[str | None, str | None, str | None, str | None]:
    """Unit, nominal, min and max as written, from the variable or its declared type."""
    own, declared = raw.typed.get, raw.declared
    if declared is None:
        return own("unit"), own("nominal"), own("min"), own("max")
    return (
        own("unit", declared.unit),
        own("nominal", declared.nominal),
        own("min", declared.minimum),
        own("max", declared.maximum),
    )


def _start_texts(raw: RawVariable) -> Sequence[str]:
    if raw.starts is not None:
        return raw.starts
    if raw.start is None:
        return ()
    return (raw.start,) if raw.type in ("String", "Binary") else raw.start.split()


_READERS_BY_TYPE: Mapping[str, Callable[[str], Value]] = MappingProxyType(
    {
        "Float64": float,
        "Float32": float,
        "Boolean": _is_true,
        "String": str,
        "Binary": bytes.fromhex,
        "Clock": _is_true,
    }
)


def _starts(texts: Sequence[str], kind: str) -> tuple[Value, ...]:
    return tuple(map(_READERS_BY_TYPE.get(kind, int), texts))


Aliases: TypeAlias = Mapping[str, tuple[str, ...]]


def _aliases(variables: Iterable[RawVariable]) -> Aliases:
    """Variable → its name and those of its FMI 3.0 aliases, which share its entries in the model structure.

    Variables without aliases are left out.
    """
    names: dict[str, tuple[str, ...]] = {}
    for variable in variables:
        if variable.alias_of is not None:
            base = variable.alias_of.name
            names[base] = (*names.get(base, (base,)), variable.name)
    return names


def _dependencies(unknowns: Iterable[Unknown], aliases: Aliases) -> Dependencies:
    declared: dict[str, frozenset[str] | None] = {}
    sets: dict[int, frozenset[str]] = {}  # many unknowns share a list of dependencies
    for unknown in unknowns:
        known = unknown.dependencies
        if known is not None and id(known) not in sets:
            sets[id(known)] = frozenset(name for one in known for name in aliases.get(one.name, (one.name,)))
        names = None if known is None else sets[id(known)]
        own = unknown.variable.name
        declared.update(dict.fromkeys(aliases.get(own, (own,)), names))
    return MappingProxyType(declared)


NEGATED_ALIAS = "negatedAlias"


def fmi1_dependencies(variables: Iterable[etree._Element]) -> Mapping[str, frozenset[str] | None]:
    """Output → inputs that it depends on at the same instant; None if undeclared, which means all inputs."""
    found: dict[str, frozenset[str] | None] = {}
    for variable in variables:
        if variable.get("causality") == "output":
            stated = variable.find("DirectDependency")
            names = None if stated is None else frozenset((node.text or "").strip() for node in stated.iterfind("Name"))
            found[variable.get("name", "")] = names
    return MappingProxyType(found)


def fmi1_units(root: etree._Element) -> Mapping[str, PhysicalUnit]:
    """Units by name. FMI 1.0 does not define units; it only relates them to display units: displayUnit = gain · unit +
    offset, as FMI Library reads it and Dymola and JModelica write it.
    """
    found = {}
    for node in root.iterfind("UnitDefinitions/BaseUnit"):
        name = node.get("unit", "")
        found[name] = PhysicalUnit(name, None, shown=tuple(_fmi1_display_units(node)))
    return MappingProxyType(found)


def _fmi1_display_units(unit: etree._Element) -> Iterator[DisplayUnit]:
    for node in unit.iterfind("DisplayUnitDefinition"):
        if factor := float(node.get("gain", "1")):
            yield DisplayUnit(node.get("displayUnit", ""), factor, float(node.get("offset", "0")))


def read_and_check(path: Path) -> FmuDescription:
    """Read a description like `read_description`, but read the file only once for later `description_problems`."""
    description_problems(path)
    return read_description(path)


def description_problems(path: Path) -> tuple[DescriptionProblem, ...]:
    """Problems of the model description of an FMU (a zip, or an unpacked folder).

    The check covers the XML Schema, and for schema-valid files names, start values, causalities and variabilities,
    units and the model structure.

    Raises
    ------
    UnreadableFmu
        As `read_description` does.
    """
    try:
        return _problems(model_description(path))
    except UNREADABLE as error:
        raise UnreadableFmu(path, unreadable_reason(error)) from error


@CachedByContent
def _problems(content: bytes) -> tuple[DescriptionProblem, ...]:
    root = parse_model_description(content)
    told, left = read_safely(root, _schema(root.get("fmiVersion", "")[:1]))
    if left:
        return tuple(sorted((*told, *left)))
    raw = read_model_variables(root)
    description = frozen_description(raw, root)
    description_from_xml.remember(content, description)
    return (*told, *of_starts(description), *inconsistencies(raw, root))


_SCHEMAS = {
    "1": "fmi1/fmiModelDescription.xsd",
    "2": "fmi2/fmi2ModelDescription.xsd",
    "3": "fmi3/fmi3ModelDescription.xsd",
}


@cache
def _schema(major: str) -> etree.XMLSchema:
    """Schema of an FMI version from FMPy, found without importing FMPy, which takes longer than all reading."""
    package = find_spec("fmpy")
    assert package is not None and package.origin is not None
    return etree.XMLSchema(etree.parse(Path(package.origin).parent / "schema" / _SCHEMAS[major]))
