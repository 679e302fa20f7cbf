"""Events of model exchange beside co-simulation in an exported FMU: the bits of a run, after those of each instant."""

import re

import fmpy.validation
import numpy as np
import pytest

import ssptool
from ssptool.engine.failure import Unsupported
from tests.engine.event_mode.systems import write_system
from tests.exporting.fmus import exported, follows_a_saved_state, initialize, instance, set_real
from tests.exporting.test_event_mode import get, types_of
from tests.exporting.test_exchange_beside_simulation import mixed

pytestmark = pytest.mark.one_in(3)

TYPES = ("on", "count", "text", "level")
VALVE = {"Tank": "Vessel", "Valve": "Switch", "Log": "Clerk"}
SWITCHED = [
    ("Tank.x", "Valve.u"),
    ("Valve.on", "Tank.open"),
    *((f"Valve.{kind}", f"Log.{kind}") for kind in TYPES),
]
FILLED = {"Tank.fill": 0.9, "Tank.drain": 3.1}
ROUND = [("Tank.x", "Controller.y"), ("Controller.sample", "Tank.drop"), ("Controller.u", "Tank.amount")]
HALVED = {"Controller.kp": -0.5, "Controller.ki": 0.0, "Tank.top": 10.0}
CHAIN = [("Sampler.third", "Counter.tick"), ("Counter.carry", "Follower.trigger"), ("Counter.count", "Follower.v")]
FILLS = [("Tank.full", "Counter.tick")]
BOUNCES = [("Ball.bounce", "Follower.trigger"), ("Ball.v", "Follower.v")]

SYSTEMS = {
    # Co-simulation has no event mode: the ODE handles its events, and takes what others say at communication points.
    "a valve that leaves the ODE": (VALVE, {"Tank", "Valve"}, SWITCHED, FILLED),
    "a valve that enters the ODE": (VALVE, {"Tank", "Log"}, SWITCHED, FILLED),
    "clocks inside the ODE": (
        {"Tank": "Vessel", "Sampler": "Sampler", "Follower": "Follower", "Plant": "../fmi2/Mass"},
        {"Tank", "Sampler", "Follower"},
        [("Tank.x", "Sampler.u"), ("Sampler.third", "Follower.trigger"), ("Sampler.value", "Follower.v")],
        {"Tank.fill": 1.0, "Plant.m": 1.0, "Plant.v": 3.0},
    ),
    # Both have events of their own, which do not meet.
    "a ball beside a cistern": (
        {"Ball": "Ball", "Tank": "Cistern", "Counter": "Counter"},
        {"Tank"},
        [("Ball.bounce", "Counter.tick"), ("Ball.h", "Tank.u")],
        {},
    ),
    "a ball beside a valve": ({"Ball": "../fmi3/Ball", **VALVE}, {"Tank", "Valve"}, SWITCHED, FILLED),
    # Events are those of the whole system.
    "a tick that goes around": (
        {"Tank": "Cistern", "Controller": "SampledController"},
        {"Tank"},
        ROUND,
        HALVED,
    ),
    "a chain of clocks": (
        {"Sampler": "Sampler", "Counter": "Counter", "Follower": "Follower"},
        {"Sampler", "Follower"},
        CHAIN,
        {},
    ),
    "fills that are counted": (
        {"Tank": "Cistern", "Counter": "Counter", "Plant": "../fmi2/Mass"},
        {"Tank"},
        FILLS,
        {"Tank.u": 1.5, "Plant.m": 1.0, "Plant.v": 3.0},
    ),
    "bounces that are followed": (
        {"Ball": "Ball", "Follower": "Follower", "Tank": "Cistern"},
        {"Follower", "Tank"},
        BOUNCES,
        {"Tank.top": 10.0},
    ),
}
ONE_STEP = {"integrator": "dormand-prince", "tolerance": 1e-9, "stop_time": 1.5}


@pytest.fixture
def system(models, tmp_path):
    """Write a system of FMUs, some of them as model exchange, and return its folder. A valve has types of its version
    of FMI, and whatever has clocks is of FMI 3.0.
    """

    def write(name, fmi=3):
        fmus = models if fmi == 2 and "Valve" in SYSTEMS[name][0] else models.parent / "fmi3"
        components, exchange, connections, _ = SYSTEMS[name]
        folder = write_system(tmp_path / "system", fmus, components, connections)
        ssd = folder / "SystemStructure.ssd"
        # Enumerations of a system would have to be defined.
        ssd.write_text(
            re.sub(r'<ssd:Connector name="\w+" kind="\w+"><ssc:Enumeration/></ssd:Connector>', "", ssd.read_text())
        )
        return mixed(folder, *exchange)

    return write


def options_of(name, **more):
    return {"start_values": SYSTEMS[name][3], "step_size": 0.1} | ONE_STEP | more


def shown(fmu, slave):
    """Outputs with their types, but for clocks and what is binary."""
    kinds = types_of(fmu)
    return {name: kinds[name] for name in slave.references if "." in name and kinds[name] not in ("Clock", "Binary")}


def values(slave, kinds):
    found = [get(slave, name, kind) for name, kind in kinds.items()]
    return [one.decode() if isinstance(one, bytes) else one for one in found]


