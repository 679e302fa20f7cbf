"""States of several running FMUs at one instant."""

from collections.abc import Sequence
from typing import Any, Self

from ssptool.dataclass import dataclass
from ssptool.engine.ending import Ending, Failure
from ssptool.engine.stopped import Stopped
from ssptool.fmu.instance import FmuInstance


@dataclass(frozen=True, slots=True)
class KeptStates:
    """Of all that can save their state; `unable` cannot, so to them there is no way back."""

    kept: tuple[tuple[FmuInstance, Any], ...]
    unable: tuple[str, ...]
    t: float

    @classmethod
    def of(cls, able: Sequence[FmuInstance], unable: Sequence[FmuInstance], t: float) -> Self:
        """The present ones. Raises `FmiError`."""
        return cls(tuple((one, one.keep_state()) for one in able), tuple(one.name for one in unable), t)

    def go_back(self) -> None:
        """Be in these states.

        Raises
        ------
        Stopped
            Some FMUs could not save theirs.
        FmiError
        """
        if self.unable:
            raise Stopped(_no_way_back(self.unable, self.t))
        for instance, state in self.kept:
            instance.go_back(state)

    def drop(self) -> None:
        """Give them up. Raises `FmiError`."""
        for instance, state in self.kept:
            instance.drop_state(state)


def _no_way_back(names: Sequence[str], t: float) -> Failure:
    return Failure(
        Ending.FMI,
        f"a macro step in which there was an event has to be repeated, which {', '.join(names)} cannot: "
        "the FMU does not save its state",
        "use a master that does each step once (--master jacobi) and fixed steps",
        t,
        names[0],
    )
