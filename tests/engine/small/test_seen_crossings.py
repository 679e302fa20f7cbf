"""Event indicators that go to and fro while nothing else makes an integrator take short steps."""

import numpy as np
import pytest

import ssptool
from tests.engine.event_mode.systems import write_system
from tests.engine.small.fmus import Var, make_fmu

VARIABLES = (
    *(Var("x", "state", start=1.0), Var("dx", "der", of="x", needs=[]), Var("y", "output", needs=["x"])),
    *(Var("z", "indicator"), Var("positive", "output", "Boolean", start=False, initial="exact", needs=[])),
)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("size", ["1", "1e-200", "1e200"])
def test_each_of_them_is_an_event(tmp_path, version, size):
    """x' = 1 is integrated in one step, however long; sin 20 t crosses zero at k π / 20, also six times in ]0, 1].

    The product of two small indicators is not a number but zero.
    """
    make_fmu(
        tmp_path / "Clockwork.fmu",
        VARIABLES,
        version=version,
        cs=None,
        calc=f"v->dx = 1; v->y = v->x; v->z = {size} * sin(20 * v->time);",
        event="v->positive = v->z > 0; return OK;",
    )
    system = write_system(tmp_path / "system", tmp_path, {"A": "Clockwork"})
    settings = ssptool.Settings(stop_time=1.0, step_size=0.1, tolerance=1e-9)
    trace = ssptool.simulate(system, settings=settings).trace
    at = np.flatnonzero(np.diff(trace.t) == 0)
    assert trace.t[at] == pytest.approx(np.arange(7) * np.pi / 20, abs=1e-9)
    assert trace["A.positive"][at + 1].tolist() == [True, False] * 3 + [True]
    assert trace["A.y"] == pytest.approx(1 + trace.t, abs=1e-9)
