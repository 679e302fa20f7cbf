"""Sandbox of a process with FMUs: no network, files of the system and of its FMUs to read, a folder to write.

Linux closes it: a network namespace without any device (`unshare`), Landlock rules for files, and a filter of system
calls (seccomp) that keeps a terminal from being typed into; none needs rights of an administrator. What is closed stays
so for the process and all that it starts.
"""

import ctypes
import errno
import json
import os
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ssptool.errors import WrongUsage

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
"""System calls of Landlock, which have the same numbers on all processors."""

_VERSION_FLAG, _PATH_BENEATH = 1, 1
_PR_SET_NO_NEW_PRIVS = 38
_NEW_USER, _NEW_NETWORK, _NEW_IPC, _NEW_PROCESSES = 0x10000000, 0x40000000, 0x08000000, 0x20000000

EXECUTE, WRITE_FILE, READ_FILE, READ_FOLDER = 1 << 0, 1 << 1, 1 << 2, 1 << 3
TRUNCATE, DEVICES = 1 << 14, 1 << 15
READ = EXECUTE | READ_FILE | READ_FOLDER
FILE_ONLY = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | DEVICES
"""Rights that a rule on a file may give; all others are those of a folder."""

_RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16}
"""Version of Landlock → number of its rights to files. Later versions have no more."""

SYSTEM = ("/usr", "/lib", "/lib64", "/lib32", "/bin", "/sbin", "/opt", "/etc", "/nix/store", "/proc", "/sys/devices")
"""Folders of the system that FMUs, their libraries and the interpreter read."""

DEVICE_FILES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


_SECCOMP = {"x86_64": 317, "aarch64": 277}
"""Processor → number of the system call that sets a filter."""
_SET_FILTER, _ALL_THREADS = 1, 1
_TYPED_INTO = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX: what they type into a terminal, the shell of the user executes later."""


class _Calls(NamedTuple):
    """Numbers of system calls in a calling convention (`AUDIT_ARCH_*`): `ioctl`, and those that are refused."""

    convention: int
    ioctl: int
    refused: tuple[int, ...]


_X32 = 0x40000000
# ptrace, process_vm_readv and _writev, add_key, request_key, keyctl, bpf, perf_event_open, userfaultfd,
# io_uring_setup, mount, umount2, pivot_root, unshare, setns
_CALLS = {
    "x86_64": (
        _Calls(0xC000003E, 16, (101, 310, 311, 248, 249, 250, 321, 298, 323, 425, 165, 166, 155, 272, 308)),
        _Calls(0xC000003E, _X32 | 514, tuple(_X32 | n for n in (521, 539, 540, 248, 249, 250, 321, 298, 323, 425))),
        _Calls(0x40000003, 54, (26, 347, 348, 286, 287, 288, 357, 336, 374, 425, 21, 52, 217, 310, 346)),
    ),
    "aarch64": (
        _Calls(0xC00000B7, 29, (117, 270, 271, 217, 218, 219, 280, 241, 282, 425, 40, 39, 41, 97, 268)),
        _Calls(0x40000028, 54, (26, 376, 377, 309, 310, 311, 386, 364, 388, 425, 21, 52, 218, 337, 375)),
    ),
}
"""Processor → the calling conventions of its programs, also those of 32 bits. Refused is what reaches into other
processes, keys of the user and the kernel, and what makes spaces and mounts; no model needs it."""


class NoSandbox(WrongUsage):
    """The system cannot close a sandbox."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"--sandbox is not available here: {reason}; run in a container, or without --sandbox")
        self.reason = reason


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scope", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


class _Instruction(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8), ("value", ctypes.c_uint32))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(_Instruction)))


def landlock_version() -> int:
    """Version of Landlock in the kernel; 0: it has no Landlock, or it is switched off."""
    if sys.platform != "linux":
        return 0
    version: int = ctypes.CDLL(None).syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_FLAG)
    return max(0, version)


def rights(version: int) -> int:
    """All rights to files that a version of Landlock knows."""
    return (1 << max((count for least, count in _RIGHTS.items() if least <= version), default=0)) - 1


@cache
def missing() -> str:
    """Reason why there is no sandbox; empty if there is one. A process is started to try it out."""
    if sys.platform != "linux":
        return f"it needs Linux, and this is {sys.platform}"
    if landlock_version() < 3:
        return "the kernel has no Landlock of version 3 (Linux 6.2), or it is switched off"
    if os.uname().machine not in _SECCOMP or ctypes.sizeof(ctypes.c_void_p) != 8:
        return f"system calls are filtered on {' and '.join(_SECCOMP)} only, and this is {os.uname().machine}"
    pid = os.fork()
    if pid == 0:
        try:
            leave_network(apart=True)
            refuse_typing()
            os._exit(0)
        except OSError as error:
            os._exit(error.errno or 1)
        finally:
            os._exit(1)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status == 0:
        return ""
    what = "user namespaces, without which the network stays open, or filters of system calls (seccomp)"
    return f"{what} are refused ({os.strerror(max(status, 1))})"


def check_sandbox() -> None:
    """Raises NoSandbox."""
    if reason := missing():
        raise NoSandbox(reason)


