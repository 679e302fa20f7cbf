"""Parts in event mode and with clocks inside an exported FMU: the bits of a run, after the events of each instant."""

import fmpy.validation
import numpy as np
import pytest
from fmpy.fmi1 import FMICallException

import ssptool
from tests.engine.event_mode.systems import write_system
from tests.engine.event_mode.test_event_mode import edited
from tests.exporting.fmus import Messages, exported, initialize, instance, real, set_real

pytestmark = pytest.mark.one_in(3)

LOOP = [("Plant.z", "Controller.y"), ("Controller.u", "Plant.F")]
CHAIN = [("Ball.bounce", "A.tick"), ("A.carry", "B.tick"), ("A.count", "B.add")]


@pytest.fixture
def system(models, tmp_path):
    """Write a system of these FMUs and return its folder."""
    return lambda components, connections=(), parameters="", **more: write_system(
        tmp_path / "system", models.parent, components, connections, parameters, **more
    )


def after_events(run, times):
    """Rows of a run at these times, after the events there: (signals,) for each."""
    rows = [int(np.flatnonzero(np.abs(run.t - t) <= 1e-9)[-1]) for t in times]
    return run.y[rows]


def assert_same_after_events(fmu, run, folder, step, count):
    """All outputs of the FMU, communication step by communication step."""
    signals = list(map(str, run.signals))
    with instance(fmu, folder) as slave:
        _add_elements(slave, signals)
        kinds = types_of(fmu)
        names = [name for name in slave.references if name in signals and kinds.get(name) != "Clock"]
        assert names
        initialize(slave)
        found = [[value(slave, name, run) for name in names]]
        for k in range(count):
            slave.doStep(k * step, step)
            found.append([value(slave, name, run) for name in names])
    rows = after_events(run, step * np.arange(count + 1))
    for place, name in enumerate(names):
        own = rows[:, signals.index(name)]
        np.testing.assert_array_equal(np.array([row[place] for row in found], dtype=own.dtype), own, err_msg=name)
    return names


def _add_elements(slave, signals):
    """Arrays, which FMI 3.0 gets as a whole, by the names of their elements."""
    slave.arrays = {}
    for signal in signals:
        array = signal.partition("[")[0]
        if array != signal and array in slave.references:
            slave.arrays.setdefault(array, []).append(signal)
            slave.references[signal] = slave.references[array]


def value(slave, name, run):
    """Of any type, as the trace has it."""
    kind = run.types[list(map(str, run.signals)).index(name)] if hasattr(run, "types") else "Float64"
    return get(slave, name, kind)


def get(slave, name, kind):
    reference = [slave.references[name]]
    array = getattr(slave, "arrays", {}).get(name.partition("[")[0])
    if array:
        return getattr(slave, f"get{kind}")(reference, len(array))[array.index(name)]
    if hasattr(slave, "getFloat64"):
        return getattr(slave, f"get{kind}")(reference)[0]
    of_fmi2 = {"Float64": slave.getReal, "Boolean": slave.getBoolean, "String": slave.getString}
    return of_fmi2.get(kind, slave.getInteger)(reference)[0]


SYSTEMS = {
    "sampled loop": ({"Plant": "fmi3/Mass", "Controller": "fmi3/SampledController"}, LOOP, {"Plant.m": "1"}),
    "sampled loop of FMI 2.0": ({"Plant": "fmi2/Mass", "Controller": "fmi3/SampledController"}, LOOP, {"Plant.m": "1"}),
    "ball": ({"Ball": "fmi3/Ball"}, [], {}),
    "ball beside a mass": ({"Ball": "fmi3/Ball", "Plant": "fmi2/Mass"}, [], {"Plant.m": "1", "Plant.v": "3"}),
    "counted bounces": ({"Ball": "fmi3/Ball", "Counter": "fmi3/Counter"}, [("Ball.bounce", "Counter.tick")], {}),
    "chain of clocks": ({"Ball": "fmi3/Ball", "A": "fmi3/Counter", "B": "fmi3/Counter"}, CHAIN, {}),
    "late chain": ({"Ball": "fmi3/Ball", "A": "fmi3/Counter", "B": "fmi3/Counter"}, CHAIN, {"A.late": "1"}),
    "changing and countdown": ({"Alarm": "fmi3/Alarm"}, [], {}),
    "metronome": ({"M": "fmi3/Metronome"}, [], {}),
    "tank": ({"Plant": "fmi2/Mass", "Tank": "fmi3/Tank"}, [("Plant.v", "Tank.u")], {}),
    "arrays": ({"A": "fmi3/Rotation", "B": "fmi3/Rotation"}, [("A.z", "B.w")], {}),
}


