"""Units of FMI and SSP: definitions by exponents of SI base units, and the meaning of plain names such as `N.m`.

The value in base units is factor · value + offset, in FMI and SSP alike (FMI 3.0 §2.4.4, SSP 2.0 §4.4.2).
"""

import re
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from math import pi
from typing import NamedTuple


class Exponents(NamedTuple):
    """Exponents of the seven SI base units and of the radian (FMI 3.0 §2.4.4, SSP 2.0 §4.4.2)."""

    kg: int = 0
    m: int = 0
    s: int = 0
    A: int = 0
    K: int = 0
    mol: int = 0
    cd: int = 0
    rad: int = 0


class DisplayUnit(NamedTuple):
    """A display unit of FMI: displayed value = factor · value + offset; for an inverse one (FMI 3.0): factor /
    value.
    """

    name: str
    factor: float
    offset: float
    inverse: bool = False


class PhysicalUnit(NamedTuple):
    """One unit. `exponents` is None without a base unit; then only the name is known, and for FMI 1.0 the display units
    (`shown`). `assumed`: exponents and factor are derived from the name.
    """

    name: str
    exponents: Exponents | None
    factor: float = 1.0
    offset: float = 0.0
    shown: tuple[DisplayUnit, ...] = ()
    assumed: bool = False

    def display(self, name: str) -> DisplayUnit | None:
        """The display unit of this name; None if there is none or its factor is zero."""
        return next((one for one in self.shown if one.name == name and one.factor), None)

    @property
    def defined(self) -> bool:
        """True if a document or FMU defines the unit."""
        return self.exponents is not None and not self.assumed

    @property
    def has_arbitrary_zero(self) -> bool:
        """True if units of this quantity have different zeros, such as temperatures in K, °C and °F."""
        return self.exponents == Exponents(K=1) or self.offset != 0 or any(one.offset for one in self.shown)

    @property
    def changes_numbers(self) -> bool:
        """True if a value in this unit is a different number in SI units, such as mH or °C; False if unknown."""
        return self.exponents is not None and (self.factor != 1 or self.offset != 0)

    @property
    def in_base_units(self) -> str:
        """Short form of the definition: `0.001·m`, `kg·m·s^-2`."""
        if self.exponents is None:
            return "undefined"
        powers = zip(self.exponents._fields, self.exponents, strict=True)
        parts = [name if power == 1 else f"{name}^{power}" for name, power in powers if power]
        factor = [] if self.factor == 1 and parts else [f"{self.factor:g}"]
        offset = f" {self.offset:+g}" if self.offset else ""
        return "·".join([*factor, *parts]) + offset


class _Power(NamedTuple):
    """An exact product of powers of base units: the factor of mm3 is 1e-9, not 0.001 ** 3."""

    factor: Fraction
    exponents: Exponents

    def raised(self, power: int) -> "_Power":
        return _Power(self.factor**power, Exponents(*(power * each for each in self.exponents)))

    def times(self, other: "_Power") -> "_Power":
        exponents = Exponents(*(a + b for a, b in zip(self.exponents, other.exponents, strict=True)))
        return _Power(self.factor * other.factor, exponents)


_ONE = _Power(Fraction(1), Exponents())


def _symbols(factor: str | int | Fraction, names: str, **exponents: int) -> Mapping[str, _Power]:
    return dict.fromkeys(names.split(), _Power(Fraction(factor), Exponents(**exponents)))


_PREFIXES: Mapping[str, int] = {
    "p": -12,
    "n": -9,
    "u": -6,
    "µ": -6,
    "μ": -6,
    "m": -3,
    "c": -2,
    "d": -1,
    "da": 1,
    "h": 2,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
}


