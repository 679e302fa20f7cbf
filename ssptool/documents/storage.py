"""Entries of an archive: in a zip, in a folder or next to a lone SSD, with unsaved edits, and in nested packages.

An entry of a nested package has a name like `resources/sub.ssp!SystemStructure.ssd`. An FMU is also a zip, so that
`resources/A.fmu!modelDescription.xml` is the name of an entry. If the package itself has an entry with `!` in its name,
the name means that entry.
"""

import os
import stat
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import NamedTuple, Protocol

from ssptool.confinement import is_outside
from ssptool.documents.diagnostics import Diagnostic, InvalidDocument, Position, error
from ssptool.documents.foreign_files import (
    UNREADABLE_ZIP,
    ArchiveLimits,
    ForeignZip,
    OddEntry,
    exceeded,
    leads_out,
    links_below,
    open_bytes,
    plain_name,
    read_bytes,
)
from ssptool.documents.outside import around, below, of_the_kernel
from ssptool.documents.saving import EntryContent, FileState
from ssptool.documents.uri import UP, unsafe, without_ups
from ssptool.tempfiles import TemporaryFolder
from ssptool.working_directory import absolute, copied_from, forget_copies, real, shown

STANDARD_FOLDERS = ("resources", "documentation", "extra")
# The end record of a zip has 22 bytes and a comment of at most 65 535.
_LONGEST_END = 22 + 65_535


class EntryFacts(NamedTuple):
    """Facts of an entry from the directory of a zip.

    `raw` are the bytes of its name, `utf8` is true if they are declared as UTF-8 (flag bit 11), `needs` is ten times
    the version of the zip specification that is needed to read it.
    """

    name: str
    raw: bytes
    utf8: bool
    needs: int
    comment: bytes


class ZipFacts(NamedTuple):
    """Facts from the directory of a zip; `disks` are the numbers of all mentioned disks, {0} for a single file; `odd`
    are entries whose names are not plain, and repeated ones.
    """

    entries: tuple[EntryFacts, ...]
    disks: frozenset[int]
    comment: bytes
    odd: tuple[OddEntry, ...]


class MissingEntry(LookupError):
    """The archive has no entry of this name."""

    def __init__(self, name: str, archive: Path) -> None:
        super().__init__(f"{archive} has no entry {name!r}")
        self.name = name
        self.archive = archive

    def __str__(self) -> str:
        return str(self.args[0])


class Entries(Protocol):
    """Files by name; names have forward slashes and are relative to the root of the archive.

    `local_path` also accepts the name of a folder, such as that of an unpacked FMU.
    """

    def names(self) -> tuple[str, ...]: ...
    def has(self, name: str) -> bool: ...
    def read(self, name: str) -> bytes: ...
    def local_path(self, name: str) -> Path: ...
    def close(self) -> None: ...


class LinkOut(NamedTuple):
    """A link in an archive, by its name there, that points to `target` outside of its folder."""

    name: str
    target: Path

    def diagnostic(self) -> Diagnostic:
        message = f"the link points outside the folder, to {self.target}"
        advice = "put a copy of the file in the place of the link; or allow its folder with --allow-outside"
        return error("PKG-101", Position(self.name), message, advice)


