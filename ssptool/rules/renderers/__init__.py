"""Ways to show a report, by name. Each takes a report and gives a text; none of them checks anything."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ssptool.rules.renderers.github import render_github
from ssptool.rules.renderers.json import render_json
from ssptool.rules.renderers.junit import render_junit
from ssptool.rules.renderers.sarif import render_sarif
from ssptool.rules.renderers.text import render_text, summary
from ssptool.rules.report import Report

__all__ = ["PLAIN_RENDERERS", "RENDERERS", "summary"]

_FOR_PROGRAMS: Mapping[str, Callable[[Report], str]] = {
    "json": render_json,
    "sarif": render_sarif,
    "junit": render_junit,
    "github": render_github,
}
RENDERERS: Mapping[str, Callable[[Report], str]] = MappingProxyType({"text": render_text, **_FOR_PROGRAMS})


def _plain_text(report: Report) -> str:
    return render_text(report, colour=False)


PLAIN_RENDERERS: Mapping[str, Callable[[Report], str]] = MappingProxyType({"text": _plain_text, **_FOR_PROGRAMS})
"""The same without colours, for files."""
