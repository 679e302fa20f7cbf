"""Reports of a validation: diagnostics, source lines, and HTML for notebooks."""

import posixpath
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from ssptool.documents.diagnostics import Diagnostic, Position, Severity
from ssptool.documents.storage import NESTING_MARK
from ssptool.errors import counted
from ssptool.foreign_text import html_text
from ssptool.printed import Printed
from ssptool.public_calls import public

_STEP = re.compile(r"(?P<name>[\w.\-]+)(?P<stated>(\[@\w+=('[^']*'|\"[^\"]*\")\])*)(\[\d+\])?$")
_STATED = re.compile(r"\[@(\w+)=(?:'([^']*)'|\"([^\"]*)\")\]")
_ATTRIBUTES = re.compile(r"([\w:.\-]+)\s*=\s*(\"[^\"]*\"|'[^']*')")
_ATTRIBUTE = re.compile(r"/@([\w:\-]+)$")


class Excerpt(NamedTuple):
    """One line of a document, with the wrong characters `start` to `end` (from 0).

    `line` is its number, which differs from that of the finding if the attribute is on a line after the name of its
    element. For a very long line, `text` is the part from character `shift` on; `passed` contains the non-ASCII
    characters before it, from which editors compute columns.
    """

    text: str
    start: int
    end: int
    line: int = 0
    shift: int = 0
    passed: str = ""

    @property
    def place(self) -> tuple[int, int]:
        """The wrong characters in `text`."""
        return self.start - self.shift, min(self.end - self.shift, len(self.text))


class SourceLine:
    """A line of a document, which is searched for tags only once for all its excerpts."""

    def __init__(self, text: str) -> None:
        self.text = text.rstrip()
        self._found: dict[tuple[str, tuple[str, ...]], dict[tuple[str, ...], list[tuple[int, int]]]] = {}

    @cached_property
    def _tags(self) -> Mapping[str, list[tuple[int, int, Mapping[str, str]]]]:
        """Start tags by local name: offsets and attributes."""
        tags: dict[str, list[tuple[int, int, Mapping[str, str]]]] = defaultdict(list)
        for tag in _TAG.finditer(self.text):
            stated = {key: value[1:-1] for key, value in _ATTRIBUTES.findall(tag[0])}
            tags[tag["name"]].append((*tag.span(), stated))
        return tags

    @cached_property
    def _beyond_ascii(self) -> tuple[list[int], str]:
        found = [] if self.text.isascii() else [one.start() for one in re.finditer(r"[^\x00-\x7f]", self.text)]
        return found, "".join(self.text[place] for place in found)

    def beyond_ascii(self, end: int) -> str:
        """The non-ASCII characters before offset `end`."""
        places, texts = self._beyond_ascii
        return texts[: bisect_left(places, end)]

    def first(self, name: str, wanted: Sequence[tuple[str, str]], at: int) -> tuple[int, int] | None:
        """The first start tag from offset `at` on with this name and the wanted attributes."""
        keys = tuple(key for key, _ in wanted)
        if (name, keys) not in self._found:
            by_values = self._found[name, keys] = defaultdict(list)
            for start, end, stated in self._tags.get(name, ()):
                if stated.keys() >= set(keys):
                    by_values[tuple(stated[key] for key in keys)].append((start, end))
        like = self._found[name, keys].get(tuple(value for _, value in wanted), [])
        place = bisect_left(like, (at, 0))
        return like[place] if place < len(like) else None


_TAG = re.compile(r"<(?:\w[\w.\-]*:)?(?P<name>\w[\w.\-]*)(?=[\s/>]|$)[^<>]*>?")
_MOST_SHOWN, _AROUND = 4_000, 1_000
"""Characters of a long line that are kept, and of these the ones before the wrong part."""


def excerpt(source: str | SourceLine, position: Position, following: Sequence[str] = ()) -> Excerpt:
    """The attribute or element of an address in its line; the whole line if it is not found.

    `following` are the next lines, because the start tag may extend over several lines.
    """
    source = SourceLine(source) if isinstance(source, str) else source
    found = _excerpt(source, position, following)
    if len(found.text) <= _MOST_SHOWN:
        return found
    first = max(0, found.start - _AROUND)
    last = min(found.end + _AROUND, first + _MOST_SHOWN)
    return found._replace(text=found.text[first:last], shift=first, passed=source.beyond_ascii(first))


def _excerpt(source: SourceLine, position: Position, following: Sequence[str]) -> Excerpt:
    line = source.text
    address, attribute = _split(position.address)
    tag = _tag(source, address) if address or not attribute else _root_tag(line)
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
    """The following lines that belong to a start tag."""
    if line.endswith(">", *tag):
        return
    for below in following:
        yield below
        if ">" in below:
            return


def _split(address: str) -> tuple[str, str]:
    named = _ATTRIBUTE.search(address)
    return (address[: named.start()], named[1]) if named else (address, "")