class FolderEntries:
    """An unpacked archive; with `lone`, only that SSD, the standard folders and files that are accessed by name.

    A link is read only if it points into the folder itself, or into the folders `allowed`. The lone SSD may be a link
    to any location, because the user chose it.
    """

    def __init__(self, base: Path, lone: str | None = None, allowed: Sequence[Path] = ()) -> None:
        self.base = absolute(base)
        self._shown = base
        self.lone = lone
        self._allowed = tuple(real(path) for path in allowed if not is_outside(path))
        self.asked: set[str] = set()
        """Names that a lone SSD has accessed; a folder contains all its entries."""
        self._known: dict[str, bool] | None = None
        self._plain: dict[str, os.stat_result] = {}
        self._names: tuple[str, ...] | None = None
        self._folders: dict[str, str | None] = {}

    @contextmanager
    def looked_up_once(self) -> Iterator[None]:
        """Context in which the file system is queried once about each file and folder, for many reads of files that are
        not written at the same time.
        """
        if self._known is not None:
            yield
            return
        self._known = {}
        try:
            yield
        finally:
            self._known = self._names = None
            self._plain.clear()
            self._folders.clear()

    def names(self) -> tuple[str, ...]:
        if self._known is None:
            return self._listed()
        if self._names is None:
            self._names = self._listed()
        return self._names

    def _listed(self) -> tuple[str, ...]:
        if self.lone is None:
            return tuple(sorted(self._below("")))
        below = (name for folder in STANDARD_FOLDERS for name in self._below(folder))
        return (self.lone, *sorted(below))

    def has(self, name: str) -> bool:
        if self._known is None:
            return self._is_file(name)
        if name not in self._known:
            self._known[name] = self._is_file(name)
        return self._known[name]

    def _is_file(self, name: str) -> bool:
        if unsafe(name) is not None:
            return False
        if self.lone is not None:
            self.asked.add(name)
        path = f"{self.base}/{name}"
        try:
            found = os.lstat(path)  # called a hundred thousand times; returns immediately that it is not a link
        except (OSError, ValueError):
            return False
        if stat.S_ISREG(found.st_mode):
            if self._known is not None:
                self._plain[name] = found
            return True
        return stat.S_ISLNK(found.st_mode) and os.path.isfile(path)  # noqa: PTH113

    def read(self, name: str) -> bytes:
        return read_bytes(self.local_path(name))

    def local_path(self, name: str) -> Path:
        """Path of an entry. Raises MissingEntry, or InvalidDocument (PKG-101) for a link that points outside of the
        folder.
        """
        path = self.base / name
        is_folder = not self.has(name)
        if is_folder and (unsafe(name) is not None or not path.is_dir()):
            raise MissingEntry(name, self._shown)
        if name != self.lone:
            self._stay_inside(name)
        for link in links_below(path) if is_folder else ():
            self._stay_inside(link.relative_to(self.base).as_posix())
        return path

    def state(self, name: str) -> FileState | None:
        """Facts for detecting a later change of a file; None if it is not a file.

        Raises InvalidDocument (PKG-101) for a link that points outside of the folder.
        """
        if not self.has(name):
            return None
        if name != self.lone:
            self._stay_inside(name)
        known = self._plain.get(name)
        return FileState.of(f"{self.base}/{name}") if known is None else FileState.told(known)

    def links_out(self) -> Iterator[LinkOut]:
        """Links that point outside of the folder, sorted by name; hidden ones do not belong to a package."""
        folders = [self.base] if self.lone is None else [self.base / folder for folder in STANDARD_FOLDERS]
        links = [path for folder in folders for path in links_below(folder)]
        links += [folder for folder in folders if folder != self.base and folder.is_symlink()]
        names = (path.relative_to(self.base).as_posix() for path in links)
        names = (name for name in names if not any(part.startswith(".") for part in name.split("/")))
        yield from (link for name in sorted(names) if (link := self._link_out(name)) is not None)

    def close(self) -> None:
        """Do nothing, because a folder needs no closing."""

    def _stay_inside(self, name: str) -> None:
        if (link := self._link_out(name)) is not None:
            raise InvalidDocument(link.diagnostic())

    def _link_out(self, name: str) -> LinkOut | None:
        path = f"{self.base}/{name}"
        if name not in self._plain and os.path.islink(path):  # noqa: PTH114 (a thousand times)
            target = leads_out(real(self.base), path, self._allowed)
        else:
            folder, _, last = name.rpartition("/")
            target = self._folder_out(folder)
            target = None if target is None else f"{target}/{last}"
        return None if target is None else LinkOut(name, Path(target))

    def _folder_out(self, folder: str) -> str | None:
        """Real path of a folder whose links point outside; None for other folders."""
        if folder in self._folders:
            return self._folders[folder]
        found = leads_out(real(self.base), f"{self.base}/{folder}", self._allowed)
        if self._known is not None:
            self._folders[folder] = found
        return found

    def _below(self, folder: str) -> Iterator[str]:
        """Names of the files in a folder, recursively; links to folders are not followed."""
        try:
            with os.scandir(self.base / folder) as found:
                entries = list(found)
        except OSError:  # it does not exist, or cannot be read
            return
        for entry in entries:
            name = f"{folder}/{entry.name}" if folder else entry.name
            if not _is_folder(entry):
                yield name
            elif not entry.is_symlink():
                yield from self._below(name)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


