"""What is to be seen at once in a drawing: algebraic loops, findings."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from ssptool.drawing.sheets.sheet import Sheet
from ssptool.drawing.sheets.stated import Span


class Mark(StrEnum):
    """How something stands out; the first is the strongest."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    LOOP = "loop"


@dataclass(frozen=True, slots=True)
class Remark:
    """Something to say of what a line of a file describes."""

    mark: Mark
    file: str
    line: int
    text: str


def marked(sheets: Iterable[Sheet], remarks: Iterable[Remark]) -> Mapping[Span, tuple[Remark, ...]]:
    """For each drawn thing the remarks on it: each goes to the smallest thing that has its line."""
    spans = [span for sheet in sheets for span in _spans(sheet)]
    found: dict[Span, list[Remark]] = {}
    for remark in remarks:
        around = [span for span in spans if span.has(remark.file, remark.line)]
        if around:
            found.setdefault(min(around, key=lambda span: span.last - span.first), []).append(remark)
    return {span: tuple(sorted(group, key=_strength)) for span, group in found.items()}


def _spans(sheet: Sheet) -> Iterable[Span]:
    yield from (block.span for block in sheet.blocks)
    yield from (span for line in sheet.lines for span in line.spans)


def _strength(remark: Remark) -> int:
    return list(Mark).index(remark.mark)
