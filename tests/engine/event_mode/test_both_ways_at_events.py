"""Runs with event mode are the same in the system and in Python: rows of both sides of events, counts, failures."""

import zipfile

import numpy as np
import pytest

import ssptool
from ssptool.engine.run.execution import Job
from ssptool.studies.checking import check_study
from ssptool.studies.definition import RunStatus, Task
from ssptool.studies.study_file import study_from
from ssptool.studies.worker import StudyWorker
from tests.engine import both_ways
from tests.engine.dual_mass import Folder
from tests.engine.event_mode.systems import before_and_after, column, simulate
from tests.engine.ode.systems import couple, refuse_after
from tests.engine.small.fmus import Var, make_fmu
from tests.engine.small.test_endings import last_rows, stair
from tests.engine.systems import write_system

pytestmark = pytest.mark.one_in(3)

LOOP = [("Plant.z", "Controller.y"), ("Controller.u", "Plant.F")]
PAIR = [("Mass.z", "Spring.z"), ("Mass.v", "Spring.v"), ("Spring.F", "Mass.F")]
SAMPLED = {"Plant": "fmi2/Mass", "Controller": "fmi3/SampledController", "Ball": "fmi3/Ball"}
SWINGING = {**SAMPLED, "Mass": "fmi2/Mass", "Spring": "fmi2/SpringDamper"}


@pytest.mark.parametrize("step", [0.01, 0.04, 0.3])
@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel", "iterated"])
def test_rows_of_both_sides_of_events(system, master, step, compared):
    """Ten ticks of a controller and a bounce, beside a pair that is coupled."""
    folder = system(SWINGING, [*LOOP, *PAIR])
    settings = ssptool.Settings(stop_time=1.0, step_size=step, master=master)
    result = ssptool.simulate(folder, start_values={"Plant.m": "1"}, settings=settings, record=["*"], isolated=False)
    assert len(before_and_after(result.unwrap(), "Ball.v")[0]) >= 11
    assert result.statistics.events >= 11
    assert compared()


@pytest.mark.parametrize("options", [{"iterations": 2}, {"max_iterations": 1}, {"acceleration": "anderson"}], ids=str)
def test_iterations_between_events(system, options, compared):
    simulate(system(SWINGING, [*LOOP, *PAIR]), 1.0, 0.04, master="iterated", **options)
    assert compared()


def test_a_stop_time_and_steps_beside_ticks(system, compared):
    trace = simulate(system(SAMPLED, LOOP), 0.777, 0.03).unwrap()
    assert trace.t[-1] == 0.777
    assert compared()


COUNTERS = {"A": "fmi3/Counter", "B": "fmi3/Counter"}
RING = [("A.carry", "B.tick"), ("B.carry", "A.tick")]


@pytest.mark.parametrize(
    ("components", "wires", "values", "said"),
    [
        (COUNTERS, RING, {"A.late": "2", "B.late": "1"}, "the event iteration does not converge"),
        ({"Alarm": "fmi3/Alarm"}, [], {"Alarm.pause": "0"}, "chatters"),
        ({"Ball": "fmi3/Ball"}, [], {"Ball.e": "0.5"}, "chatters"),
    ],
    ids=["endless", "chatter", "Zeno"],
)
def test_events_without_end(system, components, wires, values, said, compared):
    result = simulate(system(components, wires), 3.0, 0.05, values)
    assert said in str(result.failure)
    assert compared()


@pytest.mark.parametrize("step", [0.2, 0.7])
def test_an_end_in_an_event(tmp_path, step, compared):
    folder = write_system(tmp_path / "system", stair(tmp_path, 3, "events").parent, {"S": "Stair"}, [], stop=12.0)
    result = ssptool.simulate(folder, step_size=step, stop_time=12.0, isolated=False)
    assert result.status == "ended by a component"
    assert last_rows(result.trace, "S") == [(9.0, 9, 18), (9.0, 10, 20)]
    assert compared()


TICKS = (
    *(Var("u", "input"), Var("y", "output", needs=["u"])),
    Var("n", "output", "Int32", start=1, initial="exact", needs=[]),
    Var("broken", "local", "Boolean", start=False, initial="exact", needs=[]),
)
EVENTS = "a->event = t + h > 0.25; return OK;"


@pytest.mark.parametrize("master", ["jacobi", "iterated"])
@pytest.mark.parametrize(
    ("step", "event", "said"),
    [
        (EVENTS, "return ERROR;", "fmi3UpdateDiscreteStates returned error"),
        (EVENTS, "e->has_next = true; e->next = v->time + 0.25; return OK;", ""),
        ("if (t > 0.25) return ERROR; return OK;", "return OK;", "fmi3DoStep returned error"),
        ("if (t > 0.25) return DISCARD; a->event = true; return OK;", "return OK;", "fmi3DoStep returned discard"),
        ("a->event = true; v->broken = t > 0.25; return OK;", "return OK;", "is nan"),
        (EVENTS, "v->broken = true; return OK;", "is nan"),
    ],
    ids=["refused update", "next time", "refused step", "discarded step", "nan in a step", "nan in an event"],
)
def test_what_goes_wrong(tmp_path, step, event, said, master, compared):
    calc = "v->y = v->broken ? 0.0 / 0.0 : 0.5 * v->u + 1.0;"
    kind = {"version": 3, "me": None, "cs": 'hasEventMode="true"'}
    fmu = make_fmu(tmp_path / "Ticks.fmu", TICKS, **kind, calc=calc, step=step, event=event)
    wires = [("A.y", "B.u"), ("B.y", "A.u")]
    folder = write_system(tmp_path / "ticking", fmu.parent, {"A": "Ticks", "B": "Ticks"}, wires)
    result = ssptool.simulate(folder, master=master, stop_time=1.0, step_size=0.1, isolated=False)
    assert said in str(result.failure) if said else result.ok, result.failure
    assert compared()


