"""Model exchange and event mode: states, derivatives, events and clocks of one instance.

Model exchange serves an integrator (FMI 2.0 §3, FMI 3.0 §3): vectors are passed by address, so an FMU reads and writes
the vectors of the integrator. Event mode is that of FMI 3.0, in co-simulation as well (FMI 3.0 §4).
"""

import ctypes
import math
from collections.abc import Mapping, Sequence
from ctypes import byref, c_bool, c_double, c_int, c_size_t, c_uint, c_uint64, c_void_p
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from typing import Any, NamedTuple, NoReturn

from ssptool.fmu.c_types import fmi2
from ssptool.fmu.description import FmuClock, FmuDescription
from ssptool.fmu.instance import FmiError, FmuInstance

DISCARD = 2
"""The status of a point at which an FMU cannot be evaluated, but can continue."""

GET_DERIVATIVES = {2: "fmi2GetDerivatives", 3: "fmi3GetContinuousStateDerivatives"}
GET_INDICATORS = {2: "fmi2GetEventIndicators", 3: "fmi3GetEventIndicators"}
"""Functions by major version of FMI."""

_WARNING = 1


class DiscreteUpdate(NamedTuple):
    """The result of one event iteration; `next_time` [s] is inf without a time event."""

    again: bool
    terminate: bool
    nominals_changed: bool
    states_changed: bool
    next_time: float


_VECTOR = (c_void_p, c_void_p, c_size_t)
_ARGUMENTS: Mapping[str, tuple[Any, ...]] = {
    "SetTime": (c_void_p, c_double),
    "SetContinuousStates": _VECTOR,
    "GetContinuousStates": _VECTOR,
    "GetNominalsOfContinuousStates": _VECTOR,
    "GetEventIndicators": _VECTOR,
    "EnterEventMode": (c_void_p,),
    "EnterContinuousTimeMode": (c_void_p,),
}
_OWN_ARGUMENTS: Mapping[int, Mapping[str, tuple[Any, ...]]] = {
    2: {
        "GetDerivatives": _VECTOR,
        "NewDiscreteStates": (c_void_p, c_void_p),
        "CompletedIntegratorStep": (c_void_p, c_int, c_void_p, c_void_p),
        "GetDirectionalDerivative": (c_void_p, *(c_void_p, c_size_t) * 2, c_void_p, c_void_p),
    },
    3: {
        "GetContinuousStateDerivatives": _VECTOR,
        "UpdateDiscreteStates": (c_void_p,) * 7,
        "CompletedIntegratorStep": (c_void_p, c_bool, c_void_p, c_void_p),
        "GetNumberOfContinuousStates": (c_void_p, c_void_p),
        "GetNumberOfEventIndicators": (c_void_p, c_void_p),
        "GetDirectionalDerivative": (c_void_p, *(c_void_p, c_size_t) * 4),
    },
}


def functions_of_exchange(major: int) -> tuple[str, ...]:
    """The functions that a `ContinuousModel` calls, by major version of FMI."""
    return tuple(f"fmi{major}{name}" for name in _arguments(major))


def _arguments(major: int) -> Mapping[str, tuple[Any, ...]]:
    return {**_ARGUMENTS, **_OWN_ARGUMENTS[major]}


