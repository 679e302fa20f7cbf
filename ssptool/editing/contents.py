"""What is behind the sources of components: models, and digests that are equal for equal files."""

import hashlib
import zipfile
import zlib
from collections.abc import Callable

from ssptool.documents import ssd
from ssptool.documents.archive import Archive, UnresolvableUri
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.entries import MissingEntry
from ssptool.documents.media_types import FMU
from ssptool.fmu.description import FmuDescription, UnreadableFmu, read_description
from ssptool.network.component_fmu import fmu_path


def entry_of(archive: Archive, document: str, source: str | None) -> str | None:
    """The entry to which a source in a document leads; None if it leads to none that is there."""
    if not source or source.startswith("#"):
        return None
    try:
        name = archive.resolve(document, source)
    except UnresolvableUri:
        return None
    return name if archive.has(name) else None


def short_digest(content: bytes) -> str:
    """Of what is looked at by people, too."""
    return hashlib.sha256(content).hexdigest()[:16]


class Contents:
    """Those of an archive, each read once. Documents are given by their names."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._fmus: dict[str, FmuDescription | None] = {}
        self._packed: dict[str, dict[str, str | None]] = {}

    def of(self, document: str, component: ssd.Component, nested: Callable[[str], str]) -> dict[str, str | None]:
        """Facts about what a component is made of; `nested` gives the digest of a structure."""
        entry = entry_of(self._archive, document, component.source)
        fmu = self.fmu(document, component)
        if entry is None:
            return self._unpacked(document, component.source, fmu)
        if entry not in self._packed:
            own = entry.lower().endswith(".ssd") and fmu is None
            self._packed[entry] = {**_of_fmu(fmu), "content": nested(entry) if own else self._zip_digest(entry)}
        return self._packed[entry]

    def fmu(self, document: str, element: ssd.SystemElement) -> FmuDescription | None:
        """The model description; None if the element is no FMU, or it cannot be read."""
        if not isinstance(element, ssd.Component) or element.media_type != FMU or not element.source:
            return None
        try:
            entry = self._archive.resolve(document, element.source)
        except UnresolvableUri:
            return None
        if entry not in self._fmus:
            try:
                self._fmus[entry] = read_description(fmu_path(self._archive, entry))
            except (UnreadableFmu, MissingEntry, InvalidDocument):
                self._fmus[entry] = None
        return self._fmus[entry]

    def _unpacked(self, document: str, source: str | None, fmu: FmuDescription | None) -> dict[str, str | None]:
        """The same of an FMU or package that stands in the archive as a folder."""
        folder = self._folder(document, source)
        inside = [name for name in self._archive.names() if folder is not None and name.startswith(folder)]
        if folder is None or not inside:
            return {"content": None if (source or "#").startswith("#") else "missing"}
        crcs = [(name.removeprefix(folder), *_crc(self._archive.read(name))) for name in sorted(inside)]
        return {**_of_fmu(fmu), "content": short_digest(repr(crcs).encode())}

    def _folder(self, document: str, source: str | None) -> str | None:
        """The name of the folder to which a source leads, with the slash at its end."""
        if not source or source.startswith("#"):
            return None
        try:
            return self._archive.resolve(document, source.rstrip("/")) + "/"
        except UnresolvableUri:
            return None

    def _zip_digest(self, entry: str) -> str:
        """Equal for equal files inside, whenever and however they were packed."""
        try:
            with zipfile.ZipFile(self._archive.local_path(entry)) as packed:
                files = [info for info in packed.infolist() if not info.is_dir()]
            return short_digest(repr(sorted((info.filename, info.CRC, info.file_size) for info in files)).encode())
        except (zipfile.BadZipFile, OSError, ValueError):
            return short_digest(self._archive.read(entry))


def _of_fmu(fmu: FmuDescription | None) -> dict[str, str | None]:
    return {} if fmu is None else {"model": fmu.model_name, "FMI version": fmu.fmi_version, "token": fmu.token}


def _crc(content: bytes) -> tuple[int, int]:
    """What the directory of a zip says of a file, so that an FMU is the same packed and unpacked."""
    return zlib.crc32(content), len(content)
