"""Loop solvers against loops whose solution is known in closed form."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

from ssptool.engine.loops.chain import Chain, default_chain
from ssptool.engine.loops.fixed_point import Aitken, Anderson, FixedPoint
from ssptool.engine.loops.newton import FiniteDifferences, Newton, Products, colours
from ssptool.engine.loops.solution import Convergence, Domain, LoopError, Status

LINEAR_METHODS = [Newton(), Aitken(), Anderson(), default_chain()]


def scalar(gain, offset=3.0):
    """x = gain·x + offset, solved by offset / (1 − gain)."""
    return lambda x: gain * x + offset


@pytest.mark.parametrize("gain", [-0.99, -0.5, 0.5, 0.9, -1.0, -2.0, -10.0, 3.0, -100.0, -1e4])
@pytest.mark.parametrize("solver", LINEAR_METHODS, ids=lambda s: type(s).__name__)
def test_a_scalar_linear_loop_is_solved_whatever_its_gain(solver, gain):
    """The bound: rounding of gain·x is at most |gain| ε |x|, and moves the solution by that over |1 −
    gain|.
    """
    x = solver.solve(scalar(gain), np.zeros(1)).unwrap()
    assert x[0] == approx(3 / (1 - gain), rel=2e-11)


@pytest.mark.parametrize("gain", [-0.99, -0.5, 0.0, 0.5])
def test_fixed_point_converges_for_gains_below_one(gain):
    x = FixedPoint(max_iterations=5000).solve(scalar(gain), np.zeros(1)).unwrap()
    assert x[0] == approx(3 / (1 - gain), rel=1e-11)


@pytest.mark.parametrize("gain", [-1.5, -2.0, -1e4, 1.5])
def test_fixed_point_says_that_it_diverges_for_gains_above_one(gain):
    solution = FixedPoint().solve(scalar(gain), np.zeros(1))
    assert solution.status is Status.DIVERGED
    assert "--init newton" in solution.status.advice
    assert np.all(np.isfinite(solution.x))


def test_fixed_point_at_the_limit_of_stability_runs_out_of_iterations():
    solution = FixedPoint(max_iterations=20).solve(scalar(-1.0), np.zeros(1))
    assert (solution.status, solution.iterations) == (Status.MAX_ITERATIONS, 20)


def test_relaxation_one_half_converges_down_to_a_gain_of_minus_three():
    assert FixedPoint(0.5).solve(scalar(-2.9), np.zeros(1)).unwrap()[0] == approx(3 / 3.9, rel=1e-11)
    assert not FixedPoint(0.5).solve(scalar(-3.1), np.zeros(1)).converged


def test_aitken_is_exact_in_three_evaluations_of_a_scalar_linear_loop():
    solution = Aitken(convergence=Convergence(1e-10)).solve(scalar(-0.7), np.zeros(1))
    assert solution.converged and solution.iterations <= 3


@pytest.mark.parametrize("size", [1, 2, 5])
def test_anderson_is_exact_in_size_plus_two_evaluations_of_a_linear_loop(size):
    """Walker and Ni 2011, theorem 2.2: it is then GMRES, which ends after `size` steps."""
    rng = np.random.default_rng(size)
    a, b = rng.normal(size=(size, size)), rng.normal(size=size)
    solver = Anderson(convergence=Convergence(1e-8))
    solution = solver.solve(lambda x: a @ x + b, np.zeros(size))
    assert solution.converged and solution.iterations <= size + 2
    assert solution.x == approx(np.linalg.solve(np.eye(size) - a, b), rel=1e-6)


def test_all_methods_agree_on_a_coupled_contraction():
    """y1 = y2/2 + 1, y2 = y1/2  ⇒  y1 = 4/3, y2 = 2/3."""

    def g(y):
        return np.array([y[1] / 2 + 1, y[0] / 2])

    for solver in [*LINEAR_METHODS, FixedPoint()]:
        assert solver.solve(g, np.zeros(2)).unwrap() == approx([4 / 3, 2 / 3], abs=1e-11)


@given(st.integers(1, 6), st.integers(0, 10_000))
@settings(max_examples=60)
def test_newton_solves_any_well_conditioned_linear_loop(size, seed):
    rng = np.random.default_rng(seed)
    a, b = 10 * rng.normal(size=(size, size)), rng.normal(size=size)
    system = np.eye(size) - a
    if np.linalg.cond(system) > 1e4:
        return
    x = Newton().solve(lambda x: a @ x + b, np.zeros(size)).unwrap()
    assert x == approx(np.linalg.solve(system, b), rel=1e-8, abs=1e-8)


def test_newton_with_products_needs_one_step_for_a_linear_loop():
    a = np.array([[0.0, -2.0], [3.0, 0.5]])
    newton = Newton(Products(lambda seed: a @ seed))
    solution = newton.solve(lambda x: a @ x + 1, np.zeros(2))
    assert solution.iterations == 2
    assert solution.solver == "Newton (directional derivatives)"


def test_the_line_search_saves_newton_where_full_steps_diverge():
    """arctan(x) = 0 from x = 3: the full Newton step overshoots ever farther."""
    solution = Newton().solve(lambda x: x + np.arctan(x), np.array([3.0]))
    assert solution.unwrap() == approx([0.0], abs=1e-12)


def test_a_point_that_a_component_rejects_shrinks_the_step():
    """log x = −1 from x = 3: the full step leads to x < 0, where log gives nan."""

    def g(x):
        with np.errstate(invalid="ignore"):
            return x + np.log(x) + 1

    assert Newton().solve(g, np.array([30.0])).unwrap() == approx([np.exp(-1)], rel=1e-11)


@pytest.mark.parametrize("exponent", [-10.0, -20.0, -30.0, -35.0])
def test_newton_goes_on_below_its_tolerance_while_the_residual_falls(exponent):
    """log x = c far below the nominal value of 1: near the solution all steps are tiny, but not all residuals."""

    def g(x):
        with np.errstate(invalid="ignore", divide="ignore"):
            return x - (np.log(x) - exponent)

    solution = Newton().solve(g, np.array([1.0]))
    assert solution.unwrap() == approx([np.exp(exponent)], rel=1e-9)


def test_newton_stays_between_min_and_max():
    """x² = 4 from x = 0.1 with x ≥ 0: only the positive root is reached, and no point below 0 is tried."""
    tried = []

    def g(x):
        tried.append(x.copy())
        return x + x**2 - 4

    domain = Domain(np.ones(1), np.zeros(1), np.full(1, 10.0))
    assert Newton().solve(g, np.array([0.1]), domain).unwrap() == approx([2.0], rel=1e-11)
    assert min(tried) >= 0 and max(tried) <= 10


def test_nominal_values_make_the_method_blind_to_units():
    """The same loop in Pa and in 1e-12 m³/s takes the same iterations as with values of about 1."""

    def iterations(units):
        def g(x):
            y = x / units
            return units * np.array([np.cos(y[1]), 0.5 * np.sin(y[0]) + 2])

        domain = Domain(units, np.full(2, -np.inf), np.full(2, np.inf))
        return Newton().solve(g, np.zeros(2), domain).unwrap() / units

    assert iterations(np.array([1e5, 1e-12])) == approx(iterations(np.ones(2)), rel=1e-10)


@pytest.mark.parametrize(
    ("g", "status"),
    [
        (lambda x: x + 1, Status.SINGULAR),
        (lambda x: np.full_like(x, np.nan), Status.NONFINITE),
        (lambda x: x + x**2 + 1, Status.STALLED),
    ],
)
def test_newton_says_why_there_is_no_solution(g, status):
    solution = Newton().solve(g, np.array([0.3]))
    assert solution.status is status
    assert solution.status.advice
    with pytest.raises(LoopError, match=str(solution.status)) as caught:
        solution.unwrap()
    assert caught.value.solution is solution


def test_a_chain_goes_on_with_the_next_method_where_one_fails():
    """A Jacobian that is always singular: the second, damped method does it."""
    chain = Chain((Newton(Products(lambda seed: seed)), FixedPoint(0.5)))
    solution = chain.solve(scalar(-2.0), np.zeros(1))
    assert solution.unwrap() == approx([1.0], rel=1e-11)
    assert solution.solver == "fixed point (relaxation 0.5)"


def test_a_chain_without_success_returns_the_best_point():
    solution = default_chain(max_iterations=8).solve(lambda x: x + x**2 + 1, np.array([2.0]))
    assert not solution.converged
    assert solution.residual_norm <= 5.0
    assert solution.residual == approx(solution.x**2 + 1)


def test_coloured_differences_need_one_evaluation_per_colour():
    pattern = np.eye(6, dtype=bool) | np.eye(6, k=1, dtype=bool)
    assert len(colours(pattern)) == 2
    a = np.where(pattern, np.arange(36.0).reshape(6, 6), 0.0)
    calls = []

    def g(x):
        calls.append(1)
        return a @ x

    x = np.zeros(6)
    found = FiniteDifferences(pattern).at(g, x, a @ x, Domain.of_size(6))
    assert len(calls) == 2
    assert found == approx(a, rel=1e-7)


def test_every_status_but_success_carries_advice():
    assert all(bool(status.advice) is (status is not Status.CONVERGED) for status in Status)


def test_an_empty_loop_is_solved():
    for solver in [*LINEAR_METHODS, FixedPoint()]:
        assert solver.solve(lambda x: x, np.zeros(0)).converged


@pytest.mark.parametrize("wrong", [{"rtol": -1.0}, {"rtol": 0.0}, {"rtol": float("nan")}, {"atol": -1e-3}])
def test_tolerances_that_cannot_be_met_are_refused(wrong):
    with pytest.raises(ValueError, match="tolerances must not be negative"):
        Convergence(**wrong)


@pytest.mark.parametrize("relaxation", [0.0, -0.5, 1.5])
def test_relaxation_out_of_range_is_refused(relaxation):
    with pytest.raises(ValueError, match=r"relaxation must be in \(0, 1\]"):
        FixedPoint(relaxation)
