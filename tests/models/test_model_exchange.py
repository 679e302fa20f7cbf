"""The model-exchange interface: states, derivatives, and no events."""

from __future__ import annotations

from ctypes import c_double

import numpy as np
import pytest

VERSIONS = pytest.mark.parametrize("version", (2, 3))


def vector(instance, function, n=2):
    values = (c_double * n)()
    getattr(instance.fmu, function)(values, n)
    return list(values)


def derivatives(instance):
    return vector(instance, "getDerivatives" if instance.version == 2 else "getContinuousStateDerivatives")


@VERSIONS
def test_states_derivatives_and_nominals(make, version):
    instance = make("System1", version, "me").start(F=5.0, x1_start=0.2)
    assert vector(instance, "getContinuousStates") == [0.2, 0.0]
    assert vector(instance, "getNominalsOfContinuousStates") == [0.5, 1.0]
    assert derivatives(instance) == [0.0, 5.0 - 10 * 0.2]
    instance.fmu.setContinuousStates((c_double * 2)(0.1, 2.0), 2)
    assert derivatives(instance) == [2.0, pytest.approx(5 - 1 - 0.4)]
    assert np.array_equal(instance.get("x1", "v1"), [0.1, 2.0])


@VERSIONS
def test_there_are_no_events(make, version):
    instance = make("System1", version, "me").enter()
    instance.fmu.exitInitializationMode()
    update = instance.fmu.newDiscreteStates if version == 2 else instance.fmu.updateDiscreteStates
    *answers, next_event_time = update()
    assert not any(answers)
    assert next_event_time == 0.0
    instance.fmu.enterContinuousTimeMode()
    assert tuple(instance.fmu.completedIntegratorStep()) == (False, False)
    instance.fmu.getEventIndicators((c_double * 1)(), 0)


@VERSIONS
def test_time_reaches_the_equations(make, version):
    instance = make("Stateless", version, "me").start()
    instance.fmu.setTime(3.0)
    assert instance.value("z") == 9.0


@VERSIONS
def test_parameters_can_be_tuned_in_event_mode(make, version):
    instance = make("System1", version, "me").start(F=6.0)
    instance.fmu.enterEventMode()
    instance.set(m1=3.0)
    instance.fmu.enterContinuousTimeMode()
    assert derivatives(instance) == [0.0, 2.0]


def test_fmi3_states_how_many_states_and_indicators_there_are(make):
    instance = make("System2", 3, "me").start()
    assert instance.fmu.getNumberOfContinuousStates() == 2
    assert instance.fmu.getNumberOfEventIndicators() == 0