_WITH_PREFIXES: Mapping[str, _Power] = {
    **_symbols(1, "m", m=1),
    **_symbols(1, "s", s=1),
    **_symbols("0.001", "g", kg=1),
    **_symbols(1, "A", A=1),
    **_symbols(1, "K", K=1),
    **_symbols(1, "mol", mol=1),
    **_symbols(1, "cd", cd=1),
    **_symbols(1, "rad", rad=1),
    **_symbols(1, "Hz", s=-1),
    **_symbols(1, "N", kg=1, m=1, s=-2),
    **_symbols(1, "Pa", kg=1, m=-1, s=-2),
    **_symbols(100_000, "bar", kg=1, m=-1, s=-2),
    **_symbols(1, "J Nm Ws", kg=1, m=2, s=-2),
    **_symbols(3600, "Wh", kg=1, m=2, s=-2),
    **_symbols(1, "W", kg=1, m=2, s=-3),
    **_symbols(1, "C As", A=1, s=1),
    **_symbols(3600, "Ah", A=1, s=1),
    **_symbols(1, "V", kg=1, m=2, s=-3, A=-1),
    **_symbols(1, "F", kg=-1, m=-2, s=4, A=2),
    **_symbols(1, "Ohm ohm Ω Ω", kg=1, m=2, s=-3, A=-2),
    **_symbols(1, "S", kg=-1, m=-2, s=3, A=2),
    **_symbols(1, "Wb", kg=1, m=2, s=-2, A=-1),
    **_symbols(1, "T", kg=1, s=-2, A=-1),
    **_symbols(1, "H", kg=1, m=2, s=-2, A=-2),
    **_symbols("0.001", "l L", m=3),
}


_WITHOUT_PREFIX: Mapping[str, _Power] = {
    **_symbols(1, "1 -"),
    **_symbols("0.01", "%"),
    **_symbols(60, "min", s=1),
    **_symbols(3600, "h", s=1),
    **_symbols(86400, "d", s=1),
    **_symbols(1000, "t", kg=1),
    **_symbols(1, "degC °C", K=1),
    **_symbols(Fraction(5, 9), "degF °F", K=1),
    **_symbols(Fraction(pi) / 180, "deg °", rad=1),
    **_symbols(2 * Fraction(pi), "rev", rad=1),
    **_symbols(Fraction(pi) / 30, "rpm", rad=1, s=-1),
}


_OFFSETS = {**dict.fromkeys(("degC", "°C"), 273.15), **dict.fromkeys(("degF", "°F"), 459.67 * 5 / 9)}
"""Offsets of units, which are omitted in products."""


_TWO_MEANINGS = ("C", "F")
"""Ambiguous symbols: degrees Celsius and Fahrenheit, or coulomb and farad."""


_FACTOR = re.compile(r"([A-Za-zµμ°ΩΩ%]+|1)(?:(?:\^|\*\*)?([+-]?[1-9])|(?:\^|\*\*)\(([+-]?[1-9])\)|([²³]))?")


_SUPERSCRIPTS = {"²": 2, "³": 3}


_LONGEST = 50


COMMON_NAMES = (
    *("1", "%", "m", "km", "cm", "mm", "m2", "m3", "l", "s", "ms", "min", "h", "Hz", "kHz", "kg", "g", "t", "kg.m2"),
    *("rad", "deg", "m/s", "km/h", "m/s2", "rad/s", "deg/s", "rpm", "rad/s2", "N", "kN", "N.m", "N/m", "N/mm", "N.s/m"),
    *("Pa", "kPa", "MPa", "bar", "J", "kJ", "kWh", "W", "kW", "kg/s", "m3/s", "K", "degC", "A", "V", "Ohm"),
)
"""Units to suggest, spelled as FMI and Modelica do."""


def without_brackets(name: str) -> str:
    """The name of a unit without surrounding square brackets."""
    return name[1:-1] if name.startswith("[") and name.endswith("]") else name


