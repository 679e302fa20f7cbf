"""Integrators of the kernel against closed forms, orders of convergence."""

import ctypes
import gc
import math
import weakref

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from ssptool.engine.kernel._methods import NativeOdeSolver
from ssptool.engine.ode.integrator import Method
from tests.engine.kernel.kernels import bits
from tests.engine.kernel.methods import IntegrationFailed

KINDS = pytest.mark.parametrize("kind", (Method.DORMAND_PRINCE, Method.ROSENBROCK), ids=lambda kind: kind.name.lower())
LATE = 1e9  # [s]


def vector(address, size):
    return np.ctypeslib.as_array((ctypes.c_double * size).from_address(address))


def by_address(function, states, size):
    """A function of (t, x), which returns an array, or None where it cannot be evaluated, as solvers call it."""

    def called(t, x, place):
        found = function(t, vector(x, states))
        if found is not None:
            vector(place, size)[:] = found
        return found is not None

    return called


def make(kind, f, x0, rtol=1e-6, *, t0=0.0, g=None, roots=1, jacobian=None, first_step=0.0):
    """A solver started at (t0, x0), with absolute tolerances like the relative one."""
    n = len(x0)

    def filled(t, x, matrix):
        matrix[:] = jacobian(t, vector(x, n))
        return True

    indicators = None if g is None else by_address(g, n, roots)
    solver = NativeOdeSolver(
        kind, by_address(f, n, n), n, rtol, indicators, 0 if g is None else roots, None if jacobian is None else filled
    )
    solver.x[:], solver.atol[:] = x0, rtol
    solver.start(t0, first_step)
    return solver


def go_to(solver, end):
    """Reach a time; returns what was found on the way."""
    found = []
    while (arrival := solver.reach(end)).t < end:
        if arrival.roots:
            found.append((solver.elapsed, arrival.roots))
    return found


def harmonic(_t, x):
    return x[1], -x[0]


def van_der_pol(_t, x):
    return x[1], 1000.0 * (1.0 - x[0] ** 2) * x[1] - x[0]


def robertson(_t, x):
    slow, fast, back = 0.04 * x[0], 3e7 * x[1] ** 2, 1e4 * x[1] * x[2]
    return -slow + back, slow - back - fast, fast


def witch(t, x):
    """x = 1/(1 + t²) from 1 at t = 0: neither linear nor autonomous."""
    return (-2.0 * t * x[0] ** 2,)


def ball(_t, x):
    return x[1], -9.81


# -- order and accuracy ------------------------------------------------------------------------------------------


def errors(kind, steps):
    """Errors of `witch` at t = 2, and the largest in between, in equal steps."""
    h, between = 2.0 / steps, 0.0
    solver = make(kind, witch, [1.0], 1e3, first_step=h, jacobian=lambda t, x: [[-4.0 * t * x[0]]])
    solver.limit_step(h)
    while solver.time < 2.0:
        before = solver.time
        solver.reach(2.0)
        for part in (0.2, 0.5, 0.7):
            t = before + part * (solver.time - before)
            solver.interpolate(t)
            between = max(between, abs(solver.between[0] - 1 / (1 + t * t)))
    assert solver.effort.steps == steps
    return abs(solver.x[0] - 0.2), between


@KINDS
def test_the_error_at_the_end_is_of_order_five(kind):
    coarse, fine = errors(kind, 32)[0], errors(kind, 64)[0]
    assert 4.7 < math.log2(coarse / fine) < 6.0


@KINDS
def test_the_error_between_steps_is_of_order_five_in_the_step(kind):
    """An interpolation of order 4 adds an error of h⁵ in each step, and these do not add up."""
    coarse, fine = errors(kind, 32)[1], errors(kind, 64)[1]
    assert 4.5 < math.log2(coarse / fine) < 6.0


@KINDS
def test_the_error_follows_the_tolerance(kind):
    """1e2 is about the number of steps over ten radians at the tightest tolerance."""
    for rtol in (1e-4, 1e-6, 1e-8, 1e-10):
        solver = make(kind, harmonic, [1.0, 0.0], rtol)
        go_to(solver, 10.0)
        assert np.max(np.abs(solver.x - [math.cos(10), -math.sin(10)])) < 1e2 * rtol


@KINDS
def test_an_oscillator_keeps_its_energy_within_the_tolerance_of_all_its_steps(kind):
    solver = make(kind, harmonic, [1.0, 0.0], 1e-9)
    go_to(solver, 300.0)
    assert abs(np.dot(solver.x, solver.x) - 1.0) < 1e-9 * solver.effort.steps


