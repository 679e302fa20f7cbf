"""Wrong calls get an error and a message that names the object; they change nothing and never crash."""

from __future__ import annotations

import contextlib
from ctypes import byref, c_bool, c_double, c_size_t, c_void_p

import numpy as np
import pytest
from fmpy.fmi1 import FMICallException
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.models.conftest import Instance

VERSIONS = pytest.mark.parametrize("version", (2, 3))
ERROR, DISCARD = 3, 2


def refused(instance: Instance, call, *words: str, status: int = ERROR) -> None:
    before = len(instance.log)
    with pytest.raises(FMICallException) as caught:
        call()
    assert caught.value.status == status
    assert len(instance.log) == before + 1
    for word in words:
        assert word in instance.log[-1]


@VERSIONS
def test_an_unknown_value_reference_is_named(make, version):
    instance = make("System1", version).start()
    getter = instance.fmu.getReal if version == 2 else instance.fmu.getFloat64
    setter = instance.fmu.setReal if version == 2 else instance.fmu.setFloat64
    refused(instance, lambda: getter([1, 4711]), "4711", "System1")
    refused(instance, lambda: setter([4711], [1.0]), "4711")


@VERSIONS
@pytest.mark.parametrize("name", ("x1", "a1", "time", "der(x1)"))
def test_a_computed_variable_cannot_be_set(make, version, name):
    instance = make("System1", version).enter()
    refused(instance, lambda: instance.set({name: 1.0}), name, "cannot be set")


@VERSIONS
def test_fixed_parameters_and_start_values_cannot_be_set_after_initialization(make, version):
    instance = make("System1", version).start()
    refused(instance, lambda: instance.set(x1_start=1.0), "x1_start", "step mode")
    refused(instance, lambda: instance.set(v1=1.0), "v1", "step mode")


@VERSIONS
def test_a_refused_set_changes_nothing(make, version):
    instance = make("System1", version).start(F=1.0)
    refused(instance, lambda: instance.set(F=2.0, a1=3.0), "a1")
    assert instance.value("F") == 1.0


@VERSIONS
def test_in_continuous_time_mode_only_inputs_can_be_set(make, version):
    instance = make("System1", version, "me").start()
    instance.set(F=1.0)
    refused(instance, lambda: instance.set(k1=1.0), "k1", "continuous-time mode")


@VERSIONS
@pytest.mark.parametrize("h", (0.0, -0.1, np.nan, np.inf))
def test_a_step_that_does_not_go_forward_is_refused(make, version, h):
    instance = make("System1", version).start(F=1.0)
    refused(instance, lambda: instance.step(0.0, h), "step size", "positive")
    instance.step(0.0, 0.1)


@VERSIONS
@pytest.mark.parametrize("t", (0.1, -0.1, np.nan))
def test_a_step_from_another_time_is_refused(make, version, t):
    instance = make("System1", version).start()
    refused(instance, lambda: instance.step(t, 0.1), "communication point")


@VERSIONS
def test_a_step_past_the_stop_time_is_refused(make, version):
    instance = make("System1", version).start(stop=1.0)
    refused(instance, lambda: instance.step(0.0, 1.1), "stop time")
    for k in range(10):  # the sum of ten tenths is not exactly one
        instance.step(sum([0.1] * k), 0.1)


@VERSIONS
def test_a_step_before_the_end_of_initialization_is_refused(make, version):
    instance = make("System1", version)
    refused(instance, lambda: instance.step(0.0, 0.1), "instantiated", "step mode")
    instance.enter()
    refused(instance, lambda: instance.step(0.0, 0.1), "initialization mode")


@VERSIONS
def test_modes_are_entered_in_their_order_only(make, version):
    instance = make("System1", version)
    refused(instance, instance.fmu.exitInitializationMode, "instantiated")
    instance.start()
    refused(instance, instance.fmu.enterInitializationMode, "step mode")
    if version == 3:
        refused(instance, instance.fmu.enterEventMode, "step mode")
    instance.fmu.terminate()
    refused(instance, lambda: instance.step(0.0, 0.1), "terminated")
    refused(instance, instance.fmu.terminate, "terminated")


@VERSIONS
def test_states_belong_to_model_exchange(make, version):
    instance = make("System1", version).start()
    call = "fmi2GetContinuousStates" if version == 2 else "fmi3GetContinuousStates"
    function = getattr(instance.fmu.dll, call)
    function.argtypes = [c_void_p, c_void_p, c_size_t]
    assert function(instance.fmu.component, (c_double * 2)(), 2) == ERROR
    assert "co-simulation" in instance.log[-1]


