"""A report of a study says what was varied, how the runs ended and why, what came out, and what was fitted."""

import re

import numpy as np
import pytest
from lxml import html

import ssptool
from ssptool.studies.calibration import Estimate, Fit, read_fit, write_fit
from tests.fmus import build as fmus
from tests.results.report.tables import cells
from tests.studies.conftest import OSCILLATOR

FIT = Fit(
    (Estimate("System2.k2", 12.0, 11.5, 12.5, "N/m"), Estimate("c", 0.2, float("nan"), float("nan"))),
    True,
    "it could not do better",
    1.01,
    np.array([[1.0, -0.25], [-0.25, 1.0]]),
    17,
    ("c is on its bound",),
    0.95,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    study = {
        "name": "springs <&>",
        "system": str(OSCILLATOR),
        "settings": {"step_size": 0.01, "stop_time": 0.2},
        "design": {"kind": "one-at-a-time"},
        "factors": {"System2.k2": {"low": 5.0, "high": 15.0, "nominal": 10.0}},
        "results": {"peak": 'max("System1.x1")', "never": 'crossing("System1.x1", 99)'},
        "traces": {"signals": ["System1.x1"]},
    }
    folder = tmp_path_factory.mktemp("study") / "springs.study"
    ssptool.study(study, folder, workers=1)
    write_fit(FIT, folder, {})
    return folder


@pytest.fixture(scope="module")
def root(folder, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "r.html"
    ssptool.studies.report_study(folder, path)
    return html.fromstring(path.read_text(encoding="utf-8"))


def test_it_tells_of_design_runs_results_and_origin(root):
    assert root.xpath("//h1")[0].text == "springs <&>"
    assert root.xpath("//header/p")[0].text_content() == "3 of 3 runs completed"
    assert cells(root, "Factors") == [["System2.k2", "variable", "System2.k2", "N/m", "5 to 15", "3"]]
    peak, never = cells(root, "What was computed of each run")
    assert peak[:2] == ["peak", 'max("System1.x1")'] and peak[-1] == "3"
    assert float(peak[2]) < float(peak[3]) < float(peak[5])
    assert never[2:] == ["-", "-", "-", "-", "0"]
    assert cells(root, "Results without a value")[0][:2] == ["3", "0, 1, 2"]
    assert ["step size", "0.01"] in cells(root, "Fixed settings")
    assert any("System1.fmu" in row[0] for row in cells(root, "Input files"))


def test_it_has_every_plot_that_there_can_be_and_the_diagram(root):
    captions = [caption.text for caption in root.xpath("//figcaption")]
    assert captions[:3] == ["Results over factors", "What each factor does alone", "Signals over time in all runs"]
    assert {"System1", "System2"} <= {text.text for text in root.xpath("//figure//*[name()='text']")}


def test_it_has_estimates_with_their_intervals(root):
    assert cells(root, "Estimates, with 95 % intervals") == [
        ["System2.k2", "12", "11.5", "12.5", "N/m"],
        ["c", "0.2", "", "", ""],
    ]
    assert cells(root, "Correlation of the estimates")[0] == ["System2.k2", "1.000", "-0.250"]
    assert "c is on its bound" in root.xpath("//section[@id='calibration']")[0].text_content()


def test_it_needs_nothing_from_elsewhere(folder, tmp_path):
    ssptool.studies.report_study(folder, tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=", text) == []
    assert text.count("<h1>") == 1 and "springs &lt;&amp;&gt;" in text


def test_failures_are_grouped_by_their_message(misbehaving, tmp_path):
    study = misbehaving([fmus.NOTHING, fmus.NOT_A_NUMBER], values=[1.0, 2.0], effort={"retries": 0})
    results = ssptool.study(study, tmp_path / "out", workers=1)
    ssptool.studies.report_study(results, tmp_path / "r.html")
    root = html.fromstring((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert cells(root, "Runs by status") == [["completed", "2"], ["failed", "2"]]
    ((count, numbers, message),) = cells(root, "Why runs failed")
    assert (count, numbers) == ("2", "2, 3") and "Bad.y is nan" in message


def test_without_its_system_it_says_so(folder, tmp_path):
    ssptool.studies.report_study(folder, tmp_path / "r.html", system=tmp_path / "gone.ssp")
    assert "gone.ssp" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_what_was_fitted_is_kept_beside_the_results(tmp_path):
    write_fit(FIT, tmp_path, {"study": "s"})
    found = read_fit(tmp_path)
    assert found["System2.k2"] == FIT["System2.k2"] and np.isnan(found["c"].low)
    assert np.array_equal(found.correlation, FIT.correlation)
    assert str(found) == str(FIT) and found.confidence == 0.95
    assert read_fit(tmp_path / "elsewhere") is None
