"""FMUs that end the simulation themselves."""

import numpy as np
import pytest

import ssptool
from tests.engine.event_mode.systems import write_system
from tests.engine.small.fmus import Var, make_fmu

DECAY = (Var("x", "state", start=1.0), Var("dx", "der", of="x", needs=["x"]), Var("y", "output", needs=["x"]))
EQUATIONS = "v->dx = -v->x; v->y = v->x;"


@pytest.mark.parametrize(
    ("version", "step"),
    [
        (2, "if (t + h > 0.55) { a->terminate = true; a->last = t; return DISCARD; } rk4(s, t, h); return OK;"),
        (3, "rk4(s, t, h); a->terminate = t + h > 0.55; return OK;"),
    ],
)
def test_a_component_of_co_simulation_that_asks_to_end_does_so(tmp_path, version, step):
    """In FMI 2.0 by fmi2Discard and the status fmi2Terminated, in FMI 3.0 by a flag."""
    fmu = make_fmu(tmp_path / "Decay.fmu", DECAY, version=version, me=None, calc=EQUATIONS, step=step)
    system = write_system(tmp_path / "system", fmu.parent, {"A": "Decay"})
    result = ssptool.simulate(system, settings=ssptool.Settings(stop_time=1.0, step_size=0.1))
    assert result.status == "a component asked to end the simulation"
    assert "component A asks to end the simulation" in str(result.failure)
    assert result.failure.time == pytest.approx(0.5)
    assert result.trace["A.y"] == pytest.approx(np.exp(-result.trace.t), rel=1e-6)
