"""Rules on a package, its entries, metadata, signatures and annotations."""

import re
import unicodedata
from collections.abc import Iterator
from hashlib import sha3_256

from ssptool.documents import ssc, ssd
from ssptool.documents.aside import aside
from ssptool.documents.diagnostics import Position
from ssptool.documents.element import Element
from ssptool.documents.ssc import MetaSourceBase
from ssptool.documents.storage import NESTING_MARK
from ssptool.documents.uri import UP, unportable_names
from ssptool.documents.vocabulary import SETTINGS_FILE, media_type
from ssptool.rules.catalogue import (
    DERIVED,
    ERROR,
    INFO,
    MUST,
    POLICY,
    SHOULD,
    TEXT,
    WARNING,
    Chapter,
    Finding,
    Fix,
    Repack,
)
from ssptool.rules.sources import sources_of
from ssptool.rules.subjects import Package, Reach, Structure, Unreadable, refer, resolve

METADATA = Chapter("Metadata and signatures (SSP 2.0 §4.5.4, §4.5.5)", section="SSP 2.0 §4.5.4, §4.5.5")
SRMD_TYPE = "application/x-srmd-meta-data"
SRMD_ROOT = "{http://ssp-standard.org/SSPTraceability1/SimulationResourceMetaData}SimulationResourceMetaData"
_TOKEN = r"[A-Za-z0-9!#$&^_.+\-]+"
_MEDIA_TYPE = re.compile(rf"{_TOKEN}/{_TOKEN}(\s*;.*)?")


@METADATA.rule("META-002", severity=ERROR, basis=MUST, versions=["2.0"])
def one_place_of_metadata(data: ssc.MetaData | ssc.Signature, structure: Structure) -> Iterator[Finding]:
    """Metadata, and a signature, is either written inline or named by `source`.

    Fix: remove the attribute or the `Content`, or add one of them.

    Accepted: a run does not read metadata.
    """
    if data.source is not None and data.content is not None:
        yield Finding(data, "both source and Content are given", "remove one of them", "source")
    if data.source is None and data.content is None:
        yield Finding(data, "neither source nor Content is given", "add one of them")


@METADATA.rule("META-003", severity=ERROR, basis=TEXT, versions=["2.0"])
def base_resource(data: ssc.MetaData | ssc.Signature, structure: Structure) -> Iterator[Finding]:
    """`sourceBase="resource"` needs an enclosing element with a `source`.

    The URI is resolved next to or inside the file that the enclosing element refers to.

    Fix: write `sourceBase="file"`, or leave it out.

    Accepted: a run does not read metadata.
    """
    if data.source_base is MetaSourceBase.RESOURCE:
        parent = data.getparent()
        kinds = (ssd.Component, ssd.ParameterBinding, ssd.ParameterMapping, ssd.SignalDictionary, ssc.MetaData)
        if not (isinstance(parent, kinds) and parent.source):
            yield Finding(data, "the element around it has no source", "", "sourceBase")


@METADATA.rule("META-004", severity=ERROR, basis=TEXT, source="SSP 2.0 §4.5.5", versions=["2.0"])
def base_metadata(signature: ssc.Signature, structure: Structure) -> Iterator[Finding]:
    """`sourceBase="metaData"` is for signatures of metadata only.

    Fix: write `sourceBase="file"`, or leave it out.

    Accepted: a run does not read metadata.
    """
    inside = isinstance(signature.getparent(), ssc.MetaData)
    if signature.source_base is MetaSourceBase.META_DATA and not inside:
        yield Finding(signature, "the signature is not in MetaData", "", "sourceBase")


@METADATA.rule("META-005", severity=ERROR, basis=MUST, source="SSP 2.0 §4.5.4", versions=["2.0"])
def inline_resource_metadata(data: ssc.MetaData, structure: Structure) -> Iterator[Finding]:
    """Inline metadata of the type `application/x-srmd-meta-data` is one `srmd:SimulationResourceMetaData`.

    Content of any other type may be any XML.

    Fix: put that element around it, or state the type that the content has.

    Accepted: a run does not read metadata.
    """
    if data.content is not None and media_type(data.type) == SRMD_TYPE:
        found = [child.tag for child in data.content.iterchildren("*")]
        if found != [SRMD_ROOT]:
            names = ", ".join(tag.rpartition("}")[2] for tag in found[:3]) or "empty"
            yield Finding(data.content, f"expected one SimulationResourceMetaData, found {names}")


