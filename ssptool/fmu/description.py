"""The model description of an FMU as frozen values: variables, arrays, clocks, interfaces and dependencies.

Names of array elements are `y[1]`, `y[2,3]`: counted from 1, row by row (FMI 3.0 §2.4.7.5).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from ssptool.documents.vocabulary import IntervalVariability
from ssptool.fmu.units import DisplayUnit, PhysicalUnit
from ssptool.working_directory import shown

Shape: TypeAlias = tuple[int, ...]
"""Extents of an array; empty for a scalar."""


def element_names(name: str, shape: Shape) -> tuple[str, ...]:
    """Elements of an array in the order in which FMI passes their values; for a scalar its own name."""
    if not shape:
        return (name,)
    indices = product(*(range(1, extent + 1) for extent in shape))
    return tuple(f"{name}[{','.join(map(str, index))}]" for index in indices)


def shape_text(shape: Shape) -> str:
    """A shape as text for messages."""
    return f"an array [{', '.join(map(str, shape))}]" if shape else "a scalar"


Value: TypeAlias = float | int | bool | str | bytes


class Causality(StrEnum):
    """Causality (FMI 2.0.4 §2.2.7, FMI 3.0 §2.4.7.4); those of FMI 1.0 are mapped by `fmi1_role`."""

    PARAMETER = "parameter"
    CALCULATED_PARAMETER = "calculatedParameter"
    STRUCTURAL_PARAMETER = "structuralParameter"
    INPUT = "input"
    OUTPUT = "output"
    LOCAL = "local"
    INDEPENDENT = "independent"
    NONE = "none"


class Variability(StrEnum):
    """Variability (FMI 2.0.4 §2.2.7, FMI 3.0 §2.4.7.4)."""

    CONSTANT = "constant"
    FIXED = "fixed"
    TUNABLE = "tunable"
    DISCRETE = "discrete"
    CONTINUOUS = "continuous"


class InterfaceType(StrEnum):
    """The interface type of an instance, spelled as in FMI 3.0's XML and SSP's `implementation`."""

    MODEL_EXCHANGE = "ModelExchange"
    CO_SIMULATION = "CoSimulation"

    @property
    def words(self) -> str:
        return "co-simulation" if self is InterfaceType.CO_SIMULATION else "model exchange"


INTEGER_RANGES: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        name: limits
        for bits in (8, 16, 32, 64)
        for name, limits in (
            (f"Int{bits}", (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)),
            (f"UInt{bits}", (0, 2**bits - 1)),
        )
    }
)
"""Types of integers of FMI 3.0 and what they hold."""


class UnusableFmu(Exception):
    """An FMU that cannot be used here; `path` and `reason`."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{shown(path)}: {reason}")
        self.path = path
        self.reason = reason


class UnreadableFmu(UnusableFmu):
    """The file is not a readable FMU."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(path, f"not a readable FMU: {reason}")
        self.reason = reason


class Variable(NamedTuple):
    """One model variable.

    `type` has FMI's spelling, with FMI 3.0's `Float64` and `Int32` for the `Real` and `Integer` of FMI 1 and 2, so that
    one name means one machine type. `start` is typed accordingly; for an array it is the first value, and `starts` are
    all stated values, row-major. `line` is the line in modelDescription.xml. For FMI 3.0: `clocks` are the clocks that
    it belongs to, `sizes` the structural parameter of each extent (None: fixed), `clock` the attributes of a variable
    of type Clock as written, and `mime_type` that of a Binary.

    For an element of an array (see `with_array_elements`), `array` is the name of the array, whose reference it has,
    and `element` its index among the values, row by row from 0. In FMI 1.0, `negated`: the FMU's functions use the
    value with the opposite sign (negatedAlias). `nominal_stated` is false if `nominal` is only the standard's default.
    `display` is the display unit, if the FMU defines it.
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
    nominal_stated: bool = False
    display: DisplayUnit | None = None

    @property
    def is_held(self) -> bool:
        """True for a discrete real number: as an input it is held over each step, never interpolated or
        extrapolated.
        """
        return self.type == "Float64" and self.variability is not Variability.CONTINUOUS


