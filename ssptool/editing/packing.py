"""Pack a folder into an .ssp file, and unpack it."""

import os
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from ssptool.documents import ssd
from ssptool.documents.archive import Archive, AtomicReplacement
from ssptool.documents.uri import unsafe
from ssptool.editing.add import implementation_of, state_types
from ssptool.editing.changes import EditError
from ssptool.fmu.read_description import read_description

SUFFIX = ".ssp"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file or folder that does not go into a package, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Packed:
    """A package that was written: its files, in order, and what of the folder is not in it."""

    path: Path
    names: tuple[str, ...]
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A folder that was written: its files, and those that were in it before and are in no package."""

    folder: Path
    names: tuple[str, ...]
    kept: tuple[str, ...]


def leave_out(archive: Archive) -> tuple[LeftOut, ...]:
    """Take out of the archive of a folder what is there for its authors, not for its users.

    That is a `README.md` beside the structures, and all hidden files, such as those of a version control system.

    Raises
    ------
    EditError
        There are files that no package can hold; all are named.
    """
    folder = archive.path
    if problems := sorted(_impossible(folder, archive.names())):
        raise EditError(f"{folder} cannot be packed:\n" + "\n".join(f"  {problem}" for problem in problems))
    left_out: dict[str, str] = {}
    for name in archive.names():
        if (hidden := _hidden(name)) is not None:
            archive.remove(name)
            left_out[hidden] = "hidden"
        elif name == "README.md":
            archive.remove(name)
            left_out[name] = "about the folder, not of the system"
    return tuple(LeftOut(name, reason) for name, reason in sorted(left_out.items()))


def write_package(archive: Archive, target: Path) -> tuple[str, ...]:
    """Write an archive as a zip, equal for equal files whenever it is done; returns the names of its files.

    Raises
    ------
    EditError
        `target` is not the name of a package, or is in the folder, or the package would be too large for SSP.
    """
    if target.suffix.lower() != SUFFIX or target.is_dir():
        raise EditError(f"{target} is no name for a package: choose one that ends in {SUFFIX}")
    if archive.path.resolve() in target.resolve().parents:
        raise EditError(f"{target} is inside the folder that is packed: choose a place outside {archive.path}")
    try:
        archive.save(target)
    except zipfile.LargeZipFile:
        raise EditError(
            f"{archive.path} is too large: a package has at most 4 GiB and 65535 files (SSP 2.0 §3, no ZIP64)"
        ) from None
    return archive.names()


def unpack_package(archive: Archive, folder: Path, *, force: bool) -> Unpacked:
    """Write the files of a package into a folder, all of them or none.

    With `force` the folder may have files; those of the package replace them, others stay.

    Raises
    ------
    FileExistsError
        There is a file of that name, or the folder is not empty.
    EditError
        A link in the folder leads out of it, and a file would be written through it.
    """
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{folder} is a file: choose another folder")
    before = tuple(_files(folder))
    if before and not force:
        raise FileExistsError(f"{folder} is not empty: choose another folder, empty it, or use --force")
    names = archive.names()
    for name in names:
        _stay_inside(folder, name)
    with AtomicReplacement() as files:
        for name in names:
            files.write(folder / name, archive.local_path(name))
    return Unpacked(folder, names, tuple(sorted(set(before) - set(names))))


def _files(folder: Path) -> Iterator[str]:
    for parent, _, files in os.walk(folder):
        yield from ((Path(parent) / file).relative_to(folder).as_posix() for file in files)


def _impossible(folder: Path, names: tuple[str, ...]) -> Iterator[str]:
    """Why files cannot be in a package; hidden ones are not wanted there."""
    for name in names:
        if _hidden(name) is not None:
            continue
        if reason := unsafe(name):
            yield f"{name!r}: the name {reason}"
        elif any("\ud800" <= character <= "\udfff" for character in name):  # how Python shows other bytes
            yield f"{name!r}: the name is not UTF-8"
        elif not (folder / name).is_file():
            yield f"{name!r}: {'a link that leads nowhere' if (folder / name).is_symlink() else 'no regular file'}"
    for parent, folders, _ in os.walk(folder):
        for each in folders:
            path = Path(parent) / each
            name = path.relative_to(folder).as_posix()
            if path.is_symlink() and _hidden(name) is None:
                yield f"{name!r}: a link to a folder; copy the folder"


def _hidden(name: str) -> str | None:
    """The outermost hidden file or folder in a path; None if there is none."""
    parts = name.split("/")
    return next(("/".join(parts[: depth + 1]) for depth, part in enumerate(parts) if part.startswith(".")), None)


def _stay_inside(folder: Path, name: str) -> None:
    target = (folder / name).resolve()
    if folder.resolve() not in target.parents:
        raise EditError(f"{folder / name} is or goes through a link that leads out of {folder}: remove the link")


def complete(archive: Archive) -> Iterator[str]:
    """State in a generated structure what its FMUs say of types; notes on what cannot be carried over."""
    root = archive.structure().structure
    for component in root.every(ssd.Component):
        source = component.source or ""
        entry = unquote(source)
        if "://" in source:
            yield f"{component.name}: the source {source} stays as it is; no FMU is packed"
        elif not archive.has(entry):
            yield f"{component.name}: the FMU {entry} is not there: it is not packed, and connectors have no types"
        else:
            description = read_description(archive.local_path(entry))
            component.implementation = implementation_of(description)
            state_types(component, description, root)