@pytest.mark.parametrize("step", [0.1, 0.25])
@pytest.mark.parametrize("name", SYSTEMS)
def test_a_system_with_events_gives_the_bits_of_a_run(name, step, system, tmp_path, fmi):
    components, connections, values = SYSTEMS[name]
    folder = system(components, connections)
    options = {"step_size": step, "stop_time": 2.0, "start_values": values}
    run = ssptool.simulate(folder, **options).unwrap()
    fmu = exported(folder, tmp_path, fmi=fmi, **options)
    assert fmpy.validation.validate_fmu(str(fmu)) == []
    assert_same_after_events(fmu, run, tmp_path / "unpacked", step, round(2.0 / step))


BALLS = {"Ball": "fmi3/Ball", "Second": "fmi3/Ball", "Plant": "fmi3/Mass", "Controller": "fmi3/SampledController"}
PAIR = {"Mass": "fmi2/Mass", "Spring": "fmi2/SpringDamper"}
COUPLED = [("Mass.z", "Spring.z"), ("Mass.v", "Spring.v"), ("Spring.F", "Mass.F")]


@pytest.mark.parametrize("approximation", ["hold", "auto"])
@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel", "iterated"])
def test_every_master_ends_its_steps_at_events(master, approximation, system, tmp_path):
    """Two balls, of which one bounces inside the other's steps, a sampled controller and a coupled pair."""
    folder = system({**BALLS, **PAIR}, [*LOOP, *COUPLED])
    values = {"Second.e": "0.6", "Plant.m": "1"}
    options = {
        "step_size": 0.01,
        "stop_time": 1.0,
        "start_values": values,
        "master": master,
        "approximation": approximation,
    }
    run = ssptool.simulate(folder, **options).unwrap()
    fmu = exported(folder, tmp_path, fmi=3, **options)
    names = assert_same_after_events(fmu, run, tmp_path / "unpacked", 0.05, 20)
    assert {"Ball.v", "Second.v", "Controller.u", "Mass.z"} <= {*names}
    assert len(run.t) >= 101 + 11 + 2  # ticks and bounces have two rows each


@pytest.mark.parametrize("master", ["gauss-seidel", "iterated"])
def test_inputs_that_move_inside_a_step_move_until_it_ends_early(master, system, tmp_path, fmi):
    """v = t fills a tank of size 1, which is then emptied: at √(2 n). Its FMU asks for the input inside of steps."""
    folder = system({"Plant": "fmi2/Mass", "Tank": "fmi3/Tank"}, [("Plant.v", "Tank.u")])
    values = {"Plant.m": "1", "Plant.F": "1"}
    options = {
        "step_size": 0.5,
        "stop_time": 4.0,
        "start_values": values,
        "master": master,
        "approximation": "interpolate",
    }
    run = ssptool.simulate(folder, **options).unwrap()
    fmu = exported(folder, tmp_path, fmi=fmi, **options)
    assert_same_after_events(fmu, run, tmp_path / "unpacked", 0.5, 8)
    assert run["Tank.emptied"][-1] == 8


def test_communication_steps_of_any_size_see_the_same_ball(system, tmp_path, fmi):
    """h = 1 − g t²/2 until it bounces at √(2/g), and the same beyond, whatever the importer's steps."""
    fmu = exported(system({"Ball": "fmi3/Ball"}), tmp_path, fmi=fmi, step_size=0.1, stop_time=1.0)
    first, speed = np.sqrt(2 / 9.81), 0.7 * np.sqrt(2 * 9.81)
    with instance(fmu, tmp_path / "unpacked") as slave:
        initialize(slave)
        t = 0.0
        for step in (0.03, 0.21, 0.17, 0.04, 0.5, 0.001):
            slave.doStep(t, step)
            t += step
            past = t - first
            height = 1 - 9.81 / 2 * t**2 if past < 0 else speed * past - 9.81 / 2 * past**2
            assert real(slave, "Ball.h") == pytest.approx(height, abs=1e-12)
        assert get(slave, "Ball.bounces", "Int32") == 1


