"""Components of model exchange as one right-hand side x' = f(t, x), with event indicators g(t, x) and structure."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from ssptool.engine.assembly.assembly import Assembly
from ssptool.engine.event_mode.iteration import Cause
from ssptool.engine.failure import BadInputs, Failure, IntegrationStopped
from ssptool.engine.kernel.interface import Code, Floats, Outcome
from ssptool.engine.kernel.ode import OdePart, Pattern, References
from ssptool.engine.masters.protocols import StimuliProtocol
from ssptool.engine.planning.plan import Plan, PlannedInstance, PlannedOde
from ssptool.fmu.description import Variable
from ssptool.fmu.instance import FmiError
from ssptool.fmu.model_exchange import ContinuousModel, functions_of_exchange


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
    size
        Length of x.
    causes
        Components and numbers of the elements of g, from 0 in each component.
    width
        Width of a row of the trace.
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
        self.stimuli = stimuli
        self.events = assembly.events_of_ode()
        self.inputs = np.array(ode.inputs, dtype=np.intp)
        self._assembly, self._evaluate = assembly, evaluate
        self.schedules, self.everyone = schedules, everyone
        self.width = 1 + len(assembly.plan.recorded)
        # One without states gets one that is constant, because the integrator follows indicators and time by it.
        self.size = sum(model.states for model in self.models) or 1
        self.causes = tuple(
            Cause(model.name, f"event indicator {i}") for model in self.models for i in range(model.indicators)
        )

    def write_stimuli(self, t: float) -> None:
        """Write the values of all input sources. Raises `IntegrationStopped`."""
        assert self.stimuli is not None
        try:
            self.stimuli.write(t)
        except BadInputs as error:
            raise IntegrationStopped(error.failure(t)) from None

    def jump(self, t: float) -> None:
        """Let what acts from outside jump, with all components in event mode. Raises `IntegrationStopped`, FmiError."""
        assert self.stimuli is not None
        try:
            outcome = self.stimuli.jump()
        except BadInputs as error:
            raise IntegrationStopped(error.failure(t)) from None
        if not outcome.ok:
            raise IntegrationStopped(self._assembly.explain(outcome, t))

    def settle(self, t: float) -> None:
        """Make inputs and outputs consistent where the components are. Raises `IntegrationStopped`."""
        outcome = self.kernel.evaluate(self.schedules.whole)
        if not outcome.ok:
            failure = self.rescue(self.schedules.whole, t) if outcome.code is Code.LOOP else self.explain(outcome, t)
            if failure is not None:
                raise IntegrationStopped(failure)

    def row(self, t: float) -> Floats:
        """Time and recorded signals, as they are. Raises `IntegrationStopped`."""
        self.kernel.exchange(self.everyone)
        self.kernel.accept(t)
        row = np.empty(self.width)
        outcome = self.kernel.record(t, row)
        if not outcome.ok:
            raise IntegrationStopped(self._assembly.explain(outcome, t))
        return row

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


def _model(assembly: Assembly, index: int) -> ContinuousModel:
    table = assembly.tables[index]
    planned = assembly.plan.instances[index]
    return ContinuousModel(assembly.instances[index], planned.description, table.functions, table.component)
