"""What model descriptions of FMI 1.0 say in a way of their own (FMI 1.0 for Co-Simulation §3, for Model Exchange §3).

FMPy reads the rest of them, but neither direct dependencies nor capabilities, and of parameters it loses what they were
besides.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from lxml import etree

from ssptool.dataclass import dataclass
from ssptool.fmu.units import DisplayUnit, Unit

NEGATED = "negatedAlias"


@dataclass(frozen=True, slots=True)
class Role:
    """Causality, variability and `initial`, in the words of FMI 2.0."""

    causality: str
    variability: str
    initial: str | None


def role(variable: etree._Element) -> Role:
    """What a ScalarVariable is in the words of FMI 2.0.

    A value may be given to an input, and to everything that has a start value (SSP 2.0 §5.2.3): `initial` tells. An
    internal parameter without start value is one that the FMU calculates.
    """
    causality, variability = variable.get("causality", "internal"), variable.get("variability", _default(variable))
    causality = "local" if causality == "internal" else causality
    initial = _initial(variable)
    if variability != "parameter":
        return Role(causality, variability, None if causality == "input" else initial)
    if causality == "output":
        return Role("calculatedParameter", "fixed", initial)
    if causality == "input":
        return Role("parameter", "fixed", "exact")
    return Role("local" if initial == "calculated" else "parameter", "fixed", initial)


def _default(variable: etree._Element) -> str:
    """The schema's default is continuous, which only Reals can be."""
    return "continuous" if variable.find("Real") is not None else "discrete"


def _initial(variable: etree._Element) -> str:
    for child in variable:
        if child.get("start") is not None:
            return "approx" if child.get("fixed", "").strip() in ("false", "0") else "exact"
    return "calculated"


def direct_dependencies(variables: Iterable[etree._Element]) -> Mapping[str, frozenset[str] | None]:
    """Output → the inputs that it needs at the same instant; None where it does not say: all of them."""
    found: dict[str, frozenset[str] | None] = {}
    for variable in variables:
        if variable.get("causality") == "output":
            stated = variable.find("DirectDependency")
            names = None if stated is None else frozenset((node.text or "").strip() for node in stated.iterfind("Name"))
            found[variable.get("name", "")] = names
    return MappingProxyType(found)


def units(root: etree._Element) -> Mapping[str, Unit]:
    """By name. FMI 1.0 does not say what a unit measures; it says how values are shown in others: unit = offset +
    gain · displayUnit.
    """
    found = {}
    for node in root.iterfind("UnitDefinitions/BaseUnit"):
        shown = tuple(
            DisplayUnit(one.get("displayUnit", ""), float(one.get("gain", "1")), float(one.get("offset", "0")))
            for one in node.iterfind("DisplayUnitDefinition")
        )
        found[node.get("unit", "")] = Unit(node.get("unit", ""), None, shown=shown)
    return MappingProxyType(found)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Of co-simulation. `tool`: the FMU couples to a tool that must be installed (CoSimulation_Tool)."""

    tool: bool
    variable_step: bool
    input_derivatives: bool
    output_derivative_order: int
    rejects_steps: bool
    once_per_process: bool


def capabilities(root: etree._Element) -> Capabilities | None:
    """None for model exchange, which states none."""
    for kind in ("CoSimulation_StandAlone", "CoSimulation_Tool"):
        node = root.find(f"Implementation/{kind}")
        if node is not None:
            stated = node.find("Capabilities")
            flags = {} if stated is None else {str(name): str(value) for name, value in stated.attrib.items()}
            return Capabilities(
                tool=kind == "CoSimulation_Tool",
                variable_step=_flag(flags, "canHandleVariableCommunicationStepSize"),
                input_derivatives=_flag(flags, "canInterpolateInputs"),
                output_derivative_order=int(flags.get("maxOutputDerivativeOrder", "0")),
                rejects_steps=_flag(flags, "canRejectSteps"),
                once_per_process=_flag(flags, "canBeInstantiatedOnlyOncePerProcess"),
            )
    return None


def _flag(flags: Mapping[str, str], name: str) -> bool:
    return flags.get(name, "").strip() in ("true", "1")
