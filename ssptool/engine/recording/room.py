"""Whether a trace fits into memory."""

import math
import os

from ssptool.wrong_usage import WrongUsage


class TraceTooLarge(WrongUsage, ValueError):
    """A trace that is to be kept in memory has more rows than fit there."""

    def __init__(self, rows: int, width: int, memory: int) -> None:
        super().__init__(
            f"the trace would have {rows:,} rows of {width:,} numbers, which are {_size(8 * rows * width)} in memory, "
            f"and this machine has {_size(memory)}; record fewer rows (a longer --output-step, --every, a larger "
            "--step-size) or fewer signals (--record), or keep the trace in a file only (without --plot; keep=False)"
        )
        self.rows = rows
        self.width = width
        self.memory = memory


def check_room(rows: int, width: int) -> None:
    """Refuse to keep more rows of `width` numbers than fit into the memory of this machine.

    Raises
    ------
    TraceTooLarge
    """
    memory = _memory()
    if memory and 8 * rows * width > memory:
        raise TraceTooLarge(rows, width, memory)


def _memory() -> int:
    """Of this machine [byte]; 0: unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0


def _size(count: int) -> str:
    """Of bytes, in words."""
    thousands = min(int(math.log(max(count, 1), 1000)), len(_UNITS) - 1)
    return f"{count / 1000**thousands:.3g} {_UNITS[thousands]}"


_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")
