"""A modelDescription.xml as frozen values, read through FMPy."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from lxml import etree

from ssptool.dataclass import dataclass
from ssptool.fmu import fmi1
from ssptool.fmu.model_variables import RawVariable, read_model_description
from ssptool.fmu.model_xml import ByContent, model_description, parse, unreadable_reason
from ssptool.fmu.packed import python_modules
from ssptool.fmu.shapes import element_names
from ssptool.fmu.units import Exponents, Unit
from ssptool.working_directory import shown

Value: TypeAlias = float | int | bool | str | bytes


class Causality(StrEnum):
    """FMI 2.0.4 §2.2.7, FMI 3.0 §2.4.7.4; those of FMI 1.0 are read as `fmi1.role` says."""

    PARAMETER = "parameter"
    CALCULATED_PARAMETER = "calculatedParameter"
    STRUCTURAL_PARAMETER = "structuralParameter"
    INPUT = "input"
    OUTPUT = "output"
    LOCAL = "local"
    INDEPENDENT = "independent"
    NONE = "none"


class Variability(StrEnum):
    """FMI 2.0.4 §2.2.7, FMI 3.0 §2.4.7.4."""

    CONSTANT = "constant"
    FIXED = "fixed"
    TUNABLE = "tunable"
    DISCRETE = "discrete"
    CONTINUOUS = "continuous"


class InterfaceType(StrEnum):
    """What an FMU is instantiated for, in the spelling of FMI 3.0's XML and of SSP's `implementation`."""

    MODEL_EXCHANGE = "ModelExchange"
    CO_SIMULATION = "CoSimulation"


class UnreadableFmu(Exception):
    """The file is not an FMU that can be read."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{shown(path)}: not a readable FMU: {reason}")
        self.path = path
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Variable:
    """One model variable.

    `type` has FMI's spelling, with FMI 3.0's `Float64` and `Int32` for the `Real` and `Integer` of FMI 1 and
    2, so that one name means one machine type. `start` is typed accordingly; of an array it is the first
    value and `starts` holds all that the FMU states, row-major. `line` is that of modelDescription.xml. Of FMI 3.0:
    `clocks` are the clocks that it belongs to, `sizes` the structural parameter that gives each extent (None: fixed),
    `clock` the attributes of a variable of type Clock as they are written, and `mime_type` that of a Binary.

    Of an element of an array (see `elements`), `array` is the name of that, whose reference it has, and `element` the
    place among its values, row by row and counted from 0. Of FMI 1.0: `negated`,
    the FMU's functions give and take its value with the other sign (negatedAlias).
    """

    name: str
    reference: int
    type: str
    causality: Causality
    variability: Variability
    initial: str | None
    start: Value | None
    unit: str | None
    nominal: float
    minimum: float
    maximum: float
    relative_quantity: bool
    shape: tuple[int, ...]
    items: Mapping[str, int]
    description: str
    derivative_of: str | None
    intermediate_update: bool
    line: int
    starts: tuple[Value, ...] = ()
    declared_type: str | None = None
    clocks: tuple[str, ...] = ()
    sizes: tuple[str | None, ...] = ()
    clock: tuple[tuple[str, str], ...] = ()
    mime_type: str | None = None
    array: str | None = None
    element: int = 0
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Interface:
    """One of the interface types that an FMU implements, with its capability flags. Of FMI 1.0, `needs_tool`: the FMU
    is one of CoSimulation_Tool; `rejects_steps`: it can do its last step again.
    """

    model_identifier: str
    saves_state: bool
    serializes_state: bool
    directional_derivatives: bool
    variable_step: bool = False
    input_derivatives: bool = False
    output_derivative_order: int = 0
    intermediate_update: bool = False
    once_per_process: bool = False
    needs_tool: bool = False
    event_mode: bool = False
    needs_completed_step: bool = False
    adjoint_derivatives: bool = False
    rejects_steps: bool = False


Dependencies: TypeAlias = Mapping[str, frozenset[str] | None]
"""Unknown → what it depends on; None where the FMU declares nothing, which means: on everything."""


@dataclass(frozen=True, slots=True)
class DefaultExperiment:
    """The run that an FMU suggests [s]; None where it is silent. `line` is that of modelDescription.xml."""

    start: float | None = None
    stop: float | None = None
    step_size: float | None = None
    tolerance: float | None = None
    line: int = 0


