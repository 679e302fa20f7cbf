"""Values that a scenario overrides or shifts for some time."""

from collections.abc import Iterable
from enum import StrEnum

from ssptool.dataclass import dataclass
from ssptool.engine.stimuli.course import Course
from ssptool.fmu.description import Value


class Action(StrEnum):
    """What an event of a scenario does to a variable; the words are those of libcosim."""

    OVERRIDE = "override"
    BIAS = "bias"
    RESET = "reset"


@dataclass(frozen=True, slots=True)
class Modification:
    """From `time` [s] on; `value` is of the type of the variable, and of no account for a reset."""

    time: float
    action: Action
    value: Value = 0.0

    def __call__(self, value: Value) -> Value:
        match self.action:
            case Action.OVERRIDE:
                return self.value
            case Action.BIAS:
                assert not isinstance(value, str | bytes) and not isinstance(self.value, str | bytes)
                return value + self.value
            case Action.RESET:
                return value


def active(modifications: Iterable[Modification], t: float, *, before: bool = False) -> Modification | None:
    """The last one that is in force at t [s], or just `before`; of two at one time the later in the list."""
    found = None
    for one in modifications:
        if one.time < t or (one.time == t and not before):
            found = one
    return found


@dataclass(frozen=True, slots=True)
class Modified:
    """A course as a scenario changes it; modifications are in the order of time."""

    base: Course
    modifications: tuple[Modification, ...]

    @property
    def continuous(self) -> bool:
        return self.base.continuous

    @property
    def steady(self) -> bool:
        return self.base.steady

    @property
    def first(self) -> float:
        return self.base.first

    @property
    def jumps(self) -> tuple[float, ...]:
        return tuple(sorted({*self.base.jumps, *(one.time for one in self.modifications)}))

    @property
    def knots(self) -> tuple[float, ...]:
        return self.base.knots

    def before(self, t: float) -> Value:
        value, change = self.base.before(t), active(self.modifications, t, before=True)
        return value if change is None else change(value)

    def after(self, t: float) -> Value:
        value, change = self.base.after(t), active(self.modifications, t)
        return value if change is None else change(value)
