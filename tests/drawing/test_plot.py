"""Plots: one panel per unit, one legend entry per curve that can be seen."""

import re
from pathlib import Path

import numpy as np
import pytest
from lxml import etree

from ssptool import check_plot_name
from ssptool.drawing.plot import plot_signals
from ssptool.drawing.plot_model import Curve, Size

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


def test_of_thousands_of_signals_that_are_one_curve_some_are_named(tmp_path):
    plot_signals([Curve(f"a.x{k}", "m", T, T) for k in range(5000)], tmp_path / "p.svg")
    (label,) = (text for text in texts(tmp_path / "p.svg") if text.startswith("a.x"))
    assert label == "a.x0 = a.x1 = a.x2 = a.x3 = a.x4 = a.x5 = a.x6 = … (5000 signals)"


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_names_are_drawn_as_they_are(tmp_path, ending):
    """What is a formula, hidden or a tag to the libraries that draw, is a name of a signal here."""
    names = ["$a.x", "$\\alpha$", "_private", "{0}"]
    curves = [Curve(name, "$m$", T, k * T) for k, name in enumerate(names, start=1)]
    plot_signals(curves, tmp_path / f"p.{ending}", "a $title")
    if ending == "svg":
        assert {*names, "[$m$]", "a $title"} <= set(texts(tmp_path / "p.svg"))


def test_runs_are_named_once_for_all_signals_and_panels(tmp_path):
    curves = [Curve(name, unit, T, k * T, run=run) for name, unit, k in SIGNALS for run in ("fine", "coarse")]
    plot_signals(curves, tmp_path / "p.svg")
    found = texts(tmp_path / "p.svg")
    assert {name: found.count(name) for name in ("a.x", "b.x", "fine", "coarse")} == dict.fromkeys(
        ("a.x", "b.x", "fine", "coarse"), 1
    )
    # A signal alone in its panel differs by the colours of its runs as well, which only its own legend can tell.
    assert {"a.v (fine)", "a.v (coarse)"} <= set(found)


SIGNALS = [("a.x", "m", 1.0), ("b.x", "m", 2.0), ("a.v", "m/s", 3.0)]


def test_runs_of_signals_alone_in_their_panels_are_named_once(tmp_path):
    curves = [Curve(name, unit, T, k * T, run=run) for name, unit, k in SIGNALS[1:] for run in ("fine", "coarse")]
    plot_signals(curves, tmp_path / "p.svg")
    found = texts(tmp_path / "p.svg")
    assert [found.count(name) for name in ("b.x", "a.v", "fine", "coarse")] == [1, 1, 1, 1]


def test_a_picture_is_higher_the_more_its_legends_have_to_say(tmp_path):
    """So that the curves keep their room: 2.1 inches for a panel with its axis."""
    long = "a_component_with_a_long_name.a_variable_with_a_longer_name_which_is_alone_in_its_row_"
    heights = []
    for count in (1, 10):
        plot_signals([Curve(f"{long}{k}", "m", T, k * T) for k in range(count)], tmp_path / "p.svg")
        heights.append(float(etree.parse(tmp_path / "p.svg").getroot().get("height").removesuffix("pt")))
    assert heights[1] >= heights[0] + 9 * 0.83 * 10  # nine more rows of letters of 8.3 points


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


def test_a_picture_for_print_has_its_size_and_its_fonts_in_it(tmp_path):
    """85 mm are 85 / 25.4 · 72 = 240.9 points; fonts are embedded as TrueType (FontFile2)."""
    plot_signals([Curve("a.x", "m", T, T)], tmp_path / "p.pdf", size=Size.parse("85x60mm"))
    content = (tmp_path / "p.pdf").read_bytes()
    (box,) = re.findall(rb"/MediaBox \[([^]]*)\]", content)
    assert [float(side) for side in box.split()] == pytest.approx([0, 0, 85 / 25.4 * 72, 60 / 25.4 * 72])
    assert b"/FontFile2" in content
    assert b"/Subtype /Image" not in content
    plot_signals([Curve("a.x", "m", T, T)], tmp_path / "p.svg", size=Size.parse("3.5x2in"))
    root = etree.parse(tmp_path / "p.svg").getroot()
    assert (root.get("width"), root.get("height")) == ("252pt", "144pt")
    assert root.find(".//{*}image") is None


def test_the_same_plot_is_the_same_file(tmp_path):
    for ending in ("svg", "pdf", "png"):
        for name in "ab":
            plot_signals([Curve("a.x", "m", T, T)], tmp_path / f"{name}.{ending}")
        assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()


@pytest.mark.parametrize("text", ["85x60", "0x60mm", "85x60px", "x", "1e3x2mm", "85.5.5x60mm", "9999x2in", "160x5mm"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(ValueError, match="like 160x90mm"):
        Size.parse(text)


def test_a_poster_has_fewer_pixels_per_inch_than_a_figure():
    """A4 at 600 dpi has 35 million pixels; 100 million, the most that there are, of A0 are 250 dpi."""
    assert Size.parse("297x210mm").dots_per_inch == 600
    assert Size.parse("1189x841mm").dots_per_inch == pytest.approx(254, abs=1)


def test_a_page_has_no_size(tmp_path):
    with pytest.raises(ValueError, match=r"\.png, \.svg, \.pdf"):
        plot_signals([Curve("a.x", "m", T, T)], tmp_path / "p.html", size=Size(3.0, 2.0))
