"""Pack a folder into an .ssp file, unpack it, and manage the variants of a package."""

import os
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from ssptool.documents import ssd
from ssptool.documents.archive import DEFAULT_STRUCTURE, Archive, UnresolvableUri
from ssptool.documents.aside import aside, hidden
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.document import Document
from ssptool.documents.saving import AtomicReplacement, stay_inside
from ssptool.documents.uri import unportable_names, unsafe
from ssptool.editing.changes import EditError, FileEdit, RefusedEdit
from ssptool.editing.interface import implementation_of, state_types
from ssptool.fmu.read_description import read_description
from ssptool.foreign_text import joined_lines
from ssptool.tempfiles import settle

SUFFIX = ".ssp"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file or folder that is left out of a package, with the reason."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Packed:
    """A package that was written: its files, in order, and the omitted files of the folder."""

    path: Path
    names: tuple[str, ...]
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A folder that was written: its files, and previous files that do not belong to the package."""

    folder: Path
    names: tuple[str, ...]
    kept: tuple[str, ...]


def leave_out(archive: Archive) -> tuple[LeftOut, ...]:
    """Remove files from the archive of a folder that are for its authors only; see `aside`.

    Raises
    ------
    RefusedEdit
        A package cannot contain some files; the message lists all of them.
    """
    if problems := sorted(_impossible(archive)):
        listed = joined_lines(f"  {problem}" for problem in problems)
        raise RefusedEdit(f"{archive.path} cannot be packed:\n{listed}", problems)
    left_out: dict[str, str] = {}
    for name, reason in aside(archive).items():
        archive.remove(name)
        left_out[hidden(name) or name] = reason
    return tuple(LeftOut(name, reason) for name, reason in sorted(left_out.items()))


def write_package(archive: Archive, target: Path) -> tuple[str, ...]:
    """Write an archive as a zip, identical for equal files at any time; returns the names of its files.

    Raises
    ------
    EditError
        `target` is not the name of a package, or is in the folder, or the package would be too large for SSP.
    """
    if target.suffix.lower() != SUFFIX or target.is_dir():
        raise EditError(f"{target} is not a name for a package: choose one that ends in {SUFFIX}")
    if archive.path.resolve() in target.resolve().parents:
        raise EditError(f"{target} is inside the folder that is packed: choose a place outside {archive.path}")
    try:
        archive.save(target)
    except zipfile.LargeZipFile:
        raise EditError(
            f"{archive.path} is too large: a package has at most 4 GiB and 65535 files (SSP 2.0 §3, no ZIP64)"
        ) from None
    return archive.names()


def unpack_package(archive: Archive, folder: Path, *, force: bool, portable: bool) -> Unpacked:
    """Write the files of a package into a folder, all of them or none.

    With `force`, the folder may contain files; those of the package overwrite them, others stay. With `portable`, all
    names must be valid on Linux, macOS and Windows.

    Raises
    ------
    RefusedEdit
        With `portable`: some names are invalid; the message lists all of them.
    FileExistsError
        A file with this name exists, or the folder is not empty.
    WrongUsage
        A link in the folder points outside, and a file would be written through it.
    """
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{folder} is a file: choose another folder")
    settle(folder)  # somebody may have been killed who wrote it
    before = tuple(_files(folder))
    if before and not force:
        raise FileExistsError(f"{folder} is not empty: choose another folder, empty it, or use --force")
    names = archive.names()
    if portable and (found := [f"  {name!a}: the name {reason}" for name, reason in unportable_names(names)]):
        raise RefusedEdit(
            f"{archive.path} has names that not every system can hold, and is not unpacked:\n{joined_lines(found)}\n"
            "rename these files and pack again, or unpack without --portable",
            found,
        )
    for name in names:
        stay_inside(folder, name)
    with AtomicReplacement(folder) as files:
        for name in names:
            files.write(folder / name, archive.local_path(name))
    return Unpacked(folder, names, tuple(sorted(set(before) - set(names))))


def _files(folder: Path) -> Iterator[str]:
    for parent, _, files in os.walk(folder):
        yield from ((Path(parent) / file).relative_to(folder).as_posix() for file in files)


def _impossible(archive: Archive) -> Iterator[str]:
    """Reasons against files in a package; hidden files are skipped."""
    folder = archive.path
    leading_out = {link.name: link.target for link in archive.links_out()}
    for name in archive.names():
        if hidden(name) is not None:
            continue
        if target := leading_out.get(name):
            yield f"{name!r}: a link that points outside the folder, to {target}; put a copy of the file in its place"
        elif reason := unsafe(name):
            yield f"{name!r}: the name {reason}"
        # Such characters are Python's representation of other bytes.
        elif any("\ud800" <= character <= "\udfff" for character in name):
            yield f"{name!r}: the name is not UTF-8"
        elif not (folder / name).is_file():
            yield f"{name!r}: {'a link without a target' if (folder / name).is_symlink() else 'no regular file'}"
    for parent, folders, _ in os.walk(folder):
        for each in folders:
            path = Path(parent) / each
            name = path.relative_to(folder).as_posix()
            if path.is_symlink() and hidden(name) is None:
                yield f"{name!r}: a link to a folder; copy the folder"


def complete(archive: Archive) -> Iterator[str]:
    """Copy the types of FMUs to a generated structure. Return notes on content that cannot be copied."""
    root = archive.structure().structure
    for component in root.every(ssd.Component):
        source = component.source or ""
        entry = unquote(source)
        if "://" in source:
            yield f"{component.name}: the source {source} stays as it is; no FMU is packed"
        elif not archive.has(entry):
            yield f"{component.name}: the FMU {entry} does not exist: it is not packed, and connectors have no types"
        else:
            description = read_description(archive.local_path(entry))
            component.implementation = implementation_of(description)
            state_types(component, description, root)


_NOT_PORTABLE = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class VariantEdit:
    """Notes on an edit of the variants, and the files that it changes."""

    notes: tuple[str, ...]
    files: tuple[FileEdit, ...]


def add_variant(archive: Archive, name: str, *, like: str | None = None, file: str | None = None) -> VariantEdit:
    """Copy the variant `like` (default: the default variant) under another name, in memory.

    Parameters
    ----------
    file
        File of the new variant at the root of the package (default: NAME.ssd).

    Raises
    ------
    EditError
        The name is empty or taken, or the file is.
    UnknownName
        The variant `like` does not exist.
    """
    _require_package(archive)
    original = archive.structure(like)
    if not name.strip():
        raise EditError("the name of a variant must not be empty")
    for variant in archive.variants():
        if variant.root.get("name") == name:
            raise EditError(f"{variant.name} is called {name!r} already: the names of variants must differ")
    file = _free_file(archive, name) if file is None else _checked_file(archive, file)
    copy = Document(file, archive.content(original.name))
    copy.root.set("name", name)
    archive.put(file, copy.to_bytes())
    return _edit(archive, f"{file}: the variant {name!r}, a copy of {_title(original)}")


def remove_variant(archive: Archive, variant: str) -> VariantEdit:
    """Remove a variant, in memory; the files that it refers to are kept.

    Raises
    ------
    EditError
        It is the default variant.
    UnknownName
        The variant does not exist.
    """
    _require_package(archive)
    document = archive.structure(variant)
    if document.name == archive.default:
        others = [_title(each) for each in archive.variants() if each.name != archive.default]
        advice = f"make another one the default first: {', '.join(others)}" if others else "it is the only one"
        raise EditError(f"{_title(document)} is the default and cannot be removed; {advice}")
    note = f"{document.name}: the variant {_title(document)} is gone; the files that it refers to stay"
    archive.remove(document.name)
    return _edit(archive, note)


def set_default(archive: Archive, variant: str) -> VariantEdit:
    """Make a variant the `SystemStructure.ssd`, in memory; the file of the previous default gets the name of its
    variant.

    References of components to one of the two files are updated.

    Raises
    ------
    UnknownName
        The variant does not exist.
    """
    _require_package(archive)
    chosen, former = archive.structure(variant), archive.structure()
    if chosen is former:
        return _edit(archive, f"{_title(chosen)} is the default already")
    stem = former.root.get("name", "")
    moved = {chosen.name: DEFAULT_STRUCTURE, former.name: _free_file(archive, stem, instead_of=chosen.name)}
    followed = list(_follow(archive, moved))
    contents = {new: archive.content(old) for old, new in moved.items()}
    archive.remove(chosen.name)
    for name, content in contents.items():
        archive.put(name, content)
    return _edit(
        archive,
        f"{DEFAULT_STRUCTURE}: {_title(chosen)}, which was {chosen.name}",
        f"{moved[former.name]}: {_title(former)}, which was {DEFAULT_STRUCTURE}",
        *followed,
    )


def _follow(archive: Archive, moved: dict[str, str]) -> Iterator[str]:
    """Update the sources of components that refer to a moved file."""
    for name in archive.names():
        if not name.lower().endswith(".ssd"):
            continue
        try:
            document = archive.document(name)
        except InvalidDocument:
            continue  # unreadable files are not changed; rules report them
        for component in document.root.every(ssd.Component):
            source = component.get("source", "")
            target = _resolved(archive, name, source)
            if target in moved and not source.startswith("#"):
                _, hash_, fragment = source.partition("#")
                component.set("source", "../" * name.count("/") + quote(moved[target]) + hash_ + fragment)
                yield f"{moved.get(name, name)}: the component {component.get('name')!r} follows to {moved[target]}"


def _resolved(archive: Archive, base: str, source: str) -> str:
    try:
        return archive.resolve(base, source) if source else ""
    except UnresolvableUri:
        return ""


def _require_package(archive: Archive) -> None:
    if archive.default != DEFAULT_STRUCTURE or (archive.path.suffix.lower() == ".ssd" and archive.path.is_file()):
        raise EditError(f"{archive.path} is one SSD: variants are in packages, so give the .ssp or the folder")


def _checked_file(archive: Archive, file: str) -> str:
    if reason := unsafe(file):
        raise EditError(f"{file!r} cannot be a file of a package: it {reason}")
    if "/" in file or not file.lower().endswith(".ssd"):
        raise EditError(f"{file!r} cannot be a variant: variants are at the root of the package and end in .ssd")
    if file.lower() in {name.lower() for name in archive.names()}:
        raise EditError(f"the package has a file {file} already")
    return file


def _free_file(archive: Archive, name: str, instead_of: str = "") -> str:
    """A free file name for a variant, with characters that every system supports."""
    taken = {each.lower() for each in archive.names()} - {instead_of.lower()}
    stem = _NOT_PORTABLE.sub("_", name).strip("._") or "Variant"
    number, file = 1, f"{stem}.ssd"
    while file.lower() in taken:
        number += 1
        file = f"{stem}_{number}.ssd"
    return file


def _title(document: Document) -> str:
    return repr(document.root.get("name", document.name))


def _edit(archive: Archive, *notes: str) -> VariantEdit:
    files = tuple(
        FileEdit(
            edit.name,
            archive.on_disk(edit.name),
            archive.content(edit.name) if edit.exists else None,
        )
        for edit in archive.edits()
    )
    return VariantEdit(notes, files)