@dataclass(frozen=True, slots=True)
class Interface:
    """One of the interface types that an FMU implements, with its capability flags. For FMI 1.0, `needs_tool`: the FMU
    couples to a tool (CoSimulation_Tool); `rejects_steps`: it can repeat its last step. `fixed_step` [s] is the
    internal step; communication steps must be multiples of it (FMI 3.0). `line` is the line in modelDescription.xml.
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
    may_return_early: bool = False
    needs_completed_step: bool = False
    adjoint_derivatives: bool = False
    rejects_steps: bool = False
    fixed_step: float | None = None
    line: int = 0

    @property
    def any_step(self) -> bool:
        """True if communication steps may have any size."""
        return self.variable_step and self.fixed_step is None


Dependencies: TypeAlias = Mapping[str, frozenset[str] | None]
"""Unknown → its dependencies; None if undeclared: it may depend on everything."""


@dataclass(frozen=True, slots=True)
class FmuExperiment:
    """The default experiment of an FMU [s]; None for times that are not stated. `line` is the line in
    modelDescription.xml.
    """

    start: float | None = None
    stop: float | None = None
    step_size: float | None = None
    tolerance: float | None = None
    line: int = 0


@dataclass(frozen=True)
class FmuDescription:
    """The content of a model description.

    `outputs`, `derivatives` and `initial_unknowns` are the entries of its ModelStructure; an output that is missing
    there has undeclared dependencies (use `.get(name)`). `event_indicators` is the number of event indicators.
    `binaries` are binary variables represented by groups of Integer variables before FMI 3.0, by the convention of
    OSMP. `arrays` are the extents of arrays that are replaced by elements in `variables` (see `with_array_elements`),
    and `whole` the variables as stated in the FMU. `log_categories` are the categories of its messages.
    `python_modules` are modules that it imports into its process.
    """

    fmi_version: str
    model_name: str
    token: str
    co_simulation: Interface | None
    model_exchange: Interface | None
    scheduled_execution: bool
    variables: Mapping[str, Variable]
    units: Mapping[str, PhysicalUnit]
    outputs: Dependencies
    derivatives: Dependencies
    initial_unknowns: Dependencies
    event_indicators: int = 0
    binaries: frozenset[str] = frozenset()
    arrays: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    whole: Mapping[str, Variable] = field(default_factory=dict)
    experiment: FmuExperiment = FmuExperiment()
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
        """The interface of this type; None if the FMU does not offer it."""
        return self.model_exchange if kind is InterfaceType.MODEL_EXCHANGE else self.co_simulation

    @cached_property
    def states(self) -> frozenset[str]:
        """Names of the continuous states; arrays count as a whole."""
        variables = self.whole or self.variables
        slopes = (variables[slope].derivative_of for slope in self.derivatives if slope in variables)
        return frozenset(state for state in slopes if state is not None)

    @property
    def state_derivatives(self) -> tuple[Variable, ...]:
        """State derivatives in the order of the state vector, without aliases (FMI 2.0.4 §2.2.8, FMI 3.0 §2.4.8)."""
        stated = self.whole or self.variables
        by_reference = {stated[name].reference: name for name in reversed(list(self.derivatives))}
        names = reversed(by_reference.values())
        return tuple(self.variables[own] for name in names for own in element_names(name, self.arrays.get(name, ())))


def unsupported_of_fmi1(description: FmuDescription) -> str | None:
    """Description of an FMI 1.0 FMU of an unsupported kind; None for a supported one."""
    if description.fmi_major != 1:
        return None
    if description.co_simulation is None:
        return "model exchange of FMI 1.0"
    return (
        "co-simulation of FMI 1.0 with another tool (CoSimulation_Tool)"
        if description.co_simulation.needs_tool
        else None
    )


def is_text(value: object) -> bool:
    """True if an FMU can receive a string: it contains neither U+0000 nor lone surrogates."""
    if not isinstance(value, str):
        return False
    try:
        return b"\0" not in value.encode()
    except UnicodeEncodeError:
        return False


def shape_of(variable: Variable, sizes: Mapping[str, int]) -> Shape:
    """Extents of a variable, with structural parameters at `sizes` by name, otherwise at their start values."""
    parameters = variable.sizes or (None,) * len(variable.shape)
    extents = zip(variable.shape, parameters, strict=True)
    return tuple(extent if parameter is None else sizes.get(parameter, extent) for extent, parameter in extents)


def fixed_shape(variable: Variable) -> tuple[int | None, ...]:
    """Fixed extents; None for an extent that depends on a structural parameter."""
    if not variable.shape:
        return ()
    parameters = variable.sizes or (None,) * len(variable.shape)
    sides = zip(variable.shape, parameters, strict=True)
    return tuple(extent if parameter is None else None for extent, parameter in sides)


def with_array_elements(fmu: FmuDescription, sizes: Mapping[str, int]) -> FmuDescription:
    """The description with every array replaced by its elements; `sizes` as for `shape_of`.

    Dependencies of an array apply to each of its elements.

    Raises
    ------
    ValueError
        An element has the name of another variable.
    """
    shapes = {name: shape_of(variable, sizes) for name, variable in fmu.variables.items() if variable.shape}
    if not shapes:
        return fmu
    elements = ArrayElements(fmu.variables, shapes)
    for name in fmu.variables:
        if (array := elements.array_of(name)) is not None:
            raise ValueError(f"an element of {array} has the name of the variable {name}")
    return replace(fmu, variables=elements, arrays=MappingProxyType(shapes), whole=fmu.variables)


class ArrayElements(Mapping[str, Variable]):
    """Variables by name, with elements in place of arrays. Elements are created on access, because arrays may be
    large.
    """

    def __init__(self, whole: Mapping[str, Variable], shapes: Mapping[str, Shape]) -> None:
        self._whole, self._shapes = whole, shapes
        self._made: dict[str, Variable] = {}

    def __getitem__(self, name: str) -> Variable:
        if name in self._whole and name not in self._shapes:
            return self._whole[name]
        made = self._made.get(name)
        if made is None:
            array = self.array_of(name)
            if array is None:
                raise KeyError(name)
            made = self._made[name] = self._element(array, name)
        return made

    def __iter__(self) -> Iterator[str]:
        for name in self._whole:
            yield from element_names(name, self._shapes[name]) if name in self._shapes else (name,)

    def __len__(self) -> int:
        return sum(prod(self._shapes.get(name, ())) for name in self._whole)

    def array_of(self, name: str) -> str | None:
        """The array of an element; None for other names."""
        array, bracket, _ = name.rpartition("[")
        shape = self._shapes.get(array) if bracket else None
        return None if shape is None or _element_index(name, array, shape) is None else array

    def _element(self, array: str, name: str) -> Variable:
        whole, shape = self._whole[array], self._shapes[array]
        place = _element_index(name, array, shape)
        assert place is not None
        state = whole.derivative_of
        return whole._replace(
            name=name,
            start=_element_start(whole, place, prod(shape)),
            starts=(),
            shape=(),
            sizes=(),
            derivative_of=None if state is None else state + name[len(array) :],
            array=array,
            element=place,
        )


def _element_index(name: str, array: str, shape: Shape) -> int | None:
    """The index of an element among the values of its array; None for other names."""
    texts = name[len(array) + 1 : -1].split(",")
    if name[-1] != "]" or len(texts) != len(shape) or not all(text.isdecimal() for text in texts):
        return None
    place = 0
    for text, extent in zip(texts, shape, strict=True):
        if text[0] == "0" or int(text) > extent:
            return None
        place = place * extent + int(text) - 1
    return place


def _element_start(variable: Variable, place: int, count: int) -> Value | None:
    """Start value of an element. A single value applies to all elements; values for another size are ignored."""
    if len(variable.starts) == count:
        return variable.starts[place]
    return variable.starts[0] if len(variable.starts) == 1 else None


@dataclass(frozen=True, slots=True)
class FmuClock:
    """A variable of type Clock.

    Times are exact fractions, so repeated addition of 0.1 s has no rounding error. `interval` [s] is None if only the
    running FMU knows it; `shift` [s] is the time of the first tick after the start, None if not stated. `told` contains
    the names of those that the system overrides, so that they must be set in the FMU.
    """

    name: str
    reference: int
    variability: IntervalVariability
    interval: Fraction | None
    shift: Fraction | None
    supports_fraction: bool
    told: frozenset[str] = frozenset()

    @property
    def triggered(self) -> bool:
        return self.variability is IntervalVariability.TRIGGERED


def clock_of(variable: Variable) -> FmuClock:
    """The clock of a variable of type Clock.

    Raises
    ------
    ValueError
        An attribute is not a number, an interval is not positive, or `intervalVariability` is unknown.
    """
    stated = dict(variable.clock)
    interval = clock_time(stated, "interval")
    if interval is not None and interval <= 0:
        raise ValueError(f"clock {variable.name}: the interval must be positive, found {interval} s")
    return FmuClock(
        variable.name,
        variable.reference,
        IntervalVariability(stated.get("intervalVariability", IntervalVariability.TRIGGERED)),
        interval,
        clock_time(stated, "shift"),
        stated.get("supportsFraction", "false").strip() in ("true", "1"),
    )


SETTABLE_INTERVALS = frozenset({IntervalVariability.FIXED, IntervalVariability.TUNABLE})
"""Clocks whose interval an importer may choose, if the FMU states one (FMI 3.0 §2.2.8.3)."""


def clock_in_system(clock: FmuClock, variable: Variable, stated: tuple[tuple[str, str], ...]) -> FmuClock:
    """The clock with the attributes that its connector states.

    Raises
    ------
    ValueError
        The connector states an invalid time, or a time that cannot be set in the FMU.
    """
    found = {"interval": clock.interval, "shift": clock.shift}
    told = set()
    for what, own in found.items():
        wanted = clock_time({"resolution": dict(variable.clock).get("resolution", "1"), **dict(stated)}, what)
        if wanted is None or wanted == (own if what == "interval" else own or 0):
            continue
        if wanted < 0 or (what == "interval" and wanted == 0):
            raise ValueError(f"clock {clock.name}: the {what} must be positive, found {wanted} s")
        if clock.variability not in SETTABLE_INTERVALS or clock.interval is None:
            whose = "states" if own is not None else "decides on"
            raise ValueError(
                f"clock {clock.name} ({clock.variability}): the system states the {what} {float(wanted):g} s, but the "
                f"FMU {whose} its own; only fixed and tunable clocks whose interval the FMU states can be changed"
            )
        found[what] = wanted
        told.add(what)
    return replace(clock, interval=found["interval"], shift=found["shift"], told=frozenset(told))


def clock_time(stated: Mapping[str, str], what: str) -> Fraction | None:
    """A time from counter and resolution, which are exact, or from a decimal."""
    counter, resolution, decimal = (stated.get(name) for name in (f"{what}Counter", "resolution", f"{what}Decimal"))
    if counter is not None and resolution is not None:
        return Fraction(int(counter), int(resolution))
    return None if decimal is None else Fraction(decimal.strip())
