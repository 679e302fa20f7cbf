"""Variables of parts that are set or shown by variables of an exported system."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from ssptool.engine.kernel.calls import ACCESS
from ssptool.engine.run.frozen_variables import PartVariable
from ssptool.fmu.description import FmuDescription
from ssptool.network.network import IDENTITY, Conversion


class PartTarget(NamedTuple):
    """A variable of a part that a variable of the system sets or shows, converted; `own` are the elements of the
    system's variable, counted from 0 (none: all of them).
    """

    variable: PartVariable
    conversion: Conversion = IDENTITY
    own: tuple[int, ...] = ()


def known_types(description: FmuDescription) -> Collection[str]:
    """Types of variables that the runtime can set and get."""
    return ACCESS[description.fmi_major]


def merged(targets: Iterable[PartTarget], size: int) -> tuple[PartTarget, ...]:
    """Targets of single elements of a variable of this size; those of one array are merged."""
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
    """The array that contains an element."""
    return variable._replace(elements=(), starts=())
