"""Reports of a validation: diagnostics, source lines, and HTML for notebooks."""

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from ssptool.documents.diagnostics import Diagnostic, Position, Severity
from ssptool.documents.storage import NESTING_MARK
from ssptool.errors import counted
from ssptool.foreign_text import html_text

_STEP = re.compile(r"(?P<name>[\w.\-]+)(?P<stated>(\[@\w+=('[^']*'|\"[^\"]*\")\])*)(\[\d+\])?$")
_STATED = re.compile(r"\[@(\w+)=(?:'([^']*)'|\"([^\"]*)\")\]")
_ATTRIBUTES = re.compile(r"([\w:.\-]+)\s*=\s*(\"[^\"]*\"|'[^']*')")
_ATTRIBUTE = re.compile(r"/@([\w:\-]+)$")


class Excerpt(NamedTuple):
    """One line of a document, with the characters `start` to `end` (from 0) at fault.

    `line` is its number, which differs from that of the finding if the attribute stands below the name of its element.
    """

    text: str
    start: int
    end: int
    line: int = 0


def excerpt(line: str, position: Position, following: Sequence[str] = ()) -> Excerpt:
    """The attribute or element of an address in its line; the whole line if it is not found.

    `following` are the lines below, to which the start tag may extend.
    """
    line = line.rstrip()
    address, attribute = _split(position.address)
    tag = _tag(line, address) if address or not attribute else _root_tag(line)
    if tag is None:
        return Excerpt(line, len(line) - len(line.lstrip()), len(line), position.line)
    if attribute:
        named = re.compile(rf"(?<![\w:.\-]){re.escape(attribute)}\s*=\s*(\"[^\"]*\"|'[^']*')")
        if found := named.search(line, *tag):
            return Excerpt(line, *found.span(), position.line)
        for number, below in enumerate(_of_tag(line, tag, following), position.line + 1):
            if found := named.search(below):
                return Excerpt(below.rstrip(), *found.span(), number)
    return Excerpt(line, *tag, position.line)


def _of_tag(line: str, tag: tuple[int, int], following: Sequence[str]) -> Iterator[str]:
    """The following lines to which a start tag extends."""
    if line.endswith(">", *tag):
        return
    for below in following:
        yield below
        if ">" in below:
            return


def _split(address: str) -> tuple[str, str]:
    named = _ATTRIBUTE.search(address)
    return (address[: named.start()], named[1]) if named else (address, "")


def _tag(line: str, address: str) -> tuple[int, int] | None:
    """The columns of the start tag of an element, found by its name and the identifying attributes of the address.

    Enclosing elements may stand on the same line, before it.
    """
    steps = [step for part in _steps(address) if (step := _STEP.search(part)) is not None]
    if not steps or _STEP.search(address) is None:
        return None
    at = 0
    for step in steps[:-1]:
        if step["stated"] and (around := _first(line, step, at)):
            at = around[1]
    return _first(line, steps[-1], at)


def _root_tag(line: str) -> tuple[int, int] | None:
    """The columns of the start tag of the root, whose address is `/`."""
    tag = re.search(r"<\w[^<>]*>?", line)
    return tag.span() if tag else None


def _steps(address: str) -> list[str]:
    """The steps of an address; quoted values may contain slashes."""
    return re.findall(r"(?:[^/'\"]|'[^']*'|\"[^\"]*\")+", address)


def _first(line: str, step: re.Match[str], at: int) -> tuple[int, int] | None:
    """The first start tag from `at` on that matches a step."""
    wanted = [(key, one or two) for key, one, two in _STATED.findall(step["stated"])]
    tags = re.compile(rf"<(\w[\w.\-]*:)?{re.escape(step['name'])}(?=[\s/>]|$)[^<>]*>?").finditer(line, at)
    for tag in tags:
        stated = {key: value[1:-1] for key, value in _ATTRIBUTES.findall(tag[0])}
        if all(stated.get(key) == value for key, value in wanted):
            return tag.span()
    return None


