"""Unsaved edits in a file next to the system, kept from the first edit on until they are saved."""

import hashlib
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.foreign_files import ArchiveLimits
from ssptool.documents.saving import replaced_atomically
from ssptool.documents.storage import MissingEntry, ZipEntries
from ssptool.errors import UnusableFile, WrongUsage, abbreviated
from ssptool.foreign_text import json_content, strict_json
from ssptool.option_words import Sharing

Files = Mapping[str, bytes | None]

ENDING = ".unsaved"
_CONTENTS = "edits.json"
_METHOD = 1
"""Version of the format."""
_FOLDERS = ("system", "around")


class OtherFiles(WrongUsage):
    """Files were changed on disk after they had been edited in the studio; `names` lists these files."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(f"{abbreviated(names)} is not as it was when you edited it")
        self.names = names


@dataclass(frozen=True, slots=True)
class UnsavedEdits:
    """Contents of edited entries, and of files around the system; as a gesture, it restores the edits.

    `before` are digests of the contents on disk before the edits, by the same names in two folders.
    """

    source: Path
    time: str
    files: Files
    beside: Files
    before: Mapping[str, str]
    sharing: Sharing = Sharing.REFUSE

    @property
    def label(self) -> str:
        return f"open the unsaved edits of {self.time}"

    @property
    def names(self) -> list[str]:
        return sorted({*self.files, *self.beside})

    @classmethod
    def of(cls, source: Path, files: Files, beside: Files, on_disk: Files, around: Files, *, fits: bool = True) -> Self:
        """Present edits, with the contents on disk of the same entries and files, which the edits may no longer fit."""
        before = {name: digest(content) if fits else "other" for name, content in _placed(on_disk, around).items()}
        return cls(source, datetime.now().astimezone().strftime("%Y-%m-%d %H:%M"), files, beside, before)

    def require_same(self, on_disk: Files, around: Files) -> None:
        """Compare the contents on disk with those before the edits. Raises OtherFiles."""
        now = _placed(on_disk, around)
        changed = [name for name, content in now.items() if digest(content) != self.before[name]]
        if changed:
            raise OtherFiles(tuple(name.partition("/")[2] for name in changed))

    def write(self) -> None:
        """Write the file completely or not at all. Raises OSError."""
        contents = _placed(self.files, self.beside)
        removed = [name for name, content in contents.items() if content is None]
        stated = {"method": _METHOD, "time": self.time, "before": self.before, "removed": removed}
        with replaced_atomically(self.source) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
            packed.writestr(_CONTENTS, strict_json(stated, indent=1))
            for name, content in contents.items():
                if content is not None:
                    is_packed = name.lower().endswith((".fmu", ".ssp"))
                    packed.writestr(name, content, zipfile.ZIP_STORED if is_packed else None)

    @classmethod
    def read(cls, source: Path) -> Self:
        """Edits from a file. Raises UnusableFile, OSError."""
        try:
            entries = ZipEntries(source, ArchiveLimits())
            try:
                stated = json_content(entries.read(_CONTENTS).decode())
                return cls._of_content(source, stated, {name: entries.read(name) for name in entries.names()})
            finally:
                entries.close()
        except (InvalidDocument, MissingEntry, ValueError, TypeError, KeyError, AttributeError) as problem:
            reason = f"it is not a file of unsaved edits of this version of ssptool ({problem})"
            raise UnusableFile(source.name, reason) from None

    @classmethod
    def _of_content(cls, source: Path, stated: Any, contents: dict[str, bytes | None]) -> Self:
        if stated["method"] != _METHOD:
            raise ValueError(f"format {stated['method']}")
        del contents[_CONTENTS]
        contents |= dict.fromkeys(map(str, stated["removed"]))
        before = {str(name): str(value) for name, value in stated["before"].items()}
        if before.keys() != contents.keys():
            raise ValueError("its list of files is another one")
        files, beside = (
            {name.partition("/")[2]: content for name, content in contents.items() if name.partition("/")[0] == folder}
            for folder in _FOLDERS
        )
        return cls(source, str(stated["time"]), files, beside, before)


def _placed(files: Files, beside: Files) -> dict[str, bytes | None]:
    """Entries, and files around the system, each in their own folder."""
    return {
        f"{folder}/{name}": one
        for folder, each in zip(_FOLDERS, (files, beside), strict=True)
        for name, one in each.items()
    }


def digest(content: bytes | None) -> str:
    return "" if content is None else hashlib.sha256(content).hexdigest()


def found_next_to(system: Path) -> Iterator[Path]:
    """Files of unsaved edits of a system, in order."""
    folder = system.absolute().parent
    pattern = re.compile(re.escape(system.name + ENDING) + r"(-\d+)?")
    if folder.is_dir():
        found = [file for file in folder.iterdir() if pattern.fullmatch(file.name) and file.is_file()]
        yield from sorted(found, key=lambda file: (len(file.name), file.name))


def free_file(system: Path, folder: Path) -> Path:
    """A file name that does not exist yet."""
    base, number = folder / (system.name + ENDING), 2
    file = base
    while file.exists():
        file, number = base.with_name(f"{base.name}-{number}"), number + 1
    return file
