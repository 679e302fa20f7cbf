"""What is to be seen at once in a drawing: algebraic loops, findings."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from ssptool.dataclass import dataclass
from ssptool.documents.diagnostics import Diagnostic
from ssptool.drawing.sheets.sheet import Sheet
from ssptool.drawing.sheets.stated import Span


class Mark(StrEnum):
    """How something stands out; the first is the strongest."""

    ERROR = "error"
    WARNING = "warning"
    LOOP = "loop"
    INFO = "info"


MEANINGS = {Mark.ERROR: "error", Mark.WARNING: "warning", Mark.LOOP: "algebraic loop", Mark.INFO: "remark"}
"""What a legend says."""


@dataclass(frozen=True, slots=True)
class Remark:
    """Something to say of what a line of a file describes."""

    mark: Mark
    file: str
    line: int
    text: str


def findings(diagnostics: Iterable[Diagnostic]) -> Iterator[Remark]:
    """What a check has found, as remarks."""
    for one in diagnostics:
        yield Remark(Mark(one.severity.value), one.position.file, one.position.line, f"{one.code}: {one.message}")


def marked(sheets: Sequence[Sheet], remarks: Iterable[Remark]) -> Mapping[Span, tuple[Remark, ...]]:
    """For each drawn thing the remarks on it: each goes to the smallest thing that has its line.

    An element that opens says how many remarks there are inside.
    """
    spans = list(dict.fromkeys(span for sheet in sheets for span in _spans(sheet)))
    found: dict[Span, list[Remark]] = {}
    for remark in remarks:
        around = [span for span in spans if span.has(remark.file, remark.line)]
        if around:
            found.setdefault(min(around, key=lambda span: span.last - span.first), []).append(remark)
    # Inner sheets come after outer ones, so that what is deep inside shows in all that is around it.
    by_path = {sheet.path: sheet for sheet in sheets}
    for sheet in reversed(sheets):
        for block in sheet.blocks:
            if block.path in by_path and (inside := _inside(by_path[block.path], found)) is not None:
                found.setdefault(block.span, []).append(replace(inside, file=block.span.file, line=block.span.first))
    return {span: tuple(sorted(group, key=strength)) for span, group in found.items()}


def _inside(sheet: Sheet, found: Mapping[Span, Sequence[Remark]]) -> Remark | None:
    """One remark for all that there are in a system."""
    there = [remark for span in dict.fromkeys(_spans(sheet)) for remark in found.get(span, ())]
    if not there:
        return None
    strongest = min(there, key=strength)
    return replace(strongest, text=there[0].text if len(there) == 1 else f"inside: {len(there)} remarks")


def _spans(sheet: Sheet) -> Iterator[Span]:
    for block in sheet.blocks:
        yield block.span
        yield from (span for line in block.feedthrough for span in line.spans)
    yield from (span for line in sheet.lines for span in line.spans)


def strength(remark: Remark) -> int:
    """The strongest is 0."""
    return list(Mark).index(remark.mark)
