"""Start values that were given and are not what the system starts with: more are given than it is free to have."""

import contextlib
import math
from collections.abc import Iterator

from ssptool.engine.plan import PlannedInstance
from ssptool.fmu.description import Causality, Variable
from ssptool.fmu.instance import FmiError, FmuInstance
from ssptool.network.types import is_float

_TOLERANCE = 1e-6
"""Of a value, relative to it or to its nominal value if that is larger: what FMUs solve for at the start, they solve to
about so much."""

_COMPUTED = (Causality.OUTPUT, Causality.LOCAL)


def departures(planned: PlannedInstance, instance: FmuInstance) -> Iterator[str]:
    """What to say of each given value that an FMU does not have any more at the end of initialization mode.

    Asked for are variables that are neither parameters nor inputs, since only those may be too many: n states take n
    values, and one more, say of an acceleration, either repeats what these imply or contradicts it.
    """
    variables = planned.description.variables
    redundant = [name for name in planned.starts if _may_depart(variables[name])]
    if not redundant:
        return
    with contextlib.suppress(FmiError):  # only asked in order to tell; the run goes on without
        for name, found in instance.get(redundant).items():
            given = planned.starts[name]
            if isinstance(given, float) and isinstance(found, float) and not _near(found, given, variables[name]):
                yield _message(f"{planned.name}.{name}", given, found, variables[name])


def _may_depart(variable: Variable) -> bool:
    return variable.causality in _COMPUTED and is_float(variable.type)


def _near(found: float, given: float, variable: Variable) -> bool:
    scale = max(abs(given), abs(variable.nominal))
    return math.isfinite(found) and abs(found - given) <= _TOLERANCE * scale


def _message(name: str, given: float, found: float, variable: Variable) -> str:
    unit = f" {variable.unit}" if variable.unit else ""
    begins = f"{name} was given as {given:g}{unit} and starts as {found:g}{unit}"
    if variable.initial == "approx":
        return f"{begins}: a guess from which the FMU found the other (initial='approx')"
    return (
        f"{begins}, although the FMU takes it as exact: it follows from other start values and parameters, which "
        "contradict it; leave it out, or change those"
    )
