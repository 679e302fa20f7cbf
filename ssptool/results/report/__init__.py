"""Report of a run as one self-contained HTML page: system, findings, initialization, results and origin.

The templates are next to this file.
"""

import hashlib
import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

from ssptool.documents.diagnostics import Diagnostic
from ssptool.documents.foreign_files import open_bytes
from ssptool.documents.saving import save_file
from ssptool.drawing.diagram.model import Sheet
from ssptool.drawing.page_picture import readout_script
from ssptool.drawing.plot import content_policy, dark_style
from ssptool.engine.failure import seconds_text
from ssptool.engine.run.manifest import value_text
from ssptool.engine.settings import Settings
from ssptool.errors import missing_extra
from ssptool.foreign_text import json_text, several_lines
from ssptool.results.report.content import ReportPicture, ReportTable, TableRows
from ssptool.results.report.iterations import FailedIterationContent, failed_iteration_content


@dataclass(frozen=True, slots=True)
class RunReportContent:
    """Content of a report. `verdict` is a sentence; `ok` is true if the run reached its end."""

    title: str
    ok: bool
    verdict: str
    failure: ReportTable
    messages: Sequence[str]
    iteration: FailedIterationContent | None
    diagrams: Sequence[ReportPicture]
    findings: Sequence[Diagnostic]
    choices: ReportTable
    notes: Sequence[str]
    loops: ReportTable
    statistics: ReportTable
    calls: ReportTable
    plots: ReportPicture
    inputs: ReportTable
    overrides: ReportTable
    settings: ReportTable
    manifest: str
    tool: str


def run_report_content(
    manifest: Mapping[str, Any],
    *,
    diagrams: Sequence[ReportPicture],
    findings: Sequence[Diagnostic],
    plots: ReportPicture,
    locate: Callable[[str], Path | None],
) -> RunReportContent:
    """Collect the content of a report on a run.

    Parameters
    ----------
    manifest
        Result of `read_manifest`; empty for a run that was killed, and for results of other tools.
    locate
        Returns the present file of an input by its name in the manifest; None if missing.
    """
    failure = manifest.get("failure")
    return RunReportContent(
        title=manifest.get("system", "Results without a manifest"),
        ok=manifest.get("status") == "completed",
        verdict=_verdict(manifest, failure),
        failure=ReportTable("Details", ("what", "value"), list(_failure(failure or {}))),
        messages=(failure or {}).get("messages", ()),
        iteration=failed_iteration_content((failure or {}).get("iteration")),
        diagrams=diagrams,
        findings=findings,
        choices=ReportTable("Choices and their reasons", ("setting", "value", "reason"), _choices(manifest)),
        notes=manifest.get("notes", ()),
        loops=_loops(manifest),
        statistics=ReportTable("Run statistics", ("what", "value"), list(_statistics(manifest)), frozenset({1})),
        calls=_calls(manifest),
        plots=plots,
        inputs=ReportTable(
            "Input files", ("file", "SHA-256 (first 16 digits)", "now"), list(_inputs(manifest, locate))
        ),
        overrides=ReportTable(
            "Overridden values",
            ("name", "value", "by", "instead of", "at"),
            list(_overrides(manifest)),
        ),
        settings=ReportTable("Settings that differ from the defaults", ("setting", "value"), list(_settings(manifest))),
        manifest=json_text(manifest, indent=1),
        tool=f"Simulated by ssptool {manifest.get('versions', {}).get('ssptool', '')}".rstrip() if manifest else "",
    )


def _verdict(manifest: Mapping[str, Any], failure: Mapping[str, Any] | None) -> str:
    if not manifest:
        return "No manifest: the run was killed, or another tool wrote the results."
    if not {"interval", "status", "created"} <= manifest.keys():
        return "The manifest of the run is incomplete."
    interval = manifest["interval"]
    asked = f"{interval['start']:g} to {interval['stop']:g} s, on {manifest['created']}"
    if not failure:
        return f"{manifest['status']}, {asked}"
    told = f": {failure['message']}" if failure.get("message") else ""
    ended = f" at {seconds_text(failure['time'])} of" if isinstance(failure.get("time"), int | float) else ","
    return f"{manifest['status']}{ended} {asked}{told}"


_FAILURE = {
    "message": "cause",
    "component": "component",
    "function": "FMI function called last",
    "time": "time",
    "advice": "advice",
}


def _failure(failure: Mapping[str, Any]) -> Iterator[Sequence[str]]:
    for name, words in _FAILURE.items():
        if failure.get(name) not in (None, ""):
            time = name == "time" and isinstance(failure[name], int | float)
            yield words, seconds_text(failure[name]) if time else str(failure[name])


def _choices(manifest: Mapping[str, Any]) -> TableRows:
    return [(one["setting"].replace("_", " "), one["value"], one["reason"]) for one in manifest.get("choices", ())]


def _loops(manifest: Mapping[str, Any]) -> ReportTable:
    headings = ("stage", "signals", "solved for", "solver", "outcome", "iterations", "relative residual")
    rows = [
        (
            loop["stage"],
            ", ".join(loop["signals"]),
            ", ".join(loop["torn"]),
            loop["solver"],
            loop["status"],
            str(loop["iterations"]),
            f"{loop['residual_norm']:.3g}",
        )
        for loop in manifest.get("loops", ())
    ]
    return ReportTable("Algebraic loops at the start", headings, rows, frozenset({5, 6}))


