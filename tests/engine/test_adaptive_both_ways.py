"""Adaptive steps that systems carry out are the same as in Python; see test_both_ways.py."""

import pytest

import ssptool
from ssptool.studies.checking import check_study
from ssptool.studies.definition import RunStatus, Task
from ssptool.studies.study_file import study_from
from ssptool.studies.worker import StudyWorker
from tests.engine.dual_mass import oscillator, simulate
from tests.engine.event_mode.systems import write_system as write_system_at_events
from tests.engine.event_mode.test_both_ways_at_events import TICKED
from tests.engine.event_mode.test_clocks import LOOP
from tests.engine.masters.test_discrete_changes import heated, house
from tests.engine.ode.systems import beside, both_sides, complete_steps, couple, refuse_after
from tests.engine.ode.test_both_ways import LAG
from tests.engine.ode.test_discrete import mixed
from tests.engine.small.fmus import Var, make_fmu
from tests.engine.small.test_endings import ASKS, DISCARDS
from tests.engine.small.test_endings import system as ending_system
from tests.engine.systems import write_system
from tests.engine.test_both_ways import (
    ACTS,
    DRIVERS,
    EXAMPLES,
    OSCILLATOR,
    OWN_PROCESSES,
    PUSHES,
    STEADY,
    SYSTEMS,
    bending,
)

pytestmark = pytest.mark.one_in(3)

MASTERS = pytest.mark.parametrize("master", ["jacobi", "gauss-seidel", "iterated"])


@MASTERS
@pytest.mark.parametrize("name", EXAMPLES)
def test_example_systems(name, master, compared):
    result = ssptool.simulate(SYSTEMS / name, master=master, adaptive=1e-4, stop_time=0.5, isolated=False)
    assert result.ok
    assert compared()


@pytest.mark.parametrize(
    "options",
    [
        {"approximation": "hold", "stop_time": 0.002},
        *({"input_order": 2}, {"max_step_size": 0.004}, {"step_size": 1.0}),
        *({"substeps": {"System1": 3}}, {"acceleration": "aitken"}, {"threads": 2}),
        *({"record": ["*"]}, {"max_iterations": 1}),
        pytest.param({"processes": "each"}, marks=OWN_PROCESSES),
    ],
    ids=str,
)
def test_settings(options, compared):
    ssptool.simulate(OSCILLATOR, adaptive=1e-5, **{"stop_time": 1.0, **options}, isolated=False)
    assert compared()


def test_rows_at_stated_times(compared):
    """No pair of steps leads over them."""
    result = ssptool.simulate(OSCILLATOR, adaptive=1e-4, stop_time=1.0, accuracy="check", isolated=False)
    assert result.ok
    assert compared() > 1


@MASTERS
@pytest.mark.parametrize(
    "inputs",
    [*PUSHES, DRIVERS["function"], DRIVERS["held function"]],
    ids=["lines", "steps", "constant", "function", "held function"],
)
def test_inputs(inputs, master, swing, compared):
    options = {"master": master, "step_size": 0.01, "stop_time": 0.505, "isolated": False}
    assert ssptool.simulate(swing, inputs=inputs, adaptive=1e-4, **options).ok
    assert compared()


def test_scenarios(swing, compared):
    options = {"step_size": 0.01, "stop_time": 0.5, "isolated": False}
    assert ssptool.simulate(swing, inputs=DRIVERS["table"], scenario=ACTS, adaptive=1e-4, **options).ok
    assert compared()


@pytest.mark.parametrize("jumps", [(), (0.255,)])
def test_a_function_that_fails(jumps, swing, compared):
    """In a step, or where it jumps; rows before it stay."""
    wrong = ssptool.types.Function(lambda t: 1.0 if t < 0.255 else 1 / 0, steps=jumps)
    options = {"adaptive": 1e-3, "step_size": 0.01, "stop_time": 0.5, "isolated": False}
    result = ssptool.simulate(swing, inputs={"Sum.w": wrong}, **options)
    assert "ZeroDivisionError" in str(result.failure)
    assert 0.1 < result.t[-1] <= 0.255
    assert compared()