class ContinuousModel:
    """The model-exchange functions of a running instance, from the end of its initialization on.

    Every method raises `FmiError` for a status worse than a warning.

    Parameters
    ----------
    functions, component
        Addresses of the functions by name, and their instance; those of stand-ins if calls are watched.

    Attributes
    ----------
    functions
    major
        Version of FMI.
    states, indicators
        Numbers of states and event indicators.
    reports_steps
        Whether it must be notified of every completed integrator step.
    """

    def __init__(
        self, instance: FmuInstance, description: FmuDescription, functions: Mapping[str, int], component: int
    ) -> None:
        self.name = instance.name
        self._instance = instance
        self._clock = instance.log.clock
        self._component = component
        self.functions = functions
        self.major = description.fmi_major
        prefix = f"fmi{self.major}"
        self._call = {
            name: ctypes.CFUNCTYPE(c_int, *arguments)(functions[prefix + name])
            for name, arguments in _arguments(self.major).items()
        }
        self._set_time = self._call["SetTime"]
        self._set_states = self._call["SetContinuousStates"]
        self._slopes_name = GET_DERIVATIVES[self.major].removeprefix(prefix)
        self._get_slopes = self._call[self._slopes_name]
        interface = description.model_exchange
        self.reports_steps = interface is None or interface.needs_completed_step
        self.states = self._count("GetNumberOfContinuousStates", len(description.state_derivatives))
        self.indicators = self._count("GetNumberOfEventIndicators", description.event_indicators)

    @property
    def component(self) -> int:
        """Address of the instance."""
        return self._component

    def move(self, t: float, states: int) -> None:
        """Set time [s] and states, in continuous-time mode."""
        if self._clock is not None:
            self._clock.time = t
        status = self._set_time(self._component, t)
        if status > _WARNING:
            self._refuse("SetTime", status)
        if self.states:
            status = self._set_states(self._component, states, self.states)
            if status > _WARNING:
                self._refuse("SetContinuousStates", status)

    def slopes(self, place: int) -> None:
        """Write the state derivatives."""
        if self.states:
            status = self._get_slopes(self._component, place, self.states)
            if status > _WARNING:
                self._refuse(self._slopes_name, status)

    def event_indicators(self, place: int) -> None:
        if self.indicators:
            self._do("GetEventIndicators", place, self.indicators)

    def present_states(self, place: int) -> None:
        if self.states:
            self._do("GetContinuousStates", place, self.states)

    def nominals(self, place: int) -> None:
        if self.states:
            self._do("GetNominalsOfContinuousStates", place, self.states)

    def enter_event_mode(self) -> None:
        self._do("EnterEventMode")

    def enter_continuous_time(self) -> None:
        self._do("EnterContinuousTimeMode")

    def update_discrete_states(self) -> DiscreteUpdate:
        """One event iteration, in event mode."""
        if self.major == 2:
            info = fmi2.fmi2EventInfo()
            self._do("NewDiscreteStates", byref(info))
            return DiscreteUpdate(
                bool(info.newDiscreteStatesNeeded),
                bool(info.terminateSimulation),
                bool(info.nominalsOfContinuousStatesChanged),
                bool(info.valuesOfContinuousStatesChanged),
                info.nextEventTime if info.nextEventTimeDefined else math.inf,
            )
        again, terminate, nominals, states, defined = (c_bool() for _ in range(5))
        time = c_double()
        flags = [byref(flag) for flag in (again, terminate, nominals, states, defined)]
        self._do("UpdateDiscreteStates", *flags, byref(time))
        return DiscreteUpdate(
            again.value, terminate.value, nominals.value, states.value, time.value if defined else math.inf
        )

    def completed_step(self) -> tuple[bool, bool]:
        """Notify the FMU of an accepted point; returns whether it asks for an event, and for the end."""
        if not self.reports_steps:
            return False, False
        event, terminate = (c_int(), c_int()) if self.major == 2 else (c_bool(), c_bool())
        self._do("CompletedIntegratorStep", 1, byref(event), byref(terminate))
        return bool(event.value), bool(terminate.value)

    def directional_derivative(
        self,
        unknowns: tuple[int, int],
        knowns: tuple[int, int],
        seed: tuple[int, int],
        sensitivity: tuple[int, int],
    ) -> None:
        """Fill `sensitivity`; each argument is (address, number) of value references or of their values."""
        if self.major == 2:
            self._do("GetDirectionalDerivative", *unknowns, *knowns, seed[0], sensitivity[0])
        else:
            self._do("GetDirectionalDerivative", *unknowns, *knowns, *seed, *sensitivity)

    def _count(self, function: str, stated: int) -> int:
        """A number from the FMU in FMI 3.0, where arrays and structural parameters change it; stated in FMI 2.0."""
        if self.major == 2:
            return stated
        number = c_size_t()
        self._do(function, byref(number))
        return number.value

    def _do(self, function: str, *arguments: Any) -> None:
        status = self._call[function](self._component, *arguments)
        if status > _WARNING:
            self._refuse(function, status)

    def refusal(self, function: str, status: int) -> FmiError:
        """Error of a function, by its full name, which somebody else has called."""
        self._instance.note(status)
        return FmiError(self.name, function, status, self._instance.log.latest())

    def _refuse(self, function: str, status: int) -> NoReturn:
        raise self.refusal(f"fmi{self.major}{function}", status)


