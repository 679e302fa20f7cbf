"""Read a modelDescription.xml of FMI 1.0, 2.0 or 3.x into an `FmuDescription`, and check it, through FMPy.

FMPy reads neither direct dependencies nor capabilities of FMI 1.0 (Co-Simulation §3, Model Exchange §3), and loses the
causality of its parameters; these are read here. Checks are the schemas and checks of FMPy and some of our own.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from lxml import etree

from ssptool.documents.generated import fmi1_role
from ssptool.errors import abbreviated
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
    CachedByContent,
    model_description,
    parse_model_description,
    python_modules,
    source_line,
    unreadable_reason,
)
from ssptool.fmu.model_variables import RawVariable, read_model_description
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
    # FMPy raises plain `Exception` for most of what can be wrong with a model description, and whatever
    # Python raises for the rest (KeyError, TypeError, ValueError …).
    except Exception as error:
        raise UnreadableFmu(path, unreadable_reason(error)) from error


@CachedByContent
def description_from_xml(content: bytes) -> FmuDescription:
    """Read a model description from its XML; of flaws the safe reading."""
    root = parse_model_description(content)
    read_safely(root, _schema(root.get("fmiVersion", "")[:1]))
    return frozen_description(read_model_description(root), root)


_FMI3_TYPE = {"Real": "Float64", "Integer": "Int32"}
_INTEGERS = frozenset(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))
_TYPES = _INTEGERS | {"Float32", "Float64", "Boolean", "String", "Enumeration", "Binary", "Clock"}
_INFINITY = float("inf")
_INT32, _INT64 = 2**31, 2**63
_OSMP_BINARY = "{*}osmp-binary-variable"


def frozen_description(raw: Any, root: etree._Element) -> FmuDescription:
    """FMPy's objects as frozen values; `root` contains what FMPy does not read."""
    aliases = _aliases(raw.modelVariables)
    version = int(raw.fmiVersion.split(".")[0])
    read = _variable_of_fmi3 if version >= 3 else _variable
    variables = {variable.name: read(variable) for variable in raw.modelVariables}
    if version == 1:
        nodes = {node.get("name"): node for node in root.iterfind("ModelVariables/*")}
        own = {name: _of_fmi1(variable, nodes[name]) for name, variable in variables.items()}
        return _description_of_fmi1(raw, root, MappingProxyType(own))
    return FmuDescription(
        fmi_version=raw.fmiVersion,
        model_name=raw.modelName or "",
        token=raw.guid or "",
        co_simulation=_interface(raw.coSimulation, root.find("CoSimulation"), version),
        model_exchange=_interface(raw.modelExchange, root.find("ModelExchange"), version),
        scheduled_execution=raw.scheduledExecution is not None,
        variables=MappingProxyType(variables),
        units=MappingProxyType({unit.name: _unit(unit) for unit in raw.unitDefinitions}),
        outputs=_dependencies(raw.outputs, aliases),
        derivatives=_dependencies(raw.derivatives, aliases),
        initial_unknowns=_dependencies(raw.initialUnknowns, aliases),
        event_indicators=int(raw.numberOfEventIndicators),
        binaries=frozenset(node.get("name", "") for node in root.iter(_OSMP_BINARY)),
        experiment=_experiment(root.find("DefaultExperiment")),
        log_categories=tuple(category.name for category in raw.logCategories if category.name),
    )


