"""Event mode, early returns and clocks that an exported FMU of FMI 3.0 offers to importers of co-simulation."""

from contextlib import contextmanager
from ctypes import byref, c_bool, c_double, c_int, c_uint64

import fmpy
import fmpy.validation
import numpy as np
import pytest
from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import fmi2LastSuccessfulTime, fmi2Terminated
from fmpy.fmi3 import FMU3Slave, fmi3ValueReference
from hypothesis import given, settings
from hypothesis import strategies as st

import ssptool
from ssptool.engine.failure import Unsupported
from tests.engine.event_mode.systems import write_system
from tests.engine.event_mode.test_clocks import bounces, sampled_loop
from tests.engine.small.test_endings import ASKS, STAIRS, stair
from tests.engine.small.test_endings import system as asking_to_end
from tests.exporting.fmus import SYSTEMS, Messages, exported, initialize, instance, set_up, unpack
from tests.exporting.test_event_mode import CHAIN, LOOP, get

pytestmark = pytest.mark.one_in(3)

CLOCKED = """
<ssd:Connector name="tick" kind="input"><ssc:Clock/></ssd:Connector>
<ssd:Connector name="add" kind="input"><ssc:Int32/></ssd:Connector>
<ssd:Connector name="count" kind="output"><ssc:Int32/></ssd:Connector>
<ssd:Connector name="carry" kind="output"><ssc:Clock/></ssd:Connector>
"""
COUNTER = [(".tick", "C.tick"), (".add", "C.add"), ("C.count", ".count"), ("C.carry", ".carry")]


@pytest.fixture
def system(models, tmp_path):
    """Write a system of these FMUs and return its folder."""
    return lambda components, connections=(), **more: write_system(
        tmp_path / "system", models.parent, components, connections, **more
    )


@contextmanager
def importer(fmu, folder, messages=None, **use):
    """An instance that an importer in event mode has, not initialized."""
    description = fmpy.read_model_description(str(fmu))
    slave = FMU3Slave(
        guid=description.guid,
        unzipDirectory=str(unpack(fmu, folder)),
        modelIdentifier=description.coSimulation.modelIdentifier,
        instanceName="exported",
    )
    slave.references = {one.name: one.valueReference for one in description.modelVariables}
    log = None if messages is None else messages.log
    slave.instantiate(logMessage=log, **{"eventModeUsed": True, "earlyReturnAllowed": True, **use})
    try:
        yield slave
    finally:
        slave.freeInstance()


def handle_event(slave, clocks=()):
    """Go through the event iterations and leave event mode; the next time event, or None, and ticks of these clocks."""
    ticks = dict.fromkeys(clocks, 0)
    while True:
        for name in clocks:
            ticks[name] += ticking(slave, name)
        again, terminate, nominals, states, defined, time = slave.updateDiscreteStates()
        assert (terminate, nominals, states) == (False, False, False)
        if not again:
            break
    slave.enterStepMode()
    return (time if defined else None), ticks


def ticking(slave, name):
    return slave.getClock([slave.references[name]])[0]


def tick(slave, name, active=True):
    slave.setClock([slave.references[name]], [active])


def times(call, slave, name, *types):
    """What is told of the times of a clock."""
    places = [(kind * 1)() for kind in types]
    call((fmi3ValueReference * 1)(slave.references[name]), *places)
    return [place[0] for place in places]


def attributes(fmu):
    return {one.name: one for one in fmpy.read_model_description(str(fmu)).modelVariables}


# --- the model description --------------------------------------------------------------------------------------------


def test_clocks_and_what_belongs_to_them_are_described(system, tmp_path):
    folder = system({"C": "fmi3/Counter"}, COUNTER, connectors=CLOCKED)
    fmu = exported(folder, tmp_path, fmi=3, step_size=0.1, stop_time=1.0)
    assert fmpy.validation.validate_fmu(str(fmu)) == []
    known = attributes(fmu)
    for name, causality in {"tick": "input", "carry": "output"}.items():
        found = known[name]
        assert (found.type, found.causality, found.variability) == ("Clock", causality, "discrete")
        assert found.intervalVariability == "triggered"
    for name in ("add", "count"):
        assert known[name].variability == "discrete"
        assert [one.name for one in known[name].clocks] == ["tick"]
    simulation = fmpy.read_model_description(str(fmu)).coSimulation
    assert simulation.hasEventMode and simulation.mightReturnEarlyFromDoStep
    assert not simulation.canReturnEarlyAfterIntermediateUpdate