def test_what_an_importer_sets_is_an_event(system, tmp_path, fmi):
    """A clocked input waits for the next tick; a force acts at once."""
    root = (
        '<ssd:Connector name="y" kind="input"><ssc:Real/></ssd:Connector>'
        '<ssd:Connector name="F" kind="input"><ssc:Real/></ssd:Connector>'
    )
    parts = {"Controller": "fmi3/SampledController", "Plant": "fmi2/Mass"}
    folder = system(parts, [(".y", "Controller.y"), (".F", "Plant.F")], connectors=root)
    options = {"step_size": 0.05, "stop_time": 1.0, "start_values": {"Plant.m": "1"}}
    tables = {"y": ssptool.types.Table((0.0, 0.25, 0.25, 1.0), (0.0, 0.0, 3.0, 3.0))}
    tables["F"] = ssptool.types.Table((0.0, 0.5, 0.5, 1.0), (0.0, 0.0, 2.0, 2.0))
    run = ssptool.simulate(folder, inputs=tables, **options).unwrap()
    fmu = exported(folder, tmp_path, fmi=fmi, expose=["Controller.u", "Plant.v"], **options)
    with instance(fmu, tmp_path / "unpacked") as slave:
        initialize(slave)
        found = []
        for k in range(20):
            slave.doStep(k * 0.05, 0.05)
            if k == 4:
                set_real(slave, "y", 3.0)
            if k == 9:
                set_real(slave, "F", 2.0)
            found.append((real(slave, "Controller.u"), real(slave, "Plant.v")))
    signals = list(map(str, run.signals))
    rows = after_events(run, 0.05 * np.arange(1, 21))
    places = [signals.index(name) for name in ("Controller.u", "Plant.v")]
    assert np.array(found).tolist() == rows[:, places].tolist()
    assert found[4][0] == 0.0 and found[5][0] == -6.0


def test_a_tunable_parameter_is_set_in_event_mode(system, tmp_path, fmi):
    """Ticks come three times as often once the rate is 3, counted from the change."""
    fmu = exported(system({"M": "fmi3/Metronome"}), tmp_path, fmi=fmi, expose=["M.*"], step_size=0.1, stop_time=2.0)
    with instance(fmu, tmp_path / "unpacked") as slave:
        initialize(slave)
        slave.doStep(0.0, 1.0)
        before = get(slave, "M.beats", "Int32")
        put = slave.setInt32 if fmi == 3 else slave.setInteger
        put([slave.references["M.rate"]], [get(slave, "M.rate", "Int32") * 3])
        slave.doStep(1.0, 1.0)
        assert get(slave, "M.beats", "Int32") - before > 2 * before


@pytest.mark.parametrize("name", ["sampled loop", "late chain", "changing and countdown", "ball beside a mass"])
def test_a_state_has_clocks_and_events_to_come(name, system, tmp_path, fmi):
    components, connections, values = SYSTEMS[name]
    options = {"step_size": 0.05, "stop_time": 2.0, "start_values": values}
    fmu = exported(system(components, connections), tmp_path, fmi=fmi, **options)
    kinds = types_of(fmu)

    def go_on(slave, begin, end):
        found = []
        for k in range(begin, end):
            slave.doStep(k * 0.05, 0.05)
            names = [name for name in slave.references if name != "time" and kinds[name] != "Clock"]
            found.append([get(slave, name, kinds[name]) for name in names])
        return found

    with instance(fmu, tmp_path / "unpacked") as slave, instance(fmu, tmp_path / "other") as other:
        initialize(slave)
        go_on(slave, 0, 5)
        state = slave.getFMUState()
        content = slave.serializeFMUState(state)
        first = go_on(slave, 5, 40)
        assert len({tuple(one) for one in first}) > 2
        slave.setFMUState(state)
        assert go_on(slave, 5, 40) == first
        slave.freeFMUState(state)
        state = other.deserializeFMUState(content)
        other.setFMUState(state)
        assert go_on(other, 5, 40) == first
        other.freeFMUState(state)


def types_of(fmu):
    """Types of variables by name, as FMI 3.0 spells them."""
    kinds = {"Real": "Float64", "Integer": "Int32"}
    return {one.name: kinds.get(one.type, one.type) for one in fmpy.read_model_description(str(fmu)).modelVariables}


