"""Plots: one panel per unit, one legend entry per curve that can be seen."""

from pathlib import Path

import numpy as np
import pytest
from lxml import etree

from ssptool.drawing.curves import Curve
from ssptool.drawing.plot import check_plot_name, plot_signals

T = np.linspace(0.0, 1.0, 11)


def texts(svg: Path) -> list[str]:
    """Text of a picture: matplotlib writes each label as a comment beside its outlines."""
    return [str(node.text).strip() for node in etree.parse(svg).iter(etree.Comment)]


def test_each_unit_has_its_panel_and_each_signal_its_label(tmp_path):
    curves = [Curve("a.x", "m", T, T), Curve("a.v", "m/s", T, 2 * T), Curve("b.x", "m", T, -T)]
    plot_signals(curves, tmp_path / "p.svg", "Title")
    found = texts(tmp_path / "p.svg")
    assert found.count("[m]") == 1
    assert found.count("[m/s]") == 1
    assert {"a.x", "b.x", "a.v", "Title", "time [s]"} <= set(found)


def test_both_ends_of_a_wire_are_one_curve_with_two_names(tmp_path):
    plot_signals([Curve("a.x", "m", T, T), Curve("b.u", "m", T, T.copy())], tmp_path / "p.svg")
    assert "a.x = b.u" in texts(tmp_path / "p.svg")


def test_a_run_of_one_point_can_be_drawn(tmp_path):
    plot_signals([Curve("a.x", None, T[:1], T[:1])], tmp_path / "p.png")
    assert (tmp_path / "p.png").stat().st_size > 0


@pytest.mark.parametrize("name", ["plot", "plot.bmp", "plot.csv"])
def test_other_endings_are_refused(name):
    with pytest.raises(ValueError, match=r"\.png"):
        check_plot_name(Path(name))


def test_nothing_to_draw_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no signal"):
        plot_signals([], tmp_path / "p.png")
