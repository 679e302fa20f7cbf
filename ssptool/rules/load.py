"""Load the subjects of rules: structures of an archive, the files that they refer to, and model descriptions."""

from collections.abc import Iterable, Iterator, Mapping

from ssptool.documents import ssb, ssc, ssd, ssm, ssv
from ssptool.documents.archive import DEFAULT_STRUCTURE, Archive, unknown_variant
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.document import Document
from ssptool.documents.element import Element
from ssptool.documents.schema import VERSIONS, SchemaFinding, schema_findings
from ssptool.documents.storage import NESTING_MARK
from ssptool.documents.vocabulary import PARAMETER_MAPPING, PARAMETER_SET, SIGNAL_DICTIONARY
from ssptool.network.tree import fmu_path, has_fmu
from ssptool.rules.fmu_files import FmuFile, UnreachableFmu
from ssptool.rules.kept import Kept
from ssptool.rules.subjects import (
    File,
    LoneDocument,
    Package,
    Reach,
    Structure,
    every,
    inside,
    is_fmu,
    is_packed,
    is_structure,
    refer,
    resolve,
)
from ssptool.work_in_progress import one_by_one

_Naming = ssd.ParameterBinding | ssd.ParameterMapping | ssd.SignalDictionary


def load(archive: Archive, variant: str | None = None, kept: Kept | None = None) -> Package:
    """Load everything that rules apply to; unreadable files become problems.

    Parameters
    ----------
    variant
        The only structure to load; None: all structures at the root, and everything that they refer to.
    kept
        Data of earlier checks, which are used and updated.

    Raises
    ------
    UnknownName
        The archive has no such variant.
    """
    reader = _Reader(archive, kept or Kept())
    if (alone := _lone_root(archive)) is not None:
        if variant is not None:
            raise unknown_variant(variant, ())
        file = reader.file(archive.default, alone)
        return Package(archive, (file,), (LoneDocument(archive, file, {}, {}, {}, reader.structure),), (), True)
    names = root_structures(archive) if variant is None else [_find(reader, variant)]
    structures = [reader.structure(name) for name in names]
    for structure in structures:  # grows in the loop, because components may refer to other structures
        known = {other.file.name for other in structures}
        here = (name for name in structure.inner if not _in_package(name, archive))
        structures += [reader.structure(name) for name in here if name not in known]
    packages = dict.fromkeys(name for structure in structures for name in _packages(structure))
    files = dict.fromkeys(file for structure in structures for file in (structure.file, *structure.files.values()))
    return Package(archive, tuple(files), tuple(structures), tuple(packages), complete=variant is None)


_LONE_ROOTS: Mapping[str, type[ssc.TopLevel]] = {
    ".ssv": ssv.ParameterSet,
    ".ssm": ssm.ParameterMapping,
    ".ssb": ssb.SignalDictionary,
}


def _lone_root(archive: Archive) -> type[ssc.TopLevel] | None:
    """The root class of a single document; None for a system."""
    return _LONE_ROOTS.get(archive.default[archive.default.rfind(".") :].lower())


def root_structures(archive: Archive) -> list[str]:
    """The SSDs at the root of the archive, the default one first; or the lone SSD."""
    others = (name for name in archive.names() if "/" not in name and name.lower().endswith(".ssd"))
    if archive.default != DEFAULT_STRUCTURE:
        return [archive.default]
    return [archive.default, *sorted(name for name in others if name != archive.default)]


def _in_package(name: str, archive: Archive) -> bool:
    """True if an entry belongs to a nested package, which is checked separately."""
    return NESTING_MARK in name and name not in archive.names()


def _find(reader: "_Reader", variant: str) -> str:
    names = root_structures(reader.archive)
    if variant in names:
        return variant  # the usual case; no other file has to be read
    titles = {}
    for name in names:
        document = reader.file(name, ssd.SystemStructureDescription).document
        titles[name] = document.root.get("name", "") if document else ""
    by_title = [name for name, title in titles.items() if title == variant]
    by_name = [name for name in titles if variant == name.rpartition(".")[0]]
    if not by_title + by_name:
        raise unknown_variant(variant, [title or name for name, title in titles.items()])
    return (by_title + by_name)[0]