def test_what_changes_with_a_hidden_clock_too_belongs_to_none(system, tmp_path):
    fmu = exported(system({"C": "fmi3/SampledController"}), tmp_path, fmi=3, step_size=0.1, stop_time=1.0)
    found = attributes(fmu)["C.u"]
    assert (found.variability, found.clocks) == ("discrete", None)


def test_a_clock_with_an_interval_says_it(system, tmp_path):
    clock = '<ssc:Clock intervalVariability="constant" resolution="10" intervalCounter="3" shiftCounter="1"/>'
    root = f'<ssd:Connector name="tick" kind="input">{clock}</ssd:Connector>'
    folder = system({"C": "fmi3/Counter"}, [(".tick", "C.tick")], connectors=root)
    fmu = exported(folder, tmp_path, fmi=3, step_size=0.1, stop_time=1.0, expose="C.*")
    assert fmpy.validation.validate_fmu(str(fmu)) == []
    assert attributes(fmu)["tick"].intervalVariability == "constant"
    with importer(fmu, tmp_path / "unpacked") as slave:
        set_up(slave)
        assert times(slave.getIntervalDecimal, slave, "tick", c_double, c_int) == [0.3, 1]
        assert times(slave.getIntervalFraction, slave, "tick", c_uint64, c_uint64, c_int) == [3, 10, 1]
        assert times(slave.getShiftDecimal, slave, "tick", c_double) == [0.1]
        assert times(slave.getShiftFraction, slave, "tick", c_uint64, c_uint64) == [1, 10]


def test_capabilities_have_reasons(system):
    def of(plan):
        found = ssptool.exportable(plan, fmi=3).capabilities
        flags = ("hasEventMode", "mightReturnEarlyFromDoStep")
        return {one.flag: (one.able, one.reason) for one in found if one.flag in flags}

    assert of(ssptool.plan(system({"Ball": "fmi3/Ball"}), step_size=0.1)) == {
        "hasEventMode": (True, "events of Ball are offered to importers"),
        "mightReturnEarlyFromDoStep": (True, "steps end where there is an event, if the importer allows it"),
    }
    without = of(ssptool.plan(SYSTEMS / "one_dof_oscillator"))
    assert set(without.values()) == {(False, "no component has an event mode, or needs it")}


@pytest.mark.parametrize(
    ("kind", "message"), [("fixed", "fixed clocks of the system are not supported"), ("constant", "needs an interval")]
)
def test_input_clocks_of_other_kinds_are_refused_by_name(kind, message, system, tmp_path):
    root = f'<ssd:Connector name="tick" kind="input"><ssc:Clock intervalVariability="{kind}"/></ssd:Connector>'
    folder = system({"C": "fmi3/Counter"}, [(".tick", "C.tick")], connectors=root)
    with pytest.raises(Unsupported, match=f"connector tick: .*{message}"):
        exported(folder, tmp_path, fmi=3, step_size=0.1, stop_time=1.0)


def test_clocks_need_fmi3(system, tmp_path):
    folder = system({"C": "fmi3/Counter"}, COUNTER, connectors=CLOCKED)
    with pytest.raises(Unsupported, match=r"variable tick: .*type Clock.* FMI 2\.0.*--fmi 3"):
        exported(folder, tmp_path, fmi=2, step_size=0.1, stop_time=1.0)


def test_a_run_says_that_nothing_ticks_a_clock_of_the_system(system):
    plan = ssptool.plan(system({"C": "fmi3/Counter"}, COUNTER, connectors=CLOCKED), step_size=0.1, stop_time=1.0)
    assert [note for note in plan.notes if "clock tick of the system never ticks" in note]


# --- events -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def ball(system, tmp_path):
    return exported(system({"Ball": "fmi3/Ball"}), tmp_path, fmi=3, step_size=0.1, stop_time=2.0)


