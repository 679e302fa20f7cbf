"""Files of a system that its runs use, and whether they are still the files of an earlier run."""

import hashlib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from ssptool.documents.archive import DEFAULT_STRUCTURE, Archive
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.foreign_files import open_bytes
from ssptool.documents.outside import never_read, out_of_reach
from ssptool.documents.storage import NESTING_MARK
from ssptool.documents.uri import UP
from ssptool.fmu.description import UnreadableFmu
from ssptool.network.tree import fmu_entry
from ssptool.rules.load import load


def sha256(file: Path) -> str:
    """Raises OSError, SpecialFile."""
    with open_bytes(file) as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def beyond_reach(file: Path, folder: Path, allowed: Iterable[Path] = (), known: Container[str] = ()) -> bool:
    """Whether results in a folder may not name a file that is read to repeat their run.

    They may name what is not `out_of_reach`, and files whose SHA-256 is `known` from the run: the author of the
    results knew their contents.
    """
    return out_of_reach(file, folder, allowed) and (never_read(file) or not file.is_file() or sha256(file) not in known)


def system_beyond_reach(
    system: Path, variant: str | None, folder: Path, allowed: Sequence[Path] = (), known: Container[str] = ()
) -> bool:
    """Whether results in a folder may not name this system (see `beyond_reach`): its runs use a file that is not known
    from the run, or it cannot be read.

    Parameters
    ----------
    variant
        Variant of the run; None: the default variant.
    """
    if not out_of_reach(system, folder, allowed):
        return False
    if never_read(system) or not system.exists():
        return True
    try:
        with Archive.open(system, outside=allowed) as archive:
            used = used_entries(archive, system, archive.structure(variant).name)
            files = {name: one for name, one in system_files(archive, system, used) if is_used(name, used)}
            return any(hashlib.sha256(content).hexdigest() not in known for _, content in contents(files))
    except (InvalidDocument, UnreadableFmu, OSError, LookupError, ValueError):
        return True


def used_entries(archive: Archive, system: Path, structure: str | None) -> set[str]:
    """Entries that runs read: documents of a structure (None: of all variants), FMUs, tables; of a nested package its
    file.
    """
    if archive.is_fmu:
        return {name for name, _ in system_files(archive, system, ())}
    package = load(archive, structure)
    needed = {fmu_entry(archive, entry) for structure in package.structures for entry in structure.fmu_files}
    needed |= {file.name for file in package.files}
    needed |= {entry for structure in package.structures for entry in structure.tables()}
    needed |= {DEFAULT_STRUCTURE} if archive.is_generated else set()
    return {name.partition(NESTING_MARK)[0] for name in needed}


def is_used(name: str, used: Container[str]) -> bool:
    """Whether it is one of these entries, or in one that is a folder."""
    return name in used or any(str(folder) in used for folder in PurePosixPath(name).parents)


def system_files(archive: Archive, system: Path, used: Iterable[str]) -> Iterator[tuple[str, Path | bytes]]:
    """Files by name: the entries of the archive, and what lies around it; of a lone SSD what that needs; of an FMU the
    FMU; of a system of another format its structure and its FMUs.
    """
    if archive.is_fmu:
        yield from ((name, archive.local_path(name)) for name in archive.names() if name != archive.default)
        return
    if archive.is_generated:
        yield DEFAULT_STRUCTURE, archive.structure().to_bytes()
        yield from ((name, archive.local_path(name)) for name in archive.names() if name != archive.default)
        return
    lone = system.suffix.lower() == ".ssd"
    names = {*archive.names(), *(name for name in used if lone or name.startswith(UP))}
    for name in sorted(names):
        yield name, archive.local_path(name)


def contents(files: Mapping[str, Path | bytes]) -> Iterator[tuple[str, bytes]]:
    """Contents of files, and of the files in folders (FMUs may be unpacked)."""
    for name, one in files.items():
        if isinstance(one, bytes):
            yield name, one
        elif one.is_dir():
            inside = (file for file in one.rglob("*") if file.is_file())
            yield from ((f"{name}/{file.relative_to(one).as_posix()}", file.read_bytes()) for file in inside)
        else:
            yield name, one.read_bytes()