@pytest.mark.parametrize("log", ["log_loops", "log_coupling"])
def test_logs(log, tmp_path, compared):
    options = {"start_values": {"System2.m_c": 2.0}, "stop_time": 0.2, "master": "iterated", "isolated": False}
    assert ssptool.simulate(OSCILLATOR, adaptive=1e-4, **{log: tmp_path / "log.csv"}, **options).ok
    assert compared()


# -- signals that change, jump or fail --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["Boolean", "Int32", "String"])
@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel"])
def test_a_thermostat(kind, master, tmp_path, compared):
    net = house(tmp_path, kind)
    assert heated(tmp_path, net, adaptive=1e-3, master=master).ok
    assert compared()


def test_a_signal_that_changes_in_each_step(tmp_path, compared):
    toggling = [Var("u", "input"), Var("on", "output", "Boolean", start=True, initial="exact")]
    make_fmu(tmp_path / "Toggle.fmu", toggling, me=None, step="v->on = !v->on; return OK;", calc="")
    folder = write_system(tmp_path / "toggling", tmp_path, {"A": "Toggle"}, [])
    result = ssptool.simulate(folder, adaptive=1e-4, stop_time=1.0, isolated=False)
    assert "A.on changes again and again" in str(result.failure)
    assert compared()


def test_a_signal_that_jumps_in_each_step(tmp_path, compared):
    jumping = [Var("u", "input"), Var("y", "output", start=1.0, initial="exact")]
    make_fmu(tmp_path / "Jumps.fmu", jumping, me=None, step="v->y = -2 * v->y; return OK;", calc="")
    folder = write_system(tmp_path / "jumping", tmp_path, {"A": "Jumps"}, [])
    result = ssptool.simulate(folder, adaptive=1e-4, stop_time=1.0, isolated=False, accuracy="check")
    assert "the error of A.y is still" in str(result.accuracy)  # of a smaller tolerance, where jumps cannot be located
    assert compared()


@MASTERS
@pytest.mark.parametrize(("status", "word"), [(2, "smaller than"), (3, "returned error"), (4, "returned fatal")])
def test_a_step_that_is_refused(status, word, master, tmp_path, compared):
    """Beyond 0.25 s; one that is discarded may be too large."""
    step = f"if (t + h > 0.25) return {status}; return OK;"
    fmu = make_fmu(tmp_path / "Refuses.fmu", STEADY, version=2, me=None, calc="v->y = v->u;", step=step)
    folder = write_system(tmp_path / "refusing", fmu.parent, {"A": "Refuses", "B": "Refuses"}, [("A.y", "B.u")])
    result = ssptool.simulate(folder, adaptive=1e-3, master=master, stop_time=1.0, step_size=0.1, isolated=False)
    assert word in str(result.failure) and result.t[-1] <= 0.25
    assert compared()


@MASTERS
@pytest.mark.parametrize(("version", "step"), [(2, DISCARDS), (3, ASKS)])
def test_an_end_that_a_component_asks_for(version, step, master, tmp_path, compared):
    folder = ending_system(tmp_path, version, step)
    ssptool.simulate(folder, adaptive=1e-3, master=master, stop_time=1.0, step_size=0.1, isolated=False)
    assert compared()


@MASTERS
@pytest.mark.parametrize("gain", [-3.0, 1.0])
def test_a_loop_whose_gain_jumps(gain, master, tmp_path, compared):
    options = {"adaptive": 1e-3, "master": master, "stop_time": 0.5, "step_size": 0.1, "start_values": {"A.a": gain}}
    result = ssptool.simulate(bending(tmp_path), isolated=False, **options)
    assert result.ok == (gain != 1.0)
    assert compared()


COUPLED = [("Mass.z", "Spring.z"), ("Mass.v", "Spring.v"), ("Spring.F", "Mass.F")]


