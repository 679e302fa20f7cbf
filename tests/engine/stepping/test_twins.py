"""Simulations of each kind are the same in systems and in Python: set, cut, observed, saved and resumed."""

import pytest

import ssptool
from ssptool import Settings
from ssptool.engine.run.make_plan import make_plan
from ssptool.engine.stepping.saved import NotASavedSimulation
from ssptool.engine.stepping.simulation import SteppedRun
from tests.engine.dual_mass import MIXED, Folder, network, oscillator
from tests.engine.event_mode.systems import write_system as write_system_at_events
from tests.engine.masters.test_energy import BOND, write_forgetful
from tests.engine.ode.systems import beside, check_same
from tests.engine.test_both_ways import PUSHES
from tests.engine.twins import in_python

SIZES = pytest.mark.parametrize("sizes", [{}, {"adaptive": 1e-4}], ids=["equal", "doubled"])


def driven(begin, state, name, values, until):
    """Steps, a set value in between, a cut step, and a state from which another goes on, where a value is set too."""
    seen = []
    with begin(saved=None) as one:
        one.observe(lambda t, view: seen.append(t))
        one.step(4)
        one.set(name, values[0])
        one.run_until(until)
        one.set(name, values[1])
        one.step(2)
        one.save(state)
        list(one)
        whole = one.trace
    assert len(seen) > 8 and whole.t[-1] == seen[-1]
    with begin(saved=state) as other:
        list(other)
        check_same(whole, other.trace)
    with begin(saved=state) as other:
        other.set(name, values[2])
        other.step(3)
        assert other.time > other.trace.t[0]


def begun(net, folder, **settings):
    plan = make_plan(net, Settings(**{"stop_time": 0.8, "step_size": 0.01} | settings))
    return lambda saved: SteppedRun(plan, folder, saved=saved)


@pytest.mark.parametrize(
    "settings",
    [
        *({"master": "jacobi"}, {"master": "gauss-seidel"}, {"acceleration": "iqn-ils"}, {"iterations": 2}),
        *({"adaptive": 1e-4, "master": master} for master in ("jacobi", "gauss-seidel", "iterated")),
    ],
    ids=str,
)
def test_co_simulation(settings, tmp_path, twins):
    net = oscillator(MIXED, System2__m_c=0.5)
    driven(begun(net, Folder(), **settings), tmp_path / "state", "System1.m1", (2.0, 1.5, 3.0), 0.1234)
    assert twins() == 3


@SIZES
@pytest.mark.parametrize("inputs", PUSHES, ids=["lines", "steps", "constant"])
def test_inputs_that_are_driven(inputs, sizes, swing, tmp_path, twins):
    """Cut between jumps, and at one."""
    options = {"inputs": inputs, "step_size": 0.01, "stop_time": 0.6, **sizes}
    for until in (0.1234, 0.3):
        state = tmp_path / f"{until}"

        def begin(saved):
            return ssptool.Simulation(swing, saved=saved, **options)

        driven(begin, state, "Mass.m", (2.0, 1.5, 3.0), until)
    assert twins() == 6


def test_functions_that_drive_inputs(swing, tmp_path, twins):
    options = {"inputs": {"Sum.w": lambda t: t * t}, "step_size": 0.01, "stop_time": 0.6}
    driven(
        lambda saved: ssptool.Simulation(swing, saved=saved, **options),
        tmp_path / "state",
        "Mass.m",
        (2.0, 1.5, 3.0),
        0.1234,
    )
    assert twins() == 3


@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel"])
def test_sizes_by_energy(master, tmp_path, twins):
    """Of FMUs that save no state: nothing is saved."""
    options = {"adaptive": 1e-2, "power_bonds": (BOND,), "stop_time": 1.0, "implementation": "cs", "master": master}
    with ssptool.Simulation(write_forgetful(tmp_path), **options) as one:
        one.observe(lambda t, view: None)
        one.step(4)
        one.set("System1.m1", 2.0)
        one.run_until(0.1234)
        list(one)
    assert twins() == 1


SAMPLED = {"Plant": "fmi2/Mass", "Controller": "fmi3/SampledController", "Ball": "fmi3/Ball"}
SWINGING = {**SAMPLED, "Mass": "fmi2/Mass", "Spring": "fmi2/SpringDamper"}
PAIR = [("Mass.z", "Spring.z"), ("Mass.v", "Spring.v"), ("Spring.F", "Mass.F")]


