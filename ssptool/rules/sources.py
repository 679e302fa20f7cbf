"""Rules on sources named by URI."""

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath as Path
from urllib.parse import quote

from ssptool.documents import ssc, ssd
from ssptool.documents.element import Element
from ssptool.documents.outside import refused
from ssptool.documents.storage import NESTING_MARK
from ssptool.documents.uri import UP, UnresolvableUri
from ssptool.network.tree import fmu_entry, has_fmu
from ssptool.rules.catalogue import (
    DERIVED,
    ERROR,
    MUST,
    POLICY,
    SHOULD,
    WARNING,
    XSD,
    Chapter,
    Finding,
    nearest,
    renamed,
    rewritten,
)
from ssptool.rules.subjects import Reach, Reference, Structure, every, found_once, full_name, is_fmu

SOURCES = Chapter("Sources named by URI (SSP 2.0 §5.4): they exist, lie inside the package and are written portably")


@SOURCES.rule("URI-002", severity=ERROR, basis=DERIVED, source="SSP 2.0 §5.4", blocks_run=True)
def resolves(structure: Structure) -> Iterator[Finding]:
    """A relative URI points to an existing file.

    Upper and lower case matter in a package, even if the file system of the author ignores them.

    A folder with an unpacked FMU may take the place of the FMU. If `x.fmu` is missing and the folder `x` holds an
    unpacked FMU, ssptool reads the folder (a warning). A missing file to which only metadata and signatures refer is a
    warning as well, because a run does not read it.

    Fix: add the file (build the FMU first, if needed), or correct the reference.
    """
    names = structure.archive.names()
    at_root = "/" not in structure.file.name
    for element, _, reference in sources_of(structure):
        if reference.reach is not Reach.INSIDE or structure.archive.has(reference.entry):
            continue
        if isinstance(element, ssd.Component) and is_fmu(element) and has_fmu(structure.archive, reference.entry):
            yield from _plain_folder(element, reference.entry, structure)
        elif kind := structure.archive.special_kind(reference.entry):
            yield Finding(element, f"'{reference.entry}' is {kind}, not a file", "put a file in its place", "source")
        else:
            message = f"there is no file '{structure.archive.stated(reference.entry)}'{_for(element)}"
            # Names of entries start at the root of the package, like references from a structure there.
            alike = _alike(reference.entry, names)
            known = [quote(name) for name in alike]
            fix = renamed(element, "source", known) if at_root and NESTING_MARK not in reference.entry else None
            read = not isinstance(element, ssc.MetaData | ssc.Signature)
            meant = " or ".join(f"'{name}'" for name in alike)
            advice = f"did you mean {meant}?" if meant else "add the file, or correct the reference"
            yield Finding(element, message, advice, "source", ERROR if read else WARNING, fix=fix)


_LIKENESS = 0.6  # Motor is similar to Rotor and Motor3, but Load is not similar to Motor


def _alike(entry: str, names: Iterable[str]) -> list[str]:
    """Up to three files with the same extension and a similar name, in any folder."""
    missing, stems = Path(entry), dict[str, list[str]]()
    for name in names:
        if Path(name).suffix.lower() == missing.suffix.lower():
            stems.setdefault(Path(name).stem.lower(), []).append(name)
    found = nearest(missing.stem.lower(), tuple(sorted(stems)), 3, _LIKENESS)
    return [name for stem in found for name in stems[stem]][:3]


@SOURCES.rule("URI-003", severity=ERROR, basis=XSD, source="SSP 2.0 §5.4, RFC 3986", blocks_run=True)
def valid_uris(structure: Structure) -> Iterator[Finding]:
    """A source is a valid URI: `/` between folders, `%20` for a blank.

    Fix: replace the characters that a URI does not allow.
    """
    for element, uri, reference in sources_of(structure):
        if reference.reach is Reach.INVALID:
            written = uri.replace("\\", "/").replace(" ", "%20")
            message = f"'{uri}' is not a URI: {reference.reason}"
            if written == uri:
                yield Finding(element, message, "", "source")
            else:
                there = structure.reference(element, written)
                certain = there.reach is Reach.INSIDE and structure.archive.has(there.entry)
                fix = rewritten(element, "source", written, safe=certain)
                yield Finding(element, message, f"write {written}", "source", fix=fix)


