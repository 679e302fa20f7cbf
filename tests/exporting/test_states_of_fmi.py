"""Functions called in any order: those that FMI 2.0 allows in a state succeed, all others are refused and nothing
crashes.
"""

import pytest
from fmpy.fmi1 import FMICallException
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.exporting.fmus import SYSTEMS, exported, instance, real

ALLOWED = {
    "setup": {"instantiated"},
    "enter": {"instantiated"},
    "exit": {"initialization"},
    "get": {"initialization", "stepping", "terminated", "failed"},
    "set": {"instantiated", "initialization", "stepping"},  # a tunable parameter
    "step": {"stepping"},
    "terminate": {"stepping"},
    "reset": {"instantiated", "initialization", "stepping", "terminated", "failed"},
    "log": {"instantiated", "initialization", "stepping", "terminated", "failed"},
}
LEADS_TO = {"enter": "initialization", "exit": "stepping", "terminate": "terminated", "reset": "instantiated"}


@pytest.fixture(scope="module")
def fmu(tmp_path_factory):
    folder = tmp_path_factory.mktemp("states")
    return exported(SYSTEMS / "one_dof_oscillator", folder, master="jacobi", expose=["Mass.m", "Mass.z"])


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(calls=st.lists(st.sampled_from(sorted(ALLOWED)), max_size=25))
def test_calls_in_any_order(calls, fmu, tmp_path):
    with instance(fmu, tmp_path / "unpacked") as slave:
        state, t = "instantiated", 0.0
        for call in calls:
            allowed = state in ALLOWED[call]
            try:
                _call(slave, call, t)
            except FMICallException as error:
                assert not allowed and error.status == 3, (call, state)
                state = "failed"
                continue
            assert allowed, (call, state)
            t = t + 0.01 if call == "step" else 0.0 if call == "reset" else t
            state = LEADS_TO.get(call, state)


def _call(slave, call, t):
    mass = [slave.references["Mass.m"]]
    match call:
        case "setup":
            slave.setupExperiment(startTime=0.0)
        case "enter":
            slave.enterInitializationMode()
        case "exit":
            slave.exitInitializationMode()
        case "get":
            real(slave, "Mass.z")
        case "set":
            slave.setReal(mass, [0.04])
        case "step":
            slave.doStep(t, 0.01)
        case "terminate":
            slave.terminate()
        case "reset":
            slave.reset()
        case "log":
            slave.setDebugLogging(False, [])


def test_after_a_reset_all_is_as_after_instantiation(fmu, tmp_path):
    with instance(fmu, tmp_path / "unpacked") as slave:
        found = []
        for mass in (0.04, None):
            if mass is not None:
                slave.setReal([slave.references["Mass.m"]], [mass])
            slave.setupExperiment(startTime=0.0)
            slave.enterInitializationMode()
            slave.exitInitializationMode()
            slave.doStep(0.0, 0.1)
            found.append(real(slave, "Mass.z"))
            slave.terminate()
            slave.reset()
        slave.setupExperiment(startTime=0.0)
        slave.enterInitializationMode()
        slave.exitInitializationMode()
        slave.doStep(0.0, 0.1)
        assert found[1] == real(slave, "Mass.z") != found[0]