@dataclass(frozen=True, slots=True)
class FmuDescription:
    """What an FMU says of itself.

    `outputs`, `derivatives` and `initial_unknowns` are the entries of its ModelStructure; an output that is
    missing there has undeclared dependencies (use `.get(name)`). `event_indicators` is their number. `binaries` are
    the binary variables that groups of Integer variables stand for before FMI 3.0, by the convention of OSMP.
    `arrays` are the extents of arrays in whose place `variables` has their elements (see `elements`), and `whole` then
    the variables as the FMU states them. `log_categories` are those of the messages that it logs. `python_modules` are
    those that it imports into the process it runs in (see `packed.python_modules`).
    """

    fmi_version: str
    model_name: str
    token: str
    co_simulation: Interface | None
    model_exchange: Interface | None
    scheduled_execution: bool
    variables: Mapping[str, Variable]
    units: Mapping[str, Unit]
    outputs: Dependencies
    derivatives: Dependencies
    initial_unknowns: Dependencies
    event_indicators: int = 0
    binaries: frozenset[str] = frozenset()
    arrays: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    whole: Mapping[str, Variable] = field(default_factory=dict)
    experiment: DefaultExperiment = DefaultExperiment()
    log_categories: tuple[str, ...] = ()
    python_modules: frozenset[str] = frozenset()

    @property
    def fmi_major(self) -> int:
        return int(self.fmi_version[0])

    @property
    def interface_types(self) -> tuple[str, ...]:
        """The interface types that the FMU offers, in FMI 3.0's spelling; co-simulation first."""
        offered = {
            "CoSimulation": self.co_simulation is not None,
            "ModelExchange": self.model_exchange is not None,
            "ScheduledExecution": self.scheduled_execution,
        }
        return tuple(name for name, present in offered.items() if present)

    def interface(self, kind: InterfaceType) -> Interface | None:
        """None where the FMU does not offer it."""
        return self.model_exchange if kind is InterfaceType.MODEL_EXCHANGE else self.co_simulation

    @property
    def state_derivatives(self) -> tuple[Variable, ...]:
        """In the order of the state vector, without aliases (FMI 2.0.4 §2.2.8, FMI 3.0 §2.4.8)."""
        stated = self.whole or self.variables
        by_reference = {stated[name].reference: name for name in reversed(list(self.derivatives))}
        names = reversed(by_reference.values())
        return tuple(self.variables[own] for name in names for own in element_names(name, self.arrays.get(name, ())))


def unsupported_of_fmi1(description: FmuDescription) -> str | None:
    """What an FMU of FMI 1.0 is, if it is none that can be run."""
    if description.fmi_major != 1:
        return None
    if description.co_simulation is None:
        return "model exchange of FMI 1.0"
    return (
        "co-simulation of FMI 1.0 with another tool (CoSimulation_Tool)"
        if description.co_simulation.needs_tool
        else None
    )


def read_description(path: Path) -> FmuDescription:
    """Read the model description of an FMU (a zip or an unpacked folder).

    Raises
    ------
    UnreadableFmu
        The file is missing, is not a zip, or has no modelDescription.xml; or that is not well-formed XML, is
        of an FMI version other than 1.0, 2.0 and 3.x, or has a value that cannot be read.
    """
    try:
        description = described(model_description(path))
        modules = python_modules(path)
        return replace(description, python_modules=modules) if modules else description
    # FMPy raises plain `Exception` for most of what can be wrong with a model description, and whatever
    # Python raises for the rest (KeyError, TypeError, ValueError …).
    except Exception as error:
        raise UnreadableFmu(path, unreadable_reason(error)) from error


@ByContent
def described(content: bytes) -> FmuDescription:
    """What a model description says."""
    root = parse(content)
    return as_values(read_model_description(root), root)


_FMI3_TYPE = {"Real": "Float64", "Integer": "Int32"}
_INFINITY = float("inf")
_OSMP_BINARY = "{*}osmp-binary-variable"


def as_values(raw: Any, root: etree._Element) -> FmuDescription:
    """What was read, as frozen values; `root` has what FMPy does not read."""
    aliases = _aliases(raw.modelVariables)
    variables = {variable.name: _variable(variable) for variable in raw.modelVariables}
    version = int(raw.fmiVersion.split(".")[0])
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
    outputs = fmi1.direct_dependencies(root.iterfind("ModelVariables/ScalarVariable"))
    exchange = None if raw.modelExchange is None else Interface(root.get("modelIdentifier", ""), False, False, False)
    return FmuDescription(
        fmi_version=raw.fmiVersion,
        model_name=raw.modelName or "",
        token=raw.guid or "",
        co_simulation=_co_simulation_of_fmi1(root),
        model_exchange=exchange,
        scheduled_execution=False,
        variables=variables,
        units=fmi1.units(root),
        outputs=outputs,
        derivatives=MappingProxyType({}),
        # There is no initialization mode: what holds at communication points holds at the first one.
        initial_unknowns=outputs,
        event_indicators=int(raw.numberOfEventIndicators),
        binaries=frozenset(node.get("name", "") for node in root.iter(_OSMP_BINARY)),
        experiment=_experiment(root.find("DefaultExperiment")),
    )


def _of_fmi1(variable: Variable, node: etree._Element) -> Variable:
    role = fmi1.role(node)
    return replace(
        variable,
        causality=Causality(role.causality),
        variability=Variability(role.variability),
        initial=role.initial,
        negated=node.get("alias") == fmi1.NEGATED,
    )


