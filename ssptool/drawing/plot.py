"""Signals over time, one panel per unit, in the format of a file's name."""

from collections.abc import Sequence
from pathlib import Path

from ssptool.drawing.plot_matplotlib import draw_picture
from ssptool.drawing.plot_model import Curve, Size, panels
from ssptool.drawing.plot_plotly import draw_page
from ssptool.errors import WrongValue

PICTURES = (".png", ".svg", ".pdf")
PAGES = (".html",)
FORMATS = (*PICTURES, *PAGES)


def plot_signals(curves: Sequence[Curve], path: Path, title: str = "", size: Size | None = None) -> None:
    """Draw curves over time into a PNG, SVG or PDF file, or into an HTML page that zooms; chosen by the ending.

    Parameters
    ----------
    size
        Of a picture for print; a page has that of its window.

    Raises
    ------
    PlotUnavailable
        The library that draws is not installed.
    WrongValue
        The file name has another ending, there is nothing to draw, or a page is to have a size.
    """
    check_plot_name(path, FORMATS)
    if size is not None:
        check_plot_name(path, PICTURES)
    contents = panels(curves)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix.lower() in PAGES:
        draw_page(contents, path, title)
    else:
        draw_picture(contents, path, title, size)


def check_plot_name(path: Path, formats: Sequence[str] = FORMATS) -> None:
    """Raise ValueError if the ending of `path` is none of these formats: better before a long run than after."""
    if path.suffix.lower() not in formats:
        raise WrongValue(
            f"{path}: it can be written as {', '.join(formats)}, not as {path.suffix or 'a file without ending'}"
        )
