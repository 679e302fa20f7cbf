"""Floating-point environment, locale and working directory of the process, which FMUs must not change."""

from collections.abc import Iterator
from types import TracebackType

from ssptool.fmu.messages import native_messages
from ssptool.working_directory import KeptWorkingDirectory, came_home

ROUNDING, FLUSHING, TRAPS = 1, 2, 4
"""Changes of the floating-point environment, with the bits of floating_point.hpp."""

_WORDS = {
    ROUNDING: "the rounding mode",
    FLUSHING: "the treatment of denormal numbers (flush to zero)",
    TRAPS: "the floating-point traps",
}


def words_for(changes: int) -> Iterator[str]:
    """Texts for changes of the floating-point environment."""
    return (words for bit, words in _WORDS.items() if changes & bit)


class Surroundings:
    """State at one instant that calls of FMUs must not change; within `KeptWorkingDirectory`."""

    __slots__ = ("_state",)

    def __init__(self) -> None:
        self._state = native_messages().ProcessState()

    def restore(self) -> tuple[str, ...]:
        """Restore changes since then; returns texts for them."""
        changes, locale = self._state.restore()
        moved = came_home()
        if not (changes or locale or moved):
            return ()
        others = (("the locale", locale), ("the working directory", moved))
        return (*words_for(changes), *(words for words, changed in others if changed))


class KeptSurroundings(KeptWorkingDirectory):
    """Context that restores process-wide settings changed by calls of an FMU; `changed` gets the texts."""

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