@KINDS
def test_no_unit_of_time_is_hidden(kind):
    """The same equation in other units of time takes the same steps."""
    for unit in (2.0**-40, 2.0**40):
        usual = make(kind, harmonic, [1.0, 0.0])
        other = make(kind, lambda _t, x, unit=unit: (x[1] / unit, -x[0] / unit), [1.0, 0.0])
        go_to(usual, 5.0)
        go_to(other, 5.0 * unit)
        assert other.effort.steps == usual.effort.steps
        assert other.x == pytest.approx(usual.x, rel=1e-7)


# -- stiff systems -----------------------------------------------------------------------------------------------


def stiff(f, x0, rtol, end, **options):
    solver = make(Method.ROSENBROCK, f, x0, rtol, **options)
    go_to(solver, end)
    return solver


def radau(f, x0, end):
    return solve_ivp(f, (0.0, end), x0, "Radau", rtol=1e-9, atol=1e-12).y[:, -1]


def test_robertson():
    solver = NativeOdeSolver(Method.ROSENBROCK, by_address(robertson, 3, 3), 3, 1e-7)
    solver.x[:], solver.atol[:] = (1.0, 0.0, 0.0), (1e-7, 1e-12, 1e-7)
    solver.start(0.0)
    go_to(solver, 4e4)
    assert solver.x == pytest.approx(radau(robertson, (1.0, 0.0, 0.0), 4e4), rel=1e-5)
    assert np.sum(solver.x) == pytest.approx(1.0, abs=1e-9)
    assert solver.effort.steps < 300


def test_a_relaxation_oscillator():
    solver = stiff(van_der_pol, [2.0, 0.0], 1e-8, 900.0)
    assert solver.x == pytest.approx(radau(van_der_pol, (2.0, 0.0), 900.0), rel=1e-4)
    assert solver.effort.steps < 2000


@pytest.mark.parametrize("rate", [1e2, 1e4, 1e6, 1e8])
@pytest.mark.parametrize("t0", [0.0, LATE])
def test_a_fast_state_follows_its_input(rate, t0):
    """Prothero and Robinson: x' = −rate (x − sin t) + cos t has the solution sin t for any rate."""

    def f(t, x):
        return (-rate * (x[0] - math.sin(t - t0)) + math.cos(t - t0),)

    solver = stiff(f, [0.0], 1e-7, t0 + 10.0, t0=t0)
    # At late times, the input has the resolution of time.
    assert solver.x[0] == pytest.approx(math.sin(10.0), abs=1e-6 if t0 else 1e-7)
    assert solver.effort.steps < (2000 if t0 else 150)


@pytest.mark.parametrize("given", [True, False])
def test_a_chain_of_many_states(given):
    """The heat equation on a line of cells: its first mode decays with the smallest eigenvalue."""
    n, rate = 60, 1e4

    def f(_t, x):
        padded = np.concatenate([[0.0], x, [0.0]])
        return rate * (padded[:-2] - 2.0 * x + padded[2:])

    matrix = rate * (np.eye(n, k=1) - 2.0 * np.eye(n) + np.eye(n, k=-1))
    mode = np.sin(np.pi * np.arange(1, n + 1) / (n + 1))
    options = {"jacobian": lambda _t, _x: matrix} if given else {}
    solver = stiff(f, mode, 1e-7, 0.1, **options)
    decay = math.exp(-4.0 * rate * math.sin(math.pi / (2 * (n + 1))) ** 2 * 0.1)
    assert solver.x == pytest.approx(decay * mode, abs=1e-7)
    assert (solver.effort.evaluations < 500) == given


# -- roots -------------------------------------------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("t0", [0.0, LATE])
def test_a_bouncing_ball_hits_the_ground_in_time(kind, t0):
    """A parabola is solved exactly, so flights last 2v/g up to rounding, however late it is."""
    solver = make(kind, ball, [0.0, 10.0], t0=t0, g=lambda _t, x: (x[0],))
    t, speed = t0, 10.0
    for _ in range(8):
        while (arrival := solver.reach(t + 3.0)).roots == () or solver.elapsed < 1e-9:
            pass  # the ball leaves the ground just after a start
        assert solver.elapsed == pytest.approx(2 * speed / 9.81, rel=1e-12)
        assert solver.x[0] <= 0.0 and solver.x[1] == pytest.approx(-speed, rel=1e-12)
        t, speed = arrival.t, 0.8 * speed
        solver.x[:] = 0.0, speed
        solver.start(t)


