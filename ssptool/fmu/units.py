"""Physical units as FMI and SSP both define them: base = factor · value + offset."""

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
    """A unit that FMI 1.0 defines by another one: value in that = factor · value + offset."""

    name: str
    factor: float
    offset: float


class Unit(NamedTuple):
    """One unit. `exponents` is None where FMI leaves the base unit out: then only the name is known, and of FMI 1.0 in
    which other units values may be `shown`.
    """

    name: str
    exponents: Exponents | None
    factor: float = 1.0
    offset: float = 0.0
    shown: tuple[DisplayUnit, ...] = ()

    def display(self, name: str) -> DisplayUnit | None:
        """The unit of this name in which values may be shown; None if there is none with a way back."""
        return next((one for one in self.shown if one.name == name and one.factor), None)
