"""Components of model exchange beside those of co-simulation, in one exported FMU: the ODE is one component more."""

import re
import shutil

import numpy as np
import pytest

import ssptool
from ssptool.engine.time_grid import grid_times
from tests.accuracy.parts import write_part
from tests.engine.ode.systems import oscillation
from tests.engine.ode.test_steps_end_at_events import BALL, CONTROLLER, PLANT, SAMPLES, TOTAL, bounced, sampled
from tests.engine.systems import write_system
from tests.exporting.fmus import SYSTEMS, exported, follows_a_saved_state, in_fmpy, initialize, instance, real

pytestmark = pytest.mark.one_in(3)


def mixed(folder, *exchange):
    """The same system with these components as model exchange, and all others as co-simulation."""
    ssd = folder / "SystemStructure.ssd"
    text = re.sub(r' implementation="\w+"', "", ssd.read_text())
    for name in exchange:
        text = text.replace(
            f'<ssd:Component name="{name}"', f'<ssd:Component name="{name}" implementation="ModelExchange"'
        )
    ssd.write_text(text)
    return folder


@pytest.fixture
def oscillator(tmp_path):
    folder = tmp_path / "oscillator"
    shutil.copytree(SYSTEMS / "dual_mass_oscillator", folder)
    return folder


@pytest.mark.parametrize("master", ["iterated", "jacobi"])
@pytest.mark.parametrize("exchange", [("System1",), ("System2",)], ids=str)
def test_an_oscillator_of_both_kinds(oscillator, tmp_path, fmi, exchange, master):
    """Its algebraic loop leads through both kinds."""
    system = mixed(oscillator, *exchange)
    settings = {"master": master, "stop_time": 2.0, "tolerance": 1e-9}
    run = ssptool.simulate(system, **settings).unwrap()
    found = in_fmpy(exported(system, tmp_path, fmi=fmi, **settings), 0.001, stop_time=2.0)
    for name in ("System1.x1", "System1.v1", "System2.F"):
        assert found[name] == pytest.approx(run[name], abs=1e-6 * np.max(np.abs(run[name]))), name
    close = 2e-6 if master == "iterated" else 2e-5
    assert found["System1.x1"] == pytest.approx(oscillation(found["time"])[0], abs=close)


def test_a_ball_of_model_exchange_feeds_a_lag_of_co_simulation(exchange_models, tmp_path, fmi):
    """Events inside a macro step, and the signals of both sides of them."""
    system = mixed(
        write_system(
            tmp_path / "system", exchange_models, {"Ball": "BouncingBall", "Lag": "Lag"}, [("Ball.h", "Lag.u")]
        ),
        "Ball",
    )
    settings = {"stop_time": 1.5, "step_size": 0.01, "tolerance": 1e-9, "master": "gauss-seidel", "accept": "UNIT-006"}
    result = ssptool.simulate(system, **settings)
    run = result.unwrap()
    points = np.isin(run.t, grid_times(0.0, 0.01, range(151))) & np.append(np.diff(run.t) > 0, True)
    found = in_fmpy(exported(system, tmp_path, fmi=fmi, **settings), 0.01, stop_time=1.5)
    assert result.statistics.events == 2
    for name in ("Ball.h", "Ball.v", "Lag.x"):
        assert found[name] == pytest.approx(run[name][points], abs=1e-7), name


def test_what_follows_a_saved_state_follows_it_again(oscillator, tmp_path, fmi):
    system = mixed(oscillator, "System1")
    fmu = exported(system, tmp_path, fmi=fmi, master="iterated", stop_time=2.0)
    names = ["System1.x1", "System1.v1", "System2.F"]
    with instance(fmu, tmp_path / "unpacked") as slave:
        initialize(slave)

        def steps(first, count):
            found = []
            for number in range(first, first + count):
                slave.doStep(number * 0.001, 0.001)
                found.append([real(slave, name) for name in names])
            return found

        follows_a_saved_state(slave, steps, 30, 40)


@pytest.mark.parametrize("step", (0.03, 0.07, 0.1))
def test_steps_inside_end_at_events_of_model_exchange(tmp_path, fmi, step):
    """At time events, although the plant cannot go back, and at state events to which what integrates them can: both
    in closed form, at the communication points of an importer.
    """
    for name, part in (("C", CONTROLLER), ("P", PLANT), ("B", BALL), ("T", TOTAL)):
        write_part(tmp_path / f"{name}.fmu", part, version=fmi)
    settings = {"step_size": step, "stop_time": 2.0, "tolerance": 1e-9, "accept": "UNIT-006"}
    exact = {"P.y": sampled(), "T.y": bounced(SAMPLES)}
    for wires, exchange in (([("C.u", "P.u"), ("P.y", "C.y")], "C"), ([("B.n", "T.u")], "B")):
        names = {one.split(".")[0] for one in (*wires[0],)}
        system = write_system(tmp_path / f"of{exchange}", tmp_path, {name: name for name in sorted(names)}, wires)
        fmu = exported(mixed(system, exchange), tmp_path / f"fmu{exchange}", fmi=fmi, **settings)
        found = in_fmpy(fmu, 0.1, stop_time=2.0)
        (name,) = exact.keys() & set(found.dtype.names)
        assert found[name] == pytest.approx(exact[name], abs=1e-8), name
