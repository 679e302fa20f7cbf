"""Clocks of FMI 3.0: when they tick, as far as the model description says it."""

from dataclasses import replace
from enum import StrEnum
from fractions import Fraction

from ssptool.dataclass import dataclass
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
    running FMU knows it; `shift` [s] is the time of the first tick after the start, None if nothing is stated of it.
    `told` are those of both that the FMU has to be told, since the system states another than the FMU.
    """

    name: str
    reference: int
    variability: IntervalVariability
    interval: Fraction | None
    shift: Fraction | None
    supports_fraction: bool
    told: frozenset[str] = frozenset()

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
    interval = _time(stated, "interval")
    if interval is not None and interval <= 0:
        raise ValueError(f"clock {variable.name}: the interval must be positive, found {interval} s")
    return Clock(
        variable.name,
        variable.reference,
        IntervalVariability(stated.get("intervalVariability", IntervalVariability.TRIGGERED)),
        interval,
        _time(stated, "shift"),
        stated.get("supportsFraction", "false").strip() in ("true", "1"),
    )


TOLD = frozenset({IntervalVariability.FIXED, IntervalVariability.TUNABLE})
"""Whose interval an importer may choose, if the FMU states one (FMI 3.0 §2.2.8.3)."""


def in_system(clock: Clock, variable: Variable, stated: tuple[tuple[str, str], ...]) -> Clock:
    """The clock as a connector of type Clock has it, which states these attributes.

    Raises
    ------
    ValueError
        It states a time that the FMU does not take, or one that is none.
    """
    found = {"interval": clock.interval, "shift": clock.shift}
    told = set()
    for what, own in found.items():
        wanted = _time({"resolution": dict(variable.clock).get("resolution", "1"), **dict(stated)}, what)
        if wanted is None or wanted == (own if what == "interval" else own or 0):
            continue
        if wanted < 0 or (what == "interval" and wanted == 0):
            raise ValueError(f"clock {clock.name}: the {what} must be positive, found {wanted} s")
        if clock.variability not in TOLD or clock.interval is None:
            whose = "states" if own is not None else "decides on"
            raise ValueError(
                f"clock {clock.name} ({clock.variability}): the system states the {what} {float(wanted):g} s, but the "
                f"FMU {whose} its own; that can be chosen of fixed and tunable clocks whose interval the FMU states"
            )
        found[what] = wanted
        told.add(what)
    return replace(clock, interval=found["interval"], shift=found["shift"], told=frozenset(told))


def _time(stated: dict[str, str], what: str) -> Fraction | None:
    """Counter and resolution, which are exact in binary numbers too, are worth more than a decimal."""
    counter, resolution, decimal = (stated.get(name) for name in (f"{what}Counter", "resolution", f"{what}Decimal"))
    if counter is not None and resolution is not None:
        return Fraction(int(counter), int(resolution))
    return None if decimal is None else Fraction(decimal.strip())
