"""Upgrade and downgrade between SSP 1.0 and 2.0: whole packages, or one document.

An upgrade loses nothing, and restores originals that a downgrade stored.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from ssptool.documents import ssb, ssc, ssd, ssv
from ssptool.documents.archive import LONE_SUFFIXES, Archive, UnresolvableUri
from ssptool.documents.diagnostics import Diagnostic, InvalidDocument, Position, error
from ssptool.documents.document import Document
from ssptool.documents.element import expand
from ssptool.documents.schema import schema_findings
from ssptool.documents.storage import MissingEntry
from ssptool.documents.vocabulary import FMU
from ssptool.editing import originals
from ssptool.editing.cascade import Cascade, Gone
from ssptool.editing.changes import Change, FileEdit, Loss, RefusedEdit
from ssptool.editing.downgrade import Downgrade, FmiVersionOf, Part
from ssptool.errors import counted
from ssptool.fmu.description import UnreadableFmu
from ssptool.fmu.read_description import read_description
from ssptool.foreign_text import joined_lines
from ssptool.network.tree import fmu_path
from ssptool.option_words import Types

MODERN = {"Real": "Float64", "Integer": "Int32"}
"""Types of 1.0 → their names in FMI 3; both names have the same meaning in SSP 2.0."""


def upgrade_part(part: Part) -> Iterator[Change]:
    """Convert one part of a document to 2.0."""
    yield from _pre_release(part)
    yield from _empty_sources(part)
    yield from _kept_aside(part)
    part.root.set("version", "2.0")


def modern_types(part: Part) -> Iterator[Change]:
    """DIFF-03, DIFF-04: use the types of FMI 3 instead of those that SSP 2.0 kept from 1.0; a downgrade reverses it."""
    counts: Counter[tuple[str, str]] = Counter()
    typed = [
        *(("connector", connector.type) for connector in part.every(ssd.Connector)),
        *(("signal", signal.type) for signal in part.every(ssb.DictionaryEntry)),
        *(("parameter", parameter.type) for parameter in part.every(ssv.Parameter)),
    ]
    for what, type_ in typed:
        if type_ is not None and type_.type_name in MODERN:
            counts[what, type_.type_name] += 1
            prefix = "ssv" if isinstance(type_, ssv.ParameterType) else "ssc"
            type_.tag = expand(f"{prefix}:{MODERN[type_.type_name]}")
    for (what, old), count in sorted(counts.items()):
        told = f"the type of {counted(count, what)} is {MODERN[old]} now (was {old})"
        yield Change("DIFF-03", Loss.RENAMED, part.root.position, told)


def _pre_release(part: Part) -> Iterator[Change]:
    """DIFF-02: versions such as 1.0-beta do not exist in 2.0, but the schema of 1.0 allows them."""
    if part.version != "1.0":
        yield Change("DIFF-02", Loss.NOTHING, part.root.position, f"the version was {part.version!r}")


def _empty_sources(part: Part) -> Iterator[Change]:
    """DIFF-13: in 1.0, an empty source was the only way to state that there is no implementation yet."""
    for component in part.every(ssd.Component):
        if component.source == "":
            message = f"{component.name!r} had an empty source, and has none now: it has no implementation yet"
            yield Change("DIFF-13", Loss.NOTHING, component.position, message)
            component.source = None


def _kept_aside(part: Part) -> Iterator[Change]:
    """Undo downgrades repeatedly, because restored elements may have records of their own."""
    restored = True
    failures: list[Change] = []
    while restored:
        restored, failures = False, []
        for annotation in list(part.every(ssc.Annotation)):
            position = annotation.position
            if originals.unwrap(annotation) or annotation.get("type") != originals.TYPE:
                continue
            try:
                originals.restore(annotation)
                restored = True
                yield Change("DIFF-16", Loss.NOTHING, position, "what a downgrade kept aside is back")
            except originals.EditedSince as problem:
                message = f"an original stays in its annotation, because the document was edited since: {problem}"
                failures.append(Change("DIFF-16", Loss.WEAKENED, position, message))
        part = Part(part.root)
    yield from failures


def rename_variants(structures: Iterable[Document]) -> Iterator[Change]:
    """DIFF-20: in 2.0, the names of all variants of a package differ; repeated names are replaced by that of the
    file.
    """
    taken: set[str] = set()
    for document in structures:
        name = document.root.get("name", "")
        if name in taken:
            new = _free(f"{name} ({document.name.removesuffix('.ssd')})", taken)
            message = f"another variant is called {name!r}, so this one is {new!r} now"
            yield Change("DIFF-20", Loss.WEAKENED, document.root.position, message)
            document.root.set("name", new)
            name = new
        taken.add(name)


def _free(name: str, taken: set[str]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} {number}"
    return free


_FOREIGN_FOLDERS = ("extra/", "documentation/")  # files of other tools and of users


class Version(StrEnum):
    V1_0 = "1.0"
    V2_0 = "2.0"


@dataclass(frozen=True, slots=True)
class Migration:
    """Result of a change of version: changed files and notes.

    `unchanged` are documents that already have the version; `nested` are nested packages, which are not changed,
    because files of both versions may be mixed.
    """

    version: Version
    files: tuple[FileEdit, ...]
    changes: tuple[Change, ...]
    unchanged: tuple[str, ...] = ()
    nested: tuple[str, ...] = ()


def upgrade_package(archive: Archive, *, types: Types = Types.KEEP) -> Migration:
    """Convert all documents of an archive to 2.0, in memory.

    Raises
    ------
    InvalidDocument
        A document is not valid 1.0, or has an unknown version.
    """
    changes: list[Change] = []
    documents = tuple(documents_of(archive))
    upgraded = any(document.version != Version.V2_0 for document in documents)
    for document in documents:
        changes += upgrade_document(document, types)
    # packages that are already 2.0 are not changed, including names
    if upgraded:
        changes += rename_variants(archive.variants())
    return _migrated(archive, Version.V2_0, documents, changes)


def downgrade_package(archive: Archive, *, drop: bool) -> Migration:
    """Convert all documents of an archive to 1.0, in memory; with `drop`, remove unsupported content.

    Raises
    ------
    RefusedEdit
        1.0 cannot represent some content, which must not be dropped. The message lists all of it; the documents of the
        archive must not be saved.
    InvalidDocument
        A document is not valid 2.0, or has an unknown version.
    """
    changes: list[Change] = []
    documents = tuple(documents_of(archive))
    gone: list[Gone] = []
    for document in documents:
        done = _lower(document, _fmi_versions(archive, document))
        if done:
            _state_defaults(document)
        changes += [change for each in done for change in each.changes]
        gone += [thing for each in done for thing in each.gone]
    changes += Cascade(archive, documents).run(gone)
    for document in documents:
        _require_success(document, Version.V1_0)
    _refuse(changes, drop)
    return _migrated(archive, Version.V1_0, documents, changes)


def _migrated(archive: Archive, version: Version, documents: tuple[Document, ...], changes: list[Change]) -> Migration:
    nested = tuple(name for name in archive.names() if name.lower().endswith(".ssp"))
    migration = _migration(version, documents, changes, nested)
    for edit in migration.files:
        # Parsed again, so that elements have the classes of their new kinds.
        archive.put(edit.name, edit.after or b"")
    return migration


def migrate_lone(document: Document, version: Version, *, drop: bool = False, types: Types = Types.KEEP) -> Migration:
    """Convert a document outside of an archive to a version. Raises as the functions above."""
    if version is Version.V2_0:
        changes = upgrade_document(document, types)
    else:
        changes = downgrade_document(document, lambda _: None)
        _refuse(changes, drop)
    return _migration(version, (document,), changes)


def upgrade_document(document: Document, types: Types) -> list[Change]:
    """Convert a document to 2.0; returns notable changes."""
    changes: list[Change] = []
    _require_valid(document)
    for part in _parts(document):
        if part.version != Version.V2_0:
            changes += upgrade_part(part)
    if types is Types.FMI3:
        for part in _parts(document):
            changes += modern_types(part)
    _require_success(document, Version.V2_0)
    return changes


def downgrade_document(document: Document, fmi_version: FmiVersionOf) -> list[Change]:
    """Convert a document to 1.0, dropping content if necessary; returns the losses."""
    done = _lower(document, fmi_version)
    changes = [change for each in done for change in each.changes]
    changes += Cascade(None, (document,)).run([thing for each in done for thing in each.gone])
    _require_success(document, Version.V1_0)
    return changes


def _state_defaults(document: Document) -> None:
    """State type and implementation of FMUs even if they are the defaults, for tools that do not apply defaults.

    OMSimulator skips components that do not state their type (docs/interoperability.md).
    """
    for component in Part(document.root).every(ssd.Component):
        if component.media_type == FMU and component.source:
            for name, value in (("type", FMU), ("implementation", ssd.Implementation.ANY.value)):
                if name not in component.attrib:
                    component.set(name, value)


def _lower(document: Document, fmi_version: FmiVersionOf) -> list[Downgrade]:
    _require_valid(document)
    done = [Downgrade(part, fmi_version) for part in _parts(document) if part.version == Version.V2_0]
    for downgrade in done:
        downgrade.run()
    return done


def documents_of(archive: Archive) -> Iterator[Document]:
    """SSP documents of an archive, by their usual extensions, or for `.xml` by their root.

    For a lone `.ssd` only itself, because the files around it may belong to other systems.
    """
    lone = archive.path.suffix.lower() == ".ssd" and not archive.path.is_dir()
    for name in (archive.default,) if lone else archive.names():
        suffix = name[name.rfind(".") :].lower()
        if name.startswith(_FOREIGN_FOLDERS):
            continue
        if suffix in (".ssd", *LONE_SUFFIXES):
            yield archive.document(name)
        elif suffix == ".xml" and (document := _perhaps(archive, name)) is not None:
            yield document


def _perhaps(archive: Archive, name: str) -> Document | None:
    try:
        document = archive.document(name)
    except InvalidDocument:
        return None  # not readable XML, so not an SSP document
    return document if document.format is not None else None


def _parts(document: Document) -> list[Part]:
    return list(Part(document.root).with_inline())


def _refuse(changes: list[Change], drop: bool) -> None:
    refusals = tuple(change for change in changes if change.loss is Loss.DROPPED)
    if refusals and not drop:
        lines = joined_lines(f"  {one.position}: {one.message}" for one in refusals)
        raise RefusedEdit(
            f"SSP 1.0 cannot hold everything of this:\n{lines}\n"
            "change it, or let it be dropped (--drop): upgrading again restores it",
            refusals,
        )


def _migration(
    version: Version, documents: tuple[Document, ...], changes: list[Change], nested: tuple[str, ...] = ()
) -> Migration:
    edits = [FileEdit(document.name, document.source, document.to_bytes()) for document in documents]
    return Migration(
        version,
        tuple(edit for edit in edits if edit.before != edit.after),
        tuple(sorted(changes, key=lambda change: (change.position, change.code))),
        tuple(edit.name for edit in edits if edit.before == edit.after),
        nested,
    )


def _fmi_versions(archive: Archive, document: Document) -> FmiVersionOf:
    @cache
    def version_of(source: str) -> str | None:
        try:
            return read_description(fmu_path(archive, archive.resolve(document.name, source))).fmi_version
        except (UnresolvableUri, MissingEntry, UnreadableFmu, InvalidDocument):
            return None  # rules report errors in the document

    def fmi_version(component: ssd.Component) -> str | None:
        return version_of(component.source) if component.media_type == FMU and component.source else None

    return fmi_version


def _require_valid(document: Document) -> None:
    """Check that the document is valid, because only then its meaning is certain."""
    version = "1.0" if document.version.startswith("1.") else document.version
    if document.format is None or version not in ("1.0", "2.0"):
        what = f"its version is {document.version!r}" if document.format else "it is not an SSP document"
        position = Position(document.name, document.line_of(document.root), "/")
        message = f"it cannot be converted: {what}"
        raise InvalidDocument(error("VER-001", position, message, "SSP knows the versions 1.0 and 2.0"))
    if problems := _problems(document, version):
        raise InvalidDocument(*problems)


def _require_success(document: Document, version: Version) -> None:
    """Check that the document is still valid after the conversion; otherwise it is not written."""
    root = Document(document.name, document.to_bytes())
    if problems := _problems(root, version):
        raise InvalidDocument(*problems)


def _problems(document: Document, version: str) -> list[Diagnostic]:
    advice = f"a document must be valid SSP {version} to be converted: see `ssptool validate`"
    return [
        error("XML-004", finding.element.position._replace(file=document.name), finding.message, advice)
        for finding in schema_findings(document.root, version)
    ]
