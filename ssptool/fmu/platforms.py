"""For which machines an FMU has binaries, and what this one is called."""

import platform
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path

from ssptool.fmu.description import Interface
from ssptool.fmu.packed import packed

BINARIES = "binaries/"
_SYSTEMS = {
    "linux": ("linux", "linux", ".so"),
    "win32": ("win", "windows", ".dll"),
    "darwin": ("darwin", "darwin", ".dylib"),
}
"""As Python calls it → as FMI 2.0.4 §2.3 and FMI 3.0 §2.5.1 do, and what names of libraries end with."""
_ARCHITECTURES = {
    "amd64": "x86_64",
    "x86_64": "x86_64",
    "arm64": "aarch64",
    "aarch64": "aarch64",
    "i386": "x86",
    "i686": "x86",
}


def this_platform(major: int) -> str:
    """The name of this machine in FMUs of that version of FMI, such as `linux64` or `x86_64-linux`."""
    old, new, _ = _SYSTEMS.get(sys.platform, (sys.platform,) * 3)
    if major < 3:
        return f"{old}{64 if sys.maxsize > 2**32 else 32}"
    machine = platform.machine().lower()
    return f"{_ARCHITECTURES.get(machine, machine)}-{new}"


LIBRARY_SUFFIX = _SYSTEMS.get(sys.platform, ("", "", ".so"))[2]


def library(major: int, identifier: str) -> str:
    """Where the library for this machine is in an FMU."""
    return f"{BINARIES}{this_platform(major)}/{identifier}{LIBRARY_SUFFIX}"


def platforms(path: Path, interface: Interface) -> frozenset[str]:
    """The platforms for which an FMU (a zip, or an unpacked folder) has the binary of an interface."""
    try:
        names = _names(path)
    except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError):
        return frozenset()
    parts = (name.split("/") for name in names if name.startswith(BINARIES))
    return frozenset(part[1] for part in parts if len(part) == 3 and Path(part[2]).stem == interface.model_identifier)


def _names(path: Path) -> Iterable[str]:
    if path.is_dir():
        return [file.relative_to(path).as_posix() for file in path.glob("binaries/*/*")]
    return packed(path).names
