"""A tree of files of its own for a process of a sandbox (mount namespace of Linux).

In it are the folders and files that it may read, without the right to write; those that it may write; a few devices;
`/proc` of its own space of processes; and `/tmp` and `/dev/shm` in memory, with limited sizes. Sockets, files and
terminals of the user are not there: not even a name leads to them.
"""

import ctypes
import errno
import os
import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

TEMPORARY = Path("/tmp")  # noqa: S108  of its own
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  of its own
SIZES = {TEMPORARY: 1 << 30, SHARED_MEMORY: 256 << 20}
"""Folders in memory → their largest sizes [byte]."""

_MOST_FILES = 100_000
_FOLDER_BYTES = 4 << 20
"""Size of the root, which has only folders, links and empty files."""

DEVICE_FILES = tuple(Path("/dev", name) for name in ("null", "zero", "full", "random", "urandom"))
_LINKS = {"/dev/fd": "/proc/self/fd", "/dev/stdin": "fd/0", "/dev/stdout": "fd/1", "/dev/stderr": "fd/2"}

HIDDEN = (Path("/usr/local/etc"),)
"""Folders below those that may be read, in which programs keep settings with passwords."""

MOST_PROCESSES = 4096
"""Processes and threads in a sandbox at most."""

_PER_SPACE = (6, 14)
"""Version of Linux since which the largest number of a process is that of its space, and not of the machine."""

_NEW_MOUNTS = 0x00020000
_RECURSIVE, _PRIVATE, _READ_ONLY, _NO_SUID, _NO_DEVICES, _NO_EXECUTION = 0x4000, 1 << 18, 1, 2, 4, 8
_DETACH = 2
_AT_FDCWD, _AT_EMPTY_PATH, _AT_RECURSIVE = -100, 0x1000, 0x8000
_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_CLONE_TREE, _FROM_DESCRIPTOR, _CLOSE_ON_EXECUTION = 1, 4, 0o2000000
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}


class _Attributes(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "user_space"))


class _Tree(NamedTuple):
    """Files at a path, as a mount that is attached nowhere yet."""

    path: str
    descriptor: int
    is_folder: bool


