"""Pictures of studies show what the results say."""

import itertools

import numpy as np
import pytest

import ssptool
from ssptool.drawing.charts.axes import Axis
from ssptool.drawing.charts.envelope import Envelope
from ssptool.drawing.charts.parallel import Parallel
from ssptool.drawing.charts.scatter import Scatter
from ssptool.drawing.charts.surface import Surface
from ssptool.drawing.charts.tornado import Bar, Tornado
from ssptool.errors import UnknownName, UnusableFile, WrongValue
from ssptool.studies.charts import chart
from tests.studies.conftest import OSCILLATOR

BASE = {
    "system": str(OSCILLATOR),
    "settings": {"step_size": 0.01, "stop_time": 0.2},
    "factors": {"System2.k2": {"low": 5.0, "high": 15.0, "nominal": 10.0}, "System1.m1": {"low": 0.5, "high": 2.0}},
    "results": {"peak": 'max("System1.x1")', "start": 'initial("System2.F")'},
}


@pytest.fixture(scope="module")
def one_at_a_time(tmp_path_factory):
    study = {**BASE, "design": {"kind": "one-at-a-time"}}
    return ssptool.study(study, tmp_path_factory.mktemp("tornado"), workers=1)


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    study = {**BASE, "traces": {"signals": ["System1.x1", "System2.F"]}}
    return ssptool.study(study, tmp_path_factory.mktemp("envelope"), workers=1)


def test_a_tornado_has_the_effect_of_each_factor_alone_the_widest_first(one_at_a_time):
    """The force at the start is k2 · 0.5 m without the mass of a flange, whatever m1."""
    found = chart(one_at_a_time, None, ["start"])
    assert isinstance(found, Tornado)
    ((axis, nominal, bars),) = found.results
    assert axis.name == "start" and nominal == pytest.approx(5.0)
    assert [bar.factor for bar in bars] == ["System2.k2 [N/m]", "System1.m1 [kg]"]
    assert (bars[0].low, bars[0].high) == pytest.approx((2.5, 7.5))
    assert bars[1].low == pytest.approx(bars[1].high)


def test_an_envelope_holds_every_run(traced):
    found = chart(traced, "envelope", ["System1.x1"])
    assert isinstance(found, Envelope) and found.runs == 4
    (band,) = found.bands
    for run in traced.table()["run"].to_pylist():
        y = traced.trace(run)["System1.x1"]
        assert (band.least <= y).all() and (y <= band.greatest).all()
    assert (band.low <= band.median).all() and (band.median <= band.high).all()


def test_a_scatter_plot_has_a_panel_for_each_pair(traced):
    found = chart(traced, None, [])
    assert isinstance(found, Scatter)
    assert [axis.title for axis in found.factors] == ["System2.k2 [N/m]", "System1.m1 [kg]"]
    assert np.array_equal(found.values["peak"], traced.table()["peak"].to_numpy())


@pytest.mark.parametrize("ending", ["png", "svg", "pdf", "html"])
def test_every_kind_is_drawn_in_every_format(one_at_a_time, traced, tmp_path, ending):
    heads = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF", "html": b"<!doctype html>"}
    for results, kind in ((one_at_a_time, "tornado"), (traced, "envelope"), (traced, "scatter")):
        path = tmp_path / f"{kind}.{ending}"
        ssptool.studies.plot_study(results, path, kind=kind)
        assert path.read_bytes().startswith(heads[ending])


def test_what_cannot_be_drawn_says_why(one_at_a_time, traced, tmp_path):
    with pytest.raises(UnusableFile, match="one-at-a-time"):
        chart(traced, "tornado", [])
    with pytest.raises(UnusableFile, match="traces"):
        chart(one_at_a_time, "envelope", [])
    with pytest.raises(ValueError, match="scatter, tornado, envelope"):
        chart(traced, "pie", [])
    with pytest.raises(UnknownName, match="peak"):
        chart(traced, None, ["peek"])
    with pytest.raises(ValueError, match="the ending must be one of"):
        ssptool.studies.plot_study(traced, tmp_path / "x.doc")


def test_ends_of_a_tornado_that_point_the_same_way_hide_neither_each_other_nor_their_labels():
    """A result that a factor lowers from either side of its nominal value, as one at a resonance."""
    tornado = Tornado(((Axis("peak"), 1.0, (Bar("k", 0.4, 0.5, "5", "20"), Bar("m", 0.9, 1.2, "1", "2"))),))
    (axis,) = tornado.figure().axes
    heights = sorted((bar.get_y(), bar.get_y() + bar.get_height()) for bar in axis.patches)
    assert len(heights) == 4
    assert all(below[1] <= above[0] + 1e-12 for below, above in itertools.pairwise(heights))
    figure = tornado.page()
    assert figure.layout.barmode == "group" and len({trace.offsetgroup for trace in figure.data}) == 2


