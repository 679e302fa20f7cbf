"""Values of a stepped simulation by name: read, set, and recorded."""

from collections.abc import Collection, Mapping, Sequence
from math import floor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.assembly.applied_stimuli import propagate, why_not
from ssptool.engine.assembly.assembly import Assembly
from ssptool.engine.failure import Failure, RunError
from ssptool.engine.kernel.calls import Floats
from ssptool.engine.kernel.slot_values import read_slot, write_slot
from ssptool.engine.planning.events import CLOCK
from ssptool.engine.planning.fixed_steps import (
    bound_to_steps,
    common_step,
    fixed_steps,
    of_one_size,
    whole_number,
)
from ssptool.engine.planning.plan import Plan
from ssptool.engine.recording.patterns import near_names
from ssptool.engine.run.selection import Inside
from ssptool.engine.run.system import SystemSteps
from ssptool.engine.time_grid import exactly
from ssptool.engine.trace import REAL_TYPES
from ssptool.errors import UnknownName, WrongType, WrongUsage, WrongValue, abbreviated
from ssptool.fmu.description import Causality, Value, Variability
from ssptool.fmu.instance import FmuInstance
from ssptool.network.arrays import elements
from ssptool.network.conversion import convert
from ssptool.network.network import Signal


def not_running(*, ended: bool) -> WrongUsage:
    """The error for a simulation outside of its context, where it has no FMUs."""
    reason = "has ended with its context: make a new one" if ended else "runs in a `with` statement only"
    return WrongUsage(f"a simulation {reason}")


def past_the_end(time: float, stop: float, *, ended: bool = False) -> WrongValue:
    """The error for a time [s] after the stop time [s], or after a component has `ended` the simulation there."""
    if ended:
        return WrongValue(f"a component ended the simulation at t = {float(stop)!r} s")
    return WrongValue(f"t = {float(time)!r} s is after the stop time of {float(stop)!r} s; plan with a later one")


def check_end(plan: Plan, time: float, now: float) -> None:
    """Check that FMUs accept the step from `now` to `time` [s], which is not after the stop time.

    Raises
    ------
    WrongValue
        The message has the nearest times at which a step can end.
    """
    interval, of = plan.interval, {one.name: one.interface for one in plan.instances}
    bound = bound_to_steps(plan.network, of, plan.settings.step_size)
    if time == interval.stop or bound is None:
        return
    start, spacing = exactly(interval.start), exactly(interval.step)
    internal = [one for one in fixed_steps(plan.network, of, plan.settings.step_size) if one.internal]
    undivided = all(plan.substep_counts.get(one.component, 1) == 1 for one in internal)
    if not of_one_size(plan.network, of) and undivided:
        spacing = common_step(internal, {})
    number = (exactly(time) - start) / spacing
    if whole_number(number) is None:
        near = (float(start + one * spacing) for one in (floor(number), floor(number) + 1))
        component, why = bound
        nearest = [one for one in near if now < one <= interval.stop] or [interval.stop]
        raise WrongValue(
            f"no step can end at t = {time!r} s: the FMU of {component} {why}; step to "
            f"{' or '.join(f'{one:.12g} s' for one in nearest)}"
        )


