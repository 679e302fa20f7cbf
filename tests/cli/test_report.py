"""Reports and plots in a browser: they work, and a checker of accessibility has no complaint."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import ssptool as library
from tests.cli.browser import browser, violations

SYSTEMS = Path(__file__).parents[2] / "systems"


@pytest.fixture
def results(ssptool, tmp_path) -> Path:
    assert ssptool("run", SYSTEMS / "dual_mass_oscillator", "--stop-time", 1, "--output", tmp_path / "r.csv")[0] == 0
    return tmp_path / "r.csv"


def test_a_report_is_named_after_its_results(ssptool, results, tmp_path):
    status, out, _ = ssptool("report", SYSTEMS / "dual_mass_oscillator", results)
    assert (status, out) == (0, "report: r.report.html\n")
    assert (tmp_path / "r.report.html").exists()


def test_results_that_are_not_there_are_told(ssptool):
    status, _, err = ssptool("report", SYSTEMS / "dual_mass_oscillator", "none.csv")
    assert status == 2
    assert "none.csv" in err


@browser
def test_a_report_works_in_a_browser(ssptool, results, tmp_path, page):
    ssptool("report", SYSTEMS / "dual_mass_oscillator", results)
    page.goto((tmp_path / "r.report.html").as_uri())
    axes = json.loads(page.locator("svg.plot").get_attribute("data-axes"))
    assert [one["y"]["label"] for one in axes] == ["[N]", "[m]", "[m/s]", "[m/s2]"]
    assert violations(page) == []
    assert page.errors == []


@browser
def test_values_of_curves_are_read_off_at_the_pointer(ssptool, results, tmp_path, page):
    ssptool("report", SYSTEMS / "dual_mass_oscillator", results)
    page.goto((tmp_path / "r.report.html").as_uri())
    picture = page.locator("svg.plot")
    picture.scroll_into_view_if_needed()
    left, top, right, bottom = json.loads(picture.get_attribute("data-axes"))[1]["box"]
    place = page.evaluate(
        "([x, y]) => { const m = document.querySelector('svg.plot').getScreenCTM();"
        " const p = new DOMPoint(x, y).matrixTransform(m); return [p.x, p.y]; }",
        [(left + right) / 2, (top + bottom) / 2],
    )
    page.mouse.move(*place)
    shown = page.locator(".readout").inner_text()
    t = float(re.search(r"time = (\S+) s", shown)[1])
    trace = library.read_trace(results)
    exact = np.interp(t, trace.t, trace["System1.x1"])
    assert float(re.search(r"System1.x1 = System2.x1 = (\S+) m$", shown)[1]) == pytest.approx(exact, rel=1e-3)
    page.mouse.move(1, 1)
    assert page.locator(".readout").is_hidden()
    assert page.errors == []


def test_reports_of_long_runs_are_small(ssptool, tmp_path):
    """100 001 rows, and a diagram."""
    ssptool("run", SYSTEMS / "dual_mass_oscillator", "--step-size", "0.0001", "--output", "long.parquet")
    assert ssptool("report", SYSTEMS / "dual_mass_oscillator", "long.parquet")[0] == 0
    assert (tmp_path / "long.report.html").stat().st_size < MOST_BYTES


MOST_BYTES = 1_500_000


@pytest.fixture
def study(ssptool, tmp_path) -> Path:
    """The folder of results of a small study."""
    (tmp_path / "springs.toml").write_text(
        f'system = "{SYSTEMS / "dual_mass_oscillator"}"\n[settings]\nstep_size = 0.01\nstop_time = 0.2\n'
        '[factors]\n"System2.k2" = [5, 10]\n[results]\npeak = \'max("System1.x1")\'\n',
        encoding="utf-8",
    )
    assert ssptool("study", "springs.toml", "--workers", 1, "--allow-outside", SYSTEMS)[0] == 0
    return tmp_path / "springs.study"


@browser
def test_a_report_of_a_study_works_in_a_browser(ssptool, study, tmp_path, page):
    assert ssptool("report", study)[:2] == (0, "report: springs.study.report.html\n")
    page.goto((tmp_path / "springs.study.report.html").as_uri())
    assert page.locator("svg.plot").count() == 1
    assert violations(page) == []
    assert page.errors == []


def test_a_report_leaves_the_plot_of_the_same_study_alone(ssptool, study, tmp_path):
    assert ssptool("plot", study, "--output", "springs.html")[0] == 0
    plot = (tmp_path / "springs.html").read_bytes()
    assert ssptool("report", study)[:2] == (0, "report: springs.study.report.html\n")
    assert (tmp_path / "springs.html").read_bytes() == plot


def test_pages_and_plots_of_a_study_leave_those_of_a_run_of_its_name_alone(ssptool, study, tmp_path):
    assert ssptool("run", SYSTEMS / "dual_mass_oscillator", "--stop-time", 0.1, "--output", "springs.csv")[0] == 0
    for command, ending in (("plot", ".png"), ("report", ".report.html")):
        assert ssptool(command, "springs.csv")[0] == 0
        before = (tmp_path / f"springs{ending}").read_bytes()
        assert ssptool(command, study)[:2] == (0, f"{command}: springs.study{ending}\n")
        assert (tmp_path / f"springs{ending}").read_bytes() == before


def test_a_report_of_an_exported_fmu_has_the_diagram_of_the_fmu(ssptool, tmp_path):
    """Such an FMU has the system in it, which `validate` checks."""
    library.export(SYSTEMS / "dual_mass_oscillator", tmp_path / "whole.fmu")
    assert ssptool("run", "whole.fmu", "--stop-time", "0.1", "-o", "w.csv")[0] == 0
    status, _, err = ssptool("report", "w.csv")
    assert (status, err) == (0, "")
    assert "whole" in (tmp_path / "w.report.html").read_text(encoding="utf-8")


def test_a_report_of_neither_run_nor_study_is_told(ssptool):
    status, _, err = ssptool("report", SYSTEMS / "dual_mass_oscillator")
    assert status == 2
    assert "dual_mass_oscillator has no results" in err and "ssptool run" in err


@browser
def test_a_report_can_be_read_in_the_dark(ssptool, results, tmp_path, page):
    ssptool("report", SYSTEMS / "dual_mass_oscillator", results)
    page.emulate_media(color_scheme="dark")
    page.goto((tmp_path / "r.report.html").as_uri())
    ink = "getComputedStyle(document.querySelector('svg.plot text')).fill"
    assert page.evaluate(ink) == page.evaluate("getComputedStyle(document.body).color")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 25, 31)"
    assert page.evaluate(FILLED_WITH_WHITE) == []
    assert violations(page) == []


@browser
@pytest.mark.parametrize("command", ["plot", "draw"])
def test_plots_and_diagrams_can_be_read_in_the_dark(ssptool, results, tmp_path, page, command):
    what = results if command == "plot" else SYSTEMS / "mass_spring_damper"
    assert ssptool(command, what, "--output", tmp_path / "p.html")[0] == 0
    page.emulate_media(color_scheme="dark")
    page.goto((tmp_path / "p.html").as_uri())
    page.wait_for_selector(".js-plotly-plot .scatterlayer .trace" if command == "plot" else "section.shown svg.sheet")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 25, 31)"
    assert page.evaluate(FILLED_WITH_WHITE) == []
    assert violations(page) == []


FILLED_WITH_WHITE = """() => {
  const white = (e, s) => 'rgb(255, 255, 255)' == (e.tagName == 'svg' ? s.backgroundColor : s.fill);
  const seen = s => s.fillOpacity > 0 && s.visibility == 'visible';
  const broad = [...document.querySelectorAll('svg, svg rect')].filter(e => e.getBoundingClientRect().width > 20);
  return broad.filter(e => white(e, getComputedStyle(e)) && seen(getComputedStyle(e))).map(e => e.outerHTML);
}"""
"""What is broad and white."""


@browser
def test_plots_of_a_report_are_on_the_page_when_it_is_printed(ssptool, results, tmp_path, page):
    """A4 without margins of 14 mm is 182 mm, 688 px, wide."""
    ssptool("report", SYSTEMS / "dual_mass_oscillator", results)
    page.goto((tmp_path / "r.report.html").as_uri())
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 688, "height": 971})
    box = page.locator("svg.plot").first.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 688
    assert page.locator("nav").first.is_hidden()


@browser
def test_a_plot_works_in_a_browser(ssptool, results, tmp_path, page):
    ssptool("plot", results, "--output", tmp_path / "p.html")
    page.goto((tmp_path / "p.html").as_uri())
    page.wait_for_selector(".js-plotly-plot .scatterlayer .trace")
    assert violations(page) == []
    assert page.errors == []


@browser
def test_zooming_into_one_panel_zooms_all(ssptool, results, tmp_path, page):
    ssptool("plot", results, "--output", tmp_path / "p.html")
    page.goto((tmp_path / "p.html").as_uri())
    page.wait_for_selector(".js-plotly-plot .scatterlayer .trace")
    ranges = (
        "() => { const l = document.querySelector('.js-plotly-plot')._fullLayout;"
        " return l._subplots.xaxis.map(id => l['xaxis' + id.slice(1)].range); }"
    )
    before = page.evaluate(ranges)
    assert len(before) == 4
    box = page.locator(
        ".js-plotly-plot .subplot.xy .drag, .js-plotly-plot .draglayer .xy .nsewdrag"
    ).first.bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.25 * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], y, steps=8)
    page.mouse.up()
    page.wait_for_function(f"before => ({ranges})().every((now, k) => now[0] !== before[k][0])", arg=before)
    for begin, end in page.evaluate(ranges):
        assert (begin, end) == pytest.approx((0.25, 0.5), abs=0.02)
    assert page.errors == []