@VERSIONS
def test_the_number_of_states_must_fit(make, version):
    instance = make("System1", version, "me").start()
    vector = (c_double * 3)()
    refused(instance, lambda: instance.fmu.getContinuousStates(vector, 3), "3 states", "has 2")
    refused(instance, lambda: instance.fmu.setContinuousStates(vector, 1), "1 states", "has 2")
    indicator = (c_double * 1)()
    refused(instance, lambda: instance.fmu.getEventIndicators(indicator, 1), "has 0")


@VERSIONS
def test_a_singular_model_discards_the_step_and_can_go_on(make, version):
    """With m1 = 0 the acceleration is not finite."""
    instance = make("System1", version).start(F=1.0)
    instance.step(0.0, 0.1)
    before = instance.get("time", "x1", "v1")
    instance.set(m1=0.0)
    refused(instance, lambda: instance.step(0.1, 0.1), "not finite", status=DISCARD)
    instance.set(m1=1.0)
    assert np.array_equal(instance.get("time", "x1", "v1"), before)
    instance.step(0.1, 0.1)


def test_input_derivatives_of_other_orders_or_variables_are_refused(make):
    instance = make("System1", 2).start()
    for order in (-1, 0, 3):
        refused(instance, lambda order=order: instance.fmu.setRealInputDerivatives([1], [order], [1.0]), "order", "F")
    refused(instance, lambda: instance.set_derivatives("x1", 1.0), "x1", "not an input")


@VERSIONS
def test_output_derivatives_of_other_orders_or_variables_are_refused(make, version):
    instance = make("System1", version).start()
    get = instance.fmu.getRealOutputDerivatives if version == 2 else instance.fmu.getOutputDerivatives
    refused(instance, lambda: get([2], [2]), "order 2", "x1")
    refused(instance, lambda: get([1], [1]), "F", "not an output")


@VERSIONS
def test_an_fmu_of_another_model_does_not_start(make, version):
    instance = make("System1", version)
    instance.fmu.guid = "{00000000-0000-0000-0000-000000000000}"
    log = []
    if version == 3:
        with pytest.raises(Exception, match="Failed to instantiate"):
            instance.fmu.instantiate(logMessage=lambda *message: log.append(message[-1].decode()))
        assert "instantiation token" in log[0]
    else:
        with pytest.raises(Exception, match="Failed to instantiate"):
            instance.fmu.instantiate()


TYPES = ["Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64", "Boolean", "String", "Float32"]


@pytest.mark.parametrize("kind", TYPES)
def test_other_types_have_no_variables_in_fmi3(make, kind):
    instance = make("System1", 3).start()
    getter, setter = getattr(instance.fmu, f"get{kind}"), getattr(instance.fmu, f"set{kind}")
    value = "text" if kind == "String" else 1
    assert list(getter([])) == []
    refused(instance, lambda: getter([1]), kind)
    refused(instance, lambda: setter([1], [value]), kind)


@pytest.mark.parametrize("kind", ("Integer", "Boolean", "String"))
def test_other_types_have_no_variables_in_fmi2(make, kind):
    instance = make("System1", 2).start()
    value = "text" if kind == "String" else 1
    assert list(getattr(instance.fmu, f"get{kind}")([])) == []
    refused(instance, lambda: getattr(instance.fmu, f"get{kind}")([1]), kind)
    refused(instance, lambda: getattr(instance.fmu, f"set{kind}")([1], [value]), kind)


def test_what_the_flags_exclude_is_refused_by_name_in_fmi3(make):
    instance = make("System1", 3).start()
    refused(instance, instance.fmu.enterConfigurationMode, "structural")
    refused(instance, instance.fmu.enterStepMode, "hasEventMode")
    count = c_size_t()
    ask = instance.fmu.fmi3GetNumberOfVariableDependencies
    refused(instance, lambda: ask(instance.fmu.component, 1, byref(count)), "providesPerElementDependencies")
    refused(instance, lambda: instance.fmu.getClock([1]), "Clock")


