"""Components of model exchange as one right-hand side x' = f(t, x), with event indicators g(t, x) and structure."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from ctypes import c_double, memset
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from ssptool.engine.assembly.assembly import Assembly
from ssptool.engine.event_mode.iteration import Cause
from ssptool.engine.failure import BadInputs, Ending, Failure, IntegrationStopped
from ssptool.engine.kernel.interface import Code, Floats, Outcome
from ssptool.engine.kernel.ode import OdePart, Pattern, References
from ssptool.engine.masters.protocols import StimuliProtocol
from ssptool.engine.planning.plan import Plan, PlannedInstance, PlannedOde
from ssptool.fmu.description import Variable
from ssptool.fmu.instance import FmiError, FmuInstance
from ssptool.fmu.model_exchange import DISCARD, GET_DERIVATIVES, GET_INDICATORS, ContinuousModel
from ssptool.fmu.model_exchange import functions_of_exchange as functions_of_exchange

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, slots=True)
class OdeStructure:
    """x' = A x + B u, y = C x + D u, u = W y + constants, by its sizes.

    Attributes
    ----------
    states
        Number of scalar states that are declared, all components together.
    parts
        One per component.
    wires : (m, p)
        W, the factors of the wires between components.
    """

    states: int
    parts: tuple[OdePart, ...]
    wires: Floats

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the matrix of A, B, C and D."""
        inputs, outputs = self.wires.shape
        return self.states + outputs, self.states + inputs

    def pattern(self) -> Pattern:
        """(n, n): which state derivative depends on which state, directly or along wires."""
        n = self.states
        whole = np.zeros(self.shape, dtype=bool)
        for part in self.parts:
            whole[np.ix_(part.rows, part.columns)] = part.pattern
        wired = self.wires != 0
        reached = wired @ whole[n:, :n]
        once = wired @ whole[n:, n:]
        while True:
            further = reached | (once @ reached)
            if np.array_equal(further, reached):
                return np.asarray(whole[:n, :n] | (whole[:n, n:] @ reached))
            reached = further


def structure(plan: Plan) -> OdeStructure:
    """Structure of the ODE of a plan's components of model exchange, in the order of its instances."""
    instances = plan.integrated
    owned = set(chain.from_iterable((*one.input_slots, *one.output_slots) for one in instances))
    owned -= set(plan.integers)  # they do not move
    wires = [wire for wire in plan.wires if wire.source in owned and wire.destination in owned]
    whole = dict(chain.from_iterable(map(_arrays, instances)))
    inputs = _numbered(whole, (wire.destination for wire in wires))
    outputs = _numbered(whole, (wire.source for wire in wires))
    states = sum(len(one.description.state_derivatives) for one in instances)
    factors = np.zeros((len(inputs), len(outputs)))
    for wire in wires:
        factors[inputs[wire.destination], outputs[wire.source]] = wire.conversion.factor
    return OdeStructure(states, tuple(_parts(plan, states, inputs, outputs)), factors)


def _arrays(one: PlannedInstance) -> Iterator[tuple[int, Sequence[int]]]:
    """Each slot of an array with those of all its elements."""
    for signals, slots in ((one.inputs, one.input_slots), (one.outputs, one.output_slots)):
        together: dict[str, list[int]] = defaultdict(list)
        for signal, slot in zip(signals, slots, strict=True):
            if (array := one.description.variables[signal.variable].array) is not None:
                together[array].append(slot)
        yield from ((slot, own) for own in together.values() for slot in own)


def _numbered(whole: Mapping[int, Sequence[int]], slots: Iterable[int]) -> dict[int, int]:
    """The slots, and those of arrays that they are elements of, numbered."""
    every = chain.from_iterable(whole.get(slot, (slot,)) for slot in slots)
    return {slot: number for number, slot in enumerate(dict.fromkeys(every))}


def _parts(plan: Plan, states: int, inputs: dict[int, int], outputs: dict[int, int]) -> Iterator[OdePart]:
    first = 0
    for one in plan.integrated:
        variables, slopes = one.description.variables, one.description.state_derivatives
        own = range(first, first + len(slopes))
        first += len(slopes)
        leaving = [i for i, slot in enumerate(one.output_slots) if slot in outputs]
        arriving = [i for i, slot in enumerate(one.input_slots) if slot in inputs]
        unknowns = [*slopes, *(variables[one.outputs[i].variable] for i in leaving)]
        knowns = [
            *(variables[slope.derivative_of or ""] for slope in slopes),
            *(variables[one.inputs[i].variable] for i in arriving),
        ]
        yield OdePart(
            _references(unknowns),
            _references(knowns),
            np.array([*own, *(states + outputs[one.output_slots[i]] for i in leaving)], dtype=np.intp),
            np.array([*own, *(states + inputs[one.input_slots[i]] for i in arriving)], dtype=np.intp),
            dependence(one, unknowns, knowns),
        )


