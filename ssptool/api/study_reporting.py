"""A page about a study."""

from collections.abc import Sequence
from pathlib import Path

from ssptool.api.reporting import diagrams_and_findings
from ssptool.arguments import texts
from ssptool.documents.diagnostics import Diagnostic, InvalidDocument
from ssptool.drawing.plot import check_plot_name
from ssptool.drawing.study_page import chart_markup
from ssptool.fmu.description import UnreadableFmu
from ssptool.results.report.facts import Picture
from ssptool.results.report.page import ReportPage, report_page
from ssptool.studies.fit import read_fit
from ssptool.studies.pictures import every_chart
from ssptool.studies.report.facts import study_facts
from ssptool.studies.study_results import StudyResults, read_results

_CAPTIONS = {
    "scatter": "Results over factors",
    "tornado": "What each factor does alone",
    "envelope": "Signals over time in all runs",
}


def report_study(
    results: StudyResults | Path | str,
    output: Path | str | None = None,
    *,
    system: Path | str | None = None,
    variant: str | None = None,
    signals: str | Sequence[str] = (),
) -> ReportPage:
    """One self-contained HTML page about a study: design, runs and failures, plots, calibration, origin.

    Parameters
    ----------
    results
        The folder of results, also while the study runs.
    output
        A file to save it in: .html.
    system, variant
        What is drawn; else the system and variant of the study, if it is still where it was.
    signals
        Of results to plot; without, all.

    Raises
    ------
    NotResults
        The folder has none.
    ValueError
        The page is not to be called .html.
    PlotUnavailable
        A library of the extra `plot` is not installed.
    """
    if output is not None:
        check_plot_name(Path(output), (".html",))
    found = results if isinstance(results, StudyResults) else read_results(Path(results))
    definition = found.definition
    drawn = Path(system if system is not None else definition.get("system", ""))
    diagrams, findings, absent = _drawn(drawn, variant or definition.get("fixed", {}).get("variant"))
    charts, notes = every_chart(found, texts("signals", signals, "a pattern such as '*.x1'"))
    plots = [
        Picture(_CAPTIONS[kind], chart_markup(one, library=place == 0))
        for place, (kind, one) in enumerate(charts.items())
    ]
    facts = study_facts(
        found,
        read_fit(found.folder),
        plots=plots,
        notes=notes,
        diagrams=diagrams,
        absent=absent,
        findings=findings,
    )
    page = ReportPage(report_page(facts, "study.html", "ssptool.studies.report"))
    if output is not None:
        page.save(output)
    return page


def _drawn(system: Path, variant: str | None) -> tuple[Sequence[Picture], Sequence[Diagnostic], str]:
    """Diagrams and findings; or why there are none."""
    try:
        return (*diagrams_and_findings(system, variant, {}), "")
    except (OSError, InvalidDocument, UnreadableFmu, LookupError, ValueError) as problem:
        return [], [], f"The system cannot be drawn now: {problem}"
