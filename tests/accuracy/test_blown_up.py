"""Runs that blow up fail, in every way of running them; systems that grow by themselves do not."""

import numpy as np
import pytest

import ssptool
from ssptool.engine.failure import Ending, RunError
from ssptool.engine.run.unresolved_growth import is_rough
from tests.accuracy.measured import carried_out, true_error, written
from tests.accuracy.parts import Part
from tests.accuracy.systems import System, coupled, linear
from tests.engine.masters.test_damped_steps import GAP, WITH_GAP, mass, write


@pytest.fixture(scope="module")
def backlash(tmp_path_factory):
    """Two masses of 1 kg that hold their inputs, with 0.5 J in all: no speed exceeds 1 m/s."""
    folder = tmp_path_factory.mktemp("backlash")
    return write(folder / "made", {"A": mass(1.0, "-"), "B": mass(0.0, ""), "Gap": GAP}, WITH_GAP)


def simulate(folder, stiffness, step, **more):
    options = {"start_values": {"Gap.k": str(stiffness)}, "step_size": step, "stop_time": 2.0, "accuracy": "off"}
    return ssptool.simulate(folder, output=None, settings_file=False, **{**options, **more})


@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel"])
@pytest.mark.parametrize(("stiffness", "step"), [(1e4, 0.01), (1e5, 0.01), (1e6, 0.001), (1e7, 0.001)])
def test_impacts_that_are_not_resolved_end_the_run(backlash, stiffness, step, master):
    result = simulate(backlash, stiffness, step, master=master)
    assert result.status is Ending.UNSTABLE and not result.ok
    assert result.t[-1] == pytest.approx(result.failure.time)
    assert np.all(np.isfinite(result["A.speed"])) and 1e12 < abs(result["Gap.f"][-1]) < 1e25
    assert np.all(np.abs(result["Gap.f"][:-1]) < 1e12)


@pytest.mark.parametrize("iterations", [1, 2])
def test_no_step_is_done_after_the_failure(tmp_path, iterations):
    made = {"A": mass(1.0, "-"), "B": mass(0.0, ""), "Gap": GAP}
    folder = write(tmp_path / "made", {name: part.able(saves=True) for name, part in made.items()}, WITH_GAP)
    result = simulate(folder, 1e7, 0.001, iterations=iterations, isolated=False, statistics=True)
    assert result.status is Ending.UNSTABLE
    counts = result.statistics
    assert counts.steps == len(result.t) - 1 and 0 < counts.unconverged <= counts.steps
    calls = {one.component: one.calls for one in counts.calls if one.function == "fmi2DoStep"}
    assert all(iterations * counts.steps <= one < (iterations + 1) * counts.steps for one in calls.values())


def test_rows_do_not_depend_on_where_the_run_was_told_to_stop(backlash):
    whole, part = (simulate(backlash, 1e6, 0.001, stop_time=stop) for stop in (2.0, 0.1))
    assert np.array_equal(whole["Gap.f"], part["Gap.f"])


def test_a_simulation_and_a_saved_one_fail_at_the_same_time(backlash):
    expected = simulate(backlash, 1e6, 0.001).failure.time
    settings = {"step_size": 0.001, "stop_time": 2.0, "start_values": {"Gap.k": "1e6"}}
    with ssptool.Simulation(backlash, **settings) as simulation, pytest.raises(RunError) as caught:
        while True:
            simulation.step()
    assert caught.value.failure.ending is Ending.UNSTABLE
    assert caught.value.failure.time == pytest.approx(expected)


def test_growth_that_smaller_steps_do_not_have_ends_the_run(backlash):
    """Impacts that are resolved, but return more than they get: nothing but finer runs shows that."""
    for accuracy in ("off", "auto", "check"):
        result = simulate(backlash, 1e5, 0.001, accuracy=accuracy)
        assert result.status is Ending.UNSTABLE
        assert len(result.t) == 2001 and result.manifest["accuracy"]["blown_up"]
    assert simulate(backlash, 1e4, 0.0001, accuracy="check").ok


@pytest.mark.parametrize("result", ["B.speed", "Gap.f"])
def test_runs_of_a_study_fail_as_well_whatever_they_record(backlash, tmp_path, result):
    study = {
        "system": str(backlash),
        "settings": {"step_size": 0.001, "stop_time": 2.0},
        "factors": {"Gap.k": [100.0, 1e5, 1e6, 1e7]},
        "results": {"peak": f'max("{result}")'},
        "accuracy": "off",
    }
    soft, *others = ssptool.study(study, tmp_path / "out").rows()
    assert soft["status"] == "completed" and soft["peak"] < {"B.speed": 1.01, "Gap.f": 10.1}[result]
    assert [one["status"] for one in others] == ["failed"] * 3 and all(one["peak"] is None for one in others)


def test_a_simulation_notes_growth_that_only_finer_runs_can_judge(backlash):
    settings = {"step_size": 0.001, "start_values": {"Gap.k": "1e5"}}
    with ssptool.Simulation(backlash, stop_time=0.5, **settings) as simulation:
        *_, _ = simulation
        assert not simulation.notes and abs(simulation["Gap.f"]) < 1e12
    with ssptool.Simulation(backlash, stop_time=2.0, **settings) as simulation:
        *_, _ = simulation
        assert any(note.startswith("Gap.f has grown to ") for note in simulation.notes)


def pendulum(**can):
    """Upside down: x'' = 25 x in two FMUs, by the acceleration; from 1 to 1e15 in 7 s."""
    parts = {
        "Body": Part(
            inputs={"pull": 0.0},
            states={"place": (1.0, "speed"), "speed": (5.0, "pull / 2")},
            outputs={"x": "place", "w": "speed"},
            **can,
        ),
        "Top": Part(inputs={"x": 0.0}, outputs={"pull": "50 * x"}, **can),
    }
    wires = [("Top.pull", "Body.pull"), ("Body.x", "Top.x")]
    return System(parts, wires, 7.0, linear(("Body.x", "Body.w"), [[0, 1], [25, 0]], [1, 5]))


def growing(rate, stop):
    """x' = rate · y and y' = rate · x: both are e^(rate t)."""
    return coupled((1.0, f"{rate!r} * u"), (1.0, f"{rate!r} * u"), stop, lambda t, x: [rate * x[1], rate * x[0]])


@pytest.mark.parametrize(
    ("system", "step", "most"),
    [(growing(5.0, 8.0), 0.01, 0.1), (growing(5.0, 8.0), 0.05, 1.0), (pendulum(), 0.01, 0.1), (pendulum(), 0.04, 1.0)],
)
def test_a_system_that_grows_by_itself_completes(system, step, most, tmp_path):
    """By 15 decades and more, also with steps in which it grows by a fifth."""
    result = carried_out(system, written(system, tmp_path), step_size=step, accuracy="check")
    assert result.ok and np.ptp(result[next(iter(system.exact(result.t)))]) > 1e14
    error = true_error(system, result)[0]
    assert error < most and error <= 3 * result.accuracy.error


def test_only_steep_growth_and_few_steps_per_period_are_rough():
    t = np.cumsum(np.random.default_rng(5).uniform(0.05, 0.2, 24))
    for rate in (1.0, 5.0):
        assert not is_rough(t, 1e12 * np.exp(rate * t))
        assert not is_rough(t, 1e12 * np.exp(rate / 5 * t) * np.cos(rate * t + 0.3))
    assert is_rough(t, 1e12 * np.exp(t) * (-1.0) ** np.arange(24))
    assert is_rough(t, np.where(np.arange(24) % 2, 1e12, 0.0))
