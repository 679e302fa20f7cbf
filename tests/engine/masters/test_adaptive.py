"""Macro steps of varying size, and instances that do several steps in one."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx
from scipy.linalg import expm

from ssptool import Settings
from ssptool.engine.failure import Ending, UnsupportedByFmu
from ssptool.engine.run.make_plan import make_plan
from ssptool.network.network import Conversion, Port, Signal, Wire
from tests.accuracy.parts import Part, write_part
from tests.engine.dual_mass import FMI2, FMI3, NOWHERE, Folder, network, oscillator, signal, simulate
from tests.engine.running import run
from tests.systems.exact_dual_mass import DualMass


def error(result, exact=None):
    """Largest error of x1 at the points of the trace, wherever they are."""
    trace, exact = result.unwrap(), exact or DualMass()
    eigenvalues, vectors = np.linalg.eig(exact.matrix)
    weights = vectors[0] * np.linalg.solve(vectors, np.array(exact.start))
    x1 = (np.exp(np.outer(trace.t, eigenvalues)) @ weights).real
    return np.max(np.abs(trace["System1.x1"] - x1))


@pytest.mark.parametrize("sources", [FMI2, FMI3])
@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel", "iterated"])
def test_the_error_of_the_run_follows_the_tolerance(sources, master):
    """Each pair of steps may have that part of the tolerance that it is of the interval: their errors add up to it."""
    tolerances = (1e-3, 1e-4, 1e-5)
    runs = [simulate(oscillator(sources), adaptive=tolerance, master=master) for tolerance in tolerances]
    errors = [error(result) for result in runs]
    for found, tolerance, result in zip(errors, tolerances, runs, strict=True):
        assert found <= tolerance * np.ptp(result.unwrap()["System1.x1"])
    assert np.diff(np.log10(errors)) == approx([-1, -1], abs=0.2)


C, X = 2.5, 4.0


@pytest.mark.parametrize(
    ("master", "approximation", "source", "pair"),
    [
        ("jacobi", "hold", "C", lambda h: C * h**2),
        ("gauss-seidel", "interpolate", "2 * C * time", lambda h: C * h**3 / 3),
    ],
)
def test_a_rejected_pair_is_repeated_with_the_size_that_its_true_error_asks_for(
    master, approximation, source, pair, tmp_path
):
    """x' = y with y = C t or y = C t²: two steps of h with a held or linear y are off by `pair` from any t.

    The estimate is that error. What is allowed is a part 2 h of the tolerance, in a run of 1 s, of what x moves by in
    it. So the next size is h (allowed/error)^(1/p), with a margin of 0.9.
    """
    ramp = Part(
        states={"y": (0.0 if approximation == "hold" else -3.0, source.replace("C", str(C)))},
        outputs={"p": "y"},
        saves=True,
    )
    total = Part(inputs={"u": 0.0}, states={"x": (X, "u")}, outputs={"q": "x"}, saves=True, follows=True)
    write_part(tmp_path / "Ramp.fmu", ramp)
    write_part(tmp_path / "Total.fmu", total)
    net = network({"Ramp": "Ramp.fmu", "Total": "Total.fmu"}, [("Ramp.p", "Total.u")], folder=tmp_path)
    h, tolerance, order, moved = (0.02, 1e-2, 1, C / 2) if approximation == "hold" else (0.1, 5e-4, 2, 3 - C / 3)
    settings = Settings(
        master=master, approximation=approximation, adaptive=tolerance, step_size=h, max_step_size=h, stop_time=1.0
    )
    t = run(make_plan(net, settings), Folder(tmp_path)).unwrap().t
    error = pair(h) / (tolerance * 2 * h * moved)
    assert 1 < error < (0.9 / 0.2) ** order  # neither accepted nor shortened by the largest factor
    assert t[1] == approx(0.9 * h * error ** (-1 / order), rel=0.03)


def test_steps_vary_with_the_solution_and_end_at_the_stop_time():
    """The oscillation decays, so that steps at its end may be longer than at its start."""
    result = simulate(oscillator(), adaptive=1e-4, stop_time=10.0)
    t = result.unwrap().t
    steps = np.diff(t)
    assert (t[0], t[-1]) == (0.0, 10.0)
    assert np.all(steps > 0)
    assert np.median(steps[-20:]) > 2 * np.median(steps[5:25])
    assert result.statistics.steps == len(t) - 1


def test_first_steps_that_are_much_too_large_are_taken_back():
    result = simulate(oscillator(), adaptive=1e-5, stop_time=2.0, step_size=1.0)
    assert result.statistics.rejected >= 1
    assert error(result) <= 1e-4


def test_fewer_steps_do_for_the_same_error_than_with_a_fixed_size():
    """Over 20 s, in which the oscillation dies away."""
    adaptive = simulate(oscillator(), adaptive=1e-5, stop_time=20.0, master="jacobi")
    steps = len(adaptive.unwrap().t)
    fixed = simulate(oscillator(), step_size=20.0 / steps, stop_time=20.0, master="jacobi")
    assert error(adaptive) < error(fixed)


def test_connectors_of_the_system_leave_the_steps_as_they_are():
    """They repeat signals at communication points only, not at the end of steps that are tried."""
    alone = simulate(oscillator(), adaptive=1e-3).unwrap()
    ports = tuple(Port(Signal("", name), "output", "Float64", None, "", NOWHERE) for name in ("place", "force"))
    shown = (
        Wire(signal("System1.x1"), Signal("", "place"), Conversion(2.0, 0.5)),
        Wire(signal("System2.F"), Signal("", "force")),
    )
    net = oscillator()
    result = simulate(replace(net, ports=ports, wires=(*net.wires, *shown)), adaptive=1e-3).unwrap()
    assert np.array_equal(result.t, alone.t)
    assert np.array_equal(result["place"], 2.0 * result["System1.x1"] + 0.5)


def test_signals_that_start_at_zero_need_no_more_steps_than_others(tmp_path):
    """x' = (a + 1 − x) / 0.05 and y' = (x − y) / 0.1 from x = y = a: only a differs, and is no part of the range."""
    steps = []
    for a in (0.0, 3.0):
        folder = tmp_path / str(a)
        folder.mkdir()
        source = Part(states={"x": (a, f"20.0 * ({a} + 1.0 - x)")}, outputs={"p": "x"}, saves=True)
        follower = Part(inputs={"u": a}, states={"y": (a, "10.0 * (u - y)")}, outputs={"q": "y"}, saves=True)
        write_part(folder / "Source.fmu", source)
        write_part(folder / "Follower.fmu", follower)
        net = network({"Source": "Source.fmu", "Follower": "Follower.fmu"}, [("Source.p", "Follower.u")], folder=folder)
        trace = run(make_plan(net, Settings(adaptive=1e-3, stop_time=1.0)), Folder(folder)).unwrap()
        exact = a + 1 - 2 * np.exp(-10 * trace.t) + np.exp(-20 * trace.t)
        assert np.max(np.abs(trace["Follower.q"] - exact)) < 1e-3
        steps.append(len(trace.t))
    assert steps[0] == approx(steps[1], rel=0.05)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-3, 1e-4])
def test_inexactness_of_fmus_that_smaller_steps_do_not_reduce_is_no_reason_for_them(tolerance, tmp_path):
    """x' = u − 2 x + noise and y' = x − 3 y with u = y and one Euler step inside of each macro step: however small this
    is, the noise changes x by the same part of the step.
    """
    noisy = Part(
        inputs={"u": 0.5},
        states={"x": (4.0, "u - 2.0 * x + 0.05 * sin(12345678.9 * time)")},
        outputs={"p": "x"},
        euler=1.0,
        saves=True,
    )
    smooth = Part(inputs={"w": 4.0}, states={"y": (0.5, "w - 3.0 * y")}, outputs={"q": "y"}, saves=True, follows=True)
    write_part(tmp_path / "Noisy.fmu", noisy)
    write_part(tmp_path / "Smooth.fmu", smooth)
    wires = [("Noisy.p", "Smooth.w"), ("Smooth.q", "Noisy.u")]
    net = network({"Noisy": "Noisy.fmu", "Smooth": "Smooth.fmu"}, wires, folder=tmp_path)
    result = run(make_plan(net, Settings(master="jacobi", adaptive=tolerance, stop_time=2.0)), Folder(tmp_path))
    trace = result.unwrap()
    matrix = np.array([[-2.0, 1.0], [1.0, -3.0]])
    exact = np.array([expm(matrix * t) @ [4.0, 0.5] for t in trace.t])
    found = np.max(np.abs(trace["Noisy.p"] - exact[:, 0])) / np.ptp(exact[:, 0])
    assert found < 10 * tolerance or "RUN-112" in [one.code for one in result.warnings]
    assert found < 10 * max(tolerance, 2e-4)
    assert len(trace.t) < 20_000


def test_algebraic_loops_are_solved_at_every_point():
    result = simulate(oscillator(System2__m_c=2.0), adaptive=1e-4, stop_time=2.0)
    trace = result.unwrap()
    a1 = trace["System1.F"] - 10 * trace["System1.x1"] - 0.2 * trace["System1.v1"]
    assert np.max(np.abs(trace["System1.a1"] - a1)) <= 1e-9
    assert error(result, DualMass(m_c=2.0)) <= 1e-3


def without(net, name, **flags):
    one = net.components[name]
    interface = replace(one.description.co_simulation, **flags)
    other = replace(one, description=replace(one.description, co_simulation=interface))
    return replace(net, components=net.components | {name: other})


def test_an_fmu_that_takes_steps_of_one_size_is_named_with_the_best_alternative():
    net = without(oscillator(), "System2", variable_step=False)
    with pytest.raises(UnsupportedByFmu, match="component System2") as caught:
        simulate(net, adaptive=1e-3, master="jacobi")
    assert "accepts steps of any size" in str(caught.value)
    assert "fixed steps, master iterated with interpolated inputs" in str(caught.value)


@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel"])
def test_an_fmu_that_cannot_save_its_state_has_steps_by_the_errors_of_inputs(master):
    net = without(oscillator(), "System2", saves_state=False)
    tolerances = (1e-3, 1e-4)
    errors = [error(simulate(net, adaptive=tolerance, master=master)) for tolerance in tolerances]
    assert errors[0] <= 1e-3 and errors[1] <= 1e-4
    assert errors[0] / errors[1] == approx(10, rel=0.3)


@pytest.mark.parametrize("tolerance", [0.0, -1e-3, 1.0, float("nan")])
def test_a_tolerance_out_of_range_is_refused(tolerance):
    with pytest.raises(ValueError, match="tolerance of adaptive steps"):
        simulate(oscillator(), adaptive=tolerance)


def test_a_run_that_no_step_is_small_enough_for_ends_with_the_reason():
    """m1 < 0 and growing: a1 = F/m1 runs away as exp(√(1e12) t), beyond any number within the interval."""
    net = oscillator(System1__k1=-1e12)
    result = simulate(net, adaptive=1e-6, stop_time=1.0)
    assert not result.ok
    assert result.status in (Ending.STEP, Ending.NONFINITE, Ending.FMI, Ending.LOOP, Ending.UNSTABLE)
    assert len(result.trace) > 0


# -- substeps ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel", "iterated"])
def test_substeps_of_fmus_that_are_exact_for_moving_inputs_change_nothing(master):
    """The inputs run over the substeps as they would over the whole step, and these FMUs integrate exactly."""
    settings = {"stop_time": 1.0, "step_size": 0.01, "master": master}
    plain = simulate(oscillator(), **settings).unwrap()
    divided = simulate(oscillator(), substeps={"System1": 3, "System2": 7}, **settings).unwrap()
    assert divided.y == approx(plain.y, abs=1e-9)


def test_an_fmu_that_can_only_hold_inputs_follows_them_in_substeps():
    """Held: order 1. With 20 substeps its inputs are a staircase around the line: the error falls by far."""
    net = without(without(oscillator(), "System1", input_derivatives=False), "System2", input_derivatives=False)
    settings = {"stop_time": 2.0, "step_size": 0.01, "master": "jacobi"}
    held = error(simulate(net, approximation="hold", **settings))
    followed = error(simulate(net, substeps={"System1": 20, "System2": 20}, **settings))
    moving = error(simulate(oscillator(), **settings))
    assert held > 20 * followed
    assert followed == approx(moving, rel=0.1)


def test_substeps_are_done_inside_the_macro_step():
    """System1 alone under a constant force: calls are multiplied, rows are not."""
    net = network({"System1": "System1.fmu"}, [], {"System1.F": 4.0})
    plain = simulate(net, stop_time=1.0, step_size=0.1).unwrap()
    divided = simulate(net, stop_time=1.0, step_size=0.1, substeps={"System1": 10}).unwrap()
    assert np.array_equal(plain.t, divided.t)
    assert divided.y == approx(plain.y, abs=1e-11)


def test_adaptive_steps_and_substeps_go_together():
    result = simulate(oscillator(), adaptive=1e-4, stop_time=2.0, substeps={"System2": 4})
    assert error(result) <= 1e-3


def test_substeps_of_an_unknown_component_are_refused_with_those_that_exist():
    with pytest.raises(ValueError, match=r"no component 'Sytem2'; there are System2"):
        simulate(oscillator(), substeps={"Sytem2": 10})


def test_substeps_are_positive():
    with pytest.raises(ValueError, match=r"substeps\['System2'\] must be a whole number of at least 1; found 0"):
        simulate(oscillator(), substeps={"System2": 0})