def dependence(one: PlannedInstance, unknowns: Sequence[Variable], knowns: Sequence[Variable]) -> Pattern:
    """(k, l): which unknown depends on which known by what the FMU declares; nothing declared means on all."""
    declared = {**one.description.outputs, **one.description.derivatives}
    pattern = np.ones((len(unknowns), len(knowns)), dtype=bool)
    for row, unknown in enumerate(unknowns):
        needed = declared.get(_name(unknown))
        if needed is not None:
            # An output that is itself a state need not declare that.
            own = (unknown.reference, unknown.element)
            pattern[row] = [_name(known) in needed or (known.reference, known.element) == own for known in knowns]
    return pattern


def _name(variable: Variable) -> str:
    """Under which its dependencies are stated."""
    return variable.array or variable.name


def _references(variables: Iterable[Variable]) -> References:
    return np.array([variable.reference for variable in variables if variable.element == 0], dtype=np.uint32)


def saves_state(plan: Plan, index: int) -> bool:
    """True if this component of model exchange can be set back."""
    interface = plan.instances[index].description.model_exchange
    return interface is not None and interface.saves_state


@dataclass(frozen=True, slots=True)
class SavedFmuStates:
    """Saved states of all FMUs that can save them; `unable` cannot, so nothing can take these back."""

    kept: tuple[tuple[FmuInstance, Any], ...]
    unable: tuple[str, ...]
    t: float

    @classmethod
    def of(cls, able: Sequence[FmuInstance], unable: Sequence[FmuInstance], t: float) -> Self:
        """The present ones. Raises `FmiError`."""
        return cls(tuple((one, one.keep_state()) for one in able), tuple(one.name for one in unable), t)

    def go_back(self) -> None:
        """Restore these states.

        Raises
        ------
        Stopped
            Some FMUs could not save theirs.
        FmiError
        """
        if self.unable:
            raise IntegrationStopped(_cannot_restore(self.unable, self.t))
        for instance, state in self.kept:
            instance.go_back(state)

    def drop(self) -> None:
        """Free the states. Raises `FmiError`."""
        for instance, state in self.kept:
            instance.drop_state(state)


def _cannot_restore(names: Sequence[str], t: float) -> Failure:
    return Failure(
        Ending.FMI,
        f"a macro step with an event must be repeated, but {', '.join(names)} cannot save the state",
        "use a master that does each step once (--master jacobi) and fixed steps",
        t,
        names[0],
    )


class OdeInputPolynomials(NamedTuple):
    """Polynomials (m,) in the time since `start` [s]: value, first and second derivative there."""

    start: float
    value: Floats
    first: Floats
    second: Floats

    def at(self, t: float) -> Floats:
        """The values (m,) at a time [s]; the same arithmetic as the kernel's."""
        past = t - self.start
        value: Floats = self.value + past * (self.first + (0.5 * past) * self.second)
        return value


BELOW_ZERO = -1e-300
"""Value that replaces an event indicator of exactly zero."""

_DOUBLE = 8  # bytes


class OdeSchedules(NamedTuple):
    """Schedules of the kernel: over everything, and over what state derivatives and event indicators need."""

    whole: int
    slopes: int


