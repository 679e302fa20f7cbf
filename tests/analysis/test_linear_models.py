"""Linear models of systems against matrices, eigenvalues and responses in closed form."""

import json
import shutil
import sys
from dataclasses import replace
from math import cos, pi, sin
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.io import loadmat
from scipy.linalg import expm

import ssptool
from ssptool.analysis.modes import modes_of
from ssptool.analysis.pictures import usual_frequencies, usual_times
from tests.analysis.systems import drive, limit_cycle, pendulum, stiff_link, thermal_chain
from tests.engine.event_mode.systems import write_system
from tests.engine.small.fmus import Var, make_fmu
from tests.systems.exact_dual_mass import DualMass
from tests.systems.reference_flyball_governor import derivatives

SYSTEMS = Path(__file__).parents[2] / "systems"
OSCILLATOR = SYSTEMS / "dual_mass_oscillator"


@pytest.mark.parametrize("flange", [0.0, 2.5, 100.0])
def test_derivatives_go_through_an_algebraic_loop(flange):
    model = ssptool.linearize(OSCILLATOR, start_values={"System2.m_c": flange})
    assert [one.name for one in model.states] == ["System1.x1", "System1.v1", "System2.x2", "System2.v2"]
    assert [one.unit for one in model.states] == ["m", "m/s", "m", "m/s"]
    exact = DualMass(m_c=flange).matrix
    assert pytest.approx(exact, rel=1e-12, abs=1e-12) == model.A
    assert model.slopes == pytest.approx(exact @ [0, 0, 0.5, 0])
    acceleration = [one.name for one in model.outputs].index("System1.a1")
    assert model.C[acceleration] == pytest.approx(exact[1])
    assert set(model.ways.values()) == {"directional derivatives"}
    assert model.error < 1e-8


def test_modes_of_the_oscillator_are_those_of_its_matrix():
    model = ssptool.linearize(OSCILLATOR)
    exact = sorted((one for one in np.linalg.eigvals(DualMass().matrix) if one.imag > 0), key=lambda one: -one.real)
    assert [one.eigenvalue for one in model.modes] == pytest.approx(exact, rel=1e-12)
    assert [one.eigenvalue for one in model.modes] == pytest.approx([-0.140 + 3.717j, -0.610 + 5.980j], abs=6e-4)
    for mode in model.modes:
        assert mode.frequency == pytest.approx(mode.eigenvalue.imag / (2 * pi))
        assert mode.damping == pytest.approx(-mode.eigenvalue.real / abs(mode.eigenvalue))
        assert sum(mode.participation.values()) == pytest.approx(1)
        assert sum(mode.components.values()) == pytest.approx(1)
    assert model.stable
    assert model.margin == pytest.approx(-exact[0].real)


@pytest.mark.parametrize("system", ["one_dof_oscillator", "flyball_governor"])
def test_a_margin_of_nothing_but_rounding_decides_nothing(system):
    """The oscillator has no damping, and the governor turns by any angle: exact eigenvalues with real part 0."""
    model = ssptool.linearize(OSCILLATOR.with_name(system))
    assert model.stable is None
    assert abs(model.margin) <= model.margin_error < 1e-6
    assert "at the limit of stability" in str(model)


def test_an_eigenvalue_of_nothing_but_rounding_has_no_time_of_its_own():
    """Two masses of heat, 1 and 4 J/K, joined by 3 W/K: the heat of both stays, the difference decays by 3.75 1/s."""
    A = np.array([[-3.0, 3.0], [0.75, -0.75]])
    kept, decaying = modes_of(A + 1e-14, np.full(2, 1e-13), [("a", ""), ("b", "")])
    assert kept.significant == 0 != kept.eigenvalue
    assert (kept.damping, kept.time_constant) == (0.0, np.inf)
    assert decaying.time_constant == pytest.approx(1 / 3.75)
    assert usual_times([kept, decaying])[-1] == pytest.approx(5 / 3.75)
    assert usual_frequencies([kept, decaying])[0] == pytest.approx(3.75 / (2 * pi) / 10)


def test_a_fast_mode_of_a_large_error_may_be_the_one_that_grows():
    model = replace(ssptool.linearize(OSCILLATOR), error=1.0)
    assert model.margin == pytest.approx(0.14, abs=1e-3)
    assert model.stable is None


