"""One running FMU behind the same operations for every version of FMI, called through ctypes.

Every operation returns None, or the function that failed and its status. Numpy buffers are passed by address.
"""

import ctypes
from collections.abc import Callable, Mapping
from ctypes import c_bool, c_double, c_int, c_size_t, c_void_p
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.kernel.interface import FLOAT, FUNCTIONS, Floats, InstanceTable, functions_for
from ssptool.engine.kernel.twin.variables import References

Function = Callable[..., int]

WARNING = 1
DISCARD = 2
ERROR = 3


class TwinFailure(NamedTuple):
    """An FMI function that returned something worse than a warning."""

    function: str
    status: int


class Motion(NamedTuple):
    """Inputs of an instance over a step: value, first and second derivative at its start."""

    value: Floats
    first: Floats
    second: Floats

    def order(self) -> int:
        """The highest derivative that is not zero."""
        if np.any(self.second != 0.0):
            return 2
        return 1 if np.any(self.first != 0.0) else 0

    def at(self, s: float) -> Floats:
        """The inputs `s` seconds into the step."""
        return self.value + s * (self.first + (0.5 * s) * self.second)


class TwinFollowing:
    """Order up to which an FMU follows its inputs over a step. An FMU may refuse at any time, which costs no step: from
    then on inputs run as polynomials of a lower order, or are held at their value in the middle of the step.
    """

    def __init__(self) -> None:
        self.order = 2  # the highest that it has not refused
        self.since = 0.0  # the start of the step in which it refused the last one [s]
        self.by: TwinFailure | None = None

    def refused(self, order: int, t: float, by: TwinFailure) -> bool:
        """Handle a refusal of polynomials of this order; returns whether the FMU can continue."""
        if by.status > ERROR:
            return False
        self.order, self.since, self.by = order - 1, t, by
        return True

    def limited(self, motion: Motion, h: float) -> Motion:
        """A line goes through both ends of the parabola, a constant through the middle of what is bent or moves."""
        if self.order >= 2 or motion.order() <= self.order:
            return motion
        nothing = np.zeros_like(motion.value)
        if self.order == 0:
            return Motion(motion.at(0.5 * h), nothing, nothing)
        return Motion(motion.value, motion.first + (0.5 * h) * motion.second, nothing)


class FmiInstance(Protocol):
    """One running FMU, whatever its version of FMI."""

    following: TwinFollowing

    get_function: str  # the name under which a failing or nan-returning `get` is reported

    @property
    def has_saved_state(self) -> bool: ...

    def set(self, references: References, values: Floats) -> TwinFailure | None: ...

    def get(self, references: References, values: Floats) -> TwinFailure | None:
        """Fill `values`."""

    def access(self, function: str, references: References, values: NDArray[Any]) -> TwinFailure | None:
        """Set or get by a function that takes or fills `values` of its own type; see `Typed.room`."""

    def step(self, t: float, h: float, motion: Motion) -> TwinFailure | None:
        """Set the inputs as they run over the step, and do the step."""

    def save(self) -> TwinFailure | None: ...

    def restore(self) -> TwinFailure | None: ...

    def release(self) -> None: ...

    def directional(
        self, unknowns: References, knowns: References, seed: Floats, sensitivity: Floats
    ) -> TwinFailure | None:
        """Fill `sensitivity`."""


_ADDRESS, _COUNT, _REAL, _FLAG = c_void_p, c_size_t, c_double, c_int

_ARGUMENTS: Mapping[str, tuple[Any, ...]] = {
    "fmiSetRealInputDerivatives": (_ADDRESS, _ADDRESS, _COUNT, _ADDRESS, _ADDRESS),
    "fmiDoStep": (_ADDRESS, _REAL, _REAL, c_bool),
    "fmi2SetRealInputDerivatives": (_ADDRESS, _ADDRESS, _COUNT, _ADDRESS, _ADDRESS),
    "fmi2DoStep": (_ADDRESS, _REAL, _REAL, _FLAG),
    "fmi2GetFMUstate": (_ADDRESS, _ADDRESS),
    "fmi2SetFMUstate": (_ADDRESS, _ADDRESS),
    "fmi2FreeFMUstate": (_ADDRESS, _ADDRESS),
    "fmi2GetDirectionalDerivative": (_ADDRESS, _ADDRESS, _COUNT, _ADDRESS, _COUNT, _ADDRESS, _ADDRESS),
    **{f"fmi3{verb}Binary": (_ADDRESS, _ADDRESS, _COUNT, _ADDRESS, _ADDRESS, _COUNT) for verb in ("Set", "Get")},
    "fmi3DoStep": (_ADDRESS, _REAL, _REAL, c_bool, _ADDRESS, _ADDRESS, _ADDRESS, _ADDRESS),
    "fmi3GetFMUState": (_ADDRESS, _ADDRESS),
    "fmi3SetFMUState": (_ADDRESS, _ADDRESS),
    "fmi3FreeFMUState": (_ADDRESS, _ADDRESS),
    "fmi3GetDirectionalDerivative": (
        *(_ADDRESS, _ADDRESS, _COUNT, _ADDRESS, _COUNT),
        *(_ADDRESS, _COUNT, _ADDRESS, _COUNT),
    ),
}

_ACCESS: Mapping[int, tuple[Any, ...]] = {
    1: (_ADDRESS, _ADDRESS, _COUNT, _ADDRESS),
    2: (_ADDRESS, _ADDRESS, _COUNT, _ADDRESS),
    3: (_ADDRESS, _ADDRESS, _COUNT, _ADDRESS, _COUNT),
}
"""Signature of all functions that set or get variables."""


def functions(table: InstanceTable) -> dict[str, Function]:
    """The functions of the table, ready to be called.

    Raises
    ------
    ValueError
        The version of FMI is none that a kernel knows, or a type none that it carries, or an address is missing.
    """
    major = table.fmi_major
    if major not in FUNCTIONS:
        raise ValueError(f"FMI {major} is not one that a kernel steps: {sorted(FUNCTIONS)}")
    names = functions_for(major, (FLOAT, *table.input_types, *table.output_types, *table.observed_types))
    missing = [name for name in names if not table.functions.get(name)]
    if missing:
        raise ValueError(f"the function table has no {', '.join(missing)}")
    return {
        name: ctypes.CFUNCTYPE(c_int, *_ARGUMENTS.get(name, _ACCESS[major]))(table.functions[name]) for name in names
    }


def checked(function: str, status: int) -> TwinFailure | None:
    return TwinFailure(function, status) if status > WARNING else None


class SavedState:
    """The one saved state of an instance: FMI hands out an address and takes it back for reuse."""

    def __init__(self, component: int, take: Function, put: Function, free: Function) -> None:
        self._component, self._take, self._put, self._free = component, take, put, free
        self._address = c_void_p()

    def __bool__(self) -> bool:
        return bool(self._address)

    def save(self) -> int:
        return self._take(self._component, ctypes.addressof(self._address))

    def restore(self) -> int:
        return self._put(self._component, self._address)

    def release(self) -> None:
        if self._address:
            self._free(self._component, ctypes.addressof(self._address))
            self._address = c_void_p()
