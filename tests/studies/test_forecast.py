"""Forecasts of durations: those of runs with many steps from those with few, and of runs that follow one another."""

from pathlib import Path
from time import perf_counter

import pytest

import ssptool
from ssptool.studies.definition import RunOutcome, RunStatus, Task
from ssptool.studies.forecast import Forecast, forecast_seconds, relative_steps

OSCILLATOR = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"
SIZES = {"h": {"setting": "step_size", "values": ["10ms", "2ms"]}, "end": {"setting": "stop_time", "values": [1, 4]}}


def outcome(point, own, seconds):
    return RunOutcome(Task("", 0, point), RunStatus.COMPLETED, {}, seconds=seconds, own_seconds=own)


def test_steps_of_a_run_follow_from_its_times_and_step(oscillating):
    study = oscillating(factors=SIZES, settings={"start_time": 0.5})
    pilot = {"h": "10ms", "end": 1}
    assert relative_steps(study, pilot, pilot) == 1.0
    assert relative_steps(study, {"h": "2ms", "end": 4}, pilot) == pytest.approx(5 * 3.5 / 0.5)


def test_durations_are_on_a_straight_line_over_the_steps(oscillating):
    """0.03 s for each run, 0.01 s for initialization and 0.02 s for the steps of the pilot run."""
    study = oscillating(factors=SIZES)
    pilot, other = {"h": "10ms", "end": 1}, {"h": "10ms", "end": 4}
    at = forecast_seconds(study, 0.06, [outcome(pilot, 0.03, 0.06), outcome(other, 0.09, 0.12)])
    assert [at(one) for one in (pilot, other, {"h": "2ms", "end": 4})] == pytest.approx([0.06, 0.12, 0.04 + 0.02 * 20])


def test_runs_without_such_factors_take_as_long_as_the_pilot(oscillating):
    assert forecast_seconds(oscillating(), 0.5, [outcome({"System2.k2": 5.0}, 0.1, 0.5)])({"System2.k2": 9.0}) == 0.5


def test_runs_that_follow_one_another_are_not_divided_by_the_workers():
    assert Forecast(100, 100, 0.1, 4, (), 0, 10.0, 2.0).duration == pytest.approx(2 + 8 / 4)
    assert Forecast(100, 100, None, 4, ()).duration is None


def test_a_study_of_steps_is_forecast_by_its_small_ones(oscillating, tmp_path):
    """The last of four runs has 1000 times the steps of the first."""
    sizes = {"h": {"setting": "step_size", "values": [0.1, 0.05, 0.001, 0.0001]}}
    told, began = [], []

    def announce(forecast):
        told.append(forecast)
        began.append(perf_counter())

    study = oscillating(factors=sizes, settings={"stop_time": 400.0})  # so that starting the workers takes little of it
    ssptool.study(study, tmp_path / "h.study", workers=1, announce=announce)
    took = perf_counter() - began[0]
    assert 4 * told[0].seconds < told[0].duration
    assert 1 / 3 < took / told[0].duration < 3  # other work on the machine may take half of it
