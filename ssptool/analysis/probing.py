"""Systems of model exchange at one instant: their states and signals, and evaluations of them elsewhere."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ssptool.analysis.linear_model import LinearVariable
from ssptool.engine.failure import UnsupportedByFmu
from ssptool.engine.kernel.calls import Floats
from ssptool.engine.kernel.solutions import SystemRefusal
from ssptool.engine.planning.plan import Plan, PlannedInstance, PlannedWire
from ssptool.engine.recording.patterns import near_names
from ssptool.engine.run.initialization import refused_call
from ssptool.engine.stepping.simulation import SteppedRun
from ssptool.engine.trace import REAL_TYPES
from ssptool.errors import UnknownName, WrongValue
from ssptool.fmu.description import InterfaceType, Variable
from ssptool.fmu.instance import FmiError

if TYPE_CHECKING:
    from ssptool.engine.kernel._kernel import NativeProbe

Found = TypeVar("Found")


def check_probed(plan: Plan, what: str) -> None:
    """Check that all components are integrated as one ODE.

    Raises
    ------
    UnsupportedByFmu
        A component is stepped by co-simulation, and so gives no derivatives; `what` is asked for.
    """
    for one in plan.instances:
        if one.interface is InterfaceType.CO_SIMULATION:
            raise UnsupportedByFmu(
                one.name,
                "offers model exchange",
                what,
                "an FMU of this component that offers model exchange, or remove it and name what it drives as inputs",
            )


class ProbedRun(SteppedRun):
    """A run of a system of model exchange that can be evaluated elsewhere, between its steps."""

    def quantity(self, name: str) -> LinearVariable:
        """A real variable of this name, at the present time.

        Raises
        ------
        UnknownName
        WrongValue
            It is not a real number.
        """
        value, signal = self.get(name), self._values.signal(name)
        if not isinstance(value, float):
            raise WrongValue(f"{name} is not a real number: nothing can be derived with respect to it")
        component = self.plan.network.components.get(signal.component)
        unit = None if component is None else component.description.variables[signal.variable].unit
        return LinearVariable(name, unit, value, signal.component)

    def probe(self) -> "Probe":
        """The system at the present time of the run, which must not go on while the probe is in use."""
        self._check_running()

        def explained(call: Callable[[], Found]) -> Found:
            try:
                return call()
            except FmiError as error:  # without messages
                refusal = SystemRefusal(error.instance, error.function, error.status)
                raise refused_call(self._assembly, refusal) from None

        native = explained(self._loaded.native.probe)
        return Probe(self.plan, native, self._assembly.kernel.values, self.time, explained)


class Probe:
    """A system of model exchange at one instant.

    Attributes
    ----------
    plan
    t : [s]
    x0 : (n,)
        States at the point, all components together.
    nominal : (n,)
        Their usual sizes, positive.
    values : (slots,)
        Values of all signals after the last evaluation, by slot: a view.
    parts
        The components, in the order of their states.
    """

    def __init__(
        self,
        plan: Plan,
        native: "NativeProbe",
        values: Floats,
        t: float,
        explained: Callable[[Callable[[], Floats]], Floats],
    ) -> None:
        self.plan, self.values, self.t = plan, values, t
        self._native, self._explained = native, explained
        self.x0 = self._explained(lambda: native.present_states(t))
        self.nominal = self._explained(lambda: native.nominal_states(t))
        self.parts = tuple(self._parts())
        self.given: dict[int, float] = {}
        self.stand(self.x0)

    def _parts(self) -> Iterator["ProbedPart"]:
        first = 0
        for number, one in enumerate(self.plan.integrated):
            count = self._native.states(number)
            yield ProbedPart(self, number, one, range(first, first + count), self._native)
            first += count

    def stand(self, x: Floats, given: Sequence[tuple[int, float]] = ()) -> None:
        """Make these states (n,), with values for slots that nothing feeds, the point. Slots keep values that they were
        given before. Raises RunError, FmiError.
        """
        self.given = {**self.given, **dict(given)}
        self.x0 = np.array(x, dtype=np.float64)
        self.slopes0 = self.evaluate(self.x0, self.given)
        self.values0 = self.values.copy()

    def evaluate(self, x: Floats, given: Mapping[int, float]) -> Floats:
        """(n,) Derivatives at these states (n,), through algebraic loops, with values for slots that nothing feeds.
        `values` are those of this point then. Raises RunError, FmiError.
        """
        passed = self._passed_on(given)
        slots, numbers = list(passed), list(passed.values())
        found = self._explained(lambda: self._native.evaluate(self.t, x.tolist(), slots, numbers))
        for wire in self._to_connectors:
            self.values[wire.destination] = wire.conversion.factor * self.values[wire.source] + wire.conversion.offset
        return found

    @cached_property
    def _to_connectors(self) -> tuple[PlannedWire, ...]:
        """Wires to connectors of the system, which no schedule computes; sources first."""
        own = [one for one in self.plan.wires if self.is_real(one.source) and self.is_real(one.destination)]
        found = [wire for wire in own if not self.plan.signals[wire.destination].component]
        waiting = {wire.destination for wire in found}
        ordered: list[PlannedWire] = []
        while found:
            ready = [wire for wire in found if wire.source not in waiting]
            ordered += ready
            waiting -= {wire.destination for wire in ready}
            found = [wire for wire in found if wire not in ready] if ready else []
        return tuple(ordered)

    def _passed_on(self, given: Mapping[int, float]) -> dict[int, float]:
        """The given values, and those of signals that they are wired to: schedules do not set what is constant."""
        found = dict(given)
        waiting = list(found)
        for slot in waiting:
            for wire in self._wires_from.get(slot, ()):
                found[wire.destination] = wire.conversion.factor * found[slot] + wire.conversion.offset
                waiting.append(wire.destination)
        return found

    @cached_property
    def _wires_from(self) -> dict[int, list[PlannedWire]]:
        found: dict[int, list[PlannedWire]] = defaultdict(list)
        for wire in self.plan.wires:
            found[wire.source].append(wire)
        return found

    def call(self, act: Callable[[], Floats]) -> Floats:
        """The answer of a call of a component. Raises RunError, FmiError."""
        return self._explained(act)

    # -- names -----------------------------------------------------------------------------------------------

    @property
    def states(self) -> tuple[LinearVariable, ...]:
        """All states, at the point."""
        found = chain.from_iterable(part.state_names for part in self.parts)
        return tuple(
            LinearVariable(name, unit, float(value), component)
            for (name, unit, component), value in zip(found, self.x0, strict=True)
        )

    @cached_property
    def fed(self) -> frozenset[int]:
        """Slots of signals that something inside feeds."""
        outputs = chain.from_iterable(one.output_slots for one in self.plan.instances)
        return frozenset((*outputs, *(wire.destination for wire in self.plan.wires)))

    def is_real(self, slot: int) -> bool:
        """Whether a signal is a real number that can vary continuously."""
        return self.plan.types[slot] in REAL_TYPES and slot in self._continuous

    @cached_property
    def _continuous(self) -> frozenset[int]:
        own = chain.from_iterable((*part.inputs, *part.outputs) for part in self.parts)
        root = (slot for slot, signal in enumerate(self.plan.signals) if not signal.component)
        return frozenset((*own, *root))

    @property
    def outputs(self) -> tuple[int, ...]:
        """Slots of real outputs: those of the system, or if it has none, those of components."""
        root = [slot for slot, one in enumerate(self.plan.signals) if not one.component and slot in self.fed]
        own = root or [slot for part in self.parts for slot in part.outputs]
        return tuple(slot for slot in own if self.is_real(slot))

    def variable(self, slot: int) -> LinearVariable:
        """The signal of a slot, at the point."""
        signal = self.plan.signals[slot]
        unit = self._units.get(slot)
        return LinearVariable(self.names[slot], unit, float(self.values0[slot]), signal.component)

    @cached_property
    def names(self) -> dict[int, str]:
        """Slot → full name."""
        shown = {slot: column.signal for slot, column in zip(self.plan.recorded, self.plan.columns, strict=True)}
        return {slot: shown.get(slot, str(signal)) for slot, signal in enumerate(self.plan.signals)}

    @cached_property
    def _units(self) -> dict[int, str | None]:
        return {slot: column.unit for slot, column in zip(self.plan.recorded, self.plan.columns, strict=True)}

    @cached_property
    def _by_name(self) -> dict[str, int]:
        return {name: slot for slot, name in self.names.items()}

    def slots(self, names: Iterable[str], kind: str) -> tuple[int, ...]:
        """Slots of signals of these names.

        Raises
        ------
        UnknownName
        WrongValue
            It does not vary continuously.
        """
        return tuple(self._slot(name, kind) for name in names)

    def _slot(self, name: str, kind: str) -> int:
        slot = self._by_name.get(name)
        if slot is None:
            places = {signal: slot for slot, signal in enumerate(self.plan.signals)}
            slot = next((places[one] for one in self.plan.network.readings(name) if one in places), None)
        if slot is None:
            known = [own for own, place in self._by_name.items() if self.is_real(place)]
            raise UnknownName(f"the system has no connector {name!r}", name, near=near_names(name, known))
        if not self.is_real(slot):
            raise WrongValue(f"{name} cannot be an {kind}: it is not a real number that varies continuously")
        return slot


class ProbedPart:
    """One component of a probed system.

    Attributes
    ----------
    name
    states
        Places among the states of the system.
    inputs, outputs
        Slots of the real ones.
    """

    def __init__(
        self, system: Probe, number: int, planned: PlannedInstance, states: range, native: "NativeProbe"
    ) -> None:
        self.name, self.planned, self.states = planned.name, planned, states
        self._system, self._number, self._native = system, number, native
        self.inputs = tuple(native.real_slots(number, True))
        self.outputs = tuple(native.real_slots(number, False))

    @property
    def sizes(self) -> Floats:
        """(n + m,) Usual sizes of its states and inputs, at least those at the point."""
        own = self._system.nominal[self.states.start : self.states.stop]
        usual = [self._system.plan.nominal[slot] for slot in self.inputs]
        return np.maximum(np.abs([*own, *usual]), np.abs(self.point))

    @property
    def point(self) -> Floats:
        """(n + m,) Its states and inputs at the point."""
        own = self._system.x0[self.states.start : self.states.stop]
        return np.concatenate([own, self._system.values0[list(self.inputs)]])

    def evaluate(self, point: Floats) -> Floats:
        """(n + p,) Its derivatives and outputs with these states and inputs (n + m,). Raises RunError, FmiError."""
        count, t = len(self.states), self._system.t
        x, inputs = point[:count].tolist(), point[count:].tolist()
        return self._system.call(lambda: self._native.evaluate_part(self._number, t, x, inputs))

    @property
    def state_names(self) -> list[tuple[str, str | None, str]]:
        """Name, unit and component of its states."""
        variables = self.planned.description.variables
        known = [variables[one.derivative_of or ""] for one in self._slopes if one.derivative_of in variables]
        if len(known) == len(self.states):
            return [(self._full(one.name), one.unit, self.name) for one in known]
        return [(self._full(f"x[{number}]"), None, self.name) for number in range(len(self.states))]

    def _full(self, name: str) -> str:
        return name if self._system.plan.network.of_lone_fmu else f"{self.name}.{name}"

    @property
    def _slopes(self) -> Sequence[Variable]:
        return self.planned.description.state_derivatives

    # -- directional derivatives -----------------------------------------------------------------------------

    @property
    def has_derivatives(self) -> bool:
        """Whether the FMU gives directional derivatives of scalars."""
        whole = self.planned.used_interface.directional_derivatives
        known = len(self._slopes) == len(self.states)
        return whole and known and all(map(_is_scalar, (*self._unknowns, *self._knowns)))

    @cached_property
    def _unknowns(self) -> list[Variable]:
        return [*self._slopes, *self._of(self.planned.outputs, self.planned.output_slots, self.outputs)]

    @cached_property
    def _knowns(self) -> list[Variable]:
        variables = self.planned.description.variables
        states = [variables[one.derivative_of or ""] for one in self._slopes if one.derivative_of in variables]
        return [*states, *self._of(self.planned.inputs, self.planned.input_slots, self.inputs)]

    def _of(self, signals: Sequence[object], slots: Sequence[int], chosen: Sequence[int]) -> list[Variable]:
        by_slot = dict(zip(slots, signals, strict=True))
        variables = self.planned.description.variables
        return [variables[by_slot[slot].variable] for slot in chosen]  # type: ignore[attr-defined]

    def derivatives(self) -> Floats:
        """(n + p, n + m) Partial derivatives by the FMU, where it is. Raises FmiError."""
        unknowns = [one.reference for one in self._unknowns]
        knowns = [one.reference for one in self._knowns]
        found = np.zeros((len(unknowns), len(knowns)))
        for column in range(len(knowns)):
            seed = [float(column == place) for place in range(len(knowns))]

            def asked(seed: list[float] = seed) -> Floats:
                return self._native.derivative(self._number, unknowns, knowns, seed)

            found[:, column] = self._system.call(asked)
        self._correct_states(found)
        return found

    def _correct_states(self, found: Floats) -> None:
        """An output that is itself a state: not all FMUs are prepared for that question."""
        places = {one.reference: place for place, one in enumerate(self._knowns[: len(self.states)])}
        for row, one in enumerate(self._unknowns):
            if row >= len(self.states) and one.reference in places:
                found[row] = np.arange(found.shape[1]) == places[one.reference]


def _is_scalar(variable: Variable) -> bool:
    return variable.array is None and not variable.shape