def test_steps_return_early_where_the_ball_bounces(ball, tmp_path):
    """The clock ticks there, and in event mode the speed changes its sign."""
    with importer(ball, tmp_path / "unpacked") as slave:
        initialize(slave)
        handle_event(slave)
        t, found = 0.0, []
        while t < 2.0:
            step = min(0.5, 2.0 - t)
            event, terminate, early, reached = slave.doStep(t, step)
            assert not terminate and early == (reached < t + step)
            t = reached if early else t + step
            if not event:
                continue
            before = get(slave, "Ball.v", "Float64")
            slave.enterEventMode()
            _, ticks = handle_event(slave, ["Ball.bounce"])
            assert ticks == {"Ball.bounce": 1}
            assert get(slave, "Ball.v", "Float64") == -0.7 * before
            found.append(t)
    assert found == pytest.approx(bounces(0.7, len(found)), abs=1e-12)
    assert len(found) == np.count_nonzero(bounces(0.7, 50) <= 2.0)


def test_where_steps_may_not_return_early_their_events_are_told_at_the_end(ball, tmp_path):
    """What happens inside is handled inside, and the tick is told at the communication point."""
    with importer(ball, tmp_path / "unpacked", earlyReturnAllowed=False) as slave:
        initialize(slave)
        handle_event(slave)
        assert slave.doStep(0.0, 0.4) == (False, False, False, 0.4)
        assert slave.doStep(0.4, 0.4) == (True, False, False, 0.8)
        past, speed = 0.8 - np.sqrt(2 / 9.81), 0.7 * np.sqrt(2 * 9.81)
        assert get(slave, "Ball.h", "Float64") == pytest.approx(speed * past - 9.81 / 2 * past**2, abs=1e-12)
        slave.enterEventMode()
        assert handle_event(slave, ["Ball.bounce"]) == (None, {"Ball.bounce": 1})
        assert get(slave, "Ball.bounces", "Int32") == 1
        assert slave.doStep(0.8, 0.1) == (False, False, False, pytest.approx(0.9))


def test_the_time_of_the_next_tick_is_told(system, tmp_path):
    folder = system({"Plant": "fmi2/Mass", "Controller": "fmi3/SampledController"}, LOOP)
    fmu = exported(folder, tmp_path, fmi=3, step_size=0.1, stop_time=1.0, start_values={"Plant.m": "1"})
    with importer(fmu, tmp_path / "unpacked") as slave:
        initialize(slave)
        t, found = 0.0, []
        for _ in range(10):
            following, _ = handle_event(slave)
            found.append([get(slave, name, "Float64") for name in ("Plant.z", "Controller.u")])
            event, _, early, _ = slave.doStep(t, following - t)
            assert (event, early) == (True, False)
            t = following
            slave.enterEventMode()
    assert np.array(found) == pytest.approx(sampled_loop(10, m=1.0)[:, [0, 2]], abs=1e-9)


def test_an_importer_that_leaves_events_out_has_them_handled(ball, tmp_path):
    """The values are those of an importer without event mode."""
    found = []
    for used in (False, True):
        with importer(ball, tmp_path / "unpacked", eventModeUsed=used, earlyReturnAllowed=False) as slave:
            initialize(slave)
            if used:
                slave.enterStepMode()
            for k in range(20):
                slave.doStep(k / 10, 0.1)
            found.append([get(slave, name, "Float64") for name in ("Ball.h", "Ball.v")])
    assert found[0] == pytest.approx(found[1], abs=1e-12)


@pytest.mark.parametrize("step", [0.1, 0.25])
def test_fmpy_goes_through_the_same_events_as_a_run(step, system, tmp_path):
    folder = system({"Ball": "fmi3/Ball", "A": "fmi3/Counter", "B": "fmi3/Counter"}, CHAIN)
    options = {"step_size": step, "stop_time": 2.0, "start_values": {"A.late": "1"}}
    run = ssptool.simulate(folder, **options).unwrap()
    fmu = exported(folder, tmp_path, fmi=3, **options)
    found = fmpy.simulate_fmu(
        str(fmu), stop_time=2.0, output_interval=step, use_event_mode=True, early_return_allowed=True
    )
    np.testing.assert_allclose(found["time"], run.t, rtol=1e-15, atol=0.0)  # FMPy's times are products of doubles
    for name in found.dtype.names[1:]:
        np.testing.assert_allclose(found[name], run[name], rtol=0.0, atol=1e-14, err_msg=name)


