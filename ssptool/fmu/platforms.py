"""For which machines an FMU has binaries."""

import zipfile
from collections.abc import Set
from pathlib import Path

from ssptool.fmu.description import Interface
from ssptool.fmu.packed import packed

BINARIES = "binaries/"


def this_platform(major: int) -> str:
    """The name of this machine in FMUs of that version of FMI, such as `linux64` or `x86_64-linux`."""
    import fmpy  # for the reason that `read_description` has

    return str(fmpy.platform_tuple if major >= 3 else fmpy.platform)


def library(major: int, identifier: str) -> str:
    """Where the library for this machine is in an FMU."""
    import fmpy

    return f"{BINARIES}{this_platform(major)}/{identifier}{fmpy.sharedLibraryExtension}"


def platforms(path: Path, interface: Interface) -> frozenset[str]:
    """The platforms for which an FMU (a zip, or an unpacked folder) has the binary of an interface."""
    try:
        names = entries(path)
    except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError):
        return frozenset()
    found = [name for name in names if name.startswith(BINARIES) and name.count("/") == 2]
    return frozenset(name.split("/")[1] for name in found if _serves(name, names, interface))


def misnamed_library(names: Set[str], wanted: str) -> str | None:
    """The one library that stands in the place of the library `wanted`, under another name; None if there is none."""
    folder, suffix = wanted.rpartition("/")[0], Path(wanted).suffix
    beside = [name for name in names if name.rpartition("/")[0] == folder and name.endswith(suffix)]
    return beside[0] if len(beside) == 1 and wanted not in names else None


_SUFFIXES = (".so", ".dll", ".dylib")


def _serves(name: str, names: Set[str], interface: Interface) -> bool:
    path = Path(name)
    if path.stem == interface.model_identifier:
        return True
    wanted = path.with_name(interface.model_identifier + path.suffix).as_posix()
    return path.suffix in _SUFFIXES and misnamed_library(names, wanted) is not None


def entries(path: Path) -> Set[str]:
    """What is in an FMU: all of a zip; of an unpacked folder the binaries and the sources. Raises as `packed`."""
    if path.is_dir():
        found = (*path.glob("binaries/*/*"), *path.glob("sources/*"))
        return {file.relative_to(path).as_posix() for file in found}
    return packed(path).names
