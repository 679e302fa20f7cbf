"""Jacobian of a group's interface over a macro step, from partial derivatives of its FMUs."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.assembly.assembly import Assembly
from ssptool.engine.kernel.interface import Call, Floats, SolveLoop, holds_integer
from ssptool.engine.kernel.ode import Pattern
from ssptool.engine.masters.protocols import InstanceGroup, StepDerivatives
from ssptool.engine.ode.jacobian import PartialDerivatives
from ssptool.engine.ode.system import dependence
from ssptool.engine.planning.plan import Plan, PlannedGroup, PlannedInstance
from ssptool.engine.run.frozen_variables import Json
from ssptool.fmu.description import Variable

if TYPE_CHECKING:
    from networkx import DiGraph


def exponential(a: Floats) -> Floats:
    """exp(a) (n, n), by scaling and squaring of the Padé approximant [3/3].

    Its argument is at most 1/8 then, so that exp(a + e) is found with ‖e‖ about 4e-11 ‖a‖.

    `scipy.linalg.expm` is exact to rounding, and on small matrices a hundred times slower: it takes a tenth of a second
    to load and hands each product to threads that wait for each other.

    References
    ----------
    Moler, Van Loan 2003, "Nineteen dubious ways to compute the exponential of a matrix, twenty-five years later", §3.
    """
    size = float(np.abs(a).sum(axis=0).max(initial=0.0))
    if not math.isfinite(size):
        return np.full_like(a, np.nan)
    squarings = max(0, math.ceil(math.log2(size)) + 3) if size > 0 else 0
    a = a / 2.0**squarings
    square = a @ a
    even = np.eye(len(a)) + square / 10
    odd = a @ (np.eye(len(a)) / 2 + square / 120)
    result = np.linalg.solve(even - odd, even + odd)
    for _ in range(squarings):
        result = result @ result
    return np.asarray(result)


def frozen_interfaces(plan: Plan) -> list[Json]:
    """What Newton's method is to know of each group whose steps are iterated, for the frozen plan of a run."""
    return [_frozen(plan, group) for group in plan.groups if group.unknowns]


def _frozen(plan: Plan, group: PlannedGroup) -> Json:
    place = {slot: number for number, slot in enumerate(group.unknowns)}
    wires = [
        wire
        for wire in plan.wires
        if wire.destination in place and not holds_integer(plan.types[wire.source])  # integers do not move
    ]
    outputs = {slot: number for number, slot in enumerate(dict.fromkeys(wire.source for wire in wires))}
    factors = {(place[wire.destination], outputs[wire.source]): wire.conversion.factor for wire in wires}
    return {
        "pattern": _by_rows(interface_pattern(plan, [plan.instances[k].name for k in group.instances], group.unknowns)),
        "outputs": len(outputs),
        "wires": [[row, column, factor] for (row, column), factor in factors.items()],
        "members": [_frozen_member(plan, k, place, outputs) for k in sorted(group.instances)],
    }


def _by_rows(pattern: NDArray[np.bool_]) -> list[list[int]]:
    """Per row, which columns it has."""
    return [np.flatnonzero(row).tolist() for row in pattern]


def _frozen_member(plan: Plan, number: int, place: Mapping[int, int], outputs: Mapping[int, int]) -> Json:
    """A component of a group: places of its inputs among the unknowns, and of its outputs among those wired within the
    group; which of [x', y] depends on which of [x, u]; which inputs run over the step, while others are held; what it
    is asked for, if it gives partial derivatives.
    """
    one = plan.instances[number]
    arriving = [i for i, slot in enumerate(one.input_slots) if slot in place]
    leaving = [i for i, slot in enumerate(one.output_slots) if slot in outputs]
    variables, slopes = one.description.variables, one.description.state_derivatives
    unknowns = [*slopes, *(variables[one.outputs[i].variable] for i in leaving)]
    knowns = [
        *(variables[slope.derivative_of or ""] for slope in slopes),
        *(variables[one.inputs[i].variable] for i in arriving),
    ]
    moving = {slot for _, slot in one.moving} if _follows(plan, one) else set()
    return {
        "part": number,
        "states": len(slopes),
        "columns": [place[one.input_slots[i]] for i in arriving],
        "rows": [outputs[one.output_slots[i]] for i in leaving],
        "pattern": _by_rows(dependence(one, unknowns, knowns)),
        "moves": [one.input_slots[i] in moving for i in arriving],
        **_asked(one, unknowns, knowns),
    }


def _asked(one: PlannedInstance, unknowns: Sequence[Variable], knowns: Sequence[Variable]) -> Json:
    can = one.capabilities
    arrays = any(variable.array is not None or variable.shape for variable in (*unknowns, *knowns))
    if not can.answers_by_derivatives or arrays or len(one.description.state_derivatives) > MANY_STATES:
        return {}
    asks = {
        "unknowns": [variable.reference for variable in unknowns],
        "knowns": [variable.reference for variable in knowns],
        "forward": can.directional_derivatives,
        "adjoint": can.adjoint_derivatives,
    }
    return {"asks": asks}