def _co_simulation_of_fmi1(root: etree._Element) -> Interface | None:
    stated = fmi1.capabilities(root)
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


def _experiment(node: etree._Element | None) -> DefaultExperiment:
    if node is None:
        return DefaultExperiment()
    start, stop, step_size, tolerance = map(_finite, map(node.get, ("startTime", "stopTime", "stepSize", "tolerance")))
    return DefaultExperiment(start, stop, step_size, tolerance, _line(node))


def _finite(text: str | None) -> float | None:
    """A number; None of what is none, which is not worth refusing an FMU for."""
    try:
        return None if text is None or not isfinite(float(text)) else float(text)
    except ValueError:
        return None


def _unit(raw: Any) -> Unit:
    base = raw.baseUnit
    if base is None:
        return Unit(raw.name, None)
    exponents = Exponents(base.kg, base.m, base.s, base.A, base.K, base.mol, base.cd, base.rad)
    return Unit(raw.name, exponents, base.factor, base.offset)


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
    )


def _flag(node: etree._Element | None, attribute: str) -> bool:
    return node is not None and _is_true(node.get(attribute))


def _is_true(text: str | None) -> bool:
    return text is not None and text.strip() in _TRUE


def _variable(raw: RawVariable) -> Variable:
    kind = _FMI3_TYPE.get(raw.type, raw.type)
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
        nominal=1.0 if nominal is None else abs(_number(raw, "nominal", nominal)) or 1.0,
        minimum=-_INFINITY if minimum is None else _number(raw, "min", minimum),
        maximum=_INFINITY if maximum is None else _number(raw, "max", maximum),
        relative_quantity=_is_true(raw.typed.get("relativeQuantity"))
        or bool(declared is not None and declared.relativeQuantity),
        shape=raw.shape,
        items=_items(declared) if declared is not None and declared.items else _NO_ITEMS,
        description=raw.description or "",
        derivative_of=None if raw.derivative is None else _name(raw.derivative),
        intermediate_update=_is_true(raw.own.get("intermediateUpdate")),
        line=raw.sourceline,
        starts=starts,
        declared_type=None if declared is None else declared.name,
        clocks=tuple([clock.name for clock in raw.clocks]) if raw.clocks else (),
        sizes=tuple([None if one.variable is None else one.variable.name for one in raw.dimensions])
        if raw.dimensions
        else (),
        clock=tuple(raw.own.items()) if kind == "Clock" else (),
        mime_type=raw.own.get("mimeType"),
    )


_CAUSALITIES = {one.value: one for one in Causality}
_VARIABILITIES = {one.value: one for one in Variability}
_NO_ITEMS: Mapping[str, int] = MappingProxyType({})
_TRUE = ("true", "1")


def _items(declared: Any) -> Mapping[str, int]:
    return MappingProxyType({item.name: int(item.value) for item in declared.items})


def _line(node: etree._Element | None) -> int:
    # lxml's stubs declare `sourceline` as writable, of a type that mypy cannot narrow.
    line: Any = None if node is None else node.sourceline
    return int(line or 0)


def _name(derivative: Any) -> str | None:
    # FMI 1.0 has no such reference; those of FMI 2 and 3 are resolved to the variable.
    return None if isinstance(derivative, str) else str(derivative.name)


def _quantities(raw: RawVariable) -> tuple[str | None, str | None, str | None, str | None]:
    """Unit, nominal, min and max as they are written; of the declared type, where the variable is silent."""
    own, declared = raw.typed.get, raw.declaredType
    if declared is None:
        return own("unit"), own("nominal"), own("min"), own("max")
    return (
        own("unit", declared.unit),
        own("nominal", declared.nominal),
        own("min", declared.min),
        own("max", declared.max),
    )


def _number(raw: RawVariable, attribute: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f'variable "{raw.name}": {attribute}="{text}" is not a number') from None


def _start_texts(raw: RawVariable) -> Sequence[str]:
    if raw.starts is not None:
        return raw.starts
    if raw.start is None:
        return ()
    return (raw.start,) if raw.type in ("String", "Binary") else raw.start.split()


def _boolean(text: str) -> bool:
    if text not in ("true", "false", "1", "0"):
        raise ValueError(f"{text!r} is not a boolean")
    return text in ("true", "1")


_READ: Mapping[str, Callable[[str], Value]] = MappingProxyType(
    {
        "Float64": float,
        "Float32": float,
        "Boolean": _boolean,
        "String": str,
        "Binary": bytes.fromhex,
        "Clock": _boolean,
    }
)


def _starts(texts: Sequence[str], kind: str) -> tuple[Value, ...]:
    return tuple(map(_READ.get(kind, int), texts))


Aliases: TypeAlias = Mapping[str, tuple[str, ...]]


def _aliases(variables: Iterable[Any]) -> Aliases:
    """Variable → its name and those of its FMI 3.0 aliases, which share its place in the model structure.

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
