"""The default experiment (SSP 2.0 §5.1.1)."""

import math
from collections.abc import Iterator

from ssptool.documents import ssd
from ssptool.rules.catalogue import DERIVED, WARNING, Finding, rule
from ssptool.rules.subjects import Structure


@rule("SSD-EXP-002", severity=WARNING, basis=DERIVED, source="SSP 2.0 §5.1.1")
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
