"""FMUs that end the simulation themselves."""

import numpy as np
import pytest

import ssptool
from ssptool.errors import WrongValue
from ssptool.fmu.instance import FmuInstance
from tests.engine.dual_mass import Folder
from tests.engine.event_mode.systems import write_system
from tests.engine.running import run
from tests.engine.small.fmus import Var, make_fmu

DECAY = (Var("x", "state", start=1.0), Var("dx", "der", of="x", needs=["x"]), Var("y", "output", needs=["x"]))
EQUATIONS = "v->dx = -v->x; v->y = v->x;"


DISCARDS = """
if (t + h > 0.55) { a->terminate = true; a->last = t + 0.5 * h; rk4(s, t, 0.5 * h); return DISCARD; }
rk4(s, t, h); return OK;
"""
ASKS = "rk4(s, t, h); a->terminate = t < 0.55 && t + h > 0.55; return OK;"
MASTERS = [{"master": name} for name in ("jacobi", "gauss-seidel", "iterated")]


def system(tmp_path, version, step, others="AB"):
    """A asks to end, B goes on."""
    ends = make_fmu(tmp_path / "Ends.fmu", DECAY, version=version, me=None, calc=EQUATIONS, step=step)
    make_fmu(tmp_path / "Decay.fmu", DECAY, version=version, me=None, calc=EQUATIONS)
    return write_system(tmp_path / "system", ends.parent, {name: "Ends" if name == "A" else "Decay" for name in others})


@pytest.mark.slow
@pytest.mark.parametrize("settings", MASTERS, ids=lambda one: one["master"])
@pytest.mark.parametrize("order", ["AB", "BA"])
@pytest.mark.parametrize(("version", "step", "last"), [(2, DISCARDS, 0.5), (3, ASKS, 0.6)])
def test_a_component_of_co_simulation_that_asks_to_end_does_so(
    tmp_path, monkeypatch, version, step, last, order, settings
):
    """In FMI 2.0 by fmi2Discard and the status fmi2Terminated: half of the step is done. In FMI 3.0 by a flag: all."""
    monkeypatch.setenv("SMALL_LOG", str(tmp_path / "calls.txt"))
    plan = ssptool.plan(
        system(tmp_path, version, step, order), settings=ssptool.Settings(stop_time=1.0, step_size=0.1, **settings)
    )
    result = run(plan, Folder(tmp_path / "system"), isolated=False)
    assert (result.ok, result.status) == (True, "ended by a component")
    reached = 0.55 if version == 2 else 0.6
    assert [note for note in result.notes if "ended" in note] == [
        f"component A ended the simulation at t = {reached} s"
    ]
    assert result.last_time == pytest.approx(reached)
    points = np.arange(round(last / 0.1) + 1) * 0.1
    assert result.trace.t == pytest.approx([*points, 0.55] if version == 2 else points)
    assert result.trace["A.y"] == pytest.approx(np.exp(-result.trace.t), rel=1e-6)
    assert result.trace["B.y"][: len(points)] == pytest.approx(np.exp(-points), rel=1e-6)
    assert result.trace["B.y"][-1] == result.trace["B.y"][len(points) - 1]
    ended = [
        line.split()[0] for line in (tmp_path / "calls.txt").read_text().splitlines() if line.endswith(" terminate")
    ]
    assert sorted(ended) == ["A", "B"]


def test_fmi2_is_asked_how_far_it_has_come(tmp_path):
    folder = system(tmp_path, 2, DISCARDS)
    result = ssptool.simulate(folder, settings=ssptool.Settings(stop_time=1.0, step_size=0.1))
    assert (result.ok, result.last_time) == (True, 0.55)
    assert result.notes[-1] == "component A ended the simulation at t = 0.55 s"


def test_an_end_that_is_asked_for_in_the_last_step_is_none(tmp_path):
    folder = system(tmp_path, 3, "rk4(s, t, h); a->terminate = t + h > 0.95; return OK;")
    assert ssptool.simulate(folder, settings=ssptool.Settings(stop_time=1.0, step_size=0.1)).ok


