"""Renderers of reports, by name of the format.

The text format is in `report_text`, imported on first use: the library for coloured text takes longer to load than a
small system takes to validate.
"""

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from lxml import etree

from ssptool.documents.diagnostics import Diagnostic, Position, Severity
from ssptool.errors import counted
from ssptool.foreign_text import (
    annotation,
    annotation_property,
    joined_lines,
    json_text,
    one_line,
    several_lines,
    without_commands,
)
from ssptool.printed import prints
from ssptool.rules.catalogue import RULES, Rule
from ssptool.rules.report import Report, in_zip, summary
from ssptool.version import __version__

SCHEMA_VERSION = 1
"""Version of the JSON format, increased when a key is removed or changes its meaning. New keys may be added at any
time.
"""


_FIXES = {True: "safe", False: "unsafe", None: None}


def render_json(report: Report) -> str:
    """The report as one JSON object with sorted keys; `line` is null if the finding has no line.

    `region` is the wrong part of the text; it may start below `line`, the line of the element.
    """
    content = {
        "schema": SCHEMA_VERSION,
        "subject": report.subject,
        "ok": report.ok,
        "counts": {
            "error": len(report.errors),
            "warning": len(report.warnings),
            "info": len(report.infos),
        },
        "files": list(report.files),
        "systems": list(report.systems) or [report.subject],
        "skipped": [{"file": skipped.file, "reason": skipped.reason} for skipped in report.skipped],
        "diagnostics": [_json_diagnostic(report, diagnostic) for diagnostic in report.diagnostics],
        "withheld": [_json_diagnostic(report, diagnostic) for diagnostic in report.withheld],
        "unaccepted": [_json_diagnostic(report, diagnostic) for diagnostic in report.unaccepted],
    }
    return json_text(content, indent=2, sort_keys=True)


def _json_diagnostic(report: Report, diagnostic: Diagnostic) -> dict[str, Any]:
    rule = RULES.get(diagnostic.code)
    region = report.region(diagnostic.position)
    columns = (None, None) if region is None or region.columns is None else region.columns
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "file": diagnostic.position.file,
        "line": diagnostic.position.line or None,
        "region": None if region is None else {"line": region.line, "column": columns[0], "endColumn": columns[1]},
        "address": diagnostic.position.address,
        "message": diagnostic.message,
        "advice": diagnostic.advice,
        "fix": _FIXES[report.fixable.get(diagnostic)],
        "rule": rule.title if rule else "",
        "source": rule.source if rule else "",
    }


SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
SARIF_ROOT = "%SRCROOT%"
"""The base of relative paths, with the name that code scanning services use."""
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def render_sarif(report: Report) -> str:
    """One SARIF run; ignored findings of rules based on the text of the standard are suppressed results.

    Artifacts are files on disk. Entries of a zip are logical locations in the package.
    """
    content = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [_sarif_run(report)]}
    return json_text(content, indent=2, sort_keys=True)


def _sarif_run(report: Report) -> dict[str, Any]:
    codes = sorted({diagnostic.code for diagnostic in (*report.diagnostics, *report.withheld)} & set(RULES))
    numbers = {code: number for number, code in enumerate(codes)}
    results = [_sarif_result(report, diagnostic, numbers) for diagnostic in report.diagnostics]
    for diagnostic in report.withheld:
        suppression = {"kind": "external", "justification": "ignored on the command line or in the settings"}
        results.append({**_sarif_result(report, diagnostic, numbers), "suppressions": [suppression]})
    files = (*report.files, *(one.position.file for one in (*report.diagnostics, *report.withheld)))
    return {
        "tool": {
            "driver": {"name": "ssptool", "version": __version__, "rules": [_sarif_rule(RULES[code]) for code in codes]}
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {SARIF_ROOT: {"description": {"text": "The folder in which ssptool was called."}}},
        "artifacts": [{"location": _sarif_artifact(path)} for path in sorted({report.on_disk(file) for file in files})],
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": _sarif_notifications(report)}],
        "results": results,
    }


def _sarif_rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": rule.find.__name__.title().replace("_", ""),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.rationale or rule.title},
        "help": {"text": f"{rule.page}\n\nSource: {rule.source}", "markdown": _sarif_page(rule)},
        "defaultConfiguration": {"level": _LEVELS[rule.severity[max(rule.severity)]]},
        "properties": {
            "basis": rule.basis.value,
            "source": rule.source,
            "tags": [rule.code.rpartition("-")[0], rule.basis.value],
        },
    }


