"""Iterated masters on one interface: methods, measures and patterns against closed forms."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

from ssptool.engine.failure import Ending
from ssptool.engine.iterated.convergence import counting_judge, judge_of, same
from ssptool.engine.iterated.dense import correction
from ssptool.engine.masters.acceleration import GroupInterface, InterfaceNewton, IqnIls
from ssptool.engine.masters.convergence import Absolute, AllOf, Relative, ResidualRelative
from tests.engine.dual_mass import oscillator, simulate


def full(size):
    return lambda: np.ones((size, size), dtype=bool)


def iterations(accelerator, function, x, limit=50):
    """Until x and function(x) agree to 1e-10; (x, number of evaluations)."""
    propose = accelerator.begin()
    for number in range(1, limit + 1):
        value = function(x)
        if np.max(np.abs(value - x)) <= 1e-10:
            return x, number
        x = propose(x, value)
    raise AssertionError(f"not converged: {x}")


@pytest.mark.parametrize("size", [1, 3, 6])
def test_iqn_ils_solves_a_linear_interface_in_size_plus_two_evaluations(size):
    """After `size` differences the least-squares problem is exact, however strongly the interface amplifies."""
    rng = np.random.default_rng(size)
    a, b = 30 * rng.normal(size=(size, size)), rng.normal(size=size)
    interface = GroupInterface(lambda x: a @ x + b, full(size))
    x, count = iterations(IqnIls().start(interface), interface.step, np.zeros(size))
    assert x == approx(np.linalg.solve(np.eye(size) - a, b), rel=1e-7)
    assert count <= size + 3  # one more for what rounding, amplified by 30, leaves


def test_iqn_ils_needs_two_evaluations_in_steps_that_answer_like_the_one_before():
    """The differences of the first step hold in the second one, whose constant part alone is new."""
    a = np.array([[0.0, -20.0], [15.0, 3.0]])
    interface = GroupInterface(lambda x: a @ x, full(2))
    accelerator = IqnIls().start(interface)
    iterations(accelerator, lambda x: a @ x + 1.0, np.zeros(2))
    x, count = iterations(accelerator, lambda x: a @ x + 2.0, np.zeros(2))
    assert (x, count) == (approx(np.linalg.solve(np.eye(2) - a, np.full(2, 2.0))), 2)


def test_without_reuse_each_step_learns_anew():
    a = np.array([[0.0, -20.0], [15.0, 3.0]])
    accelerator = IqnIls(reuse=0).start(GroupInterface(lambda x: a @ x, full(2)))
    counts = [iterations(accelerator, lambda x, c=c: a @ x + c, np.zeros(2))[1] for c in (1.0, 2.0)]
    assert counts[0] == counts[1] > 2


@given(st.integers(0, 10_000))
@settings(max_examples=50)
def test_the_correction_is_that_of_least_squares(seed):
    """W α with α = argmin ‖V α + r‖, by numpy's own solver; random columns are independent."""
    rng = np.random.default_rng(seed)
    v, w, residual = rng.normal(size=(5, 3)), rng.normal(size=(5, 3)), rng.normal(size=5)
    alpha, *_ = np.linalg.lstsq(v, -residual, rcond=None)
    found = correction(list(zip(v.T, w.T, strict=True)), residual, 1e-6)
    assert found == approx(w @ alpha, rel=1e-6, abs=1e-8)


def test_the_filter_drops_the_older_of_two_columns_that_say_the_same():
    """The second column repeats the first up to 1e-9 and would turn that into a correction of 1e9."""
    newest = (np.array([1.0, 0.0]), np.array([5.0, 0.0]))
    older = (np.array([1.0, 1e-9]), np.array([0.0, 7.0]))
    residual = np.array([1.0, 1.0])
    assert correction([newest, older], residual, 1e-3) == approx([-5.0, 0.0])
    assert abs(correction([newest, older], residual, 1e-12)[1]) > 1e8


def test_interface_newton_solves_a_stiff_linear_interface_at_once_and_keeps_its_jacobian():
    a = np.array([[0.0, -2e4], [1.0, 0.0]])
    calls = []

    def step(x):
        calls.append(1)
        return a @ x + 1.0

    accelerator = InterfaceNewton().start(GroupInterface(step, full(2)))
    x, first = iterations(accelerator, step, np.zeros(2))
    assert x == approx(np.linalg.solve(np.eye(2) - a, np.ones(2)), rel=1e-6)
    calls.clear()
    _, second = iterations(accelerator, lambda x: a @ x + 2.0, x)
    assert first <= 4 and second <= 3
    assert not calls  # no new differences


