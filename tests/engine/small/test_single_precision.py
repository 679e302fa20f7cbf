"""Algebraic loops whose signals are of type Float32."""

import numpy as np
import pytest

import ssptool
from tests.engine.event_mode.systems import write_system
from tests.engine.small.fmus import Var, make_fmu

VARIABLES = (Var("u", "input", "Float32", start=0.0), Var("y", "output", "Float32", needs=["u"]))
ROUNDING = float(np.finfo(np.float32).eps)


@pytest.mark.slow
@pytest.mark.parametrize("interfaces", [("me", "me"), ("cs", "cs"), ("me", "cs")])
@pytest.mark.parametrize("gain", [-0.5, 0.9, -1.3, -30.0])
def test_a_loop_is_solved_as_well_as_its_numbers_allow(tmp_path, interfaces, gain):
    """y = gain y + 1.1. A loop is solved when its residual is 4 rounding errors times the gain, relative to the larger
    of value and nominal value 1; an error of y is 1 / (1 - gain) times that.
    """
    for name, interface, equation in zip("AB", interfaces, (f"{gain}f * v->u + 1.1f", "v->u"), strict=True):
        offered = {"me": None, "cs": None, interface: ""}
        step = "v->time = t + h; return OK;"
        make_fmu(tmp_path / f"{name}.fmu", VARIABLES, version=3, calc=f"v->y = {equation};", step=step, **offered)
    wires = [("A.y", "B.u"), ("B.y", "A.u")]
    system = write_system(tmp_path / "system", tmp_path, {"A": "A", "B": "B"}, wires)
    result = ssptool.simulate(system, settings=ssptool.Settings(stop_time=0.3, step_size=0.1))
    assert result.status == "completed", result.failure
    y = 1.1 / (1 - gain)
    allowed = 4 * ROUNDING * max(1.0, abs(gain)) * max(1.0, y) / min(1.0, 1 - gain)
    assert np.abs(result.trace["A.y"] - y).max() <= allowed
