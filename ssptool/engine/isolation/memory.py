"""Memory use of a process and its descendants, and its limits by the kernel where control groups are delegated."""

import contextlib
import mmap
import os
import time
from functools import cache
from pathlib import Path

from ssptool.own_root import MOST_PROCESSES


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


def too_much_memory(used: int, allowed: int) -> str:
    """Sentence about memory in use that exceeds its limit [byte]."""
    return f"{used >> 20} MiB of memory are in use, allowed are {allowed >> 20} MiB"


def ran_out_of_memory(allowed: int | None) -> str:
    """Sentence about processes that the kernel has ended because of their memory. `allowed`: their own limit [byte]."""
    limit = "all that there is" if allowed is None else f"{allowed >> 20} MiB"
    return f"more memory is needed than allowed ({limit})"


_NAME = "ssptool-"
_CONTROLLERS = {"memory", "pids"}
_END_SECONDS, _LOOK_SECONDS = 1.0, 0.005


class ControlGroup:
    """Control group (cgroup v2 of Linux) of a process in a sandbox and all that it starts: the kernel counts their
    memory, with temporary files, and their number, and ends all of them if they need more memory.

    There is none where the system delegates none to this process; the limits of `own_root` and `used_memory` do then.
    """

    def __init__(self, pid: int | None, allowed: int | None) -> None:
        """`pid`: a process that has not loaded an FMU; None: it needs no group. `allowed`: memory [byte]."""
        self._folder: Path | None = None
        if pid is None or (place := delegated_group()) is None:
            return
        _remove_abandoned(place)
        folder = place / f"{_NAME}{os.getpid()}-{pid}"
        with contextlib.suppress(OSError):  # by a limit of the group around, for example
            folder.mkdir()
            self._folder = folder
            (folder / "pids.max").write_text(str(MOST_PROCESSES), encoding="ascii")
            (folder / "memory.oom.group").write_text("1", encoding="ascii")
            # What a process starts after it has been moved is in the group as well.
            for one in _with_children(pid):
                with contextlib.suppress(ProcessLookupError):
                    (folder / "cgroup.procs").write_text(str(one), encoding="ascii")
            self.allow(allowed)

    def allow(self, memory: int | None) -> None:
        """Limit the memory of all processes from now on [byte]."""
        if self._folder is not None and memory is not None:
            with contextlib.suppress(OSError):  # a kernel that does not count swapped memory
                (self._folder / "memory.max").write_text(str(memory), encoding="ascii")
                (self._folder / "memory.swap.max").write_text("0", encoding="ascii")

    def ran_out(self) -> bool:
        """Whether the kernel has ended the processes because of their memory."""
        if self._folder is None:
            return False
        try:
            lines = (self._folder / "memory.events").read_text(encoding="ascii").splitlines()
        except OSError:
            return False
        return any(int(count) > 0 for name, count in map(str.split, lines) if name == "oom_kill")

    def remove(self) -> None:
        """Remove the group, whose processes have ended."""
        if self._folder is not None:
            deadline = time.monotonic() + _END_SECONDS
            while not _removed(self._folder) and time.monotonic() < deadline:
                time.sleep(_LOOK_SECONDS)
            self._folder = None


@cache
def delegated_group() -> Path | None:
    """Folder of the control group in which this process may make groups with limits; None if there is none.

    It is the group of this process, or the one around it, as in a session of systemd.
    """
    with contextlib.suppress(OSError, StopIteration):
        mounts = (line.split() for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines())
        root, mount = next((one[3], one[4]) for one in mounts if "cgroup2" in one[one.index("-") :])
        groups = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
        own = next(line[3:] for line in groups if line.startswith("0::"))
        return _delegated(Path(mount), os.path.relpath(own, root))
    return None


def _delegated(mount: Path, own: str) -> Path | None:
    """`own`: the group of this process, below that of the mount."""
    for place in (mount / own, (mount / own).parent):
        with contextlib.suppress(OSError):
            known = set((place / "cgroup.subtree_control").read_text(encoding="ascii").split())
            if known >= _CONTROLLERS and all(os.access(one, os.W_OK) for one in (place, place / "cgroup.procs")):
                return place
    return None


def _remove_abandoned(place: Path) -> None:
    """Remove groups of commands that were killed."""
    for folder in place.glob(f"{_NAME}*"):
        if not Path("/proc", folder.name.removeprefix(_NAME).partition("-")[0]).exists():
            _removed(folder)  # unless there are processes in it


def _removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
