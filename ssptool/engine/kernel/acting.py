"""What acts on a system from outside: courses of inputs over time, and changes of values on their way."""

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from ssptool.engine.kernel.arrays import Floats


class Running(IntEnum):
    """How an input runs over a step from its value at the start to that at the end, which its course has."""

    HELD = 0  # at its value at the start
    FOLLOWING = 1  # on the line from one to the other
    MIDDLE = 2  # held at their mean


class Column(NamedTuple):
    """A table that drives a slot, of type Float64 or any other.

    `axis` is the place of its times in those of `Courses`, `cells` (rows,) are its values: doubles, or of other types
    the bits of integers. `linear`: between two rows it is the line from one to the other, else the earlier one. Before
    the first row and after the last these stay. Of rows at one time the first is the limit from the left, the last that
    from the right.
    """

    slot: int
    axis: int
    cells: Floats
    linear: bool


class DrivenInput(NamedTuple):
    """An input to which a driven slot leads. Only one of type Float64 can do other than be held."""

    slot: int
    running: Running


class Courses(NamedTuple):
    """What drives slots over time: `axes` are times [s], none descending, that columns share."""

    axes: Sequence[Floats]
    columns: Sequence[Column]
    inputs: Sequence[DrivenInput]


class ChangeKind(IntEnum):
    NONE = 0
    OVERRIDE = 1  # replaced by a value
    BIAS = 2  # a number added


class Change(NamedTuple):
    """What is done to a value on its way. `cell` is of the type of that: a double, or the bits of an integer."""

    kind: ChangeKind = ChangeKind.NONE
    cell: float = 0.0


UNCHANGED = Change()


class ActedWire(NamedTuple):
    """From now on the wire to this slot delivers what comes out of both changes, with its own arithmetic between."""

    destination: int
    at_source: Change = UNCHANGED
    at_destination: Change = UNCHANGED
