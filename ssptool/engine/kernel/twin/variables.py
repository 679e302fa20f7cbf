"""The variables of an instance, as its table states them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ssptool.engine.kernel.interface import FLOAT, InstanceTable, Slots
from ssptool.engine.kernel.twin.instance import References, float_references
from ssptool.engine.kernel.twin.typed import Typed, by_type


class Variable(NamedTuple):
    """`element` is its place in its array."""

    slot: int
    reference: int
    kind: str
    element: int


def inputs_of(table: InstanceTable) -> tuple[Variable, ...]:
    return tuple(map(Variable, table.input_slots, table.input_references, table.input_types, table.input_elements))


def outputs_of(table: InstanceTable) -> tuple[Variable, ...]:
    return tuple(map(Variable, table.output_slots, table.output_references, table.output_types, table.output_elements))


def observed_of(table: InstanceTable) -> tuple[Variable, ...]:
    observed = table.observed_slots, table.observed_references, table.observed_types, table.observed_elements
    return tuple(map(Variable, *observed))


def known_of(slots: Slots, known: Sequence[Variable], what: str) -> tuple[Variable, ...]:
    """Those in these slots; of an array all or none. Raises ValueError."""
    places = {variable.slot: place for place, variable in enumerate(known)}
    for slot in slots:
        if slot not in places:
            raise ValueError(f"slot {slot} is no {what} of the instance called")
    found = [places[slot] for slot in slots]
    for rank, place in enumerate(found):
        before = known[place].element == 0 or (rank > 0 and found[rank - 1] == place - 1)
        last = place + 1 == len(known) or known[place + 1].element == 0
        if not before or not (last or (rank + 1 < len(found) and found[rank + 1] == place + 1)):
            raise ValueError(f"slot {slots[rank]} is an element of an array, which is set and got as a whole")
    return tuple(known[place] for place in found)


def references_of(variables: Sequence[Variable]) -> References:
    return float_references(*_columns(variables))


def typed_of(major: int, variables: Sequence[Variable]) -> tuple[Typed, ...]:
    return by_type(major, [variable.slot for variable in variables], *_columns(variables))


def _columns(variables: Sequence[Variable]) -> tuple[list[int], list[str], list[int]]:
    return [v.reference for v in variables], [v.kind for v in variables], [v.element for v in variables]


def complete(table: InstanceTable) -> InstanceTable:
    """All of them Float64 and scalars if nothing is stated."""
    inputs, outputs = tuple(table.input_types), tuple(table.output_types)
    if not inputs and not outputs:
        inputs, outputs = (FLOAT,) * len(table.input_slots), (FLOAT,) * len(table.output_slots)
    if (len(inputs), len(outputs)) != (len(table.input_slots), len(table.output_slots)):
        raise ValueError("as many types as slots are needed, or none at all")
    elements = tuple(table.input_elements) or (0,) * len(inputs), tuple(table.output_elements) or (0,) * len(outputs)
    if (len(elements[0]), len(elements[1])) != (len(inputs), len(outputs)):
        raise ValueError("as many elements as slots are needed, or none at all")
    count = len(table.observed_slots)
    observed = tuple(table.observed_types) or (FLOAT,) * count, tuple(table.observed_elements) or (0,) * count
    if (len(observed[0]), len(observed[1])) != (count, count):
        raise ValueError("as many types and elements as observed slots are needed, or none at all")
    return replace(
        table,
        input_types=inputs,
        output_types=outputs,
        input_elements=elements[0],
        output_elements=elements[1],
        observed_types=observed[0],
        observed_elements=observed[1],
    )