# --- clocks that the importer ticks -----------------------------------------------------------------------------------


@pytest.fixture
def counter(system, tmp_path):
    """`late`: it carries over in the next event iteration."""

    def made(late):
        folder = system({"C": "fmi3/Counter"}, COUNTER, connectors=CLOCKED)
        return exported(folder, tmp_path, fmi=3, step_size=0.1, stop_time=1.0, start_values={"C.late": str(late)})

    return made


@pytest.mark.parametrize("late", [0, 1])
def test_an_importer_ticks_and_sets_what_belongs_to_the_clock(late, counter, tmp_path):
    with importer(counter(late), tmp_path / "unpacked") as slave:
        initialize(slave)
        handle_event(slave)
        for k, number in enumerate((1, 2, 3)):
            assert slave.doStep(k / 10, 0.1)[0] is False
            slave.enterEventMode()
            tick(slave, "tick")
            slave.setInt32([slave.references["add"]], [number])
            assert get(slave, "count", "Int32") == number * (number + 1) / 2
            assert ticking(slave, "carry") == (not late)
            again = slave.updateDiscreteStates()[0]
            assert again == bool(late)
            if late:
                assert ticking(slave, "carry")
                assert not slave.updateDiscreteStates()[0]
            slave.enterStepMode()
            assert get(slave, "count", "Int32") == number * (number + 1) / 2


def test_without_a_tick_nothing_is_counted(counter, tmp_path):
    with importer(counter(0), tmp_path / "unpacked") as slave:
        initialize(slave)
        handle_event(slave)
        slave.doStep(0.0, 0.1)
        slave.enterEventMode()
        tick(slave, "tick")
        tick(slave, "tick", False)  # before anything has followed from it
        slave.setInt32([slave.references["add"]], [5])
        assert handle_event(slave, ["carry"]) == (None, {"carry": 0})
        assert get(slave, "count", "Int32") == 0


def test_a_discrete_input_changes_in_event_mode_only(counter, tmp_path):
    said = Messages()
    with importer(counter(0), tmp_path / "unpacked", said) as slave:
        initialize(slave)
        handle_event(slave)
        slave.setInt32([slave.references["add"]], [1])  # which it is
        with pytest.raises(FMICallException, match="fmi3SetInt32"):
            slave.setInt32([slave.references["add"]], [2])
    assert said[0][2] == "add can be changed in event mode only, since eventModeUsed is true"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda slave: tick(slave, "carry"), "carry is an output clock, which importers cannot set"),
        (lambda slave: tick(slave, "add"), "add is of type Int32, not Clock"),
        (lambda slave: times(slave.getIntervalDecimal, slave, "tick", c_double, c_int), "tick is a triggered clock"),
    ],
)
def test_what_a_clock_cannot_do_is_refused(call, message, counter, tmp_path):
    said = Messages()
    with importer(counter(0), tmp_path / "unpacked", said) as slave:
        initialize(slave)
        with pytest.raises(FMICallException):
            call(slave)
    assert message in said[0][2]


def test_a_state_of_event_mode_goes_on_in_the_midst_of_it(counter, tmp_path):
    """Here, after other events, and in another instance from its bytes."""

    def go_on(slave):
        found = [get(slave, "count", "Int32"), ticking(slave, "carry"), slave.updateDiscreteStates()]
        found += [ticking(slave, "carry"), slave.updateDiscreteStates()]
        slave.enterStepMode()
        slave.doStep(0.1, 0.1)
        slave.enterEventMode()
        tick(slave, "tick")
        return [*found, get(slave, "count", "Int32")]

    fmu = counter(1)
    with importer(fmu, tmp_path / "unpacked") as slave, importer(fmu, tmp_path / "other") as other:
        initialize(slave)
        handle_event(slave)
        slave.doStep(0.0, 0.1)
        slave.enterEventMode()
        tick(slave, "tick")
        slave.setInt32([slave.references["add"]], [7])
        state = slave.getFMUState()
        content = slave.serializeFMUState(state)
        first = go_on(slave)
        assert first[:2] == [7, False] and first[2][0] and first[3]
        slave.setFMUState(state)
        assert go_on(slave) == first
        slave.freeFMUState(state)
        state = other.deserializeFMUState(content)
        other.setFMUState(state)
        assert go_on(other) == first
        other.freeFMUState(state)