@METADATA.rule("META-006", severity=WARNING, basis=DERIVED, versions=["2.0"])
def media_types_of_metadata(data: ssc.MetaData | ssc.Signature, structure: Structure) -> Iterator[Finding]:
    """The type of metadata and signatures is a media type, such as `application/xml`.

    Fix: write `application/octet-stream` if nothing else fits.
    """
    if not _MEDIA_TYPE.fullmatch(data.type):
        yield Finding(data, f"'{data.type}' is not a media type", "", "type")


@METADATA.rule(
    "META-101", severity=INFO, basis=POLICY, source="SSP 2.0 §4.5.5 leaves open how to verify", versions=["2.0"]
)
def signatures_are_not_verified(signature: ssc.Signature, structure: Structure) -> Iterator[Finding]:
    """ssptool does not verify signatures.

    The standard has a place for signatures but no procedure; each type needs its own procedure and a trusted key.

    Fix: verify it with the tool that signed.
    """
    what = "these metadata" if isinstance(signature.getparent(), ssc.MetaData) else "the element around it"
    message = f"a signature of the type '{signature.type}' for the {signature.role} of {what} was not verified"
    yield Finding(signature, message, "verify it with the tool that signed")


@METADATA.rule("META-102", severity=WARNING, basis=DERIVED, source="SSP Traceability 1.0, SRMD", versions=["2.0"])
def checksums(data: ssc.MetaData, structure: Structure) -> Iterator[Finding]:
    """A file has the checksum that its inline resource metadata state.

    Otherwise the metadata describe another file. ssptool verifies SHA3-256 checksums of files in the package, and
    reports all others as not verified (an information).

    Fix: restore the file; or update the metadata if the file was changed on purpose.
    """
    described = None if data.content is None else data.content.find(SRMD_ROOT)
    if described is None or not (stated := described.get("checksum")):
        return
    kind, uri = described.get("checksumType", ""), described.get("data", "")
    reference = resolve(uri, data.position.file, structure.archive.resolve)
    if kind.upper() != "SHA3-256" or not uri or reference.reach is not Reach.INSIDE:
        message = f"the checksum of '{uri}' ({kind or 'of no stated type'}) was not verified"
        yield Finding(data, message, "only SHA3-256 of files of the package is verified", severity=INFO)
    elif not structure.archive.has(reference.entry):
        yield Finding(data, f"there is no file '{reference.entry}', whose checksum is stated")
    elif (found := sha3_256(structure.archive.read(reference.entry)).hexdigest()) != stated.strip().lower():
        yield Finding(data, f"the checksum of '{reference.entry}' is {found}, and {stated} is stated")


@METADATA.rule("TYPE-003", severity=ERROR, basis=MUST, source="SSP 2.0 §4.5.1; RFC 2045")
def media_types_of_binaries(binary: ssc.Binary, structure: Structure) -> Iterator[Finding]:
    """The `mime-type` of a binary is a media type, with or without parameters.

    Fix: write `application/octet-stream` if nothing else fits.

    Accepted: the bytes pass as they are.
    """
    if not _MEDIA_TYPE.fullmatch(binary.mime_type):
        yield Finding(binary, f"'{binary.mime_type}' is not a media type", "", "mime-type")


ANNOTATIONS = Chapter("Annotations (SSP 2.0 §4.2)")

REVERSE_DOMAIN = re.compile(r"[A-Za-z0-9\-]+(\.[A-Za-z0-9_\-]+)+")
RESERVED = ("org.modelica", "org.ssp-standard")
LAYERED_STANDARDS = ("org.ssp-standard.ssp-traceability",)
"""Published layered standards of the Modelica Association under the reserved names."""


def reserved(name: str) -> bool:
    """True if a name is in a domain of the standard's owner, and is not a published one."""
    inside = any(name == domain or name.startswith(domain + ".") for domain in RESERVED)
    return inside and not name.startswith(LAYERED_STANDARDS)


