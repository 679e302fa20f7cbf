"""Set: a value goes to where the value in force comes from, or to where it will be in force."""

from math import isclose

from ssptool.documents import ssc, ssv
from ssptool.documents.converters import boolean, double
from ssptool.editing.adding import RESOURCES
from ssptool.editing.binding import add_binding, inline_set
from ssptool.editing.creating import empty_parameter_set
from ssptool.editing.definitions import use_unit
from ssptool.editing.draft import Draft
from ssptool.editing.errors import EditError
from ssptool.editing.names import Name, Place, shown
from ssptool.editing.nested import Sharing, uses_inside
from ssptool.editing.numbers import number_text
from ssptool.editing.parameters import Addressees, Bound, Use, bound, uses, winner
from ssptool.editing.wishes import Wish, wish_for
from ssptool.fmu.description import Value
from ssptool.fmu.units import named
from ssptool.network.signals import Signal
from ssptool.network.types import canonical, is_float, is_integer
from ssptool.network.units import document_units

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
        As `wish_for`; or another value would be in force, or this one cannot be written where that comes from.
    """
    addressees = Addressees(draft)
    wish = wish_for(draft, addressees, shown(name), value, unit)
    entry = None if into is None else _entry(draft, into)
    before = addressees.values()
    own = [use for use in uses(draft) if use.full == wish.name]
    # At one level the bindings of a component win over those of the structure that it is made of.
    named_so = [*uses_inside(draft, wish.name, sharing), *own]
    use = winner([use for use in named_so if entry in (None, use.bound.file)])
    if use is not None:
        _require_in_force(wish, use, named_so)
        where = _edit(wish, use)
    elif entry is not None and draft.archive.has(entry) and not any(each.file == entry for each in bound(draft)):
        _edit_unbound(draft, wish, entry)
        return
    else:
        where = _add(draft, wish, entry, winner(own))
    if draft.packages.any_open:  # What was read of them before holds no longer.
        draft.packages.put_back(draft.archive)
        addressees = Addressees(draft)
    others = _others(wish, before, addressees.values())
    draft.note(f"set {wish} in {where}{_shared(draft, where)}")
    for other in others:
        draft.note(f"that changes {other} as well")


def _require_in_force(wish: Wish, use: Use, all_uses: list[Use]) -> None:
    deciding = winner(all_uses)
    if deciding is not None and deciding is not use and deciding.parameter is not use.parameter:
        raise EditError(f"{wish.name} = {wish.text} in {use.bound} would not count: {deciding.bound} decides it")


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
        stored = stored if unit is None or suppressed else wish.converted(stored, wish.unit, unit)
    unit_name = use_unit(values, wish.unit) if wish.stated and transformation is None else parameter.unit
    _write(parameter, stored, unit_name, wish, values.version)
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
    suppressed = use.entry is not None and use.entry.suppress_unit_conversion
    own = wish.target.unit if suppressed else named(document_units(use.bound.values), use.parameter.unit)

    def forward(stored: float) -> float:
        return transformation.factor * wish.converted(stored, own, wish.target.unit) + transformation.offset

    exact = wish.converted((value - transformation.offset) / transformation.factor, wish.target.unit, own)
    # Of the numbers that come to the wished one, that with the fewest digits: 15 rather than 14.999500000000001.
    candidates = (float(f"{exact:.{digits}g}") for digits in range(12, 17))
    return next((stored for stored in candidates if isclose(forward(stored), value, rel_tol=1e-15)), exact)


def _write(parameter: ssv.Parameter, value: Value, unit: str | None, wish: Wish, version: str) -> None:
    """Store a value in a parameter, whose type is replaced only if it cannot hold it."""
    type = parameter.type
    if type is None or not _holds(type.type_name, value, wish.target.type):
        type = _type_for(wish, version)
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


def _type_for(wish: Wish, version: str) -> ssv.ParameterType:
    """A new type for a parameter, in the words of the version of its set."""
    known = _TYPES_1 if version == "1.0" else _TYPES
    if wish.target.type not in known:
        raise EditError(f"{wish.name} is of type {wish.target.type}, which parameter sets of SSP {version} do not have")
    return known[wish.target.type].new()


def _add(draft: Draft, wish: Wish, entry: str | None, deciding: Use | None) -> str:
    """Add a parameter to a set that is bound, or to a new one; gives where that is."""
    _type_for(wish, draft.version)  # raises before anything is made
    chosen = _choose(draft, wish.name, entry)
    if chosen is None:
        chosen = _new_set(draft, entry)
    elif deciding is not None and not _beats(draft, chosen, deciding.bound):
        raise EditError(f"{wish.name} = {wish.text} in {chosen} would not count: {deciding.bound} decides it")
    local = ".".join(chosen.place.path)
    name = wish.name.removeprefix(f"{local}." if local else "").removeprefix(chosen.binding.prefix)
    _add_to(chosen.values, name, wish)
    return str(chosen)


def _beats(draft: Draft, one: Bound, other: Bound) -> bool:
    """Whether the values of a binding win over those of another one (catalogue §1.6)."""
    order = [each.binding for each in bound(draft)]
    ranks = [(-len(each.place.path), order.index(each.binding)) for each in (one, other)]
    return ranks[0] >= ranks[1]


def _add_to(values: ssv.ParameterSet, name: str, wish: Wish) -> None:
    parameter = ssv.Parameter.new(name=name)
    unit = use_unit(values, wish.unit) if is_float(wish.target.type) else None
    _write(parameter, wish.value, unit, wish, values.version)
    values.add(parameter)


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
    if entry is not None and draft.archive.has(entry):
        raise EditError(
            f"{entry} is bound with a prefix, with a mapping or to an element only, where a new value would not reach "
            "this name: give another file, or bind it once more"
        )
    place = Place((), draft.system)
    if entry is None:
        binding, values = inline_set(draft, draft.system, draft.root.name)
        return Bound(place, binding, values, draft.document.name, None, "")
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
        _add_to(values, wish.name, wish)
    else:
        unit = use_unit(values, wish.unit) if is_float(wish.target.type) else None
        _write(parameter, wish.value, unit, wish, values.version)
    draft.note(f"set {wish} in {entry}, which {draft.document.name} does not bind")


def _entry(draft: Draft, into: str) -> str:
    """The entry of a parameter set that is there, or where a new one is to be."""
    if draft.archive.has(into):
        return into
    if not into.lower().endswith(".ssv"):
        raise EditError(f"{into!r} is no parameter set: its name has to end in .ssv")
    return into if into.startswith(f"{RESOURCES}/") else f"{RESOURCES}/{into}"


def _others(wish: Wish, before: dict[Signal, Value], after: dict[Signal, Value]) -> list[str]:
    """The other variables whose values changed; the one that was meant has to have its value now."""
    signal = wish.target.signal
    if signal not in after or not wish.granted_by(after[signal]):
        found = repr(after[signal]) if signal in after else "none"
        raise EditError(f"{wish.name} has the value {found} now, not {wish.text}: please report this system")
    return sorted(str(each) for each in after if each != signal and after[each] != before.get(each))


def _shared(draft: Draft, where: str) -> str:
    """Who else reads the set, as the end of a note."""
    others = _other_users(draft, where) if draft.archive.has(where) else []
    return f", which {' and '.join(others)} use{'s' * (len(others) == 1)} as well" if others else ""


def _other_users(draft: Draft, entry: str) -> list[str]:
    return [name for name in draft.users(entry) if draft.document.name not in (name, entry)]
