"""Contradictions between FMUs and their descriptions: outputs that move with an input, and other start values."""

import contextlib
import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

from ssptool.engine.assembly.assembly import Assembly
from ssptool.engine.kernel.interface import read_slot
from ssptool.engine.planning.plan import Feedthrough, Plan, PlannedInstance
from ssptool.engine.trace import NUMERIC_TYPES
from ssptool.fmu.description import Causality, Value, Variability, Variable
from ssptool.fmu.instance import FmiError, FmuInstance
from ssptool.network.conversion import is_float
from ssptool.network.network import Signal
from ssptool.network.signal_graph import Stage, needs

PROBE = 1e-3
"""Change of an input, relative to the larger of its size and its nominal value."""

MOVED = 1e-9
"""Change of an output, relative to the larger of its size and its nominal value, above which it has moved."""

Denied: TypeAlias = Mapping[str, tuple[str, ...]]
"""Connected input of a component → its outputs which do not depend on the input, as the FMU says."""


def undeclared_feedthrough(assembly: Assembly) -> tuple[Feedthrough, ...]:
    """Pairs of an input and an output that moves with it, against ModelStructure.

    The instances are at the first point after initialization, where outputs belong to the inputs. An FMU that saves its
    state is given changed inputs, and then its state again. Of any other, outputs are asked for after its inputs have
    got the values of their sources, as they do before the first step.

    Raises
    ------
    FmiError
        An FMU does not take back the state, or the inputs, that it had.
    """
    found: list[Feedthrough] = []
    for planned, instance in zip(assembly.plan.instances, assembly.instances, strict=True):
        denied = denials(assembly.plan, planned)
        if not denied:
            continue
        ask = _probed if planned.capabilities.saves_state else _exchanged
        found += (Feedthrough(planned.name, *pair) for pair in ask(assembly, planned, instance, denied))
    return tuple(found)


def denials(plan: Plan, planned: PlannedInstance) -> Denied:
    variables, wired = planned.description.variables, {wire.destination for wire in plan.wires}
    inputs = [
        one.variable
        for one, slot in zip(planned.inputs, planned.input_slots, strict=True)
        if slot in wired and _is_continuous(variables[one.variable])
    ]
    if not inputs:
        return {}
    component = plan.network.components[planned.name]
    found: dict[str, list[str]] = {name: [] for name in inputs}
    for output in (one.variable for one in planned.outputs if _is_continuous(variables[one.variable])):
        declared = needs(component, output, Stage.COMMUNICATION)
        if declared is not None:
            for name in inputs:
                if name not in declared:
                    found[name].append(output)
    return {name: tuple(outputs) for name, outputs in found.items() if outputs}


def _is_continuous(variable: Variable) -> bool:
    return variable.type == "Float64" and variable.array is None and variable.variability is Variability.CONTINUOUS


def _probed(
    assembly: Assembly, planned: PlannedInstance, instance: FmuInstance, denied: Denied
) -> list[tuple[str, str]]:
    """Pairs that move if inputs are changed from a saved state. All at once first: mostly nothing moves."""
    kernel, variables = assembly.kernel, planned.description.variables
    ends = (
        *zip(planned.inputs, planned.input_slots, strict=True),
        *zip(planned.outputs, planned.output_slots, strict=True),
    )
    present = {one.variable: read_slot(kernel, slot, assembly.plan.types[slot]) for one, slot in ends}
    every = tuple(dict.fromkeys(output for outputs in denied.values() for output in outputs))
    changed = {name: _beside(variables[name], present[name], place) for place, name in enumerate(denied)}
    try:
        state = instance.keep_state()
    except FmiError:  # the run may do without
        return []

    def moved(changes: Mapping[str, Value], outputs: Iterable[str]) -> list[str]:
        after: Mapping[str, Value] = {}
        with contextlib.suppress(FmiError):  # which is told if the run itself comes to it
            instance.set(changes)
            after = instance.get(outputs)
        _go_back(instance, state, {name: present[name] for name in changes})
        return [name for name in after if _differ(present[name], after[name], variables[name])]

    found: list[tuple[str, str]] = []
    if moved(changed, every):
        present |= instance.get(every)  # what is in slots may be from before the inputs
        for name, outputs in denied.items():
            found += ((name, output) for output in moved({name: changed[name]}, outputs))
    with contextlib.suppress(FmiError):
        instance.drop_state(state)
    return found


def _go_back(instance: FmuInstance, state: Any, inputs: Mapping[str, Value]) -> None:
    """Restore a state, or at least the inputs where the FMU refuses it in spite of its description."""
    try:
        instance.go_back(state)
    except FmiError:
        instance.set(inputs)