def interface_pattern(plan: Plan, names: Collection[str], unknowns: Sequence[int]) -> NDArray[np.bool_]:
    """(m, m) for the unknowns of a group of these components: element (i, j) is true if unknown j may act on unknown i.

    Over a step every input may act on every output of its own instance, or of all that are integrated together, through
    states. From there on only what the
    evaluation at the end of the step passes on counts: wires, and outputs with direct feedthrough.
    """
    names = set(names)
    ode = {one.name for one in plan.integrated}
    inside: list[tuple[PlannedInstance, ...]] = [(one,) for one in plan.instances if one.name in names - ode]
    inside += [plan.integrated] if ode & names else []
    from networkx import DiGraph

    passing: DiGraph[int] = DiGraph((wire.source, wire.destination) for wire in plan.wires)
    calls = count()
    for planned in plan.groups:
        for call in _calls(plan, planned.schedule):
            # Through a vertex between them, of which there is one per call: of arrays there are many pairs.
            between = -1 - next(calls)
            for slot in call.inputs:
                passing.add_edge(slot, between)
            for slot in call.outputs:
                passing.add_edge(between, slot)
    place = {slot: number for number, slot in enumerate(unknowns)}
    pattern = np.zeros((len(place), len(place)), dtype=bool)
    for member in inside:
        columns = [place[slot] for one in member for slot in one.input_slots if slot in place]
        reached = _reached(passing, [slot for one in member for slot in one.output_slots])
        rows = [place[slot] for slot in reached if slot in place]
        pattern[np.ix_(rows, columns)] = True
    return pattern


def _reached(passing: "DiGraph[int]", sources: Iterable[int]) -> set[int]:
    from networkx import descendants

    found: set[int] = set()
    for source in sources:
        if source in passing:
            found |= descendants(passing, source)
    return found


def _calls(plan: Plan, steps: Iterable[Call | SolveLoop]) -> Iterator[Call]:
    """Calls of a schedule; a loop is one call with a full pattern."""
    for step in steps:
        if isinstance(step, Call):
            yield step
        else:
            body = plan.loops[step.loop].calls.body
            inputs = tuple(slot for call in body for slot in call.inputs)
            yield Call(-1, inputs, tuple(slot for call in body for slot in call.outputs))


MANY_STATES = 100
"""Number of states of a component above which its matrix exponential costs more than repeating a few steps."""


@dataclass(frozen=True, slots=True)
class _Member:
    """A component of the group.

    Attributes
    ----------
    columns, rows
        Places of its inputs among the unknowns of the group, and of its outputs among those wired within the group.
    pattern
        Dependency of [x', y] on [x, u].
    moves
        Its inputs run over the step; else they are held.
    derivatives
        None: it gives none.
    """

    states: int
    columns: Sequence[int]
    rows: Sequence[int]
    pattern: Pattern
    moves: Pattern
    derivatives: PartialDerivatives | None