@MASTERS
@pytest.mark.parametrize(
    ("components", "wires"),
    [
        ({"Ball": "fmi3/Ball"}, []),
        ({"Plant": "fmi2/Mass", "Controller": "fmi3/SampledController", "Ball": "fmi3/Ball"}, LOOP),
        ({"Mass": "fmi2/Mass", "Spring": "fmi2/SpringDamper", "Ball": "fmi3/Ball"}, COUPLED),
        ({"Plant": "fmi2/Mass", "Tank": "fmi3/Tank"}, [("Plant.v", "Tank.u")]),
    ],
    ids=lambda one: "-".join(one) if isinstance(one, dict) else "",
)
def test_events(components, wires, master, engine_models, tmp_path, compared):
    """Where components return early, also one that is alone, and where clocks tick."""
    folder = write_system_at_events(tmp_path / "events", engine_models.parent, components, wires)
    result = ssptool.simulate(folder, adaptive=1e-3, master=master, stop_time=1.0, step_size=0.1, isolated=False)
    assert result.ok
    assert compared()


# -- beside model exchange --------------------------------------------------------------------------------------------


@MASTERS
def test_an_ode_beside_co_simulation(master, compared):
    net = beside(oscillator(System2__m_c=0.5), "System1")
    assert simulate(net, adaptive=1e-4, master=master, stop_time=0.5, step_size=0.01).ok
    assert compared()


@MASTERS
def test_events_of_an_ode_inside_of_steps(test_models, master, compared):
    """Steps that are taken back take their rows with them."""
    options = {"adaptive": 1e-3, "master": master, "stop_time": 2.0}
    result = couple(test_models, {"Ball": "BouncingBall"}, {"Lag": "Lag"}, LAG, **options)
    assert len(both_sides(result.trace)) > 2
    assert compared()


@MASTERS
@pytest.mark.parametrize("exchange", [("Tank", "Valve"), ("Tank", "Log")], ids=["leaving", "entering"])
def test_signals_that_are_exchanged_at_events_only(engine_models, exchange, master, compared):
    mixed(engine_models.parent / "fmi3", *exchange, step_size=0.05, adaptive=1e-3, master=master)
    assert compared()


@MASTERS
@pytest.mark.parametrize("shared", [True, False])
def test_an_ode_beside_event_mode(engine_models, shared, master, compared):
    """Events of the whole system, and those of each side."""
    exchange, values = ({"Tank": "Cistern"}, {}) if shared else ({"Ball": "../fmi2/BouncingBall"}, {"Plant.m": 1.0})
    others = {"Controller": "SampledController"} | ({} if shared else {"Plant": "../fmi2/Mass"})
    wires = TICKED if shared else [("Ball.h", "Plant.F"), ("Plant.z", "Controller.y")]
    options = {"adaptive": 1e-3, "master": master, "step_size": 0.04}
    result = couple(engine_models.parent / "fmi3", exchange, others, wires, values, **options)
    assert result.statistics.events >= 10
    assert compared()


@pytest.mark.parametrize("after", [-1.0, 0.455])
@pytest.mark.parametrize("status", [2, 3])
def test_an_ode_that_refuses(test_models, status, after, monkeypatch, compared):
    refuse_after(monkeypatch, status, after, "Ball")
    result = couple(test_models, {"Ball": "BouncingBall"}, {"Lag": "Lag"}, LAG, {"Ball.h": 100.0}, adaptive=1e-3)
    assert not result.ok
    assert compared()


def test_an_ode_that_ends_the_run(test_models, monkeypatch, compared):
    complete_steps(monkeypatch, lambda name: (False, True))
    result = couple(test_models.parent / "fmi3", {"Ball": "BouncingBall"}, {"Lag": "Lag"}, adaptive=1e-3)
    assert result.status == "ended by a component"
    assert compared()


def test_runs_of_a_study(compared):
    """One system carries them out, one after the other."""
    checked = check_study(
        study_from(
            {
                "system": str(OSCILLATOR),
                "settings": {"adaptive": 1e-4, "stop_time": 0.5},
                "design": {"kind": "latin-hypercube", "runs": 4, "seed": 1},
                "factors": {"System2.k2": {"low": 5.0, "high": 15.0}},
                "results": {"peak": 'max("System1.x1")'},
            }
        )
    )
    tasks = [Task(checked.points.ids[k], k, checked.points.at(k)) for k in range(len(checked.points))]
    with StudyWorker(checked.study, checked.signals) as worker:
        found = [worker.run(task) for task in (*tasks, tasks[0])]
    assert all(one.status is RunStatus.COMPLETED for one in found), [one.message for one in found]
    assert found[0].results == found[-1].results != found[1].results
    assert compared() == len(tasks) + 1
