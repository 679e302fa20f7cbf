"""What a program can ask of a simulation in vain."""

from collections.abc import Sequence

from ssptool.engine.few import few
from ssptool.wrong_usage import WrongUsage


class UnknownName(WrongUsage, KeyError):
    """The system has nothing of that name; `near` are names like it."""

    def __init__(self, name: str, near: Sequence[str] = ()) -> None:
        hint = f"did you mean {few(near)}?" if near else "full names are like System1.x1"
        super().__init__(f"the system has no variable {name!r}; {hint}")
        self.name = name
        self.near = tuple(near)


class NotSettable(ValueError):
    """The value of a variable is not the user's to choose, or not now."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name} cannot be set: {reason}")
        self.name = name
        self.reason = reason


class NotSavable(Exception):
    """The state of a simulation cannot be had as a whole."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the simulation cannot be saved: {reason}")
        self.reason = reason


class NotRunning(Exception):
    """Outside of its context a simulation has no FMUs."""

    def __init__(self, ended: bool) -> None:
        reason = "has ended with its context: make a new one" if ended else "runs in a `with` statement only"
        super().__init__(f"a simulation {reason}")
        self.ended = ended


class PastTheEnd(ValueError):
    """The stop time is earlier, or a component has ended the simulation there."""

    def __init__(self, time: float, stop: float, ended: bool = False) -> None:
        end = f"a component ended the simulation at t = {float(stop)!r} s"
        if not ended:
            end = f"t = {float(time)!r} s is after the stop time of {float(stop)!r} s; plan with a later one"
        super().__init__(end)
        self.time = time
        self.stop = stop
