"""Memory use of a process and its descendants."""

import contextlib
import mmap
from pathlib import Path


def used_memory(pid: int, allowed: int) -> int:
    """Memory of a process and all its descendants, without pages shared with others [byte].

    An upper bound is returned if it is below `allowed` [byte], because it is found faster. 0 if the processes have just
    ended, or if there is no /proc.
    """
    processes = _with_children(pid)
    resident = sum(map(_resident, processes))
    return resident if resident <= allowed else sum(map(_own_memory, processes))


def _with_children(pid: int) -> list[int]:
    """A process and all its descendants."""
    found = [pid]
    for one in found:  # `found` grows in the loop
        with contextlib.suppress(OSError):  # the process has just ended
            for path in Path(f"/proc/{one}/task").glob("*/children"):
                found += map(int, path.read_text(encoding="utf-8").split())
    return found


_OWN = ("Private_Clean:", "Private_Dirty:", "Private_Hugetlb:")


def _own_memory(pid: int) -> int:
    """Memory of a process [byte] that it does not share with the process it was forked from; 0 if it has just ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(_OWN))


def _resident(pid: int) -> int:
    """Memory of a process [byte], including shared pages; 0 if it has just ended."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()[1])
    except (OSError, IndexError):
        return 0
    return pages * mmap.PAGESIZE
