"""Running FMUs behind the same operations for FMI 1.0, 2.0 and 3.0, called through ctypes.

Every operation returns None, or the function that failed and its status. Numpy buffers are passed by address.
"""

import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from ctypes import c_bool, c_double, c_int, c_size_t, c_void_p
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.kernel.interface import FLOAT, FUNCTIONS, Floats, InstanceTable, functions_for

References = NDArray[np.uint32]
Function = Callable[..., int]
WARNING = 1
ERROR = 3


class TwinFailure(NamedTuple):
    """An FMI function that returned something worse than a warning."""

    function: str
    status: int


class Motion(NamedTuple):
    """How the inputs of an instance run over a step: value, first and second derivative at its start."""

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


class Following:
    """How far an FMU follows its inputs over a step. It may refuse to at any time, which costs no step: from then on
    they run as polynomials of a lower order, or are held at their value in the middle of the step.
    """

    def __init__(self) -> None:
        self.order = 2  # the highest that it has not refused
        self.since = 0.0  # the start of the step in which it refused the last one [s]
        self.by: TwinFailure | None = None

    def refused(self, order: int, t: float, by: TwinFailure) -> bool:
        """Whether a refusal of polynomials of this order is one that the FMU can go on after."""
        if by.status > ERROR:
            return False
        self.order, self.since, self.by = order - 1, t, by
        return True

    def course(self, motion: Motion, h: float) -> Motion:
        """A line goes through both ends of the parabola, a constant through the middle of what is bent or moves."""
        if self.order >= 2 or motion.order() <= self.order:
            return motion
        nothing = np.zeros_like(motion.value)
        if self.order == 0:
            return Motion(motion.at(0.5 * h), nothing, nothing)
        return Motion(motion.value, motion.first + (0.5 * h) * motion.second, nothing)


class FmiInstance(Protocol):
    """One running FMU, whatever its version of FMI."""

    following: Following

    get_function: str  # the name under which a failing or nan-returning `get` is reported

    @property
    def has_saved_state(self) -> bool: ...

    def set(self, references: References, values: Floats) -> TwinFailure | None: ...

    def get(self, references: References, values: Floats) -> TwinFailure | None:
        """Fill `values`."""

    def access(self, function: str, references: References, values: NDArray[Any]) -> TwinFailure | None:
        """Set or get by a function that takes or fills `values` of its own type; see `Typed.room`."""

    def step(self, t: float, h: float, motion: Motion) -> TwinFailure | None:
        """Set the inputs to their course over the step and do it."""

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
"""Of all that sets or gets variables."""


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


def float_references(references: Sequence[int], types: Sequence[str], elements: Sequence[int]) -> References:
    """Those of type Float64, of an array one."""
    known = zip(references, types, elements, strict=True)
    return np.array([r for r, kind, element in known if kind == FLOAT and element == 0], dtype=np.uint32)


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


class Rates:
    """Input derivatives as the functions of FMI 1.0 and 2.0 take them, when they have to be set."""

    def __init__(self, inputs: References) -> None:
        self._inputs = inputs
        self.told_order = 0  # the highest input derivative that the FMU may still act on

    def due(self, motion: Motion, told: int) -> tuple[int, int, int, int]:
        """(references, their number, orders, values) up to the order `told`, valid until the next call."""
        self._orders = np.repeat(np.arange(1, told + 1, dtype=np.int32), self._inputs.size)
        self._references = np.tile(self._inputs, told)
        self._values = np.concatenate((motion.first, motion.second)[:told])
        self.told_order = motion.order()
        return self._references.ctypes.data, self._references.size, self._orders.ctypes.data, self._values.ctypes.data


