"""Data for the Jacobian of a group's interface over a macro step, from partial derivatives of its FMUs."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.kernel.calls import Call, SolveLoop
from ssptool.engine.ode.structure import columns_by_row, dependence, unknowns_and_knowns
from ssptool.engine.planning.plan import Plan, PlannedGroup, PlannedInstance
from ssptool.engine.run.frozen_variables import Json
from ssptool.engine.trace import holds_integer
from ssptool.fmu.description import Variable

if TYPE_CHECKING:
    from networkx import DiGraph


def frozen_interfaces(plan: Plan) -> list[Json]:
    """Data for Newton's method on each iterated group, for the frozen plan of a run."""
    return [_frozen(plan, group) for group in plan.groups if group.unknowns]


def _frozen(plan: Plan, group: PlannedGroup) -> Json:
    place = {slot: number for number, slot in enumerate(group.unknowns)}
    wires = [
        wire
        for wire in plan.wires
        if wire.destination in place and not holds_integer(plan.types[wire.source])  # integers have no derivatives
    ]
    outputs = {slot: number for number, slot in enumerate(dict.fromkeys(wire.source for wire in wires))}
    factors = {(place[wire.destination], outputs[wire.source]): wire.conversion.factor for wire in wires}
    return {
        "pattern": columns_by_row(
            interface_pattern(plan, [plan.instances[k].name for k in group.instances], group.unknowns)
        ),
        "outputs": len(outputs),
        "wires": [[row, column, factor] for (row, column), factor in factors.items()],
        "members": [_frozen_member(plan, k, place, outputs) for k in sorted(group.instances)],
    }


def _frozen_member(plan: Plan, number: int, place: Mapping[int, int], outputs: Mapping[int, int]) -> Json:
    """A component of a group: indices of its inputs among the unknowns, and of its outputs among those wired within the
    group; dependencies of [x', y] on [x, u]; inputs that vary over the step (others are held); and, if it provides
    partial derivatives, the references to use.
    """
    one = plan.instances[number]
    arriving = [i for i, slot in enumerate(one.input_slots) if slot in place]
    leaving = [i for i, slot in enumerate(one.output_slots) if slot in outputs]
    slopes = one.description.state_derivatives
    unknowns, knowns = unknowns_and_knowns(one, leaving, arriving)
    moving = {slot for _, slot in one.moving} if _follows(plan, one) else set()
    return {
        "part": number,
        "states": len(slopes),
        "columns": [place[one.input_slots[i]] for i in arriving],
        "rows": [outputs[one.output_slots[i]] for i in leaving],
        "pattern": columns_by_row(dependence(one, unknowns, knowns)),
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

    Over a step, every input may act on every output of its own instance, or of the whole ODE, through states. After
    that, only the evaluation at the end of the step counts: wires, and outputs with direct feedthrough.
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
            # Through one intermediate vertex per call, because arrays have very many pairs.
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
    """Calls of a schedule; a loop becomes one call with a full pattern."""
    for step in steps:
        if isinstance(step, Call):
            yield step
        else:
            body = plan.loops[step.loop].calls.body
            inputs = tuple(slot for call in body for slot in call.inputs)
            yield Call(-1, inputs, tuple(slot for call in body for slot in call.outputs))


MANY_STATES = 100
"""Number of states above which the matrix exponential of a component costs more than repeating a few steps."""


def _follows(plan: Plan, one: PlannedInstance) -> bool:
    return one.capabilities.follows or plan.substep_counts.get(one.name, 1) > 1