@KINDS
def test_it_stops_just_behind_a_root(kind):
    """Where the indicator has its new sign; a few roundings of time before, it has the old one."""
    solver = make(kind, harmonic, [0.0, 1.0], 1e-10, g=lambda _t, x: (x[0] - 0.5, 0.3 - x[0]), roots=2)
    found = []
    while len(found) < 4:
        arrival = solver.reach(20.0)
        if not arrival.roots:
            continue
        found.append((arrival.t, arrival.roots))
        after = (solver.x[0] > 0.5, solver.x[0] < 0.3)
        solver.interpolate(arrival.t - 8 * math.ulp(arrival.t))
        before = (solver.between[0] > 0.5, solver.between[0] < 0.3)
        assert tuple(i for i in range(2) if before[i] != after[i]) == arrival.roots
    expected = [math.asin(0.3), math.asin(0.5), math.pi - math.asin(0.5), math.pi - math.asin(0.3)]
    assert [t for t, _ in found] == pytest.approx(expected, abs=1e-9)
    assert [roots for _, roots in found] == [(1,), (0,), (0,), (1,)]


@KINDS
def test_indicators_that_cross_together_are_told_together(kind):
    solver = make(kind, harmonic, [1.0, 0.0], g=lambda _t, x: (x[0], 5.0, -2.0 * x[0]), roots=3)
    assert [roots for _, roots in go_to(solver, 3.0)] == [(0, 2)]


@KINDS
def test_an_indicator_of_zero_counts_as_negative(kind):
    """So one that rises from zero crosses at once, and one that falls from zero does not."""
    rising = make(kind, lambda _t, _x: (1.0,), [0.0], g=lambda _t, x: (x[0],))
    (crossing,) = go_to(rising, 1.0)
    assert 0.0 < crossing[0] < 1e-15
    falling = make(kind, lambda _t, _x: (-1.0,), [0.0], g=lambda _t, x: (x[0],))
    assert go_to(falling, 1.0) == []


@KINDS
def test_an_indicator_of_time_alone_is_found_with_a_constant_state(kind):
    """Systems without states have one that is constant."""
    solver = make(kind, lambda _t, _x: (0.0,), [0.0], t0=LATE, g=lambda t, _x: (t - LATE - 3.7,))
    (crossing,) = go_to(solver, LATE + 10.0)
    assert crossing[0] == pytest.approx(3.7, abs=2 * math.ulp(LATE))
    assert solver.effort.steps < 20


@KINDS
def test_an_indicator_that_jumps_is_located_in_bounded_work(kind):
    solver = make(kind, lambda _t, _x: (1.0,), [0.0], g=lambda _t, x: (1.0 if x[0] > math.sqrt(0.5) else -1e-9,))
    (crossing,) = go_to(solver, 1.0)
    assert crossing[0] == pytest.approx(math.sqrt(0.5), rel=1e-15)
    assert solver.effort.root_evaluations < 250


# -- steps -------------------------------------------------------------------------------------------------------


@KINDS
def test_neither_steps_nor_evaluations_pass_the_limit(kind):
    asked = []

    def watched(t, x):
        asked.append(t)
        return harmonic(t, x)

    solver = make(kind, watched, [1.0, 0.0])
    go_to(solver, 0.7)
    assert max(asked) == 0.7 and solver.time == 0.7


@KINDS
def test_steps_are_limited(kind):
    solver = make(kind, harmonic, [1.0, 0.0], 1e-3)
    solver.limit_step(0.01)
    before = 0.0
    while (t := solver.reach(1.0).t) < 1.0:
        assert t - before <= 0.01 * (1 + 1e-12)
        before = t
    solver.limit_step(math.inf)
    assert solver.reach(10.0).t > 1.02


@KINDS
def test_many_steps_are_taken_in_one_call_to_the_limit_or_to_a_root(kind):
    solver = make(kind, harmonic, [1.0, 0.0], 1e-9, g=lambda _t, x: (x[0],))
    assert solver.reach(3.0, step_by_step=False).roots == (0,)
    assert solver.reach(3.0, step_by_step=False).t == 3.0