_STATISTICS = {
    "steps": ("macro steps", "{:d}"),
    "iterations_mean": ("iterations per step, mean", "{:.3g}"),
    "iterations_max": ("iterations per step, maximum", "{:d}"),
    "unconverged": ("steps whose iteration did not converge", "{:d}"),
    "residual": ("largest relative change in their last iteration", "{:.2g}"),
    "inexact": ("adaptive steps with too large an error that could not be repeated", "{:d}"),
    "rejected": ("rejected steps", "{:d}"),
    "events": ("events", "{:d}"),
    "evaluations": ("evaluations of the right-hand side", "{:d}"),
    "loops_solved": ("loop solves", "{:d}"),
    "loop_iterations": ("loop iterations", "{:d}"),
    "loops_rescued": ("loop solves that needed the full solver", "{:d}"),
    "seconds": ("wall time of the run [s]", "{:.3g}"),
    "initialization_seconds": ("wall time of the initialization [s]", "{:.3g}"),
    "real_time_factor": ("real-time factor", "{:.3g}"),
}


def _statistics(manifest: Mapping[str, Any]) -> Iterator[Sequence[str]]:
    found = manifest.get("statistics", {})
    for name, (words, form) in _STATISTICS.items():
        if found.get(name):
            yield words, form.format(found[name])
    accuracy = manifest.get("accuracy", {})
    if isinstance(error := accuracy.get("error"), float):
        yield f"estimated error of {accuracy.get('signal') or 'all signals'}, relative to its range", f"{error:.1g}"
    for one in manifest.get("warnings", ()):
        yield f"warning {one['code']}", one["message"]


def _calls(manifest: Mapping[str, Any]) -> ReportTable:
    calls = sorted(manifest.get("statistics", {}).get("calls", ()), key=lambda call: -call["seconds"])
    rows = [(one["component"], one["function"], str(one["calls"]), f"{one['seconds']:.3g}") for one in calls]
    return ReportTable("Calls of FMI functions", ("component", "function", "calls", "seconds"), rows, frozenset({2, 3}))


def _inputs(manifest: Mapping[str, Any], locate: Callable[[str], Path | None]) -> Iterator[Sequence[str]]:
    for one in manifest.get("inputs", ()):
        path = locate(one["name"])
        if path is None:
            now = "not there"
        else:
            with open_bytes(path) as file:
                same = hashlib.file_digest(file, "sha256").hexdigest() == one["sha256"]
            now = "the same" if same else "changed since the run"
        yield one["name"], one["sha256"][:16], now


def _overrides(manifest: Mapping[str, Any]) -> Iterator[Sequence[str]]:
    for one in manifest.get("overrides", ()):
        since = "" if one["time"] is None else f" from t = {one['time']:.12g} s"
        before = "" if one["before"] is None else value_text(one["before"], one["unit"])
        yield one["name"], value_text(one["after"], one["unit"]) + since, one["by"], before, one["place"]


def _settings(manifest: Mapping[str, Any]) -> Iterator[Sequence[str]]:
    defaults = asdict(Settings())
    for name, value in manifest.get("settings", {}).items():
        # in the manifest, settings are JSON
        if value and value != defaults.get(name):
            yield name.replace("_", " "), str(value)


def sheet_identity(sheet: Sheet) -> str:
    """The anchor of a diagram in the page."""
    return "/".join(["diagram", *sheet.path])


_PACKAGE = "ssptool.results.report"


@dataclass(frozen=True, slots=True)
class ReportPage:
    """A report that can be shown and saved."""

    html: str

    def __repr__(self) -> str:
        title = re.search("<title>(.*?)</title>", self.html, re.DOTALL)
        named = html.unescape(title[1]) if title else ""
        return f"<ReportPage {named!r}: save(FILE) writes it>"

    def save(self, path: Path | str) -> None:
        save_file(Path(path), self.html)

    def _repr_html_(self) -> str:
        """The page in a frame, which isolates its styles and scripts from the notebook."""
        style = "width: 100%; height: 40rem; border: 1px solid"
        return f'<iframe title="Report" srcdoc="{html.escape(self.html)}" style="{style}"></iframe>'


def _shown(value: object) -> object:
    """Escaped text for a page; our own markup is unchanged."""
    return several_lines(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


class PageContent(Protocol):
    """The common content of pages; a template shows the rest."""

    @property
    def title(self) -> str: ...
    @property
    def ok(self) -> bool: ...
    @property
    def verdict(self) -> str: ...
    @property
    def tool(self) -> str: ...
    @property
    def plots(self) -> ReportPicture | Sequence[ReportPicture]: ...


def report_page(content: PageContent, template: str = "report.html", package: str = _PACKAGE) -> str:
    """Render a page; texts are escaped, pictures are inserted unescaped.

    Parameters
    ----------
    template, package
        The template of the content, and its package; it extends `page.html` of this package.

    Raises
    ------
    MissingPackage
        jinja2, which fills the template, is not installed.
    """
    try:
        from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined  # optional
    except ImportError as error:
        raise missing_extra("plot", "jinja2") from error
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(name, "") for name in dict.fromkeys((package, _PACKAGE))]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=_shown,
    )
    style = (files(_PACKAGE) / "report.css").read_text(encoding="utf-8") + dark_style()
    script = readout_script()
    return environment.get_template(template).render(
        report=content, style=style, script=script, policy=content_policy(script)
    )