def _exchanged(
    assembly: Assembly, planned: PlannedInstance, instance: FmuInstance, denied: Denied
) -> list[tuple[str, str]]:
    """Pairs of an input that gets another value now, and of an output that moves with it."""
    plan, kernel, variables = assembly.plan, assembly.kernel, planned.description.variables
    slots = {one.variable: slot for one, slot in zip(planned.inputs, planned.input_slots, strict=True)}
    wires = {wire.destination: wire for wire in plan.wires}
    new: dict[str, Value] = {}
    for name in denied:
        wire = wires[slots[name]]
        value = wire.conversion.carry(read_slot(kernel, wire.source, plan.types[wire.source]))
        if _differ(read_slot(kernel, slots[name], "Float64"), value, variables[name]):
            new[name] = value
    every = tuple(dict.fromkeys(output for name in new for output in denied[name]))
    if not every:
        return []
    try:
        before = instance.get(every)
        instance.set(new)
        after = instance.get(every)
    except FmiError:
        return []
    moved = {output for output in every if _differ(before[output], after[output], variables[output])}
    return [(name, output) for name in new for output in denied[name] if output in moved]


def _beside(variable: Variable, value: Value, place: int) -> float:
    """A value beside this one, within the range of the variable; of two inputs the changes differ."""
    assert isinstance(value, float)
    change = PROBE * (1 + 0.37 * place) * max(abs(value), abs(variable.nominal))
    return value + change if value + change <= variable.maximum else value - change


def _differ(one: Value, other: Value, variable: Variable) -> bool:
    assert isinstance(one, float) and isinstance(other, float)
    return not abs(one - other) <= MOVED * max(abs(one), abs(variable.nominal))


# -- start values that were given to variables which an FMU computes

_TOLERANCE = 1e-6
"""Tolerance relative to the larger of value and nominal value: what FMUs solve for at the start, they solve to
about so much."""

_COMPUTED = (Causality.OUTPUT, Causality.LOCAL)


def overridden_starts(planned: PlannedInstance, instance: FmuInstance) -> Iterator[str]:
    """Notes on given values that an FMU has changed by the end of initialization mode.

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


# -- what must be held: parameters, constants and inputs that nothing feeds

MOST_READ = 10_000
"""Variables of an FMU that are read back; of one with more, those that were set come first."""

PRINTED = 1e-5
"""Largest difference of a value to that in a description, relative to it: there it may have six digits."""

NEAR_ZERO = 1e-6
"""The same for a value of zero, relative to the nominal value: there it may have six decimals."""

_READ = (Causality.PARAMETER, Causality.STRUCTURAL_PARAMETER, Causality.INPUT)


class UnheldStart(NamedTuple):
    """A variable, by its full name, whose FMU has another value at the end of initialization than the one `wanted`.

    `given`: the system or the user has set that value; else the model description declares it.
    """

    variable: str
    wanted: str
    found: str
    given: bool


def unheld_starts(assembly: Assembly) -> tuple[UnheldStart, ...]:
    """All that differ; what cannot be read is passed over.

    FMUs in event mode are not asked: some cannot go on after a call that they refuse.
    """
    fed = _fed(assembly.plan)
    found: list[UnheldStart] = []
    for planned, instance in zip(assembly.plan.instances, assembly.instances, strict=True):
        if instance.reused or planned.name in assembly.plan.event_modes.members:
            continue  # of a study the first runs have asked
        wanted = _wanted(planned, fed)
        for values in _asked_together(planned, wanted):
            found += _departures(planned, instance, values)
    return tuple(found)


def _fed(plan: Plan) -> frozenset[tuple[str, str]]:
    """Variables that get their value from elsewhere: component and name."""
    driven = (source.signal for source in plan.stimuli.sources)
    changed = (change.signal for change in plan.stimuli.parameter_changes)
    wired = (wire.destination for wire in plan.network.wires)
    passed = (wire.destination for wire in plan.parameter_wires)
    return frozenset((one.component, one.variable) for one in chain(driven, changed, wired, passed))


def _wanted(planned: PlannedInstance, fed: frozenset[tuple[str, str]]) -> dict[str, Value]:
    """Values of an FMU that it must hold, at most `MOST_READ`."""
    if planned.description.fmi_major == 1:  # which does not state what is exact
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
    """Inputs apart from parameters, as FMUs refuse to give the former back."""
    variables = planned.description.variables
    for inputs in (False, True):
        yield {
            name: value for name, value in wanted.items() if (variables[name].causality is Causality.INPUT) == inputs
        }


def _departures(planned: PlannedInstance, instance: FmuInstance, wanted: Mapping[str, Value]) -> Iterator[UnheldStart]:
    variables = planned.description.variables
    with contextlib.suppress(FmiError):  # only asked in order to tell; the run goes on without
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
