"""A comparison as text or JSON."""

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from types import MappingProxyType
from typing import Any

from ssptool.editing.compare import Comparison, Difference, DifferenceKind
from ssptool.editing.facts import Fact, Item, Section

_SIGNS = {DifferenceKind.ADDED: "+", DifferenceKind.REMOVED: "-", DifferenceKind.CHANGED: "~"}
_WITHOUT_NAME = frozenset({"value", "unit", "kind", "type"})  # facts that explain themselves
_TECHNICAL = frozenset({"content", "token"})  # facts that say nothing but whether they are equal


def comparison_text(comparison: Comparison) -> str:
    if comparison.equal:
        return f"{comparison.a} and {comparison.b} mean the same"
    return "\n".join(_lines(comparison))


def comparison_json(comparison: Comparison) -> str:
    """Facts as [before, after]; not-a-number and infinities are texts, as JSON has none."""
    content = {
        "a": comparison.a,
        "b": comparison.b,
        "equal": comparison.equal,
        "differences": [
            {
                "section": difference.section.value,
                "change": difference.kind.value,
                "name": difference.name,
                "facts": {each.fact: [_json(each.before), _json(each.after)] for each in difference.facts},
                "before": _place(difference.before),
                "after": _place(difference.after),
            }
            for difference in comparison.differences
        ],
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)


def _lines(comparison: Comparison) -> Iterator[str]:
    yield f"--- {comparison.a}"
    yield f"+++ {comparison.b}"
    for section, differences in groupby(comparison.differences, key=lambda difference: difference.section):
        yield f"{section}"
        for difference in differences:
            yield f"  {_SIGNS[difference.kind]} {difference.name}{_details(difference)}"
    count = len(comparison.differences)
    yield f"{count} difference{'s' if count > 1 else ''}"


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


def _value(item: Item) -> str:
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
    return repr(fact).removesuffix(".0") if isinstance(fact, float) else str(fact)


def _json(fact: Fact) -> Any:
    if isinstance(fact, tuple):
        return [_json(each) for each in fact]
    finite = not isinstance(fact, float) or abs(fact) < float("inf")
    return fact if finite else str(fact)


def _place(item: Item | None) -> dict[str, str | int] | None:
    if item is None:
        return None
    return {"file": item.position.file, "line": item.position.line, "origin": item.origin}


DIFF_RENDERERS: Mapping[str, Callable[[Comparison], str]] = MappingProxyType(
    {"text": comparison_text, "json": comparison_json}
)