def leave_network(*, apart: bool = False) -> None:
    """Move this process, which has one thread, to a network without any device, not even loopback. Raises OSError.

    `apart`: its children get a space of processes of their own (see `stand_guard`).
    """
    if sys.platform == "win32":
        raise NoSandbox(missing())
    user, group = os.geteuid(), os.getegid()
    spaces = _NEW_USER | _NEW_NETWORK | _NEW_IPC | (_NEW_PROCESSES if apart else 0)
    _checked(ctypes.CDLL(None, use_errno=True).unshare(spaces), "unshare")
    # Without these it would be nobody, and could make no files.
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        Path(f"/proc/self/{name}").write_text(text, encoding="ascii")


def system_paths() -> list[Path]:
    """Paths of the system, of this interpreter and of what it imports."""
    own: list[str | Path] = [sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), Path(__file__).parents[1]]
    return [Path(one) for one in (*SYSTEM, *own, *(entry for entry in sys.path if Path(entry).is_absolute()))]


def rules(readable: Iterable[Path], writable: Sequence[Path], version: int) -> dict[Path, int]:
    """Path → rights to it and to all beneath it; paths that do not exist have no rule."""
    found = dict.fromkeys(readable, READ)
    found |= dict.fromkeys(map(Path, DEVICE_FILES), READ_FILE | WRITE_FILE | TRUNCATE)
    found |= dict.fromkeys(writable, rights(version) & ~DEVICES)
    known = rights(version)
    return {
        path: allowed & known & (~0 if path.is_dir() else FILE_ONLY) for path, allowed in found.items() if path.exists()
    }


def close_files(readable: Iterable[Path], writable: Sequence[Path]) -> None:
    """Let this process read and write nothing else from now on, and talk to no process outside. Raises OSError."""
    libc, version = ctypes.CDLL(None, use_errno=True), landlock_version()
    wanted = _Ruleset(rights(version), 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    size = 8 if version < 4 else 16 if version < 6 else 24
    ruleset = _checked(libc.syscall(_CREATE_RULESET, ctypes.byref(wanted), ctypes.c_size_t(size), 0), "Landlock")
    try:
        for path, allowed in rules(readable, writable, version).items():
            _add(libc, ruleset, path, allowed)
        refuse_typing()  # sets the flag without which neither is allowed
        _checked(libc.syscall(_RESTRICT_SELF, ruleset, 0), "Landlock")
    finally:
        os.close(ruleset)


def enter() -> None:
    """Entry of an interpreter: execute the command of its arguments in a sandbox.

    The first argument is JSON: the paths to read beside those of the system, and the paths to write.
    """
    readable, writable = (list(map(Path, paths)) for paths in json.loads(sys.argv[1]))
    leave_network()
    close_files([*system_paths(), *readable], writable)
    os.execvp(sys.argv[2], sys.argv[2:])


_LOAD, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_NUMBER, _CONVENTION, _SECOND_ARGUMENT = 0, 4, 24
_ALLOWED, _REFUSED = 0x7FFF0000, 0x00050000


def _filter(machine: str) -> list[tuple[int, int, int, int]]:
    """Instructions (code, jump if equal, jump if not, value): `ioctl` with a request of `_TYPED_INTO` fails, and so do
    all refused calls.
    """
    found = []
    for convention, ioctl, refused in _CALLS[machine]:
        count = len(refused)
        found += [
            (_LOAD, 0, 0, _CONVENTION),
            (_IF_EQUAL, 0, count + 6, convention),
            (_LOAD, 0, 0, _NUMBER),
            *((_IF_EQUAL, count + 3 - place, 0, number) for place, number in enumerate(refused)),
            (_IF_EQUAL, 0, 4, ioctl),
            (_LOAD, 0, 0, _SECOND_ARGUMENT),
            (_IF_EQUAL, 1, 0, _TYPED_INTO[0]),
            (_IF_EQUAL, 0, 1, _TYPED_INTO[1]),
            (_RETURN, 0, 0, _REFUSED | errno.EPERM),
        ]
    return [*found, (_RETURN, 0, 0, _ALLOWED)]


def refuse_typing() -> None:
    """Let no thread of this process type into a terminal from now on, whichever it has open. Raises OSError."""
    if sys.platform == "win32":
        raise NoSandbox(missing())
    machine, libc = os.uname().machine, ctypes.CDLL(None, use_errno=True)
    instructions = _filter(machine)
    program = _Program(
        len(instructions), (_Instruction * len(instructions))(*(_Instruction(*one) for one in instructions))
    )
    _checked(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")
    _checked(libc.syscall(_SECCOMP[machine], _SET_FILTER, _ALL_THREADS, ctypes.byref(program)), "seccomp")


def _add(libc: ctypes.CDLL, ruleset: int, path: Path, allowed: int) -> None:
    if sys.platform != "linux":
        raise NoSandbox(missing())
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.EACCES):  # what cannot be reached needs no rule
            return
        raise
    try:
        rule = _Beneath(allowed, parent)
        _checked(libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0), "Landlock")
    finally:
        os.close(parent)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result
