"""Untrusted files: only regular files, links inside their folder, and zips whose bytes are counted during unpacking.

All readers of the package open files and zips here. Named pipes, sockets and devices are rejected before they are
opened, because reading them may never end.
"""

import errno
import os
import re
import stat
import zipfile
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from io import BufferedReader, BytesIO, TextIOWrapper
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple
from zlib import error as ZlibError

from ssptool.confinement import require_readable
from ssptool.documents.outside import below, of_the_kernel
from ssptool.documents.uri import unsafe
from ssptool.errors import WrongUsage
from ssptool.working_directory import real

# Windows has no O_NONBLOCK, and no named pipes among its files.
_NO_WAITING: int = getattr(os, "O_NONBLOCK", 0)
_NO_LINKS: int = getattr(os, "O_NOFOLLOW", 0)
_KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class SpecialFile(WrongUsage, OSError):
    """A named pipe, a socket or a device where a file is expected; `kind` says which."""

    def __init__(self, path: Path | str, kind: str) -> None:
        super().__init__(f"{path} is {kind}, not a file: write its content to a file, and name that")
        self.path = Path(path)
        self.kind = kind
        self.strerror = f"it is {kind}, not a file"

    def __reduce__(self) -> tuple[type["SpecialFile"], tuple[Path, str]]:
        return type(self), (self.path, self.kind)


def special_kind(path: Path | str) -> str | None:
    """`a named pipe`, `a socket` or `a device`; None for a file, a folder, or a missing path."""
    try:
        return _kind(os.stat(path).st_mode)  # noqa: PTH116 (takes strings as well)
    except OSError:
        return None


def require_file(path: Path | str, shown: Path | str | None = None) -> None:
    """Reject a named pipe, a socket or a device; a missing path is accepted. Raises SpecialFile."""
    if (kind := special_kind(path)) is not None:
        raise SpecialFile(path if shown is None else shown, kind)


def _kind(mode: int) -> str | None:
    return next((kind for is_one, kind in _KINDS if is_one(mode)), None)


def _open(path: str, flags: int) -> int:
    require_file(path)  # opening a device may already have an effect
    require_readable(path)
    descriptor = os.open(path, flags | _NO_WAITING)
    if (kind := _kind(os.fstat(descriptor).st_mode)) is not None:  # replaced since the check
        os.close(descriptor)
        raise SpecialFile(path, kind)
    return descriptor


def open_bytes(path: Path) -> BufferedReader:
    """Open a regular file for reading. Raises SpecialFile, and OSError as `open`."""
    return open(path, "rb", opener=_open)


def open_text(path: Path, encoding: str = "utf-8-sig", *, newline: str | None = None) -> TextIOWrapper:
    """Open a regular file as text. Raises as `open_bytes`."""
    return open(path, encoding=encoding, newline=newline, opener=_open)


def read_bytes(path: Path) -> bytes:
    """The bytes of a regular file. Raises as `open_bytes`."""
    with open_bytes(path) as file:
        return file.read()


def read_text(path: Path, encoding: str = "utf-8-sig") -> str:
    """The text of a regular file. Raises as `open_bytes`, and UnicodeDecodeError."""
    with open_text(path, encoding) as file:
        return file.read()


def _unexpected_link(path: Path) -> WrongUsage:
    """Error for a link at the path of a file that ssptool chose."""
    return WrongUsage(
        f"{path} is a link to {real(path)}, which nobody has asked to write: remove the link, or say where to "
        "write instead"
    )


def own_output(path: Path) -> Path:
    """Check a path to write that the user did not choose, such as the default of an option. Raises WrongUsage."""
    if path.is_symlink():
        raise _unexpected_link(path)
    require_file(path)
    return path


def write_beside(path: Path, text: str) -> None:
    """Write UTF-8 text to a file that the user did not choose; links are not followed.

    Raises
    ------
    WrongUsage, SpecialFile
        The path is a link or a special file.
    """
    with open(own_output(path), "w", encoding="utf-8", opener=_open_own) as file:
        file.write(text)


