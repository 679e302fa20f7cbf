"""Sensitivities along a trajectory against derivatives in closed form."""

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm, expm_frechet

from ssptool import analysis
from tests.analysis.systems import limit_cycle
from tests.engine.event_mode.systems import write_system
from tests.engine.small.fmus import Var, make_fmu
from tests.systems.exact_dual_mass import DualMass

OSCILLATOR = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"
FLANGE = 0.5


def of_matrix(change, t):
    """∂x/∂p (k, 4) of x = e^(A t) x0, by the Fréchet derivative along ∂A/∂p."""
    A = DualMass(m_c=FLANGE).matrix
    return np.array([expm_frechet(A * one, change * one, compute_expm=False) @ [0, 0, 0.5, 0] for one in t])


def exact(t):
    """Parameter → ∂x1/∂p (k,) of the oscillator."""
    m1, m2 = 1 + FLANGE, 1.0
    spring = np.array([-1.0, 0, 1, 0])
    rows = {
        "System1.c1": {1: np.array([0, -1 / m1, 0, 0])},
        "System2.k2": {1: spring / m1, 3: -spring / m2},
        "System2.m_c": {1: -DualMass(m_c=FLANGE).matrix[1] / m1},
    }
    changes = {name: np.array([own.get(row, np.zeros(4)) for row in range(4)]) for name, own in rows.items()}
    found = {name: of_matrix(change, t)[:, 0] for name, change in changes.items()}
    return found | {"System2.x2_start": np.array([expm(DualMass(m_c=FLANGE).matrix * one)[0, 2] for one in t])}


def test_variational_equations_go_through_an_algebraic_loop():
    options = {"stop_time": 4, "step_size": 0.1, "start_values": {"System2.m_c": FLANGE}}
    names = ["System1.c1", "System2.k2", "System2.m_c", "System2.x2_start"]
    found = analysis.sensitivities(OSCILLATOR, names, ["System1.x1", "System2.F"], **options)
    assert found.way == "variational equations"
    assert found.derivatives.shape == (41, 2, 4)
    assert [one.unit for one in found.parameters] == ["N.s/m", "N/m", "kg", "m"]
    for place, (name, derivative) in enumerate(exact(found.t).items()):
        assert found["System1.x1", name] == pytest.approx(derivative, abs=1e-6 * np.abs(derivative).max())
        assert np.abs(found["System1.x1", name] - derivative).max() <= found.errors[0, place]
    # F = k2 (x2 − x1) + c2 (v2 − v1) − m_c a1, with (m1 + m_c) a1 = k2 (x2 − x1) at the start
    assert found["System2.F", "System2.k2"][0] == pytest.approx(0.5 * (1 - FLANGE / (1 + FLANGE)))


def decay(folder, **offered):
    """x' = -k x + u, y = 2 x + 1, w = k x, from x = 3 with k = 0.8."""
    variables = (
        Var("k", "parameter", start=0.8),
        Var("u", "input", start=0.25),
        Var("x", "state", start=3.0),
        Var("dx", "der", of="x", needs=["x", "u"]),
        Var("y", "output", needs=["x"]),
        Var("w", "output", needs=["x"]),
    )
    calc = "v->dx = -v->k * v->x + v->u; v->y = 2 * v->x + 1; v->w = v->k * v->x;"
    make_fmu(folder / "Decay.fmu", variables, calc=calc, **offered)
    return write_system(folder / "decay", folder, {"A": "Decay"})


def derivatives_of_decay(t):
    """∂x/∂k and ∂x/∂x(0) of x = u/k + (3 − u/k) e^(−k t)."""
    k, u, decayed = 0.8, 0.25, np.exp(-0.8 * t)
    return -u / k**2 * (1 - decayed) - t * (3 - u / k) * decayed, decayed


