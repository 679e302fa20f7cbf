"""What differs between two systems, by meaning."""

from collections.abc import Iterator
from enum import StrEnum

from ssptool.dataclass import dataclass
from ssptool.documents.archive import Archive
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.document import Document
from ssptool.editing.facts import Fact, Item, Items, Section, digest, items_of


class DifferenceKind(StrEnum):
    """Which of the systems has a thing."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class FactChange:
    """One fact before and after; None where it is not stated."""

    fact: str
    before: Fact
    after: Fact


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that only one of the systems has, or of which facts differ. `before` and `after` say where it is."""

    section: Section
    kind: DifferenceKind
    name: str
    facts: tuple[FactChange, ...]
    before: Item | None
    after: Item | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences between the systems `a` and `b`, in the order of sections and names."""

    a: str
    b: str
    differences: tuple[Difference, ...]

    @property
    def equal(self) -> bool:
        return not self.differences


def compare(a: tuple[Archive, Document], b: tuple[Archive, Document]) -> Comparison:
    """Compare two variants, each with the archive that it is in.

    If both are the default variants of packages, so are their other variants, which are told apart by name.

    Raises
    ------
    InvalidDocument
        A required attribute is missing or has an impossible value.
    """
    before, after = items_of(*a), items_of(*b)
    if all(_has_variants(archive, structure) for archive, structure in (a, b)):
        before, after = before | _variants(*a), after | _variants(*b)
    return Comparison(_title(*a), _title(*b), tuple(_differences(before, after)))


def _has_variants(archive: Archive, structure: Document) -> bool:
    return structure.name == archive.default and archive.path.suffix.lower() != ".ssd"


def _variants(archive: Archive, structure: Document) -> Items:
    """The other variants; all that is said of one is whether it differs."""
    found: Items = {}
    for document in archive.variants():
        if document.name != structure.name:
            name = document.root.get("name", document.name)
            try:
                content: Fact = digest(items_of(archive, document))
            except InvalidDocument:
                content = document.source.decode()
            item = Item(Section.VARIANT, name, {"content": content}, document.root.position)
            found[Section.VARIANT, name] = item
    return found


def _differences(before: Items, after: Items) -> Iterator[Difference]:
    order = list(Section)
    for key in sorted(before.keys() | after.keys(), key=lambda key: (order.index(key[0]), key[1])):
        old, new = before.get(key), after.get(key)
        if old is None or new is None:
            kind = DifferenceKind.ADDED if old is None else DifferenceKind.REMOVED
            yield Difference(*_named(key, kind), _fact_changes(old, new), old, new)
        elif facts := _fact_changes(old, new):
            yield Difference(*_named(key, DifferenceKind.CHANGED), facts, old, new)


def _named(key: tuple[Section, str], kind: DifferenceKind) -> tuple[Section, DifferenceKind, str]:
    return key[0], kind, key[1]


def _fact_changes(old: Item | None, new: Item | None) -> tuple[FactChange, ...]:
    was = {} if old is None else old.facts
    now = {} if new is None else new.facts
    names = dict.fromkeys((*was, *now))
    return tuple(
        FactChange(name, was.get(name), now.get(name)) for name in names if not _same(was.get(name), now.get(name))
    )


def _same(a: Fact, b: Fact) -> bool:
    """Equal and of one type, since true is not 1; not-a-number is itself."""
    return type(a) is type(b) and (a == b or (a != a and b != b))


def _title(archive: Archive, structure: Document) -> str:
    return str(archive.path) + ("" if structure.name == archive.default else f" ({structure.name})")
