"""Runs that end with a saved state, and runs that continue from it, against one run over both intervals."""

from pathlib import Path

import numpy as np
import pytest

import ssptool
from ssptool.engine.run.saved import NotSavable
from tests.engine.event_mode.systems import write_system
from tests.engine.small.fmus import Var, make_fmu

OSCILLATOR = Path(__file__).parents[3] / "systems" / "dual_mass_oscillator"
BY_STEPS = {"implementation": "cs", "step_size": 0.01, "accuracy": "off", "start_values": {"System2.m_c": 0.5}}


def over_both(system, file, middle, stop, **options):
    """Traces of one run, and of the run that continues from the state of another one."""
    whole = ssptool.simulate(system, stop_time=stop, **options)
    first = ssptool.simulate(system, stop_time=middle, save=file, **options)
    rest = ssptool.simulate(system, stop_time=stop, saved=file, **options)
    assert whole.ok and first.ok and rest.ok
    assert rest.first_time == rest.t[0] == first.t[-1] == pytest.approx(middle)
    return whole.trace, rest.trace


@pytest.mark.parametrize(
    "options",
    (
        {"master": "jacobi"},
        {"master": "gauss-seidel"},
        {"master": "iterated", "acceleration": "iqn-ils"},
        {"master": "iterated", "isolated": True},
        {"record": ["*.x1", "System2.v2"], "every": 3},
        {"adaptive": 1e-4, "max_step_size": 0.05},
    ),
    ids=lambda given: "-".join(given),
)
def test_a_run_from_a_saved_state_has_the_bits_of_one_run(tmp_path, options):
    """The last step of an adaptive run ends at its stop time, so that its steps differ after that."""
    whole, rest = over_both(OSCILLATOR, tmp_path / "state", 0.9, 2.0, **{**BY_STEPS, **options})
    if "adaptive" in options:
        common = np.interp(whole.t[whole.t > 0.9], rest.t, rest["System1.x1"])
        assert common == pytest.approx(whole["System1.x1"][whole.t > 0.9], abs=1e-3)
        return
    later = whole.t >= rest.t[0]
    assert np.array_equal(whole.t[later], rest.t)
    assert np.array_equal(whole.y[later], rest.y)


def test_a_simulation_and_a_run_continue_from_the_files_of_each_other(tmp_path):
    options = {name: value for name, value in BY_STEPS.items() if name != "accuracy"}
    whole = ssptool.simulate(OSCILLATOR, stop_time=1.0, **BY_STEPS)
    with ssptool.Simulation(OSCILLATOR, stop_time=1.0, **options) as simulation:
        simulation.run_until(0.4)
        simulation.save(tmp_path / "state")
    rest = ssptool.simulate(OSCILLATOR, stop_time=1.0, saved=tmp_path / "state", **BY_STEPS)
    assert np.array_equal(rest.trace.y[-1], whole.trace.y[-1])
    assert ssptool.simulate(OSCILLATOR, stop_time=0.7, save=tmp_path / "later", **BY_STEPS).ok
    with ssptool.Simulation(OSCILLATOR, stop_time=1.0, saved=tmp_path / "later", **options) as simulation:
        list(simulation)
        assert np.array_equal(simulation.trace.y[-1], whole.trace.y[-1])


def test_model_exchange_continues_within_its_tolerance(tmp_path):
    """Only the integrator restarts at the saved state."""
    options = {"implementation": "me", "tolerance": 1e-10, "step_size": 0.01, "accuracy": "off"}
    whole, rest = over_both(OSCILLATOR, tmp_path / "state", 1.0, 3.0, **options)
    assert rest.y == pytest.approx(whole.y[whole.t >= 1.0], abs=1e-7)


