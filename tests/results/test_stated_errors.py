"""Errors that runs state, in comparisons, plots and reports."""

import json

import numpy as np
import pytest

import ssptool
from ssptool.engine.run.accuracy import StatedErrors
from ssptool.engine.trace import Column
from ssptool.results.comparison import compare_traces
from ssptool.types import Trace
from tests.accuracy.test_runs import OSCILLATOR, exact_oscillator

SETTINGS = {"stop_time": 4, "master": "jacobi", "approximation": "hold", "record": "System1.*"}
VALUES = {"System1.m1": 1.7, "System1.c1": 0.4}


def simulated(step, output=None, **values):
    starts = {**VALUES, **values}
    return ssptool.simulate(
        OSCILLATOR, accuracy="check", output=output, step_size=step, start_values=starts, **SETTINGS
    )


@pytest.fixture(scope="module")
def coarse(tmp_path_factory):
    return simulated(0.02, tmp_path_factory.mktemp("coarse") / "coarse.csv")


@pytest.fixture(scope="module")
def fine():
    return simulated(0.002)


def exact(t):
    signals = exact_oscillator(t, m1=1.7, c1=0.4)
    return Trace.of(t, [(Column(name), values) for name, values in signals.items() if name.startswith("System1")])


def test_runs_of_two_steps_differ_by_no_more_than_their_errors(coarse, fine):
    comparison = ssptool.compare(coarse.output, fine)
    assert comparison.errors == (pytest.approx(coarse.accuracy.error), fine.accuracy.error)
    assert not comparison.agrees and not comparison.beyond
    for one in comparison.signals:
        errors = [run.accuracy.errors[one.signal] * np.ptp(run[one.signal]) for run in (coarse, fine)]
        assert one.stated == pytest.approx(sum(errors))
    content = json.loads(ssptool.renderers.TRACE_COMPARISON_RENDERERS["json"](comparison))
    assert content["errors"]["trace"] == pytest.approx(coarse.accuracy.error)


def test_a_reference_without_an_error_counts_as_exact(coarse):
    comparison = ssptool.compare(coarse, exact(coarse.t))
    assert comparison.errors[1] is None and not comparison.beyond
    worst = next(one for one in comparison.signals if one.signal == coarse.accuracy.signal)
    assert worst.stated / 3 <= worst.deviation <= 1.25 * worst.stated


@pytest.mark.parametrize("swapped", [False, True])
def test_rows_between_those_of_a_coarse_run_are_no_error(swapped):
    """Nine rows in each period of 1 s: straight lines between them depart from the sine by 6 %."""

    def sampled(h, error):
        t = np.arange(0.0, 2.0 + h / 2, h)
        return Trace.of(t, [(Column("A.y"), (1 + error) * (30 + 4 * np.sin(2 * np.pi * t)))])

    errors = StatedErrors(2e-3, {"A.y": 2e-3})
    for off, beyond in ((2e-4, 0), (2e-3, 1)):
        pair = [(sampled(1 / 9, off), errors), (sampled(1 / 900, 0.0), None)]
        (trace, of_trace), (reference, of_reference) = reversed(pair) if swapped else pair
        comparison = compare_traces(trace, reference, errors=(of_trace, of_reference))
        (one,) = comparison.signals
        assert one.deviation > 0.2
        assert one.apart == pytest.approx(off * 33.94, rel=0.01)
        assert len(comparison.beyond) == beyond


def test_another_parameter_is_more_than_an_error(coarse):
    other = simulated(0.02, **{"System1.c1": 2.0})
    comparison = ssptool.compare(other, coarse)
    assert "System1.x1" in {one.signal for one in comparison.beyond}
    text = ssptool.renderers.TRACE_COMPARISON_RENDERERS["text"](comparison)
    within = f"{len(comparison.signals) - len(comparison.beyond)} of {len(comparison.signals)} signals"
    assert any("stated errors" in line and within in line for line in text.splitlines())


def test_without_stated_errors_nothing_is_said(coarse):
    comparison = ssptool.compare(exact(coarse.t), exact(coarse.t))
    assert all(np.isnan(one.stated) for one in comparison.signals)
    assert "stated" not in ssptool.renderers.TRACE_COMPARISON_RENDERERS["text"](comparison)


def test_a_plot_has_a_band_as_wide_as_the_error(coarse, tmp_path):
    drawn = ssptool.plot(coarse.output, tmp_path / "band.html", signals="*.x1")
    (curve,) = drawn.curves
    assert curve.error == pytest.approx(coarse.accuracy.errors["System1.x1"] * np.ptp(coarse["System1.x1"]))
    assert any("coarse" in note and "error" in note for note in drawn.notes)
    assert "toself" in (tmp_path / "band.html").read_text()
    drawn.save(tmp_path / "band.svg")
    trace = ssptool.plot(coarse.trace, signals="*.x1")
    assert trace.curves[0].error == 0.0 and not trace.notes


def test_bands_belong_to_their_run(coarse, fine):
    runs = {"coarse": coarse, "fine": fine}
    drawn = ssptool.plot(runs, signals="*.x1")
    widths = {curve.run: curve.error / np.ptp(curve.y) for curve in drawn.curves}
    assert widths == pytest.approx({run: one.accuracy.errors["System1.x1"] for run, one in runs.items()})


def test_pictures_of_comparisons_and_reports_have_the_errors(coarse, fine, tmp_path):
    ssptool.compare(coarse, fine, plot=tmp_path / "c.svg")
    assert "stated errors" in (tmp_path / "c.svg").read_text()
    page = ssptool.report(OSCILLATOR, coarse.output)
    assert "estimated error of each signal, at most" in page.html