class _Reader:
    """Reads each file of an archive once."""

    def __init__(self, archive: Archive, kept: Kept) -> None:
        self.archive = archive
        self.kept = kept
        self.files: dict[str, File] = {}
        self._fmus: dict[str, FmuFile] = {}
        self._structures: dict[str, Structure] = {}

    def file(self, name: str, expected: type[ssc.TopLevel]) -> File:
        if name not in self.files:
            self.files[name] = self._read(name, expected)
        return self.files[name]

    def _read(self, name: str, expected: type[ssc.TopLevel]) -> File:
        known = self.kept.files.get(name)
        try:
            if known is not None and known.expected is expected and self.archive.adopt(known.document):
                return known
            document = self.archive.document(name)
        except InvalidDocument as problem:
            return File(name, expected, None, problem.diagnostics)
        file = File(name, expected, document, (), _violations(document))
        self.kept.files[name] = file
        return file

    def fmu(self, name: str) -> FmuFile:
        if name not in self._fmus:
            self._fmus[name] = self._fmu(name)
        return self._fmus[name]

    def _fmu(self, name: str) -> FmuFile:
        try:
            state = self.archive.state_on_disk(name)
            return self.kept.fmu(name, state) or self.kept.keep_fmu(name, state, FmuFile(fmu_path(self.archive, name)))
        except InvalidDocument as problem:
            reason = "; ".join(diagnostic.message for diagnostic in problem.diagnostics)
            return UnreachableFmu(self.archive.path / name, reason)

    def structure(self, name: str) -> Structure:
        if name not in self._structures:
            self._structures[name] = self._structure(name)
        return self._structures[name]

    def _structure(self, name: str) -> Structure:
        file = self.file(name, ssd.SystemStructureDescription)
        if not file.valid or file.document is None:
            return Structure(self.archive, file, {}, {}, {}, self.structure)
        users = tuple(every(file.document.structure, *_USERS))
        files = {entry: self.file(entry, kind) for entry, kind in self._named(users, name)}
        entries = list(self._entries(_fmu_sources(users), name))
        fmus = {}
        for entry in one_by_one("reading FMU", entries):
            fmus[entry] = self.fmu(entry)
            _ = fmus[entry].description  # read now, while its number is reported as progress
        inner = {entry: self.file(entry, ssd.SystemStructureDescription) for entry in self._inner(users, name)}
        return Structure(self.archive, file, files, fmus, inner, self.structure)

    def _named(self, users: tuple[Element, ...], base: str) -> Iterator[tuple[str, type[ssc.TopLevel]]]:
        for element, source, kind in _file_sources(users):
            reference = refer(element, source, base, self.archive)
            if reference.reach is Reach.INSIDE and self.archive.has(reference.entry):
                yield reference.entry, kind

    def _inner(self, users: tuple[Element, ...], base: str) -> Iterator[str]:
        """SSDs that components refer to, in the archive and in nested packages."""
        for component in _structures(users):
            reference = resolve(component.source or "", base, self.archive.resolve)
            if reference.reach is Reach.INSIDE:
                entry = inside(reference) if is_packed(component) else reference.entry
                if self.archive.has(entry):
                    yield entry

    def _entries(self, sources: list[str], base: str) -> Iterator[str]:
        """Existing FMUs that the URIs refer to, each once."""
        resolved = dict.fromkeys(resolve(source, base, self.archive.resolve) for source in sources)
        for reference in resolved:
            if reference.reach is Reach.INSIDE and has_fmu(self.archive, reference.entry):
                yield reference.entry


def _violations(document: Document) -> tuple[SchemaFinding, ...]:
    known = document.version in VERSIONS and not document.frozen
    return tuple(schema_findings(document.root, document.version)) if known else ()


_FILES: tuple[tuple[type[_Naming], str, type[ssc.TopLevel]], ...] = (
    (ssd.ParameterBinding, PARAMETER_SET, ssv.ParameterSet),
    (ssd.ParameterMapping, PARAMETER_MAPPING, ssm.ParameterMapping),
    (ssd.SignalDictionary, SIGNAL_DICTIONARY, ssb.SignalDictionary),
)
"""Elements that refer to files, with media type and root class of the files."""
_USERS: tuple[type[Element], ...] = (ssd.Component, *(user for user, _, _ in _FILES))


def _fmu_sources(users: Iterable[Element]) -> list[str]:
    components = (user for user in users if isinstance(user, ssd.Component))
    return [uri for component in components if is_fmu(component) and (uri := component.source)]


def _file_sources(users: tuple[Element, ...]) -> Iterator[tuple[Element, str, type[ssc.TopLevel]]]:
    """URIs of parameter sets, then of mappings and dictionaries, and the elements that state them."""
    for kind, media_type, root in _FILES:
        for user in users:
            if isinstance(user, kind) and user.source and user.type == media_type:
                yield user, user.source, root


def _structures(users: Iterable[Element]) -> list[ssd.Component]:
    """Components that refer to systems."""
    components = (user for user in users if isinstance(user, ssd.Component))
    return [component for component in components if is_structure(component) and component.source]


def _packages(structure: Structure) -> Iterator[str]:
    """The nested packages that components of a structure refer to."""
    for component in _structures(structure.all(ssd.Component)) if structure.file.valid else ():
        reference = structure.reference(component, component.source or "")
        inside = reference.reach is Reach.INSIDE and structure.archive.has(reference.entry)
        if inside and is_packed(component):
            yield reference.entry
