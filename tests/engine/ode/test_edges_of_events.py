"""Events where a run begins and ends, and two at one instant; also beside co-simulation."""

import pytest

import ssptool
from tests.engine.event_mode.systems import write_system
from tests.engine.ode.systems import both_sides
from tests.engine.small.fmus import Var, make_fmu

RAMP = (
    *(Var("x", "state", start=0.0), Var("dx", "der", of="x", needs=[])),
    *(Var("level", "parameter", start=0.0), Var("z", "indicator")),
    Var("above", "output", "Int32", start=0, initial="exact", needs=[]),
)
FOLLOWER = (
    *(Var("u", "input", "Int32", start=0), Var("s", "state", start=0.0), Var("ds", "der", of="s", needs=["u"])),
    Var("out", "output", needs=["s"]),
)
FOLLOWS = "v->ds = v->u; v->out = v->s;"
STEP = 0.1
POINTS = [k / 10 for k in range(11)]


@pytest.fixture(scope="module", params=(2, 3), ids=("fmi2", "fmi3"))
def fmus(request, tmp_path_factory):
    """x = t is `above` a level, as found out at events; what follows sums that up over time."""
    folder, version = tmp_path_factory.mktemp("fmus"), request.param
    calc, event = "v->dx = 1; v->z = v->x - v->level;", "v->above = v->z > 0; return OK;"
    make_fmu(folder / "Ramp.fmu", RAMP, version=version, cs=None, calc=calc, event=event)
    make_fmu(folder / "Exchanged.fmu", FOLLOWER, version=version, cs=None, calc=FOLLOWS)
    make_fmu(folder / "Stepped.fmu", FOLLOWER, version=version, me=None, calc=FOLLOWS)
    make_fmu(folder / "Unsaved.fmu", FOLLOWER, version=version, me=None, calc=FOLLOWS, saves=False)
    return folder


def simulate(folder, fmus, levels, follower):
    """Ramps A, B, … with these levels, and what follows the first of them."""
    names = "ABC"[: len(levels)]
    parameters = "".join(
        f'<ssv:Parameter name="{name}.level"><ssv:Real value="{level!r}"/></ssv:Parameter>'
        for name, level in zip(names, levels, strict=True)
    )
    components = {**dict.fromkeys(names, "Ramp"), "F": follower}
    system = write_system(folder / "system", fmus, components, [("A.above", "F.u")], parameters)
    coupling = {"master": "jacobi", "approximation": "hold"} if follower != "Exchanged" else {}
    return ssptool.simulate(system, settings=ssptool.Settings(stop_time=1.0, step_size=STEP, **coupling))


FOLLOWERS = pytest.mark.parametrize("follower", ("Exchanged", "Stepped", "Unsaved"))
"""Unsaved: steps cannot be taken back to events."""


@FOLLOWERS
def test_what_is_zero_at_the_start_and_rises_crosses_zero_there(tmp_path, fmus, follower):
    """With both rows, or beside what hears of it as the start value of its input, the right one."""
    result = simulate(tmp_path, fmus, [0.0], follower)
    trace = result.unwrap()
    left = [0] if follower != "Unsaved" else []
    assert trace.t.tolist() == [*(0.0 for _ in left), *POINTS] and result.statistics.events == 1
    assert trace["A.above"].tolist() == [*left, *[1] * 11]
    assert trace["F.out"] == pytest.approx(trace.t, abs=1e-6)


@FOLLOWERS
def test_what_crosses_zero_at_the_stop_time_does_so_in_the_last_two_rows(tmp_path, fmus, follower):
    trace = simulate(tmp_path, fmus, [1.0], follower).unwrap()
    assert trace.t.tolist() == [*POINTS, 1.0]
    assert trace["A.above"].tolist() == [0] * 11 + [1]


@FOLLOWERS
@pytest.mark.parametrize("level", (0.3, 0.35, 0.7), ids=str)
def test_two_at_one_instant_are_one(tmp_path, fmus, follower, level):
    """At a communication point, and between two."""
    result = simulate(tmp_path, fmus, [level, level], follower)
    trace = result.unwrap()
    (at,) = both_sides(trace)
    assert trace.t[at] == pytest.approx(level, abs=1e-9)
    for name in ("A.above", "B.above"):
        assert trace[name][at : at + 2].tolist() == [0, 1]
    assert result.statistics.events == 1
    heard = level if follower != "Unsaved" or level != 0.35 else 0.4
    assert trace["F.out"][-1] == pytest.approx(1 - heard, abs=1e-6)


@FOLLOWERS
def test_at_the_start_at_the_stop_and_between(tmp_path, fmus, follower):
    trace = simulate(tmp_path, fmus, [0.0, 0.5, 1.0], follower).unwrap()
    left = [0.0] if follower != "Unsaved" else []
    assert trace.t.tolist() == [*left, *POINTS[:6], *POINTS[5:], 1.0]
    assert [int(trace[f"{name}.above"].sum()) for name in "ABC"] == [13, 7, 1]


def test_what_is_zero_and_stays_so_crosses_nothing(tmp_path, fmus):
    """As a ball that lies on the ground."""
    calc = "v->dx = 0; v->z = v->x - v->level;"
    make_fmu(tmp_path / "Ramp.fmu", RAMP, cs=None, calc=calc, event="v->above++; return OK;")
    system = write_system(tmp_path / "system", tmp_path, {"A": "Ramp"})
    result = ssptool.simulate(system, settings=ssptool.Settings(stop_time=1.0, step_size=STEP))
    assert result.statistics.events == 0
    assert result.unwrap()["A.above"].tolist() == [1] * 11  # asked once, at the start


@pytest.mark.parametrize("version", (2, 3))
def test_nothing_is_asked_of_an_fmu_after_the_stop_time(tmp_path, version):
    """Nor of one that would not stand it."""
    calc = "v->dx = 1; v->z = v->x - v->level;"
    event = "v->above = v->z > 0; return OK;"
    make_fmu(
        tmp_path / "Ramp.fmu",
        RAMP,
        version=version,
        cs=None,
        calc=calc,
        event=event,
        got="return v->time > 1 ? ERROR : OK;",
    )
    parameter = '<ssv:Parameter name="A.level"><ssv:Real value="1"/></ssv:Parameter>'
    system = write_system(tmp_path / "system", tmp_path, {"A": "Ramp"}, parameters=parameter)
    result = ssptool.simulate(system, settings=ssptool.Settings(stop_time=1.0, step_size=STEP))
    assert result.unwrap()["A.above"][-1] == 1
    assert not result.notes
