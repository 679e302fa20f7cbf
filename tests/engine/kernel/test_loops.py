"""Consistent outputs at one instant, and algebraic loops."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ssptool.engine.kernel.calls import Call, Code, LoopCalls, SolveLoop
from tests.engine.kernel.mock_fmu import DIRECTIONAL, GET, Mock


def two_way(make_kernel, mocks, gain, offset=1.0, **options):
    """y0 = gain · u0 (slots 0 → 1) and y1 = u1 + x (2 → 3), each the input of the other.

    Torn at y1: g(y1) = gain · y1 + offset, fixed point offset/(1 − gain).
    """
    kernel = make_kernel(4)
    components = [Mock([[gain]]), Mock([[1.0]], x=[offset])]
    for k, mock in enumerate(components):
        kernel.add(mocks.table(kernel, mock, inputs=[2 * k], outputs=[2 * k + 1]))
    kernel.connect([3, 1], [0, 2], [1.0, 1.0], [0.0, 0.0])
    body = (Call(0, [0], [1]), Call(1, [2], [3]))
    settings = {"nominal": [1.0], "rtol": 1e-12, "atol": 0.0, "max_iterations": 100} | options
    loop = kernel.loop(LoopCalls(torn=[3], body=body, **settings))
    return kernel, components, loop, kernel.schedule([SolveLoop(loop)])


def test_a_sweep_carries_values_through_in_its_order(make_kernel, mocks):
    """y0 = 2 u0, u1 = 3 y0 + 1, y1 = u1/2: from u0 = 5 follows y1 = 15.5 without any step."""
    kernel = make_kernel(4)
    first, second = Mock([[2.0]]), Mock([[0.5]])
    kernel.add(mocks.table(kernel, first, [0], [1]))
    kernel.add(mocks.table(kernel, second, [2], [3]))
    kernel.connect([1], [2], [3.0], [1.0])
    kernel.values[0] = 5.0
    assert kernel.evaluate(kernel.schedule([Call(0, [0], [1]), Call(1, [2], [3])])).ok
    assert kernel.values.tolist() == [5.0, 10.0, 31.0, 15.5]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(gain=st.floats(-0.8, 0.8), offset=st.floats(-100, 100))
def test_fixed_point_iteration_finds_the_closed_form(make_kernel, mocks, gain, offset):
    """|g(x) − x| ≤ tolerance leaves an error of tolerance/(1 − gain) at most: 5 times it."""
    kernel, _components, _, schedule = two_way(make_kernel, mocks, gain, offset, max_iterations=200)
    assert kernel.evaluate(schedule).ok
    exact = offset / (1.0 - gain)
    assert kernel.values[3] == pytest.approx(exact, abs=6e-12 * max(1.0, abs(exact)))


@pytest.mark.parametrize("gain", [-2.0, 5.0, 0.5])
def test_the_exact_chord_solves_a_linear_loop_in_two_evaluations(make_kernel, mocks, gain):
    kernel, (first, _), loop, schedule = two_way(make_kernel, mocks, gain)
    kernel.set_chord(loop, np.array([[1.0 / (gain - 1.0)]]))
    assert kernel.evaluate(schedule).ok
    assert kernel.values[3] == pytest.approx(1.0 / (1.0 - gain), rel=1e-15)
    assert first.calls[GET] == 2
    assert (kernel.loops_solved, kernel.loop_iterations) == (1, 2)


def test_a_loop_that_is_solved_already_is_evaluated_once(make_kernel, mocks):
    kernel, (first, _), _, schedule = two_way(make_kernel, mocks, 0.5)
    kernel.values[3] = 2.0
    assert kernel.evaluate(schedule).ok
    assert first.calls[GET] == 1
    assert kernel.values.tolist() == [2.0, 1.0, 1.0, 2.0]
    assert kernel.evaluate(schedule).ok
    assert (kernel.loops_solved, kernel.loop_iterations) == (2, 2)


def test_after_convergence_the_slots_hold_the_last_evaluation(make_kernel, mocks):
    """A loose tolerance leaves g(x) in the torn slot, and what follows from x in the others: y1 = u1 + 1 exactly."""
    kernel, _components, _, schedule = two_way(make_kernel, mocks, 0.5, rtol=1e-2)
    assert kernel.evaluate(schedule).ok
    assert kernel.values[3] != 2.0
    assert kernel.values[3] == kernel.values[2] + 1.0
    assert kernel.values[1] == kernel.values[2] == 0.5 * kernel.values[0]


def test_only_sweeps_count_iterations(make_kernel, mocks):
    kernel, _components, loop, _ = two_way(make_kernel, mocks, 0.5)
    assert kernel.residual(loop, np.array([2.0]))[0].ok
    assert (kernel.loops_solved, kernel.loop_iterations) == (0, 0)


@pytest.mark.parametrize("iterations", [20, 3000])
def test_a_diverging_loop_is_reported_as_such(make_kernel, mocks, iterations):
    """Gain −2: after 20 iterations still finite, after 1100 not any more."""
    kernel, _components, loop, schedule = two_way(make_kernel, mocks, -2.0, max_iterations=iterations)
    outcome = kernel.evaluate(schedule)
    assert (outcome.code, outcome.loop) == (Code.LOOP, loop)


def test_the_iteration_limit_is_a_limit(make_kernel, mocks):
    kernel, (first, _), loop, schedule = two_way(make_kernel, mocks, 0.9, max_iterations=7)
    outcome = kernel.evaluate(schedule)
    assert (outcome.code, outcome.loop, outcome.slot) == (Code.LOOP, loop, 3)
    assert first.calls[GET] == 7


def test_a_component_that_delivers_nan_at_the_first_guess_is_to_blame(make_kernel, mocks):
    kernel, (_, second), loop, schedule = two_way(make_kernel, mocks, 0.5)
    second.nan_from = 0.0
    outcome = kernel.evaluate(schedule)
    assert (outcome.code, outcome.instance, outcome.slot, outcome.loop) == (Code.NONFINITE, 1, 3, loop)


def test_a_failing_call_in_a_loop_names_instance_and_loop(make_kernel, mocks):
    kernel, (_, second), loop, schedule = two_way(make_kernel, mocks, 0.5)
    second.refuse(GET)
    outcome = kernel.evaluate(schedule)
    assert (outcome.code, outcome.instance, outcome.loop) == (Code.FMI, 1, loop)
    assert outcome.function == ("fmi2GetReal" if mocks.version == 2 else "fmi3GetFloat64")


def test_tolerances_are_relative_to_value_or_nominal_and_absolute(make_kernel, mocks):
    """The residual at the start is 1; each of the three terms alone may allow it."""
    for options in ({"atol": 1.0, "rtol": 0.0}, {"rtol": 0.01, "nominal": [100.0]}):
        kernel, (first, _), _, schedule = two_way(make_kernel, mocks, 0.5, **options)
        assert kernel.evaluate(schedule).ok
        assert first.calls[GET] == 1
    kernel, (first, _), _, schedule = two_way(make_kernel, mocks, 0.5, offset=50.0, rtol=0.02)
    kernel.values[3] = 98.0  # residual 1, allowed 1.96
    assert kernel.evaluate(schedule).ok
    assert first.calls[GET] == 1


# -- residual and Jacobian -------------------------------------------------------------------------------------


def matrix_loop(make_kernel, mocks, matrix):
    """x ↦ K (A x + b) with a conversion of factor K on each wire; torn at all outputs of one component."""
    n = len(matrix)
    kernel, mock = make_kernel(2 * n), Mock(matrix, x=[0.3, -0.2, 0.9][:n])
    kernel.add(mocks.table(kernel, mock, inputs=range(n), outputs=range(n, 2 * n)))
    kernel.connect(range(n, 2 * n), range(n), [0.5] * n, [0.1] * n)
    body = (Call(0, range(n), range(n, 2 * n)),)
    loop = kernel.loop(LoopCalls(range(n, 2 * n), body, [1.0] * n, 1e-13, 0.0, 50))
    return kernel, mock, loop


MATRIX = np.array([[0.7, -1.9, 0.2], [3.1, 0.4, -0.6], [-0.8, 2.2, 1.3]])


def test_the_residual_is_the_body_applied_to_the_guess(make_kernel, mocks):
    kernel, _component, loop = matrix_loop(make_kernel, mocks, MATRIX)
    x = np.array([1.0, 2.0, -3.0])
    outcome, g = kernel.residual(loop, x)
    assert outcome.ok
    assert g == pytest.approx(MATRIX @ (0.5 * x + 0.1) + [0.3, -0.2, 0.9], rel=1e-14)
    assert kernel.values[:3] == pytest.approx(0.5 * x + 0.1, rel=1e-15)
    assert x.tolist() == [1.0, 2.0, -3.0]


def test_the_jacobian_product_is_that_of_the_composed_map(make_kernel, mocks):
    kernel, mock, loop = matrix_loop(make_kernel, mocks, MATRIX)
    for seed in np.eye(3):
        outcome, product = kernel.jacobian_product(loop, seed)
        assert outcome.ok
        assert product == pytest.approx(0.5 * MATRIX @ seed, rel=1e-15)
    assert mock.calls[DIRECTIONAL] == 3


def test_the_jacobian_product_goes_through_all_components_of_the_loop(make_kernel, mocks):
    kernel, _components, loop, _ = two_way(make_kernel, mocks, -3.0)
    outcome, product = kernel.jacobian_product(loop, np.array([2.0]))
    assert outcome.ok
    assert product.tolist() == [-6.0]


def test_newtons_chord_solves_a_full_linear_loop(make_kernel, mocks):
    """x = A (x/2 + 0.1) + b, with the spectral radius of A/2 beyond 1, against numpy's solution."""
    kernel, _mock, loop = matrix_loop(make_kernel, mocks, MATRIX)
    jacobian = np.column_stack([kernel.jacobian_product(loop, seed)[1] for seed in np.eye(3)])
    kernel.set_chord(loop, np.linalg.inv(jacobian - np.eye(3)))
    assert kernel.evaluate(kernel.schedule([SolveLoop(loop)])).ok
    exact = np.linalg.solve(np.eye(3) - 0.5 * MATRIX, MATRIX @ np.full(3, 0.1) + [0.3, -0.2, 0.9])
    assert kernel.values[3:] == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize(("gains", "slot"), [((0.0, 3.0, 3.0), 4), ((3.0, 3.0, 0.0), 3), ((0.0, 0.0, 3.0), 5)])
