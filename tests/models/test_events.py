"""Models with events: what they say of themselves, and what event mode does."""

from __future__ import annotations

import zipfile
from ctypes import c_double

import pytest
from fmpy import read_model_description
from fmpy.validation import validate_fmu

from tests.models.conftest import WITH_EVENTS

VERSIONS = pytest.mark.parametrize("version", (2, 3))


def update(instance):
    """One event iteration: discrete states need an update, states were changed, next event time or None."""
    call = instance.fmu.newDiscreteStates if instance.version == 2 else instance.fmu.updateDiscreteStates
    again, terminate, nominals, states, defined, time = call()
    assert not terminate
    assert not nominals
    return again, states, time if defined else None


def indicator(instance):
    value = (c_double * 1)()
    instance.fmu.getEventIndicators(value, 1)
    return value[0]


def at_event(make, name, version, states=(), **values):
    """A model-exchange instance in event mode, at given states."""
    instance = make(name, version, "me").start(**values)
    if states:
        instance.fmu.setContinuousStates((c_double * len(states))(*states), len(states))
    instance.fmu.enterEventMode()
    return instance


@VERSIONS
@pytest.mark.parametrize("name", WITH_EVENTS)
def test_fmpy_finds_no_problem_and_only_model_exchange_is_offered(fmus, name, version):
    assert validate_fmu(str(fmus[name, version])) == []
    description = read_model_description(fmus[name, version])
    assert description.modelExchange is not None
    assert description.coSimulation is None


@VERSIONS
def test_the_description_states_indicators_and_what_events_change(fmus, version):
    description = read_model_description(fmus["BouncingBall", version])
    assert description.numberOfEventIndicators == 1
    discrete = {variable.name for variable in description.modelVariables if variable.variability == "discrete"}
    assert discrete == {"bounces", "resting"}
    with zipfile.ZipFile(fmus["BouncingBall", version]) as archive:
        text = archive.read("modelDescription.xml")
    assert text.count(b'reinit="true"') == 2
    # What is held between events is not a known of continuous time.
    assert all(v.variability != "discrete" for u in description.derivatives for v in u.dependencies)


@VERSIONS
def test_a_falling_ball_at_the_ground_bounces_once(make, version):
    ball = at_event(make, "BouncingBall", version, (-1e-12, -2.0))
    assert indicator(ball) == -1e-12
    assert update(ball) == (True, True, None)
    assert ball.get("h", "v", "bounces").tolist() == [0.0, 1.4, 1.0]
    assert update(ball) == (False, False, None)
    assert ball.value("bounces") == 1.0


@VERSIONS
def test_a_ball_in_the_air_does_nothing_at_an_event(make, version):
    ball = at_event(make, "BouncingBall", version, (0.3, -2.0))
    assert update(ball) == (False, False, None)
    assert ball.get("h", "v", "bounces").tolist() == [0.3, -2.0, 0.0]


@VERSIONS
def test_a_slow_ball_stays_on_the_ground_and_is_not_accelerated(make, version):
    ball = at_event(make, "BouncingBall", version, (0.0, -0.01))
    update(ball)
    assert ball.get("h", "v", "resting", "der(v)").tolist() == [0.0, 0.0, 1.0, 0.0]


@VERSIONS
def test_time_events_are_announced_one_after_the_other(make, version):
    pulse = at_event(make, "Pulse", version, period=0.25)
    assert update(pulse) == (False, False, 0.25)
    pulse.fmu.enterContinuousTimeMode()
    pulse.fmu.setTime(0.25)
    pulse.fmu.enterEventMode()
    assert update(pulse) == (True, False, 0.5)
    assert pulse.value("y") == 1.0
    assert update(pulse) == (False, False, 0.5)


@VERSIONS
def test_a_saved_state_includes_discrete_variables(make, version):
    ball = at_event(make, "BouncingBall", version, (0.0, -2.0))
    state = ball.save()
    update(ball)
    ball.restore(state)
    assert ball.get("h", "v", "bounces").tolist() == [0.0, -2.0, 0.0]
    ball.free(state)


@VERSIONS
def test_events_outside_of_event_mode_are_refused(make, version):
    ball = make("BouncingBall", version, "me").start()
    with pytest.raises(Exception, match="DiscreteStates"):
        update(ball)
    assert "continuous-time mode" in ball.log[-1]


@VERSIONS
def test_a_discrete_variable_cannot_be_set_after_initialization(make, version):
    ball = at_event(make, "BouncingBall", version)
    with pytest.raises(Exception, match="fmi"):
        ball.set(bounces=3.0)
    assert "bounces" in ball.log[-1]
