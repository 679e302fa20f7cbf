"""Adaptive steps and signals that are not real numbers, that jump, or that are small.

A room between 20 and 22 °C: T' = (35 − T)/100 s while it is heated, T' = (5 − T)/100 s else, from 18 °C. The thermostat
reacts at the end of a step to the temperature at its start, so that the room is warmer or colder by what two steps add.
"""

import numpy as np
import pytest
from pytest import approx

import ssptool
from ssptool import Settings
from ssptool.engine.failure import Ending
from ssptool.engine.run.make_plan import make_plan
from ssptool.errors import WrongValue
from ssptool.exceptions import ContradictingSettings
from tests.engine.dual_mass import Folder, network, oscillator
from tests.engine.dual_mass import simulate as simulate_masses
from tests.engine.masters.test_adaptive import without
from tests.engine.running import run
from tests.engine.small.fmus import Var, make_fmu
from tests.engine.systems import write_system

STOP = 1000.0
WIRES = [("Room.T", "Thermostat.T"), ("Thermostat.on", "Room.on")]
SMALL_STEPS = "int n = (int)(h / 0.5) + 1; for (int i = 0; i < n; i++) rk4(s, t + i * h / n, h / n); return OK;"
READ = {"String": "v->on[1] == 'n'"}
WRITE = {"String": ('set_text(&v->on, "on");', 'set_text(&v->on, "off");')}
HOT = {"Boolean": True, "Int32": 3, "String": "on"}


def house(folder, kind, version=3, react="v->T <= 20", rest="v->T >= 22"):
    """Room.fmu and Thermostat.fmu, with a signal of this type between them."""
    read = READ.get(kind, "v->on > 0")
    on, off = WRITE.get(kind, (f"v->on = {3 if kind == 'Int32' else 1};", "v->on = 0;"))
    variability = {"variability": "discrete"}
    room = [
        *(Var("on", "input", kind, start=HOT[kind], **variability), Var("T", "output", needs=["x"])),
        *(Var("x", "state", start=18.0), Var("dx", "der", of="x", needs=["x", "on"])),
    ]
    calc = f"v->dx = ((({read}) ? 35 : 5) - v->x) / 100; v->T = v->x;"
    make_fmu(folder / "Room.fmu", room, version=version, me=None, calc=calc, step=SMALL_STEPS)
    switch = [Var("T", "input", start=18.0), Var("on", "output", kind, start=HOT[kind], initial="exact", **variability)]
    step = f"if ({react}) {{ {on} }} if ({rest}) {{ {off} }} return OK;"
    make_fmu(folder / "Thermostat.fmu", switch, version=version, me=None, step=step, calc="")
    return network({"Room": "Room.fmu", "Thermostat": "Thermostat.fmu"}, WIRES, folder=folder)


def heated(folder, net, **settings):
    return run(make_plan(net, Settings(stop_time=STOP, step_size=1.0, **settings)), Folder(folder))


def switching_times(stop=STOP):
    t, temperature, goals, times = 0.0, 18.0, (35.0, 5.0), []
    while True:
        end, target = goals[len(times) % 2], (22.0, 20.0)[len(times) % 2]
        t += 100 * np.log((temperature - end) / (target - end))
        if t > stop:
            return np.array(times)
        times.append(t)
        temperature = target


@pytest.fixture(scope="module")
def boolean(tmp_path_factory):
    folder = tmp_path_factory.mktemp("boolean")
    return folder, house(folder, "Boolean", 2)


def check_switches(trace, tolerance):
    """Each is late by no more than what a few errors of `tolerance` · 22 K make of times, at 0.13 K/s or more."""
    exact, room = switching_times(), trace["Room.T"][trace.t > 50]
    found = trace.t[1:][trace["Thermostat.on"][1:] != trace["Thermostat.on"][:-1]]
    assert len(found) == len(exact) == 73
    assert 20 - 22 * tolerance <= room.min() and room.max() <= 22 + 22 * tolerance
    assert np.all(np.abs(found - exact) <= 73 * 22 / 0.13 * tolerance)


@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel"])
@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-6])
def test_a_thermostat_switches_where_it_has_to(boolean, tolerance, master):
    folder, net = boolean
    result = heated(folder, net, adaptive=tolerance, master=master)
    check_switches(result.unwrap(), tolerance)
    assert result.statistics.steps < 40000


@pytest.mark.parametrize("kind", ["Int32", "String"])
def test_integers_and_texts_are_compared_too(tmp_path, kind):
    net = house(tmp_path, kind)
    check_switches(heated(tmp_path, net, adaptive=1e-3).unwrap(), 1e-3)


def test_what_changes_with_each_step_is_named(tmp_path):
    house(tmp_path, "Boolean")
    toggling = [Var("T", "input", start=18.0), Var("on", "output", "Boolean", start=True, initial="exact")]
    make_fmu(tmp_path / "Toggle.fmu", toggling, me=None, step="v->on = !v->on; return OK;", calc="")
    net = network({"Room": "Room.fmu", "Thermostat": "Toggle.fmu"}, WIRES, folder=tmp_path)
    result = heated(tmp_path, net, adaptive=1e-4)
    assert result.status is Ending.STEP
    assert "Thermostat.on changes again and again" in result.failure.message
    assert heated(tmp_path, net).ok  # as it advises