def test_the_error_of_an_eigenvalue_is_that_of_its_first_order_perturbation():
    """A = [[-1, 0], [0, -2 + 3e-6]] in other coordinates, with errors of 3e-6 in its elements."""
    basis = np.array([[1.0, 0.5], [-0.2, 1.0]])
    exact, wrong = (basis @ np.diag(values) @ np.linalg.inv(basis) for values in ([-1.0, -2.0], [-1.0, -2.0 + 3e-6]))
    errors = np.abs(wrong - exact).max(axis=1)
    slow, fast = modes_of(wrong, errors, [("a", ""), ("b", "")])
    assert abs(fast.eigenvalue + 2.0) <= fast.error < 10 * 3e-6
    assert slow.error < 10 * 3e-6


def test_names_for_python_control_have_no_dots(monkeypatch):
    """Its constructor refuses names with dots (0.10.2)."""
    given = {}

    def state_space(*matrices, **names):
        given.update(names, matrices=matrices)

    monkeypatch.setitem(sys.modules, "control", SimpleNamespace(StateSpace=state_space))
    model = ssptool.linearize(OSCILLATOR)
    model.to_control()
    assert given["states"] == ["System1/x1", "System1/v1", "System2/x2", "System2/v2"]
    assert given["inputs"] == [] and len(given["outputs"]) == 4
    assert given["matrices"][0] is model.A


def test_an_opened_loop_closes_to_the_same_system():
    closed = ssptool.linearize(OSCILLATOR, start_values={"System2.m_c": 0.5})
    opened = ssptool.linearize(OSCILLATOR, start_values={"System2.m_c": 0.5}, open="System1.F", measure="System2.F")
    assert pytest.approx(np.array([[-0.5]])) == opened.D  # the gain of the loop, -m_c / m1
    again = opened.A + opened.B @ np.linalg.solve(1 - opened.D, opened.C)
    assert again == pytest.approx(closed.A, rel=1e-12, abs=1e-12)


def test_what_is_added_to_a_connected_input_goes_through_the_loop():
    """A force p on mass 1: (m1 + m_c) a1 = p + …"""
    model = ssptool.linearize(OSCILLATOR, start_values={"System2.m_c": 0.5}, input="System1.F", measure="System1.a1")
    assert pytest.approx(np.array([[0], [1 / 1.5], [0], [0]])) == model.B
    assert pytest.approx(np.array([[1 / 1.5]])) == model.D


def test_factors_and_offsets_of_connections_count(tmp_path):
    """m z'' = 2 (-k z - d v) + 3."""
    folder = tmp_path / "plant"
    shutil.copytree(SYSTEMS / "one_dof_oscillator", folder)
    with ssptool.edit(folder) as editor:
        editor.disconnect("SpringDamper.F", "Mass.F")
        editor.connect("SpringDamper.F", "Mass.F", factor=2.0, offset=3.0)
    model = ssptool.linearize(folder, parameters=folder / "resources" / "damped.ssv")
    m, k, d = 0.03575, 69.48, 0.0039
    assert pytest.approx(np.array([[0, 1], [-2 * k / m, -2 * d / m]]), rel=1e-12, abs=1e-12) == model.A
    assert model.slopes == pytest.approx(np.array([0, (3 - 2 * k * 0.0016) / m]), rel=1e-9)


def test_a_drive_has_the_connectors_of_the_system(tmp_path):
    model = ssptool.linearize(drive(tmp_path))
    R, L, k, J, d = 1.5, 0.01, 0.25, 0.05, 0.002
    assert pytest.approx(np.array([[-R / L, -k / L], [k / J, -d / J]]), rel=1e-9) == model.A
    assert pytest.approx(np.array([[1 / L], [0]]), rel=1e-9, abs=1e-9) == model.B
    assert pytest.approx(np.array([[0, 1]]), abs=1e-12) == model.C
    assert pytest.approx(np.zeros((1, 1)), abs=1e-12) == model.D
    assert [one.name for one in (*model.inputs, *model.outputs)] == ["u", "speed"]
    s = 2j * pi * 3
    exact = k / ((L * s + R) * (J * s + d) + k * k)
    assert model.response([3.0])[0, 0, 0] == pytest.approx(exact, rel=1e-9)
    assert set(model.ways.values()) == {"differences"}
    assert model.error < 1e-9
    assert pytest.approx(np.array([[0], [-1 / J]])) == ssptool.linearize(drive(tmp_path / "again"), input="R.load").B


def test_a_thermal_chain_has_the_eigenvalues_of_a_tridiagonal_matrix(tmp_path):
    count = 6
    model = ssptool.linearize(thermal_chain(tmp_path, count))
    rates = sorted(-3 / 4 * (2 - 2 * cos(k * pi / (count + 1))) for k in range(1, count + 1))
    assert sorted(one.eigenvalue.real for one in model.modes) == pytest.approx(rates, rel=1e-9)
    assert [one.name for one in model.inputs] == ["L0.a", f"L{count}.b"]
    # In the steady state both ambients weigh by their distance.
    steady = -np.linalg.solve(model.A, model.B)
    assert steady[:, 0] == pytest.approx([1 - k / (count + 1) for k in range(1, count + 1)], rel=1e-9)