@SIZES
@pytest.mark.parametrize("until", [0.4, 0.4567])
@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel", "iterated"])
@pytest.mark.parametrize(("name", "values"), [("Controller.y", (0.1, 0.2, 0.3)), ("Plant.F", (1.0, -1.0, 2.0))])
def test_event_mode(name, values, master, until, sizes, engine_models, tmp_path, twins):
    """Ticks and bounces, at one of which the step is cut; inputs of a component in event mode, and of another one."""
    loop = [("Plant.z", "Controller.y")] if name.startswith("Plant") else [("Controller.u", "Plant.F")]
    folder = write_system_at_events(tmp_path / "system", engine_models.parent, SWINGING, [*loop, *PAIR])
    options = {"start_values": {"Plant.m": "1"}, "stop_time": 1.0, "step_size": 0.03, "master": master, **sizes}
    driven(lambda saved: ssptool.Simulation(folder, saved=saved, **options), tmp_path / "state", name, values, until)
    assert twins() == 3


@pytest.mark.parametrize("integrator", ["bdf", "rosenbrock", "dormand-prince"])
@pytest.mark.parametrize("wires", [[], [("Ball.h", "Lag.u")]], ids=["free", "coupled"])
def test_an_ode(wires, integrator, test_models, tmp_path, twins):
    """A bounce at 0.4515 s, and what is set before it."""
    net = network({"Ball": "BouncingBall.fmu", "Lag": "Lag.fmu"}, wires, folder=test_models.parent / "fmi3")
    begin = begun(beside(net, "Ball", "Lag"), Folder(test_models.parent / "fmi3"), integrator=integrator)
    driven(begin, tmp_path / "state", "Ball.g", (9.0, 8.0, 0.0), 0.4567)
    assert twins() == 3


@SIZES
@pytest.mark.parametrize("exchange", ["System1", "System2"])
def test_an_ode_beside_co_simulation(exchange, sizes, tmp_path, twins):
    begin = begun(beside(oscillator(MIXED, System2__m_c=0.5), exchange), Folder(), **sizes)
    driven(begin, tmp_path / "state", "System1.m1", (2.0, 1.5, 3.0), 0.1234)
    assert twins() == 3


@SIZES
@pytest.mark.parametrize("version", [2, 3])
def test_events_of_an_ode_beside_co_simulation(version, sizes, test_models, tmp_path, twins):
    folder = test_models.parent / f"fmi{version}"
    net = network({"Ball": "BouncingBall.fmu", "Lag": "Lag.fmu"}, [("Ball.h", "Lag.u")], folder=folder)
    driven(begun(beside(net, "Ball"), Folder(folder), **sizes), tmp_path / "state", "Ball.g", (9.0, 8.0, 5.0), 0.4567)
    assert twins() == 3


@SIZES
def test_events_of_an_ode_with_co_simulation(sizes, engine_models, tmp_path, twins):
    """A tank that is full ends macro steps."""
    folder = engine_models.parent / "fmi3"
    files = {"Tank": "Cistern.fmu", "Counter": "Counter.fmu", "Plant": "Mass.fmu"}
    net = beside(network(files, [("Tank.full", "Counter.tick")], folder=folder), "Tank")
    for name, values in (("Tank.u", (4.0, 3.0, 2.0)), ("Plant.F", (1.0, 2.0, 3.0))):
        driven(begun(net, Folder(folder), **sizes), tmp_path / name, name, values, 0.4567)
    assert twins() == 6


def test_what_python_has_saved_is_refused_by_name(tmp_path):
    begin = begun(oscillator(MIXED), Folder())
    with in_python(), begin(saved=None) as one:
        one.step()
        one.save(tmp_path / "state")
    with pytest.raises(NotASavedSimulation, match="saved by another version"), begin(saved=tmp_path / "state"):
        pass


def test_a_state_of_other_sizes_is_refused(tmp_path, monkeypatch):
    """Whatever the file says of itself, as anybody may write one."""
    begin = begun(oscillator(MIXED), Folder())
    with begin(saved=None) as one:
        one.step()
        state = one._in_system.save()
        for wrong in (state[:-1], state + b"\0", state[:200], b""):
            monkeypatch.setattr(one._in_system, "save", lambda wrong=wrong: wrong)
            one.save(tmp_path / "state")
            with pytest.raises(NotASavedSimulation, match="the state"), begin(saved=tmp_path / "state"):
                pass