class Qualifier(IntEnum):
    """Qualifier of an interval (FMI 3.0, fmi3IntervalQualifier)."""

    NOT_YET_KNOWN = 0
    UNCHANGED = 1
    CHANGED = 2


@dataclass(frozen=True, slots=True)
class EventMode:
    """Calls of event mode. Every method raises `FmiError` for a status worse than a warning.

    References
    ----------
    FMI 3.0 §2.3.3 (event mode), §2.2.8 (clocks), §4.2 (co-simulation).
    """

    instance: FmuInstance

    @property
    def name(self) -> str:
        return self.instance.name

    def enter(self) -> None:
        self.instance.call("enterEventMode")

    def leave(self) -> None:
        """Enter step mode."""
        self.instance.call("enterStepMode")

    def update(self) -> DiscreteUpdate:
        """One event iteration."""
        again, terminate, nominals, states, defined = (c_bool() for _ in range(5))
        time = c_double()
        flags = [byref(flag) for flag in (again, terminate, nominals, states, defined)]
        self._call("fmi3UpdateDiscreteStates", *flags, byref(time))
        next_time = time.value if defined else math.inf
        return DiscreteUpdate(again.value, terminate.value, nominals.value, states.value, next_time)

    def tick(self, clocks: Sequence[FmuClock]) -> None:
        """Activate input clocks."""
        count = len(clocks)
        self._call("fmi3SetClock", _references(clocks), count, (c_bool * count)(*(True for _ in clocks)))

    def ticking(self, clocks: Sequence[FmuClock]) -> tuple[FmuClock, ...]:
        """The active ones of these output clocks; an FMU reports each activation only once."""
        found = (c_bool * len(clocks))()
        self._call("fmi3GetClock", _references(clocks), len(clocks), found)
        return tuple(clock for clock, active in zip(clocks, found, strict=True) if active)

    def interval(self, clock: FmuClock) -> tuple[Fraction, Qualifier]:
        """The time until the next tick [s], and its qualifier."""
        qualifier = (c_int * 1)()
        if clock.supports_fraction:
            counter, resolution = (c_uint64 * 1)(), (c_uint64 * 1)()
            self._call("fmi3GetIntervalFraction", _references([clock]), 1, counter, resolution, qualifier)
            return Fraction(counter[0], resolution[0] or 1), Qualifier(qualifier[0])
        decimal = (c_double * 1)()
        self._call("fmi3GetIntervalDecimal", _references([clock]), 1, decimal, qualifier)
        seconds = decimal[0] if math.isfinite(decimal[0]) else 0.0
        return Fraction(seconds), Qualifier(qualifier[0])

    def shift(self, clock: FmuClock) -> Fraction:
        """The time of the first tick after the start [s]."""
        if clock.supports_fraction:
            counter, resolution = (c_uint64 * 1)(), (c_uint64 * 1)()
            self._call("fmi3GetShiftFraction", _references([clock]), 1, counter, resolution)
            return Fraction(counter[0], resolution[0] or 1)
        decimal = (c_double * 1)()
        self._call("fmi3GetShiftDecimal", _references([clock]), 1, decimal)
        return Fraction(decimal[0] if math.isfinite(decimal[0]) else 0.0)

    def tell(self, clock: FmuClock) -> None:
        """Set the chosen interval and shift of a clock, in initialization mode or event mode."""
        for what, function in (("interval", "fmi3SetInterval"), ("shift", "fmi3SetShift")):
            time = clock.interval if what == "interval" else clock.shift
            if what not in clock.told or time is None:
                continue
            if clock.supports_fraction:
                fraction = (c_uint64 * 1)(time.numerator), (c_uint64 * 1)(time.denominator)
                self._call(f"{function}Fraction", _references([clock]), 1, *fraction)
            else:
                self._call(f"{function}Decimal", _references([clock]), 1, (c_double * 1)(float(time)))

    def _call(self, function: str, *arguments: object) -> None:
        self.instance.call(function, self.instance.component, *arguments)


def _references(clocks: Sequence[FmuClock]) -> object:
    return (c_uint * len(clocks))(*(clock.reference for clock in clocks))