class SurroundingFiles:
    """The files around an archive, which its documents may refer to with `../`.

    `folder` is the folder of the archive, or the path of a zip. Files in the folders `allowed` can be read; for an
    unpacked archive, also files in the working folder and in the repository around it. Files of the kernel cannot be
    read.
    """

    def __init__(self, folder: Path, allowed: Sequence[Path], unpacked: bool) -> None:
        self.folder = absolute(folder)
        self._home = real(folder)
        self._allowed = [self._home, *map(real, allowed)]
        self._unpacked = unpacked

    @cached_property
    def _near(self) -> Sequence[str]:
        return [*map(real, around(self.folder))] if self._unpacked else []

    def path(self, name: str) -> Path | None:
        """The path of a name that starts with `../`; None if it is not allowed."""
        if unsafe(without_ups(name)) is not None:
            return None
        path = Path(os.path.normpath(self.folder / name))
        # Out of the folder, back into it, and out by a link: such a link of the folder must be allowed.
        inside = path.is_relative_to(self.folder)
        return path if self._may_read(path, [] if inside else self._near) else None

    def _may_read(self, path: Path, near: Sequence[str]) -> bool:
        found = real(path)
        if is_outside(path) or (of_the_kernel(found) and not below(found, [self._home])):
            return False
        return below(found, [*self._allowed, *near])

    def require_links_inside(self, name: str, folder: Path) -> None:
        """Raise InvalidDocument (PKG-101) for a link in a folder that points to a file which is not allowed."""
        for link in links_below(folder):
            if not self._may_read(link, self._near):
                place = f"{name}/{link.relative_to(folder).as_posix()}"
                raise InvalidDocument(LinkOut(place, Path(real(link))).diagnostic())


class ZipEntries:
    """A zip; files that must be on disk are unpacked, one at a time, into a private temporary folder.

    `inside` is its name in the outer package, for messages; empty without an outer package.
    """

    def __init__(self, path: Path, limits: ArchiveLimits, inside: str = "") -> None:
        self._file = absolute(path)
        self._path = Path(inside or path)
        self._prefix = inside and f"{inside}!"
        try:
            self._zip = ForeignZip(self._file)
        except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError) as problem:
            raise InvalidDocument(_unreadable(inside or path.name, str(problem))) from None
        if problems := tuple(_problems(inside or path.name, self._zip.infolist(), limits, self._prefix)):
            self._zip.close()
            raise InvalidDocument(*problems)
        self._infos = {info.filename: info for info in self._zip.infolist() if not info.is_dir()}
        self._folder: TemporaryFolder | None = None

    @property
    def size(self) -> ArchiveLimits:
        """Entries and bytes that count for the limits."""
        infos = self._infos.values()
        return ArchiveLimits(entries=len(infos), unpacked_bytes=sum(info.file_size for info in infos))

    @property
    def facts(self) -> ZipFacts:
        infos = self._zip.infolist()
        disks = {_end_disk(self._file), *(info.volume for info in infos)}
        return ZipFacts(tuple(map(_facts, infos)), frozenset(disks), self._zip.comment, self._zip.odd)

    def names(self) -> tuple[str, ...]:
        return tuple(self._infos)

    def has(self, name: str) -> bool:
        return name in self._infos

    def info(self, name: str) -> zipfile.ZipInfo:
        try:
            return self._infos[name]
        except KeyError:
            raise MissingEntry(name, self._path) from None

    def read(self, name: str) -> bytes:
        return b"".join(self._pieces(name))

    def _pieces(self, name: str) -> Iterator[bytes]:
        info = self.info(name)
        if self._zip.fp is None:
            self._zip = ForeignZip(self._file)
        try:
            yield from self._zip.pieces(info)
        except UNREADABLE_ZIP as problem:
            message = f"the entry cannot be unpacked: {problem or type(problem).__name__}"
            advice = "pack or download the archive again"
            raise InvalidDocument(error("PKG-001", Position(self._prefix + name), message, advice)) from None

    def local_path(self, name: str) -> Path:
        if name not in self._infos and (below := [each for each in self._infos if each.startswith(f"{name}/")]):
            unpacked = [self.local_path(each) for each in below]
            return unpacked[0].parents[below[0].count("/", len(name)) - 1]
        content_of = self.info(name)
        if self._folder is None:
            self._folder = TemporaryFolder()
        path = Path(self._folder.name, *content_of.filename.split("/"))
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                with path.open("wb") as file:
                    file.writelines(self._pieces(name))
            except BaseException:
                path.unlink(missing_ok=True)
                raise
            copied_from(Path(f"{shown(self._path)}{NESTING_MARK}{name}"), path)
        return path

    def release(self) -> None:
        """Close the file, so that other programs can replace it; it is reopened when needed."""
        self._zip.close()

    def close(self) -> None:
        self._zip.close()
        if self._folder is not None:
            forget_copies(Path(self._folder.name))
            self._folder.cleanup()


def _facts(info: zipfile.ZipInfo) -> EntryFacts:
    utf8 = bool(info.flag_bits & 0x800)
    # zipfile decoded the name according to this flag; restore its bytes.
    raw = info.orig_filename.encode("utf-8" if utf8 else "cp437", "replace")
    return EntryFacts(info.filename, raw, utf8, info.extract_version, info.comment)