@pytest.mark.parametrize("conductance", [1e3, 1e6, 1e8])
def test_a_stiff_link_leaves_the_slow_mode_right(tmp_path, conductance):
    """Slow: all heat of 14 J/K through 3 W/K; fast: 4 and 10 J/K level out. Both to first order in 3/conductance."""
    model = ssptool.linearize(stiff_link(tmp_path, conductance))
    slow, fast = (one.eigenvalue.real for one in model.modes)
    assert slow == pytest.approx(-3 / 14, rel=3 / conductance + 1e-6)
    assert fast == pytest.approx(-conductance * (1 / 4 + 1 / 10), rel=3 / conductance)
    # Differences of the link cannot tell from rounding whether the slow mode of the stiffest ones decays.
    assert model.stable is (True if model.modes[0].error < 3 / 14 else None)


def test_the_rest_inside_a_limit_cycle_is_unstable(tmp_path):
    """λ² - 0.6 λ + 4 = 0."""
    system = limit_cycle(tmp_path)
    point = ssptool.trim(system)
    assert {one.name: one.value for one in point.states} == pytest.approx({"M.x": 1.5, "M.v": 0.0}, abs=1e-12)
    model = point.model
    assert not model.stable
    assert model.margin == pytest.approx(-0.3, rel=1e-7)
    assert model.modes[0].frequency == pytest.approx(np.sqrt(4 - 0.09) / (2 * pi), rel=1e-7)


def test_differences_of_a_nonlinear_component_state_their_error(tmp_path):
    model = ssptool.linearize(pendulum(tmp_path))
    exact = np.array([[0, 1], [-9.81 * cos(0.7), -0.4]])
    found = np.abs(model.A - exact).max() / 9.81
    assert found < model.error < 1e-6
    assert pytest.approx(np.array([[sin(0.7), 0]]), rel=1e-7, abs=1e-9) == model.C
    assert model.ways == {"P": "differences"}


@pytest.mark.parametrize(
    ("said", "way"),
    [
        (
            "return z == VR_dphi ? x == VR_w : z == VR_height ? (x == VR_phi) * sin(v->phi) : x == VR_phi ? -9.81 * "
            "cos(v->phi) : x == VR_w ? -0.4 : 1;",
            "directional derivatives",
        ),
        ("return 1;", "differences"),
        ("return 0.0 / 0.0;", "differences"),
    ],
)
def test_wrong_directional_derivatives_are_replaced_and_told(tmp_path, said, way):
    model = ssptool.linearize(pendulum(tmp_path, said=said))
    assert pytest.approx(np.array([[0, 1], [-9.81 * cos(0.7), -0.4]]), rel=1e-7, abs=1e-9) == model.A
    assert model.ways == {"P": way}
    assert bool(model.notes) == (way == "differences")


def test_a_point_without_a_unique_derivative_is_told(tmp_path):
    variables = (
        Var("x", "state", start=0.0),
        Var("dx", "der", of="x", needs=["x"]),
        Var("y", "output", needs=["x"]),
    )
    make_fmu(tmp_path / "Bend.fmu", variables, calc="v->dx = -v->x; v->y = fabs(v->x);")
    model = ssptool.linearize(write_system(tmp_path / "s", tmp_path, {"B": "Bend"}))
    assert any("no unique derivative" in note for note in model.notes)
    assert pytest.approx(np.array([[-1.0]])) == model.A


def test_signals_that_change_at_events_only_are_told(tmp_path):
    """A sampled controller does not act between its samples."""
    plant = (
        Var("u", "input", start=0.0),
        Var("x", "state", start=1.0),
        Var("dx", "der", of="x", needs=["x", "u"]),
        Var("y", "output", needs=["x"]),
    )
    make_fmu(tmp_path / "Plant.fmu", plant, calc="v->dx = v->u - v->x; v->y = v->x;")
    sampled = (Var("u", "input", start=0.0), Var("y", "output", variability="discrete", needs=["u"]))
    make_fmu(tmp_path / "Sampled.fmu", sampled, calc="v->y = 0.5;")
    wires = [("P.y", "S.u"), ("S.y", "P.u")]
    model = ssptool.linearize(write_system(tmp_path / "s", tmp_path, {"P": "Plant", "S": "Sampled"}, wires))
    assert pytest.approx(np.array([[-1.0]])) == model.A
    assert any("S.y" in note and "events only" in note for note in model.notes)


