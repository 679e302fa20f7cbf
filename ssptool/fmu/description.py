"""A modelDescription.xml as frozen values."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from lxml import etree

from ssptool.dataclass import dataclass
from ssptool.fmu import fmi1
from ssptool.fmu.model_xml import (
    MODEL_DESCRIPTION,
    UnusableXml,
    by_content,
    model_description,
    parse,
    unreadable_reason,
)
from ssptool.fmu.shapes import element_names
from ssptool.fmu.stated import StatedVariable, stated_variables
from ssptool.fmu.structure import ModelStructure, Reference, Unknown, model_structure, references
from ssptool.fmu.units import Exponents, Unit

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
        super().__init__(f"{path}: not a readable FMU: {reason}")
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
class FmuDescription:
    """What an FMU says of itself.

    `outputs`, `derivatives` and `initial_unknowns` are the entries of its ModelStructure; an output that is
    missing there has undeclared dependencies (use `.get(name)`). `event_indicators` is their number. `binaries` are
    the binary variables that groups of Integer variables stand for before FMI 3.0, by the convention of OSMP.
    `arrays` are the extents of arrays in whose place `variables` has their elements (see `elements`), and `whole` then
    the variables as the FMU states them.
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
    step_size: float | None
    event_indicators: int = 0
    binaries: frozenset[str] = frozenset()
    arrays: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    whole: Mapping[str, Variable] = field(default_factory=dict)

    @property
    def fmi_major(self) -> int:
        return int(self.fmi_version[0])

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
        return _read(model_description(path))
    except (UnusableXml, ValueError) as error:
        raise UnreadableFmu(path, unreadable_reason(error)) from error


@by_content
def _read(content: bytes) -> FmuDescription:
    return _description(parse(content))


_FMI3_TYPE = {"Real": "Float64", "Integer": "Int32"}
_INFINITY = float("inf")
_OSMP_BINARY = "ModelVariables/*/Annotations//{*}osmp-binary-variable"


def _description(root: etree._Element) -> FmuDescription:
    version = root.get("fmiVersion", "")
    major = int(version.split(".")[0])
    stated = stated_variables(root)
    structure = model_structure(root, stated)
    aliases = _aliases(stated)
    if major == 1:
        # There is no initialization mode: what holds at communication points holds at the first one.
        outputs = initial_unknowns = fmi1.direct_dependencies(root.iterfind("ModelVariables/ScalarVariable"))
    else:
        outputs, initial_unknowns = (
            _dependencies(of, aliases) for of in (structure.outputs, structure.initial_unknowns)
        )
    variables = MappingProxyType(_variables(stated, major))
    return FmuDescription(
        fmi_version=version,
        model_name=root.get("modelName", ""),
        token=root.get("instantiationToken" if major >= 3 else "guid", ""),
        co_simulation=_co_simulation_of_fmi1(root) if major == 1 else _interface(root.find("CoSimulation"), major),
        model_exchange=_exchange_of_fmi1(root) if major == 1 else _interface(root.find("ModelExchange"), major),
        scheduled_execution=root.find("ScheduledExecution") is not None,
        variables=variables,
        units=fmi1.units(root) if major == 1 else _units(root),
        outputs=outputs,
        derivatives=_dependencies(structure.derivatives, aliases),
        initial_unknowns=initial_unknowns,
        step_size=None if major == 1 else _step_size(root.find("DefaultExperiment")),
        event_indicators=_event_indicators(root, structure, variables),
        binaries=frozenset(node.get("name", "") for node in root.iterfind(_OSMP_BINARY)),
    )


def _event_indicators(root: etree._Element, structure: ModelStructure, variables: Mapping[str, Variable]) -> int:
    """FMI 3.0 lists them, and an array is as many as it has elements."""
    listed = (prod(variables[one.variable.name].shape) for one in structure.event_indicators)
    return int(root.get("numberOfEventIndicators", "0")) + sum(listed)


def _exchange_of_fmi1(root: etree._Element) -> Interface | None:
    if root.find("Implementation") is not None:
        return None
    return Interface(root.get("modelIdentifier", ""), False, False, False)


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


def _step_size(experiment: etree._Element | None) -> float | None:
    stated = None if experiment is None else experiment.get("stepSize")
    return None if stated is None else float(stated)


def _units(root: etree._Element) -> Mapping[str, Unit]:
    return MappingProxyType({node.get("name", ""): _unit(node) for node in root.iterfind("UnitDefinitions/Unit")})


def _unit(node: etree._Element) -> Unit:
    base = node.find("BaseUnit")
    if base is None:
        return Unit(node.get("name", ""), None)
    exponents = Exponents(*(int(base.get(name, "0")) for name in Exponents._fields))
    return Unit(node.get("name", ""), exponents, float(base.get("factor", "1")), float(base.get("offset", "0")))


def _interface(node: etree._Element | None, major: int) -> Interface | None:
    if node is None:
        return None
    new = major >= 3  # some names have changed
    return Interface(
        model_identifier=node.get("modelIdentifier", ""),
        saves_state=_flag(node, "canGetAndSetFMUState" if new else "canGetAndSetFMUstate"),
        serializes_state=_flag(node, "canSerializeFMUState" if new else "canSerializeFMUstate"),
        directional_derivatives=_flag(node, "providesDirectionalDerivative" + ("s" if new else "")),
        variable_step=_flag(node, "canHandleVariableCommunicationStepSize"),
        input_derivatives=_flag(node, "canInterpolateInputs"),
        output_derivative_order=int(node.get("maxOutputDerivativeOrder", "0")),
        intermediate_update=_flag(node, "providesIntermediateUpdate"),
        once_per_process=_flag(node, "canBeInstantiatedOnlyOncePerProcess"),
        needs_tool=_flag(node, "needsExecutionTool"),
        event_mode=_flag(node, "hasEventMode"),
        # FMI 2.0 and 3.0 state the opposite, and the default is that it is needed in 2.0 only.
        needs_completed_step=_flag(node, "needsCompletedIntegratorStep")
        or (major == 2 and not _flag(node, "completedIntegratorStepNotNeeded")),
        adjoint_derivatives=_flag(node, "providesAdjointDerivatives"),
    )


