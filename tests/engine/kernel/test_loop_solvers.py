"""Loop solvers against loops whose solution is known in closed form."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest import approx

from ssptool.engine.kernel import _methods
from ssptool.engine.kernel.solutions import Convergence, SolutionStatus
from tests.engine.kernel.methods import LoopMethod

AUTO, NEWTON, AITKEN, ANDERSON, FIXED_POINT, HOMOTOPY = LoopMethod
LINEAR_METHODS = [NEWTON, AITKEN, ANDERSON, AUTO]


def solution_of(method, g, x0, domain=None, product=None, rtol=1e-12, relaxation=1.0, max_iterations=None):
    """`domain`: nominal, smallest and largest values."""
    domain = domain or (np.ones(len(x0)), np.full(len(x0), -np.inf), np.full(len(x0), np.inf))
    options = rtol, 0.0, relaxation, max_iterations or 0
    return _methods.solve_function(method, g, product, x0, *domain, *options)[0]


@pytest.fixture
def solve():
    """Solves x = g(x) by a method."""
    return solution_of


def solved(solution):
    assert solution.status is SolutionStatus.CONVERGED
    return solution.x


def scalar(gain, offset=3.0):
    """x = gain·x + offset, solved by offset / (1 − gain)."""
    return lambda x: gain * x + offset


@pytest.mark.parametrize("gain", [-0.99, -0.5, 0.5, 0.9, -1.0, -2.0, -10.0, 3.0, -100.0, -1e4])
@pytest.mark.parametrize("method", LINEAR_METHODS)
def test_a_scalar_linear_loop_is_solved_whatever_its_gain(solve, method, gain):
    """The bound: rounding of gain·x is at most |gain| ε |x|, and moves the solution by that over |1 −
    gain|.
    """
    x = solved(solve(method, scalar(gain), np.zeros(1)))
    assert x[0] == approx(3 / (1 - gain), rel=2e-11)


@pytest.mark.parametrize("gain", [-0.99, -0.5, 0.0, 0.5])
def test_fixed_point_converges_for_gains_below_one(solve, gain):
    x = solved(solve(FIXED_POINT, scalar(gain), np.zeros(1), max_iterations=5000))
    assert x[0] == approx(3 / (1 - gain), rel=1e-11)


@pytest.mark.parametrize("gain", [-1.5, -2.0, -1e4, 1.5])
def test_fixed_point_says_that_it_diverges_for_gains_above_one(solve, gain):
    solution = solve(FIXED_POINT, scalar(gain), np.zeros(1))
    assert solution.status is SolutionStatus.DIVERGED
    assert "--init newton" in solution.status.advice
    assert np.all(np.isfinite(solution.x))


def test_fixed_point_at_the_limit_of_stability_runs_out_of_iterations(solve):
    solution = solve(FIXED_POINT, scalar(-1.0), np.zeros(1), max_iterations=20)
    assert (solution.status, solution.iterations) == (SolutionStatus.MAX_ITERATIONS, 20)


def test_relaxation_one_half_converges_down_to_a_gain_of_minus_three(solve):
    found = solve(FIXED_POINT, scalar(-2.9), np.zeros(1), relaxation=0.5)
    assert solved(found)[0] == approx(3 / 3.9, rel=1e-11)
    assert found.solver == "fixed point (relaxation 0.5)"
    assert not solve(FIXED_POINT, scalar(-3.1), np.zeros(1), relaxation=0.5).converged


def test_aitken_is_exact_in_three_evaluations_of_a_scalar_linear_loop(solve):
    solution = solve(AITKEN, scalar(-0.7), np.zeros(1), rtol=1e-10)
    assert solution.converged and solution.iterations <= 3


@pytest.mark.parametrize("size", [1, 2, 5])
def test_anderson_is_exact_in_size_plus_two_evaluations_of_a_linear_loop(solve, size):
    """Walker and Ni 2011, theorem 2.2: it is then GMRES, which ends after `size` steps."""
    rng = np.random.default_rng(size)
    a, b = rng.normal(size=(size, size)), rng.normal(size=size)
    solution = solve(ANDERSON, lambda x: a @ x + b, np.zeros(size), rtol=1e-8)
    assert solution.converged and solution.iterations <= size + 2
    assert solution.x == approx(np.linalg.solve(np.eye(size) - a, b), rel=1e-6)


def test_all_methods_agree_on_a_coupled_contraction(solve):
    """y1 = y2/2 + 1, y2 = y1/2  ⇒  y1 = 4/3, y2 = 2/3."""

    def g(y):
        return np.array([y[1] / 2 + 1, y[0] / 2])

    for method in LoopMethod:
        assert solved(solve(method, g, np.zeros(2))) == approx([4 / 3, 2 / 3], abs=1e-11)


@given(st.integers(1, 6), st.integers(0, 10_000))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_newton_solves_any_well_conditioned_linear_loop(solve, size, seed):
    rng = np.random.default_rng(seed)
    a, b = 10 * rng.normal(size=(size, size)), rng.normal(size=size)
    system = np.eye(size) - a
    if np.linalg.cond(system) > 1e4:
        return
    x = solved(solve(NEWTON, lambda x: a @ x + b, np.zeros(size)))
    assert x == approx(np.linalg.solve(system, b), rel=1e-8, abs=1e-8)


def test_newton_with_products_needs_one_step_for_a_linear_loop(solve):
    a = np.array([[0.0, -2.0], [3.0, 0.5]])
    solution = solve(NEWTON, lambda x: a @ x + 1, np.zeros(2), product=lambda seed: a @ seed)
    assert solution.iterations == 2
    assert solution.solver == "Newton (directional derivatives)"


def test_the_line_search_saves_newton_where_full_steps_diverge(solve):
    """arctan(x) = 0 from x = 3: the full Newton step overshoots ever farther."""
    solution = solve(NEWTON, lambda x: x + np.arctan(x), np.array([3.0]))
    assert solved(solution) == approx([0.0], abs=1e-12)


def test_a_point_that_a_component_rejects_shrinks_the_step(solve):
    """log x = −1 from x = 3: the full step leads to x < 0, where log gives nan."""

    def g(x):
        with np.errstate(invalid="ignore"):
            return x + np.log(x) + 1

    assert solved(solve(NEWTON, g, np.array([30.0]))) == approx([np.exp(-1)], rel=1e-11)


@pytest.mark.parametrize("exponent", [-10.0, -20.0, -30.0, -35.0])
def test_newton_goes_on_below_its_tolerance_while_the_residual_falls(solve, exponent):
    """log x = c far below the nominal value of 1: near the solution all steps are tiny, but not all residuals."""

    def g(x):
        with np.errstate(invalid="ignore", divide="ignore"):
            return x - (np.log(x) - exponent)

    solution = solve(NEWTON, g, np.array([1.0]))
    assert solved(solution) == approx([np.exp(exponent)], rel=1e-9)


def test_newton_stays_between_min_and_max(solve):
    """x² = 4 from x = 0.1 with x ≥ 0: only the positive root is reached, and no point below 0 is tried."""
    tried = []

    def g(x):
        tried.append(x.copy())
        return x + x**2 - 4

    domain = np.ones(1), np.zeros(1), np.full(1, 10.0)
    assert solved(solve(NEWTON, g, np.array([0.1]), domain)) == approx([2.0], rel=1e-11)
    assert min(tried) >= 0 and max(tried) <= 10


def test_nominal_values_make_the_method_blind_to_units(solve):
    """The same loop in Pa and in 1e-12 m³/s takes the same iterations as with values of about 1."""

    def iterations(units):
        def g(x):
            y = x / units
            return units * np.array([np.cos(y[1]), 0.5 * np.sin(y[0]) + 2])

        domain = units, np.full(2, -np.inf), np.full(2, np.inf)
        return solved(solve(NEWTON, g, np.zeros(2), domain)) / units

    assert iterations(np.array([1e5, 1e-12])) == approx(iterations(np.ones(2)), rel=1e-10)


@pytest.mark.parametrize(
    ("g", "status"),
    [
        (lambda x: x + 1, SolutionStatus.SINGULAR),
        (lambda x: np.full_like(x, np.nan), SolutionStatus.NONFINITE),
        (lambda x: x + x**2 + 1, SolutionStatus.STALLED),
    ],
)
def test_newton_says_why_there_is_no_solution(solve, g, status):
    solution = solve(NEWTON, g, np.array([0.3]))
    assert solution.status is status
    assert solution.status.advice


def test_a_chain_goes_on_with_the_next_method_where_one_fails(solve):
    """A Jacobian that is said to be that of x, always singular: differences take its place."""
    solution = solve(AUTO, scalar(-2.0), np.zeros(1), product=lambda seed: seed)
    assert solved(solution) == approx([1.0], rel=1e-11)
    assert solution.solver == "Newton (finite differences)"
    assert solution.iterations == 1 + len(solution.history)


def test_a_chain_without_success_returns_the_best_point(solve):
    solution = solve(AUTO, lambda x: x + x**2 + 1, np.array([2.0]), max_iterations=8)
    assert not solution.converged
    assert solution.residual_norm <= 5.0
    assert solution.residual == approx(solution.x**2 + 1)


@pytest.mark.parametrize("method", [HOMOTOPY, AUTO])
def test_homotopy_passes_a_minimum_of_the_residual(solve, method):
    """u³ − 3u + 3 = 0 from u = 2: the residual has a minimum at 1, the only root is −2.1038 (Cardano)."""
    root = -(((3 + np.sqrt(5)) / 2) ** (1 / 3)) - ((3 - np.sqrt(5)) / 2) ** (1 / 3)
    solution = solve(method, lambda u: u - (u**3 - 3 * u + 3), np.array([2.0]))
    assert solved(solution) == approx([root], rel=1e-11)
    assert method is AUTO or solution.solver == "homotopy (finite differences)"


def test_every_status_but_success_carries_advice():
    assert all(bool(status.advice) is (status is not SolutionStatus.CONVERGED) for status in SolutionStatus)


def test_an_empty_loop_is_solved(solve):
    for method in [*LINEAR_METHODS, FIXED_POINT]:
        assert solve(method, lambda x: x, np.zeros(0)).converged


@pytest.mark.parametrize("wrong", [{"rtol": -1.0}, {"rtol": 0.0}, {"rtol": float("nan")}, {"atol": -1e-3}])
def test_tolerances_that_cannot_be_met_are_refused(wrong):
    with pytest.raises(ValueError, match="tolerances must not be negative"):
        Convergence(**wrong)
