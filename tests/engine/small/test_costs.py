"""What a run costs: shares of the wall time, and the step that took longest."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

import ssptool
from ssptool.engine.watch import NATIVE, costs
from tests.engine.small.fmus import Var, make_fmu
from tests.engine.systems import write_system

STEP = "if (t > 0.39 && t < 0.41) { struct timespec w = {0, 100000000}; nanosleep(&w, 0); } return OK;"
VARIABLES = [Var("u", "input", start=1.0), Var("y", "output", needs=["u"])]


def test_shares_are_of_the_time_of_stepping():
    found = costs({"A": 1.0, "B": 2.0}, seconds=8.0, waited=1.0)
    assert [(one.part, one.component, one.seconds, one.percent) for one in found] == [
        ("engine", "", 4.0, 50.0),
        ("component", "B", 2.0, 25.0),
        ("component", "A", 1.0, 12.5),
        ("waiting for the clock", "", 1.0, 12.5),
    ]


def test_of_components_that_step_at_the_same_time_shares_are_of_the_sum():
    assert {one.component: one.percent for one in costs({"A": 3.0, "B": 1.0}, seconds=3.0)} == {"A": 75, "B": 25, "": 0}


@given(st.lists(st.floats(0.0, 1e3), min_size=1, max_size=50), st.floats(0.0, 1e4))
def test_shares_sum_to_100_and_none_is_rounded_by_more_than_a_tenth(amounts, seconds):
    found = costs({f"C{number}": amount for number, amount in enumerate(amounts)}, seconds)
    total = sum(one.seconds for one in found)
    assert sum(round(10 * one.percent) for one in found) == 1000
    if total > 0:
        assert all(one.percent == approx(100 * one.seconds / total, abs=0.1 + 1e-9) for one in found)


@pytest.mark.skipif(not NATIVE, reason="the stand-ins are not built")
@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize("version", [2, 3])
def test_the_step_that_took_longest_is_named_with_its_component_and_time(tmp_path, version, isolated):
    """One step of B sleeps for 0.1 s, the only one from t = 0.4 s; nothing else takes so long."""
    calc = "v->y = v->u;"
    make_fmu(tmp_path / "Quick.fmu", VARIABLES, version=version, calc=calc, step="return OK;")
    make_fmu(tmp_path / "Slow.fmu", VARIABLES, version=version, calc=calc, step="#include <time.h>\n    " + STEP)
    system = write_system(tmp_path / "system", tmp_path, {"A": "Quick", "B": "Slow"}, [("A.y", "B.u")])
    output = tmp_path / "r.csv"
    arguments = {"step_size": 0.1, "stop_time": 1.0, "master": "jacobi", "isolated": isolated, "output": output}
    result = ssptool.simulate(system, statistics=True, **arguments)
    statistics = result.statistics
    assert (statistics.slowest.component, statistics.slowest.time) == ("B", approx(0.4))
    assert 0.1 <= statistics.slowest.seconds <= statistics.seconds
    shares = {one.component: one.percent for one in statistics.costs}
    assert shares.keys() == {"A", "B", ""}
    assert sum(shares.values()) == approx(100.0)
    assert sum(one.seconds for one in statistics.costs) == approx(statistics.seconds)
    stated = json.loads(json.dumps(ssptool.read_manifest(output)["statistics"]))
    assert stated["slowest"]["component"] == "B"
    assert {one["component"]: one["percent"] for one in stated["costs"]} == shares
    assert ssptool.simulate(system, **arguments).statistics.costs == ()
