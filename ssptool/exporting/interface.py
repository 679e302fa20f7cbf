"""Variables of an exported system: its own connectors, and exposed variables of its components."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from itertools import chain, count
from typing import NamedTuple

from ssptool.engine.run.frozen_variables import PartVariable
from ssptool.fmu.description import Causality, Shape, Value, Variability
from ssptool.network.network import IDENTITY, Conversion, Signal


class PartTarget(NamedTuple):
    """A variable of a part that a variable of the system sets or shows, converted; `own` are the elements of the
    system's variable, counted from 0 (none: all of them).
    """

    variable: PartVariable
    conversion: Conversion = IDENTITY
    own: tuple[int, ...] = ()


def merged(targets: Iterable[PartTarget], size: int) -> tuple[PartTarget, ...]:
    """Targets of single elements of a variable of this size; those of one array are merged."""
    found: dict[tuple[int, int, str, Conversion], list[PartTarget]] = {}
    for one in targets:
        variable = one.variable
        found.setdefault((variable.part, variable.reference, variable.suffix, one.conversion), []).append(one)
    return tuple(_together(group, size) for group in found.values())


def _together(group: list[PartTarget], size: int) -> PartTarget:
    own = tuple(place for one in group for place in one.own)
    within = tuple(element for one in group for element in one.variable.elements)
    variable = group[0].variable._replace(elements=within)
    if within == tuple(range(variable.size)):
        variable = variable._replace(elements=(), starts=())
    return PartTarget(variable, group[0].conversion, () if own == tuple(range(size)) else own)


class ContinuousRole(StrEnum):
    """The vector of model exchange that a variable belongs to."""

    STATE = "state"
    DERIVATIVE = "derivative"
    INDICATOR = "indicator"


class ContinuousPlace(NamedTuple):
    """Position of a variable in a vector of model exchange."""

    role: ContinuousRole
    number: int


@dataclass(frozen=True, slots=True)
class ExportedClock:
    """A variable of type Clock.

    Attributes
    ----------
    stated
        Its attributes in a model description.
    interval, shift
        [s]
    triggers
        Clocks of components that tick with an input clock.
    source
        Clock of a component that ticks together with an output clock.
    """

    stated: Mapping[str, str] = field(default_factory=lambda: {"intervalVariability": "triggered"})
    interval: Fraction | None = None
    shift: Fraction | None = None
    triggers: tuple[Signal, ...] = ()
    source: Signal | None = None


@dataclass(frozen=True, slots=True)
class ExportedVariable:
    """A variable of the exported system; its index is its value reference.

    Attributes
    ----------
    type
        Type in the spelling of FMI 3.0.
    starts
        Start values of inputs and parameters, one for each element; empty for calculated variables.
    minimum, maximum
        Range of numbers; infinite if not stated.
    shape
        Extents of an array (FMI 3.0 only).
    slots
        Slots of its elements in the kernel; empty if only parts (the `targets`) have the variable.
    continuous
        Its position among the states, derivatives or event indicators of the system, if it is one of these.
    clock
        Clock of a variable of type Clock.
    clocks
        Numbers of the only clocks at which it changes; empty: it does not belong to a clock.
    """

    name: str
    signal: Signal
    type: str
    causality: Causality
    variability: Variability
    unit: str | None
    description: str
    starts: tuple[Value, ...] = ()
    nominal: float = 1.0
    minimum: float = -math.inf
    maximum: float = math.inf
    shape: Shape = ()
    slots: tuple[int, ...] = ()
    targets: tuple[PartTarget, ...] = ()
    items: tuple[tuple[str, int], ...] = ()
    mime_type: str | None = None
    continuous: ContinuousPlace | None = None
    clock: ExportedClock | None = None
    clocks: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """Number of its elements."""
        return math.prod(self.shape)


def independent(variables: Sequence[ExportedVariable]) -> ExportedVariable:
    """The independent variable [s], which FMI 3.0 requires in addition to the variables of a system; its name is not
    used by them.
    """
    taken = {one.name for one in variables}
    name = next(name for name in chain(["time"], (f"time_{number}" for number in count(1))) if name not in taken)
    return ExportedVariable(
        name=name,
        signal=Signal("", name),
        type="Float64",
        causality=Causality.INDEPENDENT,
        variability=Variability.CONTINUOUS,
        unit="s",
        description="simulation time",
    )


def variability_of(kind: str) -> Variability:
    """Variability of a signal of this type."""
    return Variability.CONTINUOUS if kind in ("Float64", "Float32") else Variability.DISCRETE