# --- functions called in any order ------------------------------------------------------------------------------------

EARLY = {"instantiated", "failed early"}
LIVING = {"initialization", "event", "step", "terminated", "failed"}
ALLOWED = {
    "enter": {"instantiated"},
    "exit": {"initialization"},
    "update": {"event"},
    "event mode": {"step"},
    "step mode": {"event"},
    "step": {"step"},
    "tick": {"event"},
    "ticks": {"event"},
    "get": LIVING,
    "get input": EARLY | LIVING,
    "set": {"instantiated", "initialization", "event"},
    "tune": {"instantiated", "initialization", "event"},
    "terminate": {"event", "step"},
    "reset": EARLY | LIVING,
    "save and restore": EARLY | LIVING,
    "continuous": set(),
    "configuration": set(),
}
LEADS_TO = {
    "enter": "initialization",
    "exit": "event",
    "event mode": "event",
    "step mode": "step",
    "terminate": "terminated",
    "reset": "instantiated",
}


def saved_and_restored(slave):
    state = slave.getFMUState()
    slave.setFMUState(state)
    slave.freeFMUState(state)


CALLS = {
    "enter": lambda slave, _: slave.enterInitializationMode(),
    "exit": lambda slave, _: slave.exitInitializationMode(),
    "update": lambda slave, _: slave.updateDiscreteStates(),
    "event mode": lambda slave, _: slave.enterEventMode(),
    "step mode": lambda slave, _: slave.enterStepMode(),
    "step": lambda slave, t: slave.doStep(t, 0.01),
    "tick": lambda slave, _: tick(slave, "tick"),
    "ticks": lambda slave, _: ticking(slave, "carry"),
    "get": lambda slave, _: get(slave, "count", "Int32"),
    "get input": lambda slave, _: get(slave, "add", "Int32"),
    "set": lambda slave, _: slave.setInt32([slave.references["add"]], [get(slave, "add", "Int32") + 1]),
    "tune": lambda slave, _: slave.setInt32([slave.references["M.rate"]], [2]),
    "terminate": lambda slave, _: slave.terminate(),
    "reset": lambda slave, _: slave.reset(),
    "save and restore": lambda slave, _: saved_and_restored(slave),
    "continuous": lambda slave, _: slave.fmi3EnterContinuousTimeMode(slave.component),
    "configuration": lambda slave, _: slave.enterConfigurationMode(),
}


@pytest.fixture(scope="module")
def mixed(models, tmp_path_factory):
    """A counter that the importer ticks, and a metronome that ticks inside."""
    folder = tmp_path_factory.mktemp("states")
    parts = {"C": "fmi3/Counter", "M": "fmi3/Metronome"}
    system = write_system(folder / "system", models.parent, parts, COUNTER, connectors=CLOCKED)
    return exported(system, folder, fmi=3, expose=["M.rate"], step_size=0.01, stop_time=1.0)


@pytest.fixture(scope="module")
def unpacked(mixed, tmp_path_factory):
    return unpack(mixed, tmp_path_factory.mktemp("unpacked"))


@settings(max_examples=80)
@given(data=st.data())
def test_calls_in_any_order(data, unpacked):
    """Calls that a state allows are more often drawn than others."""
    with importer(unpacked, None, Messages()) as slave:
        state, t = "instantiated", 0.0
        for _ in range(data.draw(st.integers(0, 25))):
            allowed = sorted(call for call, states in ALLOWED.items() if state in states and call != "reset")
            call = data.draw(st.sampled_from([*allowed, *allowed, *allowed, *sorted(ALLOWED)]))
            try:
                CALLS[call](slave, t)
            except FMICallException as error:
                assert state not in ALLOWED[call] and error.status == 3, (call, state)
                state = "failed early" if state in EARLY else "failed"
                continue
            assert state in ALLOWED[call], (call, state)
            t = t + 0.01 if call == "step" else 0.0 if call == "reset" else t
            state = LEADS_TO.get(call, state)


