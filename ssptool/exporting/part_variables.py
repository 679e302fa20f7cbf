"""Variables of the parts of an exported system, as its runtime sets and gets them: arrays as a whole."""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from ssptool.engine.kernel.interface import ACCESS
from ssptool.engine.planning.plan import Plan, PlannedInstance
from ssptool.engine.run.freeze import start_value
from ssptool.fmu.description import FmuDescription, Value, element_names
from ssptool.network.network import IDENTITY, Conversion, Signal


class PartVariable(NamedTuple):
    """A variable of a part, or some `elements` of an array, counted from 0 (none: all of them).

    `suffix` is that of FMI's functions for its type, `size` the number of all elements. `starts` are those of the whole
    array, where some elements are meant: FMI sets arrays as a whole.
    """

    part: int
    reference: int
    suffix: str
    size: int = 1
    elements: tuple[int, ...] = ()
    starts: tuple[Value, ...] = ()


class PartTarget(NamedTuple):
    """A variable of a part that a variable of the system sets or shows, converted; `own` are the elements of the
    system's variable, counted from 0 (none: all of them).
    """

    variable: PartVariable
    conversion: Conversion = IDENTITY
    own: tuple[int, ...] = ()


def known_types(description: FmuDescription) -> Collection[str]:
    """Types of variables that a runtime can set and get."""
    return ACCESS[description.fmi_major]


NumberedParts = Mapping[str, tuple[int, PlannedInstance]]
"""Parts with their numbers, by name."""


def numbered_parts(plan: Plan) -> NumberedParts:
    return {one.name: (number, one) for number, one in enumerate(plan.instances)}


def part_variable(parts: NumberedParts, signal: Signal) -> PartVariable:
    """A scalar variable of a component, or an element of an array."""
    number, one = parts[signal.component]
    variable = one.description.variables[signal.variable]
    suffix = ACCESS[one.description.fmi_major][variable.type]
    if variable.array is None:
        return PartVariable(number, variable.reference, suffix)
    names = element_names(variable.array, one.description.arrays[variable.array])
    starts = tuple(start_value(one, name) for name in names)
    return PartVariable(number, variable.reference, suffix, len(names), (variable.element,), starts)


def merged(targets: Iterable[PartTarget], size: int) -> tuple[PartTarget, ...]:
    """Targets of single elements of a variable of this size, those of one array together."""
    found: dict[tuple[int, int, str, Conversion], list[PartTarget]] = {}
    for one in targets:
        variable = one.variable
        found.setdefault((variable.part, variable.reference, variable.suffix, one.conversion), []).append(one)
    return tuple(_together(group, size) for group in found.values())


def _together(group: list[PartTarget], size: int) -> PartTarget:
    own = tuple(place for one in group for place in one.own)
    within = tuple(element for one in group for element in one.variable.elements)
    variable = group[0].variable._replace(elements=within)
    if within == tuple(range(variable.size)):
        variable = variable._replace(elements=(), starts=())
    return PartTarget(variable, group[0].conversion, () if own == tuple(range(size)) else own)


def whole_array(variable: PartVariable) -> PartVariable:
    """The array that an element is of."""
    return variable._replace(elements=(), starts=())