def _sarif_page(rule: Rule) -> str:
    parts = (f"**{rule.title}**", rule.rationale, rule.fix and f"**Fix:** {rule.fix}", f"*{rule.source}*")
    return "\n\n".join(filter(None, parts))


def _sarif_result(report: Report, diagnostic: Diagnostic, numbers: dict[str, int]) -> dict[str, Any]:
    advice = f" ({diagnostic.advice})" if diagnostic.advice else ""
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": _without_links(diagnostic.message + advice)},
        "locations": [_sarif_location(report, diagnostic.position)],
    }
    if diagnostic.code in numbers:
        result["ruleIndex"] = numbers[diagnostic.code]
    if diagnostic in report.fixable:
        result["properties"] = {"fix": "safe" if report.fixable[diagnostic] else "unsafe"}
    return result


def _sarif_location(report: Report, position: Position) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": _sarif_artifact(report.on_disk(position.file))}
    if region := report.region_on_disk(position):
        physical["region"] = {"startLine": region.line}
        if region.columns is not None:
            start, end = region.columns
            physical["region"] |= {"startColumn": start, "endColumn": end, "snippet": {"text": region.text}}
    place = f"{position}#{position.address}" if position.address else str(position)
    return {"physicalLocation": physical, "logicalLocations": [{"fullyQualifiedName": place}]}


def _sarif_notifications(report: Report) -> list[dict[str, Any]]:
    """Documents that could not be checked."""
    return [
        {
            "level": "note",
            "message": {"text": _without_links(f"{skipped.file}: {skipped.reason}")},
            "locations": [{"physicalLocation": {"artifactLocation": _sarif_artifact(report.on_disk(skipped.file))}}],
        }
        for skipped in report.skipped
    ]


def _without_links(text: str) -> str:
    """A message without embedded links, which names in it could look like (SARIF 2.1.0, 3.11.6)."""
    return one_line(text).replace("](", "] (")


def _sarif_artifact(path: str) -> dict[str, str]:
    """A relative path as a reference below the root, an absolute one as a `file` URI."""
    quoted = quote(path, safe="/()!$&'*+,;=@~", errors="surrogatepass")
    if path.startswith("/"):
        return {"uri": "file://" + quoted}
    return {"uri": "file:///" + quoted} if path[1:3] == ":/" else {"uri": quoted, "uriBaseId": SARIF_ROOT}


def render_junit(report: Report) -> str:
    """The report as one `testsuites` element."""
    root = etree.Element("testsuites", name=_legal_text(report.subject))
    found, withheld = _by_file(report.diagnostics), _by_file(report.withheld)
    for file in dict.fromkeys((*report.files, *found, *withheld)) or [report.subject]:
        root.append(_test_suite(report, file, found.get(file, {}), withheld.get(file, {})))
    for skipped in report.skipped:
        suite = etree.SubElement(root, "testsuite", name=_legal_text(skipped.file))
        case = etree.SubElement(suite, "testcase", classname=_legal_text(skipped.file), name="rules on its content")
        etree.SubElement(case, "skipped", message=_legal_text(skipped.reason))
        _state_counts(suite)
    _state_counts(root)
    return etree.tostring(root, pretty_print=True, xml_declaration=True, encoding="UTF-8").decode().rstrip("\n")


ByCode = dict[str, list[Diagnostic]]


def _by_file(diagnostics: Iterable[Diagnostic]) -> dict[str, ByCode]:
    found: dict[str, ByCode] = defaultdict(lambda: defaultdict(list))
    for diagnostic in diagnostics:
        found[diagnostic.position.file][diagnostic.code].append(diagnostic)
    return found