class BeforeFmi3:
    """What FMI 1.0 and 2.0 have in common but for the names of their functions."""

    prefix: ClassVar[str]

    def __init__(self, table: InstanceTable) -> None:
        self._component = table.component
        self._functions = functions(table)
        self._inputs = float_references(table.input_references, table.input_types, table.input_elements)
        self._rates = Rates(self._inputs)
        self.following = Following()

    def set(self, references: References, values: Floats) -> TwinFailure | None:
        return self.access(self.prefix + "SetReal", references, values)

    def get(self, references: References, values: Floats) -> TwinFailure | None:
        return self.access(self.prefix + "GetReal", references, values)

    def access(self, function: str, references: References, values: NDArray[Any]) -> TwinFailure | None:
        return self._call(function, references.ctypes.data, references.size, values.ctypes.data)

    def _set_inputs(self, motion: Motion, t: float, h: float) -> TwinFailure | None:
        """To their course over the step from t, as far as the FMU follows it."""
        while self._inputs.size:
            taken = self.following.course(motion, h)
            if failure := self.set(self._inputs, taken.value):
                return failure
            # An order that was in effect is told once more, as zero: else the FMU might keep following it.
            before = self._rates.told_order
            told = max(taken.order(), before)
            if told == 0:
                return None
            failure = self._call(self.prefix + "SetRealInputDerivatives", *self._rates.due(taken, told))
            if failure is None:
                return None
            if not self._refused(told, before, t, failure):
                return failure
            if self._rates.told_order == 0 and taken.order() == 0:
                return None  # held, and nothing more can be said to it
        return None

    def _refused(self, told: int, before: int, t: float, failure: TwinFailure) -> bool:
        """What was in effect before may still be; that nothing is any more is worth one more call."""
        if self.following.order == 0 and failure.status <= ERROR:
            self._rates.told_order = 0
            return True
        self._rates.told_order = min(before, max(told - 1, 1))
        return self.following.refused(told, t, failure)

    def _call(self, name: str, *arguments: float) -> TwinFailure | None:
        return checked(name, self._functions[name](self._component, *arguments))


class Fmi1Instance(BeforeFmi3):
    """FMI 1.0 co-simulation, which has neither saved states nor directional derivatives. What can reject steps does
    the last one again: so the only state that it can go back to is that before its last step, and with the next step
    only.
    """

    prefix = "fmi"
    get_function = "fmiGetReal"

    def __init__(self, table: InstanceTable) -> None:
        super().__init__(table)
        self.has_saved_state = False
        self._again = False
        self._told_order_saved = 0

    def step(self, t: float, h: float, motion: Motion) -> TwinFailure | None:
        again, self._again = self._again, False
        return self._set_inputs(motion, t, h) or self._call("fmiDoStep", t, h, not again)

    def save(self) -> TwinFailure | None:
        self.has_saved_state, self._again = True, False
        self._told_order_saved = self._rates.told_order
        return None

    def restore(self) -> TwinFailure | None:
        if not self.has_saved_state:
            return TwinFailure("restoring the state", ERROR)
        self._again = True
        self._rates.told_order = max(self._rates.told_order, self._told_order_saved)
        return None

    def release(self) -> None:
        self.has_saved_state = self._again = False

    def directional(
        self, unknowns: References, knowns: References, seed: Floats, sensitivity: Floats
    ) -> TwinFailure | None:
        return TwinFailure("directional derivatives", ERROR)


class Fmi2Instance(BeforeFmi3):
    """FMI 2.0 co-simulation."""

    prefix = "fmi2"
    get_function = "fmi2GetReal"

    def __init__(self, table: InstanceTable) -> None:
        super().__init__(table)
        self._told_order_saved = 0
        self._state = SavedState(
            table.component,
            self._functions["fmi2GetFMUstate"],
            self._functions["fmi2SetFMUstate"],
            self._functions["fmi2FreeFMUstate"],
        )

    @property
    def has_saved_state(self) -> bool:
        return bool(self._state)

    def step(self, t: float, h: float, motion: Motion) -> TwinFailure | None:
        return self._set_inputs(motion, t, h) or self._call("fmi2DoStep", t, h, 0 if self._state else 1)

    def save(self) -> TwinFailure | None:
        self._told_order_saved = self._rates.told_order
        return checked("fmi2GetFMUstate", self._state.save())

    def restore(self) -> TwinFailure | None:
        # Whether a state includes the input derivatives is the FMU's secret, so expect either.
        self._rates.told_order = max(self._rates.told_order, self._told_order_saved)
        return checked("fmi2SetFMUstate", self._state.restore())

    def release(self) -> None:
        self._state.release()

    def directional(
        self, unknowns: References, knowns: References, seed: Floats, sensitivity: Floats
    ) -> TwinFailure | None:
        return self._call(
            "fmi2GetDirectionalDerivative",
            *(unknowns.ctypes.data, unknowns.size, knowns.ctypes.data, knowns.size),
            *(seed.ctypes.data, sensitivity.ctypes.data),
        )


