"""What is in the zip of an FMU: found once, though checking, flattening and running a system all ask for it."""

from collections import OrderedDict
from collections.abc import Hashable
from pathlib import Path
from threading import Lock
from typing import Generic, NamedTuple, TypeVar
from zipfile import BadZipFile, ZipFile
from zlib import error as ZlibError

MODEL_DESCRIPTION = "modelDescription.xml"
_RESOURCES = "resources/"
_PYTHON_MARK = f"{_RESOURCES}slavemodule.txt"
"""In FMUs of pythonfmu and pythonfmu3 only; their own packages are the same in all of them."""
_PYTHON_OWN = {"pythonfmu", "pythonfmu3"}
KEPT_SIZE = 64 * 1024 * 1024
"""Bytes of model descriptions of which the results are remembered: those that were used last."""

T = TypeVar("T")


class Recent(Generic[T]):
    """The values that were used last, as long as they weigh no more than `KEPT_SIZE` together. Threads may share it."""

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


class Packed(NamedTuple):
    """`description`: the model description; None if there is none, or if it has to be read anew for another reason."""

    names: frozenset[str]
    description: bytes | None


def packed(path: Path) -> Packed:
    """What is in the zip at `path` now. Raises as `zipfile.ZipFile`, and OSError."""
    found = path.stat()
    key = path, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
    known = _recent.get(key)
    if known is None:
        known = _packed(path)
        weight = sum(map(len, known.names)) + len(known.description or b"")
        _recent.put(key, known, weight)
    return known


_recent: Recent[Packed] = Recent()


def python_modules(path: Path) -> frozenset[str]:
    """The names of the Python modules and packages that an FMU (a zip, or an unpacked folder) brings and that pythonfmu
    or pythonfmu3 imports into the process. Raises as `packed`.
    """
    if path.is_dir():
        if not (path / _PYTHON_MARK).is_file():
            return frozenset()
        names = {file.relative_to(path).as_posix() for file in (path / _RESOURCES).rglob("*.py")}
    elif _PYTHON_MARK not in (names := set(packed(path).names)):
        return frozenset()
    found = {name.removeprefix(_RESOURCES) for name in names if name.startswith(_RESOURCES) and name.endswith(".py")}
    return frozenset(name.partition("/")[0].removesuffix(".py") for name in found) - _PYTHON_OWN


def _packed(path: Path) -> Packed:
    with ZipFile(path) as archive:
        names = frozenset(archive.namelist())
        if MODEL_DESCRIPTION not in names or archive.getinfo(MODEL_DESCRIPTION).file_size > KEPT_SIZE:
            return Packed(names, None)
        try:
            return Packed(names, archive.read(MODEL_DESCRIPTION))
        except (BadZipFile, EOFError, NotImplementedError, OSError, RuntimeError, ZlibError):
            return Packed(names, None)  # whoever reads it finds out
