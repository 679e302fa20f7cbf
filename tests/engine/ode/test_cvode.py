"""The integrator behind its class: accuracy, roots, and what happens when f cannot be evaluated."""

import ctypes
import gc
import math

import numpy as np
import pytest

from ssptool.engine.kernel._methods import NativeOdeSolver
from ssptool.engine.ode.cvode import address
from ssptool.engine.ode.integrator import Method
from tests.engine.kernel.methods import IntegrationFailed

METHODS = pytest.mark.parametrize("method", [Method.ADAMS, Method.BDF])


def make(method, f, n, rtol, g=None, roots=0, jacobian=None):
    return NativeOdeSolver(method, f, n, rtol, g, roots, jacobian, address)


def vector(address, size):
    return np.ctypeslib.as_array((ctypes.c_double * size).from_address(address))


def harmonic(_t, x, slopes):
    vector(slopes, 2)[:] = vector(x, 2)[1], -vector(x, 2)[0]
    return True


def oscillator(method, rtol, **options):
    solver = make(method, harmonic, 2, rtol=rtol, **options)
    solver.x[:] = 1.0, 0.0
    solver.atol[:] = rtol
    solver.start(0.0)
    return solver


def go_to(solver, end):
    found = []
    while (arrival := solver.reach(end)).t < end:
        if arrival.roots:
            found.append(arrival)
    return found


@METHODS
def test_the_error_follows_the_tolerance(method):
    """Of a multistep method it is a moderate multiple of it; 1e3 bounds both formulas over ten radians."""
    for rtol in (1e-5, 1e-7, 1e-9):
        solver = oscillator(method, rtol)
        go_to(solver, 10.0)
        assert np.max(np.abs(solver.x - [math.cos(10), -math.sin(10)])) < 1e3 * rtol
        solver.close()


@METHODS
def test_roots_are_found_where_they_are(method):
    def crossing(_t, x, found):
        vector(found, 1)[0] = vector(x, 2)[0]
        return True

    solver = oscillator(method, 1e-9, g=crossing, roots=1)
    times = [arrival.t for arrival in go_to(solver, 10.0)]
    assert times == pytest.approx([math.pi / 2, 3 * math.pi / 2, 5 * math.pi / 2], abs=1e-7)
    solver.close()


def test_it_never_steps_past_the_limit_and_arrives_exactly():
    latest = []

    def watched(t, x, slopes):
        latest.append(t)
        return harmonic(t, x, slopes)

    solver = make(Method.BDF, watched, 2, rtol=1e-6)
    solver.x[:] = 1.0, 0.0
    solver.atol[:] = 1e-6
    solver.start(0.0)
    go_to(solver, 0.7)
    assert max(latest) <= 0.7
    solver.close()


def test_between_internal_steps_states_are_interpolated_with_the_accuracy_of_the_formula():
    solver = oscillator(Method.BDF, 1e-9)
    before = 0.0
    while (arrival := solver.reach(5.0)).t < 5.0:
        middle = (before + arrival.t) / 2
        solver.interpolate(middle)
        assert solver.between == pytest.approx([math.cos(middle), -math.sin(middle)], abs=1e-6)
        before = arrival.t
    solver.close()


def test_a_restart_forgets_the_past_and_keeps_the_counts():
    solver = oscillator(Method.BDF, 1e-7)
    go_to(solver, 1.0)
    first = solver.effort
    solver.x[:] = 0.0, 1.0
    solver.start(1.0)
    go_to(solver, 2.0)
    assert solver.x == pytest.approx([math.sin(1), math.cos(1)], abs=1e-5)
    assert solver.effort.steps > first.steps > 0
    solver.close()
    assert solver.effort.steps > first.steps


def test_an_exception_in_f_comes_out_of_the_step():
    def broken(_t, _x, _slopes):
        raise LookupError("no such variable")

    solver = make(Method.BDF, broken, 1, rtol=1e-6)
    solver.x[:], solver.atol[:] = 1.0, 1e-6
    solver.start(0.0)
    with pytest.raises(LookupError, match="no such variable"):
        solver.reach(1.0)
    solver.close()


def test_points_at_which_f_cannot_be_evaluated_are_avoided():
    """x' = 1 / (1 − x)... is refused for x ≥ 1; the solution x = 1 − √(1 − 2t) comes close at t = 0.49."""

    def refused_above_one(_t, x, slopes):
        value = vector(x, 1)[0]
        if value >= 1:
            return False
        vector(slopes, 1)[0] = 1 / (1 - value)
        return True

    solver = make(Method.BDF, refused_above_one, 1, rtol=1e-8)
    solver.x[:], solver.atol[:] = 0.0, 1e-8
    solver.start(0.0)
    go_to(solver, 0.49)
    assert solver.x[0] == pytest.approx(1 - math.sqrt(0.02), abs=1e-5)
    with pytest.raises(IntegrationFailed) as failed:
        go_to(solver, 1.0)
    assert failed.value.t == pytest.approx(0.5, abs=1e-3)
    solver.close()


def test_failure_at_the_first_call_is_told(capfd):
    solver = make(Method.BDF, lambda *_: False, 1, rtol=1e-6)
    solver.x[:], solver.atol[:] = 1.0, 1e-6
    solver.start(0.0)
    with pytest.raises(IntegrationFailed, match="first call"):
        solver.reach(1.0)
    solver.close()
    assert capfd.readouterr().err == ""


def test_closing_twice_or_never_does_no_harm():
    solver = oscillator(Method.BDF, 1e-6)
    solver.close()
    solver.close()
    oscillator(Method.ADAMS, 1e-6)
    gc.collect()