@ANNOTATIONS.rule("ANN-002", severity=WARNING, basis=SHOULD, source="SSP 2.0 §4.2, §2.1.3")
def reverse_domain(annotation: ssc.Annotation, structure: Structure) -> Iterator[Finding]:
    """The type of an annotation is a reverse domain name, such as `com.example.tool`.

    Names under a domain that its author owns cannot clash with those of others.

    Fix: put a reversed domain of yours before the name.
    """
    if not REVERSE_DOMAIN.fullmatch(annotation.type):
        advice = f"for example com.example.{annotation.type.strip() or 'tool'}"
        yield Finding(annotation, f"'{annotation.type}' is not a reverse domain name", advice, "type")


@ANNOTATIONS.rule("ANN-003", severity=ERROR, basis=MUST, source="SSP 2.0 §4.2")
def reserved_types(annotation: ssc.Annotation, structure: Structure) -> Iterator[Finding]:
    """Types under `org.modelica` and `org.ssp-standard` are reserved for the standard itself.

    Tools read them as the standard defines them.

    Fix: use a reversed domain of your own.

    Accepted: a run does not read annotations.
    """
    if reserved(annotation.type):
        yield Finding(annotation, f"'{annotation.type}' is reserved for layered standards of SSP", "", "type")


ENTRIES = Chapter("The package and its entries (SSP 2.0 §3)", section="SSP 2.0 §3")
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf]")  # UTF-8 encoding of U+D800 to U+DFFF
_FOLDERS = ("resources/", "documentation/", "extra/")


@ENTRIES.rule("PKG-001", severity=ERROR, basis=MUST, blocks_run=True)
def readable_zip(archive: Unreadable) -> Iterator[Finding]:
    """The package is a readable zip archive.

    A truncated download or a renamed text file has no table of contents to find the documents by.

    Fix: pack or download the file again.
    """
    yield from archive.reported("PKG-001")


@ENTRIES.rule("OSP-101", severity=ERROR, basis=POLICY, source="OSP-IS, OspSystemStructure 0.1", blocks_run=True)
def counterparts_in_ssp(archive: Unreadable) -> Iterator[Finding]:
    """An OspSystemStructure.xml of the Open Simulation Platform uses only features that SSP has.

    Linear transformations and sums are read; other functions are not. Variable groups need the OspModelDescription.xml
    that defines them. FMUs lie in the folder of the structure, in the working folder, in the repository around, or in a
    folder of `--allow-outside`.

    Fix: connect the variables without the function; or put the OspModelDescription.xml next to the structure.
    """
    yield from archive.reported("OSP-101")


@ENTRIES.rule("PKG-002", severity=ERROR, basis=MUST, blocks_run=True)
def plain_compression(archive: Unreadable) -> Iterator[Finding]:
    """Every entry is stored or deflated.

    Every reader of zip archives supports these two methods.

    Fix: pack again without choosing another method of compression.
    """
    yield from archive.reported("PKG-002")


@ENTRIES.rule("PKG-003", severity=ERROR, basis=MUST, blocks_run=True)
def not_encrypted(archive: Unreadable) -> Iterator[Finding]:
    """No entry is encrypted.

    Tools read a package without asking for a password.

    Fix: pack again without encryption.
    """
    yield from archive.reported("PKG-003")


@ENTRIES.rule("PKG-004", severity=ERROR, basis=MUST, blocks_run=True)
def one_piece(package: Package) -> Iterator[Finding]:
    """The package is one file, not split or spanned over several.

    Fix: pack again into one file.
    """
    facts = package.archive.zip_facts
    if facts is not None and facts.disks != {0}:
        yield Finding(_whole(package), "the archive is one part of a split archive", "pack it again")


