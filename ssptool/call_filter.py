"""A filter of system calls (seccomp) of Linux: what no model needs, and what reaches out of a sandbox, is refused.

It cannot be taken off again, and all that the process starts has it too.
"""

import ctypes
import errno
import os
import sys
from collections.abc import Iterator
from typing import NamedTuple

_PR_SET_NO_NEW_PRIVS = 38
_SET_FILTER, _ALL_THREADS = 1, 1
_SECCOMP = {"x86_64": 317, "aarch64": 277}
"""Processor → number of the system call that sets a filter."""

PROCESSORS = tuple(_SECCOMP)

TYPED_INTO = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX: what they type into a terminal, the shell of the user executes later."""

FAMILIES = (1, 2, 10, 16)
"""Families of sockets that the network of a sandbox keeps apart: files, IPv4, IPv6 and netlink. Others, such as that to
the host of a virtual machine (vsock), would lead past it."""

NEW_SPACES = 0x7E020000
"""Flags of `clone` that make namespaces, in which a process has all rights and much of the kernel is open to it."""


class Convention(NamedTuple):
    """Numbers of system calls in a calling convention (`AUDIT_ARCH_*`).

    Attributes
    ----------
    refused
        Calls that fail.
    ioctl, socket, clone
        Calls that fail with some arguments.
    most
        Calls from this number on fail as well (x32, which shares its convention with x86-64).
    """

    code: int
    ioctl: int
    socket: int
    clone: int
    refused: tuple[int, ...]
    most: int = 0xFFFFFFFF


_CLONE3 = 435
"""A call with flags in memory, where no filter sees them; libraries use `clone` where there is none."""

_EVERYWHERE = (425, 428, 429, 430, 431, 432, 433, 438, 440, 442)
# io_uring_setup, open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, pidfd_getfd, process_madvise, mount_setattr

# ptrace, process_vm_readv and _writev, kcmp, add_key, request_key, keyctl, bpf, perf_event_open, userfaultfd, mount,
# umount2, pivot_root, chroot, unshare, setns, open_by_handle_at, kexec_load and _file_load, init_module, finit_module,
# delete_module, syslog, fanotify_init; then those that only this processor has
CONVENTIONS = {
    "x86_64": (
        Convention(
            *(0xC000003E, 16, 41, 56),
            (
                *(101, 310, 311, 312, 248, 249, 250, 321, 298, 323, 165, 166, 155, 161, 272, 308, 304, 246, 320),
                *(175, 313, 176, 103, 300, 172, 173),
                *_EVERYWHERE,
            ),
            0x3FFFFFFF,
        ),
        Convention(
            *(0x40000003, 54, 359, 120),
            (
                *(26, 347, 348, 349, 286, 287, 288, 357, 336, 374, 21, 52, 217, 61, 310, 346, 342, 283),
                *(128, 350, 129, 103, 338, 110, 101, 102),
                *_EVERYWHERE,
            ),
        ),
    ),
    "aarch64": (
        Convention(
            *(0xC00000B7, 29, 198, 220),
            (
                *(117, 270, 271, 272, 217, 218, 219, 280, 241, 282, 40, 39, 41, 51, 97, 268, 265, 104, 294),
                *(105, 273, 106, 116, 262),
                *_EVERYWHERE,
            ),
        ),
        Convention(
            *(0x40000028, 54, 281, 120),
            (
                *(26, 376, 377, 378, 309, 310, 311, 386, 364, 388, 21, 52, 218, 61, 337, 375, 371, 347, 401),
                *(128, 379, 129, 103, 367, 102),
                *_EVERYWHERE,
            ),
        ),
    ),
}
"""Processor → the calling conventions of its programs, also those of 32 bits. Refused is what reaches into other
processes, keys of the user and the kernel, and what makes spaces and mounts; no model needs it."""

_LOAD, _IF_EQUAL, _IF_GREATER, _IF_ANY_BIT, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
_NUMBER, _CONVENTION, _FIRST_ARGUMENT, _SECOND_ARGUMENT = 0, 4, 16, 24
_ALLOWED, _REFUSED = 0x7FFF0000, 0x00050000

_NEXT = ""
_RESULTS = {"allow": _ALLOWED, "refuse": _REFUSED | errno.EPERM, "unknown": _REFUSED | errno.ENOSYS}


class _Instruction(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8), ("value", ctypes.c_uint32))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(_Instruction)))


class _Line(NamedTuple):
    """An instruction; the labels say where it goes on if its comparison holds, and if not."""

    code: int
    value: int
    yes: str = _NEXT
    no: str = _NEXT
    label: str = ""


def refuse_calls() -> None:
    """Set the filter for all threads of this process; it can gain no rights from now on. Raises OSError."""
    if sys.platform == "win32":
        raise OSError(errno.ENOSYS, "no filters of system calls")
    machine, libc = os.uname().machine, ctypes.CDLL(None, use_errno=True)
    instructions = program(machine)
    filled = (_Instruction * len(instructions))(*(_Instruction(*one) for one in instructions))
    calls = _Program(len(instructions), filled)
    for result in (
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
        libc.syscall(_SECCOMP[machine], _SET_FILTER, _ALL_THREADS, ctypes.byref(calls)),
    ):
        if result < 0:
            raise OSError(ctypes.get_errno(), f"seccomp: {os.strerror(ctypes.get_errno())}")


def program(machine: str) -> list[tuple[int, int, int, int]]:
    """Instructions of the filter: (code, jump if it holds, jump if not, value)."""
    found = [one for convention in CONVENTIONS[machine] for one in _jumps(list(_lines(convention)))]
    return [*found, (_RETURN, 0, 0, _ALLOWED)]


def _lines(convention: Convention) -> Iterator[_Line]:
    yield _Line(_LOAD, _CONVENTION)
    yield _Line(_IF_EQUAL, convention.code, no="end")
    yield _Line(_LOAD, _NUMBER)
    yield _Line(_IF_GREATER, convention.most, yes="refuse")
    for number in convention.refused:
        yield _Line(_IF_EQUAL, number, yes="refuse")
    yield _Line(_IF_EQUAL, _CLONE3, yes="unknown")
    yield _Line(_IF_EQUAL, convention.clone, yes="clone")
    yield _Line(_IF_EQUAL, convention.socket, yes="socket")
    yield _Line(_IF_EQUAL, convention.ioctl, yes="ioctl", no="allow")
    yield _Line(_LOAD, _FIRST_ARGUMENT, label="clone")
    yield _Line(_IF_ANY_BIT, NEW_SPACES, yes="refuse", no="allow")
    yield _Line(_LOAD, _FIRST_ARGUMENT, label="socket")
    for family in FAMILIES:
        yield _Line(_IF_EQUAL, family, yes="allow", no="refuse" if family == FAMILIES[-1] else _NEXT)
    yield _Line(_LOAD, _SECOND_ARGUMENT, label="ioctl")
    for request in TYPED_INTO:
        yield _Line(_IF_EQUAL, request, yes="refuse")
    for name, value in _RESULTS.items():
        yield _Line(_RETURN, value, label=name)


def _jumps(lines: list[_Line]) -> Iterator[tuple[int, int, int, int]]:
    places = {line.label: place for place, line in enumerate(lines) if line.label} | {"end": len(lines)}
    for place, line in enumerate(lines):
        yes, no = (places[label] - place - 1 if label else 0 for label in (line.yes, line.no))
        yield line.code, yes, no, line.value
