"""Set and unset values of parameters and start values, and the times of the default experiment.

A value is written to the place that the value in force comes from, or to a place where it will be in force.
"""

from dataclasses import dataclass
from math import inf, isclose, isnan

from ssptool.documents import ssc, ssd, ssv
from ssptool.documents.vocabulary import boolean, double, hex_binary, number_text
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
from ssptool.editing.changes import EditError, UnknownName
from ssptool.editing.draft import RESOURCES, Draft, Place, empty_parameter_set
from ssptool.editing.names import Name, Sharing, shown
from ssptool.editing.units import drop_unused, unit_named, use_unit, used_enumerations, used_units
from ssptool.fmu.description import Value
from ssptool.fmu.units import PhysicalUnit, named
from ssptool.network.conversion import (
    IncompatibleUnits,
    canonical,
    conversion,
    document_units,
    from_text,
    is_float,
    is_integer,
)
from ssptool.network.network import Signal
from ssptool.network.targets import Target, VariableTarget


def unset_value(draft: Draft, name: Name, of: str | None, sharing: Sharing) -> None:
    """Remove the parameter from which a variable or connector has its value; also one that matches nothing.

    An inline set that becomes empty goes with its binding. A parameter that a mapping gives several names keeps those
    that are not meant: then the entry of the mapping goes.

    Parameters
    ----------
    of
        The parameter set that is meant, if it is not that of the value in force.

    Raises
    ------
    UnknownName
        There is no such variable and no such parameter.
    SharedStructure
        The value is in a nested document of which other components are made as well.
    EditError
        No document gives it a value, not this set, or the mapping belongs to others as well.
    """
    full = shown(name)
    found = [use for use in uses(draft) if use.full == full]
    if not found:
        found = list(uses_inside(draft, full, sharing, strict=True))
    use = winner([use for use in found if of in (None, use.bound.file, use.bound.file.rpartition("/")[2])])
    if use is None:
        raise _nothing_to_unset(draft, full, of, found)
    where = str(use.bound)
    _take_away(draft, use)
    draft.packages.put_back(draft.archive)
    draft.note(f"unset {full} in {where}; {_now(draft, full)}")


def _nothing_to_unset(draft: Draft, full: str, of: str | None, found: list[Use]) -> EditError:
    if found:
        sets = ", ".join(sorted({str(use.bound) for use in found}))
        return EditError(f"{of} does not give {full} a value, but {sets}")
    addressees = Addressees(draft)
    if addressees.of(full):
        return EditError(f"no document gives {full} a value, so there is nothing to unset; {_now(draft, full)}")
    return UnknownName("variable, connector or parameter", full, [*addressees.names(), *(u.full for u in uses(draft))])


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
    """The value that a variable has now, as the end of a note."""
    addressees = Addressees(draft)
    target = next(iter(addressees.of(full)), None)
    if target is None:
        return "nothing has that name"
    values = addressees.values()
    if target.signal in values:
        return f"its value is {_text(values[target.signal])} now, from another parameter"
    start = target.variable.start if isinstance(target, VariableTarget) else None
    return "it has no value now" if start is None else f"its value is {_text(start)}, the start value in the FMU"


def _text(value: object) -> str:
    return number_text(value) if isinstance(value, float) else str(value)


ROUNDING = 1e-12
"""Relative; a value that went to another unit and back is the same to within a few roundings."""


@dataclass(frozen=True, slots=True)
class RequestedValue:
    """A value for a target; `unit` is the one the value is in, `stated` whether the user said so."""

    name: str
    text: str
    value: Value
    target: Target
    unit: PhysicalUnit | None
    stated: bool

    def __str__(self) -> str:
        unit = self.unit if is_float(self.target.type) else None
        return f"{self.name} = {self.text}" + ("" if unit is None else f" {unit.name}")

    @property
    def in_target_unit(self) -> Value:
        """The value as the target takes it."""
        if not self.stated or not isinstance(self.value, float):
            return self.value
        return self.converted(self.value, self.unit, self.target.unit)

    def converted(self, value: float, source: PhysicalUnit | None, target: PhysicalUnit | None) -> float:
        """Raises EditError if the units do not fit."""
        try:
            return conversion(source, target, self.target.relative)(value)
        except IncompatibleUnits as problem:
            raise EditError(f"{self.name} = {self.text}: {problem}") from problem

    def granted_by(self, value: Value) -> bool:
        """Whether the target has what was wished for if it has this value."""
        wanted = self.in_target_unit
        if isinstance(value, float) and isinstance(wanted, int | float):
            both_nan = isnan(value) and isnan(wanted)
            return both_nan or isclose(value, wanted, rel_tol=ROUNDING, abs_tol=ROUNDING)
        return value == wanted or self.target.items.get(str(wanted)) == value


