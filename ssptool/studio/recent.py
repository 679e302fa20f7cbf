"""Folders with FMUs that were used recently, over all sessions: those around opened systems."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ssptool.documents.saving import save_file
from ssptool.editing.draft import RESOURCES
from ssptool.foreign_text import json_content, json_text

MOST_FOLDERS = 8
MOST_FILES = 200
"""Largest number of FMUs of one folder that are offered."""


def _kept() -> Path:
    """The file with the list of folders, which may be deleted at any time."""
    base = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return base / "ssptool" / "recent_folders.json"


def _read() -> list[Path]:
    """The folders of the list; a list that cannot be read is empty."""
    try:
        listed = json_content(_kept().read_bytes())
    except (OSError, ValueError):
        return []
    return [Path(one) for one in listed if isinstance(one, str)] if isinstance(listed, list) else []


def _around(system: Path) -> tuple[Path, ...]:
    """The folders of a system in which FMUs are found by name."""
    place = system.absolute()
    return (place / RESOURCES, place.parent) if place.is_dir() else (place.parent / RESOURCES, place.parent)


def _fmus(folder: Path) -> Iterator[Path]:
    with suppress(OSError):
        yield from sorted(file for file in folder.iterdir() if file.suffix.lower() == ".fmu" and file.is_file())


def remember_folders(system: Path) -> None:
    """Put the folders of a system that have FMUs at the start of the list; if it cannot be written, nothing is."""
    used = [folder for folder in _around(system) if next(_fmus(folder), None) is not None]
    folders = list(dict.fromkeys([*used, *_read()]))[:MOST_FOLDERS]
    with suppress(OSError):
        _kept().parent.mkdir(parents=True, exist_ok=True)
        save_file(_kept(), json_text([str(one) for one in folders]))


def recent_fmus(system: Path) -> list[Path]:
    """The FMUs of the listed folders, the folder used last first, without those in the system itself."""
    inside, around = _around(system)
    own = None if system.suffix.lower() == ".ssp" and system.is_file() else inside
    folders = dict.fromkeys([around, *_read()])
    return [file for folder in folders if folder != own for file in [*_fmus(folder)][:MOST_FILES]]