@ENTRIES.rule("PKG-005", severity=ERROR, basis=MUST)
def plain_zip(package: Package) -> Iterator[Finding]:
    """Every entry can be read with version 2.0 of the zip format, without ZIP64.

    Every reader of zip archives supports version 2.0.

    Fix: pack again without ZIP64, and without streaming.

    Accepted: the entries are read all the same.
    """
    facts = package.archive.zip_facts
    for entry in facts.entries if facts is not None else ():
        if entry.needs > 20:
            found = f"version {entry.needs / 10:.1f} of the zip format is needed to read the entry, more than 2.0"
            yield Finding(Position(entry.name), found, "pack again without ZIP64")


@ENTRIES.rule("PKG-006", severity=INFO, basis=SHOULD)
def ascii_names(package: Package) -> Iterator[Finding]:
    """Names of entries are plain ASCII.

    Some tools and file systems read other characters differently.

    Fix: rename the file, and the references to it.
    """
    facts = package.archive.zip_facts
    for entry in facts.entries if facts is not None else ():
        if not entry.raw.isascii():
            yield Finding(Position(entry.name), "the name has characters outside ASCII")


@ENTRIES.rule("PKG-007", severity=WARNING, basis=SHOULD)
def utf8_names(package: Package) -> Iterator[Finding]:
    """Names of entries that are not ASCII, and their comments, are UTF-8 and say so (flag bit 11).

    Without the flag a reader decodes the name with an old code page.

    Fix: pack again with a tool that writes UTF-8 names, or use ASCII.
    """
    facts = package.archive.zip_facts
    for entry in facts.entries if facts is not None else ():
        if not entry.utf8 and not (entry.raw + entry.comment).isascii():
            yield Finding(Position(entry.name), "the name or comment is neither ASCII nor marked as UTF-8")


@ENTRIES.rule("PKG-008", severity=WARNING, basis=TEXT)
def distinct_characters(package: Package) -> Iterator[Finding]:
    """Names differ in more than the Unicode composition of characters, and contain no surrogates.

    `é` can be one code point or two, and some file systems take both spellings for the same name. Surrogates belong to
    UTF-16 and are not valid in UTF-8.

    Fix: rename one of the files; pack again with a tool that writes UTF-8.
    """
    first: dict[str, str] = {}
    for name in package.names:
        other = first.setdefault(unicodedata.normalize("NFC", name), name)
        if other != name:
            yield Finding(Position(name), f"the name differs from {other!a} in the composition of characters only")
    facts = package.archive.zip_facts
    for entry in facts.entries if facts is not None else ():
        if _SURROGATE.search(entry.raw):
            yield Finding(Position(entry.name), "the bytes of the name contain surrogates")


@ENTRIES.rule("PKG-009", severity=ERROR, basis=MUST, blocks_run=True)
def default_structure(archive: Unreadable) -> Iterator[Finding]:
    """There is a `SystemStructure.ssd` at the root of the package.

    Tools use this variant unless the user chooses another one. Often the file is missing because the folder was packed
    instead of its contents.

    Fix: rename the default variant, or pack the contents of the folder.
    """
    yield from archive.reported("PKG-009")


@ENTRIES.rule("PKG-012", severity={"1.0": WARNING, "2.0": ERROR}, basis=MUST, source="SSP 2.0 §3; new in SSP 2.0")
def distinct_variants(package: Package) -> Iterator[Finding]:
    """The system structures at the root of a package have different names.

    Users choose between variants by name.

    Fix: rename one of them.

    Accepted: the name refers to the first of these system structures.
    """
    first: dict[str, str] = {}
    for structure in package.structures:
        if structure.file.valid and "/" not in structure.file.name:
            name = structure.root.name
            other = first.setdefault(name, structure.file.name)
            if other != structure.file.name:
                yield Finding(structure.root, f"{other} has the name '{name}' too", "rename one of them", "name")


@ENTRIES.rule("PKG-015", severity=ERROR, basis=MUST)
def documentation_index(package: Package) -> Iterator[Finding]:
    """If there is documentation, it starts at `documentation/index.html`.

    Tools open that page.

    Fix: add it; it may just link to the other files.

    Accepted: a run does not read documentation.
    """
    documents = [name for name in package.names if name.startswith("documentation/")]
    if documents and "documentation/index.html" not in documents:
        yield Finding(Position(documents[0]), "there is documentation, but no documentation/index.html", "add it")