class OdeSystem:
    """Schedules the components in the order of their continuous dependencies; loops are solved in passing, each from
    its last solution.

    The state vector is that of all components, one after the other. A system without states gets one that is
    constant, because the integrator needs one to follow indicators and time.

    Attributes
    ----------
    instances, models
        Numbers of the components, and their functions.
    schedules, everyone, inputs
        What the kernel evaluates, the group of all its instances, and slots of the inputs that components outside the
        ODE feed.
    size, indicators
        Lengths of x and g.
    causes
        Components and numbers of the elements of g, from 0 in each component.
    width
        Width of a row of the trace.
    last_failure
        Last failure to evaluate f or g, at a point that the integrator can avoid.
    input_polynomials
        Polynomials of the inputs that components outside the ODE feed, if they vary.
    stimuli
        Inputs and scenarios, if the system consists of this ODE only.
    events
        Signals that its components exchange at events only, and their clocks.
    """

    def __init__(
        self,
        assembly: Assembly,
        ode: PlannedOde,
        schedules: OdeSchedules,
        everyone: int,
        evaluate: Callable[[int, float], Failure | None],
        stimuli: StimuliProtocol | None = None,
    ) -> None:
        self.instances = ode.instances
        self.models = tuple(_model(assembly, index) for index in ode.instances)
        self.kernel = assembly.kernel
        self.input_polynomials: OdeInputPolynomials | None = None
        self.stimuli = stimuli
        self.events = assembly.events_of_ode()
        self.inputs = np.array(ode.inputs, dtype=np.intp)
        self._assembly, self._evaluate = assembly, evaluate
        self.schedules, self.everyone = schedules, everyone
        self.width = 1 + len(assembly.plan.recorded)
        states = [model.states for model in self.models]
        indicators = [model.indicators for model in self.models]
        self.size, self.indicators = sum(states) or 1, sum(indicators)
        self._stateless = not any(states)
        # Byte offsets of each component's part of x and g; components without states still need the time.
        self._parts = tuple(zip(self.models, _offsets(states), strict=True))
        self._slopes = tuple((model, offset) for model, offset in self._parts if model.states)
        self._signs = tuple(
            (model, offset) for model, offset in zip(self.models, _offsets(indicators), strict=True) if model.indicators
        )
        self.causes = tuple(
            Cause(model.name, f"event indicator {i}") for model in self.models for i in range(model.indicators)
        )
        self._derivatives = tuple(_derivatives(self.models, assembly.plan.integrated)) or (Cause("", "nothing"),)
        self._views: dict[tuple[int, int], Floats] = {}
        self.last_failure: Failure | None = None

    # -- what the integrator calls -------------------------------------------------------------------------

    def slopes(self, t: float, x: int, place: int) -> bool:
        """f: write x' at (t, x); both vectors by address."""
        try:
            if not self._move(t, x, self.schedules.slopes):
                return False
            for model, offset in self._slopes:
                model.slopes(place + offset)
        except FmiError as error:
            return self.avoid(error, t)
        if self._stateless:
            memset(place, 0, _DOUBLE)
        return self._finite(t, self._view(place, self.size), self._derivatives, GET_DERIVATIVES)

    def signs(self, t: float, x: int, place: int) -> bool:
        """g: write the event indicators at (t, x).

        An event is a change between z > 0 and z ≤ 0 (FMI 2.0.4 §3.1.1, FMI 3.0 §3.2.1), so zero counts as negative:
        where the integrator stops, an indicator that rises is then above zero indeed.
        """
        try:
            if not self._move(t, x, self.schedules.slopes):
                return False
            for model, offset in self._signs:
                model.event_indicators(place + offset)
        except FmiError as error:
            return self.avoid(error, t)
        found = self._view(place, self.indicators)
        found[found == 0.0] = BELOW_ZERO
        return self._finite(t, found, self.causes, GET_INDICATORS)

    def reach(self, t: float, x: int, *, whole: bool = False) -> bool:
        """Go to (t, x), with consistent inputs, and with all outputs if `whole`; False where that fails."""
        try:
            return self._move(t, x, self.schedules.whole if whole else self.schedules.slopes)
        except FmiError as error:
            return self.avoid(error, t)

    def vector(self, address: int) -> Floats:
        """A view of a state vector."""
        return self._view(address, self.size)

    def write_stimuli(self, t: float) -> None:
        """Write the values of all input sources. Raises `IntegrationStopped`."""
        assert self.stimuli is not None
        try:
            self.stimuli.write(t)
        except BadInputs as error:
            raise IntegrationStopped(error.failure(t)) from None

    # -- what an integration calls ---------------------------------------------------------------------------

    def jump(self, t: float) -> None:
        """Let what acts from outside jump, with all components in event mode. Raises `IntegrationStopped`, FmiError."""
        assert self.stimuli is not None
        try:
            outcome = self.stimuli.jump()
        except BadInputs as error:
            raise IntegrationStopped(error.failure(t)) from None
        if not outcome.ok:
            raise IntegrationStopped(self._assembly.explain(outcome, t))

    def place(self, t: float, x: Floats) -> None:
        """Go to (t, x): set everything, make all outputs consistent.

        Raises
        ------
        Stopped
            The system cannot be evaluated there.
        """
        if not self.reach(t, x.ctypes.data, whole=True):
            raise self.stopped()

    def settle(self, t: float) -> None:
        """Make inputs and outputs consistent where the components are. Raises `IntegrationStopped`."""
        if not self._evaluated(t, self.schedules.whole):
            raise self.stopped()

    def row(self, t: float) -> Floats:
        """Time and recorded signals, as they are. Raises `IntegrationStopped`."""
        self.kernel.exchange(self.everyone)
        self.kernel.accept(t)
        row = np.empty(self.width)
        outcome = self.kernel.record(t, row)
        if not outcome.ok:
            raise IntegrationStopped(self._assembly.explain(outcome, t))
        return row

    def indicators_at(self, t: float, x: Floats) -> Floats:
        """Event indicators (k,) at (t, x), where the components are left. Raises `IntegrationStopped`."""
        found = np.empty(self.indicators)
        if self.indicators and not self.signs(t, x.ctypes.data, found.ctypes.data):
            raise self.stopped()
        return found

    def present_signs(self, t: float) -> Floats:
        """Event indicators (k,) where the components are, at t [s]. Raises `IntegrationStopped`."""
        found = np.empty(self.indicators)
        try:
            for model, offset in self._signs:
                model.event_indicators(found.ctypes.data + offset)
        except FmiError as error:
            self.avoid(error, t)
            raise self.stopped() from None
        return found

    def read_states(self, x: Floats) -> None:
        """Fill x from the components."""
        for model, offset in self._parts:
            model.present_states(x.ctypes.data + offset)

    def read_nominals(self, nominal: Floats) -> None:
        """Fill (n,) with the usual sizes of the states."""
        nominal[:] = 1.0
        for model, offset in self._parts:
            model.nominals(nominal.ctypes.data + offset)
        nominal[:] = np.abs(nominal)
        nominal[~(np.isfinite(nominal) & (nominal > 0))] = 1.0

    def stopped(self) -> IntegrationStopped:
        """After a point that cannot be avoided."""
        if self.last_failure is None:
            raise AssertionError("nothing went wrong")
        return IntegrationStopped(self.last_failure)

    def explain(self, outcome: Outcome, t: float) -> Failure:
        """Reason of an end, from an outcome of the kernel, or from a function of model exchange that it has called."""
        if outcome.code is Code.FMI and outcome.instance in self.instances:
            model = self.models[self.instances.index(outcome.instance)]
            if outcome.function in functions_of_exchange(model.major):
                return self._assembly.refused(model.refusal(outcome.function, outcome.fmi_status), t)
        return self._assembly.explain(outcome, t)

    def rescue(self, schedule: int, t: float) -> Failure | None:
        """Finish the evaluation of a schedule that a loop has ended; the reason if that cannot be done."""
        return self._evaluate(schedule, t)

    def remark(self, text: str) -> None:
        """Add a remark on the run."""
        self._assembly.remark(text)

    def refused(self, error: FmiError, t: float) -> IntegrationStopped:
        return IntegrationStopped(self._assembly.refused(error, t))

    # -------------------------------------------------------------------------------------------------------

    def _move(self, t: float, x: int, schedule: int) -> bool:
        if self.input_polynomials is not None:
            self.kernel.values[self.inputs] = self.input_polynomials.at(t)
        if self.stimuli is not None:
            self.write_stimuli(t)
        for model, offset in self._parts:
            model.move(t, x + offset)
        return self._evaluated(t, schedule)

    def _evaluated(self, t: float, schedule: int) -> bool:
        outcome = self.kernel.evaluate(schedule)
        if outcome.ok:
            return True
        if outcome.code is Code.LOOP:
            self.last_failure = self.rescue(schedule, t)
            return self.last_failure is None
        self.last_failure = self._assembly.explain(outcome, t)
        if outcome.code is Code.FMI and outcome.fmi_status != DISCARD:
            raise IntegrationStopped(self.last_failure)
        return False

    def _view(self, address: int, size: int) -> Floats:
        """View of a vector of the integrator; kept, since the same few vectors are asked for again and again."""
        view = self._views.get((address, size))
        if view is None:
            view = np.ctypeslib.as_array((c_double * size).from_address(address))
            self._views[address, size] = view
        return view

    def _finite(self, t: float, found: Floats, what: Sequence[Cause], function: Mapping[int, str]) -> bool:
        """True if all are numbers; if not, the integrator must avoid this point."""
        finite = np.isfinite(found)
        if finite.all():
            return True
        first = int(np.argmin(finite))
        component, name = what[first].component, what[first].what
        major = next(model.major for model in self.models if model.name == component)
        self.last_failure = Failure(
            Ending.NONFINITE,
            f"component {component}: {name} is {found[first]} (from {function[major]})",
            "check parameters and start values: the solution may not exist from here",
            t,
            component,
            function[major],
        )
        return False

    def avoid(self, error: FmiError, t: float) -> bool:
        """A point that an FMU discards is one for the integrator to stay away from; other refusals end the run."""
        self.last_failure = self._assembly.refused(error, t)
        if error.status != DISCARD:
            raise IntegrationStopped(self.last_failure) from None
        return False


def _model(assembly: Assembly, index: int) -> ContinuousModel:
    table = assembly.tables[index]
    planned = assembly.plan.instances[index]
    return ContinuousModel(assembly.instances[index], planned.description, table.functions, table.component)


def _derivatives(models: Sequence[ContinuousModel], planned: Sequence[PlannedInstance]) -> Iterator[Cause]:
    """Names of the elements of x'."""
    for model, one in zip(models, planned, strict=True):
        names = [variable.name for variable in one.description.state_derivatives]
        if len(names) != model.states:  # arrays
            names = [f"state derivative {number}" for number in range(model.states)]
        yield from (Cause(model.name, name) for name in names)


def _offsets(sizes: list[int]) -> list[int]:
    return [_DOUBLE * offset for offset in accumulate(sizes, initial=0)][:-1]