class InterfaceDerivatives:
    """dS/dx (m, m), S leading from the inputs x at the end of a step to what comes out for them.

    Over the step each component is taken to be what it is at its end: x' = A x + B u, y = C x + D u. An input that
    runs linearly from the value at the start of the step to the one at its end changes the states there by
    h φ2(h A) B per unit of the latter; one that is held by h φ1(h A) B; one on the parabola through the accepted point
    before, a step earlier, by h (φ3(h A) + φ2(h A)/2) B. With G = C h φ B and u = W y,

        dS/dx = W (1 − D W)⁻¹ G,

    because outputs at the end of the step are made consistent. That is exact where components are linear and solve
    their equations exactly; else it is as good as the linearization, and the solution of an iteration with it is the
    same, only more or fewer iterations away.

    References
    ----------
    Sicklinger, Belsky, Engelmann, Elmqvist, Olsson, Wüchner, Bletzinger 2014, "Interface Jacobian-based
    co-simulation" (D alone); Schweizer, Lu 2015, "Predictor/corrector co-simulation approaches for solver coupling
    with algebraic constraints" (what integration over a step adds); Hochbruck, Ostermann 2010, "Exponential
    integrators", §2.1 (the functions φ).
    """

    def __init__(self, assembly: Assembly, group: InstanceGroup) -> None:
        plan = assembly.plan
        self._size = len(group.unknowns)
        place = {slot: number for number, slot in enumerate(group.unknowns)}
        wires = [
            wire
            for wire in plan.wires
            if wire.destination in place and not holds_integer(plan.types[wire.source])  # integers do not move
        ]
        outputs = {slot: number for number, slot in enumerate(dict.fromkeys(wire.source for wire in wires))}
        self._wires = np.zeros((self._size, len(outputs)))
        for wire in wires:
            self._wires[place[wire.destination], outputs[wire.source]] = wire.conversion.factor
        names = set(group.names)
        self._members = [
            _member(assembly, index, place, outputs) for index, one in enumerate(plan.instances) if one.name in names
        ]
        self._pattern = interface_pattern(plan, group.names, group.unknowns)

    def __call__(self, h: float, order: int) -> StepDerivatives:
        """Jacobian for a step of h [s] with inputs interpolated by polynomials of `order` (0: held at the value of its
        end), at the point reached.
        """
        answer = np.zeros(self._wires.T.shape)
        feedthrough = np.zeros_like(answer)
        known = np.zeros(self._size, dtype=bool)
        blind = np.zeros(self._size, dtype=bool)  # inputs with direct feedthrough that is not known
        for member in self._members:
            matrix = member.derivatives() if member.derivatives else None
            if matrix is None:
                passing = member.pattern[member.states :, member.states :].any(axis=0)
                blind[np.array(member.columns, dtype=np.intp)[passing]] = True
                continue
            known[member.columns] = True
            n, place = member.states, np.ix_(member.rows, member.columns)
            feedthrough[place] = matrix[n:, n:]
            if n:
                orders = np.where(member.moves, order, 0)
                answer[place] = matrix[n:, :n] @ _response(matrix[:n, :n], matrix[:n, n:], h, orders)
        known &= ~(self._pattern & blind[:, None]).any(axis=0)
        try:
            through = np.linalg.solve(np.eye(len(answer)) - feedthrough @ self._wires, answer)
        except np.linalg.LinAlgError:
            return StepDerivatives(np.zeros((self._size, self._size)), np.zeros(self._size, dtype=bool))
        return StepDerivatives(np.where(known, self._wires @ through, 0.0), known)


def _response(a: Floats, b: Floats, h: float, orders: NDArray[np.intp]) -> Floats:
    """Change of the states (n,) at the end of a step per unit of each input there (l,)."""
    n, inputs = b.shape
    # exp of this matrix has h φ1 B, h φ2 B and h φ3 B in its first row of blocks.
    whole = np.zeros((n + 3 * inputs,) * 2)
    whole[:n, :n], whole[:n, n : n + inputs] = h * a, h * b
    whole[n : n + 2 * inputs, n + inputs :] = np.eye(2 * inputs)
    held, ramp, parabola = np.split(exponential(whole)[:n, n:], 3, axis=1)
    return np.asarray(np.where(orders == 0, held, np.where(orders == 1, ramp, parabola + ramp / 2)))


def _member(assembly: Assembly, index: int, place: dict[int, int], outputs: dict[int, int]) -> _Member:
    plan, one = assembly.plan, assembly.plan.instances[index]
    arriving = [i for i, slot in enumerate(one.input_slots) if slot in place]
    leaving = [i for i, slot in enumerate(one.output_slots) if slot in outputs]
    variables, slopes = one.description.variables, one.description.state_derivatives
    unknowns = [*slopes, *(variables[one.outputs[i].variable] for i in leaving)]
    knowns = [
        *(variables[slope.derivative_of or ""] for slope in slopes),
        *(variables[one.inputs[i].variable] for i in arriving),
    ]
    pattern = dependence(one, unknowns, knowns)
    moving = {slot for _, slot in one.moving} if _follows(plan, one) else set()
    return _Member(
        states=len(slopes),
        columns=[place[one.input_slots[i]] for i in arriving],
        rows=[outputs[one.output_slots[i]] for i in leaving],
        pattern=pattern,
        moves=np.array([one.input_slots[i] in moving for i in arriving], dtype=bool),
        derivatives=_derivatives(assembly, index, unknowns, knowns, pattern),
    )


def _follows(plan: Plan, one: PlannedInstance) -> bool:
    return one.capabilities.follows or plan.substep_counts.get(one.name, 1) > 1


def _derivatives(
    assembly: Assembly,
    index: int,
    unknowns: Sequence[Variable],
    knowns: Sequence[Variable],
    pattern: Pattern,
) -> PartialDerivatives | None:
    one, table = assembly.plan.instances[index], assembly.tables[index]
    can = one.capabilities
    arrays = any(variable.array is not None or variable.shape for variable in (*unknowns, *knowns))
    if not can.answers_by_derivatives or arrays or len(one.description.state_derivatives) > MANY_STATES:
        return None
    return PartialDerivatives(
        table.functions,
        table.component,
        np.array([variable.reference for variable in unknowns], dtype=np.uint32),
        np.array([variable.reference for variable in knowns], dtype=np.uint32),
        pattern,
        one.description.fmi_major,
        forward=can.directional_derivatives,
        adjoint=can.adjoint_derivatives,
    )