_COLOURS = {"error": "#b3261e", "warning": "#8a5000", "info": "#0b5394"}


def report_html(subject: str, diagnostics: Sequence[Diagnostic]) -> str:
    """A table of severity, code, place and message of every diagnostic."""
    if not diagnostics:
        return f"<p>{html_text(subject)}: no findings.</p>"
    rows = "".join(
        f'<tr><td style="color: {_COLOURS[one.severity.value]}; font-weight: bold">{one.severity.value}</td>'
        f"<td><code>{html_text(one.code)}</code></td><td>{html_text(str(one.position))}</td>"
        f'<td style="text-align: left">{html_text(one.message)}</td></tr>'
        for one in diagnostics
    )
    heads = "".join(f'<th style="text-align: left">{name}</th>' for name in ("severity", "rule", "place", "finding"))
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


class Skipped(NamedTuple):
    """A document to which rules were not applied, and the reason."""

    file: str
    reason: str


class Region(NamedTuple):
    """A region of a file: line and columns, counted from 1; the end column is exclusive."""

    line: int
    columns: tuple[int, int] | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """All diagnostics of a package in the order of files and lines.

    `subject` is the validated path, `files` its documents, `excerpts` the source lines of positions. `withheld` are
    hidden diagnostics of rules that rest on the words of the standard, `unaccepted` the errors among them that are not
    ignored by name. `fixable` maps diagnostics with an automatic
    fix to whether the fix is safe. `folder` contains the files on disk; None for a zip.
    """

    subject: str
    diagnostics: tuple[Diagnostic, ...]
    files: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    excerpts: Mapping[Position, Excerpt] = field(default_factory=lambda: MappingProxyType({}))
    withheld: tuple[Diagnostic, ...] = ()
    fixable: Mapping[Diagnostic, bool] = field(default_factory=lambda: MappingProxyType({}))
    folder: str | None = None
    unaccepted: tuple[Diagnostic, ...] = ()
    systems: tuple[str, ...] = ()
    """Of a report on several systems and documents: their paths, with which the names of files begin."""

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return self.of(Severity.ERROR)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        return self.of(Severity.WARNING)

    @property
    def infos(self) -> tuple[Diagnostic, ...]:
        return self.of(Severity.INFO)

    @property
    def ok(self) -> bool:
        """Whether there is no error, hidden ones included. A system with warnings can be run."""
        return not self.errors and not self.unaccepted

    def __bool__(self) -> bool:
        """The same as `ok`."""
        return self.ok

    def __repr__(self) -> str:
        counts = {"error": len(self.errors), "warning": len(self.warnings), "information": len(self.infos)}
        found = [
            counted(count, name, "information" if name == "information" else "")
            for name, count in counts.items()
            if count
        ]
        return f"<Report on {self.subject}: {', '.join(found) or 'no findings'}>"

    def _repr_html_(self) -> str:
        return report_html(self.subject, self.diagnostics)

    def of(self, severity: Severity) -> tuple[Diagnostic, ...]:
        return tuple(diagnostic for diagnostic in self.diagnostics if diagnostic.severity is severity)

    def on_disk(self, file: str) -> str:
        """The path of a file on disk, with forward slashes; for a file inside a zip that of the package."""
        if self.folder is None:
            return Path(self.subject).as_posix()
        return Path(self.folder, file.partition(NESTING_MARK)[0] if in_zip(file) else file).as_posix()

    def path_of(self, file: str) -> str:
        """The name of a file that begins with the path of the system, as `validate` was given it."""
        subject = Path(self.subject)
        if self.folder is not None:
            return posixpath.normpath(Path(self.folder, file).as_posix())
        if file.startswith(subject.name + NESTING_MARK):  # a lone FMU
            return subject.with_name(file).as_posix()
        return subject.as_posix() if file in ("", subject.name) else f"{subject.as_posix()}{NESTING_MARK}{file}"

    def from_here(self, diagnostic: Diagnostic) -> Diagnostic:
        """A diagnostic whose file is named as by `path_of`."""
        position = diagnostic.position
        return replace(diagnostic, position=position._replace(file=self.path_of(position.file)))

    def region(self, position: Position) -> Region | None:
        """The region of a finding; None without a line."""
        if not position.line:
            return None
        shown = self.excerpts.get(position)
        if shown is None:
            return Region(position.line)
        return Region(shown.line or position.line, (shown.start + 1, shown.end + 1), shown.text)

    def region_on_disk(self, position: Position) -> Region | None:
        """The region in the file of `on_disk`; None for a zip, which has no lines."""
        return None if self.folder is None or in_zip(position.file) else self.region(position)


