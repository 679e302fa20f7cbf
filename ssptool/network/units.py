"""Conversion between units (SSP 2.0 §4.4.2 and §5.3.2; FMI 3.0 §2.4.4)."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from ssptool.documents import ssb, ssc, ssd, ssv
from ssptool.documents.element import Element
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


def notes_on_units(assumed: Sequence[Unit]) -> Iterator[str]:
    """In words, which units are read by their names because nothing defines them."""
    if assumed:
        what = "1 unit has" if len(assumed) == 1 else f"{len(assumed)} units have"
        meanings = {unit.name: unit.in_base_units for unit in assumed}
        read = ", ".join(name if name == meaning else f"{name} = {meaning}" for name, meaning in meanings.items())
        yield f"{what} no definition and {'is' if len(assumed) == 1 else 'are'} read by name: {read}"


def define_unit(root: Element, unit: Unit) -> None:
    """Add the definition of a unit to those of a document."""
    base = ssc.BaseUnit.new()
    for symbol, exponent in (unit.exponents or Exponents())._asdict().items():
        if exponent:
            setattr(base, symbol, exponent)
    if unit.factor != 1.0:
        base.factor = unit.factor
    if unit.offset != 0.0:
        base.offset = unit.offset
    element = ssc.Unit.new(name=unit.name)
    element.append(base)
    root.add(element)


def convertible(a: Unit, b: Unit) -> bool:
    """Whether a value in one of the units can be expressed in the other."""
    if _by_name(a, b):
        return True
    if a.exponents is None or b.exponents is None:
        return False
    return a.exponents == b.exponents and b.factor != 0 and a.factor != 0


def _by_name(a: Unit, b: Unit) -> bool:
    """Whether the names alone tell how to convert, as one of the units is not defined: they are the same, or FMI 1.0
    says how to show one in the other.
    """
    same = a.name == b.name or a.display(b.name) is not None or b.display(a.name) is not None
    return same and not (a.defined and b.defined)


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
    if _by_name(source, target):
        return _shown(source, target, relative)
    offset = 0.0 if relative else (source.offset - target.offset) / target.factor
    change = Conversion(source.factor / target.factor, offset)
    return IDENTITY if change == IDENTITY else change


def _shown(source: Unit, target: Unit, relative: bool) -> Conversion:
    """Between a unit and one in which FMI 1.0 says how to show it; else they have the same name, and are the same."""
    if source.name == target.name:
        return IDENTITY
    if (shown := target.display(source.name)) is not None:
        return Conversion(shown.factor, 0.0 if relative else shown.offset)
    if (shown := source.display(target.name)) is not None:
        return Conversion(1.0 / shown.factor, 0.0 if relative else -shown.offset / shown.factor)
    return IDENTITY
