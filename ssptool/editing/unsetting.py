"""Unset: a parameter gives no value any more, so that the next one in the order of precedence does, or the FMU."""

from ssptool.documents import ssv
from ssptool.editing.definitions import drop_unused, used_enumerations, used_units
from ssptool.editing.draft import Draft
from ssptool.editing.errors import EditError, UnknownName
from ssptool.editing.names import Name, shown
from ssptool.editing.nested import Sharing, uses_inside
from ssptool.editing.numbers import number_text
from ssptool.editing.parameters import Addressees, Bound, Use, uses, uses_of, winner
from ssptool.network.targets import VariableTarget


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


def _remove_parameter(draft: Draft, bound: Bound, parameter: ssv.Parameter) -> None:
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
