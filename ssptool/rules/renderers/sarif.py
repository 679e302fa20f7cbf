"""A report as SARIF 2.1.0 (OASIS), the format in which code hosting services take the results of analyses."""

import json
from typing import Any
from urllib.parse import quote

from ssptool.documents.diagnostics import Diagnostic, Position, Severity
from ssptool.rules.catalogue import RULES, Rule
from ssptool.rules.report import Report
from ssptool.version import __version__

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "%SRCROOT%"
"""What relative paths are relative to, by the name that services for code scanning know."""
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def render_sarif(report: Report) -> str:
    """One run; ignored rules that rest on the words of the standard are results that are suppressed.

    Files are named as they stand on disk. Of a zip that is the package; where inside it is a logical location.
    """
    return json.dumps(
        {"$schema": SCHEMA, "version": "2.1.0", "runs": [_run(report)]}, indent=2, sort_keys=True, ensure_ascii=False
    )


def _run(report: Report) -> dict[str, Any]:
    codes = sorted({diagnostic.code for diagnostic in (*report.diagnostics, *report.withheld)} & set(RULES))
    numbers = {code: number for number, code in enumerate(codes)}
    results = [_result(report, diagnostic, numbers) for diagnostic in report.diagnostics]
    for diagnostic in report.withheld:
        suppression = {"kind": "external", "justification": "ignored on the command line or in the settings"}
        results.append({**_result(report, diagnostic, numbers), "suppressions": [suppression]})
    files = (*report.files, *(one.position.file for one in (*report.diagnostics, *report.withheld)))
    return {
        "tool": {
            "driver": {"name": "ssptool", "version": __version__, "rules": [_rule(RULES[code]) for code in codes]}
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"description": {"text": "The folder in which ssptool was called."}}},
        "artifacts": [{"location": _artifact(path)} for path in sorted({report.on_disk(file) for file in files})],
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": _notifications(report)}],
        "results": results,
    }


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": rule.find.__name__.title().replace("_", ""),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.rationale or rule.title},
        "help": {"text": f"{rule.page}\n\nSource: {rule.source}", "markdown": _page(rule)},
        "defaultConfiguration": {"level": _LEVELS[rule.severity[max(rule.severity)]]},
        "properties": {
            "basis": rule.basis.value,
            "source": rule.source,
            "tags": [rule.code.rpartition("-")[0], rule.basis.value],
        },
    }


def _page(rule: Rule) -> str:
    parts = (f"**{rule.title}**", rule.rationale, rule.fix and f"**Fix:** {rule.fix}", f"*{rule.source}*")
    return "\n\n".join(filter(None, parts))


def _result(report: Report, diagnostic: Diagnostic, numbers: dict[str, int]) -> dict[str, Any]:
    advice = f" ({diagnostic.advice})" if diagnostic.advice else ""
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": diagnostic.message + advice},
        "locations": [_location(report, diagnostic.position)],
    }
    if diagnostic.code in numbers:
        result["ruleIndex"] = numbers[diagnostic.code]
    if diagnostic in report.fixable:
        result["properties"] = {"fix": "safe" if report.fixable[diagnostic] else "unsafe"}
    return result


def _location(report: Report, position: Position) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": _artifact(report.on_disk(position.file))}
    if region := report.region_on_disk(position):
        physical["region"] = {"startLine": region.line}
        if region.columns is not None:
            start, end = region.columns
            physical["region"] |= {"startColumn": start, "endColumn": end, "snippet": {"text": region.text}}
    place = f"{position}#{position.address}" if position.address else str(position)
    return {"physicalLocation": physical, "logicalLocations": [{"fullyQualifiedName": place}]}


def _notifications(report: Report) -> list[dict[str, Any]]:
    """What could not be checked."""
    return [
        {
            "level": "note",
            "message": {"text": f"{skipped.file}: {skipped.reason}"},
            "locations": [{"physicalLocation": {"artifactLocation": _artifact(report.on_disk(skipped.file))}}],
        }
        for skipped in report.skipped
    ]


def _artifact(path: str) -> dict[str, str]:
    """A relative path as a reference below the root, an absolute one as a `file` URI."""
    quoted = quote(path, safe="/()!$&'*+,;=@~")
    if path.startswith("/"):
        return {"uri": "file://" + quoted}
    return {"uri": "file:///" + quoted} if path[1:3] == ":/" else {"uri": quoted, "uriBaseId": ROOT}