def _description_of_fmi1(raw: Any, root: etree._Element, variables: Mapping[str, Variable]) -> FmuDescription:
    outputs = fmi1_dependencies(root.iterfind("ModelVariables/ScalarVariable"))
    exchange = None if raw.modelExchange is None else Interface(root.get("modelIdentifier", ""), False, False, False)
    return FmuDescription(
        fmi_version=raw.fmiVersion,
        model_name=raw.modelName or "",
        token=raw.guid or "",
        co_simulation=_co_simulation_of_fmi1(root),
        model_exchange=exchange,
        scheduled_execution=False,
        variables=variables,
        units=fmi1_units(root),
        outputs=outputs,
        derivatives=MappingProxyType({}),
        # Without initialization mode, the dependencies at communication points count for the first one as well.
        initial_unknowns=outputs,
        event_indicators=int(raw.numberOfEventIndicators),
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
    stated = fmi1_capabilities(root)
    if stated is None:
        return None
    return Interface(
        model_identifier=root.get("modelIdentifier", ""),
        saves_state=False,
        serializes_state=False,
        directional_derivatives=False,
        variable_step=stated.variable_step,
        input_derivatives=stated.input_derivatives,
        output_derivative_order=stated.output_derivative_order,
        once_per_process=stated.once_per_process,
        needs_tool=stated.tool,
        rejects_steps=stated.rejects_steps,
    )


def _experiment(node: etree._Element | None) -> FmuExperiment:
    if node is None:
        return FmuExperiment()
    start, stop, step_size, tolerance = map(_finite, map(node.get, ("startTime", "stopTime", "stepSize", "tolerance")))
    return FmuExperiment(start, stop, step_size, tolerance, source_line(node))


def _finite(text: str | None) -> float | None:
    """A finite number; None for anything else, which is no reason to refuse an FMU."""
    try:
        return None if text is None or not isfinite(float(text)) else float(text)
    except ValueError:
        return None


def _unit(raw: Any) -> PhysicalUnit:
    base = raw.baseUnit
    if base is None:
        return PhysicalUnit(raw.name, None)
    exponents = Exponents(base.kg, base.m, base.s, base.A, base.K, base.mol, base.cd, base.rad)
    for symbol, exponent in zip(exponents._fields, exponents, strict=True):
        if not -_INT32 <= exponent < _INT32:
            raise ValueError(f'unit "{raw.name}": {symbol}="{exponent}" is not an integer of 32 bits')
    return PhysicalUnit(raw.name, exponents, base.factor, base.offset)


def _interface(raw: Any, node: etree._Element | None, version: int) -> Interface | None:
    if raw is None:
        return None
    return Interface(
        model_identifier=raw.modelIdentifier or "",
        saves_state=raw.canGetAndSetFMUstate,
        serializes_state=raw.canSerializeFMUstate,
        # FMI 3.0 renamed the flag in the plural, which FMPy does not copy.
        directional_derivatives=raw.providesDirectionalDerivative or _flag(node, "providesDirectionalDerivatives"),
        variable_step=getattr(raw, "canHandleVariableCommunicationStepSize", False),
        input_derivatives=getattr(raw, "canInterpolateInputs", False),
        output_derivative_order=getattr(raw, "maxOutputDerivativeOrder", 0),
        intermediate_update=getattr(raw, "providesIntermediateUpdate", False),
        once_per_process=raw.canBeInstantiatedOnlyOncePerProcess,
        needs_tool=raw.needsExecutionTool,
        event_mode=getattr(raw, "hasEventMode", False),
        # FMI 2.0 and 3.0 state the opposite, and the default is that it is needed in 2.0 only.
        needs_completed_step=_flag(node, "needsCompletedIntegratorStep")
        or (version == 2 and not _flag(node, "completedIntegratorStepNotNeeded")),
        adjoint_derivatives=_flag(node, "providesAdjointDerivatives"),
        fixed_step=_positive(node, "fixedInternalStepSize"),
        line=source_line(node),
    )


def _positive(node: etree._Element | None, attribute: str) -> float | None:
    number = None if node is None else _finite(node.get(attribute))
    return number if number is not None and number > 0 else None


def _flag(node: etree._Element | None, attribute: str) -> bool:
    return node is not None and _is_true(node.get(attribute))


def _is_true(text: str | None) -> bool:
    return text is not None and text.strip() in _TRUE


def _variable(raw: RawVariable) -> Variable:
    kind = _FMI3_TYPE.get(raw.type, raw.type)
    if kind not in _TYPES:
        raise ValueError(f'variable "{raw.name}": <{raw.type}> is not a type of FMI')
    declared: Any = raw.declaredType
    starts = () if raw.start is None and raw.starts is None else _starts(_start_texts(raw), kind)
    unit, nominal, minimum, maximum = _quantities(raw)
    return Variable(
        name=raw.name,
        reference=raw.valueReference,
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
        or bool(declared is not None and declared.relativeQuantity),
        shape=(),
        items=_items(declared) if declared is not None and declared.items else _NO_ITEMS,
        description=raw.description or "",
        derivative_of=None if raw.derivative is None else _name(raw.derivative),
        intermediate_update=False,
        line=raw.sourceline,
        starts=starts,
        declared_type=None if declared is None else declared.name,
        nominal_stated=nominal is not None,
    )


def _variable_of_fmi3(raw: RawVariable) -> Variable:
    return _variable(raw)._replace(
        shape=raw.shape,
        intermediate_update=_is_true(raw.own.get("intermediateUpdate")),
        clocks=tuple([clock.name for clock in raw.clocks]) if raw.clocks else (),
        sizes=tuple([None if one.variable is None else one.variable.name for one in raw.dimensions]),
        clock=tuple((str(name), str(value)) for name, value in raw.own.items()) if raw.type == "Clock" else (),
        mime_type=raw.own.get("mimeType"),
    )


_CAUSALITIES = {one.value: one for one in Causality}
_VARIABILITIES = {one.value: one for one in Variability}
_NO_ITEMS: Mapping[str, int] = MappingProxyType({})
_TRUE = ("true", "1")


def _items(declared: Any) -> Mapping[str, int]:
    items = {item.name: int(item.value) for item in declared.items}
    for name, value in items.items():
        if not -_INT64 <= value < _INT64:
            raise ValueError(f'enumeration "{declared.name}": {name}="{value}" is not an integer of 64 bits')
    return MappingProxyType(items)


def _name(derivative: Any) -> str | None:
    # FMI 1.0 has no such reference; those of FMI 2 and 3 are resolved to the variable.
    return None if isinstance(derivative, str) else str(derivative.name)


def _quantities(raw: RawVariable) -> tuple[str | None, str | None, str | None, str | None]:
    """Unit, nominal, min and max as written, of the variable or else of its declared type."""
    own, declared = raw.typed.get, raw.declaredType
    if declared is None:
        return own("unit"), own("nominal"), own("min"), own("max")
    return (
        own("unit", declared.unit),
        own("nominal", declared.nominal),
        own("min", declared.min),
        own("max", declared.max),
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


def _aliases(variables: Iterable[Any]) -> Aliases:
    """Variable → its name and those of its FMI 3.0 aliases, which share its entries in the model structure.

    Variables without aliases are left out.
    """
    names: dict[str, tuple[str, ...]] = {}
    for variable in variables:
        if variable.alias:
            base = variable.alias.name
            names[base] = (*names.get(base, (base,)), variable.name)
    return names


def _dependencies(unknowns: Iterable[Any], aliases: Aliases) -> Dependencies:
    declared: dict[str, frozenset[str] | None] = {}
    sets: dict[int, frozenset[str]] = {}  # many unknowns share one list of dependencies
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
    """Output → the inputs that it depends on at the same instant; None if undeclared: all of them."""
    found: dict[str, frozenset[str] | None] = {}
    for variable in variables:
        if variable.get("causality") == "output":
            stated = variable.find("DirectDependency")
            names = None if stated is None else frozenset((node.text or "").strip() for node in stated.iterfind("Name"))
            found[variable.get("name", "")] = names
    return MappingProxyType(found)


def fmi1_units(root: etree._Element) -> Mapping[str, PhysicalUnit]:
    """Units by name. FMI 1.0 does not define units; it only relates them to display units: unit = offset + gain ·
    displayUnit.
    """
    found = {}
    for node in root.iterfind("UnitDefinitions/BaseUnit"):
        shown = tuple(
            DisplayUnit(one.get("displayUnit", ""), float(one.get("gain", "1")), float(one.get("offset", "0")))
            for one in node.iterfind("DisplayUnitDefinition")
        )
        found[node.get("unit", "")] = PhysicalUnit(node.get("unit", ""), None, shown=shown)
    return MappingProxyType(found)


@dataclass(frozen=True, slots=True)
class Fmi1Capabilities:
    """Capabilities of FMI 1.0 co-simulation. `tool`: the FMU couples to a tool that must be installed
    (CoSimulation_Tool).
    """

    tool: bool
    variable_step: bool
    input_derivatives: bool
    output_derivative_order: int
    rejects_steps: bool
    once_per_process: bool


def fmi1_capabilities(root: etree._Element) -> Fmi1Capabilities | None:
    """The capabilities of co-simulation; None for model exchange, which states none."""
    for kind in ("CoSimulation_StandAlone", "CoSimulation_Tool"):
        node = root.find(f"Implementation/{kind}")
        if node is not None:
            stated = node.find("Capabilities")
            flags = {} if stated is None else {str(name): str(value) for name, value in stated.attrib.items()}
            return Fmi1Capabilities(
                tool=kind == "CoSimulation_Tool",
                variable_step=_fmi1_flag(flags, "canHandleVariableCommunicationStepSize"),
                input_derivatives=_fmi1_flag(flags, "canInterpolateInputs"),
                output_derivative_order=int(flags.get("maxOutputDerivativeOrder", "0")),
                rejects_steps=_fmi1_flag(flags, "canRejectSteps"),
                once_per_process=_fmi1_flag(flags, "canBeInstantiatedOnlyOncePerProcess"),
            )
    return None


def _fmi1_flag(flags: Mapping[str, str], name: str) -> bool:
    return flags.get(name, "").strip() in ("true", "1")


_SCHEMAS = {
    "1": "fmi1/fmiModelDescription.xsd",
    "2": "fmi2/fmi2ModelDescription.xsd",
    "3": "fmi3/fmi3ModelDescription.xsd",
}
_LINE = re.compile(r" \(line (\d+)\)")
# FMPy's parser of structured names takes milliseconds for each of them. Here are the same names as a regular
# expression (FMI 2.0.4 §2.2.9, FMI 3.0 §2.4.7.5); like FMPy it takes a quotation mark, a backslash and white space in
# a quoted identifier as they are, which the standard has as escapes only.
_QUOTED = r"""'(?:[\w!#$%&()*+,\-./:;<>=?@\[\]^{}|~ "\\\t\n\f\r]|\\')+'"""
_INDICES = r"\[\d+(?:,\d+)*\]"
_PART = rf"(?:[A-Za-z_]\w*|{_QUOTED})(?:{_INDICES})?"
_IDENTIFIER = rf"{_PART}(?:\.{_PART})*"
_STRUCTURED_NAME = re.compile(rf"{_IDENTIFIER}|der\({_IDENTIFIER}(?:,\d+)?\)", re.ASCII)


def read_and_check(path: Path) -> FmuDescription:
    """`read_description` that reads the file once, for later `description_problems` as well."""
    description_problems(path)
    return read_description(path)


def description_problems(path: Path) -> tuple[DescriptionProblem, ...]:
    """Problems of the model description of an FMU (a zip, or an unpacked folder).

    Checked are the XML Schema, and for schema-valid files names, start values, causalities and variabilities, units and
    the model structure.

    Raises
    ------
    UnreadableFmu
        As `read_description` does.
    """
    try:
        return _problems(model_description(path))
    # FMPy raises plain `Exception` and whatever Python raises.
    except Exception as error:
        raise UnreadableFmu(path, unreadable_reason(error)) from error


@CachedByContent
def _problems(content: bytes) -> tuple[DescriptionProblem, ...]:
    # Imported here for the reason that `read_description` has.
    from fmpy.validation import validate_model_description

    root = parse_model_description(content)
    told, left = read_safely(root, _schema(root.get("fmiVersion", "")[:1]))
    if left:
        return tuple(sorted((*told, *left)))
    raw = read_model_description(root)
    description = frozen_description(raw, root)
    description_from_xml.remember(content, description)
    flat = raw.variableNamingConvention == "flat"
    names = tuple(_illegal_names(raw))
    stated = [variable for variable in raw.modelVariables if not variable.alias]
    aliases = len(stated) < len(raw.modelVariables)
    found = validate_model_description(raw, validate_variable_names=flat, validate_model_structure=not aliases)
    if aliases:
        # FMPy demands that aliases of outputs, too, are initial unknowns; FMI 3.0 §2.4.8 lists variables, not names.
        raw.modelVariables = stated
        structural = validate_model_description(raw, validate_model_structure=True)
        known = set(found)
        found += [message for message in structural if message not in known]
    more = _dependency_problems(root) if root.get("fmiVersion") == "1.0" else ()
    return (*told, *of_starts(description), *names, *map(_problem, found), *more)


def is_structured(name: str) -> bool:
    """Whether a variable name obeys the naming convention "structured"."""
    return _STRUCTURED_NAME.fullmatch(name) is not None


def _illegal_names(raw: Any) -> Iterator[DescriptionProblem]:
    """Names that violate the naming convention "structured", with FMPy's messages."""
    for variable in raw.modelVariables if raw.variableNamingConvention != "flat" else ():
        if not is_structured(variable.name):
            message = f'"{variable.name}" is not a legal variable name for naming convention "structured".'
            yield DescriptionProblem(variable.sourceline, message)


def _dependency_problems(root: etree._Element) -> Iterator[DescriptionProblem]:
    """FMI 1.0: problems of direct dependencies, which FMPy does not read."""
    variables = {node.get("name", ""): node for node in root.iterfind("ModelVariables/*")}
    for name, node in variables.items():
        stated = node.find("DirectDependency")
        if stated is not None and node.get("causality") != "output":
            yield DescriptionProblem(
                source_line(stated), f'Variable "{name}" has a DirectDependency, but is not an output.'
            )
        for one in () if stated is None else stated.iterfind("Name"):
            known = variables.get((one.text or "").strip())
            if known is None or known.get("causality") != "input":
                message = f'The DirectDependency of variable "{name}" names "{one.text}", which is not an input.'
                yield DescriptionProblem(source_line(one), message)


@cache
def _schema(major: str) -> etree.XMLSchema:
    import fmpy

    return etree.XMLSchema(etree.parse(Path(fmpy.__file__).parent / "schema" / _SCHEMAS[major]))


def _problem(message: str) -> DescriptionProblem:
    place = _LINE.search(message)
    return DescriptionProblem(int(place[1]) if place else 0, _only_differences(_LINE.sub("", message)))


_TWO_SETS = re.compile(r"(?s)(ModelStructure/\w+) does not contain .*? Expected \{(.*)\} but was \{(.*)\}\.")


def _only_differences(message: str) -> str:
    """In the place of two sets of names, which may be thousands, what one of them has alone."""
    sets = _TWO_SETS.fullmatch(message)
    if sets is None:
        return message
    expected, found = (set(filter(None, names.split(", "))) for names in sets.group(2, 3))
    missing, surplus = sorted(expected - found), sorted(found - expected)
    told = [f"lacks {abbreviated(missing)}"] * bool(missing) + [f"must not list {abbreviated(surplus)}"] * bool(surplus)
    return f"{sets[1]} {' and '.join(told)}" if told else message