def requested_value(draft: Draft, addressees: Addressees, name: str, value: object, unit: str | None) -> RequestedValue:
    """The requested that a variable or connector called `name` has a value, given as such or as text.

    Raises
    ------
    UnknownName
        There is no such variable, or no such unit.
    InvalidValue
        The value is not of the target's type.
    EditError
        The variable takes no value, not in this unit, or none of this size.
    """
    targets = addressees.of(name)
    if not targets:
        raise UnknownName("variable or connector", name, addressees.names())
    target = targets[0]
    if not target.settable:
        raise EditError(f"{name} takes no value: its FMU calculates it")
    if isinstance(target, VariableTarget) and target.variable.shape:
        raise EditError(f"{name} is an array, of which single values cannot be set: edit the parameter set")
    if unit is not None and not is_float(target.type):
        raise EditError(f"{name} is of type {target.type}, which has no unit")
    text = value.strip() if isinstance(value, str) and target.type != "String" else _as_text(value)
    given = target.unit if unit is None else unit_named(draft, unit)
    read = from_text(name, text, target.type, target.items)
    if target.type == "Enumeration":
        # The item's name is written, not its number.
        read = next((item for item, number in target.items.items() if number == read), text)
    requested = RequestedValue(name, text, read, target, given, unit is not None)
    _require_within(requested)
    return requested


def _require_within(requested: RequestedValue) -> None:
    value, (lowest, highest) = requested.in_target_unit, requested.target.bounds
    if isinstance(value, int | float) and not isinstance(value, bool) and not lowest <= value <= highest:
        raise EditError(f"{requested.name} cannot be {requested.text}: its FMU allows {lowest:g} to {highest:g}")


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return boolean.write(value)
    if isinstance(value, bytes):
        return hex_binary.write(value)
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
    unit: str | None,
    into: str | None,
    sharing: Sharing,
) -> None:
    """Give a parameter or start value to a variable or a connector.

    Without `into` the parameter in force is edited, also in a nested structure if nothing else is made of that, or
    if `sharing` allows it; if there is none, one is added to the last suitable set that is bound to the root system,
    or to a new inline set there.

    Parameters
    ----------
    value
        Of the target's type, or its text; an enumeration takes the name of an item. In the target's unit [unit].
    into
        A parameter set, as an entry of the archive; if it is not there, it is made and bound to the root system.

    Raises
    ------
    UnknownName, InvalidValue, EditError
        As `requested_value`; or another value would be in force, or this one cannot be written where that comes from.
    """
    addressees = Addressees(draft)
    requested = requested_value(draft, addressees, shown(name), value, unit)
    entry = None if into is None else _entry(draft, into)
    before = addressees.values()
    own = [use for use in uses(draft) if use.full == requested.name]
    # At one level the bindings of a component win over those of the structure that it is made of.
    named_so = [*uses_inside(draft, requested.name, sharing), *own]
    use = winner([use for use in named_so if entry in (None, use.bound.file)])
    if use is not None:
        _require_in_force(requested, use, named_so)
        where = _edit(requested, use)
    elif entry is not None and draft.archive.has(entry) and not any(each.file == entry for each in bound(draft)):
        _edit_unbound(draft, requested, entry)
        return
    else:
        where = _add(draft, requested, entry, winner(own))
    if draft.packages.any_open:  # What was read of them before holds no longer.
        draft.packages.put_back(draft.archive)
        addressees = Addressees(draft)
    others = _others(requested, before, addressees.values())
    draft.note(f"set {requested} in {where}{_shared(draft, where)}")
    for other in others:
        draft.note(f"that changes {other} as well")


