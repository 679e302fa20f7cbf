"""A comparison of traces as text and as JSON."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

from ssptool.results.comparison import SignalComparison, TraceComparison, Verdict

_HEADINGS = ("signal", "unit", "largest deviation", "allowed", "at [s]", "")


def comparison_text(comparison: TraceComparison) -> str:
    """A table with the signals that agree the least first, and one sentence of judgement."""
    rows = comparison_rows(comparison)
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines += [f"not in the reference: {', '.join(comparison.extra)}"] if comparison.extra else []
    return "\n".join([*lines, *comparison.remarks, conclusion(comparison)])


def comparison_rows(comparison: TraceComparison) -> list[tuple[str, ...]]:
    """The headings, and the cells of each signal."""
    return [_HEADINGS, *map(_row, comparison.signals)]


def _row(one: SignalComparison) -> tuple[str, ...]:
    if not one.compared:
        return one.signal, one.unit or "", "", "", "", f"{one.verdict.value}: {one.remark}".removesuffix(": ")
    told = f": {one.remark}" if one.remark else ""
    allowed = f"{one.half_width:.3g}" + (f" ± {one.tolerance.time:g} s" if one.tolerance.time else "")
    return one.signal, one.unit or "", f"{one.deviation:.3g}", allowed, f"{one.at:g}", one.judgement + told


def conclusion(comparison: TraceComparison) -> str:
    """One sentence."""
    wrong = sum(one.verdict is not Verdict.AGREES for one in comparison.signals)
    of = f"{len(comparison.signals)} signal" + ("s" if len(comparison.signals) != 1 else "")
    if comparison.agrees:
        return f"agrees: {of} inside {'their tubes' if len(comparison.signals) != 1 else 'its tube'}"
    return f"differs: {wrong} of {of}" + (" and the interval" if comparison.remarks else "")


def comparison_json(comparison: TraceComparison) -> str:
    """Numbers that JSON does not have (inf, nan) are null."""
    content = {
        "agrees": comparison.agrees,
        "remarks": list(comparison.remarks),
        "extra": list(comparison.extra),
        "signals": [_facts(one) for one in comparison.signals],
    }
    return json.dumps(content, indent=2, ensure_ascii=False)


def _facts(one: SignalComparison) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in asdict(one).items()
    }


TRACE_COMPARISON_RENDERERS: Mapping[str, Callable[[TraceComparison], str]] = MappingProxyType(
    {"text": comparison_text, "json": comparison_json}
)
