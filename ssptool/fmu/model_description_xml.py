"""The files of an FMU (a zip or a folder): its libraries, and its model description.

`validate`, `explain` and `run` read the same few FMUs. Therefore contents of zips, and results that only depend on the
XML, are cached, up to `KEPT_SIZE` bytes.
"""

import os
import platform
import re
import sys
from collections import OrderedDict
from collections.abc import Callable, Hashable, Set
from functools import cache
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar

from lxml import etree

from ssptool.documents.document import garbage_collection_paused
from ssptool.documents.foreign_files import UNREADABLE_ZIP, ForeignZip, OddEntry, open_bytes, read_bytes, special_kind
from ssptool.documents.generated import parsed_model_description
from ssptool.documents.unchanged import FileMark
from ssptool.fmu.description import Interface

MODEL_DESCRIPTION = "modelDescription.xml"
_RESOURCES = "resources/"
_PYTHON_MARK = f"{_RESOURCES}slavemodule.txt"
"""Entry that only FMUs of pythonfmu and pythonfmu3 have; their own packages are equal in all FMUs."""
_PYTHON_OWN = {"pythonfmu", "pythonfmu3"}
KEPT_SIZE = 64 * 1024 * 1024
"""Maximum size of model descriptions with cached results [bytes]."""

T = TypeVar("T")


class RecentValues(Generic[T]):
    """A cache of recently used values with a total weight up to `KEPT_SIZE`. Thread-safe."""

    def __init__(self) -> None:
        self._values: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._weight = 0
        self._lock = Lock()

    def get(self, key: Hashable) -> T | None:
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: Hashable, value: T, weight: int) -> None:
        with self._lock:
            self._weight += weight - self._values.pop(key, (value, 0))[1]
            self._values[key] = value, weight
            while self._weight > KEPT_SIZE:
                self._weight -= self._values.popitem(last=False)[1][1]


class ZipContents(NamedTuple):
    """`description`: the model description; None if missing or not cached. `odd` are entries with irregular or repeated
    names.
    """

    names: frozenset[str]
    description: bytes | None
    odd: tuple[OddEntry, ...] = ()


def zip_contents(path: Path) -> ZipContents:
    """The present contents of the zip at `path`. Raises as `zipfile.ZipFile`, and OSError."""
    mark = FileMark.told(path.stat())
    key = path, mark, _directory(path) if mark.is_young else b""
    known = _recent_zips.get(key)
    if known is None:
        known = _read_zip_contents(path)
        weight = sum(map(len, known.names)) + len(known.description or b"")
        _recent_zips.put(key, known, weight)
    return known


_recent_zips: RecentValues[ZipContents] = RecentValues()
_END_SIZE = 22 + 65_535
"""Largest size of the end record of a zip [bytes]."""


def _directory(path: Path) -> bytes:
    """The directory of a zip. It contains checksums of all entries, which distinguish two files with the same time
    stamp.
    """
    with open_bytes(path) as file:
        length = file.seek(0, os.SEEK_END)
        file.seek(max(length - _END_SIZE, 0))
        tail = file.read()
        size = int.from_bytes(tail[(at := tail.rfind(b"PK\5\6")) + 12 : at + 16], "little")
        file.seek(max(length - _END_SIZE - size, 0))
        return blake2b(file.read()).digest()


def python_modules(path: Path) -> frozenset[str]:
    """Names of the Python modules and packages in an FMU (a zip, or an unpacked folder) that pythonfmu or pythonfmu3
    imports into the process. Raises as `zip_contents`.
    """
    if path.is_dir():
        if not (path / _PYTHON_MARK).is_file():
            return frozenset()
        names = {file.relative_to(path).as_posix() for file in (path / _RESOURCES).rglob("*.py")}
    elif _PYTHON_MARK not in (names := set(zip_contents(path).names)):
        return frozenset()
    found = {name.removeprefix(_RESOURCES) for name in names if name.startswith(_RESOURCES) and name.endswith(".py")}
    return frozenset(name.partition("/")[0].removesuffix(".py") for name in found) - _PYTHON_OWN


def _read_zip_contents(path: Path) -> ZipContents:
    with ForeignZip(path) as archive:
        names = frozenset(archive.namelist())
        if MODEL_DESCRIPTION not in names or archive.getinfo(MODEL_DESCRIPTION).file_size > KEPT_SIZE:
            return ZipContents(names, None, archive.odd)
        try:
            return ZipContents(names, archive.read(MODEL_DESCRIPTION), archive.odd)
        except UNREADABLE_ZIP:
            return ZipContents(names, None, archive.odd)  # reading it reports the problem


