"""Journals of edits of several files: one that is killed in the middle is completed by whoever looks next.

When everything that an edit writes is on disk, in a temporary folder, a journal there names what takes the place of
what. From then on the edit has happened: if its process is killed, the next one that finds the folder does the rest. An
edit that fails instead is taken back, and its journal says that first.
"""

import filecmp
import json
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ssptool.errors import WrongUsage
from ssptool.foreign_text import strict_json

NAME = "journal"
VERSION = 1
MOST_BYTES = 1 << 26
"""Size of a journal: it may come with a folder of somebody else."""


class InterruptedEdit(WrongUsage):
    """An earlier edit was killed between two of its files, and cannot be completed."""

    def __init__(self, root: Path, reason: str) -> None:
        super().__init__(
            f"an edit of {root} was interrupted, and cannot be completed: {reason}. Until then its files may be of two "
            "versions: open it as a user who may write there; or compare its files with a copy, and remove the hidden "
            "folder .ssptool-held-…"
        )


class FileChange(NamedTuple):
    """One file of an edit, by paths from the folder that is edited.

    `new` is the file that takes the place of `target`, None where that is deleted; `old` is another name of what
    `target` was, None where there was nothing.
    """

    target: str
    new: str | None
    old: str | None


def write_journal(folder: Path, changes: Iterable[FileChange], *, back: bool = False) -> None:
    """Say in a temporary folder of an edited one what the edit does, or that it is taken `back`."""
    content = strict_json({"version": VERSION, "back": back, "changes": list(changes)})
    draft = folder / f"{NAME}.new"
    with draft.open("w", encoding="utf-8") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(folder / NAME)
    sync(folder)


def has_journal(folder: Path) -> bool:
    """Whether a temporary folder has a journal; False also for that of another user, who alone may look into it."""
    return os.path.isfile(folder / NAME)  # noqa: PTH113 (no error of access)


def complete(folder: Path, root: Path) -> None:
    """Do what is left of the edit of `root` that a temporary folder there has a journal of; nothing without one.

    A file that somebody has changed since is left as it is.

    Raises
    ------
    InterruptedEdit
        The journal is damaged, or the files cannot be written.
    """
    if not has_journal(folder):
        return
    try:
        if (folder / NAME).stat().st_size > MOST_BYTES:
            raise ValueError(f"more than {MOST_BYTES} bytes")
        stated = json.loads((folder / NAME).read_text(encoding="utf-8"))
        changes, back = _checked(stated, root), stated["back"] is True
    except (ValueError, KeyError, TypeError, RecursionError) as problem:
        raise InterruptedEdit(root, f"its journal is damaged ({problem})") from None
    try:
        carry_out(root, changes, back=back, again=True)
        (folder / NAME).unlink()
    except OSError as problem:
        raise InterruptedEdit(root, f"{problem.strerror}: {problem.filename}") from problem


def carry_out(root: Path, changes: list[FileChange], *, back: bool = False, again: bool = False) -> None:
    """Make changes, or take them back as far as they have happened; then all of it is on disk.

    `again`: somebody was killed in the middle, so that some are made already, and files may have been changed since.
    Raises OSError, which names the target.
    """
    for change in reversed(changes) if back else changes:
        try:
            if back:
                _take_back(root, change)
            elif not again or _is_to_make(root, change):
                _make(root, change)
        except OSError as problem:
            if problem.errno is None:  # not an error of the disk
                raise
            raise OSError(problem.errno, problem.strerror, str(root / change.target)) from problem
    for parent in dict.fromkeys((root / change.target).parent for change in changes):
        sync(parent)


def sync(folder: Path) -> None:
    """Put the names in a folder on disk, where the system has such a call."""
    if sys.platform == "win32":
        return
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _make(root: Path, change: FileChange) -> None:
    if change.new is None:
        (root / change.target).unlink()
    else:
        (root / change.new).replace(root / change.target)


def _is_to_make(root: Path, change: FileChange) -> bool:
    """Whether a target is what it was before the edit, and what takes its place is still there."""
    target = root / change.target
    if change.new is not None and not os.path.lexists(root / change.new):
        return False
    if change.old is None:
        return not os.path.lexists(target)
    old = root / change.old
    try:
        # Where there are no links, it is a copy.
        return os.path.samestat(os.lstat(old), os.lstat(target)) or filecmp.cmp(old, target, shallow=False)
    except FileNotFoundError:
        return False


def _take_back(root: Path, change: FileChange) -> None:
    target = root / change.target
    if change.old is not None:
        with suppress(FileNotFoundError):  # it has been taken back
            (root / change.old).replace(target)  # between two links to one file, this does nothing
    elif change.new is not None and not os.path.lexists(root / change.new):
        target.unlink(missing_ok=True)


def _checked(stated: Any, root: Path) -> list[FileChange]:
    """The changes of a journal, all of which stay in the edited folder. Raises ValueError."""
    if stated["version"] != VERSION:
        raise ValueError(f"version {stated['version']!r}, expected {VERSION}")
    home, found = root.resolve(), []
    for entry in stated["changes"]:
        change = FileChange(*entry)
        for name in filter(None, change):
            if not (root / name).parent.resolve().is_relative_to(home):
                raise ValueError(f"it names {name!r}, which is outside")
        found.append(change)
    return found
