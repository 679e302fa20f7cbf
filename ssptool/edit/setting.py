"""Set: a value goes to where the value in force comes from, or to where it will be in force."""

from dataclasses import dataclass
from math import isclose

from ssptool.documents import ssc, ssv
from ssptool.documents.converters import boolean, double, hex_binary
from ssptool.edit.adding import RESOURCES
from ssptool.edit.binding import add_binding, inline_set
from ssptool.edit.creating import empty_parameter_set
from ssptool.edit.definitions import use_unit
from ssptool.edit.draft import Draft
from ssptool.edit.errors import EditError, UnknownName
from ssptool.edit.names import Name, Place, shown
from ssptool.edit.numbers import number_text
from ssptool.edit.parameters import Addressees, Bound, Use, bound, uses, winner
from ssptool.edit.units import unit_named
from ssptool.fmu.description import Value
from ssptool.fmu.units import Unit
from ssptool.network.signals import Signal
from ssptool.network.targets import Target
from ssptool.network.types import canonical, is_float, is_integer
from ssptool.network.units import IncompatibleUnits, conversion, document_units, named
from ssptool.network.values import from_text

ROUNDING = 1e-12
"""Relative; a value that went to another unit and back is the same to within a few roundings."""

_TYPES: dict[str, type[ssv.ParameterType]] = {kind.__name__: kind for kind in ssv.TYPES}
_TYPES_1: dict[str, type[ssv.ParameterType]] = {
    "Float64": ssv.Real,
    "Int32": ssv.Integer,
    "Boolean": ssv.Boolean,
    "String": ssv.String,
    "Enumeration": ssv.Enumeration,
    "Binary": ssv.Binary,
}


@dataclass(frozen=True, slots=True)
class Wish:
    """A value for a target; `unit` is the one the value is in, `stated` whether the user said so."""

    name: str
    text: str
    value: Value
    target: Target
    unit: Unit | None
    stated: bool

    @property
    def in_target_unit(self) -> Value:
        """The value as the target takes it."""
        if not self.stated or not isinstance(self.value, float):
            return self.value
        return _converted(self.value, self.unit, self.target.unit, self)


def set_value(draft: Draft, name: Name, value: object, unit: str | None, into: str | None) -> None:
    """Give a parameter or start value to a variable or a connector.

    Without `into` the parameter in force is edited; if there is none, one is added to the last suitable set that is
    bound to the root system, or to a new inline set there.

    Parameters
    ----------
    value
        Of the target's type, or its text; an enumeration takes the name of an item. In the target's unit [unit].
    into
        A parameter set, as an entry of the archive; if it is not there, it is made and bound to the root system.

    Raises
    ------
    UnknownName
        There is no such variable, or no such unit.
    InvalidValue
        The value is not of the target's type.
    EditError
        The variable takes no value, or another one would be in force.
    """
    addressees = Addressees(draft)
    wish = _wish(draft, addressees, shown(name), value, unit)
    entry = None if into is None else _entry(draft, into)
    before = addressees.values()
    found = [use for use in uses(draft) if use.full == wish.name and entry in (None, use.bound.file)]
    use = winner(found)
    if use is not None:
        where = _edit(wish, use)
    elif entry is not None and draft.archive.has(entry) and not any(each.file == entry for each in bound(draft)):
        _edit_unbound(draft, wish, entry)
        return
    else:
        where = _add(draft, wish, entry)
    others = _verified(wish, before, addressees.values())
    draft.note(f"set {wish.name} = {_amount(wish)} in {where}{_shared(draft, where)}")
    for other in others:
        draft.note(f"that changes {other} as well")


def _wish(draft: Draft, addressees: Addressees, name: str, value: object, unit: str | None) -> Wish:
    targets = addressees.of(name)
    if not targets:
        raise UnknownName("variable or connector", name, addressees.names())
    target = targets[0]
    if not target.settable:
        raise EditError(f"{name} takes no value: its FMU calculates it")
    text = value.strip() if isinstance(value, str) and target.type != "String" else _text(value)
    given = target.unit if unit is None else unit_named(draft, unit)
    if unit is not None and not is_float(target.type):
        raise EditError(f"{name} is of type {target.type}, which has no unit")
    # Of an enumeration the item's name is written, not its number.
    read = from_text(name, text, target.type, target.items)
    if target.type == "Enumeration":
        read = next((item for item, number in target.items.items() if number == read), text)
    wish = Wish(name, text, read, target, given, unit is not None)
    _require_within(wish)
    return wish


