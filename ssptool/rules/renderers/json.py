"""A report as JSON, for programs."""

import json
from typing import Any

from ssptool.documents.diagnostics import Diagnostic
from ssptool.rules.catalogue import RULES
from ssptool.rules.report import Report

SCHEMA_VERSION = 1
"""Raised when a key is removed or changes its meaning; new keys may appear any time."""


_FIXES = {True: "safe", False: "unsafe", None: None}


def render_json(report: Report) -> str:
    """The report as one JSON object with sorted keys; `line` is null where no line is to blame.

    `region` is the part of the text that is: it may start below `line`, which is that of the element.
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
        "skipped": [{"file": skipped.file, "reason": skipped.reason} for skipped in report.skipped],
        "diagnostics": [_diagnostic(report, diagnostic) for diagnostic in report.diagnostics],
        "withheld": [_diagnostic(report, diagnostic) for diagnostic in report.withheld],
    }
    return json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False)


def _diagnostic(report: Report, diagnostic: Diagnostic) -> dict[str, Any]:
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