@KINDS
def test_a_start_keeps_the_counts_and_begins_with_the_step_asked_for(kind):
    solver = make(kind, harmonic, [1.0, 0.0])
    assert not solver.has_moved
    go_to(solver, 1.0)
    first, steps = solver.first_step, solver.effort.steps
    assert first > 0.0 and solver.has_moved
    solver.start(1.0, 0.125 * first)
    assert not solver.has_moved
    assert solver.reach(2.0).t == 1.0 + 0.125 * first
    assert solver.first_step == 0.125 * first and solver.effort.steps == steps + 1


@KINDS
def test_a_first_step_that_was_too_large_is_not_recommended(kind):
    solver = make(kind, harmonic, [1.0, 0.0], 1e-9, first_step=2.0)
    go_to(solver, 3.0)
    assert solver.first_step == 0.0 and solver.effort.error_test_failures > 0


# -- failures ----------------------------------------------------------------------------------------------------


@KINDS
def test_points_at_which_f_cannot_be_evaluated_are_avoided(kind):
    """x' = 1/(1 − x) is refused from x = 1 on; the solution 1 − √(1 − 2t) comes close at t = 0.49."""

    def refused(_t, x):
        return None if x[0] >= 1.0 else (1.0 / (1.0 - x[0]),)

    solver = make(kind, refused, [0.0], 1e-8)
    go_to(solver, 0.49)
    assert solver.x[0] == pytest.approx(1 - math.sqrt(0.02), abs=1e-6)
    with pytest.raises(IntegrationFailed, match="the smallest step is too large") as failed:
        go_to(solver, 1.0)
    assert failed.value.t == pytest.approx(0.5, abs=1e-6)


@KINDS
@pytest.mark.parametrize("bad", [None, (math.nan,), (math.inf,)])
def test_a_root_before_points_to_avoid_is_found(kind, bad):
    """Values that are not numbers tell the same as a refusal."""
    solver = make(
        kind, lambda _t, x: bad if x[0] > 1.0 else (1.0,), [0.0], g=lambda _t, x: bad if x[0] > 1.0 else (x[0] - 0.9,)
    )
    arrival = solver.reach(5.0, step_by_step=False)
    assert arrival.t == pytest.approx(0.9, rel=1e-12) and arrival.roots == (0,)


@KINDS
def test_a_failure_at_the_start_is_told(kind):
    with pytest.raises(IntegrationFailed, match="state derivatives cannot be evaluated at its start"):
        make(kind, lambda _t, _x: None, [0.0]).reach(1.0)
    with pytest.raises(IntegrationFailed, match="event indicators cannot be evaluated at its start") as failed:
        make(kind, harmonic, [0.0, 0.0], t0=5.0, g=lambda _t, _x: None).reach(7.0)
    assert failed.value.t == 5.0


@KINDS
def test_exceptions_come_out_and_a_new_start_goes_on(kind):
    def broken(t, x):
        if 0.5 < t < 0.6:
            raise LookupError("no such variable")
        return harmonic(t, x)

    solver = make(kind, broken, [1.0, 0.0])
    with pytest.raises(LookupError, match="no such variable"):
        go_to(solver, 1.0)
    solver.x[:] = 1.0, 0.0
    solver.start(1.0)
    go_to(solver, 2.0)
    assert solver.x[0] == pytest.approx(math.cos(1.0), abs=1e-5)


@KINDS
def test_only_the_last_step_can_be_looked_into(kind):
    solver = make(kind, harmonic, [1.0, 0.0])
    first = solver.reach(5.0).t
    second = solver.reach(5.0).t
    solver.interpolate(second)
    assert bits(solver.between) == bits(solver.x)
    solver.interpolate(first)
    assert solver.between[0] == pytest.approx(math.cos(first), abs=1e-6)
    for outside in (0.5 * first, 1.1 * second):
        with pytest.raises(IntegrationFailed, match="not within its last step"):
            solver.interpolate(outside)


@KINDS
def test_a_closed_solver_lets_go_of_its_functions(kind):
    """They belong to objects that have the solver, and would else never be freed."""

    class Owner:
        def slopes(self, _t, _x, place):
            vector(place, 1)[:] = 0.0
            return True

    owner = Owner()
    owner.solver = NativeOdeSolver(kind, owner.slopes, 1, 1e-6)
    owner.solver.start(0.0)
    owner.solver.reach(1.0)
    owner.solver.close()
    assert owner.solver.effort.steps > 0
    alive = weakref.ref(owner)
    del owner
    gc.collect()
    assert alive() is None