def assert_same_after_events(fmu, run, folder, step, count):
    """All outputs of the FMU, communication step by communication step, are those of a run after its events."""
    with instance(fmu, folder) as slave:
        kinds = shown(fmu, slave)
        assert kinds
        initialize(slave)
        found = [values(slave, kinds)]
        for k in range(count):
            slave.doStep(k * step, step)
            found.append(values(slave, kinds))
    rows = [int(np.flatnonzero(np.abs(run.t - t) <= 1e-12)[-1]) for t in step * np.arange(count + 1)]
    for name, column in zip(kinds, zip(*found, strict=True), strict=True):
        assert list(column) == run[name][rows].tolist(), name
    return kinds


@pytest.mark.parametrize("step", [0.1, 0.25])
@pytest.mark.parametrize("name", SYSTEMS)
def test_events_of_both_kinds_give_the_bits_of_a_run(name, step, system, tmp_path, fmi):
    folder = system(name, fmi)
    options = options_of(name, step_size=step)
    run = ssptool.simulate(folder, **options).unwrap()
    fmu = exported(folder, tmp_path, fmi=fmi, **options)
    assert fmpy.validation.validate_fmu(str(fmu)) == []
    assert len(run.t) > round(1.5 / step) + 1  # events have rows of their own
    assert_same_after_events(fmu, run, tmp_path / "unpacked", step, round(1.5 / step))


@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel", "iterated"])
@pytest.mark.parametrize("integrator", ["dormand-prince", "rosenbrock"])
@pytest.mark.parametrize("name", ["a valve that enters the ODE", "a ball beside a cistern", "a tick that goes around"])
def test_every_master_and_integrator_does_so(name, integrator, master, system, tmp_path):
    folder = system(name)
    options = options_of(name, master=master, integrator=integrator)
    run = ssptool.simulate(folder, **options).unwrap()
    fmu = exported(folder, tmp_path, fmi=3, **options)
    assert_same_after_events(fmu, run, tmp_path / "unpacked", 0.1, 15)


@pytest.mark.parametrize("name", SYSTEMS)
def test_what_follows_a_saved_state_follows_it_again(name, system, tmp_path, fmi):
    """In the same instance, and as bytes in one that was reset."""
    folder = system(name, fmi)
    options = options_of(name)
    fmu = exported(folder, tmp_path, fmi=fmi, **options)
    with instance(fmu, tmp_path / "unpacked") as slave:
        kinds = shown(fmu, slave)
        initialize(slave)

        def steps(first, count):
            found = []
            for number in range(first, first + count):
                slave.doStep(number * 0.1, 0.1)
                found.append(values(slave, kinds))
            return found

        follows_a_saved_state(slave, steps, 7, 8)


@pytest.fixture
def driven(models, tmp_path):
    """Write a system of FMUs of FMI 3.0 with a connector of its own, and return its folder."""

    def write(components, exchange, connections, connector):
        fmus = models.parent / "fmi3"
        return mixed(write_system(tmp_path / "system", fmus, components, connections, connectors=connector), *exchange)

    return write


def test_what_an_importer_sets_is_an_event_of_the_ode(driven, tmp_path, fmi):
    """A valve that opens at 0.5 s in a tank, filled by 1/s and emptied by 3/s."""
    connector = '<ssd:Connector name="open" kind="input"><ssc:Boolean/></ssd:Connector>'
    folder = driven({"Tank": "Vessel", "Plant": "../fmi2/Mass"}, {"Tank"}, [(".open", "Tank.open")], connector)
    starts = {"Tank.fill": 1.0, "Tank.drain": 3.0, "Plant.m": 1.0}
    fmu = exported(folder, tmp_path, fmi=fmi, expose=["Tank.x"], step_size=0.1, start_values=starts, tolerance=1e-9)
    with instance(fmu, tmp_path / "unpacked") as slave:
        initialize(slave)
        levels = []
        for number in range(7):
            if number == 5:
                slave.setBoolean([slave.references["open"]], [True])
            slave.doStep(number * 0.1, 0.1)
            levels.append(get(slave, "Tank.x", "Float64"))
    assert levels == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5, 0.3, 0.1], abs=1e-9)


def test_what_an_importer_sets_is_an_event_of_all(driven, tmp_path, fmi):
    """x is 0.5 where u becomes 4: the tank is full after 0.125 s, and every 0.25 s from there."""
    connector = '<ssd:Connector name="u" kind="input"><ssc:Real/></ssd:Connector>'
    wires = [*FILLS, (".u", "Tank.u")]
    folder = driven({"Tank": "Cistern", "Counter": "Counter"}, {"Tank"}, wires, connector)
    starts = {"u": 1.0}
    fmu = exported(folder, tmp_path, fmi=fmi, expose=["Tank.*", "Counter.*"], step_size=0.1, start_values=starts)
    with instance(fmu, tmp_path / "unpacked") as slave:
        initialize(slave)
        counts = []
        for number in range(10):
            if number == 5:
                set_real(slave, "u", 4.0)
            slave.doStep(number * 0.1, 0.1)
            counts.append(tuple(get(slave, name, "Int32") for name in ("Tank.fills", "Counter.count")))
    assert counts == [(0, 0)] * 6 + [(1, 1)] * 2 + [(2, 2)] * 2


def test_a_clock_of_the_system_is_refused_beside_model_exchange(driven, tmp_path):
    connector = '<ssd:Connector name="tick" kind="output"><ssc:Clock/></ssd:Connector>'
    wires = [*FILLS, ("Counter.carry", ".tick")]
    folder = driven({"Tank": "Cistern", "Counter": "Counter"}, {"Tank"}, wires, connector)
    with pytest.raises(Unsupported, match=r"Counter\.carry in a mixed system"):
        exported(folder, tmp_path, fmi=3)
