"""Files and values as programs give them."""

import numpy as np
import pytest

import ssptool
from tests.engine.small.fmus import Var, make_fmu
from tests.engine.systems import write_system


@pytest.fixture
def system(tmp_path):
    variables = [Var("k", "parameter", start=2.0), Var("u", "input", start=1.0), Var("y", "output", needs=["u"])]
    make_fmu(tmp_path / "Gain.fmu", variables, calc="v->y = v->k * v->u;")
    return write_system(tmp_path / "system", tmp_path, {"A": "Gain", "B": "Gain"}, [("A.y", "B.u"), ("B.y", "A.u")])


def test_files_may_be_given_by_their_names(system, tmp_path):
    settings = ssptool.Settings(step_size=0.5, log_loops=str(tmp_path / "loops.csv"))
    output = str(tmp_path / "a.csv")
    ssptool.simulate(str(system), settings=settings, start_values={"A.k": "0.25"}, output=output).unwrap()
    assert {path.name for path in tmp_path.glob("*.csv")} == {"a.csv", "loops.csv"}


@pytest.mark.parametrize("value", [0.25, np.float64(0.25), np.float32(0.25), np.array(0.25), "0.25", "2.5e-1"])
def test_a_start_value_is_a_number_of_python_or_numpy_or_a_text(system, value):
    """y = k·u around a loop with the gain 0.5 in the other component has one solution, 0."""
    plan = ssptool.plan(system, step_size=0.5, start_values={"A.k": value})
    assert plan.instances[0].starts["k"] == 0.25
