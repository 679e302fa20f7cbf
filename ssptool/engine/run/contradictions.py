"""Contradictions between FMUs and the given or declared start values."""

import contextlib
import math
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from ssptool.engine.assembly.assembly import Assembly
from ssptool.engine.planning.plan import Plan, PlannedInstance
from ssptool.engine.trace import NUMERIC_TYPES
from ssptool.fmu.description import Causality, Value, Variability, Variable
from ssptool.fmu.instance import FmiError, FmuInstance
from ssptool.network.conversion import is_float
from ssptool.network.network import Signal

_TOLERANCE = 1e-6
"""Tolerance, relative to the larger of value and nominal value: the typical accuracy of the equations that FMUs solve
at the start.
"""

_COMPUTED = (Causality.OUTPUT, Causality.LOCAL)


def overridden_starts(planned: PlannedInstance, instance: FmuInstance) -> Iterator[str]:
    """Notes on given values that an FMU has changed by the end of initialization mode.

    Only variables that are neither parameters nor inputs are checked, because only these can be overdetermined: n
    states accept n values, and one more value, for example of an acceleration, is either redundant or contradicts them.
    """
    variables = planned.description.variables
    redundant = [name for name in planned.starts if _may_depart(variables[name])]
    if not redundant:
        return
    with contextlib.suppress(FmiError):  # only needed for the note; the run continues without it
        for name, found in instance.get(redundant).items():
            given = planned.starts[name]
            if isinstance(given, float) and isinstance(found, float) and not _near(found, given, variables[name]):
                yield _message(str(Signal(planned.name, name)), given, found, variables[name])


def _may_depart(variable: Variable) -> bool:
    return variable.causality in _COMPUTED and is_float(variable.type)


def _near(found: float, given: float, variable: Variable) -> bool:
    scale = max(abs(given), abs(variable.nominal))
    return math.isfinite(found) and abs(found - given) <= _TOLERANCE * scale


def _message(name: str, given: float, found: float, variable: Variable) -> str:
    unit = f" {variable.unit}" if variable.unit else ""
    begins = f"{name} was given as {given:g}{unit} and starts as {found:g}{unit}"
    if variable.initial == "approx":
        return f"{begins}: the FMU takes it as a guess (initial='approx')"
    return (
        f"{begins}, although the FMU declares it as exact: other start values and parameters determine it; "
        "leave it out, or change those"
    )


# -- values that must be kept: parameters, constants and inputs that nothing feeds

MOST_READ = 10_000
"""Largest number of variables of an FMU that are read back; those that were set come first."""

PRINTED = 1e-5
"""Largest accepted difference to a value in a description, relative to it: the description may have only six digits."""

NEAR_ZERO = 1e-6
"""The same for a value of zero, relative to the nominal value: the description may have only six decimals."""

_READ = (Causality.PARAMETER, Causality.STRUCTURAL_PARAMETER, Causality.INPUT)


class UnheldStart(NamedTuple):
    """A variable, by its full name, that has another value at the end of initialization than the `wanted` one.

    `given`: true if the system or the user set that value; false if the model description declares it.
    """

    variable: str
    wanted: str
    found: str
    given: bool


def unheld_starts(assembly: Assembly) -> tuple[UnheldStart, ...]:
    """All variables with another value; unreadable variables are skipped.

    FMUs in event mode are not checked: some cannot continue after a call that they reject.
    """
    pairs = zip(assembly.plan.instances, assembly.instances, strict=True)
    of_events = assembly.plan.event_modes.members
    # Reused instances were checked in the first runs of a study.
    asked = [pair for pair in pairs if not (pair[1].reused or pair[0].name in of_events)]
    fed = _fed(assembly.plan) if asked else frozenset()
    found: list[UnheldStart] = []
    for planned, instance in asked:
        wanted = _wanted(planned, fed)
        for values in _asked_together(planned, wanted):
            found += _departures(planned, instance, values)
    return tuple(found)


def _fed(plan: Plan) -> frozenset[tuple[str, str]]:
    """Component and name of the variables that get their value from a source."""
    driven = (source.signal for source in plan.stimuli.sources)
    changed = (change.signal for change in plan.stimuli.parameter_changes)
    wired = (wire.destination for wire in plan.network.wires)
    passed = (wire.destination for wire in plan.parameter_wires)
    return frozenset((one.component, one.variable) for one in chain(driven, changed, wired, passed))


def _wanted(planned: PlannedInstance, fed: frozenset[tuple[str, str]]) -> dict[str, Value]:
    """Values that an FMU must keep, at most `MOST_READ`."""
    if planned.description.fmi_major == 1:  # FMI 1.0 does not state which start values are exact
        return {}
    variables, given = planned.description.variables, {**planned.structure, **planned.starts}
    names = (name for name in chain(given, variables) if _is_read(variables[name]) and (planned.name, name) not in fed)
    wanted: dict[str, Value] = {}
    for name in names:
        value = given.get(name, variables[name].start)
        if value is not None:
            wanted[name] = value
        if len(wanted) == MOST_READ:
            break
    return wanted


def _is_read(variable: Variable) -> bool:
    exact = variable.causality in _READ or variable.variability is Variability.CONSTANT
    return exact and not variable.shape and variable.initial in (None, "exact") and variable.type in NUMERIC_TYPES


def _asked_together(planned: PlannedInstance, wanted: Mapping[str, Value]) -> Iterator[dict[str, Value]]:
    """Groups of variables to read: inputs and parameters separately, because FMUs may not allow to read inputs."""
    variables = planned.description.variables
    for inputs in (False, True):
        yield {
            name: value for name, value in wanted.items() if (variables[name].causality is Causality.INPUT) == inputs
        }


def _departures(planned: PlannedInstance, instance: FmuInstance, wanted: Mapping[str, Value]) -> Iterator[UnheldStart]:
    variables = planned.description.variables
    with contextlib.suppress(FmiError):  # only needed for the note; the run continues without it
        for name, found in instance.get(wanted).items():
            if not _agree(wanted[name], found, variables[name]):
                given = name in planned.starts or name in planned.structure
                yield UnheldStart(str(Signal(planned.name, name)), _text(wanted[name]), _text(found), given)


def _text(value: Value) -> str:
    return f"{value:.9g}" if isinstance(value, float) else repr(value)


def _agree(wanted: Value, found: Value, variable: Variable) -> bool:
    if not isinstance(wanted, float) or not isinstance(found, float):
        return wanted == found
    if math.isnan(wanted) or wanted == found:
        return math.isnan(wanted) == math.isnan(found)
    if wanted == 0.0:
        return abs(found) <= NEAR_ZERO * abs(variable.nominal)
    return abs(found - wanted) <= PRINTED * abs(wanted)