@ENTRIES.rule("PKG-016", severity=WARNING, basis=TEXT)
def no_other_folders(package: Package) -> Iterator[Finding]:
    """The root of a package holds only system structures, `resources`, `documentation` and `extra`.

    All other names are reserved for later versions. A folder that is not packed yet may also hold a README, hidden
    files, the settings of ssptool (`ssptool.toml`), and what its commands write and no document refers to: results,
    logs, plots, reports and studies. `ssptool pack` leaves them out.

    Fix: move the file to `resources/`, or to `extra/<your reversed domain>/`.
    """
    no_part = aside(package.archive)
    for name in package.names:
        structure = name == package.archive.default or ("/" not in name and name.lower().endswith(".ssd"))
        if not (structure or name == SETTINGS_FILE or name.startswith(_FOLDERS) or name in no_part):
            yield Finding(
                Position(name),
                "only *.ssd, resources/, documentation/ and extra/ may stand at the root of a package",
                "move it to resources/",
            )


@ENTRIES.rule("PKG-017", severity=WARNING, basis=SHOULD, source="SSP 2.0 §3, §2.1.2")
def extra_by_domain(package: Package) -> Iterator[Finding]:
    """Files in `extra` stand in folders named by reversed domains.

    Then the data of different tools cannot clash.

    Fix: move it to `extra/<your reversed domain>/`.
    """
    for name in package.names:
        parts = name.split("/")
        if parts[0] == "extra" and (len(parts) < 3 or not REVERSE_DOMAIN.fullmatch(parts[1])):
            yield Finding(Position(name), "not in a folder named by a reversed domain, such as extra/com.example.tool")


@ENTRIES.rule("PKG-018", severity=ERROR, basis=MUST)
def extra_reserved(package: Package) -> Iterator[Finding]:
    """Folders `extra/org.modelica…` and `extra/org.ssp-standard…` are reserved for layered standards of SSP.

    Tools read their content as such a standard defines it.

    Fix: use a reversed domain of your own.

    Accepted: a run does not read these folders.
    """
    for name in package.names:
        parts = name.split("/")
        if parts[0] == "extra" and len(parts) > 1 and reserved(parts[1]):
            yield Finding(Position(name), f"extra/{parts[1]} is reserved for layered standards of SSP")


@ENTRIES.rule("PKG-020", severity=ERROR, basis=DERIVED, blocks_run=True)
def safe_names(archive: Unreadable) -> Iterator[Finding]:
    """Names of entries are relative, never lead upwards, and have no control characters; backslashes count as slashes.

    Unpacking such an entry would write outside the target folder.

    Fix: pack again with relative names.
    """
    yield from archive.reported("PKG-020")


@ENTRIES.rule(
    "PKG-021",
    severity=ERROR,
    basis=TEXT,
    source="SSP 2.0 §3; that duplicates are errors is our policy",
    blocks_run=True,
)
def plain_names(archive: Unreadable) -> Iterator[Finding]:
    """Each name belongs to one file.

    Of two entries with the same name and different bytes each tool may read another one. A file and a folder cannot
    have the same name on disk.

    Fix: pack again from a folder.
    """
    yield from archive.reported("PKG-021")


@ENTRIES.rule("PKG-101", severity=ERROR, basis=POLICY, source="ssptool: a link reaches into the reader's file system")
def links_stay_inside(package: Package) -> Iterator[Finding]:
    """The links in the folder of an unpacked package point into that folder.

    A file that a link fetches from elsewhere is missing wherever the folder is sent, and a folder from others must not
    reach into the file system of its reader. Hidden files are left out, as they are not part of the package. A folder
    may be allowed with `--allow-outside`, or `allow-outside` in `ssptool.toml`.

    Fix: put a copy of the file in the place of the link.

    Accepted: other files are read; a link that points outside is never read.
    """
    used = set(_referenced(package)) if package.archive.path.suffix.lower() == ".ssd" else None
    for link in package.archive.links_out():
        # There may be unrelated files next to a lone SSD.
        if used is None or any(name == link.name or name.startswith(f"{link.name}/") for name in used):
            found = link.diagnostic()
            yield Finding(found.position, found.message, found.advice)


