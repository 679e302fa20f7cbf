"""The variants of a package: the SSDs at its root, of which `SystemStructure.ssd` is the default."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from ssptool.documents import ssd
from ssptool.documents.archive import DEFAULT_STRUCTURE, Archive, UnresolvableUri
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.document import Document
from ssptool.documents.uri import unsafe
from ssptool.editing.changes import EditError, FileEdit

_NOT_PORTABLE = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class VariantEdit:
    """What an edit of the variants did, in words, and which files it changes."""

    notes: tuple[str, ...]
    files: tuple[FileEdit, ...]


def add_variant(archive: Archive, name: str, *, like: str | None = None, file: str | None = None) -> VariantEdit:
    """Copy a variant (`like`; else the default) under another name, in memory.

    Parameters
    ----------
    file
        Of the new variant, at the root of the package; else called after the name.

    Raises
    ------
    EditError
        The name is empty or taken, or the file is.
    UnknownVariant
        There is no variant `like`.
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
    """Take a variant away, in memory; the files that it refers to stay.

    Raises
    ------
    EditError
        It is the default.
    UnknownVariant
        There is no such variant.
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
    """Make a variant the `SystemStructure.ssd`, in memory; the one that was gets a file called after its name.

    Components of the package that refer to one of the two files follow.

    Raises
    ------
    UnknownVariant
        There is no such variant.
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
    """Change the sources of components that lead to a file that moves."""
    for name in archive.names():
        if not name.lower().endswith(".ssd"):
            continue
        try:
            document = archive.document(name)
        except InvalidDocument:
            continue  # Not read, so not changed; the rules say what is wrong with it.
        for component in document.root.iter(ssd.Component.qualified_name):
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
    """A file that is called after a variant, in letters that every system can write."""
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
            archive.before(edit.name) if edit.existed else None,
            archive.content(edit.name) if edit.exists else None,
        )
        for edit in archive.edits()
    )
    return VariantEdit(notes, files)
