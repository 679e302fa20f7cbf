"""Files and values as programs give them."""

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
    for given in ({"output": str(tmp_path / "a.csv")}, {"recording": ssptool.Recording(str(tmp_path / "b.csv"))}):
        ssptool.simulate(str(system), settings=settings, overrides={"A.k": "0.25"}, **given).unwrap()
    assert {path.name for path in tmp_path.glob("*.csv")} == {"a.csv", "b.csv", "loops.csv"}


@pytest.mark.parametrize("value", [4, 4.5, True, None])
def test_a_value_that_is_no_text_is_refused_with_its_name(system, value):
    with pytest.raises(ValueError, match=rf"A\.k cannot be {value}: expected it as a text, such as '{value}'"):
        ssptool.simulate(system, settings=ssptool.Settings(step_size=0.5), overrides={"A.k": value})
