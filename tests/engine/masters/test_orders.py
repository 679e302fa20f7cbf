"""Convergence orders of the master algorithms, measured on the oscillator against its matrix exponential."""

import numpy as np
import pytest
from pytest import approx

from tests.engine.dual_mass import FMI2, FMI3, MIXED, NO_FLANGE, network, oscillator, simulate
from tests.systems.exact_dual_mass import DualMass

STEPS = [0.02, 0.01, 0.005]


def errors(net, exact, steps, **settings):
    """Largest error of x1 over 2 s for each step size."""
    found = []
    for step in steps:
        trace = simulate(net, stop_time=2.0, step_size=step, **settings).unwrap()
        found.append(np.max(np.abs(trace["System1.x1"] - exact.signals(trace.t)["x1"])))
    return np.array(found)


def orders(found, steps=STEPS):
    return np.diff(np.log(found)) / np.diff(np.log(steps))


COUPLINGS = [
    ("jacobi", "hold", None, 1),
    ("jacobi", "extrapolate", 1, 2),
    ("jacobi", "extrapolate", 2, 2),
    ("gauss-seidel", "hold", None, 1),
    ("gauss-seidel", "interpolate", 1, 2),
    ("gauss-seidel", "interpolate", 2, 2),
    ("iterated", "hold", None, 1),
    ("iterated", "interpolate", 1, 2),
    ("iterated", "interpolate", 2, 3),
]


@pytest.mark.parametrize("sources", [FMI2, FMI3, MIXED])
@pytest.mark.parametrize(("master", "coupling", "degree", "order"), COUPLINGS)
def test_each_coupling_converges_with_its_order(sources, master, coupling, degree, order):
    """± 0.25 is what the next term of the error adds at these steps.

    Inputs extrapolated with parabolas stay at order 2, because the first step cannot extrapolate.
    """
    found = errors(oscillator(sources), DualMass(), STEPS, master=master, approximation=coupling, input_order=degree)
    assert orders(found) == approx([order, order], abs=0.25)


@pytest.mark.parametrize("sources", [FMI2, NO_FLANGE])
def test_iterated_interpolated_inputs_keep_the_position_to_a_micrometre(sources):
    trace = simulate(oscillator(sources), step_size=1e-3).unwrap()
    assert len(trace) == 10001
    assert np.max(np.abs(trace["System1.x1"] - DualMass().signals(trace.t)["x1"])) <= 1e-6


@pytest.mark.parametrize("sources", [FMI2, FMI3, MIXED])
def test_the_heavy_flange_runs_as_exactly(sources):
    trace = simulate(oscillator(sources, System2__m_c=2.0), stop_time=3.0, step_size=1e-3).unwrap()
    exact = DualMass(m_c=2.0).signals(trace.t)
    assert trace["System1.a1"][0] == approx(5 / 3, rel=1e-10)
    for name in ("x1", "v1", "a1", "F"):
        assert np.max(np.abs(trace[f"System1.{name}"] - exact[name])) <= 5e-6, name


@pytest.mark.parametrize("m_c", [0.0, 2.0])
@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel", "iterated"])
def test_no_signal_of_a_row_is_a_step_late(master, m_c):
    """Each row satisfies both equations of the interface at its own time, and wired signals are equal."""
    net = oscillator(System2__m_c=m_c)
    trace = simulate(net, stop_time=1.0, step_size=0.01, master=master).unwrap()
    a1 = trace["System1.F"] - 10 * trace["System1.x1"] - 0.2 * trace["System1.v1"]
    assert np.max(np.abs(trace["System1.a1"] - a1)) <= 1e-9
    for one, other in (("System1.x1", "System2.x1"), ("System1.a1", "System2.a1"), ("System2.F", "System1.F")):
        assert np.array_equal(trace[one], trace[other])


def test_the_first_steps_are_those_of_the_reference():
    """Taylor about t = 0: a1 = 5, a1' = −11: x1(0.002) ≈ 9.98e-6, a1 ≈ 4.9775, F ≈ 4.9796."""
    trace = simulate(oscillator(), stop_time=0.002, step_size=1e-4).unwrap()
    row = [trace[f"System1.{name}"][-1] for name in ("x1", "v1", "a1", "F")]
    assert row == approx([9.98e-6, 0.00998, 4.9775, 4.9796], rel=1e-3)


