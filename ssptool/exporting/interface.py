"""Variables of an exported system: its own connectors, and those of its components that are exposed."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from itertools import chain, count
from typing import NamedTuple

from ssptool.exporting.part_variables import PartTarget
from ssptool.fmu.description import Causality, Shape, Value, Variability
from ssptool.network.network import Signal


class ContinuousRole(StrEnum):
    """The vector of model exchange that a variable belongs to."""

    STATE = "state"
    DERIVATIVE = "derivative"
    INDICATOR = "indicator"


class ContinuousPlace(NamedTuple):
    """The place of a variable in a vector of model exchange."""

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
        The clock of a component that an output clock ticks with.
    """

    stated: Mapping[str, str] = field(default_factory=lambda: {"intervalVariability": "triggered"})
    interval: Fraction | None = None
    shift: Fraction | None = None
    triggers: tuple[Signal, ...] = ()
    source: Signal | None = None


@dataclass(frozen=True, slots=True)
class ExportedVariable:
    """A variable of the exported system; its place among all is its value reference.

    Attributes
    ----------
    type
        As FMI 3.0 spells it.
    starts
        Of inputs and parameters, one for each element; none for what is calculated.
    minimum, maximum
        Of numbers; infinite where none is stated.
    shape
        Extents of an array, which only FMI 3.0 has.
    slots
        Where the kernel has its elements; none if only parts know it, the `targets`.
    continuous
        Its place among the states, derivatives or event indicators of the system, if it is one of these.
    clock
        Of a variable of type Clock.
    clocks
        Numbers of the clocks at which alone it changes; none: it belongs to no clock.
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
    """The independent variable [s], which FMI 3.0 demands, beside the variables of a system; its name is free there."""
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