def joined(reports: Sequence[Report]) -> Report:
    """One report on several systems: files are named by their paths from the folder in which ssptool runs."""
    renamed = [_from_here(report) for report in reports]
    diagnostics = {one: None for report in renamed for one in report.diagnostics}
    return Report(
        ", ".join(report.subject for report in reports),
        tuple(sorted(diagnostics, key=in_order)),
        tuple(dict.fromkeys(file for report in renamed for file in report.files)),
        tuple(dict.fromkeys(skipped for report in renamed for skipped in report.skipped)),
        MappingProxyType({place: line for report in renamed for place, line in report.excerpts.items()}),
        tuple(dict.fromkeys(one for report in renamed for one in report.withheld)),
        MappingProxyType({one: safe for report in renamed for one, safe in report.fixable.items()}),
        "",
        tuple(dict.fromkeys(one for report in renamed for one in report.unaccepted)),
        tuple(report.subject for report in reports),
    )


def _from_here(report: Report) -> Report:
    """The same with names of files that begin with the path of the system."""
    path, renamed = report.path_of, report.from_here
    return replace(
        report,
        diagnostics=tuple(map(renamed, report.diagnostics)),
        files=tuple(map(path, report.files)),
        skipped=tuple(Skipped(path(one.file), one.reason) for one in report.skipped),
        excerpts={place._replace(file=path(place.file)): line for place, line in report.excerpts.items()},
        withheld=tuple(map(renamed, report.withheld)),
        unaccepted=tuple(map(renamed, report.unaccepted)),
        fixable={renamed(one): safe for one, safe in report.fixable.items()},
    )


def in_order(diagnostic: Diagnostic) -> tuple[object, ...]:
    """The key by which findings are sorted: errors first, then by place."""
    severity = list(Severity).index(diagnostic.severity)
    return severity, diagnostic.position, diagnostic.code, diagnostic.message, diagnostic.advice


def in_zip(file: str) -> bool:
    """Whether a name is that of an entry of a nested package or FMU."""
    return any(ending + NESTING_MARK in file.lower() for ending in (".ssp", ".fmu"))


def summary(report: Report) -> str:
    """Numbers of findings and their files."""
    where = _files_named(report)
    numbers = {"ignored": len(report.withheld) - len(report.unaccepted), "not selected": len(report.unaccepted)}
    hidden = [f"{number} more {why}" for why, number in numbers.items() if number]
    ignored = f" ({', '.join(hidden)})" if hidden else ""
    if report.systems:
        where = counted(len({one.position.file for one in report.diagnostics}), "file")
        ignored += f" ({counted(len(report.systems), 'system or document', 'systems and documents')} checked)"
        if not report.diagnostics:
            return f"no findings{ignored}"
    if not report.diagnostics:
        return f"no findings in {where}{ignored}"
    counts = {"error": report.errors, "warning": report.warnings, "info": report.infos}
    told = [counted(len(found), name) for name, found in counts.items() if found]
    return f"{', '.join(told)} in {where}{ignored}"


def _files_named(report: Report) -> str:
    found = Counter(one.position.file for one in report.diagnostics if one.position.file)
    files = list(found) or [file for file in report.files if file.endswith(".ssd")] or [report.subject]
    return ", ".join(files[:3]) + (f" and {counted(len(files) - 3, 'more file')}" if len(files) > 3 else "")
