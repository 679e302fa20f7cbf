"""The model structure of a model description: which variables are known to depend on which."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

from lxml import etree

from ssptool.fmu.model_xml import MODEL_DESCRIPTION, UnusableXml, line_of
from ssptool.fmu.stated import StatedVariable


class Unknown(NamedTuple):
    """One entry. `dependencies` and their `kinds` are None where the FMU declares nothing."""

    variable: StatedVariable
    dependencies: tuple[StatedVariable, ...] | None
    kinds: tuple[str, ...] | None
    line: int


class ModelStructure(NamedTuple):
    outputs: tuple[Unknown, ...] = ()
    derivatives: tuple[Unknown, ...] = ()
    initial_unknowns: tuple[Unknown, ...] = ()
    clocked_states: tuple[Unknown, ...] = ()
    event_indicators: tuple[Unknown, ...] = ()


Reference: TypeAlias = Callable[[str, etree._Element], StatedVariable]
"""The variable that a text refers to, and where that stands."""

_FMI2 = ("Outputs/Unknown", "Derivatives/Unknown", "InitialUnknowns/Unknown")
_FMI3 = ("Output", "ContinuousStateDerivative", "InitialUnknown", "ClockedState", "EventIndicator")


def model_structure(root: etree._Element, variables: Sequence[StatedVariable]) -> ModelStructure:
    """That of FMI 2.0 and 3.x; FMI 1.0 has none.

    Raises
    ------
    UnusableXml
        An entry refers to a variable that does not exist.
    """
    major = int(root.get("fmiVersion", "").split(".")[0])
    lists, attribute = {2: (_FMI2, "index"), 3: (_FMI3, "valueReference")}.get(major, ((), ""))
    refer = references(major, variables)
    entries = (root.iterfind(f"ModelStructure/{name}") for name in lists)
    return ModelStructure(*(tuple(_unknown(node, attribute, refer) for node in nodes) for nodes in entries))


def references(major: int, variables: Iterable[StatedVariable]) -> Reference:
    """How variables are referred to in this version of FMI: by their places, or by their value references."""
    own = [variable for variable in variables if variable.name == variable.base]
    return _by_place(own) if major < 3 else _by_reference(own)


def _by_place(variables: Sequence[StatedVariable]) -> Reference:
    def variable(text: str, node: etree._Element) -> StatedVariable:
        if not text.isdecimal() or int(text) < 1:
            line = line_of(node)
            raise UnusableXml(f'{MODEL_DESCRIPTION}, line {line}: "{text}" is no variable index; they count from 1')
        if int(text) > len(variables):
            raise UnusableXml(
                f"{MODEL_DESCRIPTION}, line {line_of(node)}, refers to a variable index that does not exist: {text} of "
                f"{len(variables)}"
            )
        return variables[int(text) - 1]

    return variable


def _by_reference(variables: Sequence[StatedVariable]) -> Reference:
    known = {variable.reference: variable for variable in variables}

    def variable(text: str, node: etree._Element) -> StatedVariable:
        if int(text) not in known:
            raise UnusableXml(
                f"{MODEL_DESCRIPTION}, line {line_of(node)}, refers to value reference {text}, which it does not define"
            )
        return known[int(text)]

    return variable


def _unknown(node: etree._Element, attribute: str, refer: Reference) -> Unknown:
    dependencies, kinds = node.get("dependencies"), node.get("dependenciesKind")
    return Unknown(
        refer(node.get(attribute, ""), node),
        None if dependencies is None else tuple(refer(text, node) for text in dependencies.split()),
        None if kinds is None else tuple(kinds.split()),
        line_of(node),
    )