def _require_within(wish: Wish) -> None:
    value, (lowest, highest) = wish.in_target_unit, wish.target.bounds
    if isinstance(value, int | float) and not isinstance(value, bool) and not lowest <= value <= highest:
        raise EditError(f"{wish.name} cannot be {wish.text}: its FMU allows {lowest:g} to {highest:g}")


def _text(value: object) -> str:
    if isinstance(value, bool):
        return boolean.write(value)
    if isinstance(value, bytes):
        return hex_binary.write(value)
    return number_text(value) if isinstance(value, float) else str(value)


def _amount(wish: Wish) -> str:
    return f"{wish.text} {wish.unit.name}" if wish.unit is not None and is_float(wish.target.type) else wish.text


def _converted(value: float, source: Unit | None, target: Unit | None, wish: Wish) -> float:
    try:
        return conversion(source, target, wish.target.relative)(value)
    except IncompatibleUnits as problem:
        raise EditError(f"{wish.name} = {wish.text}: {problem}") from problem


def _edit(wish: Wish, use: Use) -> str:
    """Change the value of a parameter; gives where that is."""
    parameter, values = use.parameter, use.bound.values
    if parameter.dimensions or parameter.type is None or len(parameter.type.entries) > 1:
        raise EditError(f"{use.bound} gives {wish.name} an array: edit that file")
    transformation = None if use.entry is None else use.entry.transformation
    stored = wish.value
    if transformation is not None:
        stored = _back_through(wish, use, transformation)
    elif isinstance(stored, float) and not wish.stated:
        unit = named(document_units(values), parameter.unit)
        suppressed = use.entry is not None and use.entry.suppress_unit_conversion
        stored = stored if unit is None or suppressed else _converted(stored, wish.unit, unit, wish)
    unit_name = use_unit(values, wish.unit) if wish.stated and transformation is None else parameter.unit
    _write(parameter, stored, unit_name, wish)
    return str(use.bound)


def _back_through(wish: Wish, use: Use, transformation: ssc.Transformation) -> float:
    """The value that the transformation of a mapping turns into the wished one."""
    value = wish.in_target_unit
    if not isinstance(transformation, ssc.LinearTransformation) or not isinstance(value, int | float):
        raise EditError(
            f"{wish.name} comes from {use.parameter.name} through a {type(transformation).__name__}: edit {use.bound}"
        )
    if transformation.factor == 0:
        raise EditError(f"{wish.name} does not depend on {use.parameter.name}: the mapping multiplies it by zero")
    value = (value - transformation.offset) / transformation.factor
    if use.entry is not None and use.entry.suppress_unit_conversion:
        return value
    own = named(document_units(use.bound.values), use.parameter.unit)
    return _converted(value, wish.target.unit, own, wish)


def _write(parameter: ssv.Parameter, value: Value, unit: str | None, wish: Wish) -> None:
    """Store a value in a parameter, whose type is replaced only if it cannot hold it."""
    type = parameter.type
    if type is None or not _holds(type.type_name, value, wish.target.type):
        type = _type_for(wish.target.type, parameter)
        parameter.type = type
    if isinstance(type, ssv.Texts):
        type.entries = (value,)
    else:
        type.set("value", _value_text(value, wish))
    if isinstance(type, ssv.FloatingPoint) and type.unit != unit:
        type.unit = unit


def _value_text(value: Value, wish: Wish) -> str:
    if isinstance(value, bool):
        return boolean.write(value)
    if isinstance(value, float):
        # What the user typed, if it was not converted.
        return wish.text if value == wish.value and _is_double(wish.text) else number_text(value)
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