def test_intermediate_access_is_limited_to_what_was_announced(make):
    statuses = []

    def update(*_):
        for action in (lambda: instance.value("x1"), lambda: instance.set(m1=2.0), lambda: instance.step(0, 1)):
            with pytest.raises(FMICallException) as caught:
                action()
            statuses.append(caught.value.status)

    instance = make("System1", 3, intermediateUpdate=update, requiredIntermediateVariables=[1])
    instance.start(F=1.0)
    instance.step(0.0, 0.1)
    assert statuses == [ERROR] * 9
    assert instance.value("m1") == 1.0


def test_locals_have_no_intermediate_values(make):
    with pytest.raises(Exception, match="Failed to instantiate"):
        make("System1", 3, intermediateUpdate=lambda *_: None, requiredIntermediateVariables=[5])


NULL_CALLS_2 = ["fmi2Terminate", "fmi2Reset", "fmi2EnterInitializationMode", "fmi2CancelStep", "fmi2EnterEventMode"]
NULL_CALLS_3 = ["fmi3Terminate", "fmi3Reset", "fmi3ExitInitializationMode", "fmi3EnterStepMode"]


@pytest.mark.parametrize("call", NULL_CALLS_2 + NULL_CALLS_3)
def test_a_null_instance_is_an_error(make, call):
    function = getattr(make("System1", int(call[3])).fmu.dll, call)
    function.argtypes = [c_void_p]
    assert function(None) == ERROR


@VERSIONS
def test_null_pointers_are_refused(make, version):
    instance = make("System1", version).start()
    call = "fmi2GetFMUstate" if version == 2 else "fmi3GetFMUState"
    function = getattr(instance.fmu.dll, call)
    function.argtypes = [c_void_p, c_void_p]
    assert function(instance.fmu.component, None) == ERROR
    restore = getattr(instance.fmu.dll, call.replace("Get", "Set"))
    restore.argtypes = [c_void_p, c_void_p]
    assert restore(instance.fmu.component, None) == ERROR
    assert "null pointer" in instance.log[-1]


# Any order of calls: nothing crashes, and what an instance computes afterwards is still right.

CALLS = {
    "enter": lambda i: i.enter(),
    "exit": lambda i: i.fmu.exitInitializationMode(),
    "event": lambda i: i.fmu.enterEventMode(),
    "continuous": lambda i: i.fmu.enterContinuousTimeMode(),
    "step": lambda i: i.step(i.value("time"), 0.01),
    "set input": lambda i: i.set(F=1.0),
    "set parameter": lambda i: i.set(m1=2.0),
    "set start": lambda i: i.set(x1_start=0.1, v1=0.2),
    "get": lambda i: i.get("time", "x1", "v1", "a1", "der(v1)"),
    "input slope": lambda i: i.set_derivatives("F", 1.0, 2.0),
    "output slope": lambda i: i.output_derivatives("a1"),
    "sensitivity": lambda i: i.directional_derivative(["a1"], {"F": 1.0}),
    "round trip": lambda i: round_trip(i),
    "states": lambda i: i.fmu.getContinuousStates((c_double * 2)(), 2),
    "slopes": lambda i: slopes(i),
    "terminate": lambda i: i.fmu.terminate(),
    "reset": lambda i: i.fmu.reset(),
}


def round_trip(instance):
    state = instance.save()
    copy = instance.fmu.deserializeFMUState(instance.fmu.serializeFMUState(state))
    instance.restore(copy)
    instance.free(state)
    instance.free(copy)


def slopes(instance):
    vector = (c_double * 2)()
    if instance.version == 2:
        instance.fmu.getDerivatives(vector, 2)
    else:
        instance.fmu.getContinuousStateDerivatives(vector, 2)


@VERSIONS
@pytest.mark.parametrize("interface", ("cs", "me"))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(calls=st.lists(st.sampled_from(sorted(CALLS)), max_size=30))
def test_any_order_of_calls_leaves_a_working_instance(make, version, interface, calls):
    instance = make("System1", version, interface)
    for call in calls:
        with contextlib.suppress(FMICallException, AttributeError):  # the other interface's calls do not exist
            CALLS[call](instance)
    instance.fmu.reset()
    instance.start(F=3.0, m1=2.0)
    assert instance.value("a1") == 1.5


def test_a_step_without_places_for_the_answers_is_refused(make):
    instance = make("System1", 3).start()
    function = instance.fmu.dll.fmi3DoStep
    function.argtypes = [c_void_p, c_double, c_double, c_bool, c_void_p, c_void_p, c_void_p, c_void_p]
    flag = c_bool()
    assert function(instance.fmu.component, 0.0, 0.1, True, byref(flag), None, None, None) == ERROR
