"""Functions called in any order: those that FMI allows in a state succeed, all others are refused, nothing crashes."""

import ctypes

import pytest
from fmpy.fmi1 import FMICallException
from fmpy.fmi3 import (
    FMU3Slave,
    fmi3ClockUpdateCallback,
    fmi3LockPreemptionCallback,
    fmi3UnlockPreemptionCallback,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.stimuli.pushed_mass import MASS, write_pushed_mass
from tests.exporting.fmus import SYSTEMS, Messages, exported, initialize, instance, real, set_real, set_up, unpack

EARLY = {"instantiated", "failed early"}
ALWAYS = {*EARLY, "initialization", "stepping", "terminated", "failed"}
ALLOWED = {
    "enter": {"instantiated"},
    "exit": {"initialization"},
    "get": ALWAYS - EARLY,  # an output, which has no start value
    "get parameter": ALWAYS,
    "set": {"instantiated", "initialization", "stepping"},  # a tunable parameter
    "step": {"stepping"},
    "terminate": {"stepping"},
    "reset": ALWAYS,
    "log": ALWAYS,
}
LEADS_TO = {"enter": "initialization", "exit": "stepping", "terminate": "terminated", "reset": "instantiated"}
CALLS = {
    "setup": lambda slave, _: slave.setupExperiment(startTime=0.0),
    "enter": lambda slave, _: slave.enterInitializationMode(),
    "exit": lambda slave, _: slave.exitInitializationMode(),
    "get": lambda slave, _: real(slave, "Mass.z"),
    "get parameter": lambda slave, _: real(slave, "Mass.m"),
    "set": lambda slave, _: set_real(slave, "Mass.m", 0.04),
    "step": lambda slave, t: slave.doStep(t, 0.01),
    "terminate": lambda slave, _: slave.terminate(),
    "reset": lambda slave, _: slave.reset(),
    "log": lambda slave, _: slave.setDebugLogging(False, []),
    "configuration": lambda slave, _: slave.enterConfigurationMode(),
    "event": lambda slave, _: slave.enterEventMode(),
    "step mode": lambda slave, _: slave.enterStepMode(),
    "states": lambda slave, _: slave.updateDiscreteStates(),
}
MODES = ("configuration", "event", "step mode", "states")
"""What FMI 3.0 has besides, and an exported system has not."""


@pytest.fixture(scope="module")
def fmu(fmi, tmp_path_factory):
    folder = tmp_path_factory.mktemp("states")
    return exported(SYSTEMS / "one_dof_oscillator", folder, master="jacobi", expose=["Mass.m", "Mass.z"], fmi=fmi)


@pytest.fixture(scope="module")
def unpacked(fmu, tmp_path_factory):
    return unpack(fmu, tmp_path_factory.mktemp("unpacked"))


@settings(max_examples=60)
@given(data=st.data())
def test_calls_in_any_order(data, fmi, unpacked):
    of_version = {
        2: {"setup": {"instantiated"}, "get parameter": ALWAYS - {"instantiated"}},
        3: {mode: set() for mode in MODES},
    }
    known = {**ALLOWED, **of_version[fmi]}
    calls = data.draw(st.lists(st.sampled_from(sorted(known)), max_size=25))
    with instance(unpacked, None, Messages()) as slave:
        state, t = "instantiated", 0.0
        for call in calls:
            allowed = state in known[call]
            try:
                CALLS[call](slave, t)
            except FMICallException as error:
                assert not allowed and error.status == 3, (call, state)
                state = "failed early" if state in EARLY else "failed"
                continue
            assert allowed, (call, state)
            t = t + 0.01 if call == "step" else 0.0 if call == "reset" else t
            state = LEADS_TO.get(call, state)


def test_after_a_reset_all_is_as_after_instantiation(fmu, tmp_path):
    with instance(fmu, tmp_path / "unpacked") as slave:
        found = []
        for mass in (0.04, None, None):
            if mass is not None:
                set_real(slave, "Mass.m", mass)
            initialize(slave)
            slave.doStep(0.0, 0.1)
            found.append(real(slave, "Mass.z"))
            slave.terminate()
            slave.reset()
        assert found[1] == found[2] != found[0]


STATES = {
    "instantiated": lambda slave: None,
    "initialization": set_up,
    "stepping": initialize,
    "terminated": lambda slave: (initialize(slave), slave.terminate()),
}


@pytest.mark.parametrize("state", STATES)
def test_variables_are_got_and_set_in_the_states_that_fmi_names(state, fmi, pushed, tmp_path):
    """An input, a tunable and a fixed parameter, a local and an output; what was set is got, and was so in every state
    that follows.
    """
    fmu = exported(pushed, tmp_path, step_size=0.01, expose=["Mass.m", "Mass.z", "Mass.v"], fmi=fmi)
    may_set = {"instantiated", "initialization", "stepping"}
    kinds = {"push": may_set, "Mass.m": may_set, "Mass.z": set(), "Mass.v": set()}
    early = {"push", "Mass.m"} if fmi == 3 else set()
    for name, settable in kinds.items():
        with instance(fmu, tmp_path / "unpacked", Messages()) as slave:
            STATES[state](slave)
            if state in settable:
                set_real(slave, name, 2.5)
            else:
                with pytest.raises(FMICallException, match=r"fmi.Set"):
                    set_real(slave, name, 2.5)
                continue
            if state != "instantiated" or name in early:
                assert real(slave, name) == 2.5
            if state == "instantiated":
                set_up(slave)
                assert real(slave, name) == 2.5
        with instance(fmu, tmp_path / "unpacked", Messages()) as slave:
            STATES[state](slave)
            if state != "instantiated" or name in early:
                real(slave, name)
            else:
                with pytest.raises(FMICallException, match=r"fmi.Get"):
                    real(slave, name)


@pytest.fixture
def pushed(tmp_path):
    return write_pushed_mass(tmp_path / "pushed", SYSTEMS / "one_dof_oscillator" / "resources")


def test_start_values_are_got_without_asking_the_parts(pushed, tmp_path):
    fmu = exported(pushed, tmp_path, step_size=0.01, expose=["Mass.m", "Mass.z"], fmi=3)
    said = Messages()
    with instance(fmu, tmp_path / "unpacked", said) as slave:
        assert (real(slave, "push"), real(slave, "Mass.m")) == (0.0, MASS)
        with pytest.raises(FMICallException, match="fmi3GetFloat64"):
            real(slave, "Mass.z")
    assert said[0][2] == (
        "Mass.z, of causality output, has no start value; its value is known in initialization mode and later"
    )


# --- FMI 3.0 ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fmu3(tmp_path_factory):
    folder = tmp_path_factory.mktemp("states3")
    return exported(SYSTEMS / "one_dof_oscillator", folder, master="jacobi", expose=["Mass.z"], fmi=3)


def test_a_step_says_how_far_it_came_and_the_independent_variable_goes_along(fmu3, tmp_path):
    with instance(fmu3, tmp_path / "unpacked") as slave:
        set_up(slave, start=2.0)
        assert real(slave, "time") == 2.0
        slave.exitInitializationMode()
        assert slave.doStep(2.0, 0.25) == (False, False, False, 2.25)
        assert real(slave, "time") == 2.25


def test_a_step_that_is_refused_says_where_the_system_is(fmu3, tmp_path):
    said = Messages()
    with instance(fmu3, tmp_path / "unpacked", said) as slave:
        initialize(slave)
        early, reached = ctypes.c_bool(True), ctypes.c_double(-1.0)
        flags = [ctypes.byref(early)] * 3
        with pytest.raises(FMICallException, match="fmi3DoStep"):
            slave.fmi3DoStep(slave.component, 0.5, 0.1, True, *flags, ctypes.byref(reached))
        assert (early.value, reached.value) == (False, 0.0)
    assert [text for _, _, text in said] == ["fmi3DoStep: the communication point is 0.5 s, but the system is at 0 s"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"eventModeUsed": True}, "eventModeUsed must be false"),
        ({"requiredIntermediateVariables": [0]}, "no variables with intermediateUpdate"),
    ],
)
def test_an_importer_that_asks_for_what_is_not_there_gets_no_instance_and_a_reason(wrong, message, fmu3, tmp_path):
    said = Messages()
    with instance(fmu3, tmp_path / "unpacked") as there:
        slave = FMU3Slave(
            guid=there.guid,
            unzipDirectory=there.unzipDirectory,
            modelIdentifier=there.modelIdentifier,
            instanceName="other",
        )
        with pytest.raises(Exception, match="instantiate"):
            slave.instantiate(logMessage=said.log, **wrong)
    assert [(status, category) for status, category, _ in said] == [(3, "logStatusError")]
    assert message in said[0][2]


