"""Plots: one panel per unit, one legend entry per curve that can be seen."""

import re
from pathlib import Path

import numpy as np
import pytest
from lxml import etree

from ssptool.drawing.plot import plot_figure, plot_signals, plot_style
from ssptool.drawing.plot_model import Curve, Size, panels
from ssptool.renderers import check_plot_name

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


def test_an_axis_does_not_claim_a_unit_that_nothing_states(tmp_path):
    """`-` would say that speed and voltage are numbers without dimension."""
    t = np.linspace(0.0, 1.0, 5)
    curves = [Curve("Motor.w", None, t, t), Curve("Motor.s", "1", t, t + 1.0), Curve("Motor.x", "m", t, t + 2.0)]
    assert [panel.axis_label for panel in panels(curves)] == ["no unit stated", "[1]", "[m]"]


def test_both_ends_of_a_wire_are_one_curve_with_two_names(tmp_path):
    ends = [Curve("a.x", "m", T, T, net="a.x"), Curve("b.u", "m", T, T.copy(), net="a.x")]
    plot_signals(ends, tmp_path / "p.svg")
    assert "a.x = b.u" in texts(tmp_path / "p.svg")


def test_of_thousands_of_signals_that_are_one_curve_some_are_named(tmp_path):
    plot_signals([Curve(f"a.x{k}", "m", T, T, net="a") for k in range(5000)], tmp_path / "p.svg")
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


def test_equal_signals_that_are_not_connected_are_two_curves_of_which_both_are_seen(tmp_path):
    curves = [Curve("a.x", "m", T, T), Curve("b.x", "m", T, T.copy())]
    plot_signals(curves, tmp_path / "p.svg")
    assert {"a.x", "b.x"} <= set(texts(tmp_path / "p.svg"))
    (panel,) = panels(curves)
    assert [one.dash for one in panel.curves] == [0, 1]


@pytest.mark.parametrize(("signals", "runs"), [(30, 1), (15, 2), (5, 6), (1, 20), (1, 30), (11, 2)])
def test_up_to_thirty_curves_differ_in_colour_or_dash_and_are_all_named(tmp_path, signals, runs):
    names = [f"a.x{k}" for k in range(signals)]
    curves = [
        Curve(name, "m", T, T + 0.5 * k + 0.1 * r, run=f"run {r}") for r in range(runs) for k, name in enumerate(names)
    ]
    (panel,) = panels(curves)
    styles = {(one.colour % 10, one.dash % 4) for one in panel.curves}
    assert len(styles) == signals * runs
    plot_signals(curves, tmp_path / "p.svg")
    told = " ".join(texts(tmp_path / "p.svg"))
    assert all(name in told for name in [*names, *(f"run {r}" for r in range(runs))])


def test_more_curves_than_that_are_named_in_a_page(tmp_path):
    curves = [Curve(f"a.x{k}", "m", T, T + 0.5 * k) for k in range(31)]
    plot_signals(curves, tmp_path / "p.svg")
    assert "31 curves, named in a page (.html)" in texts(tmp_path / "p.svg")
    plot_signals(curves, tmp_path / "p.html")
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert all(f'"name":"a.x{k}"' in page for k in range(31))


@pytest.mark.parametrize("size", ["85x60mm", "60x40mm"])
@pytest.mark.parametrize("count", [2, 12, 30])
def test_a_legend_leaves_half_of_a_panel_to_its_curves(size, count):
    """Where it cannot, the picture says where the names are."""
    named = [Curve(f"component.signal{k}", "m", T, T + 0.5 * k) for k in range(count)]
    with plot_style(Size.parse(size)):
        figure = plot_figure(panels(named), "", Size.parse(size))
        figure.draw_without_rendering()
    (axis,) = figure.axes
    assert axis.get_position().width >= 0.5
    legend = axis.get_legend()
    if legend is None:
        assert axis.get_title("right") == f"{count} curves, named in a page (.html)"
    else:
        assert len(legend.get_texts()) == count
        assert legend.get_window_extent().height <= figure.bbox.height / 2


@pytest.mark.parametrize(("ratio", "expected"), [(29.0, 1), (31.0, 2), (1e6, 2)])
def test_signals_of_one_unit_share_a_panel_while_the_flattest_can_be_read(ratio, expected):
    found = panels([Curve("a", "m", T, T), Curve("b", "m", T, ratio * T), Curve("c", "m", T, 2 * T)])
    assert len(found) == expected
    homes = {one.curve.label: number for number, panel in enumerate(found) for one in panel.curves}
    assert (homes["a"] == homes["c"]) is (ratio != 31)  # 2 and 31 fit as well as 1 and 2 do


def test_a_signal_far_from_the_others_does_not_flatten_them():
    """An angle around 1 000 rad and one around 0, each of a height of 1; a constant flattens as well."""
    near, far, constant = Curve("a", "rad", T, T), Curve("b", "rad", T, 1000.0 + T), Curve("c", "rad", T, 0 * T + 50.0)
    assert [[one.curve.label for one in panel.curves] for panel in panels([near, far, constant])] == [
        ["a"],
        ["b"],
        ["c"],
    ]
    zero = Curve("c", "rad", T, 0 * T)
    assert [[one.curve.label for one in panel.curves] for panel in panels([near, zero])] == [["a", "c"]]


def test_rounding_noise_gets_no_panel_of_its_own():
    noise = Curve("b", "m", T, 1e-17 * T)
    assert len(panels([Curve("a", "m", T, T), noise])) == 1


def test_the_runs_of_a_signal_stay_together():
    """Also where one of them has grown without end."""
    (panel,) = panels([Curve("a", "m", T, T, run="fine"), Curve("a", "m", T, 1e9 * T, run="coarse")])
    assert len(panel.curves) == 2


def test_panels_without_room_are_refused_and_the_height_that_is_told_is_enough(tmp_path):
    curves = [Curve(f"a.x{k}", f"unit{k}", T, T) for k in range(10)]
    with pytest.raises(ValueError, match="10 panels do not fit into a height of 80 mm") as caught:
        plot_signals(curves, tmp_path / "p.png", size=Size.parse("85x80mm"))
    (height,) = re.findall(r"at least (\d+) mm", str(caught.value))
    size = Size.parse(f"85x{height}mm")
    with plot_style(size):
        figure = plot_figure(panels(curves), "title", size)
        figure.draw_without_rendering()
    assert all(axis.get_position().height * figure.get_figheight() > 0.05 for axis in figure.axes)
