"""Matplotlib pictures as parts of pages: texts stay texts, colours follow the screen, and values can be read.

The script readout.js shows the values at the pointer; on paper, and without scripts, they are plain pictures. A
JavaScript library that draws in the page would add some megabytes to each page.
"""

import io
import re
from importlib.resources import files
from typing import Any

from ssptool.drawing.plot import literal, plot_style
from ssptool.foreign_text import html_text, strict_json

_MOST_SHAPES = 500
"""Maximum number of dots or lines of an axes that are drawn as shapes; more are drawn as a pixel image."""

_ID = re.compile(r'(\bid="|href="#|url\(#)')
_BLACK = re.compile(r"(fill|stroke): #000000")


def page_picture(figure: Any, identity: str, title: str) -> str:
    """A figure as markup of a page, in which `identity` begins the names of its elements; the title is not drawn."""
    figure.patch.set_visible(False)
    for number, axis in enumerate(figure.axes):
        axis.patch.set_visible(False)
        for place, line in enumerate(axis.lines):
            line.set_gid(f"curve-{number}-{place}")
        for dots in axis.collections:
            dots.set_rasterized(max(len(dots.get_offsets()), len(dots.get_paths())) > _MOST_SHAPES)
        if len(axis.lines) > _MOST_SHAPES:
            for line in axis.lines:
                line.set_rasterized(True)
    buffer = io.StringIO()
    with plot_style(None, **{"svg.fonttype": "none"}):
        literal(figure).savefig(
            buffer, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
        )
    # Saving has computed its layout.
    about = strict_json([_axes(figure, axis, f"{identity}-curve-{n}") for n, axis in enumerate(figure.axes)])
    text = buffer.getvalue()
    text = _ID.sub(rf"\g<1>{identity}-", text[text.index("<svg") :])
    text = _BLACK.sub(r"\1: currentColor", text)
    return text.replace(
        "<svg ", f'<svg class="plot" role="img" aria-label="{html_text(title)}" data-axes="{html_text(about)}" ', 1
    )


def readout_script() -> str:
    """The element of a page that shows values at the pointer."""
    return f"<script>{(files('ssptool.drawing') / 'readout.js').read_text(encoding='utf-8')}</script>"


def _axes(figure: Any, axis: Any, curves: str) -> dict[str, Any]:
    """Axes of the picture [pt, from its upper left corner], what they show, and the names of curves."""
    width, height = 72 * figure.get_figwidth(), 72 * figure.get_figheight()
    box = axis.get_position()
    named = ((place, str(line.get_label())) for place, line in enumerate(axis.lines))
    corners = (box.x0 * width, (1 - box.y1) * height, box.x1 * width, (1 - box.y0) * height)
    return {
        "box": [round(each, 3) for each in corners],
        "x": _scale(axis.xaxis, axis.get_xlim(), axis.get_xlabel() or _shared_label(axis)),
        "y": _scale(axis.yaxis, axis.get_ylim(), axis.get_ylabel()),
        "curves": {f"{curves}-{place}": name for place, name in named if name and not name.startswith("_child")},
    }


def _shared_label(axis: Any) -> str:
    """Label below the last of axes that share their x."""
    labels = [other.get_xlabel() for other in axis.get_shared_x_axes().get_siblings(axis)]
    return next(filter(None, labels), "")


def _scale(axis: Any, limits: tuple[float, float], label: str) -> dict[str, Any] | None:
    """None where places along the axis are not numbers."""
    from matplotlib.ticker import FixedFormatter, FuncFormatter, NullFormatter  # heavy and optional

    if isinstance(axis.get_major_formatter(), FixedFormatter | FuncFormatter | NullFormatter):
        return None
    return {"from": float(limits[0]), "to": float(limits[1]), "log": axis.get_scale() == "log", "label": label}
