"""Confinement of this process to one folder, for servers: paths in documents and arguments must not point outside of
it.

Temporary files of ssptool and the files of the package stay readable.
"""

import tempfile
from pathlib import Path

from ssptool.errors import WrongUsage
from ssptool.working_directory import real

_PACKAGE = Path(__file__).resolve().parent
_confined_to: list[Path] = []


def outside_folder(path: Path | str) -> WrongUsage:
    """A path leads out of the folder to which this process is confined."""
    return WrongUsage(f"{path} lies outside the folder of this server: name a file in that folder")


def confine(folder: Path) -> None:
    """Restrict this process to a folder, for reading and writing, until it ends."""
    _confined_to[:] = [_real(folder)]


def confined_to() -> tuple[Path, ...]:
    """The folder to which this process is confined; empty: to none."""
    return tuple(_confined_to)


def is_outside(path: Path | str) -> bool:
    """Whether a path, all links followed, leads out of the folder; False where the process is not confined."""
    return bool(_confined_to) and not _real(path).is_relative_to(_confined_to[0])


def require_inside(path: Path | str) -> None:
    """Raises WrongUsage."""
    if is_outside(path):
        raise outside_folder(path)


def require_readable(path: Path | str) -> None:
    """Refuse a file outside, but for those of the package and temporary ones of ours. Raises WrongUsage."""
    if not is_outside(path):
        return
    target, temporary = _real(path), _real(tempfile.gettempdir())
    ours = target.is_relative_to(temporary) and target.relative_to(temporary).as_posix().startswith("ssptool-")
    if not ours and not target.is_relative_to(_PACKAGE):
        raise outside_folder(path)


def _real(path: Path | str) -> Path:
    return Path(real(path))
