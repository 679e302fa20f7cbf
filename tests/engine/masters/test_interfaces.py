"""Iterated masters on one interface: methods, measures, logs and failures."""

import json

import numpy as np
import pytest
from pytest import approx

from ssptool.engine.failure import Ending
from tests.engine.dual_mass import oscillator, simulate


@pytest.mark.parametrize(
    ("limits", "bound"), [({"absolute": 1e-9}, 1e-8), ({"relative": 1e-9}, 1e-8), ({"residual-relative": 1e-9}, 1e-7)]
)
def test_each_measure_leads_to_the_same_solution(limits, bound):
    settings = {"stop_time": 0.5, "step_size": 0.01}
    reference = simulate(oscillator(), tolerance=1e-12, **settings).unwrap()
    found = simulate(oscillator(), convergence=limits, **settings).unwrap()
    assert np.max(np.abs(found.y - reference.y)) <= bound


def test_a_looser_measure_takes_fewer_iterations():
    def mean(**more):
        return simulate(oscillator(), stop_time=0.5, step_size=0.01, **more).statistics.iterations_mean

    assert mean(convergence={"absolute": 1e-2}) < mean(convergence={"absolute": 1e-6}) < mean(tolerance=1e-12)


@pytest.mark.parametrize("strict", ["absolute", "relative"])
def test_of_several_measures_each_must_be_met(strict):
    """The loose one is met wherever the other is, so that both together are the strict one, in any order."""

    def trace(**limits):
        return simulate(oscillator(), stop_time=0.5, step_size=0.01, convergence=limits).unwrap().y

    other = {"absolute": "relative", "relative": "absolute"}[strict]
    alone, both, turned = (
        trace(**{strict: 1e-9}),
        trace(**{strict: 1e-9, other: 1e6}),
        trace(**{other: 1e6, strict: 1e-9}),
    )
    assert np.array_equal(alone, both) and np.array_equal(alone, turned)
    assert not np.array_equal(alone, trace(**{other: 1e6}))


@pytest.mark.parametrize("acceleration", ["iqn-ils", "newton"])
def test_quasi_newton_methods_arrive_at_the_trace_of_the_others(acceleration):
    settings = {"stop_time": 0.5, "step_size": 0.01, "tolerance": 1e-10}
    reference = simulate(oscillator(), **settings).unwrap()
    result = simulate(oscillator(), acceleration=acceleration, **settings)
    assert result.unwrap().y == approx(reference.y, abs=1e-8)
    assert result.statistics.iterations_mean < 3


def test_the_coupling_log_has_every_iteration_with_values_residuals_and_measure(tmp_path):
    log = tmp_path / "coupling.jsonl"
    result = simulate(oscillator(), stop_time=0.1, step_size=0.01, log_coupling=log)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(lines) == round(result.statistics.iterations_mean * 10)
    assert set(lines[0]["values"]) == {"System1.F", "System2.x1", "System2.v1", "System2.a1"}
    last = [line for line in lines if line["converged"]]
    assert [line["time"] for line in last] == approx(np.arange(1, 11) / 100)
    assert all((line["measure"] <= 1.0) is line["converged"] for line in lines)
    for line, force in zip(last, result.trace["System1.F"][1:], strict=True):
        assert line["values"]["System1.F"] + line["residuals"]["System1.F"] == approx(force, rel=1e-15)


def test_a_diverging_iteration_names_group_signal_and_better_methods():
    """k2 = 1e5 N/m at h = 0.1 s: an end force changes x1 by h²/6 per N, so the iteration grows by about 170."""
    result = simulate(oscillator(System2__k2=1e5), acceleration="none", stop_time=1.0, step_size=0.1)
    assert result.status is Ending.COUPLING
    for phrase in (
        "diverges",
        "System1, System2",
        "iterations",
        "relative 1e-08",
        "newton or iqn-ils",
        "smaller --step-size",
    ):
        assert phrase in str(result.failure)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"convergence": {"absolut": 1.0}}, "absolute, relative, residual-relative; found 'absolut'"),
        ({"convergence": {"absolute": 0.0}}, "absolute limit of convergence must be positive, found 0"),
        ({"convergence": {"absolute": 1.0}, "master": "jacobi"}, "only master iterated"),
        ({"exchange": "late", "master": "iterated"}, "exchange consistent"),
        ({"exchange": "late", "adaptive": 1e-3}, "adaptive steps"),
        ({"exchange": "lately"}, "exchange must be one of consistent, late"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        simulate(oscillator(), stop_time=0.1, **wrong)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_a_converged_step_does_not_depend_on_the_order_of_its_first_guess(order):
    """To ten times the tolerance of 1e-10, over 100 steps."""
    traces = [
        simulate(oscillator(), stop_time=0.1, step_size=1e-3, tolerance=1e-10, **more).unwrap().y
        for more in ({}, {"master": "iterated", "prediction_order": order})
    ]
    assert np.max(np.abs(traces[0] - traces[1])) <= 1e-9
