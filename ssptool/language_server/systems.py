"""The systems to which the documents in an editor belong, opened with its unsaved texts.

A document below a folder with `SystemStructure.ssd` belongs to that system. In other folders, an `.ssd` is a system by
itself, and an `.ssv`, `.ssm` or `.ssb` belongs to the `.ssd` that refers to it, in its folder or in one above, if there
is one.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from ssptool.api.check import switches_of
from ssptool.documents.archive import DEFAULT_STRUCTURE, LONE_SUFFIXES, Archive
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.storage import STANDARD_FOLDERS
from ssptool.rules.kept import Kept
from ssptool.rules.load import load
from ssptool.rules.runner import CheckedArchive, check_with_fixes, open_checked, report_of_unreadable
from ssptool.rules.selection import Switches

Buffers = Mapping[Path, str]
"""Texts of open documents, by their files."""

SUFFIXES = (".ssd", *LONE_SUFFIXES)
_FOLDERS_SEARCHED = 3
_STRUCTURES_SEARCHED = 20


def is_document(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES


def system_of(path: Path) -> Path:
    """The system to which a document belongs, in the form that `validate` accepts: a folder, an `.ssd`, or the
    document.
    """
    folder = next((above for above in path.parents if (above / DEFAULT_STRUCTURE).is_file()), None)
    while folder is not None and (around := _around(folder)) is not None:
        folder = around
    if folder is not None:
        return folder
    if path.suffix.lower() == ".ssd":
        return path
    return next((structure for structure in _structures_near(path) if path in _files(structure)), path)


def _around(folder: Path) -> Path | None:
    """The system that contains this system, unpacked, in one of its folders."""
    for below, above in zip((folder, *folder.parents), folder.parents, strict=False):
        if below.name in STANDARD_FOLDERS and (above / DEFAULT_STRUCTURE).is_file():
            return above
    return None


def _structures_near(path: Path) -> Iterator[Path]:
    for folder in list(path.parents)[:_FOLDERS_SEARCHED]:
        yield from sorted(folder.glob("*.ssd"))[:_STRUCTURES_SEARCHED]


def _files(structure: Path) -> set[Path]:
    """The files that a structure refers to."""
    try:
        with Archive.open(structure) as archive:
            return {Path(os.path.normpath(structure.parent / file.name)) for file in load(archive).files}
    except (InvalidDocument, OSError):
        return set()


def open_system(system: Path, buffers: Buffers, switches: Switches) -> Archive:
    """A system with the unsaved texts of an editor. Raises the exceptions of `Archive.open`."""
    if system in buffers and not system.exists():
        return Archive.of_unsaved(system, buffers[system].encode())
    archive = open_checked(system, switches.outside, inside=True)
    for path, text in buffers.items():
        entry = archive.entry_of(path)
        content = text.encode()
        if entry is not None and not (archive.has(entry) and without_mark(archive.read(entry)) == content):
            archive.put(entry, content)
    return archive


def without_mark(content: bytes) -> bytes:
    """A file without its byte order mark, which editors do not pass on."""
    return content.removeprefix(b"\xef\xbb\xbf")


def check_system(
    system: Path, buffers: Buffers, kept: Kept | None = None, early: Callable[[CheckedArchive], bool] | None = None
) -> CheckedArchive:
    """Check a system with the unsaved texts of an editor; `kept` and `early` are those of `check_with_fixes`.

    Raises
    ------
    FileNotFoundError
        It is there no longer.
    InvalidSettings
        The settings file has an unknown key or a wrong value.
    """
    switches = switches_of(system)
    try:
        archive = open_system(system, buffers, switches)
    except InvalidDocument as problem:
        return CheckedArchive(report_of_unreadable(system, problem, switches=switches), {})
    with archive:
        return check_with_fixes(archive, switches=switches, kept=kept, early=early)
