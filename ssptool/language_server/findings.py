"""Findings of a system as diagnostics of the protocol, by file."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from pathlib import Path

import attrs
from lsprotocol import types
from lxml import etree
from pygls.workspace import PositionCodec

from ssptool.documents.diagnostics import Diagnostic, Severity
from ssptool.documents.element import PARSER
from ssptool.documents.storage import NESTING_MARK
from ssptool.language_server.systems import Buffers, is_document
from ssptool.rules.report import Report
from ssptool.rules.runner import over_whole
from ssptool.rules.selection import InvalidSettings

SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Information,
}
SOURCE = "ssptool"
NOT_WELL_FORMED = "XML-001"

Listed = Mapping[Path, tuple[types.Diagnostic, ...]]
"""File → its diagnostics; the `data` of each is the result of `key`."""


def key(finding: Diagnostic) -> dict[str, str]:
    """Facts that identify a finding in a later check of the same text."""
    return {
        "code": finding.code,
        "file": finding.position.file,
        "address": finding.position.address,
        "message": finding.message,
    }


def diagnostics_by_file(report: Report, main: Path, buffers: Buffers, codec: PositionCodec) -> Listed:
    """The listed findings of a report by file; findings in files that no editor can show are reported on `main`."""
    listed: dict[Path, list[types.Diagnostic]] = defaultdict(list)
    for finding in report.diagnostics:
        file = Path(report.on_disk(finding.position.file)) if finding.position.file else main
        shown = is_document(file) and NESTING_MARK not in finding.position.file
        found = _diagnostic(finding, report, codec, elsewhere=not shown)
        if finding.code == NOT_WELL_FORMED and shown and file in buffers:
            found = attrs.evolve(found, range=_behind_error(buffers[file], codec))
        listed[file if shown else main].append(found)
    return {file: tuple(found) for file, found in listed.items()}


def unread(report: Report) -> bool:
    """Whether some documents could not be read or judged, so that their earlier findings are kept."""
    return bool(report.skipped)


def judged_files(report: Report) -> set[Path]:
    return {Path(report.on_disk(file)) for file in report.files}


def moved(found: Iterable[types.Diagnostic], before: str, now: str) -> Iterator[types.Diagnostic]:
    """The diagnostics of a text at the new positions of their lines after an edit."""
    old, new = before.split("\n"), now.split("\n")
    same = _equal(old, new)
    behind = len(old) - _equal(old[same:][::-1], new[same:][::-1])
    for one in found:
        shift = len(new) - len(old) if one.range.start.line >= behind else 0
        start, end = one.range.start, one.range.end
        if start.line + shift < len(new):
            place = types.Range(
                types.Position(start.line + shift, start.character), types.Position(end.line + shift, end.character)
            )
            yield attrs.evolve(one, range=place)


def _equal(one: list[str], other: list[str]) -> int:
    """The number of lines at the start that are equal."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def is_over_whole(diagnostic: types.Diagnostic) -> bool:
    """Whether a finding belongs to a rule about structures and packages, or to a nested package."""
    data = diagnostic.data if isinstance(diagnostic.data, dict) else {}
    return over_whole(str(diagnostic.code)) or NESTING_MARK in str(data.get("file", ""))


def settings_finding(problem: InvalidSettings) -> Listed:
    line = max(problem.line, 1) - 1
    message = f"{problem.message} ({problem.advice})" if problem.advice else problem.message
    place = types.Range(types.Position(line, 0), types.Position(line + 1, 0))
    found = types.Diagnostic(place, message, severity=types.DiagnosticSeverity.Error, source=SOURCE)
    return {problem.path: (found,)}


def _diagnostic(finding: Diagnostic, report: Report, codec: PositionCodec, *, elsewhere: bool) -> types.Diagnostic:
    place = f"{finding.position}: " if elsewhere and finding.position.file else ""
    advice = f" ({finding.advice})" if finding.advice else ""
    return types.Diagnostic(
        range=types.Range(types.Position(0, 0), types.Position(0, 0)) if elsewhere else _range(finding, report, codec),
        message=f"{place}{finding.message}{advice}",
        severity=SEVERITIES[finding.severity],
        code=finding.code,
        source=SOURCE,
        data=key(finding),
    )


def _behind_error(text: str, codec: PositionCodec) -> types.Range:
    """Range from the place of a syntax error to the end of that line; without an error, the start of the text."""
    try:
        etree.fromstring(text.encode(), PARSER)
    except etree.XMLSyntaxError as problem:
        number, column = problem.position
        lines = text.split("\n")
        line = lines[number - 1].encode() if 0 < number <= len(lines) else b""
        before = line[: max(column - 1, 0)].decode(errors="replace")
        start, end = codec.client_num_units(before), codec.client_num_units(line.decode().rstrip("\r"))
        place = min(max(number, 1), len(lines)) - 1
        return types.Range(types.Position(place, min(start, end)), types.Position(place, max(end, start)))
    return types.Range(types.Position(0, 0), types.Position(0, 0))


def _range(finding: Diagnostic, report: Report, codec: PositionCodec) -> types.Range:
    region = report.region(finding.position)
    if region is None:
        return types.Range(types.Position(0, 0), types.Position(0, 0))
    line = region.line - 1
    if region.columns is None:
        return types.Range(types.Position(line, 0), types.Position(line + 1, 0))
    left_out = region.shift - len(region.passed) + codec.client_num_units(region.passed)
    start, end = (
        left_out + codec.client_num_units(region.text[: max(0, column - 1 - region.shift)]) for column in region.columns
    )
    return types.Range(types.Position(line, start), types.Position(line, end))
