"""HTML reports of runs and of studies."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from ssptool.api.check import Files, switches_of
from ssptool.api.draw import loop_remarks
from ssptool.arguments import SYSTEM_ENDINGS, paths, texts
from ssptool.arguments import path as file_path
from ssptool.documents.archive import Archive
from ssptool.documents.diagnostics import Diagnostic, InvalidDocument
from ssptool.drawing.diagram.arrange import MOST_SHEETS, all_arranged, arranged
from ssptool.drawing.diagram.groups import with_groups
from ssptool.drawing.diagram.model import StatedSheet
from ssptool.drawing.diagram.read import Mark, Remark, findings, marked, stated_sheets
from ssptool.drawing.diagram.svg import sheet_svg
from ssptool.drawing.page_picture import page_picture
from ssptool.drawing.plot import plot_figure
from ssptool.drawing.plot_model import Curve, check_plot_name, panels, thinned
from ssptool.engine.recording.formats import read_manifest, read_trace
from ssptool.engine.run.accuracy import stated_errors
from ssptool.engine.run.plots import band_words, curves_of
from ssptool.engine.run.result import NO_UNITS, Result, with_units
from ssptool.errors import UnknownName, WrongValue, counted
from ssptool.fmu.description import UnreadableFmu
from ssptool.network.tree import dotted
from ssptool.option_words import DrawnConnections
from ssptool.public_calls import public
from ssptool.results.report import ReportPage, report_page, run_report_content, sheet_identity
from ssptool.results.report.content import ReportPicture
from ssptool.rules.runner import check
from ssptool.rules.used_files import system_beyond_reach
from ssptool.studies.calibration import read_fit
from ssptool.studies.charts import every_chart
from ssptool.studies.dataset import DEFINITION
from ssptool.studies.report import study_report_content
from ssptool.studies.stored_results import StudyResults, read_results


@public
def report(
    system: Path | str | Result | StudyResults,
    results: Path | str | Result | StudyResults | None = None,
    output: Path | str | None = None,
    *,
    variant: str | None = None,
    signals: str | Sequence[str] = (),
    allow_outside: Files = (),
    units: Mapping[str, str] | Literal["display"] = NO_UNITS,
) -> ReportPage:
    """Make a self-contained HTML report about a run or a study.

    The report of a run contains diagram, findings, loops, plots, statistics and manifest; for a study, see
    `report_study`.

    Parameters
    ----------
    system
        The simulated system; the report lists files that have changed since the run. It can be omitted if the manifest
        of the results names it: `report("plant.csv")`.
    results
        Result of `simulate` that is in a file, or such a file with its manifest (.csv, .parquet, .mat, .h5 or .mf4); or
        results of a study or their folder.
    output
        Save the report to this .html file.
    variant
        Variant to draw (default: the variant that ran).
    signals
        Plot signals that match one of these patterns (default: all continuous signals).
    allow_outside
        Folders outside of the system in which it may read files, as in `validate`.
    units
        Units of the plots, by patterns of full names: `{"*.w": "rpm"}`; or "display": display units of the FMUs.

    Raises
    ------
    WrongValue
        `output` does not end with .html, a pattern matches no signal, or the results belong to another system, or are
        in no file.
    MissingPackage
        A library of the extra `plot` is not installed.
    UnusableFile
        The results are not a trace.
    """
    if results is None:
        results, stated = system, None
    elif isinstance(system, Result | StudyResults):
        raise WrongValue(f"system is the path of a system; found {system!r}")
    else:
        stated = file_path("system", system)
    if isinstance(results, Result):
        if results.output is None:
            raise WrongValue("a report is made of results in a file: simulate(…, output='results.csv')")
        results = results.output
    if isinstance(results, StudyResults) or (file_path("results", results) / DEFINITION).is_file():
        if units:
            raise WrongValue("results of studies are drawn in their own units; leave out units")
        return report_study(
            results, output, system=stated, variant=variant, signals=signals, allow_outside=allow_outside
        )
    if output is not None:
        check_plot_name(file_path("output", output), (".html",))
    system = (
        _system_of(file_path("results", results), paths("allow_outside", allow_outside)) if stated is None else stated
    )
    patterns = texts("signals", signals, "a pattern such as '*.x1'")
    trace, manifest = with_units({"": read_trace(results)}, units)[""], read_manifest(results)
    if trace.assumptions:
        manifest = {**manifest, "notes": [*manifest.get("notes", ()), *trace.assumptions]}
    if variant is None:
        variant = _variant_that_ran(system, manifest)
    _check_system(system, variant, manifest, results)
    errors = stated_errors(manifest)
    curves = [thinned(curve) for curve in curves_of({"": trace}, patterns, {} if errors is None else {"": errors})]
    band = "" if errors is None else band_words(curves, "", errors)
    diagrams, diagnostics = diagrams_and_findings(system, variant, manifest, allow_outside)
    with Archive.open(system, outside=switches_of(system, allow_outside).outside) as archive:
        content = run_report_content(
            manifest,
            diagrams=diagrams,
            findings=diagnostics,
            plots=_plots(curves, Path(results).name, len(trace), band),
            locate=lambda name: _located(archive, name),
        )
    page = ReportPage(report_page(content))
    if output is not None:
        page.save(output)
    return page


def _system_of(results: Path, allowed: Sequence[Path]) -> Path:
    """System named by the manifest of results."""
    if results.is_dir() or results.suffix.lower() in SYSTEM_ENDINGS:
        raise WrongValue(f"{results} has no results; `ssptool run {shlex.quote(str(results))}` writes some")
    if not results.exists():
        raise FileNotFoundError(f"{results} does not exist")
    manifest = read_manifest(results)
    arguments = manifest.get("arguments", {})
    system, variant = arguments.get("system"), arguments.get("variant")
    again = f"ssptool report SYSTEM {shlex.quote(str(results))}"
    if not isinstance(system, str):
        raise WrongValue(f"{results} does not name its system: `{again}`")
    if not Path(system).exists():
        raise WrongValue(f"the system of {results}, {system}, does not exist any more: `{again}`")
    known = [one["sha256"] for one in manifest.get("inputs", ())]
    variant = variant if isinstance(variant, str) else None
    if system_beyond_reach(Path(system), variant, results.parent, allowed, known):
        raise WrongValue(
            f"{results}: its manifest names the system {system}, which is not unchanged since the run, and lies "
            f"outside the working folder and that of the results; if it is the right system: `{again}`"
        )
    return Path(system)


def _variant_that_ran(system: Path | str, manifest: Mapping[str, Any]) -> str | None:
    """Variant of the run, if the system still has it; None: the default variant."""
    arguments = manifest.get("arguments")
    name = arguments.get("variant") if isinstance(arguments, dict) else None
    with Archive.open(system) as archive:
        try:
            return name if isinstance(name, str) and archive.structure(name) else None
        except UnknownName:
            return None


def _check_system(system: Path | str, variant: str | None, manifest: Mapping[str, Any], results: Path | str) -> None:
    """Raise ValueError if the run is of another system, because the diagram of the report would be wrong."""
    with Archive.open(system) as archive:
        shown = archive.structure(variant).structure.name
    ran = manifest.get("system", shown)
    if ran != shown:
        raise WrongValue(
            f"{results}: it is a run of {ran!r}, but {system} is {shown!r}; give the system or variant that ran"
        )


def _plots(curves: Sequence[Curve], name: str, rows: int, band: str) -> ReportPicture:
    if not curves or not rows:
        numbers = counted(len(curves), "signal")
        return ReportPicture(
            f"There is nothing to plot: {name} has {counted(rows, 'row')}, and {numbers} of numbers.", ""
        )
    title = f"{counted(len(curves), 'signal')} of {name}{f'; band: {band}' if band else ''}"
    return ReportPicture(title, page_picture(plot_figure(panels(curves), ""), "run", title))


def _loops(archive: Archive, variant: str | None) -> list[Remark]:
    try:
        return list(loop_remarks(archive, archive.structure(variant)))
    except InvalidDocument:
        return []  # The findings say why.


def _failed(sheets: Iterable[StatedSheet], manifest: Mapping[str, Any]) -> Iterator[Remark]:
    """Remark at the component that made the run fail, if any."""
    failure = manifest.get("failure") or {}
    for block in (block for sheet in sheets for block in sheet.blocks):
        if dotted(block.path) == failure.get("component"):
            yield Remark(Mark.ERROR, block.span.file, block.span.first, failure.get("message", ""))


def diagrams_and_findings(
    system: Path | str, variant: str | None, manifest: Mapping[str, Any], allow_outside: Files = ()
) -> tuple[list[ReportPicture], Sequence[Diagnostic]]:
    """Diagrams of a system for a report, with marks at findings, loops and the failed component; and
    the findings of the shown variant.
    """
    switches = switches_of(system, allow_outside)
    with Archive.open(system, outside=switches.outside) as archive:
        structure = archive.structure(variant)
        diagnostics = check(archive, structure.name, switches=switches).diagnostics
        stated = with_groups(stated_sheets(archive, structure))
        told = [*findings(diagnostics), *_loops(archive, variant), *_failed(stated.values(), manifest)]
        remarks = marked(list(stated.values()), told)
    if len(stated) > MOST_SHEETS:
        title = f"The outermost systems (at most {MOST_SHEETS} of {len(stated)} are drawn)"
        return [
            ReportPicture(title, sheet_svg(arranged(stated, connections=DrawnConnections.BUNDLED), remarks))
        ], diagnostics
    sheets = all_arranged(stated, DrawnConnections.BUNDLED)
    anchors = {sheet.path: f"#{sheet_identity(sheet)}" for sheet in sheets}
    diagrams = [
        ReportPicture(sheet.name, sheet_svg(sheet, remarks, anchors.__getitem__), sheet_identity(sheet))
        for sheet in sheets
    ]
    return diagrams, diagnostics


def _located(archive: Archive, name: str) -> Path | None:
    if archive.has(name):
        return archive.local_path(name)
    return Path(name) if Path(name).is_file() else None


_CAPTIONS = {
    "scatter": "Results over factors",
    "tornado": "What each factor does alone",
    "envelope": "Signals over time in all runs",
    "sensitivity": "What results depend on",
    "parallel": "Each run across factors and results",
    "surface": "Results over two factors",
    "front": "What one objective costs of the other",
    "convergence": "The best run so far",
    "fit": "The fit among what was measured",
}


@public
def report_study(
    results: StudyResults | Path | str,
    output: Path | str | None = None,
    *,
    system: Path | str | None = None,
    variant: str | None = None,
    signals: str | Sequence[str] = (),
    allow_outside: Files = (),
) -> ReportPage:
    """Make a self-contained HTML report about a study: design, runs and failures, plots, calibration, origin.

    Parameters
    ----------
    results
        Result folder, also while the study runs.
    output
        Save the report to this .html file.
    system, variant
        System and variant to draw (default: those of the study, if the system is still in its place).
    signals
        Plot results that match one of these patterns (default: all).
    allow_outside
        Folders outside of the system in which it may read files, as in `validate`.

    Raises
    ------
    UnusableFile
        The folder contains no results.
    WrongValue
        `output` does not end with .html.
    MissingPackage
        A library of the extra `plot` is not installed.
    """
    if output is not None:
        check_plot_name(file_path("output", output), (".html",))
    found = results if isinstance(results, StudyResults) else read_results(file_path("results", results))
    definition = found.definition
    ran, drawn = definition.get("fixed", {}).get("variant"), Path(system or definition["system"])
    folders, known = paths("allow_outside", allow_outside), definition["files"].values()
    diagrams: Sequence[ReportPicture] = ()
    findings: Sequence[Diagnostic] = ()
    if system or not drawn.exists() or not system_beyond_reach(drawn, ran, found.folder.parent, folders, known):
        diagrams, findings, absent = _drawn(drawn, variant or ran, allow_outside)
    else:
        absent = f"The system is not drawn: {drawn} has changed, and lies outside the folder of the results"
    charts, notes = every_chart(found, texts("signals", signals, "a pattern such as '*.x1'"))
    plots = [
        ReportPicture(_CAPTIONS[kind], page_picture(one.figure(), kind, _CAPTIONS[kind]))
        for kind, one in charts.items()
    ]
    content = study_report_content(
        found,
        read_fit(found.folder),
        plots=plots,
        notes=notes,
        diagrams=diagrams,
        absent=absent,
        findings=findings,
    )
    page = ReportPage(report_page(content, "study.html", "ssptool.studies.report"))
    if output is not None:
        page.save(output)
    return page


def _drawn(
    system: Path, variant: str | None, allow_outside: Files
) -> tuple[Sequence[ReportPicture], Sequence[Diagnostic], str]:
    """Diagrams and findings, or the reason why there are none."""
    try:
        return (*diagrams_and_findings(system, variant, {}, allow_outside), "")
    except (OSError, InvalidDocument, UnreadableFmu, LookupError, ValueError) as problem:
        return [], [], f"The system cannot be drawn now: {problem}"
