"""A report as one HTML page, by the template beside this file."""

from importlib.resources import files

from ssptool.drawing.plot_unavailable import PlotUnavailable
from ssptool.results.report.facts import RunFacts


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