@lru_cache(maxsize=1024)
def unit_of_name(name: str) -> PhysicalUnit | None:
    """The unit of a plain SI expression, such as `mm`, `N.m`, `kg*m^2/s2`, `W/(m2.K)`, `degC`, `rpm`; otherwise None.

    The symbols are those of the SI, of units in use with it (SI Brochure, 9th edition, tables 4 to 8) and some
    spellings of tools; 1 bar = 100 kPa, 0 °C = 273.15 K, 32 °F = 0 °C. Ambiguous names, such as `W/m2.K` and `C`, give
    None. Some tools put the whole expression in square brackets: `[m]`.
    """
    if (inner := without_brackets(name)) != name:
        told = unit_of_name(inner)
        return None if told is None else told._replace(name=name)
    if name == "-":
        return PhysicalUnit(name, Exponents())
    if name in _TWO_MEANINGS or len(name) > _LONGEST:
        return None
    over, *under = _split(name)
    if any(_is_product(part) and not _bracketed(part) for part in under):
        return None
    powers = [_product(over), *(_product(part) for part in under)]
    if any(power is None for power in powers):
        return None
    first, *others = [power for power in powers if power is not None]
    for other in others:
        first = first.times(other.raised(-1))
    return PhysicalUnit(name, first.exponents, float(first.factor), _OFFSETS.get(name, 0.0))


def _split(name: str) -> list[str]:
    """The parts between slashes outside of parentheses."""
    return re.split(r"/(?![^(]*\))", name)


def _bracketed(part: str) -> bool:
    return part.startswith("(") and part.endswith(")")


def _is_product(part: str) -> bool:
    return len(_factors(part)) > 1


def _factors(part: str) -> list[str]:
    inside = part[1:-1] if _bracketed(part) else part
    return re.split(r"[.·⋅]|(?<!\*)\*(?!\*)| ", inside)


def _product(part: str) -> _Power | None:
    total = _ONE
    for text in _factors(part):
        factor = _power(text)
        if factor is None:
            return None
        total = total.times(factor)
    return total


def _power(text: str) -> _Power | None:
    found = _FACTOR.fullmatch(text)
    symbol = None if found is None else _symbol(found[1])
    if found is None or symbol is None:
        return None
    digits = found[2] or found[3]
    return symbol.raised(int(digits) if digits else _SUPERSCRIPTS.get(found[4], 1))


def _symbol(text: str) -> _Power | None:
    known = _WITHOUT_PREFIX.get(text) or _WITH_PREFIXES.get(text)
    if known is not None:
        return known
    for prefix, power in _PREFIXES.items():
        base = _WITH_PREFIXES.get(text.removeprefix(prefix)) if text.startswith(prefix) else None
        if base is not None:
            return _Power(base.factor * Fraction(10) ** power, base.exponents)
    return None


def named(units: Mapping[str, PhysicalUnit], name: str | None) -> PhysicalUnit | None:
    """The unit with this name: defined in a document or FMU, otherwise derived from its name, otherwise undefined."""
    if name is None:
        return None
    found = units.get(name)
    return found if found is not None and found.defined else _read(name, () if found is None else found.shown)


@lru_cache(maxsize=1024)
def _read(name: str, shown: tuple[DisplayUnit, ...]) -> PhysicalUnit:
    """The cached unit of a name: always the same object, because conversions are cached."""
    told = unit_of_name(name)
    return PhysicalUnit(name, None, shown=shown) if told is None else told._replace(assumed=True, shown=shown)


def stated_or_own(stated: PhysicalUnit | None, own: PhysicalUnit | None) -> PhysicalUnit | None:
    """Unit of a variable's value in SSP: the stated unit, with the FMU's definition if the document has none; otherwise
    the variable's `own` unit.
    """
    undefined = stated is not None and own is not None and not stated.defined and stated.name == own.name
    return own if stated is None or undefined else stated


def with_unit(text: str, unit: str | None) -> str:
    """A value and its unit; `1`, the unit of dimensionless numbers, is omitted."""
    return f"{text} {unit}" if unit and unit != "1" else text
