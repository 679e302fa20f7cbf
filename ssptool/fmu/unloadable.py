"""Why the operating system refuses a shared library, in words that say what to do about it."""

import platform
import re
import struct
import sys
from pathlib import Path

_MACHINES = {3: "x86 (32 bit)", 40: "arm (32 bit)", 62: "x86_64", 183: "aarch64", 243: "riscv64"}
"""e_machine of ELF → architecture, as `platform.machine` names it where it has 64 bits."""

_MISSING_LIBRARY = re.compile(r"^(?P<name>[^\s:]+): cannot open shared object file", re.MULTILINE)
_MISSING_FUNCTION = re.compile(r"undefined symbol: (?P<name>\w+)")
_LOAD_FAILED = re.compile(r"^Failed to load shared library .*?\.(so|dylib|dll)\. ", re.DOTALL)


def why_unloadable(library: Path, error: Exception) -> str:
    """The reason, from the file itself or from what the loader says of it."""
    if sys.platform == "linux" and (found := _foreign(library)):
        return found
    said = _LOAD_FAILED.sub("", str(error)).replace(f"{library.parent}/", "")
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