class SimulationValues:
    """Present values of a simulation, by name."""

    def __init__(self, plan: Plan, assembly: Assembly) -> None:
        self._plan = plan
        self._kernel = assembly.kernel
        self._arrays = plan.network.arrays
        shown = set(plan.shown)  # as they were at the last row
        self._slots = {signal: slot for slot, signal in enumerate(plan.signals) if slot not in shown}
        self._inside = Inside(plan)
        self.instances: Mapping[str, FmuInstance] = {one.name: one for one in assembly.instances}

    def signal(self, name: str) -> Signal:
        """The signal of this name, or of the only one that differs from it in upper and lower case alone.

        Raises
        ------
        UnknownName, AmbiguousName
        """
        if (found := self._known(name)) is not None:
            return found
        if (own := self._inside.called(name)) is not None and (found := self._known(own)) is not None:
            return found
        names = [*map(str, self._slots), *self._inside.names]
        raise UnknownName(f"the system has no variable {name!r}", name, near=near_names(name, names))

    def knows(self, name: str) -> bool:
        """True if `signal` finds the name."""
        return self._known(name) is not None

    def _known(self, name: str) -> Signal | None:
        return next(filter(self._is_known, self._plan.network.readings(name)), None)

    def _is_known(self, signal: Signal) -> bool:
        component = self._plan.network.components.get(signal.component)
        variables = component.description.variables if component else ()
        exchanged = signal in self._slots or signal in self._arrays or signal in self._inside.connectors
        return exchanged or signal.variable in variables

    # -- reading ---------------------------------------------------------------------------------------------

    def get(self, signal: Signal) -> Any:
        """Get a value; for an array all values in its shape; strings and bytes as objects."""
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
            return read_slot(self._kernel, slot, self._plan.types[slot])
        if signal in self._inside.connectors:
            return self._of_connector(signal)
        return self.instances[signal.component].get([signal.variable])[signal.variable]

    def _of_connector(self, signal: Signal) -> Value:
        """Value of a connector of a nested system."""
        route = self._inside.route(signal)
        if route is None:
            return self._plan.network.boundary_assignments[signal].value
        value = self._scalar(route.source)
        return route.conversion.carry(float(value) if self._inside.kind(signal) in REAL_TYPES else value)

    # -- writing ---------------------------------------------------------------------------------------------

    def given(self, name: str, signal: Signal, value: Any) -> dict[Signal, Any]:
        """Values by signal for the variable of this name: one for a scalar, one for each element of an array."""
        if signal not in self._arrays:
            return {signal: self._item(name, signal, value.item() if isinstance(value, np.generic) else value)}
        shape, found = self._arrays[signal], np.asarray(value)
        if found.shape != shape:
            raise WrongValue(f"{name} has the shape {shape}, the value {found.shape}")
        every = zip(elements(signal, shape), found.ravel().tolist(), strict=True)
        return {element: self._item(name, element, own) for element, own in every}

    def _item(self, name: str, signal: Signal, value: Any) -> Any:
        """Number of an item of an enumeration, given by number or name. Raises `InvalidValue`."""
        component = self._plan.network.components.get(signal.component)
        variable = None if component is None else component.description.variables.get(signal.variable)
        if variable is None or variable.type != "Enumeration":
            return value
        return convert(name, value, variable.type, variable.items)

    def write(self, name: str, given: Mapping[Signal, Any]) -> None:
        """Write known signals to kernel slots."""
        for signal, value in given.items():
            if isinstance(value, float) and np.isnan(value):
                raise WrongValue(f"{name} cannot be NaN during a run; only start values can")
            if signal not in self._slots:
                continue
            slot = self._slots[signal]
            try:
                write_slot(self._kernel, slot, self._plan.types[slot], value)
            except (TypeError, ValueError, OverflowError) as error:
                expected = f"expected a value of type {self._plan.types[slot]}"
                kind = next(own for python, own in _OWN.items() if isinstance(error, python))
                raise kind(f"{name} cannot be {value!r}: {expected}") from error

    # -- changes at the present communication point ------------------------------------------------------------

    def change(self, system: SystemSteps, name: str, signal: Signal, given: Mapping[Signal, Any], time: float) -> None:
        """Set the variable of this name to values by signal, and update all outputs. A rejected value changes nothing
        in the kernel. Raises RunError if the simulation cannot continue with them.
        """
        component = signal.component
        before = self._kernel.integers.copy()  # the same memory as `values`

        def set_value(signal: Signal, value: Value) -> None:
            self.write(str(signal), {signal: value})
            self._tell(system, signal.component, {signal: value}, time)

        try:
            self.write(name, given)
            self._tell(system, component, given, time)
            told: Collection[str] = (component,)
            if self._plan.parameter_wires and component:
                told = propagate(self._plan, self.instances, told, set_value, time)
        except Exception:
            self._kernel.integers[:] = before
            raise
        _check(system.follow(told, time))

    def _tell(self, system: SystemSteps, name: str, given: Mapping[Signal, Any], time: float) -> None:
        """Set values in the FMU of a component, in event mode if it has one. A clocked input waits for the next tick of
        its clock.
        """
        modes = self._plan.event_modes
        integrated = name in {one.name for one in self._plan.integrated}
        at_events = name in modes.members or (integrated and modes.with_ode)
        waiting = {each for each in given if at_events and self._plan.network.variable(each).clocks}
        values = {each.variable: own for each, own in given.items() if each not in waiting}

        def act() -> None:
            if name and values:
                self.instances[name].set(values)

        if at_events or integrated or (not name and self._plan.is_one_ode):
            _check(system.intervene(time, act, at_events=at_events))
        else:
            act()


_OWN: Mapping[type[Exception], type[Exception]] = {
    TypeError: WrongType,
    ValueError: WrongValue,
    OverflowError: WrongValue,
}
"""Error of Python → the same kind of error with a message for the user."""


def check_settable(plan: Plan, name: str, signals: Collection[Signal]) -> None:
    """Check that a variable of this name, with these elements, can be set during a run.

    Raises
    ------
    WrongValue
        The variable is driven, fixed or computed.
    """
    for source in plan.stimuli.sources:
        if source.signal in signals:
            raise WrongValue(f"{name} cannot be set: it is driven, by {source.origin}")
    for wire in plan.network.wires:
        if wire.destination in signals:
            raise WrongValue(f"{name} cannot be set: it is driven by {wire.source}")
    for signal in signals:
        if reason := _why_not(plan, signal):
            raise WrongValue(f"{name} cannot be set: {reason}")


