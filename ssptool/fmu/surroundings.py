"""Floating-point environment, locale and working directory of the process, which FMUs must leave as they are."""

import ctypes
import locale
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ssptool.working_directory import came_home, kept_working_directory

ROUNDING, FLUSHING, TRAPS = 1, 2, 4
"""Changes of the floating-point environment, as the kernel counts them."""

_WORDS = {
    ROUNDING: "the rounding mode",
    FLUSHING: "the treatment of denormal numbers (flush to zero)",
    TRAPS: "the floating-point traps",
}


def words_for(changes: int) -> Iterator[str]:
    """Changes of the floating-point environment in words."""
    return (words for bit, words in _WORDS.items() if changes & bit)


class _Register(NamedTuple):
    """Place of the control register in `fenv_t` of glibc [bytes], and masks of its bits."""

    place: int
    rounding: int
    flushing: int
    traps: int


_REGISTERS = {
    "x86_64": _Register(28, 0x6000, 0x8040, 0x1F80),
    "aarch64": _Register(0, 0xC00000, 0x1000000, 0x9F00),
}


def _library() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL("libm.so.6") if sys.platform == "linux" else None
    except OSError:  # another C library, whose structure is not known
        return None


_LIBRARY, _REGISTER = _library(), _REGISTERS.get(platform.machine())
_SIZE = 64  # bytes, more than `fenv_t` has


class FloatingPointMode:
    """The floating-point environment at one instant; where it cannot be read, no change is found."""

    def __init__(self) -> None:
        self._memory = ctypes.create_string_buffer(_SIZE)
        if _LIBRARY is not None:
            _LIBRARY.fegetenv(self._memory)

    def restore(self) -> int:
        """Restore this environment; what had changed since, 0: nothing."""
        if _LIBRARY is None or _REGISTER is None:
            return 0
        place, *masks = _REGISTER
        present = ctypes.create_string_buffer(_SIZE)
        _LIBRARY.fegetenv(present)
        before, now = (int.from_bytes(one.raw[place : place + 4], sys.byteorder) for one in (self._memory, present))
        found = sum(bit for bit, mask in zip(_WORDS, masks, strict=True) if (before ^ now) & mask)
        if found:
            _LIBRARY.fesetenv(self._memory)
        return found


class Surroundings:
    """State that calls of FMUs must not change, at one instant; inside of `kept_working_directory`."""

    def __init__(self) -> None:
        self._floating_point, self._locale = FloatingPointMode(), locale.setlocale(locale.LC_ALL)

    def restore(self) -> Iterator[str]:
        """Restore what has changed since, in words."""
        yield from words_for(self._floating_point.restore())
        if locale.setlocale(locale.LC_ALL) != self._locale:
            locale.setlocale(locale.LC_ALL, self._locale)
            yield "the locale"
        if came_home():
            yield "the working directory"


@contextmanager
def kept_surroundings(changed: dict[str, None]) -> Iterator[None]:
    """Restore what calls of an FMU change in this block; `changed` gets it in words."""
    with kept_working_directory():
        before = Surroundings()
        try:
            yield
        finally:
            changed.update(dict.fromkeys(before.restore()))
