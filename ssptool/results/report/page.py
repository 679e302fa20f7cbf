"""A report as one HTML page, by the template beside this file."""

from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path

from ssptool.drawing.plot_unavailable import PlotUnavailable
from ssptool.results.report.facts import RunFacts


@dataclass(frozen=True, slots=True)
class ReportPage:
    """A report that can be shown and saved."""

    html: str

    def save(self, path: Path | str) -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        """In a frame of its own: its styles and scripts are not those of the notebook."""
        style = "width: 100%; height: 40rem; border: 1px solid"
        return f'<iframe title="Report" srcdoc="{escape(self.html)}" style="{style}"></iframe>'


def report_page(facts: RunFacts) -> str:
    """The page; everything that is text is escaped, only pictures go in as they are.

    Raises
    ------
    PlotUnavailable
        jinja2, which fills the template, is not installed.
    """
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined  # optional
    except ImportError as error:
        raise PlotUnavailable("jinja2") from error
    environment = Environment(
        loader=PackageLoader("ssptool.results.report", ""),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    style = (files("ssptool.results.report") / "report.css").read_text(encoding="utf-8")
    return environment.get_template("report.html").render(facts=facts, style=style)