@pytest.mark.parametrize("others", [{}, {"Second": "fmi3/Ball"}], ids=["one leads", "nobody leads"])
def test_where_not_all_can_go_back_one_leads_or_events_wait_for_the_end_of_the_step(others, system, tmp_path, fmi):
    parts = {"Plant": "fmi2/Mass", "Ball": "fmi3/Ball", **others}
    folder = edited(system(parts, [("Ball.v", "Plant.F")]), "Mass", canGetAndSetFMUstate="false")
    options = {"step_size": 0.25, "stop_time": 2.0}
    run = ssptool.simulate(folder, **options).unwrap()
    fmu = exported(folder, tmp_path, fmi=fmi, **options)
    assert_same_after_events(fmu, run, tmp_path / "unpacked", 0.25, 8)


def test_a_part_that_returns_early_unasked_completes_its_step_alone(system, tmp_path, fmi):
    """Its partner, a mass with z = 3 t, steps once."""
    parts = {"Pauses": "fmi3/Pauses", "Plant": "fmi2/Mass", "Other": "fmi3/Pauses"}
    folder = edited(system(parts, [("Plant.v", "Pauses.u")]), "Mass", canGetAndSetFMUstate="false")
    values = {"Plant.v": "3", "Plant.F": "0", "Plant.m": "2", "Pauses.lie": "1"}
    options = {"step_size": 0.25, "stop_time": 2.0, "start_values": values}
    run = ssptool.simulate(folder, **options).unwrap()
    assert run["Pauses.x"][-1] == pytest.approx(6.0, abs=1e-12)
    fmu = exported(folder, tmp_path, fmi=fmi, **options)
    assert_same_after_events(fmu, run, tmp_path / "unpacked", 0.25, 8)


@pytest.mark.parametrize("lie", ["2", "3", "4", "5"])
def test_a_part_that_contradicts_its_step_ends_it(lie, system, tmp_path, fmi):
    parts = {"Pauses": "fmi3/Pauses", "Plant": "fmi2/Mass", "Other": "fmi3/Pauses"}  # so that nobody leads
    folder = edited(system(parts, [("Plant.v", "Pauses.u")]), "Mass", canGetAndSetFMUstate="false")
    options = {"step_size": 0.25, "stop_time": 2.0, "start_values": {"Pauses.lie": lie}}
    fmu = exported(folder, tmp_path, fmi=fmi, **options)
    messages = Messages()
    with instance(fmu, tmp_path / "unpacked", messages) as slave:
        initialize(slave)
        with pytest.raises(FMICallException):
            slave.doStep(0.0, 0.25)
    assert any("component Pauses: fmi3DoStep:" in text for _, _, text in messages)


def test_a_component_alone_needs_no_way_back(system, tmp_path, fmi):
    folder = edited(system({"Ball": "fmi3/Ball"}), "Ball", canGetAndSetFMUState="false")
    options = {"step_size": 0.25, "stop_time": 1.0}
    run = ssptool.simulate(folder, **options).unwrap()
    fmu = exported(folder, tmp_path, fmi=fmi, **options)
    assert_same_after_events(fmu, run, tmp_path / "unpacked", 0.25, 4)


@pytest.mark.parametrize(
    ("components", "connections", "values", "message"),
    [
        ({"Alarm": "fmi3/Alarm"}, [], {"Alarm.pause": "0"}, "chatters: 10 events by clock alarm of Alarm"),
        ({"Alarm": "fmi3/Alarm"}, [], {"Alarm.pause": "-1"}, ""),
        (
            {"A": "fmi3/Counter", "B": "fmi3/Counter"},
            [("A.carry", "B.tick"), ("B.carry", "A.tick")],
            {"A.late": "2", "B.late": "1"},
            "the event iteration does not converge: after 100 iterations",
        ),
    ],
)
def test_events_without_end_are_errors_with_the_messages_of_a_run(
    components, connections, values, message, system, tmp_path, fmi
):
    folder = system(components, connections)
    options = {"step_size": 0.6, "stop_time": 1.2, "start_values": values}
    run = ssptool.simulate(folder, **options)
    fmu, messages = exported(folder, tmp_path, fmi=fmi, **options), Messages()
    with instance(fmu, tmp_path / "unpacked", messages) as slave:
        try:
            initialize(slave)
            slave.doStep(0.0, 0.6)
            slave.doStep(0.6, 0.6)
        except FMICallException as error:
            assert run.failure is not None and error.status == 3
        else:
            assert run.failure is None
    if message:
        assert run.failure is not None and message in run.failure.message
        assert any(message in text for _, _, text in messages)