def _require_in_force(requested: RequestedValue, use: Use, all_uses: list[Use]) -> None:
    deciding = winner(all_uses)
    if deciding is not None and deciding is not use and deciding.parameter is not use.parameter:
        raise EditError(
            f"{requested.name} = {requested.text} in {use.bound} would not count: {deciding.bound} decides it"
        )


def _edit(requested: RequestedValue, use: Use) -> str:
    """Change the value of a parameter; gives where that is."""
    parameter, values = use.parameter, use.bound.values
    if parameter.dimensions or parameter.type is None or len(parameter.type.entries) > 1:
        raise EditError(f"{use.bound} gives {requested.name} an array: edit that file")
    transformation = None if use.entry is None else use.entry.transformation
    stored = requested.value
    if transformation is not None:
        stored = _back_through(requested, use, transformation)
    elif isinstance(stored, float) and not requested.stated:
        unit = named(document_units(values), parameter.unit)
        suppressed = use.entry is not None and use.entry.suppress_unit_conversion
        stored = stored if unit is None or suppressed else requested.converted(stored, requested.unit, unit)
    unit_name = use_unit(values, requested.unit) if requested.stated and transformation is None else parameter.unit
    _write(parameter, stored, unit_name, requested, values.version)
    return str(use.bound)


def _back_through(requested: RequestedValue, use: Use, transformation: ssc.Transformation) -> float:
    """The value that the transformation of a mapping turns into the requested one."""
    value = requested.in_target_unit
    if not isinstance(transformation, ssc.LinearTransformation) or not isinstance(value, int | float):
        raise EditError(
            f"{requested.name} comes from {use.parameter.name} through a {type(transformation).__name__}: "
            f"edit {use.bound}"
        )
    if transformation.factor == 0:
        raise EditError(f"{requested.name} does not depend on {use.parameter.name}: the mapping multiplies it by zero")
    suppressed = use.entry is not None and use.entry.suppress_unit_conversion
    own = requested.target.unit if suppressed else named(document_units(use.bound.values), use.parameter.unit)

    def forward(stored: float) -> float:
        return transformation.factor * requested.converted(stored, own, requested.target.unit) + transformation.offset

    exact = requested.converted((value - transformation.offset) / transformation.factor, requested.target.unit, own)
    # Of the numbers that come to the wished one, that with the fewest digits: 15 rather than 14.999500000000001.
    candidates = (float(f"{exact:.{digits}g}") for digits in range(12, 17))
    return next((stored for stored in candidates if isclose(forward(stored), value, rel_tol=1e-15)), exact)


def _write(parameter: ssv.Parameter, value: Value, unit: str | None, requested: RequestedValue, version: str) -> None:
    """Store a value in a parameter, whose type is replaced only if it cannot hold it."""
    type = parameter.type
    if type is None or not _holds(type.type_name, value, requested.target.type):
        type = _type_for(requested, version)
        parameter.type = type
    if isinstance(type, ssv.Texts):
        type.entries = (value,)
    else:
        type.set("value", _value_text(value, requested))
    if isinstance(type, ssv.FloatingPoint) and type.unit != unit:
        type.unit = unit


def _value_text(value: Value, requested: RequestedValue) -> str:
    if isinstance(value, bool):
        return boolean.write(value)
    if isinstance(value, float):
        # What the user typed, if it was not converted.
        return requested.text if value == requested.value and _is_double(requested.text) else number_text(value)
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


def _type_for(requested: RequestedValue, version: str) -> ssv.ParameterType:
    """A new type for a parameter, in the words of the version of its set."""
    known = _TYPES_1 if version == "1.0" else _TYPES
    if requested.target.type not in known:
        raise EditError(
            f"{requested.name} is of type {requested.target.type}, which parameter sets of SSP {version} do not have"
        )
    return known[requested.target.type].new()