MAXIMUM_SIZE = 256 * 1024 * 1024
"""Maximum size of a model description [bytes], because a zip may hide gigabytes."""


class UnusableXml(Exception):
    """The FMU's file or its XML is unusable; the message is for the user."""


class CachedByContent(Generic[T]):
    """Decorator: function of a model description with cached results.

    Validation, flattening and simulation of a system use the same few FMUs repeatedly.
    """

    def __init__(self, read: Callable[[bytes], T]) -> None:
        self._read = read
        self._recent: RecentValues[T] = RecentValues()

    def __call__(self, content: bytes) -> T:
        known = self._recent.get(content)
        if known is None:
            with garbage_collection_paused():
                known = self._read(content)
            self.remember(content, known)
        return known

    def remember(self, content: bytes, result: T) -> None:
        """Cache a result that another function found."""
        self._recent.put(content, result, len(content))


_VERSION = re.compile(r"[12]\.0(\.\d+)?|3\..+")
"""Versions of FMI. A third number is that of a patch release, which FMUs do not state because it does not change the
format.
"""

_NUMBER = re.compile(r"\d+(\.\d+)?")
_OLDEST = 1.0


def parse_model_description(content: bytes) -> etree._Element:
    """The root element of a model description. External entities, DTDs and the network are never used.

    Raises
    ------
    UnusableXml
        The XML is not well-formed, or not a model description of FMI 1.0, 2.0 or 3.x.
    """
    try:
        root = parsed_model_description(content)
    except etree.XMLSyntaxError as error:
        raise UnusableXml(f"{MODEL_DESCRIPTION}, line {error.lineno}: {error.msg.partition(', line ')[0]}") from error
    if root.getroottree().docinfo.internalDTD is not None:
        raise UnusableXml(f"{MODEL_DESCRIPTION} has a document type declaration, which FMI does not provide for")
    version = root.get("fmiVersion")
    if version is None:
        raise UnusableXml(f"{MODEL_DESCRIPTION} has no attribute fmiVersion at its root <{root.tag}>")
    if not _VERSION.fullmatch(version):
        newer = _NUMBER.match(version)
        what = "is newer than the versions" if newer and float(newer[0]) > _OLDEST else "is none of the versions"
        raise UnusableXml(f'fmiVersion "{version}" {what} that ssptool knows: 1.0, 2.0 and 3.x')
    if root.find("ModelVariables") is None:
        raise UnusableXml(f"{MODEL_DESCRIPTION} has no element ModelVariables")
    return root


def model_description(path: Path) -> bytes:
    """The model description of the FMU (a zip, or an unpacked folder) at `path`.

    Raises
    ------
    UnusableXml
        The file is missing, or has no model description.
    """
    if path.is_dir():
        file = path / MODEL_DESCRIPTION
        if not file.is_file():
            raise UnusableXml(f"the folder holds no {MODEL_DESCRIPTION}")
        return read_bytes(file)
    if (kind := special_kind(path)) is not None:
        raise UnusableXml(f"{kind}, not a file")
    if not path.is_file():
        raise UnusableXml("no such file")
    try:
        if (kept := zip_contents(path).description) is not None:
            return kept
        with ForeignZip(path) as archive:
            size = archive.getinfo(MODEL_DESCRIPTION).file_size
            if size > MAXIMUM_SIZE:
                raise UnusableXml(f"{MODEL_DESCRIPTION} has {size} bytes; at most {MAXIMUM_SIZE} are read")
            return archive.read(MODEL_DESCRIPTION)
    except KeyError:
        raise UnusableXml(f"the archive holds no {MODEL_DESCRIPTION}") from None
    except UNREADABLE_ZIP as error:
        raise UnusableXml(f"not an intact zip archive ({error})") from error


UNREADABLE = (UnusableXml, KeyError, ValueError, OSError)
"""Errors of reading a model description."""


def unreadable_reason(error: Exception) -> str:
    """Reason why a model description is unreadable, from one of the errors of reading it."""
    if isinstance(error, UnusableXml):
        return str(error)
    if isinstance(error, KeyError):
        return f"{MODEL_DESCRIPTION} refers to {error}, which it does not define"
    return f"{MODEL_DESCRIPTION}: {error}"