@SOURCES.rule("URI-004", severity=WARNING, basis=SHOULD, source="SSP 2.0 §5.4")
def portable_uris(structure: Structure) -> Iterator[Finding]:
    """Files are referred to by relative URIs.

    Tools need not support absolute URIs, which are valid on one machine only. ssptool does not follow them.

    Fix: put the file into `resources/` and refer to it there.
    """
    for element, uri, reference in sources_of(structure):
        if reference.reach is Reach.ABSOLUTE and not (isinstance(element, ssd.Component) and _packaged(structure, uri)):
            advice = "refer to a file of the package"
            if isinstance(element, ssd.Component) and is_fmu(element):
                advice = f"copy the FMU into the package with `ssptool replace SYSTEM {full_name(element)} FILE.fmu`"
            yield Finding(element, f"'{uri}' leads {reference.reach}", advice, "source")


@SOURCES.rule("URI-006", severity=ERROR, basis=POLICY, source="SSP 2.0 §3, §5.4", blocks_run=True)
def stays_inside(structure: Structure) -> Iterator[Finding]:
    """A URI does not point outside the package.

    A file outside is missing wherever the package is sent, and a system from others must not reach into the file
    system. Documents of an unpacked package or a lone SSD may name files in the working folder, and in the repository
    that holds the system (a warning). Other files, and all files outside a zip, are read only in the folders of
    `--allow-outside`, or of `allow-outside` in `ssptool.toml` (a warning as well). Files in `/proc`, `/sys` and `/dev`
    are never read.

    Fix: put the file into `resources/`.
    """
    for element, uri, reference in sources_of(structure):
        if reference.reach is Reach.OUTSIDE:
            yield Finding(element, *_refused(structure, uri, reference), "source")
        elif reference.reach is Reach.INSIDE and reference.entry.startswith(UP):
            around = "package" if structure.archive.packed else "folder of this SSD"
            message = f"'{uri}' lies outside the {around}"
            yield Finding(element, message, "move the file into the package", "source", WARNING)


@SOURCES.rule("SSD-COMP-003", severity=ERROR, basis=MUST, source="SSP 2.0 §5.4", blocks_run=True)
def packaged_components(structure: Structure) -> Iterator[Finding]:
    """A component whose file is in the package is referred to by a relative URI.

    An absolute URI is not valid on another machine.

    Fix: write the path inside the package.
    """
    for element, uri, reference in sources_of(structure):
        absolute = reference.reach is Reach.ABSOLUTE and isinstance(element, ssd.Component)
        packaged = _packaged(structure, uri) if absolute else ""
        if packaged:
            message = f"'{uri}' is absolute, but the file is in the package"
            fix = rewritten(element, "source", quote(packaged), safe=False)
            yield Finding(element, message, f"write {packaged}", "source", fix=fix)


@found_once
def sources_of(structure: Structure) -> tuple[tuple[Element, str, Reference], ...]:
    """All elements of a structure that refer to a file, relative to it or inside of a component, with their URIs."""
    return tuple((element, uri, structure.reference(element, uri)) for element, uri in _each_source(structure))


def _each_source(structure: Structure) -> Iterator[tuple[Element, str]]:
    for component in structure.all(ssd.Component):
        if uri := component.source:
            yield component, uri
    for element in structure.bindings_and_mappings():
        if element.source:
            yield element, element.source
    for dictionary in structure.all(ssd.SignalDictionary):
        if dictionary.source:
            yield dictionary, dictionary.source
    for root in structure.roots():
        stated: tuple[type[ssc.MetaData | ssc.Signature], ...] = (ssc.MetaData, ssc.Signature)
        for data in every(root, *stated):
            if data.source:
                yield data, data.source


def _plain_folder(component: ssd.Component, entry: str, structure: Structure) -> Iterator[Finding]:
    found = fmu_entry(structure.archive, entry)
    if found != entry.rstrip("/"):
        message = f"there is no file '{entry}': the unpacked FMU in the folder '{found}' is read"
        yield Finding(component, message, f"pack the folder as {entry}", "source", WARNING)


def _refused(structure: Structure, uri: str, reference: Reference) -> tuple[str, str]:
    """Message and advice about a file outside that is not read."""
    try:
        file = structure.archive.outside(structure.file.name, uri.partition("#")[0])
    except UnresolvableUri:
        return f"'{uri}' leads {reference.reach}", "move the file into the package"
    return refused(uri, file, packed=structure.archive.packed)


def _for(element: Element) -> str:
    return f" (the source of component '{element.name}')" if isinstance(element, ssd.Component) else ""


def _packaged(structure: Structure, uri: str) -> str:
    """The resource of the package whose path is the end of a URI; empty if there is none."""
    path, folder = uri.replace("\\", "/"), structure.file.name.rpartition("/")[0]
    below = folder + "/" if folder else ""
    inside = (name[len(below) :] for name in structure.archive.names() if name.startswith(below))
    return next((name for name in inside if "/" in name and path.endswith("/" + name)), "")
