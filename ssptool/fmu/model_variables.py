"""Read variables and model structure of a model description in linear time, as objects of FMPy's classes; what has no
reading has been taken out before (`safe_reading`).

FMPy reads the rest of a model description. Its own reader of variables takes ten times as long and skips some
attributes; its checks run on these objects as on its own.
"""

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

from lxml import etree

from ssptool.fmu.model_description_xml import MODEL_DESCRIPTION, UnusableXml, in_memory_fmu, source_line

if TYPE_CHECKING:
    from fmpy.model_description import SimpleType, VariableAlias

_TYPES_BEFORE_FMI3 = frozenset({"Real", "Integer", "Boolean", "String", "Enumeration"})
_FLOATS = frozenset({"Real", "Float32", "Float64"})
_PARAMETERS = frozenset({"parameter", "calculatedParameter", "structuralParameter"})
_OF_PARAMETERS = {
    "structuralParameter": "exact",
    "parameter": "exact",
    "calculatedParameter": "calculated",
    "local": "calculated",
}
_INITIAL: Mapping[str, Mapping[str, str | None]] = MappingProxyType(
    {
        "constant": {"output": "exact", "local": "exact"},
        "fixed": _OF_PARAMETERS,
        "tunable": _OF_PARAMETERS,
        "discrete": {"input": "exact", "output": "calculated", "local": "calculated"},
        "continuous": {"input": "exact", "output": "calculated", "local": "calculated", "independent": None},
    }
)
"""Variability and causality → the default of `initial` (FMI 2.0.4 §2.2.7, FMI 3.0 §2.4.7.5)."""


class RawVariable:
    """A variable with the needed attributes of FMPy's `ModelVariable`, as written in the XML.

    `own` is the variable's element, `typed` the element that states the type: a child in FMI 1 and 2, the variable
    itself in FMI 3. `starts` are the start values in child elements of FMI 3.
    """

    description: str | None = None
    initial: str | None = None
    start: str | None = None
    unit: str | None = None
    displayUnit: str | None = None
    derivative: Any = None
    clocks: Any = None
    declaredType: "SimpleType | None" = None
    alias: "RawVariable | None" = None
    aliases: "tuple[VariableAlias, ...]" = ()
    dimensions: tuple[Any, ...] = ()
    shape: tuple[int, ...] = ()
    starts: tuple[str, ...] | None = None

    def __init__(self, name: str, own: etree._Element, typed: etree._Element) -> None:
        self.own = own
        self.typed = typed
        self.type = typed.tag
        self.sourceline = source_line(own)
        self.name = name
        self.description = own.get("description")
        self.causality = own.get("causality", "local")
        self.variability = own.get("variability", "")
        try:
            self.valueReference = int(own.get("valueReference", ""))
        except ValueError:
            stated = own.get("valueReference")
            self.refuse("has no valueReference" if stated is None else f"has the valueReference {stated!r}")
        if (initial := own.get("initial")) is not None:
            self.initial = initial
        if (start := typed.get("start")) is not None:
            self.start = start
        if self.type in _FLOATS:
            self.unit = typed.get("unit")
            self.displayUnit = typed.get("displayUnit")
            self.derivative = typed.get("derivative")

    def refuse(self, what: str) -> NoReturn:
        raise UnusableXml(f'{MODEL_DESCRIPTION}, line {self.sourceline}: variable "{self.name}" {what}')


def read_model_description(root: etree._Element) -> Any:
    """FMPy's `ModelDescription` with variables and model structure read by this module.

    Raises
    ------
    UnusableXml
        A variable or an entry of the model structure cannot be read.
    """
    # Imported here for the reason that `read_description` has.
    from fmpy.model_description import read_model_description as read_by_fmpy

    raw = read_by_fmpy(in_memory_fmu(root), validate=False)
    major = int(raw.fmiVersion.split(".")[0])
    types = _declared_types(raw, root)
    variables = [_completed(variable, types, major) for variable in _variables(root, major)]
    raw.modelVariables = variables
    if major == 2:
        _resolve_indices(variables)
        _read_structure_of_fmi2(raw, root)
    elif major >= 3:
        by_reference = {variable.valueReference: variable for variable in variables}
        for variable in variables:
            _measure(variable, by_reference)
        variables += [_alias(variable, stated) for variable in variables for stated in variable.aliases]
        _read_structure_of_fmi3(raw, root, by_reference)
        _resolve_references(variables, by_reference)
        raw.numberOfEventIndicators = sum(prod(unknown.variable.shape) for unknown in raw.eventIndicators)
    return raw


# -- variables -----------------------------------------------------------------------------------------------


def _variables(root: etree._Element, major: int) -> Iterator[RawVariable]:
    read = _variable_of_fmi3 if major >= 3 else _variable_before_fmi3
    for node in root.iterfind("ModelVariables/*"):
        name = node.get("name")
        if name is not None:
            yield read(name, node)


def _variable_before_fmi3(name: str, node: etree._Element) -> RawVariable:
    for child in node:
        if child.tag in _TYPES_BEFORE_FMI3:
            return RawVariable(name, node, child)
    raise UnusableXml(f'{MODEL_DESCRIPTION}, line {source_line(node)}: variable "{name}" has no type')