def test_the_colours_of_a_tornado_are_explained_and_its_title_stands_free():
    tornado = Tornado(((Axis("peak"), 1.0, (Bar("k", 0.4, 1.5, "5", "20"),)),))
    figure = tornado.figure()
    title = figure.suptitle("of springs")
    (legend,) = figure.legends
    figure.draw_without_rendering()
    assert [text.get_text() for text in legend.get_texts()] == [
        "lowest value of the factor",
        "highest value of the factor",
    ]
    assert not legend.get_window_extent().overlaps(title.get_window_extent())
    assert not legend.get_window_extent().overlaps(figure.axes[0].get_tightbbox())


PLANE = {
    **BASE,
    "factors": {
        "a": {"free": True, "low": 0.0, "high": 4.0, "count": 5},
        "b": {"free": True, "low": 100.0, "high": 300.0, "count": 3},
        "k": {"free": True, "values": [-1.0, 1.0]},
    },
    "results": {"plane": "2 * a - b / 100 + k", "other": "k + 3"},
}


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    return ssptool.study(PLANE, tmp_path_factory.mktemp("plane"), workers=1)


def test_a_surface_over_runs_of_a_plane_is_the_plane(plane):
    """Its third factor averages to nothing."""
    found = chart(plane, "surface", ["plane"], factors=["a", "b"])
    assert isinstance(found, Surface) and found.others == ("k",)
    x, y, z = found.height("plane")
    grid = np.meshgrid(x, y)
    np.testing.assert_allclose(z, 2 * grid[0] - grid[1] / 100, atol=1e-12)
    assert (x[0], x[-1], y[0], y[-1]) == (0.0, 4.0, 100.0, 300.0)


def test_a_surface_needs_two_factors_that_are_numbers_and_span_a_plane(plane, tmp_path):
    with pytest.raises(WrongValue, match=r"over two factors that are numbers; --factors picks them, of a, b, k"):
        chart(plane, "surface", [])
    line = {
        **PLANE,
        "results": {"plane": "a + b"},
        "factors": {
            "a": {"free": True, "low": 0.0, "high": 4.0, "count": 5},
            "b": {"free": True, "expression": "100 * a"},
        },
    }
    lined = ssptool.study(line, tmp_path / "line", workers=1)
    with pytest.raises(UnusableFile, match="one line"):
        chart(lined, "surface", ["plane"], factors=["a", "b"])


def test_parallel_axes_have_each_run_and_the_colour_of_the_last_result(plane):
    found = chart(plane, "parallel", [])
    assert isinstance(found, Parallel)
    assert [axis.name for axis in found.axes] == ["a", "b", "k", "plane", "other"]
    assert found.colour.name == "other"
    table = plane.table()
    for name, values in found.values.items():
        assert np.array_equal(values, table[name].to_numpy())


def test_dots_have_the_colour_of_a_factor(plane):
    found = chart(plane, "scatter", ["plane"], factors=["a"], colour="k")
    assert [axis.name for axis in found.factors] == ["a"]
    figure = found.figure()
    (dots,) = figure.axes[0].collections
    assert np.array_equal(dots.get_array(), plane.table()["k"].to_numpy())
    assert "k" in [axis.get_ylabel() for axis in figure.axes]


def test_a_colour_that_is_no_factor_and_factors_that_are_not_there_are_told(plane):
    with pytest.raises(WrongValue, match=r"the colour is that of one of the factors a, b, k; found 'nothing'"):
        chart(plane, "scatter", [], colour="nothing")
    with pytest.raises(UnknownName, match="nothing"):
        chart(plane, "parallel", [], factors=["nothing"])


@pytest.mark.parametrize("ending", ["png", "html"])
@pytest.mark.parametrize(
    "drawn",
    [
        {"kind": "parallel"},
        {"kind": "surface", "factors": ["a", "b"]},
        {"kind": "scatter", "colour": "k"},
    ],
    ids=lambda drawn: drawn["kind"],
)
def test_each_kind_is_drawn_as_picture_and_page(plane, tmp_path, drawn, ending):
    path = tmp_path / f"p.{ending}"
    ssptool.studies.plot_study(plane, path, **drawn)
    assert path.stat().st_size > 10_000