@pytest.mark.parametrize("acceleration", ["none", "constant", "aitken", "anderson"])
def test_every_acceleration_arrives_at_the_same_trace(acceleration):
    """Each stops within 1e-10 of the same solution of a step."""
    settings = {"stop_time": 0.5, "step_size": 0.01, "tolerance": 1e-10, "max_iterations": 100}
    reference = simulate(oscillator(), **settings).unwrap()
    result = simulate(oscillator(), acceleration=acceleration, **settings)
    assert result.unwrap().y == approx(reference.y, abs=1e-8)


def test_anderson_converges_where_the_plain_iteration_diverges():
    """k2 = 1e4 N/m at h = 0.1 s: an end force changes x1 by h²/6 per N, so the iteration grows by k2 h²/6 ≈
    17.
    """
    net = oscillator(System2__k2=1e4)
    settings = {"stop_time": 1.0, "step_size": 0.1}
    assert not simulate(net, acceleration="none", **settings).ok
    fast = simulate(net, acceleration="anderson", **settings)
    assert fast.ok
    # Four inputs are linear in each other at the end of a step: exact after at most 4 + 2 iterations.
    assert fast.statistics.iterations_max <= 6


@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel", "iterated"])
def test_without_cycle_components_run_in_the_order_of_the_flow(master):
    """Mass 1 alone (F = 0) from x1 = 0.5, m1 = k1 = 1, c1 = 0: x1 = cos(t)/2, and System2 answers F at each
    row.
    """
    net = network(
        {"B": "System2.fmu", "A": "System1.fmu"},
        [("A.x1", "B.x1"), ("A.v1", "B.v1"), ("A.a1", "B.a1")],
        {"A.x1_start": 0.5, "A.k1": 1.0, "A.c1": 0.0, "B.m_c": 2.0, "B.k2": 1e-9, "B.c2": 0.0, "B.k3": 0.0},
    )
    trace = simulate(net, master=master, stop_time=2.0, step_size=0.01).unwrap()
    assert trace["A.x1"] == approx(np.cos(trace.t) / 2, abs=1e-9)
    assert trace["B.F"] == approx(np.cos(trace.t), abs=1e-8)  # −m_c a1, and k2 as good as none


def test_a_driven_component_gets_interpolated_inputs_without_any_iteration():
    """Order 2 in the driven mass x2: m2 x2'' = k2 (x1 − x2) with x1 = cos(t)/2."""
    net = network(
        {"B": "System2.fmu", "A": "System1.fmu"},
        [("A.x1", "B.x1"), ("A.v1", "B.v1"), ("A.a1", "B.a1")],
        {
            "A.x1_start": 0.5,
            "A.k1": 1.0,
            "A.c1": 0.0,
            "B.k2": 4.0,
            "B.c2": 0.0,
            "B.k3": 0.0,
            "B.c3": 0.0,
            "B.x2_start": 0.0,
        },
    )

    def exact(t):
        """x2'' + 4 x2 = 2 cos t, x2 = x2' = 0 at 0: x2 = (2/3)(cos t − cos 2t); F = 4 (x2 − x1)."""
        return 4 * (2 / 3 * (np.cos(t) - np.cos(2 * t)) - np.cos(t) / 2)

    found = []
    for step in STEPS:
        result = simulate(net, master="iterated", stop_time=2.0, step_size=step)
        assert result.statistics.iterations_max == 1
        found.append(np.max(np.abs(result.trace["B.F"] - exact(result.trace.t))))
    assert orders(np.array(found)) == approx([2, 2], abs=0.25)


@pytest.mark.parametrize("step", [1e-3, 2e-2])
def test_iterates_that_are_logged_are_the_same_to_the_last_bit(tmp_path, step):
    """A log takes the iteration through Python, one operation after the other; without one it is a program."""
    settings = {"master": "iterated", "step_size": step, "stop_time": 100 * step}
    plain = simulate(oscillator(), **settings)
    logged = simulate(oscillator(), **settings, log_coupling=tmp_path / "coupling.csv")
    assert plain.unwrap().y.tobytes() == logged.unwrap().y.tobytes()
    assert plain.statistics.iterations_mean == logged.statistics.iterations_mean > 1