def test_a_run_of_three_parts_keeps_the_grid_of_its_rows(tmp_path):
    options = {**BY_STEPS, "output_step": 0.07}
    whole = ssptool.simulate(OSCILLATOR, stop_time=1.5, **options)
    ssptool.simulate(OSCILLATOR, stop_time=0.5, save=tmp_path / "one", **options)
    ssptool.simulate(OSCILLATOR, stop_time=1.0, saved=tmp_path / "one", save=tmp_path / "two", **options)
    rest = ssptool.simulate(OSCILLATOR, stop_time=1.5, saved=tmp_path / "two", **options)
    later = whole.t >= rest.t[0]
    assert rest.t == pytest.approx(whole.t[later])
    assert np.array_equal(whole.trace.y[later], rest.trace.y)


def test_a_guessed_step_is_that_of_the_saved_run(tmp_path):
    """x' = -20 x from 3: neither the system nor its FMU states a step."""
    variables = (Var("x", "state", start=3.0), Var("dx", "der", of="x", needs=["x"]), Var("y", "output", needs=["x"]))
    make_fmu(tmp_path / "Decay.fmu", variables, calc="v->dx = -20 * v->x; v->y = 2 * v->x + 1;")
    system = write_system(tmp_path / "decay", tmp_path, {"A": "Decay"})
    options = {"implementation": "cs"}
    first = ssptool.simulate(system, stop_time=2.0, save=tmp_path / "state", **options)
    rest = ssptool.simulate(system, stop_time=4.0, saved=tmp_path / "state", **options)
    assert np.diff(rest.t) == pytest.approx(np.diff(first.t)[0])


@pytest.mark.parametrize(
    "changed, told",
    (
        ({"start_values": {"System2.m_c": 0.75}}, "start values of System2"),
        ({"step_size": 0.02}, "interval"),
        ({"master": "jacobi"}, "master"),
        ({"stop_time": 0.5}, "stop time"),
    ),
    ids=lambda given: next(iter(given)) if isinstance(given, dict) else given,
)
def test_a_state_of_another_run_is_refused_with_what_differs(tmp_path, changed, told):
    ssptool.simulate(OSCILLATOR, stop_time=0.5, save=tmp_path / "state", **BY_STEPS)
    with pytest.raises((ssptool.exceptions.UnusableFile, ssptool.exceptions.WrongValue), match=told):
        ssptool.simulate(OSCILLATOR, saved=tmp_path / "state", **{**BY_STEPS, "stop_time": 1.0, **changed})


def test_an_fmu_that_cannot_save_its_state_is_named_before_the_run(tmp_path):
    variables = (Var("u", "input", start=2.0), Var("y", "output", needs=["u"]))
    make_fmu(tmp_path / "Gain.fmu", variables, calc="v->y = 3 * v->u + 1;", me=None, saves=False)
    system = write_system(tmp_path / "gain", tmp_path, {"Silent": "Gain"})
    with pytest.raises(NotSavable, match="Silent"):
        ssptool.simulate(system, stop_time=1.0, step_size=0.1, save=tmp_path / "state", output=tmp_path / "r.csv")
    assert not (tmp_path / "state").exists() and not (tmp_path / "r.csv").exists()


def test_the_accuracy_of_a_run_from_a_saved_state_is_refused(tmp_path):
    ssptool.simulate(OSCILLATOR, stop_time=0.5, save=tmp_path / "state", **BY_STEPS)
    with pytest.raises(ssptool.exceptions.ContradictingSettings, match="saved state"):
        ssptool.simulate(OSCILLATOR, stop_time=1.0, saved=tmp_path / "state", **{**BY_STEPS, "accuracy": "check"})


def test_a_run_from_a_saved_state_is_reproduced(tmp_path):
    ssptool.simulate(OSCILLATOR, stop_time=0.5, save=tmp_path / "state", **BY_STEPS)
    output = tmp_path / "rest.csv"
    ssptool.simulate(OSCILLATOR, stop_time=1.0, saved=tmp_path / "state", output=output, **BY_STEPS)
    assert ssptool.reproduce(output).same