# -- sizes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nominal", [False, True], ids=("no nominal values", "nominal values"))
def test_steps_are_the_same_in_other_units(tmp_path, nominal):
    """A.y = cos 5t and B.y = sin 5t, and a billionth of that."""
    traces = []
    for name, size in (("usual", 1.0), ("tiny", 1e-9)):
        stated = {"attributes": f'nominal="{size}"'} if nominal else {}
        for part, sign, start in (("A", "-", size), ("B", "", 0.0)):
            variables = [
                *(Var("p", "input", start=0.0, **stated), Var("x", "state", start=start)),
                *(Var("dx", "der", of="x", needs=["p"]), Var("y", "output", needs=["x"], **stated)),
            ]
            make_fmu(tmp_path / f"{name}{part}.fmu", variables, me=None, calc=f"v->dx = {sign}5 * v->p; v->y = v->x;")
        net = network({p: f"{name}{p}.fmu" for p in "AB"}, [("A.y", "B.p"), ("B.y", "A.p")], folder=tmp_path)
        settings = Settings(stop_time=2.0, step_size=0.001, adaptive=1e-4, master="jacobi")
        traces.append(run(make_plan(net, settings), Folder(tmp_path)).unwrap())
    for trace, size in zip(traces, (1.0, 1e-9), strict=True):
        assert len(trace.t) == approx(len(traces[0].t), rel=0.01)
        assert trace["A.y"] == approx(size * np.cos(5 * trace.t), abs=2e-4 * size)
        assert trace["B.y"] == approx(size * np.sin(5 * trace.t), abs=2e-4 * size)


def test_noise_far_below_all_signals_does_not_make_steps_small(tmp_path):
    """The output n is one of a million: nothing but rounding."""
    noise = [
        *(Var("p", "input", start=0.0), Var("x", "state", start=1.0), Var("dx", "der", of="x", needs=["x", "p"])),
        *(Var("y", "output", needs=["x"]), Var("n", "output", needs=["x"])),
    ]
    calc = "v->dx = v->p - v->x; v->y = v->x; v->n = 1e-13 * sin(1e14 * v->x);"
    make_fmu(tmp_path / "Noise.fmu", noise, me=None, calc=calc)
    net = network({"A": "Noise.fmu", "B": "Noise.fmu"}, [("A.y", "B.p")], folder=tmp_path)
    result = run(make_plan(net, Settings(stop_time=2.0, step_size=0.01, adaptive=1e-4)), Folder(tmp_path))
    trace = result.unwrap()
    assert trace["B.y"] == approx((1 + trace.t) * np.exp(-trace.t), abs=5e-3)
    assert result.statistics.steps < 2000


# -- the largest step ------------------------------------------------------------------------------------------


def held_back(energy):
    net = oscillator()
    if not energy:
        return net, {}
    return without(net, "System2", saves_state=False), {"power_bonds": (("System1.v1", "System2.F"),)}


@pytest.mark.parametrize("energy", [False, True], ids=("doubling", "energy"))
def test_no_step_is_larger_than_asked_for(energy):
    net, more = held_back(energy)
    loose = simulate_masses(net, adaptive=0.1, stop_time=20.0, **more).unwrap()
    assert np.diff(loose.t).max() <= 20.0 / 50 * (1 + 1e-12)
    short = simulate_masses(net, adaptive=0.1, stop_time=20.0, max_step_size="50ms", **more).unwrap()
    assert np.diff(short.t).max() <= 0.05 * (1 + 1e-12)
    assert len(short.t) >= 400


def test_a_largest_step_needs_adaptive_steps():
    with pytest.raises(ContradictingSettings, match="max_step_size"):
        simulate_masses(oscillator(), max_step_size=0.1)
    with pytest.raises(WrongValue, match="max_step_size must be greater than 0, found -1"):
        simulate_masses(oscillator(), adaptive=1e-3, max_step_size=-1.0)


@pytest.mark.parametrize("step", ["v->y = -v->y;", "v->y += 1;"], ids=["alternates", "counts"])
def test_a_real_output_that_jumps_in_each_step_ends_the_run(tmp_path, step):
    """No size of the step has a smaller error than another, and none is reached in which the run would ever end."""
    make_fmu(
        tmp_path / "A.fmu",
        [Var("y", "output", start=1.0, initial="exact")],
        me=None,
        step=f"{step} v->time = t + h; return OK;",
    )
    make_fmu(
        tmp_path / "B.fmu",
        [Var("u", "input"), Var("y", "output", start=0.0, initial="exact")],
        me=None,
        step="v->y += h * (v->u - v->y); v->time = t + h; return OK;",
    )
    system = write_system(tmp_path / "s", tmp_path, {"A": "A", "B": "B"}, [("A.y", "B.u")], 1.0)
    result = ssptool.simulate(system, adaptive=1e-3, accuracy="off", timeout=60)
    assert result.failure.ending is Ending.STEP and "A.y changes again and again" in result.failure.message