def _flag(node: etree._Element, attribute: str) -> bool:
    return node.get(attribute, "").strip() in ("true", "1")


class _Around(NamedTuple):
    """What a variable may refer to."""

    major: int
    refer: Reference
    by_reference: Mapping[int, StatedVariable]
    items: Mapping[str | None, Mapping[str, int]]


def _variables(stated: Sequence[StatedVariable], major: int) -> dict[str, Variable]:
    """By name."""
    declared = {one.declared_name: one.declared for one in stated}
    items = {name: _items(node, major) for name, node in declared.items()}
    by_reference = {one.reference: one for one in stated if one.name == one.base}
    around = _Around(major, references(major, stated), by_reference, items)
    return {one.name: _variable(one, around) for one in stated}


def _variable(stated: StatedVariable, around: _Around) -> Variable:
    node, kind = stated.node, _FMI3_TYPE.get(stated.type, stated.type)
    starts = _starts(_start_texts(stated, kind), kind)
    dimensions = node.findall("Dimension")
    # FMI 1.0 has no such reference.
    derivative = stated.typed.get("derivative") if around.major > 1 else None
    return Variable(
        name=stated.name,
        reference=stated.reference,
        type=kind,
        causality=Causality(stated.role.causality),
        variability=Variability(stated.role.variability),
        initial=stated.role.initial,
        start=starts[0] if starts else None,
        unit=stated.get("unit"),
        nominal=abs(_number(stated, "nominal", 1.0)) or 1.0,
        minimum=_number(stated, "min", -_INFINITY),
        maximum=_number(stated, "max", _INFINITY),
        relative_quantity=stated.flag("relativeQuantity"),
        shape=tuple(_extent(one, around.by_reference, stated) for one in dimensions),
        items=around.items[stated.declared_name],
        description=stated.description,
        derivative_of=None if derivative is None else around.refer(derivative, node).name,
        intermediate_update=_flag(node, "intermediateUpdate"),
        line=stated.line,
        starts=starts,
        declared_type=stated.declared_name,
        clocks=tuple(around.refer(text, node).name for text in node.get("clocks", "").split()),
        sizes=tuple(_size(one, around.by_reference) for one in dimensions),
        clock=tuple((str(key), str(value)) for key, value in node.attrib.items()) if kind == "Clock" else (),
        mime_type=node.get("mimeType"),
        negated=around.major == 1 and node.get("alias") == fmi1.NEGATED,
    )


def _items(declared: etree._Element | None, major: int) -> Mapping[str, int]:
    """Of an enumeration; in FMI 1.0 they are counted from 1."""
    nodes = enumerate(() if declared is None else declared.iterfind("Item"), start=1)
    return MappingProxyType(
        {node.get("name", ""): place if major == 1 else int(node.get("value", "")) for place, node in nodes}
    )


def _extent(dimension: etree._Element, by_reference: Mapping[int, StatedVariable], array: StatedVariable) -> int:
    """Of one dimension, with the start values of structural parameters."""
    stated = dimension.get("start")
    if stated is None:
        size = by_reference.get(int(dimension.get("valueReference", "")))
        stated = None if size is None else size.typed.get("start")
    if stated is None:
        raise UnusableXml(
            f'{MODEL_DESCRIPTION}: the extent of variable "{array.name}" (line {array.line}) is not stated'
        )
    return int(stated)


def _size(dimension: etree._Element, by_reference: Mapping[int, StatedVariable]) -> str | None:
    """The structural parameter that gives the extent; None where it is fixed."""
    return None if "start" in dimension.attrib else by_reference[int(dimension.get("valueReference", ""))].name


def _number(variable: StatedVariable, attribute: str, default: float) -> float:
    text = variable.get(attribute)
    if text is None:
        return default
    try:
        return float(text)
    except ValueError:
        raise ValueError(f'variable "{variable.name}": {attribute}="{text}" is not a number') from None


def _start_texts(variable: StatedVariable, kind: str) -> list[str]:
    if variable.typed is variable.node and kind in ("String", "Binary"):
        return [start.get("value", "") for start in variable.node.iterfind("Start")]
    start = variable.typed.get("start")
    if start is None:
        return []
    return [start] if kind in ("String", "Binary") else start.split()


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


def _starts(texts: list[str], kind: str) -> tuple[Value, ...]:
    read = _READ.get(kind, int)
    return tuple(read(text) for text in texts)


Aliases: TypeAlias = Mapping[str, tuple[str, ...]]


def _aliases(variables: Iterable[StatedVariable]) -> Aliases:
    """Variable → its name and those of its FMI 3.0 aliases, which share its place in the model structure."""
    names: dict[str, tuple[str, ...]] = {}
    for variable in variables:
        names[variable.base] = (*names.get(variable.base, ()), variable.name)
    return names


def _dependencies(unknowns: Iterable[Unknown], aliases: Aliases) -> Dependencies:
    declared: dict[str, frozenset[str] | None] = {}
    for unknown in unknowns:
        known = unknown.dependencies
        names = None if known is None else frozenset(n for variable in known for n in aliases[variable.name])
        declared.update(dict.fromkeys(aliases[unknown.variable.name], names))
    return MappingProxyType(declared)