def _test_suite(report: Report, file: str, found: ByCode, withheld: ByCode) -> etree._Element:
    suite = etree.Element("testsuite", name=_legal_text(file))
    for code, diagnostics in found.items():
        case = _test_case(suite, report, file, code)
        errors = [one for one in diagnostics if one.severity is Severity.ERROR]
        for error in errors:
            failure = etree.SubElement(case, "failure", type=code, message=_legal_text(error.message))
            failure.text = _legal_text(str(error))
        others = [one for one in diagnostics if one not in errors]
        if others:
            etree.SubElement(case, "system-out").text = _legal_text("\n".join(map(str, others)))
    for code, diagnostics in withheld.items():
        reason = f"ignored, with {counted(len(diagnostics), 'finding')}"
        etree.SubElement(_test_case(suite, report, file, code), "skipped", message=reason)
    if not len(suite):
        etree.SubElement(suite, "testcase", classname=_legal_text(file), name="no findings")
    _state_counts(suite)
    return suite


def _test_case(suite: etree._Element, report: Report, file: str, code: str) -> etree._Element:
    title = f"{code}: {RULES[code].title}" if code in RULES else code
    return etree.SubElement(
        suite, "testcase", classname=_legal_text(file), name=_legal_text(title), file=_legal_text(report.on_disk(file))
    )


def _state_counts(element: etree._Element) -> None:
    """Write the numbers of test cases by outcome into an element."""
    cases = list(element.iter("testcase"))
    failed = sum(case.find("failure") is not None for case in cases)
    skipped = sum(case.find("skipped") is not None for case in cases)
    for name, number in (("tests", len(cases)), ("failures", failed), ("errors", 0), ("skipped", skipped)):
        element.set(name, str(number))


def _legal_text(text: str) -> str:
    """The text with escapes for characters that XML 1.0 cannot represent, which names in a damaged archive may
    contain.
    """
    return _NO_CHARACTERS.sub("�", several_lines(text))


_NO_CHARACTERS = re.compile("[\ufffe\uffff]")


_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render_github(report: Report) -> str:
    """One workflow command for each diagnostic, and the summary. Findings in a zip annotate the package."""
    return "\n".join([*_commands(report), without_commands(one_line(summary(report)))])


def _commands(report: Report) -> Iterator[str]:
    for diagnostic in report.diagnostics:
        yield _command(report, diagnostic)
    for skipped in report.skipped:
        file = annotation_property(report.on_disk(skipped.file))
        yield f"::notice file={file},title=skipped::{annotation(one_line(f'{skipped.file}: {skipped.reason}'))}"


def _command(report: Report, diagnostic: Diagnostic) -> str:
    position = diagnostic.position
    region = report.region_on_disk(position)
    place = f"file={annotation_property(report.on_disk(position.file))}"
    if region is not None:
        place += f",line={region.line}"
        if region.columns is not None:
            place += f",endLine={region.line},col={region.columns[0]},endColumn={region.columns[1]}"
    inside = f"{position}: " if report.folder is None or in_zip(position.file) else ""
    parts = (f"{inside}{diagnostic.message}", diagnostic.advice)
    message = annotation(joined_lines(filter(None, parts)))
    return f"::{_COMMANDS[diagnostic.severity]} {place},title={annotation_property(diagnostic.code)}::{message}"


def _text(report: Report, colour: bool | None = None, each: bool = False, width: int | None = None) -> str:
    from ssptool.rules.report_text import render_text

    return render_text(report, colour=colour, width=width, each=each)


RENDERERS: Mapping[str, Callable[[Report], str]] = MappingProxyType(
    {
        "text": _text,
        "full text": partial(_text, each=True),
        "json": render_json,
        "sarif": render_sarif,
        "junit": render_junit,
        "github": render_github,
    }
)
PLAIN_RENDERERS: Mapping[str, Callable[[Report], str]] = MappingProxyType(
    {
        **RENDERERS,
        "text": partial(_text, colour=False, width=sys.maxsize),
        "full text": partial(_text, colour=False, width=sys.maxsize, each=True),
    }
)
"""Renderers without colours and without limit of line length, for files."""

prints(Report)(PLAIN_RENDERERS["text"])