def _open_own(path: str, flags: int) -> int:
    try:
        descriptor = os.open(path, flags | _NO_WAITING | _NO_LINKS, 0o666)
    except OSError as problem:
        if problem.errno == errno.ELOOP:
            raise _unexpected_link(Path(path)) from None
        raise
    return descriptor


# -- links ---------------------------------------------------------------------------------------------------


def leads_out(folder: str, path: str, allowed: Sequence[str] = ()) -> str | None:
    """Real path of a file if its links point outside of `folder` and of the folders `allowed`; otherwise None.

    The folders are real paths. Links to files of the kernel always count as outside.
    """
    target = real(path)
    inside = below(target, [folder]) or (below(target, allowed) and not of_the_kernel(target))
    return None if inside else target


def links_below(folder: Path) -> Iterator[Path]:
    """All links to files and folders below a folder, recursively; links to folders are not followed."""
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError:  # it does not exist, or cannot be read
        return
    yield from (Path(entry.path) for entry in entries if entry.is_symlink())
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from links_below(Path(entry.path))


# -- zips ----------------------------------------------------------------------------------------------------

_MIB = 2**20
# Below this size the ratio is not checked, because a small file of zeros is harmless.
_RATIO_MATTERS_FROM = 16 * _MIB
_CHUNK = _MIB
_READABLE = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)

UNREADABLE_ZIP = (zipfile.BadZipFile, ZlibError, EOFError, OSError, RuntimeError, ValueError)
"""Errors of opening or reading a zip."""


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """Limits of a zip: number of entries, unpacked bytes in total, and unpacked bytes per packed byte.

    The first two include nested packages, of which there may be `packages` in total, nested up to `depth`.
    """

    entries: int = 50_000
    unpacked_bytes: int = 16 * 1024 * _MIB
    ratio: float = 250.0
    depth: int = 8
    packages: int = 500


def exceeded(infos: Sequence[zipfile.ZipInfo], limits: ArchiveLimits) -> Iterator[str]:
    """Sentences on the limits that a zip exceeds, according to its own directory."""
    unpacked = sum(info.file_size for info in infos)
    ratio = unpacked // max(sum(info.compress_size for info in infos), 1)
    if len(infos) > limits.entries:
        yield f"the archive has {len(infos)} entries, more than the limit of {limits.entries}"
    if unpacked > limits.unpacked_bytes:
        yield f"the archive has {unpacked} bytes unpacked, more than the limit of {limits.unpacked_bytes}"
    if ratio > limits.ratio and unpacked >= _RATIO_MATTERS_FROM:
        yield f"the archive has {ratio} bytes unpacked per packed byte, more than the limit of {limits.ratio:.0f}"


_ODD = re.compile(r"\\|(?:^|/)\.?/|(?:^|/)\.$")
_COMPARED = 256 * _MIB
"""Limit of the unpacked size of entries with the same name that are compared [byte]; larger ones count as different."""


class OddEntry(NamedTuple):
    """An irregular entry of a zip: its name in the directory, and how it is read."""

    name: str
    told: str


def plain_name(stored: str) -> str:
    """The name of an entry with forward slashes, and without parts that are empty or `.`; "" for the root itself.

    Parts that lead outside of a folder are kept, so that `unsafe` can find them.
    """
    name = stored.replace("\\", "/")
    if name.startswith("/") or not _ODD.search(stored):
        return name
    plain = "/".join(part for part in name.split("/") if part not in ("", "."))
    return f"{plain}/" if plain and name.endswith(("/", "/.")) else plain