def enter_own_root(readable: Iterable[Path], writable: Iterable[Path], folder: Path | None = None) -> None:
    """Let this process see nothing else from now on. It needs spaces of users and processes of its own.

    Parameters
    ----------
    readable, writable
        Absolute paths; those that do not exist are left out.
    folder
        Working directory, which exists afterwards, perhaps empty.

    Raises
    ------
    OSError
        The system refuses; the process is in no usable state then.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    _checked(libc.unshare(_NEW_MOUNTS), "a tree of files of its own")
    _mount(libc, None, "/", None, _RECURSIVE | _PRIVATE)
    paths = dict.fromkeys(_outermost(readable), _READ_ONLY | _NO_SUID | _NO_DEVICES)
    paths |= dict.fromkeys(map(str, DEVICE_FILES), _NO_SUID | _NO_EXECUTION)
    paths |= {resolved(str(path)): _NO_SUID | _NO_DEVICES for path in writable}
    links = dict(_links([*readable, *writable]))
    trees = [tree for path, flags in paths.items() if (tree := _tree(libc, path, flags)) is not None]
    _leave_old_root(libc)
    for tree in trees:
        _attach(libc, tree)
    for hidden in HIDDEN:
        if hidden.is_dir():
            _mount(libc, "tmpfs", str(hidden), "tmpfs", _READ_ONLY | _NO_SUID | _NO_DEVICES)
    for path, target in (*links.items(), *_LINKS.items()):
        with suppress(OSError):  # it is there already, or another link leads there
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).symlink_to(target)
    if folder is not None:
        with suppress(OSError):  # a file, or below one
            folder.mkdir(parents=True, exist_ok=True)
    _set(libc, _AT_FDCWD, b"/", _READ_ONLY | _NO_SUID | _NO_DEVICES, 0)
    with suppress(OSError):
        os.chdir(folder or "/")


@cache
def resolved(path: str) -> str:
    """A path without links, as they were when it was asked for first: a process enters one root, and no other."""
    return os.path.realpath(path)


def _outermost(paths: Iterable[Path]) -> list[str]:
    """Paths without links, without those below others, in which they can be seen."""
    found: list[str] = []
    for path in sorted({resolved(str(path)) for path in paths}):
        if not any(path == one or path.startswith(f"{one.rstrip('/')}/") for one in found):
            found.append(path)
    return found


def _links(paths: Iterable[Path]) -> Iterable[tuple[str, str]]:
    """Paths that are links, or lead through links, and where they lead."""
    for path in map(str, paths):
        target = resolved(path)
        if target != path and Path(target).exists():
            yield path, target


def _tree(libc: ctypes.CDLL, path: str, flags: int) -> _Tree | None:
    descriptor = libc.syscall(
        _OPEN_TREE, _AT_FDCWD, os.fsencode(path), _CLONE_TREE | _CLOSE_ON_EXECUTION | _AT_RECURSIVE
    )
    if descriptor < 0:
        if ctypes.get_errno() in (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP):
            return None  # nothing is there, or it could not be read anyway
        _checked(descriptor, path)
    _set(libc, descriptor, b"", flags, _AT_EMPTY_PATH | _AT_RECURSIVE)
    return _Tree(path, descriptor, Path(path).is_dir())


def _leave_old_root(libc: ctypes.CDLL) -> None:
    """Make a root of memory, with its own `/proc` and folders in memory, and let go of the old one."""
    if sys.platform == "win32":
        raise AssertionError("there are no mounts")
    base = "/usr"  # any folder
    _mount(libc, "tmpfs", base, "tmpfs", _NO_SUID | _NO_DEVICES, f"mode=755,size={_FOLDER_BYTES}")
    os.chdir(base)
    Path("proc").mkdir()
    # While the other one can still be seen: the kernel asks for that.
    _mount(libc, "proc", "proc", "proc", _NO_SUID | _NO_DEVICES | _NO_EXECUTION)
    _checked(libc.syscall(_PIVOT_ROOT[os.uname().machine], b".", b"."), "a root of its own")
    _checked(libc.umount2(b".", _DETACH), "a root of its own")
    os.chdir("/")
    _limit_numbers(os.uname().release)
    _set(libc, _AT_FDCWD, b"/proc", _READ_ONLY, 0)
    for path, size in SIZES.items():
        path.mkdir(parents=True)
        _mount(libc, "tmpfs", str(path), "tmpfs", _NO_SUID | _NO_DEVICES, f"size={size},nr_inodes={_MOST_FILES}")


def _limit_numbers(release: str) -> None:
    """Limit the numbers of processes, which limits the administrator as well, to whom limits of users do not apply."""
    version = tuple(int(number) for number in re.findall(r"\d+", release)[:2])
    if version >= _PER_SPACE:  # before, this would be the number of the whole machine
        Path("/proc/sys/kernel/pid_max").write_text(str(MOST_PROCESSES), encoding="utf-8")


def _attach(libc: ctypes.CDLL, tree: _Tree) -> None:
    path = Path(tree.path)
    if tree.is_folder:
        path.mkdir(parents=True, exist_ok=True)
    elif not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    place = os.fsencode(tree.path)
    _checked(libc.syscall(_MOVE_MOUNT, tree.descriptor, b"", _AT_FDCWD, place, _FROM_DESCRIPTOR), tree.path)
    os.close(tree.descriptor)


def _set(libc: ctypes.CDLL, descriptor: int, path: bytes, flags: int, how: int) -> None:
    wanted = _Attributes(flags, 0, 0, 0)
    size = ctypes.c_size_t(ctypes.sizeof(wanted))
    _checked(libc.syscall(_MOUNT_SETATTR, descriptor, path, how, ctypes.byref(wanted), size), "read-only files")


def _mount(libc: ctypes.CDLL, what: str | None, where: str, kind: str | None, flags: int, options: str = "") -> None:
    texts = [None if text is None else os.fsencode(text) for text in (what, where, kind)]
    result = libc.mount(*texts, ctypes.c_ulong(flags), os.fsencode(options) or None)
    _checked(result, f"mount of {kind}" if kind else "mounts of its own")


def _checked(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