def _tag(line: SourceLine, address: str) -> tuple[int, int] | None:
    """The columns of the start tag of an element, found by its name and the identifying attributes of the address.

    Enclosing elements may start on the same line before it.
    """
    steps = [_step(part) for part in _parts_of(address)]
    if not steps or steps[-1] is None:
        return None
    at = 0
    for name, stated in filter(None, steps[:-1]):
        if stated and (around := line.first(name, stated, at)):
            at = around[1]
    return line.first(*steps[-1], at)


def _root_tag(line: str) -> tuple[int, int] | None:
    """The columns of the start tag of the root, whose address is `/`."""
    tag = re.search(r"<\w[^<>]*>?", line)
    return tag.span() if tag else None


def _parts_of(address: str) -> list[str]:
    """The steps of an address as strings; quoted values may contain slashes."""
    return re.findall(r"(?:[^/'\"]|'[^']*'|\"[^\"]*\")+", address)


@lru_cache(maxsize=10_000)
def _step(part: str) -> tuple[str, tuple[tuple[str, str], ...]] | None:
    """A step of an address: the name of an element and its identifying attributes."""
    found = _STEP.search(part)
    if found is None:
        return None
    return found["name"], tuple((key, one or two) for key, one, two in _STATED.findall(found["stated"]))


_COLOURS = {"error": "#b3261e", "warning": "#8a5000", "info": "#0b5394"}


def report_html(subject: str, diagnostics: Sequence[Diagnostic]) -> str:
    """Table of severity, code, location and message of all diagnostics."""
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
    """A region of a file: line and columns, counted from 1; the end column is exclusive.

    For a long line, `text` starts after `shift` characters; see `Excerpt`.
    """

    line: int
    columns: tuple[int, int] | None = None
    text: str = ""
    shift: int = 0
    passed: str = ""


@dataclass(frozen=True, slots=True)
class Report(Printed):
    """All diagnostics of a package in the order of files and lines.

    `subject` is the validated path, `files` its documents, `excerpts` the source lines of positions. `withheld` are
    hidden diagnostics of rules based on the text of the standard, `unaccepted` the errors among them that are not
    ignored by name. `fixable` maps diagnostics with an automatic fix to whether the fix is safe. `folder` contains the
    files on disk; None for a zip.
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
    """Paths of the systems and documents, if the report is about several; names of files start with them."""

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
        """True if there are no errors, hidden ones included. A system with warnings can be run."""
        return not self.errors and not self.unaccepted

    def __bool__(self) -> bool:
        """The same as `ok`."""
        return self.ok

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self.diagnostics)

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
        """Path of a file on disk, with forward slashes; for a file inside a zip the path of the package."""
        if self.folder is None:
            return Path(self.subject).as_posix()
        return Path(self.folder, file.partition(NESTING_MARK)[0] if in_zip(file) else file).as_posix()

    def path_of(self, file: str) -> str:
        """Name of a file, starting with the path of the system as given to `validate`."""
        subject = Path(self.subject)
        if self.folder is not None:
            return posixpath.normpath(Path(self.folder, file).as_posix())
        if file.startswith(subject.name + NESTING_MARK):  # a single FMU
            return subject.with_name(file).as_posix()
        return subject.as_posix() if file in ("", subject.name) else f"{subject.as_posix()}{NESTING_MARK}{file}"

    def from_here(self, diagnostic: Diagnostic) -> Diagnostic:
        """The diagnostic with its file named as by `path_of`."""
        position = diagnostic.position
        return replace(diagnostic, position=position._replace(file=self.path_of(position.file)))

    def region(self, position: Position) -> Region | None:
        """The region of a finding; None without a line."""
        if not position.line:
            return None
        shown = self.excerpts.get(position)
        if shown is None:
            return Region(position.line)
        columns = shown.start + 1, shown.end + 1
        return Region(shown.line or position.line, columns, shown.text, shown.shift, shown.passed)

    def region_on_disk(self, position: Position) -> Region | None:
        """The region in the file of `on_disk`; None for a zip, which has no lines."""
        return None if self.folder is None or in_zip(position.file) else self.region(position)


def joined(reports: Sequence[Report]) -> Report:
    """One report on several systems; files have paths relative to the working directory."""
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
    """The report with names of files that start with the path of the system."""
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
    """Sort key of findings: errors first, then by location."""
    severity = list(Severity).index(diagnostic.severity)
    return severity, diagnostic.position, diagnostic.code, diagnostic.message, diagnostic.advice


def in_zip(file: str) -> bool:
    """True if a name is that of an entry of a nested package or FMU."""
    return any(ending + NESTING_MARK in file.lower() for ending in (".ssp", ".fmu"))


@public
def summary(report: Report) -> str:
    """Text with the numbers of findings and files."""
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