def test_a_run_leads_to_a_later_time():
    model = ssptool.linearize(OSCILLATOR, at="2s", tolerance=1e-9)
    states = expm(2 * DualMass().matrix) @ [0, 0, 0.5, 0]
    assert model.time == 2.0
    assert [one.value for one in model.states] == pytest.approx(states, abs=1e-7)
    assert model.slopes == pytest.approx(DualMass().matrix @ states, abs=1e-6)
    assert ssptool.linearize(OSCILLATOR, at=12.5).time == 12.5  # after its stop time


def test_the_governor_agrees_with_its_equations():
    """Without phi, on which nothing depends, and with the momentum about the axis in the place of Omega."""
    model = ssptool.linearize(SYSTEMS / "flyball_governor")
    names = [one.name for one in model.states]
    kept = [names.index(name) for name in ("Arms.alpha", "Arms.alphaDot", "Slider.s", "Slider.sDot")]
    point = np.array([pi / 6, 0, 0.5, 0, 2 * pi])
    step = 1e-5
    unit = np.eye(5)
    exact = np.array([(np.array(derivatives(0, point + step * e)) - derivatives(0, point - step * e)) for e in unit])
    exact = exact.T / (2 * step)
    found = model.A[np.ix_(kept, kept)].copy()
    # At a constant momentum Omega follows alpha, and adds to the second row.
    omega = model.C[[one.name for one in model.outputs].index("Spindle.Omega"), kept[0]]
    exact[1, 0] += exact[1, 4] * omega
    assert found == pytest.approx(exact[:4, :4], rel=1e-6, abs=1e-6)


def test_what_cannot_be_linearized_is_refused_by_name(tmp_path):
    with pytest.raises(ssptool.exceptions.Unsupported, match="System1"):
        ssptool.linearize(OSCILLATOR / "FMI1.ssd")
    with pytest.raises(ssptool.exceptions.Unsupported, match="System1"):
        ssptool.linearize(OSCILLATOR, implementation="cs")
    with pytest.raises(ssptool.exceptions.UnknownName, match=r"System1\.x1"):
        ssptool.linearize(OSCILLATOR, measure="System1.x")
    with pytest.raises(ssptool.exceptions.WrongValue, match="before the start"):
        ssptool.linearize(OSCILLATOR, at=-1.0)
    number = (Var("n", "input", type="Int32", start=0), Var("y", "output", needs=["n"]))
    make_fmu(tmp_path / "Number.fmu", number, calc="v->y = 2.0 * v->n;")
    system = write_system(tmp_path / "s", tmp_path, {"N": "Number"})
    with pytest.raises(ssptool.exceptions.WrongValue, match="varies continuously"):
        ssptool.linearize(system, input="N.n")


def test_the_point_has_the_values_of_the_system(tmp_path):
    """Unconnected inputs were those of the last comparison with the system, 5.99994, as were outputs and slopes."""
    model = ssptool.linearize(drive(tmp_path), start_values={"R.load": 0.5, "u": 6.0})
    assert [one.value for one in model.inputs] == [6.0]
    assert model.slopes == pytest.approx(
        [(6 - 1.5 * 2 - 0.25 * 3) / 0.01, (0.25 * 2 - 0.002 * 3 - 0.5) / 0.05], rel=1e-12
    )


def test_files_have_the_matrices_with_names_and_units(tmp_path):
    model = ssptool.linearize(OSCILLATOR, input="System1.F")
    model.save(tmp_path / "model.json")
    content = json.loads((tmp_path / "model.json").read_text())
    assert content["A"] == model.A.tolist()
    assert content["states"][1] == {"name": "System1.v1", "unit": "m/s", "value": 0.0, "component": "System1"}
    model.save(tmp_path / "model.mat")
    matrices = loadmat(tmp_path / "model.mat")
    assert np.array_equal(matrices["B"], model.B)
    assert [str(one[0][0]) for one in matrices["outputs"]] == [one.name for one in model.outputs]
    assert [float(one) for one in matrices["x0"].ravel()] == [0, 0, 0.5, 0]
    with pytest.raises(ssptool.exceptions.WrongValue, match=r"\.mat"):
        model.save(tmp_path / "model.xlsx")


def test_scipy_gets_the_same_system(tmp_path):
    model = ssptool.linearize(drive(tmp_path))
    found = model.to_scipy()
    for name in "ABCD":
        assert np.array_equal(getattr(found, name), getattr(model, name))


def test_matrices_cannot_be_changed():
    model = ssptool.linearize(OSCILLATOR)
    with pytest.raises(ValueError, match="read-only"):
        model.A[0, 0] = 1.0
