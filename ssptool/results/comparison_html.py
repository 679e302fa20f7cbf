"""A comparison of traces as a table, for notebooks."""

from html import escape
from typing import TYPE_CHECKING

from ssptool.results.comparison_text import comparison_rows, conclusion

if TYPE_CHECKING:
    from ssptool.results.comparison import TraceComparison

_GOOD, _BAD = "#1a6e2e", "#b3261e"


def comparison_html(comparison: "TraceComparison") -> str:
    """The conclusion, and a row for each signal, those that agree the least first."""
    headings, *rows = comparison_rows(comparison)
    colour = _GOOD if comparison.agrees else _BAD
    head = "".join(f'<th style="text-align: left">{escape(name)}</th>' for name in headings)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    told = "".join(f"<p>{escape(line)}</p>" for line in comparison.remarks)
    return (
        f'<p style="color: {colour}; font-weight: bold">{escape(conclusion(comparison))}</p>{told}'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _cell(text: str) -> str:
    return f'<td style="text-align: left">{escape(text)}</td>'
