"""Why the operating system refuses a shared library, in words that say what to do about it."""

import os
import platform
import re
import struct
import sys
from pathlib import Path

_MACHINES = {3: "x86 (32 bit)", 40: "arm (32 bit)", 62: "x86_64", 183: "aarch64", 243: "riscv64"}
"""e_machine of ELF → architecture, as `platform.machine` names it where it has 64 bits."""

_ELF_64 = b"\x7fELF\x02\x01"
"""How an ELF file of 64 bits in the order of little ends begins."""

_SEGMENT = struct.Struct("<I4xQ16xQ")
"""Of an entry of its table of segments: kind, offset and length in the file [byte]."""

_LOADED = 1

_MISSING_LIBRARY = re.compile(r"^(?P<name>[^\s:]+): cannot open shared object file", re.MULTILINE)
_MISSING_FUNCTION = re.compile(r"undefined symbol: (?P<name>\w+)")


def why_unsafe(library: Path) -> str:
    """Why to load it would end this process; "" if nothing says so.

    The loader of Linux maps the segments that an ELF file states without a look at the size of the file; whoever then
    touches what is missing is ended by SIGBUS.
    """
    if sys.platform != "linux":
        return ""
    with library.open("rb") as file:
        head = file.read(64)
        if len(head) < 64 or head[:6] != _ELF_64:
            return ""
        table, size, number = struct.unpack("<32xQ14xHH6x", head)
        file.seek(table)
        segments = file.read(size * number)
        there = file.seek(0, os.SEEK_END)
    starts = range(0, len(segments) - _SEGMENT.size + 1, max(size, _SEGMENT.size))
    parts = (_SEGMENT.unpack_from(segments, start) for start in starts)
    stated = max([table + size * number, *(offset + length for kind, offset, length in parts if kind == _LOADED)])
    if stated <= there:
        return ""
    return f"it is cut off: it states {stated} bytes that are to be loaded and has {there}; get the FMU once more"


def why_unloadable(library: Path, error: Exception) -> str:
    """The reason, from the file itself or from what the loader says of it."""
    if sys.platform == "linux" and (found := _foreign(library)):
        return found
    said = str(error).replace(f"{library.parent}/", "")
    if (missing := _MISSING_LIBRARY.search(said)) and missing["name"] != library.name:
        return (
            f"it needs the library {missing['name']}, which is not found: install what has it, or name its folder in "
            "LD_LIBRARY_PATH"
        )
    if missing := _MISSING_FUNCTION.search(said):
        return f"it has no function {missing['name']} ({said}); report it to the FMU's supplier"
    return said


def _foreign(library: Path) -> str:
    """What the file is, if it is nothing that can be loaded on this machine."""
    with library.open("rb") as file:
        head = file.read(20)
    if len(head) < 20 or head[:4] != b"\x7fELF":
        return "it is no shared library of Linux; the FMU may be damaged"
    order = "<" if head[5] == 1 else ">"
    (number,) = struct.unpack(f"{order}H", head[18:20])
    machine, own = _MACHINES.get(number, f"machine number {number} of ELF"), platform.machine()
    if machine == own or own not in _MACHINES.values():
        return ""
    return f"it was built for {machine}, and this is {own}; ask for one that was built for this machine"
