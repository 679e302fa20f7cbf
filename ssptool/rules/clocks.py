"""Clocks (SSP 2.0 §5.2.1, FMI 3.0)."""

from collections.abc import Iterator

from ssptool.documents import ssc, ssd
from ssptool.rules.catalogue import DERIVED, ERROR, TEXT, WARNING, Finding, near, rule
from ssptool.rules.subjects import Structure
from ssptool.rules.trees import around, first


@rule("CLK-001", severity=ERROR, basis=TEXT, source="SSP 2.0 §5.2.1", versions=["2.0"])
def known_clocks(clock: ssd.Clock, structure: Structure) -> Iterator[Finding]:
    """The clock of a connector is a connector of type Clock of the same element.

    Fix: correct the name, or declare the clock.
    """
    connectors = next(around(clock, ssd.SystemElement)).connectors
    clocks = [connector.name for connector in connectors if first(connector, ssc.Clock) is not None]
    if clock.name not in clocks:
        yield Finding(clock, f"the element has no clock '{clock.name}'", near(clock.name, clocks), "name")


@rule("CLK-002", severity=WARNING, basis=DERIVED, source="SSP 2.0 §5.2.1", versions=["2.0"])
def distinct_clocks(connector: ssd.Connector, structure: Structure) -> Iterator[Finding]:
    """A connector names each of its clocks once, and not itself.

    Fix: delete the repetition.
    """
    seen = {connector.name}
    for clock in connector.iterchildren(ssd.Clock.qualified_name):
        name = clock.get("name", "")
        if name in seen and isinstance(clock, ssd.Clock):
            what = "is the connector itself" if name == connector.name else "is named twice"
            yield Finding(clock, f"the clock '{name}' {what}", "", "name")
        seen.add(name)


@rule("CLK-007", severity=WARNING, basis=DERIVED, source="SSP 2.0 §4.5.1; FMI 3.0 §2.4.7.8", versions=["2.0"])
def consistent_clocks(clock: ssc.Clock, structure: Structure) -> Iterator[Finding]:
    """The attributes of a clock belong together: counters need a resolution, a constant interval needs its length.

    Fix: add `resolution` to `intervalCounter`, and an interval to constant clocks.
    """
    if clock.interval_counter is not None and clock.resolution is None:
        yield Finding(clock, "there is an intervalCounter, but no resolution", "add resolution", "intervalCounter")
    interval = clock.interval_decimal is not None or clock.interval_counter is not None
    if clock.interval_variability is ssc.IntervalVariability.CONSTANT and not interval:
        yield Finding(clock, "the interval is constant, but not stated", "add intervalDecimal", "intervalVariability")
