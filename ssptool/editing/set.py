"""Set and unset values of parameters and start values, and the times of the default experiment.

A value is written where the value in force comes from, or where it will be in force.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf, isclose, isnan
from typing import TypeVar

from ssptool.documents import ssc, ssd, ssv
from ssptool.documents.vocabulary import boolean, double, number_text
from ssptool.editing.bind import (
    Addressees,
    BoundSet,
    Use,
    add_binding,
    bound,
    inline_set,
    uses,
    uses_inside,
    uses_of,
    winner,
)
from ssptool.editing.changes import EditError
from ssptool.editing.draft import RESOURCES, Draft, Place, copied, empty_parameter_set
from ssptool.editing.names import Name, shown
from ssptool.editing.requested_values import RequestedValue, requested_value, values_by_signal
from ssptool.editing.units import drop_unused, use_unit, used_enumerations, used_units
from ssptool.errors import UnknownName, WrongUsage, counted, in_other_case
from ssptool.fmu.description import Value, element_names
from ssptool.fmu.units import PhysicalUnit, named, with_unit
from ssptool.network.conversion import canonical, document_units, is_float, is_integer
from ssptool.network.flatten import build_network
from ssptool.network.network import Network, Signal, StepKind, Wire
from ssptool.network.targets import VariableTarget
from ssptool.option_words import Sharing

T = TypeVar("T")


def unset_value(draft: Draft, name: Name, of: str | None, sharing: Sharing) -> None:
    """Remove the parameter that sets a variable or connector; also a parameter that matches nothing.

    An inline set that becomes empty is removed with its binding. If a mapping gives the parameter several names, only
    the entry of the mapping is removed.

    Parameters
    ----------
    of
        The parameter set (default: the set of the value in force).

    Raises
    ------
    UnknownName
        Neither the variable nor the parameter exists.
    SharedStructure
        The value is in a nested document that other components also use.
    EditError
        No document (or not this set) contains a value, or other bindings also use the mapping.
    """
    full = shown(name)
    found = [use for use in uses(draft) if use.full == full]
    if not found:
        found = list(uses_inside(draft, full, sharing, strict=True))
    use = winner([use for use in found if of in (None, use.bound.file, use.bound.file.rpartition("/")[2])])
    if use is None and (own := _in_other_case(draft, full)) not in (None, full):
        unset_value(draft, own, of, sharing)
        return
    if use is None:
        raise _nothing_to_unset(draft, full, of, found)
    use = _unshared(draft, use, sharing)
    where = str(use.bound)
    _take_away(draft, use)
    draft.packages.put_back(draft.archive)
    draft.note(f"unset {full} in {where}{_shared(draft, where)}; {_now(draft, full)}")


def _in_other_case(draft: Draft, full: str) -> str | None:
    addressees = Addressees(draft)
    return None if addressees.of(full) else in_other_case(full, [*addressees.names(), *(u.full for u in uses(draft))])


def _nothing_to_unset(draft: Draft, full: str, of: str | None, found: list[Use]) -> WrongUsage:
    if found:
        sets = ", ".join(sorted({str(use.bound) for use in found}))
        return EditError(f"{of} does not give {full} a value, but {sets}")
    addressees = Addressees(draft)
    if addressees.of(full):
        return EditError(f"no document gives {full} a value, so there is nothing to unset; {_now(draft, full)}")
    array = full.rpartition("[")[0]
    if array and addressees.of(array):
        return EditError(f"{full} is an element of the array {array}: unset {array}")
    known = [*addressees.names(), *(u.full for u in uses(draft))]
    said = f"there is no variable, connector or parameter {full!r}"
    return UnknownName(said, full, known, because=addressees.why_unknown(full))


def _take_away(draft: Draft, use: Use) -> None:
    bound, parameter, entry = use.bound, use.parameter, use.entry
    alike = [each for each in uses_of(bound) if each.parameter is parameter]
    if entry is not None and len(alike) > 1:
        others = ", ".join(each.full for each in alike if each.entry is not entry)
        if not bound.maps_inline:
            raise EditError(
                f"{parameter.name} of {bound} gives {use.full} its value, and {others} as well, through "
                f"{bound.mapping_file}: remove the one entry with `unmap`, or give the binding a set of its own"
            )
        entry.delete()
        return
    if entry is not None and bound.maps_inline and bound.mapping is not None and len(bound.mapping.entries) > 1:
        entry.delete()
    _remove_parameter(draft, bound, parameter)


def _remove_parameter(draft: Draft, bound: BoundSet, parameter: ssv.Parameter) -> None:
    units, enumerations = used_units(parameter), used_enumerations(parameter)
    parameter.delete()
    drop_unused(bound.values, units, enumerations)
    if bound.binding.source is None and not bound.values.parameters:
        bound.binding.delete()
        draft.note(f"removed the binding of the inline set of {bound.place}, which is empty now")


def _now(draft: Draft, full: str) -> str:
    """Text for the end of a note: the present value of a variable."""
    target = next(iter(Addressees(draft).of(full)), None)
    if target is None:
        return "nothing has that name"
    network = build_network(draft.archive, draft.document)
    values = values_by_signal(network)
    array, unit = target.signal, None if target.unit is None else target.unit.name
    signals = [Signal(array.component, name) for name in element_names(array.variable, network.arrays.get(array, ()))]
    if given := [_text(values[signal]) for signal in signals if signal in values]:
        return f"its value is {with_unit(' '.join(given), unit)} now, from another parameter"
    starts = [network.variable(each).start for each in signals] if isinstance(target, VariableTarget) else [None]
    if None in starts:
        return "it has no value now"
    return f"its value is {with_unit(' '.join(map(_text, starts)), unit)}, the start value in the FMU"


def _text(value: object) -> str:
    return number_text(value) if isinstance(value, float) else str(value)


_TYPES: dict[str, type[ssv.ParameterType]] = {kind.__name__: kind for kind in ssv.TYPES}
_TYPES_1: dict[str, type[ssv.ParameterType]] = {
    "Float64": ssv.Real,
    "Int32": ssv.Integer,
    "Boolean": ssv.Boolean,
    "String": ssv.String,
    "Enumeration": ssv.Enumeration,
    "Binary": ssv.Binary,
}


def set_value(
    draft: Draft,
    name: Name,
    value: object,
    unit: str | PhysicalUnit | None,
    into: str | None,
    sharing: Sharing,
) -> None:
    """Set a parameter or start value of a variable or a connector.

    Without `into`, the parameter in force is edited, also in a nested structure if nothing else uses it or `sharing`
    allows it. If there is no parameter, one is added to the last suitable set that is bound to the root system, or to a
    new inline set there.

    Parameters
    ----------
    value
        Value of the target's type, or a string; for an enumeration the name of an item. In the unit of the target
        [unit].
    into
        Parameter set, as an entry of the archive. If it does not exist, it is created and bound to the root system.

    Raises
    ------
    UnknownName, InvalidValue, EditError
        As `requested_value`; or another value would be in force, or this one cannot be written where that comes from.
    """
    before = build_network(draft.archive, draft.document)
    requested = requested_value(draft, Addressees(draft), before, shown(name), value, unit)
    entry = None if into is None else _entry(draft, into)
    own = [use for use in uses(draft) if use.full == requested.whole]
    # On the same level, bindings of a component override those of the structure that it refers to.
    named_so = [*uses_inside(draft, requested.whole, sharing), *own]
    use = winner([use for use in named_so if entry in (None, use.bound.file)])
    if use is not None:
        _require_in_force(requested, use, named_so)
        where = _edit(requested, _unshared(draft, use, sharing))
    elif entry is not None and draft.archive.has(entry) and not any(each.file == entry for each in bound(draft)):
        _edit_unbound(draft, requested.completed(before), entry)
        return
    else:
        where = _add(draft, requested.completed(before), entry, winner(own))
    if draft.packages.any_open:  # cached data of opened packages are out of date
        draft.packages.put_back(draft.archive)
    after = build_network(draft.archive, draft.document)
    _require_satisfied(requested, after)
    draft.note(f"set {requested} in {where}{_shared(draft, where)}")
    for note in (*_driven(requested, after), *_also_changed(requested, before, after)):
        draft.note(note)


def _shared_parameter_set(name: str, file: str, others: tuple[str, ...]) -> EditError:
    """Error for a parameter set that is bound several times, so that an edit of one value also changes those of
    `others`.
    """
    return EditError(
        f"{name} has its value from {file}, and so {'has' if len(others) == 1 else 'have'} {', '.join(others)}: "
        f"use --shared all to edit it for all of them, or --shared copy to give {name} a copy of its own"
    )


def _unshared(draft: Draft, use: Use, sharing: Sharing) -> Use:
    """The parameter to edit, if its set is bound several times: in the shared set, or in a copy for this binding
    only.
    """
    file, binding = use.bound.file, use.bound.binding
    if binding.source is None or sharing is Sharing.ALL:
        return use
    alike = [each for each in uses(draft) if each.bound.file == file and each.parameter.name == use.parameter.name]
    elsewhere = {each.full: None for each in alike if each.bound.binding is not binding and each.full != use.full}
    addressees = Addressees(draft)
    others = tuple(full for full in elsewhere if addressees.of(full))
    if not others:
        return use
    if sharing is Sharing.REFUSE:
        raise _shared_parameter_set(use.full, file, others)
    binding.source = draft.reference(copied(draft, file))
    draft.note(f"{use.bound.place} has a copy of {file}: {draft.entry(binding.source)}")
    return next(each for each in uses(draft) if each.bound.binding is binding and each.full == use.full)


def _require_in_force(requested: RequestedValue, use: Use, all_uses: list[Use]) -> None:
    deciding = winner(all_uses)
    if deciding is not None and deciding is not use and deciding.parameter is not use.parameter:
        raise EditError(
            f"{requested.name} = {requested.text} in {use.bound} would have no effect: "
            f"the value in {deciding.bound} wins"
        )


def _edit(requested: RequestedValue, use: Use) -> str:
    """Change the value of a parameter; returns its location."""
    parameter, values = use.parameter, use.bound.values
    found = 0 if parameter.type is None else len(parameter.type.entries)
    if found != requested.size or bool(parameter.dimensions) > bool(requested.shape):
        raise EditError(f"{use.bound} gives {requested.whole} {counted(found, 'value')} of an array: edit that file")
    transformation = None if use.entry is None else use.entry.transformation
    stored = tuple(_as_stored(requested, use, value) for value in requested.values)
    replaces_unit = requested.stated and transformation is None and requested.index is None
    unit = use_unit(values, requested.unit) if replaces_unit else parameter.unit
    _write(parameter, stored, unit, requested, values.version)
    return str(use.bound)


def _as_stored(requested: RequestedValue, use: Use, value: Value) -> Value:
    """Values of the parameter for which its variable gets the requested value."""
    transformation = None if use.entry is None else use.entry.transformation
    if transformation is not None:
        return _back_through(requested, use, transformation, value)
    if not isinstance(value, float) or (requested.stated and requested.index is None):
        return value
    unit = named(document_units(use.bound.values), use.parameter.unit)
    suppressed = use.entry is not None and use.entry.suppress_unit_conversion
    return value if unit is None or suppressed else requested.converted(value, requested.unit, unit)


def _back_through(
    requested: RequestedValue, use: Use, transformation: ssc.Transformation, requested_one: Value
) -> float:
    """Value that the transformation of a mapping converts to the requested one."""
    value = requested.to_target(requested_one)
    if not isinstance(transformation, ssc.LinearTransformation) or not isinstance(value, int | float):
        raise EditError(
            f"{requested.name} comes from {use.parameter.name} through a mapping that cannot be inverted: "
            f"set {use.parameter.name} in {use.bound}"
        )
    if transformation.factor == 0:
        raise EditError(f"{requested.name} does not depend on {use.parameter.name}: the mapping multiplies it by zero")
    suppressed = use.entry is not None and use.entry.suppress_unit_conversion
    own = requested.target.unit if suppressed else named(document_units(use.bound.values), use.parameter.unit)

    def forward(stored: float) -> float:
        return transformation.factor * requested.converted(stored, own, requested.target.unit) + transformation.offset

    exact = requested.converted((value - transformation.offset) / transformation.factor, requested.target.unit, own)
    # If several numbers give the requested one, use the one with the fewest digits: 15 instead of 14.999500000000001.
    candidates = (float(f"{exact:.{digits}g}") for digits in range(12, 17))
    return next((stored for stored in candidates if isclose(forward(stored), value, rel_tol=1e-15)), exact)


def _write(
    parameter: ssv.Parameter, stored: tuple[Value, ...], unit: str | None, requested: RequestedValue, version: str
) -> None:
    """Store values in a parameter; its type changes only if it cannot represent them.

    If one element of an array is requested, only that element is written.
    """
    type = parameter.type
    if type is None or not all(_holds(type.type_name, value, requested.target.type) for value in stored):
        if type is not None and requested.index is not None:
            raise EditError(
                f"{parameter.name} holds {type.type_name} values, not {requested.text}: set the whole array"
            )
        type = _type_for(requested, version)
        parameter.type = type
        _state_shape(parameter, requested, version)
    if isinstance(type, ssv.Texts):
        type.entries = _in_place(type.entries if requested.index is not None else (), stored, requested.index)
    else:
        texts = tuple(map(_value_text, stored, requested.texts))
        present = (type.get("value") or "").split() if requested.index is not None else ()
        type.set("value", " ".join(_in_place(present, texts, requested.index)))
    if isinstance(type, ssv.FloatingPoint) and type.unit != unit:
        type.unit = unit


def _in_place(present: Sequence[T], new: tuple[T, ...], index: int | None) -> tuple[T, ...]:
    """The new values; with an index, the present values with one replaced."""
    return new if index is None else (*present[:index], *new, *present[index + 1 :])


def _state_shape(parameter: ssv.Parameter, requested: RequestedValue, version: str) -> None:
    if not requested.shape or parameter.dimensions:
        return
    if version == "1.0":
        raise EditError(f"{requested.whole} is an array, which parameter sets of SSP 1.0 do not have: upgrade it")
    for extent in requested.shape:
        parameter.add(ssc.Dimension.new(size=extent))


def _value_text(value: Value, text: str) -> str:
    if isinstance(value, bool):
        return boolean.write(value)
    if isinstance(value, float):
        # the text of the user, if it was not converted
        return text if _is_double(text) and double.read(text) == value else number_text(value)
    return str(value)


def _is_double(text: str) -> bool:
    try:
        double.read(text)
    except ValueError:
        return False
    return True


def _holds(type: str, value: Value, target: str) -> bool:
    if is_float(type) or canonical(type) == target:
        return is_float(type) == is_float(target) or canonical(type) == target
    return is_integer(type) and is_float(target) and isinstance(value, int)


def types_of(version: str) -> Mapping[str, type[ssv.ParameterType]]:
    """Types of parameter sets in a version of SSP, by the names of FMI 3.0."""
    return _TYPES_1 if version == "1.0" else _TYPES


def _type_for(requested: RequestedValue, version: str) -> ssv.ParameterType:
    """A new type for a parameter, in the version of its set."""
    known = types_of(version)
    if requested.target.type not in known:
        raise EditError(
            f"{requested.name} is of type {requested.target.type}, which parameter sets of SSP {version} do not have"
        )
    return known[requested.target.type].new()


def _add(draft: Draft, requested: RequestedValue, entry: str | None, deciding: Use | None) -> str:
    """Add a parameter to a bound set or to a new one; returns its location."""
    _type_for(requested, draft.version)  # raises before anything is created
    chosen = _choose(draft, requested.whole, entry)
    if chosen is None:
        chosen = _new_set(draft, entry)
    elif deciding is not None and not _beats(draft, chosen, deciding.bound):
        raise EditError(
            f"{requested.name} = {requested.text} in {chosen} would have no effect: the value in {deciding.bound} wins"
        )
    local = ".".join(chosen.place.path)
    name = requested.whole.removeprefix(f"{local}." if local else "").removeprefix(chosen.binding.prefix)
    _add_to(chosen.values, name, requested)
    return str(chosen)


def _beats(draft: Draft, one: BoundSet, other: BoundSet) -> bool:
    """True if the values of a binding override those of another one (catalogue §1.6)."""
    order = [each.binding for each in bound(draft)]
    ranks = [(-len(each.place.path), order.index(each.binding)) for each in (one, other)]
    return ranks[0] >= ranks[1]


def _add_to(values: ssv.ParameterSet, name: str, requested: RequestedValue) -> None:
    parameter = ssv.Parameter.new(name=name)
    unit = use_unit(values, requested.unit) if is_float(requested.target.type) else None
    _write(parameter, requested.values, unit, requested, values.version)
    values.add(parameter)


def _choose(draft: Draft, full: str, entry: str | None) -> BoundSet | None:
    """The last binding whose set can get a new parameter: a binding of `entry`, or of the root system.

    A set that other structures also use is only chosen on request.
    """
    suitable = None
    for each in bound(draft):
        start = "".join(f"{name}." for name in each.place.path) + each.binding.prefix
        fits = full.startswith(start) and len(full) > len(start) and each.mapping is None
        wanted = each.file == entry if entry else not each.place.path and not draft.other_users(each.file)
        if fits and wanted:
            suitable = each
    return suitable


def _new_set(draft: Draft, entry: str | None) -> BoundSet:
    if entry is not None and draft.archive.has(entry):
        raise EditError(
            f"{entry} is bound with a prefix, with a mapping or to an element only, where a new value would not reach "
            "this name: give another file, or bind it once more"
        )
    place = Place((), draft.system)
    if entry is None:
        binding, values = inline_set(draft, draft.system, draft.root.name)
        return BoundSet(place, binding, values, draft.document.name, None, "")
    stem = entry.rpartition("/")[2].removesuffix(".ssv")
    draft.archive.put(entry, empty_parameter_set(stem, draft.version))
    draft.note(f"created {entry}")
    binding = add_binding(draft, draft.system, entry)
    return BoundSet(place, binding, draft.archive.document(entry).root_as(ssv.ParameterSet), entry, None, "")


def _edit_unbound(draft: Draft, requested: RequestedValue, entry: str) -> None:
    """Set a parameter in a set that the structure does not use; its names are full names."""
    values = draft.archive.document(entry).root_as(ssv.ParameterSet)
    parameter = next((each for each in values.parameters if each.name == requested.whole), None)
    if parameter is None:
        _add_to(values, requested.whole, requested)
    else:
        unit = use_unit(values, requested.unit) if is_float(requested.target.type) else None
        _write(parameter, requested.values, unit, requested, values.version)
    draft.note(f"set {requested} in {entry}, which {draft.document.name} does not bind")


def _entry(draft: Draft, into: str) -> str:
    """Entry of an existing parameter set, or of a new one."""
    if draft.archive.has(into):
        return into
    if not into.lower().endswith(".ssv"):
        raise EditError(f"{into!r} is not a parameter set: its name has to end in .ssv")
    return into if into.startswith(f"{RESOURCES}/") else f"{RESOURCES}/{into}"


def _require_satisfied(requested: RequestedValue, network: Network) -> None:
    """Reject an edit that gives the variable another value than the requested one, with the reason."""
    assignments = {**network.boundary_assignments, **network.assignments}
    found = [assignments[signal] for signal in requested.signals if signal in assignments]
    if len(found) == len(requested.signals) and requested.satisfied_by(one.value for one in found):
        return
    if not found:
        raise EditError(f"{requested.name} would have no value, as nothing reads {requested.text} where it can be set")
    origin = found[0].chain[0]
    connection = next((step for step in found[0].chain if step.kind is StepKind.CONNECTION), None)
    if connection is None:
        raise EditError(
            f"{requested.name} = {requested.text} would have no effect: {origin.name} ({origin.position}) gives it "
            f"{_text(found[0].value)}"
        )
    source = next((str(wire.source) for wire in _wires_to(requested, network)), origin.name)
    raise EditError(
        f"{requested.name} cannot be {requested.text}: a connection ({connection.position}) gives it the value of "
        f"{source}, {_text(found[0].value)}; set {source}, or disconnect {source} and {requested.name}"
    )


def _wires_to(requested: RequestedValue, network: Network) -> Iterator[Wire]:
    signals = frozenset(requested.signals)
    return (wire for wire in network.wires if wire.destination in signals)


def _driven(requested: RequestedValue, network: Network) -> Iterator[str]:
    """Notes on components that replace the value as soon as the run exchanges values."""
    for wire in _wires_to(requested, network):
        if wire.source.component:
            yield f"{wire.source} is connected to {wire.destination}: the value holds until the run exchanges values"


def _also_changed(requested: RequestedValue, before: Network, after: Network) -> Iterator[str]:
    """Other variables whose values changed; other elements of the same array do not count."""
    was, own = values_by_signal(before), frozenset(replace(requested, index=None).signals)
    for signal, value in sorted(values_by_signal(after).items(), key=lambda item: str(item[0])):
        if signal not in own and value != was.get(signal):
            yield f"that changes {signal} as well"


def _shared(draft: Draft, where: str) -> str:
    """Text for the end of a note: other users of the set."""
    others = draft.other_users(where) if draft.archive.has(where) else []
    return f", which {', '.join(others)} use{'s' * (len(others) == 1)} as well" if others else ""


def set_experiment(draft: Draft, start: float | None = None, stop: float | None = None) -> None:
    """Set the start or the stop time [s], or both; None keeps the present one.

    Raises
    ------
    EditError
        The experiment would not end after its start.
    """
    found = draft.root.default_experiment
    old_start, old_stop = (None, None) if found is None else (found.start_time, found.stop_time)
    first, last = start if start is not None else old_start or 0.0, stop if stop is not None else old_stop
    if isnan(first) or first in (inf, -inf):
        raise EditError(f"the start time {first:g} has to be a number")
    if last is not None and not first < last < inf:
        raise EditError(f"the stop time {last:g} has to be a number greater than the start time {first:g}")
    if found is None:
        draft.root.default_experiment = found = ssd.DefaultExperiment.new()
    for name, time in (("startTime", start), ("stopTime", stop)):
        if time is not None:
            found.set(name, number_text(time))
            draft.note(f"set the {_WORDS[name]} of the default experiment to {number_text(time)} s")


def unset_experiment(draft: Draft, *, start: bool = False, stop: bool = False) -> None:
    """Remove the start or the stop time; an experiment without both is removed.

    Raises
    ------
    EditError
        The time is not stated.
    """
    found = draft.root.default_experiment
    for name, wanted in (("startTime", start), ("stopTime", stop)):
        if not wanted:
            continue
        if found is None or found.get(name) is None:
            raise EditError(f"{draft.document.name} states no {_WORDS[name]}, so there is nothing to unset")
        del found.attrib[name]
        draft.note(f"the default experiment has no {_WORDS[name]} now")
    if found is not None and not found.attrib and not len(found):
        found.delete()


_WORDS = {"startTime": "start time", "stopTime": "stop time"}
