"""Conversion of recorded values to other units, such as the display units of FMUs."""

from ssptool.errors import WrongValue, similar_names
from ssptool.fmu.units import COMMON_NAMES, DisplayUnit, PhysicalUnit, unit_of_name
from ssptool.network.conversion import IncompatibleUnits, conversion
from ssptool.network.network import IDENTITY, Conversion


def change_of_unit(
    signal: str, unit: str | None, wanted: str, *, relative: bool = False, display: DisplayUnit | None = None
) -> Conversion:
    """The conversion of the values of a signal to another unit.

    Parameters
    ----------
    unit
        Unit of the values.
    wanted
        Name of the other unit: the display unit, or an SI expression such as `rpm`.
    relative
        True if the values are differences, so that offsets of units are omitted.
    display
        Display unit of the signal in its FMU.

    Raises
    ------
    WrongValue
        The signal has no unit, one of the units is unknown, or the units are of different quantities.
    """
    if unit is None:
        raise WrongValue(f"{signal} has no unit, so its values cannot be given in {wanted}")
    if wanted == unit:
        return IDENTITY
    if display is not None and display.name == wanted:
        if display.inverse:
            raise WrongValue(f"{signal} cannot be given in {wanted}: {inverse_unit(wanted)}")
        return Conversion(display.factor, 0.0 if relative else display.offset)
    try:
        return conversion(_known(signal, unit), _known(signal, wanted), relative)
    except IncompatibleUnits as problem:
        raise WrongValue(f"{signal}: {problem}; give a unit of the same quantity") from None


def inverse_unit(name: str) -> str:
    """Reason why values are not converted to an inverse display unit."""
    return f"its display unit {name} is inverse (FMI 3.0), which is not supported"


def _known(signal: str, name: str) -> PhysicalUnit:
    found = unit_of_name(name)
    if found is None:
        near = similar_names(name, COMMON_NAMES)
        hint = f"did you mean {' or '.join(near)}?" if near else "expected an SI expression such as km/h"
        raise WrongValue(f"{signal}: the unit {name!r} is unknown; {hint}")
    return found