def _add(draft: Draft, requested: RequestedValue, entry: str | None, deciding: Use | None) -> str:
    """Add a parameter to a set that is bound, or to a new one; gives where that is."""
    _type_for(requested, draft.version)  # raises before anything is made
    chosen = _choose(draft, requested.name, entry)
    if chosen is None:
        chosen = _new_set(draft, entry)
    elif deciding is not None and not _beats(draft, chosen, deciding.bound):
        raise EditError(f"{requested.name} = {requested.text} in {chosen} would not count: {deciding.bound} decides it")
    local = ".".join(chosen.place.path)
    name = requested.name.removeprefix(f"{local}." if local else "").removeprefix(chosen.binding.prefix)
    _add_to(chosen.values, name, requested)
    return str(chosen)


def _beats(draft: Draft, one: BoundSet, other: BoundSet) -> bool:
    """Whether the values of a binding win over those of another one (catalogue §1.6)."""
    order = [each.binding for each in bound(draft)]
    ranks = [(-len(each.place.path), order.index(each.binding)) for each in (one, other)]
    return ranks[0] >= ranks[1]


def _add_to(values: ssv.ParameterSet, name: str, requested: RequestedValue) -> None:
    parameter = ssv.Parameter.new(name=name)
    unit = use_unit(values, requested.unit) if is_float(requested.target.type) else None
    _write(parameter, requested.value, unit, requested, values.version)
    values.add(parameter)


def _choose(draft: Draft, full: str, entry: str | None) -> BoundSet | None:
    """The binding whose set can take a new parameter: of `entry`, or of the root system; the last one.

    A set that other structures use as well is taken only if it is asked for.
    """
    suitable = None
    for each in bound(draft):
        start = "".join(f"{name}." for name in each.place.path) + each.binding.prefix
        fits = full.startswith(start) and len(full) > len(start) and each.mapping is None
        wanted = each.file == entry if entry else not each.place.path and not _other_users(draft, each.file)
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
    draft.note(f"made {entry}")
    binding = add_binding(draft, draft.system, entry)
    return BoundSet(place, binding, draft.archive.document(entry).root_as(ssv.ParameterSet), entry, None, "")


def _edit_unbound(draft: Draft, requested: RequestedValue, entry: str) -> None:
    """Set a parameter in a set that the structure does not use; its names are full names."""
    values = draft.archive.document(entry).root_as(ssv.ParameterSet)
    parameter = next((each for each in values.parameters if each.name == requested.name), None)
    if parameter is None:
        _add_to(values, requested.name, requested)
    else:
        unit = use_unit(values, requested.unit) if is_float(requested.target.type) else None
        _write(parameter, requested.value, unit, requested, values.version)
    draft.note(f"set {requested} in {entry}, which {draft.document.name} does not bind")


def _entry(draft: Draft, into: str) -> str:
    """The entry of a parameter set that is there, or where a new one is to be."""
    if draft.archive.has(into):
        return into
    if not into.lower().endswith(".ssv"):
        raise EditError(f"{into!r} is no parameter set: its name has to end in .ssv")
    return into if into.startswith(f"{RESOURCES}/") else f"{RESOURCES}/{into}"


def _others(requested: RequestedValue, before: dict[Signal, Value], after: dict[Signal, Value]) -> list[str]:
    """The other variables whose values changed; the one that was meant has to have its value now."""
    signal = requested.target.signal
    if signal not in after or not requested.granted_by(after[signal]):
        found = repr(after[signal]) if signal in after else "none"
        raise EditError(f"{requested.name} has the value {found} now, not {requested.text}: please report this system")
    return sorted(str(each) for each in after if each != signal and after[each] != before.get(each))


def _shared(draft: Draft, where: str) -> str:
    """Who else reads the set, as the end of a note."""
    others = _other_users(draft, where) if draft.archive.has(where) else []
    return f", which {' and '.join(others)} use{'s' * (len(others) == 1)} as well" if others else ""


def _other_users(draft: Draft, entry: str) -> list[str]:
    return [name for name in draft.users(entry) if draft.document.name not in (name, entry)]


def set_experiment(draft: Draft, start: float | None = None, stop: float | None = None) -> None:
    """Set the start or the stop time [s], or both; what is None stays.

    Raises
    ------
    EditError
        It would not end after its start.
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
    """Take the start or the stop time away; an experiment without both goes.

    Raises
    ------
    EditError
        There is no such time.
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
