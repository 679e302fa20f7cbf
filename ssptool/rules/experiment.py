"""The default experiment (SSP 2.0 §5.1.1)."""

import math
from collections.abc import Iterator

from ssptool.documents import ssd
from ssptool.fmu.description import Causality, FmuDescription
from ssptool.rules.catalogue import DERIVED, TEXT, WARNING, Chapter, Finding
from ssptool.rules.subjects import Structure

EXPERIMENT = Chapter("The default experiment (SSP 2.0 §5.1.1)")


@EXPERIMENT.rule("SSD-EXP-002", severity=WARNING, basis=DERIVED, source="SSP 2.0 §5.1.1")
def sensible_times(experiment: ssd.DefaultExperiment, structure: Structure) -> Iterator[Finding]:
    """The times of the default experiment are finite, and it stops after it starts.

    Fix: correct the times.
    """
    start, stop = experiment.start_time, experiment.stop_time
    for name, time in (("startTime", start), ("stopTime", stop)):
        if time is not None and not math.isfinite(time):
            yield Finding(experiment, f"{name} is {time}", "write a finite number", name)
    if start is not None and stop is not None and stop <= start:
        yield Finding(experiment, f"it starts at {start:g} s and stops at {stop:g} s", "", "stopTime")


@EXPERIMENT.rule("SSD-EXP-004", severity=WARNING, basis=TEXT, source="SSP 2.0 §5.1.1")
def one_time(structure: Structure) -> Iterator[Finding]:
    """The independent variables of all FMUs of a system have one unit.

    Whether a component whose time is in degrees follows one whose time is in seconds is up to each tool; ssptool
    converts nothing there.

    Fix: export the FMUs with the same independent variable.
    """
    first: tuple[str, str] | None = None
    for component in structure.all(ssd.Component):
        description = structure.fmu_of(component)
        unit = None if description is None else independent_unit(description)
        if unit is not None:
            first = first or (unit, component.name)
            if unit != first[0]:
                found = f"the independent variable is in '{unit}', that of '{first[1]}' in '{first[0]}'"
                yield Finding(component, found, "", "source")


def independent_unit(description: FmuDescription) -> str | None:
    """The unit of the independent variable; None if it states none."""
    found = (one.unit for one in description.variables.values() if one.causality is Causality.INDEPENDENT)
    return next(found, None)
