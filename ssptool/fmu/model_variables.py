"""Variables, types and model structure of a model description as written, with resolved references.

Invalid parts have been removed before (`safe_reading`).
"""

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, NoReturn

from lxml import etree

from ssptool.fmu.model_description_xml import MODEL_DESCRIPTION, UnusableXml, source_line

_TYPES_BEFORE_FMI3 = frozenset({"Real", "Integer", "Boolean", "String", "Enumeration"})
FLOATS = frozenset({"Real", "Float32", "Float64"})
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


class DeclaredType(NamedTuple):
    """A type definition. Limits and the nominal value are as written; `items` are those of an enumeration."""

    name: str
    unit: str | None
    nominal: str | None
    minimum: str | None
    maximum: str | None
    relative_quantity: str | None
    items: Mapping[str, int]
    display_unit: str | None = None


class Alias(NamedTuple):
    """Another name of a variable (FMI 3.0 §2.4.7.3)."""

    name: str
    description: str | None
    display_unit: str | None


class RawVariable:
    """A variable as written in the XML, completed by defaults.

    `own` is the XML element of the variable, `typed` the element that states the type: a child in FMI 1 and 2, the
    variable itself in FMI 3. `dimensions` are the extents of an array: a number, or the value reference of a
    structural parameter. `starts` are the start values in child elements of FMI 3; `sizes` are the names of the
    structural parameters that determine the extents of an array, None for a number.
    """

    start: str | None = None
    unit: str | None = None
    display_unit: str | None = None
    state: "RawVariable | None" = None
    clocks: "tuple[RawVariable, ...]" = ()
    declared: DeclaredType | None = None
    alias_of: "RawVariable | None" = None
    aliases: tuple[Alias, ...] = ()
    dimensions: tuple[tuple[int | None, int | None], ...] = ()
    shape: tuple[int, ...] = ()
    sizes: tuple[str | None, ...] = ()
    starts: tuple[str, ...] | None = None

    def __init__(self, name: str, own: etree._Element, typed: etree._Element) -> None:
        self.own = own
        self.typed = typed
        self.type = str(typed.tag)
        self.line = source_line(own)
        self.name = name
        self.description = own.get("description")
        self.causality = own.get("causality", "local")
        self.variability = own.get("variability", "")
        self.initial = own.get("initial")
        try:
            self.reference = int(own.get("valueReference", ""))
        except ValueError:
            stated = own.get("valueReference")
            self.refuse("has no valueReference" if stated is None else f"has the valueReference {stated!r}")
        if (start := typed.get("start")) is not None:
            self.start = start
        if self.type in FLOATS:
            self.unit = typed.get("unit")
            self.display_unit = typed.get("displayUnit")

    def refuse(self, what: str) -> NoReturn:
        raise UnusableXml(f'{MODEL_DESCRIPTION}, line {self.line}: variable "{self.name}" {what}')


class Unknown(NamedTuple):
    """An entry of the model structure; without `dependencies`, it may depend on everything."""

    variable: RawVariable
    dependencies: list[RawVariable] | None
    kinds: list[str] | None
    line: int


@dataclass(frozen=True, slots=True)
class ModelVariables:
    """Variables (aliases are at the end) and model structure, for a version of FMI."""

    major: int
    variables: tuple[RawVariable, ...]
    outputs: tuple[Unknown, ...] = ()
    derivatives: tuple[Unknown, ...] = ()
    clocked_states: tuple[Unknown, ...] = ()
    initial_unknowns: tuple[Unknown, ...] = ()
    event_indicators: tuple[Unknown, ...] = ()


def read_model_variables(root: etree._Element) -> ModelVariables:
    """Read variables and model structure.

    Raises
    ------
    UnusableXml, ValueError, KeyError
        A variable or an entry of the model structure cannot be read.
    """
    major = int(root.get("fmiVersion", "").split(".")[0])
    types = _declared_types(root, major)
    variables = [_completed(variable, types, major) for variable in _variables(root, major)]
    if major == 1:
        return ModelVariables(major, tuple(variables))
    if major == 2:
        numbered = dict(enumerate(variables, 1))
        entries, key, structure = "ModelStructure/{}/Unknown", "index", _STRUCTURE_OF_FMI2
    else:
        numbered = {variable.reference: variable for variable in variables}
        entries, key, structure = "ModelStructure/{}", "valueReference", _STRUCTURE_OF_FMI3
        for variable in variables:
            _measure(variable, numbered)
    _resolve(variables, numbered)
    variables += [_alias(variable, stated) for variable in variables for stated in variable.aliases]
    known: dict[str, list[RawVariable]] = {}
    unknowns = {
        field: tuple(_unknown(node, numbered, key, known) for node in root.iterfind(entries.format(element)))
        for field, element in structure.items()
    }
    return ModelVariables(major, tuple(variables), **unknowns)


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
    if node.tag in ("Binary", "String"):
        variable.starts = tuple(start.get("value", "") for start in node.iterfind("Start"))
        variable.start = variable.starts[0] if variable.starts else None
    if len(node):
        _add_children(variable, node)
    return variable