def test_a_value_that_cannot_be_observed(system, compared):
    """The FMU has no variable with this reference, which its description states."""
    folder = system({"Ball": "fmi3/Ball"})
    path = folder / "resources" / "fmi3-Ball.fmu"
    with zipfile.ZipFile(path) as old:
        content = {name: old.read(name) for name in old.namelist()}
    ghost = b'<Float64 name="ghost" valueReference="987" causality="local"/></ModelVariables>'
    content["modelDescription.xml"] = content["modelDescription.xml"].replace(b"</ModelVariables>", ghost)
    with zipfile.ZipFile(path, "w") as new:
        for name, text in content.items():
            new.writestr(name, text)
    result = ssptool.simulate(folder, stop_time=1.0, step_size=0.1, isolated=False, record=["*"])
    assert "fmi3GetFloat64 returned error" in str(result.failure)
    assert compared()


def test_steps_that_end_at_other_times_too(system, compared):
    folder = system(SWINGING, [*LOOP, *PAIR])
    plan = ssptool.plan(folder, settings=ssptool.Settings(stop_time=1.0, step_size=0.04))
    job = Job(plan, Folder(folder), met=(0.1, 0.123, 0.5, 0.77))
    rows = both_ways._Rows(1 + len(plan.recorded))
    assert both_ways.both(job, rows).failure is None
    assert set(job.met) <= set(np.concatenate(rows.rows)[:, 0].tolist())
    assert compared()


@pytest.mark.parametrize("reuse", [True, False])
def test_runs_of_a_study(system, reuse, compared):
    folder = system(SAMPLED, LOOP)
    checked = check_study(
        study_from(
            {
                "system": str(folder),
                "settings": {"step_size": 0.02, "stop_time": 1.5},
                "design": {"kind": "latin-hypercube", "runs": 5, "seed": 1},
                "factors": {"Ball.e": {"low": 0.6, "high": 0.9}, "Ball.h": {"low": 0.5, "high": 1.5}},
                "results": {"bounces": 'max("Ball.bounces")', "height": 'max("Ball.h")'},
            }
        )
    )
    tasks = [Task(checked.points.ids[k], k, checked.points.at(k)) for k in range(len(checked.points))]
    with StudyWorker(checked.study, checked.signals, reuse=reuse) as worker:
        found = [worker.run(task) for task in (*tasks, tasks[0])]
    assert all(one.status is RunStatus.COMPLETED for one in found), [one.message for one in found]
    assert found[0].results == found[-1].results
    assert compared() == len(tasks) + 1


def test_clocks_that_count_bounces(system, compared):
    chain = [("Ball.bounce", "A.tick"), ("A.carry", "B.tick"), ("A.count", "B.add")]
    folder = system({"Ball": "fmi3/Ball", **COUNTERS}, chain)
    trace = simulate(folder, 2.0, 0.1, {"A.late": "1"}).unwrap()
    _, _, a = before_and_after(trace, "A.count")
    assert column(trace, "B.count")[-1] == np.sum(a)
    assert compared()


# -- beside model exchange ---------------------------------------------------------------------------------------

TICKED = [("Tank.x", "Controller.y"), ("Controller.sample", "Tank.drop"), ("Controller.u", "Tank.amount")]


@pytest.mark.parametrize("step", [0.04, 0.25])
@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel", "iterated"])
def test_events_of_an_ode_and_others_together(engine_models, master, step, compared):
    """Ticks go around both; the ball bounces meanwhile, and tells another component of the ODE."""
    wires = [*TICKED, ("Ball.bounce", "Follower.trigger"), ("Ball.v", "Follower.v")]
    others = {"Controller": "SampledController", "Ball": "Ball"}
    exchange = {"Tank": "Cistern", "Follower": "Follower"}
    result = couple(engine_models.parent / "fmi3", exchange, others, wires, step_size=step, master=master)
    assert result.statistics.events >= 11
    assert compared()


@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel"])
def test_an_ode_with_events_of_its_own(engine_models, master, compared):
    """Its rows stand between those of macro steps, which end at events of the others."""
    wires = [("Bouncing.h", "Plant.F"), ("Plant.z", "Controller.y")]
    others = {"Controller": "../fmi3/SampledController", "Plant": "Mass"}
    fmus = engine_models.parent / "fmi2"
    settings = {"step_size": 0.04, "master": master, "saved": False}
    result = couple(fmus, {"Bouncing": "BouncingBall"}, others, wires, {"Plant.m": 1.0}, **settings)
    assert result.ok and result.statistics.events >= 11
    assert any("rows repeat the values of the communication point before" in note for note in result.notes)
    assert compared()


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("status", [2, 3])
@pytest.mark.parametrize("after", [-1.0, 0.455])
def test_refusals_of_an_ode_beside_event_mode(engine_models, after, status, shared, monkeypatch, compared):
    refuse_after(monkeypatch, status, after, "Tank")
    wires = TICKED if shared else TICKED[:1]
    others = {"Controller": "SampledController"}
    result = couple(engine_models.parent / "fmi3", {"Tank": "Cistern"}, others, wires, step_size=0.04)
    assert not result.ok
    assert compared()


def test_clocks_without_end_across(engine_models, compared):
    wires = [("A.carry", "B.tick"), ("B.carry", "A.tick"), ("A.carry", "Follower.trigger")]
    others, values = {"A": "Counter", "B": "Counter"}, {"A.late": 2, "B.late": 1}
    result = couple(engine_models.parent / "fmi3", {"Follower": "Follower"}, others, wires, values)
    assert "does not converge" in str(result.failure)
    assert compared()