def _why_not(plan: Plan, signal: Signal) -> str:
    """Reason why a variable of its kind cannot be set; empty if it can."""
    if not signal.component and signal in plan.signals:
        return "" if plan.signals.index(signal) in plan.constants else "it is an output of the system"
    if signal.component not in plan.network.components:
        return f"it is a connector of a system; {_led_to(plan, signal)}"
    variable = plan.network.variable(signal)
    if variable.type == CLOCK:
        return "it is a clock; it ticks at its own times, or where a connection triggers it"
    if variable.causality is Causality.INPUT:
        return ""
    if variable.causality is Causality.PARAMETER and variable.variability is Variability.TUNABLE:
        return why_not(plan.network, plan.parameter_wires, signal)
    return f"it is a {variable.variability} {variable.causality}; inputs and tunable parameters can be set"


def _led_to(plan: Plan, signal: Signal) -> str:
    """Advice: variables to set instead of the connector of a system."""
    wires = (*plan.network.wires, *plan.network.dangling)
    ends = {wire.destination for wire in wires if signal in (wire.source, *(leg.destination for leg in wire.legs))}
    inside = sorted(str(end) for end in ends if end != signal and end.component in plan.network.components)
    return f"set {abbreviated(inside)}, which it drives" if inside else "set inputs and parameters of components"


def _check(failure: Failure | None) -> None:
    if failure is not None:
        raise RunError(failure)


class PointOfRows(NamedTuple):
    """Rows of a simulation up to a point: their number, and data that later rows depend on."""

    added: int
    recorded: int
    accepted: float
    last: Floats
    at_point: bool
    jumped: bool


class SimulationRows:
    """Rows of a simulation.

    Attributes
    ----------
    accepted : [s]
        Time of the last accepted point.
    last : (1 + slots,)
        The last row, which may not be recorded.
    count
        Number of added rows.
    at_point
        True at a communication point, False at a side of an event.
    """

    def __init__(self, slots: int, recorded: Sequence[int]) -> None:
        self.accepted = 0.0
        self.last: Floats = np.zeros(1 + slots)
        self.count = 0
        self.at_point = True
        self._chosen = [0, *(1 + slot for slot in recorded)]
        self._rows: list[Floats] = []
        self._points: list[NDArray[np.bool_]] = []
        self._jumped = False  # the last row is the right side of jumps

    @property
    def time(self) -> float:
        """Time of the last row [s]."""
        return float(self.last[0])

    @property
    def recorded(self) -> Floats:
        """(n, 1 + recorded) All rows since the context was entered: time and recorded signals."""
        self._rows = [np.concatenate(self._rows)] if self._rows else []
        return self._rows[0] if self._rows else np.empty((0, len(self._chosen)))

    @property
    def points(self) -> NDArray[np.bool_] | None:
        """(n,) True for rows at communication points; None: all rows."""
        found = np.concatenate([*self._points, np.ones(0, dtype=bool)])
        return None if found.all() else found

    def add(self, rows: Floats, points: NDArray[np.bool_] | None = None) -> None:
        """Add rows; `points` is True for accepted points; None: all."""
        if not len(rows):
            return
        self.count += len(rows)
        self._jumped = False
        self.at_point = points is None or bool(points[-1])
        self.last = rows[-1].copy()
        self._rows.append(rows[:, self._chosen])
        self._points.append(np.ones(len(rows), dtype=bool) if points is None else points)
        if len(accepted := rows if points is None else rows[points]):
            self.accepted = float(accepted[-1, 0])

    def jump(self, values: Floats) -> None:
        """Add one row for all jumps of signals (slots,) at the time of the last row."""
        self.last = np.concatenate([[self.time], values])
        self.accepted = self.time
        if self._jumped:
            self._rows[-1][-1] = self.last[self._chosen]
            return
        self._rows.append(self.last[np.newaxis, self._chosen])
        self._points.append(np.ones(1, dtype=bool))
        self._jumped = True

    def go_on(self, accepted: float, last: Floats) -> None:
        """Continue with the rows of another simulation."""
        self.accepted, self.last, self._jumped = accepted, last, False
        self._rows, self._points = [last[np.newaxis, self._chosen]], [np.ones(1, dtype=bool)]

    def point(self) -> PointOfRows:
        """The present point, for `go_back`."""
        return PointOfRows(self.count, len(self.recorded), self.accepted, self.last, self.at_point, self._jumped)

    def go_back(self, point: PointOfRows) -> None:
        """Drop all rows after this point."""
        recorded, points = self.recorded[: point.recorded].copy(), np.concatenate(self._points)[: point.recorded]
        recorded[-1] = point.last[self._chosen]  # which may have jumped once more
        self._rows, self._points = [recorded], [points]
        self.count, self.accepted, self.last = point.added, point.accepted, point.last
        self.at_point, self._jumped = point.at_point, point.jumped
