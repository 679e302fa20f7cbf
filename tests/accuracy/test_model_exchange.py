"""The run that all components as one ODE are compared with: it may fail, and harms nothing."""

import pytest

import ssptool
from tests.engine.small.fmus import Var, make_fmu
from tests.engine.systems import write_system

VARIABLES = [
    Var("x", "state", start=3.0),
    Var("der_x", "der", of="x", needs=["x"]),
    Var("y", "output", needs=["x"]),
]


@pytest.mark.parametrize("completed", ["abort();", "return ERROR;", "for (;;);"], ids=["crashes", "fails", "hangs"])
def test_an_fmu_may_be_good_for_co_simulation_only(completed, tmp_path):
    calc = "v->der_x = -2 * v->x; v->y = 5 * v->x + 1;"
    make_fmu(tmp_path / "A.fmu", VARIABLES, calc=calc, completed=f"{completed} return OK;")
    system = write_system(tmp_path / "system", tmp_path, {"A": "A"}, [])
    result = ssptool.simulate(system, accuracy="auto", isolated=False, step_size=0.1)
    assert result.ok and result["A.y"][-1] == pytest.approx(5 * 3 * 0.1353352832366127 + 1)
    assert result.accuracy.method == "halved"
