"""Conversion between units (SSP 2.0 §4.4.2 and §5.3.2; FMI 3.0 §2.4.4)."""

from collections.abc import Mapping
from types import MappingProxyType

from ssptool.documents import ssb, ssc, ssd, ssv
from ssptool.fmu.units import Exponents, Unit
from ssptool.network.signals import IDENTITY, Conversion


class IncompatibleUnits(ValueError):
    """Two units between which there is no conversion."""

    def __init__(self, source: Unit, target: Unit) -> None:
        super().__init__(f"a value in {source.name} cannot be converted to {target.name}")
        self.source = source
        self.target = target


def document_units(
    root: ssd.SystemStructureDescription | ssv.ParameterSet | ssb.SignalDictionary,
) -> Mapping[str, Unit]:
    """The units that a document defines, by name; of two with one name the first (see rule UNIT-001)."""
    units: dict[str, Unit] = {}
    for element in root.units:
        units.setdefault(element.name, _unit(element))
    return MappingProxyType(units)


def _unit(element: ssc.Unit) -> Unit:
    base = element.base_unit
    exponents = Exponents(base.kg, base.m, base.s, base.A, base.K, base.mol, base.cd, base.rad)
    return Unit(element.name, exponents, base.factor, base.offset)


def named(units: Mapping[str, Unit], name: str | None) -> Unit | None:
    """The unit of this name; where the document or FMU does not define it, only its name is known."""
    return None if name is None else units.get(name) or Unit(name, None)


def convertible(a: Unit, b: Unit) -> bool:
    """Whether a value in one of the units can be expressed in the other."""
    if a.exponents is None or b.exponents is None:
        return a.name == b.name or a.display(b.name) is not None or b.display(a.name) is not None
    return a.exponents == b.exponents and b.factor != 0 and a.factor != 0


def conversion(source: Unit | None, target: Unit | None, relative: bool = False) -> Conversion:
    """The conversion of values in `source` to values in `target`: u = (f_s·v + o_s − o_t)/f_t.

    Without a unit on one side the value is passed on as it is. `relative` (FMI's relativeQuantity) leaves out
    the offsets, as a difference of temperatures in °C is the same in K.

    Raises
    ------
    IncompatibleUnits
        The exponents differ, or of one unit only the name is known and it is not that of the other.
    """
    if source is None or target is None:
        return IDENTITY
    if not convertible(source, target):
        raise IncompatibleUnits(source, target)
    if source.exponents is None or target.exponents is None:
        return _shown(source, target, relative)
    offset = 0.0 if relative else (source.offset - target.offset) / target.factor
    change = Conversion(source.factor / target.factor, offset)
    return IDENTITY if change == IDENTITY else change


def _shown(source: Unit, target: Unit, relative: bool) -> Conversion:
    """Between a unit and one in which FMI 1.0 says how to show it; else they have the same name."""
    if source.name == target.name:
        return IDENTITY
    if (shown := target.display(source.name)) is not None:
        return Conversion(shown.factor, 0.0 if relative else shown.offset)
    if (shown := source.display(target.name)) is not None:
        return Conversion(1.0 / shown.factor, 0.0 if relative else -shown.offset / shown.factor)
    return IDENTITY