@ENTRIES.rule(
    "PKG-102", severity=WARNING, basis=POLICY, source="ssptool: names that Linux, macOS and Windows take for files"
)
def portable_names(package: Package) -> Iterator[Finding]:
    """Linux, macOS and Windows can all hold files with the names of the entries.

    Windows reserves names such as `CON` and `NUL`, with any ending, leaves out dots and spaces at the end, and does
    not take colons and control characters. On Windows and macOS names that differ in upper and lower case only are one
    file. Parts of a name have at most 255 bytes. `ssptool unpack --portable` refuses a package with such a name.

    Fix: rename the file, and the references to it.
    """
    no_part = aside(package.archive)
    for name, reason in unportable_names(name for name in package.names if name not in no_part):
        yield Finding(Position(name), f"the name {reason}", "rename the file, and the references to it")


@ENTRIES.rule("PKG-103", severity=WARNING, basis=POLICY, source="ssptool: APPNOTE.TXT 6.3, §4.4.17")
def plain_entries(package: Package) -> Iterator[Finding]:
    """Names of entries have forward slashes, no empty or `.` parts, and stand in the archive once. In FMUs too.

    ssptool reads such entries under their plain names, and one of several entries with equal bytes; other tools may not
    find them.

    Fix: pack again with plain names.
    """
    facts, archive = package.archive.zip_facts, package.archive
    for entry in facts.odd if facts is not None else ():
        fix = Fix((Repack(archive),))
        yield Finding(Position(entry.name), entry.told, "pack again with plain names", fix=fix)
    for name, fmu in {name: fmu for each in package.structures for name, fmu in each.fmu_files.items()}.items():
        for entry in fmu.odd:
            own = archive.has(name) and not (archive.is_generated or name.startswith(UP))
            place = Position(f"{name}{NESTING_MARK}{entry.name}")
            again = Fix((Repack(archive, name),)) if own else None
            yield Finding(place, entry.told, "pack the FMU again with plain names", fix=again)


@ENTRIES.rule("PKG-022", severity=INFO, basis=POLICY, source="ssptool")
def no_orphans(package: Package) -> Iterator[Finding]:
    """Every resource is used by some system structure of the package.

    An unused file may be left over, or the reference to it may be misspelt.

    Fix: delete it, or refer to it.
    """
    alone = package.archive.path.suffix.lower() == ".ssd"  # there may be other variants next to it
    if alone or not package.complete or not all(structure.file.valid for structure in package.structures):
        return
    used = set(_referenced(package))
    for name in package.names:
        if name.startswith("resources/") and name not in used:
            yield Finding(Position(name), "unused file: no .ssd refers to it")


@ENTRIES.rule("PKG-024", severity=ERROR, basis=DERIVED, source="SSP 2.0 §3, §5.4", blocks_run=True)
def reasonable_size(archive: Unreadable) -> Iterator[Finding]:
    """A package stays within the limits on entries, unpacked size and compression.

    Some kilobytes of zip can unpack to terabytes.

    Fix: if you trust the file, unpack it with another program and open the folder; nest packages less deeply.
    """
    yield from archive.reported("PKG-024")


def _whole(package: Package) -> Position:
    return Position(package.archive.path.name)


def _referenced(package: Package) -> Iterator[str]:
    """Entries that any URI of a checked document refers to."""
    for structure in package.structures:
        if structure.file.valid:
            icons = ((one, one.icon_source) for one in structure.all(ssd.ElementGeometry) if one.icon_source)
            for reference in (
                *(reference for _, _, reference in sources_of(structure)),
                *(structure.reference(one, icon) for one, icon in icons if icon is not None),
            ):
                if reference.reach is Reach.INSIDE:
                    yield reference.entry
    for file in package.files:
        found = () if file.document is None or file.valid else file.document.root.having("source", "iconSource")
        for element in found:
            for attribute in ("source", "iconSource"):
                if isinstance(element, Element) and (uri := element.get(attribute)):
                    reference = refer(element, uri, file.name, package.archive)
                    if reference.reach is Reach.INSIDE:
                        yield reference.entry