def test_of_several_signals_that_diverge_the_first_is_named(make_kernel, mocks, gains, slot):
    kernel, _component, loop = matrix_loop(make_kernel, mocks, np.diag(gains))
    outcome = kernel.evaluate(kernel.schedule([SolveLoop(loop)]))
    assert (outcome.code, outcome.loop, outcome.slot) == (Code.LOOP, loop, slot)


def test_a_failing_directional_derivative_is_named(make_kernel, mocks):
    kernel, mock, loop = matrix_loop(make_kernel, mocks, MATRIX)
    mock.refuse(DIRECTIONAL)
    outcome, _ = kernel.jacobian_product(loop, np.ones(3))
    assert (outcome.code, outcome.instance, outcome.loop) == (Code.FMI, 0, loop)
    assert outcome.function == f"fmi{mocks.version}GetDirectionalDerivative"


def test_loops_that_cannot_be_right_are_refused(make_kernel, mocks):
    kernel, _components, loop, _ = two_way(make_kernel, mocks, 0.5)
    body = (Call(0, [0], [1]),)
    with pytest.raises(ValueError, match="nominal"):
        kernel.loop(LoopCalls([3], body, [], 0.0, 0.0, 1))
    with pytest.raises(ValueError, match="max_iterations"):
        kernel.loop(LoopCalls([3], body, [1.0], 0.0, 0.0, 0))
    with pytest.raises(IndexError, match="loop 4"):
        kernel.schedule([SolveLoop(4)])
    for wrong in (np.ones(2), np.ones(0)):
        with pytest.raises(ValueError):
            kernel.residual(loop, wrong)
        with pytest.raises(ValueError):
            kernel.jacobian_product(loop, wrong)
    with pytest.raises(ValueError):
        kernel.set_chord(loop, np.ones((2, 2)))
    assert math.isfinite(kernel.values[3])