def _end_disk(path: Path) -> int:
    """Number of the disk in the end record of a zip, which zipfile does not check."""
    with open_bytes(path) as file:
        file.seek(0, os.SEEK_END)
        file.seek(-min(file.tell(), _LONGEST_END), os.SEEK_CUR)
        tail = file.read()
    at = tail.rfind(b"PK\5\6")
    return int.from_bytes(tail[at + 4 : at + 6], "little") if at >= 0 else 0


def _unreadable(file: str, reason: str) -> Diagnostic:
    message = f"not a readable zip archive: {reason or 'it ends too early'}"
    advice = "pack or download the file again"
    suffix = Path(file).suffix.lower()
    if suffix not in (".ssp", ".fmu", ".zip"):
        message = f"{_KINDS.get(suffix, 'a file of another kind')}, not a system"
        advice = "a system is an .ssp file, the folder of an unpacked one, or an .ssd file"
        if suffix in _DOCUMENTS:
            advice += f"; `ssptool validate {file}` checks the document"
    return error("PKG-001", Position(file), message, advice)


_DOCUMENTS = {".ssv": "a parameter set", ".ssm": "a parameter mapping", ".ssb": "a signal dictionary"}
_KINDS = {
    **_DOCUMENTS,
    ".csv": "a table of results, inputs or parameters",
    ".parquet": "a file of results",
    ".mat": "a file of results",
    ".h5": "a file of results",
    ".mf4": "a file of results",
    ".mo": "a Modelica model",
    ".py": "a program in Python",
    ".toml": "a file in TOML, such as a study",
    ".xml": "an XML document by itself",
}
"""Suffix → description of a file that was given in place of a system."""


def _problems(file: str, infos: list[zipfile.ZipInfo], limits: ArchiveLimits, prefix: str) -> Iterator[Diagnostic]:
    for message in exceeded(infos, limits):
        advice = "if you trust it, unpack it with another program and open the folder"
        yield error("PKG-024", Position(file), message, advice)
    for name, count in Counter(info.filename for info in infos).items():
        if count > 1:
            yield error("PKG-021", Position(prefix + name), f"{count} entries have this name", "keep one of them")
    names = {plain_name(info.orig_filename) for info in infos}
    for name in sorted(names.intersection(chain.from_iterable(map(_parents, names)))):
        yield error("PKG-021", Position(prefix + name), "a file and a folder have this name", "rename one of them")
    for info in infos:
        # zipfile cuts names at a zero byte, and only detects the encryption of flag bit 0.
        name = plain_name(info.orig_filename)
        at = Position(prefix + info.orig_filename)
        if reason := unsafe(name):
            yield error("PKG-020", at, f"the name of this entry {reason}", "pack again with relative names")
        elif info.filename in (".", "") or info.filename.endswith("/."):
            yield error("PKG-021", at, "a file has the name of a folder", "rename it, and pack again")
        if info.flag_bits & 0x2041:
            yield error("PKG-003", at, "the entry is encrypted", "pack again without a password")
        elif info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            message = f"compressed by method {info.compress_type}; SSP allows 0 (stored) and 8 (deflated)"
            yield error("PKG-002", at, message, "pack again with plain zip compression")


def _parents(name: str) -> Iterator[str]:
    """Parent folders of an entry, without the slash that marks the entry of a folder itself."""
    parts = name.rstrip("/").split("/")
    return ("/".join(parts[:depth]) for depth in range(1, len(parts)))


