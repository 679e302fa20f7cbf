"""Parts of the content of reports: tables of text, and pictures."""

from collections.abc import Sequence
from dataclasses import dataclass

TableRows = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class ReportTable:
    """Rows of text under headings. `numbers` are the indices of numeric columns."""

    caption: str
    headings: Sequence[str]
    rows: TableRows
    numbers: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class ReportPicture:
    """A diagram or plot as markup, inserted unescaped."""

    title: str
    markup: str
    identity: str = ""
