"""Plots as pages: everything is inside, and says what it shows."""

import re

import numpy as np

from ssptool.drawing.plot import page_figure, plot_signals
from ssptool.drawing.plot_model import Curve, panels

T = np.linspace(0.0, 1.0, 11)


def test_a_page_needs_nothing_from_elsewhere(tmp_path):
    plot_signals([Curve("a.x", "m", T, T)], tmp_path / "p.html", "Dual <mass>")
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert "<title>Dual &lt;mass&gt;</title>" in page
    assert '<html lang="en">' in page
    assert re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=", page) == []


def test_signals_differ_by_colour_and_runs_by_dashes():
    (panel,) = panels(
        [
            Curve(label, "m", T, T + 2 * number + place, run=run)
            for number, run in enumerate("pq")
            for place, label in enumerate("xy")
        ]
    )
    assert [(one.curve.name, one.colour, one.dash) for one in panel.curves] == [
        ("x (p)", 0, 0),
        ("y (p)", 1, 0),
        ("x (q)", 0, 1),
        ("y (q)", 1, 1),
    ]


def test_the_runs_of_a_single_signal_differ_by_colour_and_dashes():
    (panel,) = panels([Curve("x", "m", T, T + n, run=str(n)) for n in range(3)])
    assert [(one.colour, one.dash) for one in panel.curves] == [(0, 0), (1, 1), (2, 2)]


def test_runs_with_the_same_values_stay_apart():
    (panel,) = panels([Curve("x", "m", T, T, run=run) for run in "pq"])
    assert [one.curve.name for one in panel.curves] == ["x (p)", "x (q)"]


def test_a_page_draws_every_point_of_a_curve():
    """What plotly leaves out by itself is seen as corners in smooth curves."""
    figure = page_figure(panels([Curve("x", "m", T, np.sin(T))]))
    assert [line.line.simplify for line in figure.data] == [False]


def test_a_name_is_no_markup():
    figure = page_figure(panels([Curve("<b>a</b>.x", "m", T, T)]))
    assert [line.name for line in figure.data] == ["&lt;b&gt;a&lt;/b&gt;.x"]
