"""A report as one HTML page, by the template beside this file."""

from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Protocol

from ssptool.dataclass import dataclass
from ssptool.drawing.pages import dark_style
from ssptool.drawing.plot_unavailable import PlotUnavailable

_HERE = "ssptool.results.report"


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


class Facts(Protocol):
    """What every page begins and ends with; a template shows the rest."""

    @property
    def title(self) -> str: ...
    @property
    def ok(self) -> bool: ...
    @property
    def verdict(self) -> str: ...
    @property
    def tool(self) -> str: ...


def report_page(facts: Facts, template: str = "report.html", package: str = _HERE) -> str:
    """The page; everything that is text is escaped, only pictures go in as they are.

    Parameters
    ----------
    template, package
        What shows the facts, and where it is; it extends `page.html` of this package.

    Raises
    ------
    PlotUnavailable
        jinja2, which fills the template, is not installed.
    """
    try:
        from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined  # optional
    except ImportError as error:
        raise PlotUnavailable("jinja2") from error
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(name, "") for name in dict.fromkeys((package, _HERE))]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    style = (files(_HERE) / "report.css").read_text(encoding="utf-8") + dark_style()
    return environment.get_template(template).render(facts=facts, style=style)
