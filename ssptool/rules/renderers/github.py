"""A report as workflow commands of GitHub Actions, which shows them beside the lines of a pull request."""

from collections.abc import Iterator

from ssptool.documents.diagnostics import Diagnostic, Severity
from ssptool.rules.renderers.summary import summary
from ssptool.rules.report import Report

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render_github(report: Report) -> str:
    """One command per diagnostic, and the summary as a last line. Of a zip the package itself is annotated."""
    return "\n".join([*_commands(report), summary(report)])


def _commands(report: Report) -> Iterator[str]:
    for diagnostic in report.diagnostics:
        yield _command(report, diagnostic)
    for skipped in report.skipped:
        file = _property(report.on_disk(skipped.file))
        yield f"::notice file={file},title=skipped::{_data(f'{skipped.file}: {skipped.reason}')}"


def _command(report: Report, diagnostic: Diagnostic) -> str:
    position = diagnostic.position
    region = report.region_on_disk(position)
    place = f"file={_property(report.on_disk(position.file))}"
    if region is not None:
        place += f",line={region.line}"
        if region.columns is not None:
            place += f",endLine={region.line},col={region.columns[0]},endColumn={region.columns[1]}"
    inside = f"{position}: " if report.folder is None else ""
    advice = f"\n{diagnostic.advice}" if diagnostic.advice else ""
    message = _data(f"{inside}{diagnostic.message}{advice}")
    return f"::{_COMMANDS[diagnostic.severity]} {place},title={_property(diagnostic.code)}::{message}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
