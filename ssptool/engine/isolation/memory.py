"""Memory that a process and all that it has started use."""

import contextlib
import mmap
from pathlib import Path


def used_memory(pid: int, allowed: int) -> int:
    """Memory of a process and of all that it has started, without what they share with others [byte].

    As long as it is less than `allowed` [byte], more than that may be returned, up to `allowed`: it takes less time
    to find. 0 if they have just ended, or where there is no /proc.
    """
    processes = _with_children(pid)
    resident = sum(map(_resident, processes))
    return resident if resident <= allowed else sum(map(_own_memory, processes))


def _with_children(pid: int) -> list[int]:
    """A process, all that it has started, and what these have."""
    found = [pid]
    for one in found:  # which grows
        with contextlib.suppress(OSError):  # it has just ended
            for path in Path(f"/proc/{one}/task").glob("*/children"):
                found += map(int, path.read_text(encoding="utf-8").split())
    return found


_OWN = ("Private_Clean:", "Private_Dirty:", "Private_Hugetlb:")


def _own_memory(pid: int) -> int:
    """Memory of a process [byte] that it does not share with the one it was forked from; 0 if it has just ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(_OWN))


def _resident(pid: int) -> int:
    """Memory of a process [byte], with what it shares; 0 if it has just ended."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()[1])
    except (OSError, IndexError):
        return 0
    return pages * mmap.PAGESIZE