def _add_children(variable: RawVariable, node: etree._Element) -> None:
    variable.aliases = tuple(
        Alias(child.get("name", ""), child.get("description"), child.get("displayUnit"))
        for child in node.iterfind("Alias")
    )
    variable.dimensions = tuple(
        (_number(child.get("start")), _number(child.get("valueReference"))) for child in node.iterfind("Dimension")
    )


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)


def _declared_types(root: etree._Element, major: int) -> Mapping[str | None, DeclaredType | None]:
    """Declared types by name. None as a key means no type, and as a value the type of a clock, which has no relevant
    attributes.
    """
    found: dict[str | None, DeclaredType | None] = {None: None}
    for node in root.iterfind("TypeDefinitions/*"):
        name, typed = node.get("name", ""), node if major >= 3 else next(node.iterchildren(etree.Element), None)
        if typed is None:
            raise UnusableXml(f'{MODEL_DESCRIPTION}, line {source_line(node)}: type "{name}" says nothing')
        found[name] = None if node.tag == "ClockType" else _declared_type(name, typed, major)
    return found


def _declared_type(name: str, typed: etree._Element, major: int) -> DeclaredType:
    """A declared type. Types of FMI 1.0 number their items from 1."""
    items = {
        item.get("name", ""): number if major == 1 else int(item.get("value", ""))
        for number, item in enumerate(typed.iterfind("Item"), 1)
    }
    for item, value in items.items():
        if not -_INT64 <= value < _INT64:
            raise ValueError(f'enumeration "{name}": {item}="{value}" is not an integer of 64 bits')
    own = typed.get
    limits = own("nominal"), own("min"), own("max")
    return DeclaredType(
        name, own("unit"), *limits, own("relativeQuantity"), MappingProxyType(items), own("displayUnit")
    )


def _completed(variable: RawVariable, types: Mapping[str | None, DeclaredType | None], major: int) -> RawVariable:
    """A variable completed by its declared type and by defaults."""
    variable.declared = types[variable.typed.get("declaredType")]
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
    return "continuous" if variable.type in FLOATS else "discrete"


_INT64, _UINT64 = 2**63, 2**64


def _measure(variable: RawVariable, by_reference: Mapping[int, RawVariable]) -> None:
    """Determine the extents of an array from start values of structural parameters."""
    if not variable.dimensions:
        return
    given = [None if reference is None else by_reference[reference] for _, reference in variable.dimensions]
    extents = (
        extent if parameter is None else parameter.start
        for (extent, _), parameter in zip(variable.dimensions, given, strict=True)
    )
    variable.shape = tuple(int(extent) for extent in extents if extent is not None)
    variable.sizes = tuple(None if parameter is None else parameter.name for parameter in given)
    if len(variable.shape) < len(given):
        variable.refuse("has a dimension without a size")
    for extent in variable.shape:
        if not 0 <= extent < _UINT64:
            raise ValueError(f'variable "{variable.name}": a dimension has {extent} elements')


def _alias(variable: RawVariable, stated: Alias) -> RawVariable:
    alias = copy(variable)
    alias.name, alias.alias_of = stated.name, variable
    alias.description = stated.description or alias.description
    alias.display_unit = stated.display_unit or alias.display_unit
    return alias


def _resolve(variables: Iterable[RawVariable], numbered: Mapping[int, RawVariable]) -> None:
    """Resolve the states of derivatives, and clocks."""
    for variable in variables:
        state = variable.typed.get("derivative") if variable.type in FLOATS else None
        if state is not None:
            variable.state = numbered[int(state)]
        if (clocks := variable.own.get("clocks")) is not None:
            variable.clocks = tuple(numbered[int(text)] for text in clocks.split())


# -- model structure -----------------------------------------------------------------------------------------

_STRUCTURE_OF_FMI2 = {"outputs": "Outputs", "derivatives": "Derivatives", "initial_unknowns": "InitialUnknowns"}
_STRUCTURE_OF_FMI3 = {
    "outputs": "Output",
    "derivatives": "ContinuousStateDerivative",
    "clocked_states": "ClockedState",
    "initial_unknowns": "InitialUnknown",
    "event_indicators": "EventIndicator",
}


def _unknown(
    node: etree._Element, numbered: Mapping[int, RawVariable], key: str, known: dict[str, list[RawVariable]]
) -> Unknown:
    """An entry whose variables have these numbers; many entries share one of the lists of dependencies in `known`."""
    stated, kinds = node.get("dependencies"), node.get("dependenciesKind")
    if stated is not None and stated not in known:
        known[stated] = [numbered[int(text)] for text in stated.split()]
    return Unknown(
        numbered[int(node.get(key, ""))],
        None if stated is None else known[stated],
        None if kinds is None else kinds.split(),
        source_line(node),
    )
