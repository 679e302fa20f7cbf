"""A report as a table, for notebooks."""

from collections.abc import Sequence
from html import escape

from ssptool.documents.diagnostics import Diagnostic

_COLOURS = {"error": "#b3261e", "warning": "#8a5000", "info": "#0b5394"}


def report_html(subject: str, diagnostics: Sequence[Diagnostic]) -> str:
    """Severity, code, place and message of every diagnostic, or that there is none."""
    if not diagnostics:
        return f"<p>{escape(subject)}: nothing to say.</p>"
    rows = "".join(
        f'<tr><td style="color: {_COLOURS[one.severity.value]}; font-weight: bold">{one.severity.value}</td>'
        f"<td><code>{escape(one.code)}</code></td><td>{escape(str(one.position))}</td>"
        f'<td style="text-align: left">{escape(one.message)}</td></tr>'
        for one in diagnostics
    )
    heads = "".join(f'<th style="text-align: left">{name}</th>' for name in ("severity", "rule", "place", "finding"))
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
