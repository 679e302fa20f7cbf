"""A report as text, for people: coloured on a terminal, plain elsewhere."""

import io
import sys
from collections import Counter

from rich.console import Console
from rich.text import Text

from ssptool.documents.diagnostics import Diagnostic, Severity
from ssptool.rules.excerpt import Excerpt
from ssptool.rules.report import Report

STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "bold cyan"}
_GUTTER = 6
_WIDEST = 160


def render_text(report: Report, *, colour: bool | None = None) -> str:
    """The report as lines: per diagnostic its severity, code, place, message, source line and advice; a summary.

    `colour` None: as standard output can show it.
    """
    console = Console(
        file=io.StringIO(),
        force_terminal=sys.stdout.isatty() if colour is None else colour,
        no_color=None if colour is None else not colour,
        highlight=False,
        soft_wrap=True,
        width=_WIDEST,
    )
    with console.capture() as capture:
        for diagnostic in report.diagnostics:
            console.print(_diagnostic(diagnostic, report.excerpts.get(diagnostic.position)))
        for skipped in report.skipped:
            console.print(Text.assemble(("skipped", "dim"), f" {skipped.file}: {skipped.reason}"))
        if report.withheld:
            console.print(Text.assemble(("ignored", "bold yellow"), f" {_withheld(report)}"))
        console.print(Text(summary(report), _style(report)))
        if report.fixable:
            console.print(Text(_fixable(report), "green"))
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def _diagnostic(diagnostic: Diagnostic, excerpt: Excerpt | None) -> Text:
    style = STYLES[diagnostic.severity]
    text = Text.assemble(
        (diagnostic.severity.value, style),
        (f" {diagnostic.code}", "bold"),
        f" {diagnostic.position}\n    {diagnostic.message}\n",
    )
    if excerpt is not None:
        text.append_text(_excerpt(excerpt, diagnostic.position.line, style))
    if diagnostic.advice:
        text.append(f"    Hint: {diagnostic.advice}\n", "green")
    return text


def _excerpt(excerpt: Excerpt, line: int, style: str) -> Text:
    """The source line, cut to what fits around the offending place, and that underlined."""
    indent = len(excerpt.text) - len(excerpt.text.lstrip())
    first = indent if excerpt.end - indent <= _WIDEST - 20 else max(indent, excerpt.start - 20)
    shown = excerpt.text[first : first + _WIDEST - 20]
    start = excerpt.start - first
    marks = "~" * max(1, min(excerpt.end - first, len(shown)) - start)
    return Text.assemble(
        (f"{line:>{_GUTTER}} | ", "dim"),
        f"{shown}\n",
        (" " * _GUTTER + " | ", "dim"),
        (" " * start + marks, style),
        "\n",
    )


def summary(report: Report) -> str:
    """How much was found, and where."""
    where = _files(report)
    ignored = f" ({len(report.withheld)} more ignored)" if report.withheld else ""
    if not report.diagnostics:
        return f"no findings in {where}{ignored}"
    counts = [
        _count(len(report.errors), "error"),
        _count(len(report.warnings), "warning"),
        _count(len(report.infos), "info"),
    ]
    return f"{', '.join(filter(None, counts))} in {where}{ignored}"


def _style(report: Report) -> str:
    if not report.diagnostics:
        return "green"
    return "bold" if report.ok else "bold red"


def _fixable(report: Report) -> str:
    safe = sum(report.fixable.values())
    unsafe = len(report.fixable) - safe
    certain = f"{safe} can be fixed: --fix" if safe else ""
    guessed = f"{unsafe} perhaps: --unsafe-fixes" if unsafe else ""
    return "; ".join(filter(None, [certain, guessed, "--diff shows how"]))


def _withheld(report: Report) -> str:
    """The findings that are not wanted, although they are against the words of the standard."""
    counts = Counter(diagnostic.code for diagnostic in report.withheld)
    listed = ", ".join(f"{code} ({number})" for code, number in sorted(counts.items()))
    return f"although the standard says so: {listed}"


def _files(report: Report) -> str:
    found = Counter(diagnostic.position.file for diagnostic in report.diagnostics)
    files = list(found) or [file for file in report.files if file.endswith(".ssd")] or [report.subject]
    return ", ".join(files[:3]) + (f" and {len(files) - 3} more files" if len(files) > 3 else "")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun if number == 1 else noun + 's'}" if number else ""