def _type_for(target: str, parameter: ssv.Parameter) -> ssv.ParameterType:
    """A new type for a parameter, in the words of the version of its set."""
    root = next((above for above in parameter.iterancestors() if isinstance(above, ssv.ParameterSet)), None)
    if root is not None and root.version == "1.0":
        if target not in _TYPES_1:
            raise EditError(f"{parameter.name} is of type {target}, which parameter sets of SSP 1.0 do not have")
        return _TYPES_1[target].new()
    return _TYPES[target].new()


def _add(draft: Draft, wish: Wish, entry: str | None) -> str:
    """Add a parameter to a set that is bound, or to a new one; gives where that is."""
    chosen = _choose(draft, wish.name, entry)
    if chosen is None:
        chosen = _new_set(draft, entry)
    local = ".".join(chosen.place.path)
    name = wish.name.removeprefix(f"{local}." if local else "").removeprefix(chosen.binding.prefix)
    _add_to(draft, chosen.values, name, wish)
    return str(chosen)


def _add_to(draft: Draft, values: ssv.ParameterSet, name: str, wish: Wish) -> None:
    parameter = ssv.Parameter.new(name=name)
    values.add(parameter)
    unit = use_unit(values, wish.unit) if is_float(wish.target.type) else None
    _write(parameter, wish.value, unit, wish)


def _choose(draft: Draft, full: str, entry: str | None) -> Bound | None:
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


def _new_set(draft: Draft, entry: str | None) -> Bound:
    place = Place((), draft.system)
    if entry is None:
        binding, values = inline_set(draft, draft.system, draft.root.name)
        return Bound(place, binding, values, draft.document.name, None, "")
    if not draft.archive.has(entry):
        stem = entry.rpartition("/")[2].removesuffix(".ssv")
        draft.archive.put(entry, empty_parameter_set(stem, draft.version))
        draft.note(f"made {entry}")
    binding = add_binding(draft, draft.system, entry)
    return Bound(place, binding, draft.archive.document(entry).root_as(ssv.ParameterSet), entry, None, "")


def _edit_unbound(draft: Draft, wish: Wish, entry: str) -> None:
    """Set a parameter in a set that the structure does not use; its names are full names."""
    values = draft.archive.document(entry).root_as(ssv.ParameterSet)
    parameter = next((each for each in values.parameters if each.name == wish.name), None)
    if parameter is None:
        _add_to(draft, values, wish.name, wish)
    else:
        unit = use_unit(values, wish.unit) if is_float(wish.target.type) else None
        _write(parameter, wish.value, unit, wish)
    draft.note(f"set {wish.name} = {_amount(wish)} in {entry}, which {draft.document.name} does not bind")


def _entry(draft: Draft, into: str) -> str:
    """The entry of a parameter set that is there, or where a new one is to be."""
    if draft.archive.has(into):
        return into
    if not into.lower().endswith(".ssv"):
        raise EditError(f"{into!r} is no parameter set: its name has to end in .ssv")
    return into if into.startswith(f"{RESOURCES}/") else f"{RESOURCES}/{into}"


def _verified(wish: Wish, before: dict[Signal, Value], after: dict[Signal, Value]) -> list[str]:
    """Make sure that the value is in force now; gives the other variables whose values changed with it."""
    signal = wish.target.signal
    if signal not in after or not _same(after[signal], wish):
        found = repr(after[signal]) if signal in after else "none"
        raise EditError(f"{wish.name} would have the value {found}, not {wish.text}: another binding decides it")
    return sorted(str(each) for each in after if each != signal and after[each] != before.get(each))


def _same(value: Value, wish: Wish) -> bool:
    wanted = wish.in_target_unit
    if isinstance(value, float) and isinstance(wanted, int | float):
        return isclose(value, wanted, rel_tol=ROUNDING, abs_tol=ROUNDING) or value != value
    return value == wanted or wish.target.items.get(str(wanted)) == value


def _shared(draft: Draft, where: str) -> str:
    """Who else reads the set, as the end of a note."""
    others = _other_users(draft, where) if draft.archive.has(where) else []
    return f", which {' and '.join(others)} use{'s' * (len(others) == 1)} as well" if others else ""


def _other_users(draft: Draft, entry: str) -> list[str]:
    return [name for name in draft.users(entry) if draft.document.name not in (name, entry)]
