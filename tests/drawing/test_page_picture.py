"""Pictures in pages say where they show what, stay small, and take names as texts."""

import html
import json
import re

import numpy as np
import pytest

from ssptool.drawing.charts.axes import Axis
from ssptool.drawing.charts.line_and_dots import LineAndDots, LinePanel
from ssptool.drawing.charts.scatter import Scatter
from ssptool.drawing.page_picture import page_picture
from ssptool.drawing.plot import plot_figure
from ssptool.drawing.plot_model import Curve, panels


def axes_of(markup):
    return json.loads(html.unescape(re.search(r'data-axes="([^"]*)"', markup)[1]))


def test_the_picture_says_where_its_axes_are():
    """The points of the curve in the picture are those of the data, by limits and box alone."""
    t, y = np.linspace(0.0, 4.0, 9), np.linspace(0.0, 4.0, 9) ** 2
    markup = page_picture(plot_figure(panels([Curve("A.y", "m", t, y)]), ""), "run", "A run")
    (axes,) = axes_of(markup)
    (identity,) = axes["curves"]
    assert axes["curves"][identity] == "A.y" and axes["x"]["label"] == "time [s]" and axes["y"]["label"] == "[m]"
    drawn = re.search(rf'id="{identity}">\s*<path d="([^"]*)"', markup)[1]
    places = np.array(re.findall(r"-?[\d.]+", drawn), dtype=float).reshape(-1, 2)
    left, top, right, bottom = axes["box"]
    shown_t = axes["x"]["from"] + (places[:, 0] - left) / (right - left) * (axes["x"]["to"] - axes["x"]["from"])
    shown_y = axes["y"]["from"] + (bottom - places[:, 1]) / (bottom - top) * (axes["y"]["to"] - axes["y"]["from"])
    assert shown_t == pytest.approx(t, abs=1e-4) and shown_y == pytest.approx(y, abs=1e-3)


def test_what_is_no_number_is_not_read_off():
    values = {"kind": np.array([0.0, 1.0]), "y": np.array([1.0, 2.0])}
    scatter = Scatter((Axis("kind", None, ("a", "b")),), (Axis("y"),), values)
    (axes,) = axes_of(page_picture(scatter.figure(), "scatter", "Dots"))
    assert axes["x"] is None and axes["y"]["label"] == "y"


def test_many_dots_are_pixels():
    many = {name: np.random.default_rng(1).random(20_000) for name in ("a", "b", "y")}
    scatter = Scatter((Axis("a"), Axis("b")), (Axis("y"),), many)
    markup = page_picture(scatter.figure(), "scatter", "Dots")
    assert "data:image/png" in markup and len(markup) < 500_000
    few = {name: column[:100] for name, column in many.items()}
    assert "data:image/png" not in page_picture(Scatter((Axis("a"),), (Axis("y"),), few).figure(), "few", "Dots")


def test_two_pictures_in_one_page_share_no_identity():
    line = np.array([0.0, 1.0])
    chart = LineAndDots((LinePanel(Axis("x"), Axis("y"), (line, line), (line, line)),), "dots", "line")
    one, other = (set(re.findall(r'\bid="([^"]*)"', page_picture(chart.figure(), name, name))) for name in ("a", "b"))
    assert one and not one & other
    markup = page_picture(chart.figure(), "a", "a")
    assert set(re.findall(r'(?:href="#|url\(#)([^")]*)', markup)) <= one


def test_names_are_no_markup():
    hostile = "<script>alert(1)</script>\"'"
    markup = page_picture(
        plot_figure(panels([Curve(hostile, hostile, np.arange(2.0), np.arange(2.0))]), ""), "r", hostile
    )
    assert "<script" not in markup
