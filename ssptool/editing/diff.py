"""Differences between the meanings of two systems, as text and JSON."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from types import MappingProxyType

from ssptool.documents.archive import Archive
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.document import Document
from ssptool.documents.vocabulary import number_text
from ssptool.editing.meaning import Fact, Items, MeaningItem, Section, digest, items_of
from ssptool.errors import counted
from ssptool.foreign_text import joined_lines, json_text, one_line


class DifferenceKind(StrEnum):
    """Kind of a difference: only in A, only in B, or changed."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class FactChange:
    """One fact before and after; None if it is not stated."""

    fact: str
    before: Fact
    after: Fact


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference: an item that only one system has, or an item with different facts. `before` and `after` are its
    positions.
    """

    section: Section
    kind: DifferenceKind
    name: str
    facts: tuple[FactChange, ...]
    before: MeaningItem | None
    after: MeaningItem | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences between the systems `a` and `b`, in the order of sections and names."""

    a: str
    b: str
    differences: tuple[Difference, ...]

    @property
    def equal(self) -> bool:
        return not self.differences

    def __repr__(self) -> str:
        return f"<Comparison of {self.a} and {self.b}: {counted(len(self.differences), 'difference')}>"

    def __str__(self) -> str:
        return comparison_text(self)


def compare(a: tuple[Archive, Document], b: tuple[Archive, Document]) -> Comparison:
    """Compare two variants, each with its archive.

    If both are the default variants of packages, their other variants are also compared, by name.

    Raises
    ------
    InvalidDocument
        A required attribute is missing or has an invalid value.
    """
    before, after = items_of(*a), items_of(*b)
    if all(_has_variants(archive, structure) for archive, structure in (a, b)):
        before, after = before | _variants(*a), after | _variants(*b)
    return Comparison(_title(*a), _title(*b), tuple(_differences(before, after)))


def _has_variants(archive: Archive, structure: Document) -> bool:
    return structure.name == archive.default and archive.path.suffix.lower() != ".ssd"


def _variants(archive: Archive, structure: Document) -> Items:
    """The other variants; only whether a variant differs is reported."""
    found: Items = {}
    for document in archive.variants():
        if document.name != structure.name:
            name = document.root.get("name", document.name)
            try:
                content: Fact = digest(items_of(archive, document))
            except InvalidDocument:
                content = document.source.decode()
            item = MeaningItem(Section.VARIANT, name, {"content": content}, document.root.position)
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


def _fact_changes(old: MeaningItem | None, new: MeaningItem | None) -> tuple[FactChange, ...]:
    was = {} if old is None else old.facts
    now = {} if new is None else new.facts
    names = dict.fromkeys((*was, *now))
    return tuple(
        FactChange(name, was.get(name), now.get(name)) for name in names if not _same(was.get(name), now.get(name))
    )


def _same(a: Fact, b: Fact) -> bool:
    """True if two facts are equal and have the same type, because true is not 1; nan equals itself."""
    return type(a) is type(b) and (a == b or (a != a and b != b))


def _title(archive: Archive, structure: Document) -> str:
    return str(archive.path) + ("" if structure.name == archive.default else f" ({structure.name})")


_SIGNS = {DifferenceKind.ADDED: "+", DifferenceKind.REMOVED: "-", DifferenceKind.CHANGED: "~"}
_WITHOUT_NAME = frozenset({"value", "unit", "kind", "type"})  # facts that need no name
_TECHNICAL = frozenset({"content", "token"})  # facts that only show equality


def comparison_text(comparison: Comparison) -> str:
    if comparison.equal:
        return one_line(f"{comparison.a} and {comparison.b} mean the same")
    return joined_lines(_lines(comparison))


def comparison_json(comparison: Comparison) -> str:
    """Facts as [before, after]; nan and infinities are strings, because JSON does not have them."""
    content = {
        "a": comparison.a,
        "b": comparison.b,
        "equal": comparison.equal,
        "differences": [
            {
                "section": difference.section.value,
                "change": difference.kind.value,
                "name": difference.name,
                "facts": {each.fact: [each.before, each.after] for each in difference.facts},
                "before": _place(difference.before),
                "after": _place(difference.after),
            }
            for difference in comparison.differences
        ],
    }
    return json_text(content, indent=2)


def _lines(comparison: Comparison) -> Iterator[str]:
    yield f"--- {comparison.a}"
    yield f"+++ {comparison.b}"
    for section, differences in groupby(comparison.differences, key=lambda difference: difference.section):
        yield f"{section}"
        for difference in differences:
            yield f"  {_SIGNS[difference.kind]} {difference.name}{_details(difference)}"
    count = len(comparison.differences)
    yield counted(count, "difference")


def _details(difference: Difference) -> str:
    if difference.section is Section.VARIANT:
        return "  differs: compare it with --variant" if difference.kind is DifferenceKind.CHANGED else ""
    if difference.kind is not DifferenceKind.CHANGED:
        side = difference.before or difference.after
        assert side is not None
        if difference.section is Section.PARAMETER:
            return f"  {_value(side)}  ({side.position})"
        stated = (
            _stated(name, fact)
            for name, fact in side.facts.items()
            if name not in _TECHNICAL and not (fact is None or fact is False or fact == ())
        )
        return "  " + ", ".join(stated) + f"  ({side.position})"
    if difference.section is Section.PARAMETER:
        return "  " + _value_change(difference)
    told = [each for each in difference.facts if each.fact not in _TECHNICAL]
    changes = [f"{each.fact} {_shown(each.before)} → {_shown(each.after)}" for each in told]
    if any(each.fact in _TECHNICAL for each in difference.facts):
        changes.append("another content")
    return f"  {', '.join(changes)}  ({_places(difference)})"


def _value_change(difference: Difference) -> str:
    old, new = difference.before, difference.after
    assert old is not None and new is not None
    return f"{_value(old)} → {_value(new)}  ({_places(difference)})"


def _value(item: MeaningItem) -> str:
    unit = item.facts.get("unit")
    return _shown(item.facts.get("value")) + (f" {unit}" if unit else "")


def _places(difference: Difference) -> str:
    old, new = difference.before, difference.after
    assert old is not None and new is not None
    return str(old.position) if str(old.position) == str(new.position) else f"{old.position} → {new.position}"


def _stated(name: str, fact: Fact) -> str:
    return _shown(fact) if name in _WITHOUT_NAME else f"{name} {_shown(fact)}"


def _shown(fact: Fact) -> str:
    if fact is None:
        return "not stated"
    if isinstance(fact, bool):
        return str(fact).lower()
    if isinstance(fact, tuple):
        return "[" + " ".join(_shown(each) for each in fact) + "]"
    return number_text(fact) if isinstance(fact, float) else str(fact)


def _place(item: MeaningItem | None) -> dict[str, str | int] | None:
    if item is None:
        return None
    return {"file": item.position.file, "line": item.position.line, "origin": item.origin}


DIFF_RENDERERS: Mapping[str, Callable[[Comparison], str]] = MappingProxyType(
    {"text": comparison_text, "json": comparison_json}
)
