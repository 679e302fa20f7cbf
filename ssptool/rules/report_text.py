"""Render a report as text, coloured on a terminal."""

import io
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.text import Text

from ssptool.documents.diagnostics import Diagnostic, Severity
from ssptool.foreign_text import has_colour, one_line, readable, terminal_size
from ssptool.rules.report import Excerpt, Report, summary

STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "bold cyan"}
_GUTTER = 6
_WIDEST = 160
_NARROWEST = 40
_INDENT = " " * 4
_MOST_OF_A_CODE = 100


def render_text(report: Report, *, colour: bool | None = None, width: int | None = None, each: bool = False) -> str:
    """Severity, code, location, message, source line and advice of each diagnostic, and a summary.

    Equal findings are merged, with their number and the first location, and at most a hundred findings of a code are
    shown; `each`: list all of them. `colour` None: if standard output supports it. `width` is the width at which lines
    are wrapped and source lines shortened; None: that of the terminal of standard output, unlimited without one.
    """
    terminal = sys.stdout.isatty()
    if width is None and terminal:
        width = terminal_size(sys.stdout).columns
    console = Console(
        file=io.StringIO(),
        force_terminal=has_colour(sys.stdout) if colour is None else colour,
        no_color=None if colour is None else not colour,
        highlight=False,
        soft_wrap=True,
        width=_WIDEST,
    )
    with console.capture() as capture:
        for text in _parts(report, None if width is None else max(width, _NARROWEST), each):
            console.print(text)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def _parts(report: Report, width: int | None, each: bool) -> Iterator[Text]:
    alike = Counter(map(_said, report.diagnostics))
    told = set[tuple[object, ...]]()
    of_code = Counter[str]()
    for diagnostic in report.diagnostics:
        said = _said(diagnostic)
        if each or said not in told:
            of_code[diagnostic.code] += 1
            if each or of_code[diagnostic.code] <= _MOST_OF_A_CODE:
                number = 1 if each else alike[said]
                yield _diagnostic(diagnostic, report.excerpts.get(diagnostic.position), width, number)
        told.add(said)
    for skipped in report.skipped:
        yield _wrapped(Text.assemble(("skipped", "dim"), one_line(f" {skipped.file}: {skipped.reason}")), width)
    for word, style, findings, end in _hidden(report):
        yield _wrapped(
            Text.assemble((word, style), f" although required by the standard: {_by_code(findings)}{end}"), width
        )
    yield _wrapped(Text(one_line(summary(report)), _style(report)), width)
    for code, number in of_code.items():
        if not each and number > _MOST_OF_A_CODE:
            yield _wrapped(Text(f"and {number - _MOST_OF_A_CODE} more of {code}; --all lists each", "dim"), width)
    if not each and len(told) < len(report.diagnostics):
        yield _wrapped(Text("findings with the same text are shown once; --all lists each", "dim"), width)
    if report.fixable:
        yield _wrapped(Text(_fixable(report), "green"), width)


def _said(diagnostic: Diagnostic) -> tuple[object, ...]:
    return diagnostic.severity, diagnostic.code, diagnostic.message


def _diagnostic(diagnostic: Diagnostic, excerpt: Excerpt | None, width: int | None, number: int) -> Text:
    style = STYLES[diagnostic.severity]
    place = diagnostic.position
    if excerpt is not None and excerpt.line:
        place = place._replace(line=excerpt.line)
    times = f" × {number}, first at" if number > 1 else ""
    head = Text.assemble(
        (diagnostic.severity.value, style), (f" {diagnostic.code}", "bold"), one_line(f"{times} {place}")
    )
    parts = [_wrapped(head, width), _wrapped(Text(_INDENT + readable(one_line(diagnostic.message))), width)]
    if excerpt is not None:
        parts.append(_excerpt(excerpt, diagnostic.position.line, style, min(width or _WIDEST, _WIDEST)))
    if diagnostic.advice:
        parts.append(_wrapped(Text(f"{_INDENT}Hint: {one_line(diagnostic.advice)}", "green"), width))
    return Text("\n").join([*parts, Text()])


def _wrapped(text: Text, width: int | None) -> Text:
    """Wrap between words with an indentation; paths without blanks are not broken."""
    if width is None or text.cell_len <= width:
        return text
    lines, at = [0], 0
    for word in re.finditer(r"\S+", text.plain):
        room = width - (len(_INDENT) if at else 0)
        if word.end() - at > room and word.start() > at and text.plain[at : word.start()].strip():
            at = word.start()
            lines.append(at)
    first, *others = text.divide(lines[1:])
    first.rstrip()
    for other in others:
        other.rstrip()
    return Text("\n" + _INDENT).join([first, *others])


def _excerpt(excerpt: Excerpt, line: int, style: str, width: int) -> Text:
    """The source line, cut to the width around the underlined part."""
    room = width - _GUTTER - len(" | ")
    source, start, end = _expanded(excerpt)
    indent = len(source) - len(source.lstrip())
    fits = end - indent <= room - (len(source) - indent > room)
    first = indent if fits else max(indent, min(start - room // 4, len(source) - room))
    before, after = ("…" if first > indent or excerpt.shift else ""), ("…" if len(source) > first + room else "")
    shown = before + source[first + len(before) : first + room - len(after)] + after
    marks = "~" * max(1, min(end - first, len(shown)) - (start - first))
    return Text.assemble(
        (f"{excerpt.line or line:>{_GUTTER}} | ", "dim"),
        f"{shown}\n",
        (" " * _GUTTER + " | ", "dim"),
        (" " * (start - first) + marks, style),
    )


def _expanded(excerpt: Excerpt) -> tuple[str, int, int]:
    """The line with expanded tabs, and the columns of the underlined part."""
    start, end = (len(_seen(excerpt.text[:at])) for at in excerpt.place)
    return _seen(excerpt.text), start, end


def _seen(source: str) -> str:
    return one_line(source.expandtabs(4))


def _style(report: Report) -> str:
    if not report.diagnostics:
        return "green"
    return "bold" if report.ok else "bold red"


def _fixable(report: Report) -> str:
    safe = sum(report.fixable.values())
    unsafe = len(report.fixable) - safe
    certain = f"{safe} can be fixed with --fix" if safe else ""
    guessed = f"{unsafe}{' more' if safe else ''} can be fixed with --unsafe-fixes" if unsafe else ""
    return "; ".join(filter(None, [certain, guessed, "--diff shows how"]))


def _hidden(report: Report) -> Iterator[tuple[str, str, Sequence[Diagnostic], str]]:
    """Hidden findings of rules based on the text of the standard: a word, its style, the findings, and the end of the
    sentence.
    """
    if ignored := [one for one in report.withheld if one not in report.unaccepted]:
        yield "ignored", "bold yellow", ignored, ""
    if report.unaccepted:
        yield "not selected", "bold red", report.unaccepted, "; --ignore CODE accepts errors"


def _by_code(findings: Iterable[Diagnostic]) -> str:
    counts = Counter(one.code for one in findings)
    return ", ".join(f"{code} ({number})" for code, number in sorted(counts.items()))
