"""Pictures of studies."""

from collections.abc import Sequence
from pathlib import Path

from ssptool.arguments import path as file_path
from ssptool.arguments import texts
from ssptool.drawing.plot import PAGES, check_plot_name
from ssptool.drawing.study_page import draw_chart_page
from ssptool.drawing.study_picture import draw_chart
from ssptool.studies.pictures import ChartKind, chart
from ssptool.studies.study_results import StudyResults, read_results


def plot_study(
    results: StudyResults | Path | str,
    output: Path | str,
    *,
    kind: ChartKind | str | None = None,
    signals: str | Sequence[str] = (),
    title: str | None = None,
) -> None:
    """Draw the results of a study into a PNG, SVG or PDF file, or an HTML page that zooms.

    Parameters
    ----------
    kind
        `scatter`: results over factors. `tornado`: what each factor does alone, in a one-at-a-time design. `envelope`:
        signals over time in all runs, with quantiles, if the study keeps traces. None: what fits to the study.
    signals
        One pattern or several, of results or of signals; else all.
    title
        Above; else the name of the study.

    Raises
    ------
    ValueError
        The name has another ending, or there are too many panels.
    NotResults
        There is nothing to draw, or nothing of this kind.
    PlotUnavailable
        The library that draws is not installed.
    """
    path = file_path("output", output)
    check_plot_name(path)
    found = results if isinstance(results, StudyResults) else read_results(Path(results))
    wanted = chart(found, kind, texts("signals", signals, "a pattern such as '*.x1'"))
    path.parent.mkdir(parents=True, exist_ok=True)
    draw = draw_chart_page if path.suffix.lower() in PAGES else draw_chart
    draw(wanted, path, found.status.name if title is None else title)
