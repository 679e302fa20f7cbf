"""Arrays that change at events: exchanged as a whole, connected as a whole."""

import pytest
from pytest import approx

import ssptool
from tests.engine.event_mode.systems import column, simulate
from tests.engine.event_mode.test_intervals import ticks

RING = {"A": "fmi3/Rotation", "B": "fmi3/Rotation"}
WHOLE = [("A.y", "B.u"), ("B.y", "A.u")]


def test_an_array_is_exchanged_at_the_ticks_of_its_clock(system):
    """u = (1, 0) becomes y = (0, 1) in A, and (-1, 0) in B."""
    trace = simulate(system(RING, WHOLE[:1]), 0.5, 0.125).unwrap()
    after = trace.t >= 0.0
    assert ticks(trace, "A.sample").tolist() == [0.0, 0.25, 0.5]
    for name, value in {"A.y[1]": 0.0, "A.y[2]": 1.0, "B.u[2]": 1.0, "B.y[1]": -1.0, "B.y[2]": 0.0}.items():
        assert column(trace, name)[after] == approx(value, abs=0.0), name


@pytest.mark.parametrize("kind", ["parquet", "csv", "mat"])
def test_arrays_without_a_clock_follow_at_any_event(system, tmp_path, kind):
    """z = (w2, w1), twice: A turns (1, 2) into (2, 1), and B that into (1, 2)."""
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"run.{kind}"
    simulate(system(RING, [("A.z", "B.w")]), 0.5, 0.125, output=path).unwrap()
    trace = ssptool.read_trace(path)
    assert [trace[f"A.z[{n}]"].tolist()[-1] for n in (1, 2)] == [2, 1]
    assert [trace[f"B.z[{n}]"].tolist()[-1] for n in (1, 2)] == [1, 2]
    assert trace["B.w[1]"].dtype.kind == "i" or kind == "mat"


def test_an_array_is_set_at_an_event(system):
    settings = ssptool.Settings(stop_time=0.5, step_size=0.125)
    with ssptool.Simulation(system({"A": "fmi3/Rotation"}), settings=settings) as simulation:
        simulation.set("A.w", [7, 9])
        assert simulation.get("A.z").tolist() == [9, 7]
        simulation.set("A.w[1]", 8)
        assert simulation.get("A.z").tolist() == [9, 8]
