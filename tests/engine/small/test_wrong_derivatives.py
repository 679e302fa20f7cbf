"""Directional derivatives that are wrong: differences take their place, and the result says so."""

import numpy as np
import pytest

import ssptool
from tests.engine.event_mode.systems import write_system
from tests.engine.small.fmus import Var, make_fmu

OFFER = {2: 'providesDirectionalDerivative="true"', 3: 'providesDirectionalDerivatives="true"'}
STIFF = (Var("x", "state", start=1.0), Var("dx", "der", of="x", needs=["x"]), Var("y", "output", needs=["x"]))
CUBIC = (Var("u", "input", start=0.0), Var("y", "output", needs=["u"]))
ROOT = 1.0  # of y = 3 - 2 y^3


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("said", ["-1000", "1000", "0", "-1e9", "0.0 / 0.0"])
def test_an_ode_is_integrated_as_accurately_as_with_the_right_ones(tmp_path, version, said):
    """x' = 1000 (cos t - x) - sin t with x = cos t. A Jacobian that is too large makes each correction too small, which
    looks like convergence.
    """
    make_fmu(
        tmp_path / "Stiff.fmu",
        STIFF,
        version=version,
        me=OFFER[version],
        cs=None,
        calc="v->dx = 1000 * (cos(v->time) - v->x) - sin(v->time); v->y = v->x;",
        partial=f"return z == VR_dx ? {said} : 1;",
    )
    system = write_system(tmp_path / "system", tmp_path, {"A": "Stiff"})
    settings = ssptool.Settings(stop_time=2.0, step_size=0.1, tolerance=1e-8)
    result = ssptool.simulate(system, settings=settings)
    assert result.status == "completed", result.failure
    assert np.abs(result.trace["A.y"] - np.cos(result.trace.t)).max() < 1e-7
    wrong = "directional derivatives of a component of model exchange are wrong: finite differences replace them"
    assert (wrong in result.notes) == (said != "-1000")


@pytest.mark.parametrize("interface", ["me", "cs"])
@pytest.mark.parametrize("said", ["-6 * v->u * v->u", "0", "1", "5", "0.0 / 0.0"])
def test_an_algebraic_loop_stays_solved(tmp_path, interface, said):
    """Also during the run, where the inverse of the Jacobian is kept."""
    make_fmu(
        tmp_path / "Cubic.fmu",
        CUBIC,
        **{"me": None, "cs": None, interface: OFFER[2]},
        calc="v->y = 3 - 2 * v->u * v->u * v->u;",
        step="v->time = t + h; return OK;",
        partial=f"return {said};",
    )
    system = write_system(tmp_path / "system", tmp_path, {"A": "Cubic"}, [("A.y", "A.u")])
    result = ssptool.simulate(system, settings=ssptool.Settings(stop_time=0.3, step_size=0.1))
    assert result.status == "completed", result.failure
    assert result.trace["A.y"] == pytest.approx(ROOT, abs=1e-11)
    wrong = "directional derivatives of a component in an algebraic loop are wrong: finite differences replace them"
    assert (wrong in result.notes) == (said != "-6 * v->u * v->u")