class Overlay:
    """The entries of an archive with unsaved edits: those of `below` without removed ones, and added ones.

    Files in its `surroundings` are not entries, but can be read under names that start with `../`.
    """

    def __init__(self, below: Entries, path: Path, surroundings: SurroundingFiles) -> None:
        self._below = below
        self.surroundings = surroundings
        self.asked: set[str] = set()
        """Names of files around the archive that were accessed."""
        self._path = path
        self._folder: TemporaryFolder | None = None
        self.added: dict[str, EntryContent] = {}
        self.removed: set[str] = set()

    def put(self, name: str, content: EntryContent) -> None:
        self.added[name] = content
        self.removed.discard(name)

    def remove(self, name: str) -> None:
        """Remove an entry. Raises MissingEntry."""
        if not self.has(name):
            raise MissingEntry(name, self._path)
        self.added.pop(name, None)
        if self._below.has(name):
            self.removed.add(name)

    def names(self) -> tuple[str, ...]:
        below = [name for name in self._below.names() if name not in self.removed]
        known = set(below)
        return (*below, *(name for name in self.added if name not in known))

    def has(self, name: str) -> bool:
        if name.startswith(UP):
            self.asked.add(name)
            outside = self.surroundings.path(name)
            return outside is not None and outside.is_file()
        return name in self.added or (name not in self.removed and self._below.has(name))

    def read(self, name: str) -> bytes:
        content = self.added.get(name)
        if content is not None:
            return content if isinstance(content, bytes) else read_bytes(content)
        if name.startswith(UP):
            return read_bytes(self._outside(name))
        self._require(name)
        return self._below.read(name)

    def local_path(self, name: str) -> Path:
        content = self.added.get(name)
        if content is None and name.startswith(UP):
            return self._outside(name)
        if content is None:
            self._require(name)
            return self._below.local_path(name)
        if isinstance(content, Path):
            return content
        if self._folder is None:
            self._folder = TemporaryFolder()
        path = Path(self._folder.name, *name.split("/"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def close(self) -> None:
        self._below.close()
        if self._folder is not None:
            self._folder.cleanup()

    def _outside(self, name: str) -> Path:
        self.asked.add(name)
        path = self.surroundings.path(name)
        if path is None or not path.exists():
            raise MissingEntry(name, self._path)
        if path.is_dir():
            self.surroundings.require_links_inside(name, path)
        return path

    def _require(self, name: str) -> None:
        if name in self.removed:
            raise MissingEntry(name, self._path)


NESTING_MARK = "!"


@dataclass(slots=True)
class RemainingLimits:
    """Remaining limits for a package and its nested packages together."""

    left: ArchiveLimits

    def take(self, entries: ZipEntries) -> None:
        spent = entries.size
        self.left = replace(
            self.left,
            entries=self.left.entries - spent.entries,
            unpacked_bytes=self.left.unpacked_bytes - spent.unpacked_bytes,
            packages=self.left.packages - 1,
        )


class NestedEntry(NamedTuple):
    """Location of an entry: `name` in `entries`; `prefix` is the name of the outer package followed by `!`."""

    entries: Entries
    prefix: str
    name: str


class NestedPackages:
    """The entries of a package and of nested packages, which are opened on demand."""

    def __init__(self, around: Entries, allowance: RemainingLimits, prefix: str = "", depth: int = 0) -> None:
        self._around = around
        self._allowance = allowance
        self._prefix = prefix
        self._depth = depth
        self._opened: dict[str, NestedPackages] = {}

    def has(self, name: str) -> bool:
        """True if an entry exists; false inside of a package that cannot be opened."""
        try:
            place = self.place(name)
        except InvalidDocument:
            return False
        return place.entries.has(place.name)

    def read(self, name: str) -> bytes:
        place = self.place(name)
        return place.entries.read(place.name)

    def local_path(self, name: str) -> Path:
        place = self.place(name)
        return place.entries.local_path(place.name)

    def place(self, name: str) -> NestedEntry:
        """Location of an entry, existing or not.

        Raises
        ------
        InvalidDocument
            A package around it cannot be opened (PKG-001 …), or exceeds the limits (PKG-024).
        """
        at = -1 if self._around.has(name) else name.find(NESTING_MARK)
        while at >= 0:
            if self._around.has(name[:at]):
                return self._inside(name[:at]).place(name[at + 1 :])
            at = name.find(NESTING_MARK, at + 1)
        return NestedEntry(self._around, self._prefix, name)

    def release(self) -> None:
        """Close the files of packages, so that other programs can replace them; they are reopened when needed."""
        for opened in self._opened.values():
            opened.release()
        if isinstance(self._around, ZipEntries):
            self._around.release()

    def forget(self, name: str) -> None:
        """Drop an opened package that was replaced or removed."""
        if name in self._opened:
            self._opened.pop(name).close()

    def close(self) -> None:
        for opened in self._opened.values():
            opened.close()
        self._around.close()

    def _inside(self, name: str) -> "NestedPackages":
        if name not in self._opened:
            full = self._prefix + name
            if self._depth == self._allowance.left.depth:
                message = f"packages are nested deeper than {self._depth} levels"
                raise InvalidDocument(
                    error(
                        "PKG-024",
                        Position(full),
                        message,
                        f"nest packages in at most {self._depth} levels, or put their systems into the outer package",
                    )
                )
            if self._allowance.left.packages < 0:
                message = f"there are more than {ArchiveLimits().packages} packages inside the package"
                raise InvalidDocument(
                    error("PKG-024", Position(full), message, "put their systems into fewer packages")
                )
            entries = ZipEntries(self._around.local_path(name), self._allowance.left, full)
            self._allowance.take(entries)
            self._opened[name] = NestedPackages(entries, self._allowance, full + NESTING_MARK, self._depth + 1)
        return self._opened[name]