@pytest.mark.parametrize(
    "offered, way, tolerance",
    (
        ({"version": 2}, "variational equations", 1e-7),
        ({"version": 3}, "variational equations", 1e-7),
        ({"me": None}, "differences of runs", 1e-6),
    ),
    ids=("fmi2", "fmi3", "co-simulation"),
)
def test_start_values_and_direct_dependences_are_derived(tmp_path, offered, way, tolerance):
    system = decay(tmp_path, **offered)
    found = analysis.sensitivities(system, ["A.k", "A.x"], ["A.y", "A.w"], stop_time=3.0, step_size=0.05)
    assert found.way == way
    by_rate, by_start = derivatives_of_decay(found.t)
    x = 0.25 / 0.8 + (3 - 0.25 / 0.8) * np.exp(-0.8 * found.t)
    assert found["A.y", "A.k"] == pytest.approx(2 * by_rate, abs=tolerance)
    assert found["A.y", "A.x"] == pytest.approx(2 * by_start, abs=tolerance)
    assert found["A.w", "A.k"] == pytest.approx(x + 0.8 * by_rate, abs=tolerance)
    assert found.errors.max() < 1e-4


def test_a_limit_cycle_forgets_its_start(tmp_path):
    """Over two turns, against the variational equations in scipy: what is left is a shift along the cycle."""
    found = analysis.sensitivities(limit_cycle(tmp_path), ["M.x"], "M.place", stop_time=6.5, step_size=0.05)

    def slopes(t, y):
        x, v, dx, dv = y
        return [v, -4 * x + 0.6 * (1 - x * x) * v, dv, (-4 - 1.2 * x * v) * dx + 0.6 * (1 - x * x) * dv]

    exact = solve_ivp(slopes, (0, 6.5), [2, 0, 1, 0], t_eval=found.t, rtol=1e-12, atol=1e-12, method="DOP853")
    assert found.derivatives[:, 0, 0] == pytest.approx(exact.y[2], abs=1e-6)


def test_events_lead_to_differences_of_runs(tmp_path):
    """x' = 1 until x = 1, then x' = 3: x = 1 + 3 (t − (1 − x0)), so that ∂x/∂x0 is 1 and then 3."""
    variables = (
        Var("x", "state", start=-0.4),
        Var("dx", "der", of="x", needs=["x"]),
        Var("z", "indicator"),
        Var("y", "output", needs=["x"]),
    )
    calc = "v->z = v->x - 1; v->dx = v->late ? 3 : 1; v->y = 2 * v->x - 1;"
    event = "if (v->x >= 1 - 1e-12) v->late = 1; return OK;"
    make_fmu(tmp_path / "Bend.fmu", variables, own="int late;", calc=calc, event=event)
    system = write_system(tmp_path / "bend", tmp_path, {"A": "Bend"})
    found = analysis.sensitivities(system, "A.x", stop_time=2.0, step_size=0.1, implementation="me")
    assert found.way == "differences of runs"
    assert "events" in found.notes[0]
    away = np.abs(found.t - 1.4) > 0.01
    assert found["A.y", "A.x"][away] == pytest.approx(np.where(found.t > 1.4, 6.0, 2.0)[away], abs=1e-5)


@pytest.mark.parametrize("name, told", (("System1.nothing", "System1"), ("System1.a1", "value")))
def test_what_is_no_parameter_is_refused_by_name(name, told):
    with pytest.raises(Exception, match=told) as refused:
        analysis.sensitivities(OSCILLATOR, name, stop_time=0.1)
    assert type(refused.value).__module__.startswith("ssptool")


def test_outputs_inside_of_an_fmu_are_derived_by_runs():
    """A parameter does not depend on another one."""
    system = "systems/dual_mass_oscillator"
    found = analysis.sensitivities(system, "System2.k2", "System1.m1", stop_time=0.5, step_size=0.05)
    assert found.way == "differences of runs" and "inside" in found.notes[0]
    assert np.abs(found.derivatives).max() == 0