class ForeignZip(zipfile.ZipFile):
    """A zip whose directory may be wrong: entries are unpacked in pieces, up to the size that the directory states.

    So limits on stated sizes are limits on real ones. Entries have plain names, and an entry that is stored several
    times with the same bytes is listed once; `odd` lists the entries for which the directory differs from that. Raises
    SpecialFile, or as `zipfile.ZipFile`.
    """

    _source: BufferedReader | None = None  # here, because one that could not be opened is closed as well

    def __init__(self, path: Path) -> None:
        self._source = source = open_bytes(path)
        try:
            super().__init__(source)
            self.odd = tuple(self._made_plain())
        except BaseException:
            source.close()
            raise

    def _made_plain(self) -> Iterator[OddEntry]:
        """Give entries plain names, and leave out the root and repeated entries."""
        kept: dict[str, list[zipfile.ZipInfo]] = {}
        compared = 0
        for info in self.filelist:
            stored, plain = info.orig_filename, plain_name(info.orig_filename)
            if not plain and not info.file_size:
                yield OddEntry(stored, "the entry is the folder itself and is skipped")
                continue
            if plain and plain != stored and not (plain.endswith("/") and info.file_size):
                info.filename = plain
                yield OddEntry(stored, f"the name is not plain; it is read as {plain}")
            same = kept.setdefault(info.filename, [])
            compared += info.file_size if same else 0
            if same and compared <= _COMPARED and self._are_equal(same[0], info):
                yield OddEntry(stored, f"{info.filename} occurs again in the archive, with the same content")
            else:
                same.append(info)
        self.filelist = [info for infos in kept.values() for info in infos]
        self.NameToInfo = {info.filename: info for info in self.filelist}

    def _are_equal(self, one: zipfile.ZipInfo, other: zipfile.ZipInfo) -> bool:
        if (one.CRC, one.file_size) != (other.CRC, other.file_size):
            return False
        try:
            return all(first == second for first, second in zip_longest(self.pieces(one), self.pieces(other)))
        except UNREADABLE_ZIP:  # reading it reports the error
            return False

    def close(self) -> None:
        super().close()
        if self._source is not None:
            self._source.close()

    def pieces(self, info: zipfile.ZipInfo) -> Iterator[bytes]:
        """The bytes of an entry, piece by piece. Raises one of UNREADABLE_ZIP, BadZipFile for wrong sizes."""
        if info.compress_type not in _READABLE:
            # Other methods could unpack a piece to any size.
            raise zipfile.BadZipFile(f"{info.filename} is compressed by method {info.compress_type}, not deflated")
        longer = copy(info)
        longer.file_size += 2 * _CHUNK  # to notice bytes beyond the stated size; the checksum is only tested at the end
        left = info.file_size
        with self.open(longer) as file:
            while piece := file.read(_CHUNK):
                left -= len(piece)
                if left < 0:
                    raise zipfile.BadZipFile(
                        f"{info.filename} unpacks to more than the {info.file_size} bytes that the archive states"
                    )
                yield piece

    def read(self, name: str | zipfile.ZipInfo, pwd: bytes | None = None) -> bytes:
        """The bytes of an entry. Raises as `pieces`, and KeyError."""
        return b"".join(self.pieces(name if isinstance(name, zipfile.ZipInfo) else self.getinfo(name)))

    def plainly_packed(self) -> bytes:
        """The bytes of a zip with the same entries under their plain names. Raises as `pieces`."""
        packed = BytesIO()
        with zipfile.ZipFile(packed, "w") as written:
            for info in self.infolist():
                plain = zipfile.ZipInfo(info.filename, info.date_time)
                plain.compress_type, plain.external_attr = info.compress_type, info.external_attr
                written.writestr(plain, b"" if info.is_dir() else self.read(info))
        return packed.getvalue()

    def unpack(self, folder: Path, limits: ArchiveLimits | None = None) -> None:
        """Write all entries to a private folder.

        Raises
        ------
        BadZipFile
            The zip exceeds a limit, or has an entry whose path is outside the folder; nothing is written.
        """
        infos = self.infolist()
        for problem in exceeded(infos, limits or ArchiveLimits()):
            raise zipfile.BadZipFile(f"{problem}; if you trust it, unpack it with another program, and use the folder")
        for info in infos:
            if reason := unsafe(plain_name(info.orig_filename)):
                problem = f"the entry {info.orig_filename!r} {reason}, so it could be written outside the folder"
                raise zipfile.BadZipFile(problem)
        for info in infos:
            path = folder / info.filename
            if info.is_dir():
                path.mkdir(parents=True, exist_ok=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                file.writelines(self.pieces(info))
