"""Which inputs of a group can change which of them within a macro step."""

from collections.abc import Iterable, Iterator
from itertools import count

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.kernel.interface import Call, SolveLoop
from ssptool.engine.masters.master import Instances
from ssptool.engine.plan import Plan, PlannedInstance
from ssptool.network.digraph import Digraph, reached


def interface_pattern(plan: Plan, group: Instances) -> NDArray[np.bool_]:
    """(m, m) for the unknowns of a group: element (i, j) is true if unknown j may act on unknown i.

    Over a step every input may act on every output of its own instance, or of all that are integrated together, through
    states. From there on only what the
    evaluation at the end of the step passes on counts: wires, and outputs with direct feedthrough.
    """
    names = set(group.names)
    ode = {one.name for one in plan.integrated}
    inside: list[tuple[PlannedInstance, ...]] = [(one,) for one in plan.instances if one.name in names - ode]
    inside += [plan.integrated] if ode & names else []
    passing = Digraph((wire.source, wire.destination, None) for wire in plan.wires)
    calls = count()
    for planned in plan.groups:
        for call in _calls(plan, planned.sweep):
            # Through a vertex between them, of which there is one per call: of arrays there are many pairs.
            between = -1 - next(calls)
            for slot in call.inputs:
                passing.add_edge(slot, between, None)
            for slot in call.outputs:
                passing.add_edge(between, slot, None)
    place = {slot: number for number, slot in enumerate(group.unknowns)}
    pattern = np.zeros((len(place), len(place)), dtype=bool)
    for member in inside:
        columns = [place[slot] for one in member for slot in one.input_slots if slot in place]
        reached = _reached(passing, [slot for one in member for slot in one.output_slots])
        rows = [place[slot] for slot in reached if slot in place]
        pattern[np.ix_(rows, columns)] = True
    return pattern


def _reached(passing: Digraph[int, None], sources: Iterable[int]) -> set[int]:
    found: set[int] = set()
    for source in sources:
        if source in passing:
            found |= reached(passing, source) - {source}
    return found


def _calls(plan: Plan, steps: Iterable[Call | SolveLoop]) -> Iterator[Call]:
    """Of a loop one call that has everything act on everything."""
    for step in steps:
        if isinstance(step, Call):
            yield step
        else:
            body = plan.loops[step.loop].calls.body
            inputs = tuple(slot for call in body for slot in call.inputs)
            yield Call(-1, inputs, tuple(slot for call in body for slot in call.outputs))