@pytest.mark.parametrize("says_it_again", [True, False])
@pytest.mark.parametrize("order", ["AB", "BA"])
def test_an_end_in_the_middle_of_a_step_is_where_all_components_end(tmp_path, order, says_it_again):
    """A returns early, at t = 0.55 s: with event mode, all go there."""
    again = "" if says_it_again else "&& t + h > 0.56"
    early = f"if (t < 0.54 && t + h > 0.54 {again}) {{ rk4(s, t, 0.55 - t); a->last = 0.55; "
    step = f"{early} a->early = t + h > 0.551; a->terminate = true; return OK; }} rk4(s, t, h); return OK;"
    for name, body in (("Ends", step), ("Decay", "rk4(s, t, h); return OK;")):
        variables, cs = (
            (*DECAY, Var("count", "output", "Int32", start=0, initial="exact", needs=[])),
            'hasEventMode="true"',
        )
        make_fmu(tmp_path / f"{name}.fmu", variables, version=3, me=None, cs=cs, calc=EQUATIONS, step=body)
    folder = write_system(tmp_path / "system", tmp_path, {name: "Ends" if name == "A" else "Decay" for name in order})
    result = ssptool.simulate(folder, settings=ssptool.Settings(stop_time=1.0, step_size=0.1))
    assert (result.ok, result.status) == (True, "ended by a component")
    assert result.trace.t[-1] == pytest.approx(0.55)
    assert result.notes[-1] == "component A ended the simulation at t = 0.55 s"
    for name in "AB":
        assert result.trace[f"{name}.y"] == pytest.approx(np.exp(-result.trace.t), rel=1e-6)


def test_an_end_that_is_asked_for_in_a_step_that_is_too_long_is_none(tmp_path):
    """Adaptive steps go on in smaller ones, up to it."""
    folder = system(tmp_path, 3, "rk4(s, t, h); a->terminate = t + h > 0.55; return OK;")
    settings = ssptool.Settings(stop_time=1.0, step_size=0.1, adaptive=1e-3)
    result = ssptool.simulate(folder, settings=settings)
    assert (result.ok, result.status) == (True, "ended by a component")
    assert result.notes[-1] == f"component A ended the simulation at t = {result.trace.t[-1]:.12g} s"
    assert result.trace["A.y"] == pytest.approx(np.exp(-result.trace.t), rel=1e-4)


@pytest.mark.parametrize("version", [2, 3])
def test_a_component_of_model_exchange_ends_the_simulation_at_an_event(tmp_path, version):
    """At t = 0.55 s, which is not a communication point: the last row is there."""
    event = "if (v->time > 0.5499) e->terminate = true; e->has_next = true; e->next = 0.55; return OK;"
    ends = make_fmu(tmp_path / "Ends.fmu", DECAY, version=version, cs=None, calc=EQUATIONS, event=event)
    folder = write_system(tmp_path / "system", ends.parent, {"A": "Ends"})
    plan = ssptool.plan(folder, settings=ssptool.Settings(stop_time=1.0, step_size=0.1))
    result = run(plan, Folder(folder), isolated=False)
    assert (result.ok, result.status) == (True, "ended by a component")
    assert result.last_time == pytest.approx(0.55)
    assert result.notes[-1] == "component A ended the simulation at t = 0.55 s"
    assert result.trace["A.y"] == pytest.approx(np.exp(-result.trace.t), rel=1e-4)


def test_a_simulation_in_steps_is_finished_where_a_component_ends_it(tmp_path):
    folder = system(tmp_path, 3, ASKS)
    with ssptool.Simulation(folder, settings=ssptool.Settings(stop_time=1.0, step_size=0.1)) as simulation:
        assert list(simulation) == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
        assert simulation.finished
        assert simulation.notes[-1] == "component A ended the simulation at t = 0.6 s"
        with pytest.raises(WrongValue):
            simulation.step()


COUNTER = (Var("counter", "output", "Int32", start=1, initial="exact", needs=[]), Var("twice", "output", needs=[]))
TWICE = "v->twice = 2 * v->counter;"
CLIMBS = """
if (v->time > v->counter - 1e-9) v->counter += 1;
e->terminate = v->counter >= 10; e->has_next = true; e->next = v->counter; return OK;
"""
CLIMBS_IN_STEPS = {
    2: """
    while (v->counter < t + h + 1e-9 && v->counter < 10) v->counter += 1;
    v->time = v->counter < 10 ? t + h : 9;
    if (v->counter == 10) { a->terminate = true; a->last = 9; return DISCARD; }
    return OK;
    """,
    3: """
    while (v->counter < t + h + 1e-9 && v->counter < 10) v->counter += 1;
    if (v->counter == 10) { a->terminate = true; if (t + h > 9 + 1e-9) { a->early = true; a->last = 9; } }
    v->time = a->last;
    return OK;
    """,
}
HAS_EVENTS = """
a->event = t + h > v->counter - 1e-9;
if (t + h > v->counter + 1e-9) { a->early = true; a->last = v->counter; }
v->time = a->last;
return OK;
"""


