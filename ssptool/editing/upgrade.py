"""Upgrade from SSP 1.0 to 2.0: nothing is lost, and originals preserved by a downgrade return."""

from collections import Counter
from collections.abc import Iterable, Iterator

from ssptool.documents import ssb, ssc, ssd, ssv
from ssptool.documents.document import Document
from ssptool.documents.element import expand
from ssptool.editing import originals
from ssptool.editing.changes import Change, Loss
from ssptool.editing.parts import Part

MODERN = {"Real": "Float64", "Integer": "Int32"}
"""The types of 1.0 and what they are called in FMI 3; both names mean the same in SSP 2.0."""


def upgrade_part(part: Part) -> Iterator[Change]:
    """Make one part of a document one of 2.0."""
    yield from _pre_release(part)
    yield from _empty_sources(part)
    yield from _kept_aside(part)
    part.root.set("version", "2.0")


def modern_types(part: Part) -> Iterator[Change]:
    """DIFF-03, DIFF-04: the types of FMI 3 instead of those that SSP 2.0 has kept from 1.0; a downgrade undoes it."""
    counts: Counter[str] = Counter()
    types = [
        *(connector.type for connector in part.every(ssd.Connector)),
        *(signal.type for signal in part.every(ssb.DictionaryEntry)),
        *(parameter.type for parameter in part.every(ssv.Parameter)),
    ]
    for type_ in types:
        if type_ is not None and type_.type_name in MODERN:
            counts[type_.type_name] += 1
            prefix = "ssv" if isinstance(type_, ssv.ParameterType) else "ssc"
            type_.tag = expand(f"{prefix}:{MODERN[type_.type_name]}")
    if counts:
        told = ", ".join(f"{count} × {old} is {MODERN[old]} now" for old, count in sorted(counts.items()))
        yield Change("DIFF-03", Loss.REWORDED, part.root.position, told)


def _pre_release(part: Part) -> Iterator[Change]:
    """DIFF-02: versions such as 1.0-beta are not known to 2.0, but the schema of 1.0 allows them."""
    if part.version != "1.0":
        yield Change("DIFF-02", Loss.NOTHING, part.root.position, f"the version was {part.version!r}")


def _empty_sources(part: Part) -> Iterator[Change]:
    """DIFF-13: in 1.0 an empty source was the only way to say that there is no implementation yet."""
    for component in part.every(ssd.Component):
        if component.source == "":
            message = f"{component.name!r} had an empty source, and has none now: it has no implementation yet"
            yield Change("DIFF-13", Loss.NOTHING, component.position, message)
            component.source = None


def _kept_aside(part: Part) -> Iterator[Change]:
    """Undo downgrades, again and again: what comes back may have notes of its own."""
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
    """DIFF-20: in 2.0 the names of all variants of a package differ; those that repeat get that of their file."""
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