@pytest.mark.parametrize("kind", ["ModelExchange", "ScheduledExecution", "CoSimulation"])
def test_there_is_an_instance_for_co_simulation_only_and_not_without_resources(kind, fmu3, tmp_path):
    said = Messages()
    with instance(fmu3, tmp_path / "unpacked", said) as slave:
        resources = str(tmp_path / "unpacked" / "resources").encode()
        texts = [b"other", slave.guid.encode(), None if kind == "CoSimulation" else resources]
        common = [None, slave.logMessage]
        if kind == "CoSimulation":
            made = slave.fmi3InstantiateCoSimulation(
                *texts, False, False, False, False, None, 0, *common, slave.intermediateUpdate
            )
        elif kind == "ModelExchange":
            made = slave.fmi3InstantiateModelExchange(*texts, False, False, *common)
        else:
            callbacks = fmi3ClockUpdateCallback(), fmi3LockPreemptionCallback(), fmi3UnlockPreemptionCallback()
            made = slave.fmi3InstantiateScheduledExecution(*texts, False, False, *common, *callbacks)
        assert made is None
    expected = {
        "CoSimulation": "the path of the resources is needed",
        "ModelExchange": "this FMU offers co-simulation only",
        "ScheduledExecution": "this FMU offers no scheduled execution",
    }
    assert f"fmi3Instantiate{kind}" in said[0][2] and expected[kind] in said[0][2]


def test_as_many_values_as_variables_and_of_their_type(fmu3, tmp_path):
    for get, size, message in (
        ("Float64", 2, "fmi3GetFloat64: 2 values for 1 scalar variables"),
        ("Float32", 1, "fmi3GetFloat32: Mass.z is of type Float64, not Float32"),
        ("Binary", 1, "fmi3GetBinary: Mass.z is of type Float64, not Binary"),
    ):
        said = Messages()
        with instance(fmu3, tmp_path / get, said) as slave:
            initialize(slave)
            with pytest.raises(FMICallException, match=f"fmi3Get{get}"):
                getattr(slave, f"get{get}")([slave.references["Mass.z"]], size)
        assert said[0][2].startswith(message)