def stair(folder, version, interface):
    """An FMU that counts: at t = 1, 2, …, 9 s from 1 to 10, where it ends the simulation."""
    kinds = {"me": {"cs": None, "event": CLIMBS}, "cs": {"me": None, "step": CLIMBS_IN_STEPS[version]}}
    kinds["events"] = {"me": None, "cs": 'hasEventMode="true"', "step": HAS_EVENTS, "event": CLIMBS}
    return make_fmu(folder / "Stair.fmu", COUNTER, version=version, calc=TWICE, **kinds[interface])


STAIRS = [(2, "me"), (3, "me"), (2, "cs"), (3, "cs"), (3, "events")]


def last_rows(trace, name, count=2):
    values = [trace[f"{name}.{one}"][-count:].tolist() for one in ("counter", "twice")]
    return list(zip(trace.t[-count:].tolist(), *values, strict=True))


@pytest.mark.parametrize("step", [0.2, 0.7])
@pytest.mark.parametrize(("version", "interface"), STAIRS)
def test_the_row_after_the_last_event_is_recorded(tmp_path, version, interface, step):
    """Whether the end is at a communication point or between two."""
    folder = write_system(tmp_path / "system", stair(tmp_path, version, interface).parent, {"S": "Stair"})
    plan = ssptool.plan(folder, settings=ssptool.Settings(stop_time=12.0, step_size=step))
    result = run(plan, Folder(folder), isolated=False)
    assert (result.ok, result.status) == (True, "ended by a component")
    if interface == "cs":
        before = 8.8 if step == 0.2 else 8.4
        assert last_rows(result.trace, "S") == [(pytest.approx(before), 9, 18), (9.0, 10, 20)]
    else:
        assert last_rows(result.trace, "S") == [(9.0, 9, 18), (9.0, 10, 20)]


@pytest.mark.parametrize("step", [0.2, 0.7])
@pytest.mark.parametrize(("version", "interface"), STAIRS)
def test_a_simulation_in_steps_has_the_row_after_the_last_event(tmp_path, version, interface, step):
    folder = write_system(tmp_path / "system", stair(tmp_path, version, interface).parent, {"S": "Stair"})
    seen = []
    with ssptool.Simulation(folder, settings=ssptool.Settings(stop_time=12.0, step_size=step)) as simulation:
        simulation.observe(lambda t, values: seen.append((t, values["S.counter"])))
        simulation.run_until(12.0)
        assert (simulation.time, simulation.get("S.counter"), simulation.get("S.twice")) == (9.0, 10, 20)
        assert last_rows(simulation.trace, "S", 1) == [(9.0, 10, 20)]
    assert seen[-1] == (9.0, 10)


@pytest.mark.parametrize(("version", "interface"), STAIRS)
def test_the_others_keep_their_values_in_the_row_of_an_end_between_points(tmp_path, version, interface):
    """Steps of 0.7 s lead from 8.4 s to 9.1 s. Components in event mode, and an ODE, go to 9 s with the others."""
    make_fmu(tmp_path / "Decay.fmu", DECAY, version=version, me=None, calc=EQUATIONS, saves=False)
    folder = write_system(tmp_path / "system", stair(tmp_path, version, interface).parent, {"S": "Stair", "B": "Decay"})
    plan = ssptool.plan(folder, settings=ssptool.Settings(stop_time=12.0, step_size=0.7))
    result = run(plan, Folder(folder), isolated=False)
    assert (result.ok, result.status) == (True, "ended by a component")
    assert last_rows(result.trace, "S", 1) == [(9.0, 10, 20)]
    point = result.trace["B.y"][-1]
    assert point == pytest.approx(np.exp(-8.4), rel=1e-5) or point == pytest.approx(np.exp(-9.0), rel=1e-5)
    assert any("all other components keep" in note for note in result.notes) == (point > np.exp(-8.5))


@pytest.mark.parametrize("version", [2, 3])
def test_after_fatal_an_fmu_is_not_even_freed(tmp_path, monkeypatch, version):
    """FMI forbids any call after this status: some FMUs crash, and the message of the failure would be lost."""
    fatal = []
    monkeypatch.setattr(FmuInstance, "free", lambda one: fatal.append(one._fatal))
    fmu = make_fmu(tmp_path / "F.fmu", DECAY, version=version, me=None, calc=EQUATIONS, step="return (Status)4;")
    failure = ssptool.simulate(fmu, stop_time=1.0, step_size=0.1, isolated=False).failure
    assert "fatal" in failure.message
    assert fatal and all(fatal)
