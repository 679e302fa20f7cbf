"""Clocks of FMI 3.0: when they tick, as far as the model description says it."""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from ssptool.fmu.description import Variable


class IntervalVariability(StrEnum):
    """FMI 3.0 §2.2.8.3: what is known of the time from one tick to the next, and who says it."""

    CONSTANT = "constant"
    FIXED = "fixed"
    TUNABLE = "tunable"
    CHANGING = "changing"
    COUNTDOWN = "countdown"
    TRIGGERED = "triggered"


@dataclass(frozen=True, slots=True)
class Clock:
    """A variable of type Clock.

    Times are exact: an interval of 0.1 s is a tenth, however often it is added. `interval` [s] is None where only the
    running FMU knows it; `shift` [s] is the time of the first tick after the start.
    """

    name: str
    reference: int
    variability: IntervalVariability
    interval: Fraction | None
    shift: Fraction
    supports_fraction: bool

    @property
    def triggered(self) -> bool:
        return self.variability is IntervalVariability.TRIGGERED


def clock_of(variable: Variable) -> Clock:
    """What a variable of type Clock says of itself.

    Raises
    ------
    ValueError
        An attribute is no number, an interval is not positive, or `intervalVariability` is unknown.
    """
    stated = dict(variable.clock)
    interval = _time(stated, "interval", None)
    if interval is not None and interval <= 0:
        raise ValueError(f"clock {variable.name}: the interval must be positive, found {interval} s")
    return Clock(
        variable.name,
        variable.reference,
        IntervalVariability(stated.get("intervalVariability", IntervalVariability.TRIGGERED)),
        interval,
        _time(stated, "shift", Fraction(0)) or Fraction(0),
        stated.get("supportsFraction", "false").strip() in ("true", "1"),
    )


def _time(stated: dict[str, str], what: str, default: Fraction | None) -> Fraction | None:
    """Counter and resolution, which are exact in binary numbers too, are worth more than a decimal."""
    counter, resolution, decimal = (stated.get(name) for name in (f"{what}Counter", "resolution", f"{what}Decimal"))
    if counter is not None and resolution is not None:
        return Fraction(int(counter), int(resolution))
    return default if decimal is None else Fraction(decimal.strip())
