"""What notebooks show of runs, traces, findings and diagrams."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ssptool
from ssptool.engine.trace import Column
from ssptool.types import Trace
from tests.cli.browser import CHROMIUM, browser, violations

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"


@pytest.fixture(scope="module")
def result():
    return ssptool.simulate(SYSTEM, settings=ssptool.Settings(stop_time=0.1))


def test_a_run_tells_how_it_ended_and_began_and_shows_its_trace(result):
    shown = result._repr_html_()
    for words in ("DualMassOscillator", "completed", "algebraic loop of 4 signals", "converged", "<svg", "master"):
        assert words in shown


def test_a_failed_run_says_why():
    heavy = [SYSTEM / "resources" / "heavy_flange.ssv"]
    settings = ssptool.Settings(init="fixed-point", stop_time=0.1)
    assert "was not solved by" in ssptool.simulate(SYSTEM, parameters=heavy, settings=settings)._repr_html_()


@browser
def test_what_a_page_shows_fits_between_its_headings(result):
    """Below a second level, as in the notebooks of the site."""
    from playwright.sync_api import sync_playwright

    shown = "".join(one._repr_html_() for one in (result, result.trace, ssptool.validate(SYSTEM)))
    with sync_playwright() as engines:
        chromium = engines.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = chromium.new_page()
        page.set_content(f'<html lang="en"><title>t</title><main><h1>Study</h1><h2>Run</h2>{shown}</main></html>')
        found = violations(page)
        chromium.close()
    assert found == []


def test_names_are_escaped(result):
    assert "<b>" not in replace(result, name="<b>", kept=None)._repr_html_()


@pytest.mark.parametrize("count", [0, 25])
def test_a_trace_without_or_with_too_many_continuous_signals_is_told_of(count):
    columns = tuple(Column(f"A.y{number}") for number in range(count)) or (Column("A.b", type="Boolean"),)
    trace = Trace(np.arange(3.0), np.zeros((3, len(columns))), columns)
    assert "<svg" not in trace._repr_html_()
    assert columns[-1].signal in trace._repr_html_()


def test_findings_are_a_table(tmp_path):
    shown = ssptool.validate(SYSTEM)._repr_html_()
    assert shown.startswith("<table>")
    assert "SSD-CONN-015" in shown
    assert "no findings" in replace(ssptool.validate(SYSTEM), diagnostics=())._repr_html_()


def test_a_drawing_is_a_picture(tmp_path):
    drawing = ssptool.draw(SYSTEM)
    assert drawing._repr_svg_().startswith("<svg")
    drawing.save(tmp_path / "d.html")
    assert "<!doctype html>" in (tmp_path / "d.html").read_text(encoding="utf-8")
