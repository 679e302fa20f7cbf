"""A report in one line."""

from collections import Counter

from ssptool.rules.report import Report


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


def _files(report: Report) -> str:
    found = Counter(diagnostic.position.file for diagnostic in report.diagnostics)
    files = list(found) or [file for file in report.files if file.endswith(".ssd")] or [report.subject]
    return ", ".join(files[:3]) + (f" and {_count(len(files) - 3, 'more file')}" if len(files) > 3 else "")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun if number == 1 else noun + 's'}" if number else ""
