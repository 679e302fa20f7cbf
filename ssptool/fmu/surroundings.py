"""Floating-point environment, locale and working directory of the process, which FMUs must leave as they are."""

from collections.abc import Iterator
from types import TracebackType

from ssptool.fmu.messages import callbacks
from ssptool.working_directory import KeptWorkingDirectory, came_home

ROUNDING, FLUSHING, TRAPS = 1, 2, 4
"""Changes of the floating-point environment, as floating_point.hpp counts them."""

_WORDS = {
    ROUNDING: "the rounding mode",
    FLUSHING: "the treatment of denormal numbers (flush to zero)",
    TRAPS: "the floating-point traps",
}


def words_for(changes: int) -> Iterator[str]:
    """Changes of the floating-point environment in words."""
    return (words for bit, words in _WORDS.items() if changes & bit)


class Surroundings:
    """State that calls of FMUs must not change, at one instant; inside of `KeptWorkingDirectory`."""

    __slots__ = ("_state",)

    def __init__(self) -> None:
        self._state = callbacks().process_state()

    def restore(self) -> tuple[str, ...]:
        """Restore what has changed since, in words."""
        changes, locale = self._state.restore()
        moved = came_home()
        if not (changes or locale or moved):
            return ()
        others = (("the locale", locale), ("the working directory", moved))
        return (*words_for(changes), *(words for words, changed in others if changed))


class KeptSurroundings(KeptWorkingDirectory):
    """Restores what calls of an FMU change in this block; `changed` gets it in words."""

    __slots__ = ("_before", "_changed")

    def __init__(self, changed: dict[str, None]) -> None:
        self._changed = changed

    def __enter__(self) -> None:
        super().__enter__()
        self._before = Surroundings()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            for words in self._before.restore():
                self._changed[words] = None
        finally:
            super().__exit__(kind, error, trace)