def source_line(node: etree._Element | None) -> int:
    """The line of an element in modelDescription.xml; 0 if unknown."""
    # lxml's stubs give `sourceline` a type that mypy cannot narrow.
    line: Any = None if node is None else node.sourceline
    return int(line or 0)


BINARIES = "binaries/"
_OF_X86 = frozenset({"amd64", "i386", "i686", "x86", "x86_64", "x86pc"})


class _Platform(NamedTuple):
    """Names of a platform in FMI 1.0 and 2.0, and in 3.0; its architecture; the extension of its libraries."""

    before_fmi3: str
    by_machine: str
    is_x86: bool
    suffix: str


@cache
def _own_platform() -> _Platform:
    """This platform (FMI 2.0.4 §2.3, FMI 3.0 §2.5.1.2)."""
    short, system, suffix = {"win32": ("win", "windows", ".dll"), "darwin": ("darwin", "darwin", ".dylib")}.get(
        sys.platform, ("linux", "linux", ".so")
    )
    bits, machine = (64 if sys.maxsize > 2**32 else 32), platform.machine().lower()
    is_x86 = machine in _OF_X86
    own = {"arm64": "aarch64"}.get(machine, machine)
    architecture = {64: "x86_64", 32: "x86"}[bits] if is_x86 else own
    return _Platform(f"{short}{bits}", f"{architecture}-{system}", is_x86, suffix)


def this_platform(major: int, names: Set[str] = frozenset()) -> str:
    """The name of this platform in an FMI version, such as `linux64` or `x86_64-linux`.

    FMI 1.0 and 2.0 only have names for x86. For other machines, the name of FMI 3.0 is used if `names` contains such
    entries, otherwise that of x86.
    """
    own = _own_platform()
    has_it = not own.is_x86 and any(name.startswith(f"{BINARIES}{own.by_machine}/") for name in names)
    return own.by_machine if major >= 3 or has_it else own.before_fmi3


def library_entry(major: int, identifier: str, names: Set[str] = frozenset()) -> str:
    """Entry of the library for this platform in an FMU with these entries."""
    return f"{BINARIES}{this_platform(major, names)}/{identifier}{_own_platform().suffix}"


def platforms(path: Path, interface: Interface) -> frozenset[str]:
    """The platforms for which an FMU (a zip, or an unpacked folder) has the binary of an interface."""
    try:
        names = fmu_entries(path)
    except UNREADABLE_ZIP:
        return frozenset()
    found = [name for name in names if name.startswith(BINARIES) and name.count("/") == 2]
    return frozenset(name.split("/")[1] for name in found if _is_library_of(name, names, interface))


def misnamed_library(names: Set[str], wanted: str) -> str | None:
    """The only library in the folder of the library `wanted`, if it has another name; otherwise None."""
    folder, suffix = wanted.rpartition("/")[0], Path(wanted).suffix
    beside = [name for name in names if name.rpartition("/")[0] == folder and name.endswith(suffix)]
    return beside[0] if len(beside) == 1 and wanted not in names else None


_SUFFIXES = (".so", ".dll", ".dylib")


def named_library(name: str, names: Set[str], interface: Interface) -> str:
    """Entry of a file; a library with a wrong name gets the name that the interface states."""
    path = Path(name)
    wanted = path.with_name(interface.model_identifier + path.suffix).as_posix()
    is_library = name.startswith(BINARIES) and name.count("/") == 2 and path.suffix in _SUFFIXES
    return wanted if is_library and misnamed_library(names, wanted) == name else name


def _is_library_of(name: str, names: Set[str], interface: Interface) -> bool:
    path = Path(name)
    if path.stem == interface.model_identifier:
        return True
    wanted = path.with_name(interface.model_identifier + path.suffix).as_posix()
    return path.suffix in _SUFFIXES and misnamed_library(names, wanted) is not None


def fmu_entries(path: Path) -> Set[str]:
    """Entries of an FMU: for a zip all entries, for an unpacked folder binaries and sources. Raises as
    `zip_contents`.
    """
    if path.is_dir():
        found = (*path.glob("binaries/*/*"), *path.glob("sources/*"))
        return {file.relative_to(path).as_posix() for file in found}
    return zip_contents(path).names