def _variable_of_fmi3(name: str, node: etree._Element) -> RawVariable:
    variable = RawVariable(name, node, node)
    variable.clocks = node.get("clocks")
    if node.tag in ("Binary", "String"):
        variable.starts = tuple(start.get("value", "") for start in node.iterfind("Start"))
        variable.start = variable.starts[0] if variable.starts else None
    if len(node):
        _add_children(variable, node)
    return variable


def _add_children(variable: RawVariable, node: etree._Element) -> None:
    from fmpy.model_description import Dimension, VariableAlias

    variable.aliases = tuple(
        VariableAlias(child.get("name"), child.get("description"), child.get("displayUnit"))
        for child in node.iterfind("Alias")
    )
    variable.dimensions = tuple(
        Dimension(_number(child.get("start")), _number(child.get("valueReference")))
        for child in node.iterfind("Dimension")
    )


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)


def _declared_types(raw: Any, root: etree._Element) -> Mapping[str | None, Any]:
    """Declared types by name. None stands for no type, and for types of clocks, which FMPy does not read."""
    unread = {str(node.get("name")): None for node in root.iterfind("TypeDefinitions/ClockType")}
    return {None: None, **unread, **{one.name: one for one in raw.typeDefinitions}}


def _completed(variable: RawVariable, types: Mapping[str | None, Any], major: int) -> RawVariable:
    """A variable completed by its declared type and by defaults."""
    variable.declaredType = types[variable.typed.get("declaredType")]
    if major == 1 and variable.causality == "internal":
        variable.causality = "local"
    if major == 1 and variable.variability == "parameter":
        variable.causality, variable.variability = "parameter", "fixed"
    if not variable.variability:
        variable.variability = _variability(variable) if major >= 3 else "continuous"
    if variable.initial is None and major > 1:
        variable.initial = _INITIAL[variable.variability][variable.causality]
    return variable


def _variability(variable: RawVariable) -> str:
    if variable.causality in _PARAMETERS:
        return "fixed"
    return "continuous" if variable.type in _FLOATS else "discrete"


_UINT64 = 2**64


def _measure(variable: RawVariable, by_reference: Mapping[int, RawVariable]) -> None:
    """Compute the extents of an array from start values of structural parameters."""
    for dimension in variable.dimensions:
        if dimension.start is None:
            dimension.variable = by_reference[dimension.valueReference]
    if variable.dimensions:
        extents = (one.start if one.start is not None else one.variable.start for one in variable.dimensions)
        variable.shape = tuple(map(int, extents))
        for extent in variable.shape:
            if not 0 <= extent < _UINT64:
                raise ValueError(f'variable "{variable.name}": a dimension has {extent} elements')


def _alias(variable: RawVariable, stated: "VariableAlias") -> RawVariable:
    alias = copy(variable)
    alias.name, alias.alias = stated.name, variable
    alias.description = stated.description or alias.description
    alias.displayUnit = stated.displayUnit or alias.displayUnit
    return alias


def _resolve_indices(variables: list[RawVariable]) -> None:
    for variable in variables:
        if variable.derivative is not None:
            variable.derivative = variables[int(variable.derivative) - 1]


def _resolve_references(variables: Iterable[RawVariable], by_reference: Mapping[int, RawVariable]) -> None:
    for variable in variables:
        if variable.derivative is not None:
            variable.derivative = by_reference[int(variable.derivative)]
        if variable.clocks is not None:
            variable.clocks = [by_reference[int(text)] for text in variable.clocks.split()]


# -- model structure -----------------------------------------------------------------------------------------

_STRUCTURE_OF_FMI2 = {"outputs": "Outputs", "derivatives": "Derivatives", "initialUnknowns": "InitialUnknowns"}
_STRUCTURE_OF_FMI3 = {
    "outputs": "Output",
    "derivatives": "ContinuousStateDerivative",
    "clockedStates": "ClockedState",
    "initialUnknowns": "InitialUnknown",
    "eventIndicators": "EventIndicator",
}


def _read_structure_of_fmi2(raw: Any, root: etree._Element) -> None:
    """Unknowns with their dependencies. Variables are counted from 1."""
    known: dict[str, Any] = {}
    for field, element in _STRUCTURE_OF_FMI2.items():
        for node in root.iterfind(f"ModelStructure/{element}/Unknown"):
            stated = node.get("dependencies")
            if stated is not None and stated not in known:
                known[stated] = [raw.modelVariables[int(text) - 1] for text in stated.split()]
            variable = raw.modelVariables[int(node.get("index", "")) - 1]
            getattr(raw, field).append(_unknown(variable, None if stated is None else known[stated], node))


def _read_structure_of_fmi3(raw: Any, root: etree._Element, by_reference: Mapping[int, RawVariable]) -> None:
    known: dict[str, Any] = {}
    for field, element in _STRUCTURE_OF_FMI3.items():
        for node in root.iterfind(f"ModelStructure/{element}"):
            stated = node.get("dependencies")
            if stated is not None and stated not in known:
                known[stated] = [by_reference[int(text)] for text in stated.split()]
            variable = by_reference[int(node.get("valueReference", ""))]
            getattr(raw, field).append(_unknown(variable, None if stated is None else known[stated], node))


def _unknown(variable: RawVariable, dependencies: list[RawVariable] | None, node: etree._Element) -> Any:
    from fmpy.model_description import Unknown

    kinds = node.get("dependenciesKind")
    return Unknown(
        variable=variable,
        dependencies=dependencies,
        dependenciesKind=None if kinds is None else kinds.split(),
        sourceline=source_line(node),
    )
