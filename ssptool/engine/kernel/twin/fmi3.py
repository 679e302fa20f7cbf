"""FMI 3.0 co-simulation."""

import ctypes
import math
from ctypes import c_bool, c_double
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.kernel.interface import Floats, InstanceTable
from ssptool.engine.kernel.twin.instance import (
    DISCARD,
    ERROR,
    WARNING,
    Motion,
    SavedState,
    TwinFailure,
    TwinFollowing,
    checked,
    functions,
)
from ssptool.engine.kernel.twin.variables import References, float_references

TO_END = "fmi3DoStep:terminateSimulation"
EARLY_RETURN = "fmi3DoStep:earlyReturn"
CLOSE, INEXACT = 1e-9, 1e-2  # of the size of a step, as in fmi3.cpp


class _Told(NamedTuple):
    event: bool
    ends: bool
    early: bool
    reached: float


IntermediateUpdate = ctypes.CFUNCTYPE(
    *(None, ctypes.c_void_p, ctypes.c_double, ctypes.c_bool, ctypes.c_bool, ctypes.c_bool, ctypes.c_bool),
    *(ctypes.POINTER(ctypes.c_bool), ctypes.POINTER(ctypes.c_double)),
)


class TwinFmi3Instance:
    """FMI 3.0 co-simulation. In event mode, what a step says goes to a report."""

    get_function = "fmi3GetFloat64"

    def __init__(self, table: InstanceTable) -> None:
        self._component = table.component
        self._functions = functions(table)
        self._inputs = float_references(table.input_references, table.input_types, table.input_elements)
        self._has_environment = table.environment != 0
        self._report = table.report
        self.following = TwinFollowing()
        self.ended = math.nan  # where it has asked to end the simulation
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
        taken = self.following.limited(motion, h) if self.following.order == 0 else motion
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
        # The step that reported it is valid; the next one fails, unless that step was rolled back.
        if t >= self._ends_from:
            return TwinFailure(TO_END, 0)
        told = self._call(t, h)
        if isinstance(told, TwinFailure):
            return told
        self._ends_from = t + 0.5 * (told.reached - t) if told.ends else math.inf
        if self._report is None:
            if told.early:
                return TwinFailure(TO_END if told.ends else EARLY_RETURN, 0)
            return TwinFailure("fmi3DoStep:eventHandlingNeeded", 0) if told.event else None
        event = told.event or told.early
        if not self._report[3]:
            completed = self._complete(t, h, told)
            if isinstance(completed, TwinFailure):
                return completed
            told = completed
        self._report[:2] = event or told.event, told.reached
        return None

    def _complete(self, t: float, h: float, told: "_Told") -> "_Told | TwinFailure":
        """Complete, with this FMU alone, a step that it ended early without permission."""
        start, end, near_end = t, t + h, t + h - CLOSE * h
        if told.reached >= near_end:
            return told
        while told.reached < near_end:
            if told.ends:
                return TwinFailure(TO_END, 0)
            if told.reached <= start + CLOSE * h:
                return TwinFailure(EARLY_RETURN, 0)
            start = told.reached
            following = self._call(start, end - start)
            if isinstance(following, TwinFailure):
                return following
            told = following
        self._ends_from = t + 0.5 * h if told.ends else math.inf
        assert self._report is not None
        self._report[4] += 1.0
        return told

    def _call(self, t: float, h: float) -> "_Told | TwinFailure":
        event, ends, early = c_bool(), c_bool(), c_bool()
        reached = c_double(math.nan)
        flags = (ctypes.addressof(flag) for flag in (event, ends, early, reached))
        status = self._functions["fmi3DoStep"](self._component, t, h, not self._state, *flags)
        end, at = t + h, reached.value
        if status == DISCARD and ends:
            self.ended = t if math.isnan(at) else at
            return TwinFailure(TO_END, 0)
        if status > WARNING:
            return TwinFailure("fmi3DoStep", status)
        inside = t - CLOSE * h <= at <= end + CLOSE * h
        if not (inside if early else math.isnan(at) or abs(at - end) <= INEXACT * h):
            return TwinFailure("fmi3DoStep:lastSuccessfulTime", 0)
        at = at if early else end
        self.ended = at if ends else self.ended
        return _Told(event.value, ends.value, early.value, at)

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
