"""Structure of the joint right-hand side x' = f(t, x) of all components of model exchange."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from ssptool.engine.kernel.calls import Floats
from ssptool.engine.kernel.ode import OdePart, Pattern, References
from ssptool.engine.planning.plan import Plan, PlannedInstance
from ssptool.fmu.description import Variable


@dataclass(frozen=True, slots=True)
class OdeStructure:
    """x' = A x + B u, y = C x + D u, u = W y + constants, by its sizes.

    Attributes
    ----------
    states
        Number of declared scalar states of all components.
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
    owned -= set(plan.integers)  # integers are constant between events
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
    """The first slot of each array, with the slots of all its elements."""
    for signals, slots in ((one.inputs, one.input_slots), (one.outputs, one.output_slots)):
        together: dict[str, list[int]] = defaultdict(list)
        for signal, slot in zip(signals, slots, strict=True):
            if (array := one.description.variables[signal.variable].array) is not None:
                together[array].append(slot)
        yield from ((slot, own) for own in together.values() for slot in own)


def _numbered(whole: Mapping[int, Sequence[int]], slots: Iterable[int]) -> dict[int, int]:
    """Numbers of the slots; elements of arrays are replaced by their array."""
    every = chain.from_iterable(whole.get(slot, (slot,)) for slot in slots)
    return {slot: number for number, slot in enumerate(dict.fromkeys(every))}


def _parts(plan: Plan, states: int, inputs: dict[int, int], outputs: dict[int, int]) -> Iterator[OdePart]:
    first = 0
    for one in plan.integrated:
        own = range(first, first + len(one.description.state_derivatives))
        first = own.stop
        leaving = [i for i, slot in enumerate(one.output_slots) if slot in outputs]
        arriving = [i for i, slot in enumerate(one.input_slots) if slot in inputs]
        unknowns, knowns = unknowns_and_knowns(one, leaving, arriving)
        yield OdePart(
            _references(unknowns),
            _references(knowns),
            np.array([*own, *(states + outputs[one.output_slots[i]] for i in leaving)], dtype=np.intp),
            np.array([*own, *(states + inputs[one.input_slots[i]] for i in arriving)], dtype=np.intp),
            dependence(one, unknowns, knowns),
        )


def unknowns_and_knowns(
    one: PlannedInstance, outputs: Sequence[int], inputs: Sequence[int]
) -> tuple[list[Variable], list[Variable]]:
    """[x', y] and [x, u] of a component, with these of its outputs and inputs, by index."""
    variables, slopes = one.description.variables, one.description.state_derivatives
    unknowns = [*slopes, *(variables[one.outputs[i].variable] for i in outputs)]
    states = (variables[slope.derivative_of or ""] for slope in slopes)
    return unknowns, [*states, *(variables[one.inputs[i].variable] for i in inputs)]


def columns_by_row(pattern: Pattern) -> list[list[int]]:
    """Column numbers of each row."""
    return [np.flatnonzero(row).tolist() for row in pattern]


def dependence(one: PlannedInstance, unknowns: Sequence[Variable], knowns: Sequence[Variable]) -> Pattern:
    """(k, l): true if an unknown depends on a known, as the FMU declares; without a declaration it depends on all."""
    declared = {**one.description.outputs, **one.description.derivatives}
    pattern = np.ones((len(unknowns), len(knowns)), dtype=bool)
    for row, unknown in enumerate(unknowns):
        needed = declared.get(_name(unknown))
        if needed is not None:
            # An output that is itself a state need not declare this dependency.
            own = (unknown.reference, unknown.element)
            pattern[row] = [_name(known) in needed or (known.reference, known.element) == own for known in knowns]
    return pattern


def _name(variable: Variable) -> str:
    """Name by which an FMU declares dependencies of the variable."""
    return variable.array or variable.name


def _references(variables: Iterable[Variable]) -> References:
    return np.array([variable.reference for variable in variables if variable.element == 0], dtype=np.uint32)
