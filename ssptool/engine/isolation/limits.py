"""What a run may take. Needs nothing but the standard library, as settings do."""

import sys

from ssptool.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may take; None: as much as it likes.

    Attributes
    ----------
    seconds : [s]
        Wall time of the whole run, from the start of the child process.
    step_seconds : [s]
        Wall time of one macro step, or of loading and initialization.
    memory : [byte]
        Of the child process and of those of its FMUs, without what they share with others (Linux only).
    """

    seconds: float | None = None
    step_seconds: float | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        limits = {"timeout": self.seconds, "timeout of a step": self.step_seconds, "memory limit": self.memory}
        for name, value in limits.items():
            if value is not None and not value > 0:
                raise ValueError(f"the {name} must be greater than 0, found {value:g}")
        if self.memory is not None and sys.platform != "linux":
            raise ValueError("memory can be limited on Linux only")
