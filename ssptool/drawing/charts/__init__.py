"""Charts of many runs: pictures by Matplotlib, HTML pages by Plotly. Each kind of chart has its own file."""

from pathlib import Path
from typing import Any, Protocol

from ssptool.documents.saving import save_file
from ssptool.drawing.plot import plot_html, save


class Chart(Protocol):
    """The content of a chart and how it is drawn. Both methods raise MissingPackage without the library."""

    def figure(self) -> Any:
        """A figure of Matplotlib."""

    def page(self) -> Any:
        """A figure of Plotly."""


def draw_chart(chart: Chart, path: Path, title: str) -> None:
    """Write a picture in the format of its name. Raises MissingPackage."""
    figure = chart.figure()
    figure.suptitle(title)
    save(figure, path)


def draw_chart_page(chart: Chart, path: Path, title: str) -> None:
    """Write a page with the chart. Raises MissingPackage."""
    save_file(path, plot_html(title, chart_markup(chart)))


def chart_markup(chart: Chart) -> str:
    """The chart as a part of a page, with the scripts that draw it. Raises MissingPackage."""
    figure = chart.page()
    figure.update_layout(template="plotly_white", margin={"t": 40, "l": 90})
    options = {"responsive": True, "displaylogo": False}
    height = f"{figure.layout.height}px"
    markup: str = figure.to_html(full_html=False, include_plotlyjs=True, config=options, default_height=height)
    return markup