@pytest.mark.parametrize("used", [True, False])
def test_event_mode_is_refused_where_there_is_none(used, tmp_path):
    """By the FMU if there is none, else by an instance that was made without."""
    fmu = exported(SYSTEMS / "one_dof_oscillator", tmp_path, master="jacobi", fmi=3)
    said = Messages()
    if used:
        with pytest.raises(Exception, match="instantiate"), importer(fmu, tmp_path / "unpacked", said):
            pass
        assert "eventModeUsed must be false, because this FMU has no event mode" in said[0][2]
        return
    with importer(fmu, tmp_path / "unpacked", said, eventModeUsed=False) as slave:
        initialize(slave)
        with pytest.raises(FMICallException, match="fmi3EnterEventMode"):
            slave.enterEventMode()
    assert said[0][2] == "fmi3EnterEventMode is not allowed, because eventModeUsed was false"


# --- ends that components ask for -------------------------------------------------------------------------------------


@pytest.fixture
def ending(tmp_path):
    """A asks to end in the step that crosses t = 0.55 s, which is a valid one."""
    return exported(asking_to_end(tmp_path, 3, ASKS), tmp_path, fmi=3, step_size=0.1, stop_time=1.0)


def test_an_end_that_a_component_asks_for_is_told(ending, tmp_path):
    with importer(ending, tmp_path / "unpacked", eventModeUsed=False) as slave:
        initialize(slave)
        told = [slave.doStep(k / 10, 0.1)[1] for k in range(6)]
        assert told == [False] * 5 + [True]
        assert get(slave, "A.y", "Float64") == pytest.approx(np.exp(-0.6), rel=1e-6)


def test_an_end_inside_of_a_communication_step_discards_it(ending, tmp_path):
    said = Messages()
    with importer(ending, tmp_path / "unpacked", said, eventModeUsed=False) as slave:
        initialize(slave)
        ends, reached = c_bool(), c_double()
        flags = [byref(c_bool()), byref(ends), byref(c_bool()), byref(reached)]
        with pytest.raises(FMICallException, match="fmi3DoStep") as error:
            slave.fmi3DoStep(slave.component, 0.0, 1.0, True, *flags)
        assert (error.value.status, ends.value, reached.value) == (2, True, pytest.approx(0.6))
    assert "component A ended the simulation" in said[0][2]


def test_fmi2_tells_it_when_it_is_asked_for_another_step(tmp_path):
    fmu = exported(asking_to_end(tmp_path, 3, ASKS), tmp_path, fmi=2, step_size=0.1, stop_time=1.0)
    with instance(fmu, tmp_path / "unpacked", Messages()) as slave:
        initialize(slave)
        for k in range(6):
            slave.doStep(k / 10, 0.1)
        with pytest.raises(FMICallException, match="fmi2DoStep") as error:
            slave.doStep(0.6, 0.1)
        assert (error.value.status, slave.getBooleanStatus(fmi2Terminated)) == (2, True)
        assert slave.getRealStatus(fmi2LastSuccessfulTime) == pytest.approx(0.6)


def test_a_run_of_an_exported_system_ends_where_a_component_of_it_wants_to(ending, tmp_path):
    folder = write_system(tmp_path / "outside", ending.parent, {"N": ending.stem})
    result = ssptool.simulate(folder, step_size=0.1, stop_time=1.0)
    assert (result.ok, result.status, result.last_time) == (True, "ended by a component", pytest.approx(0.6))


@pytest.mark.parametrize(("version", "interface"), STAIRS)
@pytest.mark.parametrize("step", [0.2, 0.7])
@pytest.mark.parametrize("fmi", [2, 3])
def test_importers_get_the_values_after_the_last_event(tmp_path, version, interface, step, fmi):
    """A counts to 10 until t = 9 s, where it ends the simulation."""
    folder = write_system(tmp_path / "system", stair(tmp_path, version, interface).parent, {"A": "Stair"})
    fmu = exported(folder, tmp_path, fmi=fmi, step_size=step, stop_time=12.0)
    outside = write_system(tmp_path / "outside", fmu.parent, {"N": fmu.stem})
    result = ssptool.simulate(outside, step_size=step, stop_time=12.0)
    assert (result.ok, result.status) == (True, "ended by a component")
    last = [result.trace[f"N.A.{name}"][-1] for name in ("counter", "twice")]
    assert (result.last_time, *last) == (9.0, 10, 20)