def test_interface_newton_renews_a_jacobian_that_is_out_of_date():
    """x = k cos(x), from step to step with another k: the slope at the solution changes from −0.2 to −2.6."""
    factor, calls = [0.0], []

    def step(x):
        calls.append(1)
        return factor[0] * np.cos(x)

    accelerator = InterfaceNewton().start(GroupInterface(step, full(1)))
    for factor[0] in (0.5, 1.0, 2.0, 3.0):
        x, _ = iterations(accelerator, lambda x: factor[0] * np.cos(x), np.array([0.8]))
        assert factor[0] * math.cos(x[0]) == approx(x[0], abs=1e-9)
    assert len(calls) > 1


def test_measures_compare_with_what_they_say():
    x, nominal, change = np.array([10.0, 0.0]), np.array([1.0, 2.0]), np.array([1e-3, -4e-4])
    assert judge_of(Absolute(1e-3).limits, nominal)(x, change) == approx(1.0)
    assert judge_of(Relative(1e-4).limits, nominal)(x, change) == approx(2.0)  # 4e-4 against 1e-4 · max(0, 2)
    judge = judge_of(ResidualRelative(1e-2).limits, nominal)
    assert judge(x, np.array([1.0, 0.0])) == approx(100.0)  # the first one is 1 times itself
    assert judge(x, np.array([0.01, 0.0])) == approx(1.0)
    both = judge_of(AllOf((Absolute(1.0), Relative(1e-4))).limits, nominal)
    assert both(x, change) == approx(2.0)
    assert math.isnan(both(x, np.array([np.nan, 0.0]))) and not both(x, np.array([np.nan, 0.0])) <= 1.0


@pytest.mark.parametrize("first", [0.0, 1.0, 1e4])
def test_what_is_relative_is_relative_to_the_iterate_at_hand(first):
    """And not to what the step began with: of 100, a hundredth of a percent is 0.01."""
    judge = judge_of(Relative(1e-4).limits, np.array([1.0]))
    judge(np.array([first]), np.array([5.0]))
    assert judge(np.array([100.0]), np.array([0.02])) == approx(2.0)


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


def test_a_fixed_count_is_over_at_its_last_iteration_whatever_is_left():
    judge = counting_judge(3)
    assert [judge(np.ones(2), np.array([1e6, -1.0])) <= 1.0 for _ in range(3)] == [False, False, True]


def test_a_fixed_count_does_not_end_with_values_that_are_not_finite():
    judge = counting_judge(1)
    assert not judge(np.ones(2), np.array([np.nan, 0.0])) <= 1.0


@pytest.mark.parametrize("order", [0, 1, 2])
def test_a_converged_step_does_not_depend_on_the_order_of_its_first_guess(order):
    """To ten times the tolerance of 1e-10, over 100 steps."""
    traces = [
        simulate(oscillator(), stop_time=0.1, step_size=1e-3, tolerance=1e-10, **more).unwrap().y
        for more in ({}, {"master": "iterated", "prediction_order": order})
    ]
    assert np.max(np.abs(traces[0] - traces[1])) <= 1e-9


def test_what_rounding_leaves_is_agreement_to_a_part_of_nothing():
    """A first guess that is right to the last digit cannot be bettered a thousandfold."""
    x, nominal = np.array([1.0, 4.0]), np.array([1.0, 2.0])
    judge = judge_of(ResidualRelative(1e-3).limits, nominal)
    assert judge(x, np.array([1e-16, 0.0])) < 1
    assert judge(x, np.array([1e-9, 0.0])) > 1
    assert np.isnan(judge(x, np.array([np.nan, 0.0])))


def test_values_are_the_same_where_they_differ_in_their_last_digits_only():
    x = np.array([1e12, -3e-20, 0.0])
    assert same(x, x * (1 + 5e-16))
    assert not same(x, x * (1 + 1e-14))
    assert not same(x, x + 1e-300)  # 0 has no last digit
    assert not same(np.array([np.nan]), np.array([np.nan]))
