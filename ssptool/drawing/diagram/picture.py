"""SVG as PNG, by resvg."""

from importlib.resources import files
from importlib.util import find_spec

from lxml import etree

from ssptool.drawing.plot_unavailable import PlotUnavailable

SCALE = 2.0
"""Pixels per unit of the SVG: sharp on screens with many pixels, too."""

LARGEST = 12_000
"""Pixels of a side: a picture with more is drawn smaller."""


def png(svg: str) -> bytes:
    """A picture with `SCALE` pixels per unit, or fewer, if it were too large.

    Raises
    ------
    PlotUnavailable
        resvg, which draws it, is not installed.
    """
    try:
        import resvg_py  # optional
    except ImportError as error:
        raise PlotUnavailable("resvg_py") from error
    root = etree.fromstring(svg.encode())
    side = max(float(root.get(name, "1")) for name in ("width", "height"))
    scale = min(SCALE, LARGEST / side)
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=scale, font_files=_fonts()))


def _fonts() -> list[str] | None:
    """Those that come with matplotlib: machines without fonts have labels, too."""
    if find_spec("matplotlib") is None:
        return None
    folder = files("matplotlib") / "mpl-data" / "fonts" / "ttf"
    return [str(folder / name) for name in ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf")]
