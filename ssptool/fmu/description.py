"""A modelDescription.xml as frozen values, read through FMPy."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from fmpy.model_description import read_model_description

from ssptool.fmu.units import Exponents, Unit

Value: TypeAlias = float | int | bool | str | bytes


class Causality(StrEnum):
    """FMI 2.0.4 §2.2.7, FMI 3.0 §2.4.7.4; FMI 1.0's `internal` is read as `local`."""

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


class UnreadableFmu(Exception):
    """The file is not an FMU that can be read."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: not a readable FMU: {reason}")
        self.path = path
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Variable:
    """One model variable.

    `type` has FMI's spelling, with FMI 3.0's `Float64` and `Int32` for the `Real` and `Integer` of FMI 1 and 2,
    so that one name means one machine type. `start` is typed accordingly; `line` is that of modelDescription.xml.
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


@dataclass(frozen=True, slots=True)
class Interface:
    """One of the interface types that an FMU implements, with its capability flags."""

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


Dependencies: TypeAlias = Mapping[str, frozenset[str] | None]
"""Unknown → the variables that it depends on; None where the FMU declares nothing, which means: on everything."""


@dataclass(frozen=True, slots=True)
class FmuDescription:
    """What an FMU says of itself.

    `outputs`, `derivatives` and `initial_unknowns` are the entries of its ModelStructure; an output that is
    missing there has undeclared dependencies (use `.get(name)`).
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

    @property
    def fmi_major(self) -> int:
        return int(self.fmi_version.split(".")[0])


def read_description(path: Path) -> FmuDescription:
    """Read the model description of an FMU (a zip or an unpacked folder).

    Raises
    ------
    UnreadableFmu
        The file is missing, is not a zip, has no modelDescription.xml, or that cannot be parsed.
    """
    try:
        raw = read_model_description(path, validate=False)
        return _description(raw)
    # FMPy raises plain `Exception` for most of what can be wrong with a model description, and whatever
    # Python raises for the rest (BadZipFile, KeyError, XMLSyntaxError, ValueError …).
    except Exception as error:
        raise UnreadableFmu(path, f"{type(error).__name__}: {error}") from error


_FMI3_TYPE = {"Real": "Float64", "Integer": "Int32"}
_INFINITY = float("inf")


def _description(raw: Any) -> FmuDescription:
    variables = {variable.name: _variable(variable) for variable in raw.modelVariables}
    return FmuDescription(
        fmi_version=raw.fmiVersion,
        model_name=raw.modelName,
        token=raw.guid or "",
        co_simulation=_interface(raw.coSimulation),
        model_exchange=_interface(raw.modelExchange),
        scheduled_execution=raw.scheduledExecution is not None,
        variables=MappingProxyType(variables),
        units=MappingProxyType({unit.name: _unit(unit) for unit in raw.unitDefinitions}),
        outputs=_dependencies(raw.outputs),
        derivatives=_dependencies(raw.derivatives),
        initial_unknowns=_dependencies(raw.initialUnknowns),
        step_size=_step_size(raw.defaultExperiment),
    )


def _step_size(experiment: Any) -> float | None:
    return None if experiment is None or experiment.stepSize is None else float(experiment.stepSize)


def _unit(raw: Any) -> Unit:
    base = raw.baseUnit
    if base is None:
        return Unit(raw.name, None)
    exponents = Exponents(base.kg, base.m, base.s, base.A, base.K, base.mol, base.cd, base.rad)
    return Unit(raw.name, exponents, base.factor, base.offset)


def _interface(raw: Any) -> Interface | None:
    if raw is None:
        return None
    return Interface(
        model_identifier=raw.modelIdentifier or "",
        saves_state=raw.canGetAndSetFMUstate,
        serializes_state=raw.canSerializeFMUstate,
        directional_derivatives=_directional(raw),
        variable_step=getattr(raw, "canHandleVariableCommunicationStepSize", False),
        input_derivatives=getattr(raw, "canInterpolateInputs", False),
        output_derivative_order=getattr(raw, "maxOutputDerivativeOrder", 0),
        intermediate_update=getattr(raw, "providesIntermediateUpdate", False),
        once_per_process=raw.canBeInstantiatedOnlyOncePerProcess,
        needs_tool=raw.needsExecutionTool,
        event_mode=getattr(raw, "hasEventMode", False),
    )


def _directional(raw: Any) -> bool:
    # FMI 3.0 renamed the flag in the plural; FMPy knows only the singular and keeps the other if it copies it.
    return bool(
        getattr(raw, "providesDirectionalDerivatives", False)
        or getattr(raw, "providesDirectionalDerivative", False)
    )


def _variable(raw: Any) -> Variable:
    kind = _FMI3_TYPE.get(raw.type, raw.type)
    declared = raw.declaredType
    return Variable(
        name=raw.name,
        reference=raw.valueReference,
        type=kind,
        causality=Causality(raw.causality),
        variability=Variability(raw.variability),
        initial=raw.initial,
        start=_start(raw.start, kind),
        unit=_inherited(raw, declared, "unit"),
        nominal=abs(float(_inherited(raw, declared, "nominal") or 1.0)),
        minimum=float(_inherited(raw, declared, "min") or -_INFINITY),
        maximum=float(_inherited(raw, declared, "max") or _INFINITY),
        relative_quantity=bool(raw.relativeQuantity or (declared is not None and declared.relativeQuantity)),
        shape=raw.shape or (),
        items=MappingProxyType({} if declared is None else {i.name: int(i.value) for i in declared.items}),
        description=raw.description or "",
        derivative_of=None if raw.derivative is None else raw.derivative.name,
        intermediate_update=bool(raw.intermediateUpdate),
        line=raw.sourceline or 0,
    )


def _inherited(raw: Any, declared: Any, attribute: str) -> Any:
    """An attribute of the variable, or of its declared type where the variable is silent."""
    own = getattr(raw, attribute)
    return own if own is not None or declared is None else getattr(declared, attribute)


def _start(text: str | None, kind: str) -> Value | None:
    if text is None:
        return None
    if kind in ("Float64", "Float32"):
        # Arrays of FMI 3.0 state their start values as a list; the first stands for the variable here.
        return float(text.split()[0])
    if kind == "Boolean":
        return text.split()[0] in ("true", "1")
    if kind == "String":
        return text
    if kind == "Binary":
        return bytes.fromhex(text)
    return int(text.split()[0])


def _dependencies(unknowns: Any) -> Dependencies:
    declared = {
        unknown.variable.name: None
        if unknown.dependencies is None
        else frozenset(variable.name for variable in unknown.dependencies)
        for unknown in unknowns
    }
    return MappingProxyType(declared)
