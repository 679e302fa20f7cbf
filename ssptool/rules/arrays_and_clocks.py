"""Rules on the dimensions of arrays and on clocks."""

from collections.abc import Iterator, Mapping
from math import prod

from ssptool.documents import ssb, ssc, ssd, ssv
from ssptool.documents.ssd import ConnectorKind as Kind
from ssptool.documents.vocabulary import IntervalVariability
from ssptool.network.conversion import is_integer
from ssptool.network.tree import MOST_ELEMENTS
from ssptool.rules.catalogue import (
    DERIVED,
    ERROR,
    MUST,
    POLICY,
    TEXT,
    WARNING,
    Chapter,
    Finding,
    deleted,
    near,
    renamed,
)
from ssptool.rules.links import Declared, Link, LinkEnd, alike, both_ticking, declared, links
from ssptool.rules.subjects import Structure, around, remembered

DIMENSIONS = Chapter(
    "Dimensions of connectors, parameters and dictionary entries (SSP 2.0 §4.5.3)", section="SSP 2.0 §4.5.3"
)


@DIMENSIONS.rule("DIM-001", severity=ERROR, basis=MUST, versions=["2.0"], blocks_run=True)
def one_size(dimension: ssc.Dimension, structure: Structure) -> Iterator[Finding]:
    """A dimension has either a `size` or a `sizeConnector`.

    Fix: remove `size` or `sizeConnector`.
    """
    if dimension.size is not None and dimension.size_connector is not None:
        yield Finding(dimension, "both size and sizeConnector are given", "remove one of them", "sizeConnector")


@DIMENSIONS.rule(
    "DIM-002", severity=ERROR, basis=MUST, source="SSP 2.0 §4.5.3, §6.2", versions=["2.0"], blocks_run=True
)
def sized_values(dimension: ssc.Dimension, structure: Structure) -> Iterator[Finding]:
    """The dimensions of parameters and dictionary entries have a fixed size.

    No other connectors give the size.

    Fix: write `size`, and no `sizeConnector`.
    """
    if isinstance(dimension.getparent(), ssv.Parameter | ssb.DictionaryEntry):
        if dimension.size_connector is not None:
            yield Finding(dimension, "there are no connectors here", "write size", "sizeConnector")
        elif dimension.size is None:
            yield Finding(dimension, "the dimension has no size", "write size")


@DIMENSIONS.rule("DIM-003", severity=ERROR, basis=TEXT, versions=["2.0"], blocks_run=True)
def sizing_connectors(dimension: ssc.Dimension, structure: Structure) -> Iterator[Finding]:
    """A `sizeConnector` is a structural parameter or constant among the connectors of the same element.

    The size is fixed before the simulation starts.

    Fix: name such a connector.
    """
    siblings = _siblings(dimension, structure)
    name = dimension.size_connector
    if siblings is None or name is None:
        return
    if name not in siblings:
        yield Finding(dimension, f"there is no connector '{name}'", near(name, siblings), "sizeConnector")
    elif (kind := siblings[name].says.kind) not in (Kind.STRUCTURAL_PARAMETER, Kind.CONSTANT):
        message = f"'{name}' is of kind {kind}, not structuralParameter or constant"
        yield Finding(dimension, message, "", "sizeConnector")


@DIMENSIONS.rule(
    "DIM-004",
    severity=ERROR,
    basis=DERIVED,
    source="SSP 2.0 §4.5.3; FMI 3.0 §2.4.7.5",
    versions=["2.0"],
    blocks_run=True,
)
def sizes_are_integers(dimension: ssc.Dimension, structure: Structure) -> Iterator[Finding]:
    """A `sizeConnector` is a single integer.

    Fix: name a connector of an integer type without dimensions.
    """
    sizing = (_siblings(dimension, structure) or {}).get(dimension.size_connector or "")
    if sizing is not None:
        type_name = sizing.says.type_name
        if sizing.says.sizes:
            yield Finding(dimension, f"'{sizing.name}' is an array", "", "sizeConnector")
        elif type_name is not None and not is_integer(type_name):
            yield Finding(dimension, f"'{sizing.name}' is {type_name}, no integer", "", "sizeConnector")


@DIMENSIONS.rule("DIM-005", severity=WARNING, basis=POLICY, versions=["2.0"])
def not_empty(dimension: ssc.Dimension, structure: Structure) -> Iterator[Finding]:
    """The size of a dimension is not zero.

    An array without elements has no values.

    Fix: correct the size.
    """
    if dimension.size == 0:
        yield Finding(dimension, "the size is zero", "", "size")


@DIMENSIONS.rule(
    "DIM-101", severity=ERROR, basis=POLICY, source="ssptool: limit of memory", versions=["2.0"], blocks_run=True
)
def bounded_arrays(dimension: ssc.Dimension, structure: Structure) -> Iterator[Finding]:
    """A connector or dictionary entry has at most 100 000 elements.

    ssptool has a signal for each element. The connectors of a system together have the same limit, which `plan` and
    `run` check.

    Fix: correct the sizes.
    """
    typed = dimension.getparent()
    if not isinstance(typed, ssd.Connector | ssb.DictionaryEntry) or typed.dimensions[0] is not dimension:
        return
    sizes = [one.size for one in typed.dimensions if one.size is not None]
    if prod(sizes) > MOST_ELEMENTS:
        shape = " × ".join(map(str, sizes))
        what = f"'{typed.name}' has {prod(sizes)} elements ({shape}), the limit is {MOST_ELEMENTS}"
        yield Finding(dimension, what, "", "size")


def _siblings(dimension: ssc.Dimension, structure: Structure) -> Mapping[str, Declared] | None:
    """Connectors of the element that owns the connector with this dimension; None for other dimensions."""
    if not isinstance(dimension.getparent(), ssd.Connector):
        return None
    return _connectors(next(around(dimension, ssd.SystemElement)), structure)


