"""What is in the zip of an FMU: found once, though checking, flattening and running a system all ask for it."""

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile, ZipFile
from zlib import error as ZlibError

MODEL_DESCRIPTION = "modelDescription.xml"
KEPT, KEPT_SIZE = 32, 1024 * 1024
"""Of so many FMUs this is remembered, and of none whose model description has more bytes."""


class Packed(NamedTuple):
    """`description`: the model description; None if there is none, or if it has to be read anew for another reason."""

    names: frozenset[str]
    description: bytes | None


def packed(path: Path) -> Packed:
    """What is in the zip at `path` now. Raises as `zipfile.ZipFile`, and OSError."""
    found = path.stat()
    return _packed(path, (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns))


@lru_cache(KEPT)
def _packed(path: Path, _identity: tuple[int, ...]) -> Packed:
    with ZipFile(path) as archive:
        names = frozenset(archive.namelist())
        if MODEL_DESCRIPTION not in names or archive.getinfo(MODEL_DESCRIPTION).file_size > KEPT_SIZE:
            return Packed(names, None)
        try:
            return Packed(names, archive.read(MODEL_DESCRIPTION))
        except (BadZipFile, EOFError, NotImplementedError, OSError, RuntimeError, ZlibError):
            return Packed(names, None)  # whoever reads it finds out
