"""All variables of an exported system; variables of components are selected by patterns of full names."""

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import chain
from typing import NamedTuple

from ssptool.engine.assembly.applied_stimuli import why_not
from ssptool.engine.kernel.calls import ACCESS
from ssptool.engine.planning.plan import Plan, PlannedInstance
from ssptool.engine.run.frozen_variables import NumberedParts, numbered_parts, part_variable, start_value
from ssptool.errors import UnknownName, similar_names
from ssptool.exporting.clocks import clocks_of_components, exposed_clock, output_clocks, with_clocks
from ssptool.exporting.connectors import own_variables
from ssptool.exporting.interface import ExportedVariable, PartTarget, variability_of
from ssptool.fmu.description import Causality, Variability, Variable, element_names
from ssptool.network.arrays import elements, whole
from ssptool.network.network import Signal


def exported_variables(plan: Plan, patterns: Sequence[str], fmi: int = 2) -> tuple[ExportedVariable, ...]:
    """Connectors of the system itself, then the variables that match the patterns. A system without connectors that is
    exported without patterns exposes the outputs of its components. FMI 3.0 has arrays, FMI 2.0 their elements.

    Raises
    ------
    UnknownName
        A pattern matches nothing.
    """
    slots = {signal: slot for slot, signal in enumerate(plan.signals)}
    own = tuple(own_variables(plan, fmi))
    if own or patterns:
        names = _names(plan, fmi)
        chosen = dict.fromkeys(signal for pattern in patterns for signal in _matching(plan, names, pattern, fmi))
    else:
        shown = (one for one in plan.instances if not plan.network.components[one.name].delays)
        outputs = (signal for one in shown for signal in _outputs(plan, one, fmi))
        chosen = dict.fromkeys(whole(signal, plan.network.arrays) if fmi == 3 else signal for signal in outputs)
    clocks = clocks_of_components(plan)
    parts = numbered_parts(plan)
    inner = (exposed_clock(plan, one) if one in clocks else _inner(plan, parts, slots, one) for one in chosen)
    return with_clocks(plan, (*own, *inner))


def _matching(plan: Plan, names: "_Names", pattern: str, fmi: int) -> list[Signal]:
    """Signals that match a pattern; in a system with one component, its name may be omitted."""
    try:
        return names.matching(pattern, fmi)
    except UnknownName:
        if (other := plan.network.in_the_only_component(pattern)) == pattern:
            raise
        return names.matching(other, fmi)


def _outputs(plan: Plan, one: PlannedInstance, fmi: int) -> Iterator[Signal]:
    """Outputs, including those that change only at clock ticks, and output clocks, which exist in FMI 3.0."""
    member = plan.event_modes.members.get(one.name)
    yield from one.outputs
    yield from (clocked.signal for clocked in (() if member is None else member.outputs))
    yield from output_clocks(plan, one.name) if fmi == 3 else ()


class _Names(NamedTuple):
    """Variables of components by their full names: scalars, arrays with their elements, and these elements."""

    scalars: dict[str, Signal]
    arrays: dict[str, tuple[Signal, ...]]
    elements: dict[str, Signal]

    def matching(self, pattern: str, fmi: int) -> list[Signal]:
        """Scalars, and arrays or (in FMI 2.0) their elements; single elements have their own names."""
        if pattern in self.elements:  # such as Plant.x[1], which would also be a pattern
            return [self.elements[pattern]]
        known = [*self.scalars, *self.arrays]
        names = [pattern] if pattern in known else [name for name in known if fnmatchcase(name, pattern)]
        found = list(chain.from_iterable(self._signals(name, fmi) for name in names))
        found = found or [signal for name, signal in self.elements.items() if fnmatchcase(name, pattern)]
        if not found:
            said = f"--expose {pattern}: no component has such a variable"
            raise UnknownName(said, pattern, near=similar_names(pattern, [*known, *self.elements]))
        return found

    def _signals(self, name: str, fmi: int) -> tuple[Signal, ...]:
        if name in self.scalars:
            return (self.scalars[name],)
        inside = self.arrays[name]
        return (_array(inside[0]),) if fmi == 3 and inside else inside


def _names(plan: Plan, fmi: int) -> _Names:
    found = _Names({}, {}, {})
    clocks = clocks_of_components(plan) if fmi == 3 else frozenset()
    for one in plan.instances:
        description = one.description
        types = ACCESS[description.fmi_major]  # that the runtime can set and get
        for name, variable in (description.whole or description.variables).items():
            signal = Signal(one.name, name)
            if variable.type not in types and signal not in clocks:
                continue
            if name not in description.arrays:
                found.scalars[str(signal)] = signal
                continue
            found.arrays[str(signal)] = elements(signal, description.arrays[name])
            found.elements.update({str(element): element for element in found.arrays[str(signal)]})
    return found


def _array(element: Signal) -> Signal:
    return Signal(element.component, element.variable.rpartition("[")[0])


def _inner(plan: Plan, parts: NumberedParts, slots: Mapping[Signal, int], signal: Signal) -> ExportedVariable:
    """A variable of a component: a scalar, an array or an element of one."""
    _, one = parts[signal.component]
    shape = one.description.arrays.get(signal.variable, ())
    names = element_names(signal.variable, shape)
    signals = [Signal(one.name, name) for name in names]
    variable = one.description.variables[names[0]]
    # Structural parameters are fixed when the system is exported; parameters that other components calculate cannot be
    # set.
    calculated = {wire.destination for wire in plan.parameter_wires}
    parameter = variable.causality is Causality.PARAMETER and calculated.isdisjoint(signals)
    shown = Causality.OUTPUT if variable.causality is Causality.OUTPUT else Causality.LOCAL
    in_slots = all(each in slots for each in signals)
    target = part_variable(parts, signals[0])
    return ExportedVariable(
        name=str(signal),
        signal=signal,
        type=variable.type,
        causality=Causality.PARAMETER if parameter else shown,
        variability=_parameter_variability(plan, signals, variable)
        if parameter
        else _shown_variability(variable, shown),
        unit=variable.unit,
        description=variable.description,
        starts=tuple(start_value(one, name) for name in names) if parameter else (),
        nominal=variable.nominal,
        minimum=variable.minimum,
        maximum=variable.maximum,
        shape=shape,
        slots=tuple(slots[each] for each in signals) if in_slots else (),
        targets=() if in_slots else (PartTarget(target._replace(elements=(), starts=()) if shape else target),),
        items=tuple(variable.items.items()),
        mime_type=variable.mime_type,
    )


def _parameter_variability(plan: Plan, signals: Sequence[Signal], variable: Variable) -> Variability:
    """Variability of a parameter: a tunable one is fixed if a fixed parameter of another component follows from it."""
    fixed = any(why_not(plan.network, plan.parameter_wires, one) for one in signals)
    return Variability.FIXED if fixed else variable.variability


def _shown_variability(variable: Variable, shown: Causality) -> Variability:
    """Variability of an exposed variable. The system calculates constants on request, so they are fixed, or outputs
    that do not change.
    """
    if variable.variability is not Variability.CONSTANT:
        return variable.variability
    return variability_of(variable.type) if shown is Causality.OUTPUT else Variability.FIXED