@remembered
def _connectors(element: ssd.SystemElement, structure: Structure) -> Mapping[str, Declared]:
    return {one.name: one for one in declared(element, structure)}


CLOCKS = Chapter("Clocks (SSP 2.0 §5.2.1, FMI 3.0)")


@CLOCKS.rule("CLK-001", severity=ERROR, basis=TEXT, source="SSP 2.0 §5.2.1", versions=["2.0"])
def known_clocks(clock: ssd.Clock, structure: Structure) -> Iterator[Finding]:
    """The clock of a connector is a connector of type Clock of the same element.

    Fix: correct the name, or declare the clock.

    Accepted: the clocks of the FMU's variable count.
    """
    element = next(around(clock, ssd.SystemElement))
    clocks = [one.name for one in declared(element, structure) if isinstance(one.says.type, ssc.Clock)]
    if clock.name not in clocks:
        message = f"the element has no clock '{clock.name}'"
        yield Finding(clock, message, near(clock.name, clocks), "name", fix=renamed(clock, "name", clocks))


@CLOCKS.rule("CLK-002", severity=WARNING, basis=DERIVED, source="SSP 2.0 §5.2.1", versions=["2.0"])
def distinct_clocks(clock: ssd.Clock, structure: Structure) -> Iterator[Finding]:
    """A connector names each of its clocks once, and not itself.

    Fix: delete the repetition.
    """
    connector = clock.getparent()
    earlier = [other.get("name") for other in clock.itersiblings(ssd.Clock.qualified_name, preceding=True)]
    itself = connector is not None and clock.name == connector.get("name")
    if itself or clock.name in earlier:
        what = "is the connector itself" if itself else "is named twice"
        yield Finding(clock, f"the clock '{clock.name}' {what}", "", "name", fix=deleted(clock, safe=not itself))


@CLOCKS.rule("CLK-003", severity=ERROR, basis=TEXT, source="SSP 2.0 §5.3.2.1", versions=["2.0"])
def same_variability_outside(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """A clock of a system has the same `intervalVariability` as the element's clock that it is connected to.

    Fix: state the same at both.

    Accepted: the interval of the FMU's clock counts.
    """
    for same in alike(system, structure):
        one, other = same[0].start.side, same[0].end.side
        start, end = one.says.type, other.says.type
        if one.owner is not other.owner and isinstance(start, ssc.Clock) and isinstance(end, ssc.Clock):
            here, there = start.interval_variability, end.interval_variability
            if here is not None and there is not None and here is not there:
                for link in same:
                    yield Finding(link.connection, f"{link.start} is {here}, {link.end} is {there}")


@CLOCKS.rule("CLK-005", severity=WARNING, basis=TEXT, source="SSP 2.0 §5.3.2.1", versions=["2.0"])
def no_equal_clocks(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """Two clocks that tick by themselves are not connected.

    The connection demands that both tick at the same instants; the standard leaves open how a tool achieves that.

    Fix: let one of them be triggered by the other.
    """
    for same in alike(system, structure):
        for link in same if both_ticking(same[0]) else ():
            yield Finding(link.connection, f"{link.start} and {link.end} both tick by themselves")


@CLOCKS.rule("CLK-006", severity=WARNING, basis=TEXT, source="SSP 2.0 §5.3.2.1", versions=["2.0"])
def one_clock_for_both(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """Two connectors that are connected belong to the same clock, or to clocks that are connected.

    The standard leaves open when a tool passes a value from one clock to another.

    Fix: connect the clocks.
    """
    if next(system.every(ssd.Clock), None) is None:
        return
    found = links(system, structure)
    groups = _connected_clocks(found)
    for link in found:
        start, end = _clocks_of(link.start, groups), _clocks_of(link.end, groups)
        if link.flow is not None and start and end and start.isdisjoint(end):
            yield Finding(link.connection, f"{link.start} and {link.end} belong to different clocks")


ClockName = tuple[str, str]


def _connected_clocks(found: tuple[Link, ...]) -> dict[ClockName, ClockName]:
    """Representative of each set of connected clocks, by clock."""
    groups: dict[ClockName, ClockName] = {}
    for link in found:
        if link.start.carried.type == link.end.carried.type == "Clock":
            one, other = (_root((end.element, end.name), groups) for end in (link.start, link.end))
            groups[one] = other
    return groups


def _root(place: ClockName, groups: dict[ClockName, ClockName]) -> ClockName:
    while groups.get(place, place) != place:
        place = groups[place]
    return place


def _clocks_of(end: LinkEnd, groups: dict[ClockName, ClockName]) -> set[ClockName]:
    return {_root((end.element, clock), groups) for clock in end.side.says.clocks}


@CLOCKS.rule("CLK-007", severity=WARNING, basis=DERIVED, source="SSP 2.0 §4.5.1; FMI 3.0 §2.4.7.8", versions=["2.0"])
def consistent_clocks(clock: ssc.Clock, structure: Structure) -> Iterator[Finding]:
    """The attributes of a clock belong together: counters need a resolution, a constant interval needs its length.

    Fix: add `resolution` to `intervalCounter`, and an interval to constant clocks.
    """
    if clock.interval_counter is not None and clock.resolution is None:
        yield Finding(clock, "there is an intervalCounter, but no resolution", "add resolution", "intervalCounter")
    interval = clock.interval_decimal is not None or clock.interval_counter is not None
    if clock.interval_variability is IntervalVariability.CONSTANT and not interval:
        yield Finding(clock, "the interval is constant, but not stated", "add intervalDecimal", "intervalVariability")
