"""Values that describe components in event mode to a kernel: their variables, clocks, and what leads between them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from ssptool.engine.kernel.calls import Slots
from ssptool.fmu.description import FmuClock


@dataclass(frozen=True, slots=True)
class EventVariables:
    """Variables that are exchanged at events only; all sequences belong together.

    Attributes
    ----------
    types, elements
        As in an `InstanceTable`.
    clocks
        Places of the clocks of each among those of its component; none: it belongs to no clock.
    """

    slots: Slots
    references: Sequence[int]
    types: Sequence[str]
    elements: Sequence[int]
    clocks: Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class EventMemberCalls:
    """A component in event mode.

    Attributes
    ----------
    instance
        Its number in the kernel.
    functions
        Addresses by name.
    clocks
        Input clocks that tick at known times, so many as `timed`; then so many as `triggered`; then output clocks.
    shown
        The slot of each clock's connector, or None.
    stepped
        It enters event mode and leaves it with all others of co-simulation.
    """

    instance: int
    name: str
    fmi_major: int
    functions: Mapping[str, int]
    inputs: EventVariables
    outputs: EventVariables
    clocks: tuple[FmuClock, ...]
    timed: int
    triggered: int
    shown: Sequence[int | None]
    stepped: bool


@dataclass(frozen=True, slots=True)
class EventWires:
    """Wires into inputs of components in event mode, as a kernel connects others."""

    sources: Slots
    destinations: Slots
    factors: Sequence[float]
    offsets: Sequence[float]
    tables: Mapping[int, Mapping[int, int]]


@dataclass(frozen=True, slots=True)
class EventCalls:
    """All components in event mode.

    Attributes
    ----------
    start
        Start time of the run [s].
    clock_wires
        Pairs of source and destination, each the place of a component and that of its clock.
    inputs
        Slots of the inputs of all components.
    signals
        Names by slot.
    unsigned
        Slots of type UInt64.
    single
        True if there are algebraic loops with signals of type Float32.
    """

    start: float
    members: tuple[EventMemberCalls, ...]
    wires: EventWires
    clock_wires: Sequence[tuple[tuple[int, int], tuple[int, int]]]
    inputs: Slots
    signals: Sequence[str]
    unsigned: Slots
    single: bool


class StopCode(IntEnum):
    """Reason for the end of events or of an integration."""

    FMI = 0
    NONFINITE = 1
    INTEGRATION = 2
    EVENTS = 3
    LOOP = 4
    COUPLING = 5
    INPUTS = 6
    TERMINATED = 7


class Stopped(Exception):
    """Events or an integration cannot go on, for a reason in words, at a time [s]; `details` are those of whoever has
    given the reason.
    """

    def __init__(
        self,
        code: int,
        message: str,
        advice: str,
        t: float,
        component: str,
        recoverable: bool,
        function: str = "",
        details: object = None,
    ) -> None:
        super().__init__(message)
        self.code = StopCode(code)
        self.message = message
        self.advice = advice
        self.t = t
        self.component = component
        self.recoverable = recoverable
        self.function = function
        self.details = details


class Refused(Exception):
    """A function of a component returned a status worse than a warning."""

    def __init__(self, component: str, function: str, status: int) -> None:
        super().__init__(f"component {component}: {function} returned status {status}")
        self.component = component
        self.function = function
        self.status = status


EVENT_FUNCTIONS = (
    "fmi3EnterEventMode",
    "fmi3EnterStepMode",
    "fmi3UpdateDiscreteStates",
    "fmi3SetClock",
    "fmi3GetClock",
    "fmi3GetIntervalDecimal",
    "fmi3GetIntervalFraction",
    "fmi3GetShiftDecimal",
    "fmi3GetShiftFraction",
    "fmi3SetIntervalDecimal",
    "fmi3SetIntervalFraction",
    "fmi3SetShiftDecimal",
    "fmi3SetShiftFraction",
)
"""Functions of event mode and clocks, of components of FMI 3.0."""