TO_END = "fmi3DoStep:terminateSimulation"


class Fmi3Instance:
    """FMI 3.0 co-simulation. In event mode, what a step says goes to a report."""

    get_function = "fmi3GetFloat64"

    def __init__(self, table: InstanceTable) -> None:
        self._component = table.component
        self._functions = functions(table)
        self._inputs = float_references(table.input_references, table.input_types, table.input_elements)
        self._has_environment = table.environment != 0
        self._report = table.report
        self.following = Following()
        self._ends_from = math.inf  # the middle of the step in which it has asked to end the simulation
        self._start = 0.0
        self._motion: Motion | None = None  # while a step is under way
        self._intermediate_failure: TwinFailure | None = None
        self._state = SavedState(
            table.component,
            self._functions["fmi3GetFMUState"],
            self._functions["fmi3SetFMUState"],
            self._functions["fmi3FreeFMUState"],
        )

    @property
    def has_saved_state(self) -> bool:
        return bool(self._state)

    def set(self, references: References, values: Floats) -> TwinFailure | None:
        return self.access("fmi3SetFloat64", references, values)

    def get(self, references: References, values: Floats) -> TwinFailure | None:
        return self.access("fmi3GetFloat64", references, values)

    def step(self, t: float, h: float, motion: Motion) -> TwinFailure | None:
        taken = self.following.course(motion, h) if self.following.order == 0 else motion
        if self._inputs.size and (failure := self.set(self._inputs, taken.value)):
            return failure
        varies = taken.order() > 0
        if varies and not self._has_environment:
            return TwinFailure("fmi3DoStep:intermediateUpdate", ERROR)
        self._start, self._motion, self._intermediate_failure = t, taken if varies else None, None
        failure = self._do_step(t, h)
        self._motion = None
        return self._intermediate_failure or failure

    def _do_step(self, t: float, h: float) -> TwinFailure | None:
        if self._report is not None and self._report[2]:
            return None
        # The step in which it was said was a valid one; after it there is none, unless it has been taken back.
        if t >= self._ends_from:
            return TwinFailure(TO_END, 0)
        event, ends, early = c_bool(), c_bool(), c_bool()
        reached = c_double()
        flags = (ctypes.addressof(flag) for flag in (event, ends, early, reached))
        status = self._functions["fmi3DoStep"](self._component, t, h, not self._state, *flags)
        self._ends_from = t + 0.5 * ((reached.value if early else t + h) - t) if ends else math.inf
        if status > WARNING:
            return TwinFailure("fmi3DoStep", status)
        if self._report is not None:
            self._report[:2] = event.value or early.value, reached.value if early else t + h
        elif early:
            return TwinFailure(TO_END if ends else "fmi3DoStep:earlyReturn", status)
        elif event:
            return TwinFailure("fmi3DoStep:eventHandlingNeeded", status)
        return None

    def intermediate_update(self, time: float) -> None:
        """The FMU asks, inside a step, for its inputs at `time`."""
        if self._motion is not None:
            failure = self.set(self._inputs, self._motion.at(time - self._start))
            if failure is None:
                return
            self._motion = None  # they stay what they are
            if not self.following.refused(1, self._start, failure):
                self._intermediate_failure = failure

    def save(self) -> TwinFailure | None:
        return checked("fmi3GetFMUState", self._state.save())

    def restore(self) -> TwinFailure | None:
        return checked("fmi3SetFMUState", self._state.restore())

    def release(self) -> None:
        self._state.release()

    def directional(
        self, unknowns: References, knowns: References, seed: Floats, sensitivity: Floats
    ) -> TwinFailure | None:
        status = self._functions["fmi3GetDirectionalDerivative"](
            self._component,
            *(unknowns.ctypes.data, unknowns.size, knowns.ctypes.data, knowns.size),
            *(seed.ctypes.data, seed.size, sensitivity.ctypes.data, sensitivity.size),
        )
        return checked("fmi3GetDirectionalDerivative", status)

    def access(self, function: str, references: References, values: NDArray[Any]) -> TwinFailure | None:
        count = values.shape[-1]  # of binary variables there are two rows
        memory = [row.ctypes.data for row in np.atleast_2d(values)]
        status = self._functions[function](self._component, references.ctypes.data, references.size, *memory, count)
        return checked(function, status)
