"""Limits of time and memory of a process in which FMUs run."""

import time
from collections.abc import Callable
from pathlib import Path

from ssptool.engine.ending import Ending
from ssptool.engine.isolation.limits import Limits

LOOK_SECONDS = 0.01
"""Between two looks at memory and steps, if one of them is limited."""


class Overdue(Exception):
    """A limit was reached."""

    def __init__(self, ending: Ending, what: str, advice: str) -> None:
        super().__init__(what)
        self.ending = ending
        self.what = what
        self.advice = advice


class LimitWatch:
    """Of a process that has just begun.

    Attributes
    ----------
    seconds
        Since then.
    """

    def __init__(self, limits: Limits, pid: int, waiting: float) -> None:
        """`waiting`: so long [s] a macro step takes without any fault."""
        self._limits = limits
        self._pid = pid
        self._waiting = waiting
        self._began = self._moved = self._looked = time.monotonic()
        self._progress = (0, 0)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def patience(self) -> float | None:
        """How long to wait for a message before limits are looked at [s]."""
        limits = self._limits
        if limits.memory is not None or limits.step_seconds is not None:
            return LOOK_SECONDS
        if limits.seconds is not None:
            return max(0.0, self._began + limits.seconds - time.monotonic())
        return None

    def check(self, progress: Callable[[], tuple[int, int]]) -> None:
        """`progress` grows with every macro step; it is asked for only if it counts.

        Raises
        ------
        Overdue
        """
        limits, now = self._limits, time.monotonic()
        if limits.seconds is not None and now - self._began >= limits.seconds:
            what = f"the run has taken {limits.seconds:g} s, which is all that it may take"
            raise Overdue(Ending.TIMEOUT, what, "allow more with --timeout, or look at why it takes so long")
        if now - self._looked < LOOK_SECONDS:
            return
        self._looked = now
        if limits.step_seconds is not None:
            self._check_step(progress(), limits.step_seconds + self._waiting, now)
        if limits.memory is not None:
            self._check_memory(limits.memory)

    def _check_step(self, progress: tuple[int, int], allowed: float, now: float) -> None:
        if progress != self._progress:
            self._progress, self._moved = progress, now
        if now - self._moved >= allowed:
            what = f"no macro step has been finished for {allowed:g} s, which is all that one may take"
            raise Overdue(Ending.TIMEOUT, what, "allow more with --step-timeout, or report it to the FMU's supplier")

    def _check_memory(self, allowed: int) -> None:
        used = sum(map(_own_memory, _with_children(self._pid)))
        if used > allowed:
            what = f"{used >> 20} MiB of memory are in use, allowed are {allowed >> 20} MiB"
            raise Overdue(Ending.MEMORY, what, "allow more with --memory-limit, or report it to the FMU's supplier")


def _with_children(pid: int) -> list[int]:
    """A process, and those that it has started for FMUs."""
    try:
        lists = [path.read_text(encoding="ascii") for path in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:  # it has just ended
        lists = []
    return [pid, *(int(number) for numbers in lists for number in numbers.split())]


_OWN = ("Private_Clean:", "Private_Dirty:", "Private_Hugetlb:")


def _own_memory(pid: int) -> int:
    """Memory of a process [byte] that it does not share with the one it was forked from; 0 if it has just ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(_OWN))
