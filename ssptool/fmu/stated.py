"""Model variables as a model description states them: in one shape for all versions of FMI, with the defaults that the
standard gives to what is left out, and what is inherited from a declared type.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from lxml import etree

from ssptool.fmu import fmi1
from ssptool.fmu.fmi1 import Role
from ssptool.fmu.model_xml import MODEL_DESCRIPTION, UnusableXml, line_of

_TYPES_BEFORE_FMI3 = ("Real", "Integer", "Boolean", "String", "Enumeration")
FLOATS = ("Real", "Float64", "Float32")
_PARAMETERS = ("parameter", "calculatedParameter", "structuralParameter")


class StatedVariable(NamedTuple):
    """One model variable.

    `node` is its element, and `typed` the one with the attributes of its type: before FMI 3.0 a child of it, else
    itself. `declared` is the type that it refers to. Of an alias of FMI 3.0, `base` is the name of the variable that it
    is another name of; of any other it is its own.
    """

    name: str
    reference: int
    node: etree._Element
    typed: etree._Element
    declared: etree._Element | None
    role: Role
    base: str
    description: str

    @property
    def type(self) -> str:
        """In the words of its version of FMI."""
        return str(self.typed.tag)

    @property
    def line(self) -> int:
        return line_of(self.node)

    @property
    def declared_name(self) -> str | None:
        return None if self.declared is None else self.typed.get("declaredType")

    def get(self, attribute: str) -> str | None:
        """An attribute of the type: its own, or what it inherits from the declared type."""
        own = self.typed.get(attribute)
        return own if own is not None or self.declared is None else self.declared.get(attribute)

    def flag(self, attribute: str) -> bool:
        return (self.get(attribute) or "").strip() in ("true", "1")


def stated_variables(root: etree._Element) -> list[StatedVariable]:
    """The variables in the order of the model description, and behind them the aliases of FMI 3.0.

    Raises
    ------
    UnusableXml
        A value reference is missing, a declared type is not defined, or no default of `initial` is for such a variable.
    """
    major = int(root.get("fmiVersion", "").split(".")[0])
    types = _declared_types(root, major)
    named = (node for node in root.iterfind("ModelVariables/*") if node.get("name") is not None)
    found = [_stated(node, types, major) for node in named]
    return [*found, *(alias for variable in found for alias in _aliases(variable))]


def _declared_types(root: etree._Element, major: int) -> Mapping[str, etree._Element]:
    """Name → the element with the attributes of the type."""
    if major >= 3:
        return {node.get("name", ""): node for node in root.iterfind("TypeDefinitions/*")}
    named = root.iterfind("TypeDefinitions/" + ("Type" if major == 1 else "SimpleType"))
    return {node.get("name", ""): child for node in named for child in node.iterchildren("*")}


def _stated(node: etree._Element, types: Mapping[str, etree._Element], major: int) -> StatedVariable:
    name, typed = node.get("name", ""), _typed(node)
    reference = node.get("valueReference")
    if reference is None:
        raise UnusableXml(f'{MODEL_DESCRIPTION}: variable "{name}" (line {line_of(node)}) has no valueReference')
    declared = typed.get("declaredType")
    if declared is not None and declared not in types:
        where = f'variable "{name}" (line {line_of(node)})'
        raise UnusableXml(f'{MODEL_DESCRIPTION}: {where} is of the type "{declared}", which is not defined')
    role = fmi1.role(node) if major == 1 else _role(node, str(typed.tag), major)
    known = None if declared is None else types[declared]
    return StatedVariable(name, int(reference), node, typed, known, role, name, node.get("description", ""))


def _typed(node: etree._Element) -> etree._Element:
    if node.tag != "ScalarVariable":
        return node
    found = next((child for child in node if child.tag in _TYPES_BEFORE_FMI3), None)
    if found is None:
        raise UnusableXml(f'{MODEL_DESCRIPTION}: variable "{node.get("name")}" (line {line_of(node)}) has no type')
    return found


def _aliases(variable: StatedVariable) -> Iterator[StatedVariable]:
    for node in variable.node.iterfind("Alias"):
        described = node.get("description") or variable.description
        yield variable._replace(name=node.get("name", ""), description=described)


def _role(node: etree._Element, kind: str, major: int) -> Role:
    causality = node.get("causality", "local")
    variability = node.get("variability") or _default_variability(causality, kind, major)
    initial = node.get("initial")
    if initial is None:
        if (variability, causality) not in _DEFAULT_INITIAL:
            raise UnusableXml(
                f'{MODEL_DESCRIPTION}: variable "{node.get("name")}" (line {line_of(node)}) has an illegal combination '
                f'of causality="{causality}" and variability="{variability}"'
            )
        initial = _DEFAULT_INITIAL[variability, causality]
    return Role(causality, variability, initial)


def _default_variability(causality: str, kind: str, major: int) -> str:
    """FMI 2.0.4 §2.2.7, FMI 3.0 §2.4.7.4."""
    if major == 2:
        return "continuous"
    if causality in _PARAMETERS:
        return "fixed"
    return "continuous" if kind in FLOATS else "discrete"


_DEFAULT_INITIAL: Mapping[tuple[str, str], str | None] = MappingProxyType(
    {
        **{("constant", causality): "exact" for causality in ("output", "local")},
        **{(kind, c): "exact" for kind in ("fixed", "tunable") for c in ("parameter", "structuralParameter")},
        **{(kind, c): "calculated" for kind in ("fixed", "tunable") for c in ("calculatedParameter", "local")},
        **{(kind, "input"): "exact" for kind in ("discrete", "continuous")},
        **{(kind, c): "calculated" for kind in ("discrete", "continuous") for c in ("output", "local")},
        ("continuous", "independent"): None,
    }
)
"""(variability, causality) → what `initial` is if it is not stated (FMI 2.0.4 §2.2.7, FMI 3.0 §2.4.7.5)."""
