"""FMUs of FMI 3.0 whose steps contradict the flags that they were given, or give: their partners step once."""

import numpy as np
import pytest
from pytest import approx

from ssptool.engine.failure import Ending
from tests.engine.event_mode.systems import before_and_after, column, simulate
from tests.engine.event_mode.test_event_mode import edited

NONE, RETURNS_UNASKED, NO_PROGRESS, MIDDLE_UNFLAGGED, BEYOND_UNFLAGGED, EARLY_BEYOND = range(6)
MASTERS = ["jacobi", "gauss-seidel", "iterated"]
STEP, PERIOD, SPEED = 0.25, 0.11, 3.0


def beside_a_mass(system, *, goes_back=False, leads=False, event_mode=True):
    """A mass of constant speed, z = 3 t, and an integrator of this speed that pauses inside steps: as another one does,
    unless it `leads`.
    """
    others = {} if leads else {"Other": "fmi3/Pauses"}
    folder = system({"Pauses": "fmi3/Pauses", "Plant": "fmi2/Mass", **others}, [("Plant.v", "Pauses.u")])
    if not goes_back:
        edited(folder, "Mass", canGetAndSetFMUstate="false")
    if not event_mode:
        edited(folder, "Pauses", hasEventMode="false")
    return folder


def run(folder, lie, **settings):
    values = {"Plant.v": str(SPEED), "Plant.F": "0", "Plant.m": "2", "Pauses.lie": str(lie)}
    return simulate(folder, 2.0, STEP, values, **settings)


@pytest.mark.parametrize("master", MASTERS)
@pytest.mark.parametrize("lie", [NONE, RETURNS_UNASKED])
def test_what_returns_early_unasked_completes_its_step_alone(system, master, lie):
    """And its event is handled at the end of the step, as that of an FMU that obeys."""
    result = run(beside_a_mass(system), lie, master=master)
    trace = result.unwrap()
    assert column(trace, "Plant.z") - column(trace, "Plant.z")[0] == approx(SPEED * trace.t, abs=1e-12)
    assert column(trace, "Pauses.x") == approx(SPEED * trace.t, abs=1e-12)
    assert set(trace.t) == set(STEP * np.arange(9))
    assert column(trace, "Pauses.count")[-1] == 2.0 // PERIOD
    noted = [note for note in result.notes if "returned early" in note and "Pauses" in note]
    assert len(noted) == (lie == RETURNS_UNASKED)


def test_events_of_what_returns_early_unasked_are_at_the_ends_of_steps(system):
    trace = run(beside_a_mass(system), RETURNS_UNASKED).unwrap()
    t, _, after = before_and_after(trace, "Pauses.count")
    assert t == approx(STEP * np.arange(1, 9))
    assert after.tolist() == [one // PERIOD for one in STEP * np.arange(1, 9)]


@pytest.mark.parametrize("lie", [NONE, RETURNS_UNASKED])
@pytest.mark.parametrize(
    ("can", "master"),
    [*(({"goes_back": True}, master) for master in MASTERS), *(({"leads": True}, master) for master in MASTERS[:2])],
    ids=str,
)
def test_where_all_can_go_back_or_one_leads_an_early_return_is_obeyed(system, can, master, lie):
    trace = run(beside_a_mass(system, **can), lie, master=master).unwrap()
    assert column(trace, "Pauses.x") == approx(SPEED * trace.t, abs=1e-12)
    assert before_and_after(trace, "Pauses.count")[0] == approx(PERIOD * np.arange(1, 19))


CONTRADICTIONS = [
    (NO_PROGRESS, "fmi3DoStep:earlyReturn"),
    (MIDDLE_UNFLAGGED, "fmi3DoStep:lastSuccessfulTime"),
    (BEYOND_UNFLAGGED, "fmi3DoStep:lastSuccessfulTime"),
    (EARLY_BEYOND, "fmi3DoStep:lastSuccessfulTime"),
]


@pytest.mark.parametrize("event_mode", [False, True])
@pytest.mark.parametrize("master", MASTERS)
@pytest.mark.parametrize(("lie", "function"), CONTRADICTIONS)
def test_other_contradictions_end_the_run_and_are_named(system, master, lie, function, event_mode):
    result = run(beside_a_mass(system, event_mode=event_mode), lie, master=master)
    failure = result.failure
    assert (failure.ending, failure.component, failure.function) == (Ending.FMI, "Pauses", function)
    assert function in failure.message and failure.time == 0.0


@pytest.mark.parametrize("event_mode", [False, True])
@pytest.mark.parametrize("lie", [MIDDLE_UNFLAGGED, BEYOND_UNFLAGGED, EARLY_BEYOND])
def test_adaptive_steps_name_contradictions_too(system, lie, event_mode):
    folder = beside_a_mass(system, goes_back=True, event_mode=event_mode)
    result = run(folder, lie, adaptive=1e-4)
    assert (result.failure.component, result.failure.function) == ("Pauses", "fmi3DoStep:lastSuccessfulTime")


@pytest.mark.parametrize("settings", [{"master": "jacobi"}, {"adaptive": 1e-4}])
def test_without_event_mode_an_early_return_is_named(system, settings):
    folder = beside_a_mass(system, goes_back=True, event_mode=False)
    result = run(folder, RETURNS_UNASKED, **settings)
    assert (result.failure.component, result.failure.function) == ("Pauses", "fmi3DoStep:earlyReturn")
