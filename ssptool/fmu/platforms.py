"""Shared libraries in an FMU: for which platforms there are any, and reasons why one cannot be loaded here."""

import os
import platform
import re
import struct
import sys
import zipfile
from collections.abc import Set
from pathlib import Path

from ssptool.fmu.description import Interface
from ssptool.fmu.model_description_xml import zip_contents

BINARIES = "binaries/"


def this_platform(major: int) -> str:
    """The name of this machine in FMUs of that version of FMI, such as `linux64` or `x86_64-linux`."""
    import fmpy  # for the reason that `read_description` has

    return str(fmpy.platform_tuple if major >= 3 else fmpy.platform)


def library_entry(major: int, identifier: str) -> str:
    """Where the library for this machine is in an FMU."""
    import fmpy

    return f"{BINARIES}{this_platform(major)}/{identifier}{fmpy.sharedLibraryExtension}"


def platforms(path: Path, interface: Interface) -> frozenset[str]:
    """The platforms for which an FMU (a zip, or an unpacked folder) has the binary of an interface."""
    try:
        names = fmu_entries(path)
    except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError):
        return frozenset()
    found = [name for name in names if name.startswith(BINARIES) and name.count("/") == 2]
    return frozenset(name.split("/")[1] for name in found if _is_library_of(name, names, interface))


def misnamed_library(names: Set[str], wanted: str) -> str | None:
    """The one library that stands in the place of the library `wanted`, under another name; None if there is none."""
    folder, suffix = wanted.rpartition("/")[0], Path(wanted).suffix
    beside = [name for name in names if name.rpartition("/")[0] == folder and name.endswith(suffix)]
    return beside[0] if len(beside) == 1 and wanted not in names else None


_SUFFIXES = (".so", ".dll", ".dylib")


def _is_library_of(name: str, names: Set[str], interface: Interface) -> bool:
    path = Path(name)
    if path.stem == interface.model_identifier:
        return True
    wanted = path.with_name(interface.model_identifier + path.suffix).as_posix()
    return path.suffix in _SUFFIXES and misnamed_library(names, wanted) is not None


def fmu_entries(path: Path) -> Set[str]:
    """What is in an FMU: all of a zip; of an unpacked folder the binaries and the sources. Raises as `zip_contents`."""
    if path.is_dir():
        found = (*path.glob("binaries/*/*"), *path.glob("sources/*"))
        return {file.relative_to(path).as_posix() for file in found}
    return zip_contents(path).names


_MACHINES = {3: "x86 (32 bit)", 40: "arm (32 bit)", 62: "x86_64", 183: "aarch64", 243: "riscv64"}
"""e_machine of ELF → architecture, as `platform.machine` names it where it has 64 bits."""

_ELF_64 = b"\x7fELF\x02\x01"
"""How an ELF file of 64 bits in the order of little ends begins."""

_SEGMENT = struct.Struct("<I4xQ16xQ")
"""Of an entry of its table of segments: kind, offset and length in the file [byte]."""

_LOADED = 1

_MISSING_LIBRARY = re.compile(r"^(?P<name>[^\s:]+): cannot open shared object file", re.MULTILINE)
_MISSING_FUNCTION = re.compile(r"undefined symbol: (?P<name>\w+)")


def unsafe_reason(library: Path) -> str:
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


def unloadable_reason(library: Path, error: Exception) -> str:
    """The reason, from the file itself or from what the loader says of it."""
    if sys.platform == "linux" and (found := _foreign_file(library)):
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


def _foreign_file(library: Path) -> str:
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
