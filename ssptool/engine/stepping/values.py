"""Values of a simulation by their names: what is connected from the kernel, all else from the FMUs."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.assembly import Assembly
from ssptool.engine.cells import read_cell, write_cell
from ssptool.engine.columns import REAL_TYPES
from ssptool.engine.plan import Plan
from ssptool.engine.recording.patterns import near_names
from ssptool.engine.recording.selection import Inside
from ssptool.engine.stepping.errors import UnknownName
from ssptool.fmu.description import Value
from ssptool.fmu.instance import FmuInstance
from ssptool.network.arrays import elements
from ssptool.network.signals import Signal


class SimulationValues:
    """The present ones."""

    def __init__(self, plan: Plan, assembly: Assembly) -> None:
        self._plan = plan
        self._kernel = assembly.kernel
        self._arrays = plan.network.arrays
        shown = set(plan.shown)  # as they were at the last row
        self._slots = {signal: slot for slot, signal in enumerate(plan.signals) if slot not in shown}
        self._inside = Inside(plan)
        self.instances: Mapping[str, FmuInstance] = {one.name: one for one in assembly.instances}

    def signal(self, name: str) -> Signal:
        """Names of components and of variables may both have dots, so each is tried.

        Raises
        ------
        UnknownName
        """
        parts = name.split(".")
        for place in range(len(parts) - 1, -1, -1):
            signal = Signal(".".join(parts[:place]), ".".join(parts[place:]))
            component = self._plan.network.components.get(signal.component)
            known = component.description.variables if component else ()
            if signal in self._slots or signal in self._arrays or signal.variable in known:
                return signal
            if signal in self._inside.connectors:
                return signal
        names = [*map(str, self._slots), *self._inside.names]
        raise UnknownName(name, near_names(name, names))

    # -- reading ---------------------------------------------------------------------------------------------

    def get(self, signal: Signal) -> Any:
        """Of an array all values, with its shape; of texts and bytes as objects."""
        if signal not in self._arrays:
            return self._scalar(signal)
        shape = self._arrays[signal]
        every = elements(signal, shape)
        if every and every[0] not in self._slots:
            values = list(self.instances[signal.component].get([one.variable for one in every]).values())
        else:
            values = [self._scalar(one) for one in every]
        texts = any(isinstance(value, str | bytes) for value in values)
        found: NDArray[Any] = np.array(values, dtype=object if texts else None)
        return found.reshape(shape)

    def _scalar(self, signal: Signal) -> Value:
        if signal in self._slots:
            slot = self._slots[signal]
            return read_cell(self._kernel, slot, self._plan.types[slot])
        if signal in self._inside.connectors:
            return self._of_connector(signal)
        return self.instances[signal.component].get([signal.variable])[signal.variable]

    def _of_connector(self, signal: Signal) -> Value:
        """Of a system inside."""
        route = self._inside.route(signal)
        if route is None:
            return self._plan.network.boundary_assignments[signal].value
        value = self._scalar(route.source)
        return route.conversion.carry(float(value) if self._inside.kind(signal) in REAL_TYPES else value)

    # -- writing ---------------------------------------------------------------------------------------------

    def given(self, name: str, signal: Signal, value: Any) -> dict[Signal, Any]:
        """A value for the variable of this name: that of a scalar or of every element of an array."""
        if signal not in self._arrays:
            return {signal: value.item() if isinstance(value, np.generic) else value}
        shape, found = self._arrays[signal], np.asarray(value)
        if found.shape != shape:
            raise ValueError(f"{name} has the shape {shape}, the value {found.shape}")
        return dict(zip(elements(signal, shape), found.ravel().tolist(), strict=True))

    def write(self, name: str, given: Mapping[Signal, Any]) -> None:
        """Into the kernel, of what it knows."""
        for signal, value in given.items():
            if isinstance(value, float) and np.isnan(value):
                raise ValueError(f"{name} cannot be nan: no FMU could go on from there")
            if signal not in self._slots:
                continue
            slot = self._slots[signal]
            try:
                write_cell(self._kernel, slot, self._plan.types[slot], value)
            except (TypeError, ValueError, OverflowError) as error:
                expected = f"expected a value of type {self._plan.types[slot]}"
                raise type(error)(f"{name} cannot be {value!r}: {expected}") from error

    def is_constant(self, signal: Signal) -> bool:
        """Whether it is an input of the system that nothing drives."""
        return self._slots[signal] in self._plan.constants
