"""Forecasts of durations: those of runs with many steps from those with few, and of runs that follow one another."""

from pathlib import Path
from time import perf_counter

import pytest

import ssptool
from ssptool.studies.definition import RunOutcome, RunStatus, Task
from ssptool.studies.forecast import Forecast, StudyPace, forecast_seconds, relative_steps

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
    at = forecast_seconds(study, outcome(pilot, 0.03, 0.06), [outcome(other, 0.09, 0.12)])
    assert [at(one) for one in (pilot, other, {"h": "2ms", "end": 4})] == pytest.approx([0.06, 0.12, 0.04 + 0.02 * 20])


def test_runs_without_such_factors_take_the_mean_of_those_tried(oscillating):
    """0.1, 0.2 and 0.6 s of their own, and 0.4 s around each."""
    pilot, *others = (outcome({"System2.k2": k}, own, own + 0.4) for k, own in ((5.0, 0.1), (7.0, 0.2), (8.0, 0.6)))
    assert forecast_seconds(oscillating(), pilot, others)({"System2.k2": 9.0}) == pytest.approx(0.7)
    assert forecast_seconds(oscillating(), pilot, [])({"System2.k2": 9.0}) == pytest.approx(0.5)


def test_runs_that_follow_one_another_are_not_divided_by_the_workers():
    assert Forecast(100, 100, 0.1, 4, (), 0, 10.0, 2.0).duration == pytest.approx(2 + 8 / 4)
    assert Forecast(100, 100, None, 4, ()).duration is None


def test_the_start_of_the_workers_and_processors_that_they_share_count():
    """Four workers on two processors: 10 s of runs take 5 s, after a start of 3 s; a run is not divided."""
    assert Forecast(100, 100, 0.1, 4, (), work=10.0, start=3.0, abreast=2).duration == pytest.approx(3 + 5)
    assert Forecast(3, 1, 8.0, 4, (), work=8.0, abreast=2).duration == pytest.approx(8)


def test_a_descent_takes_at_most_its_integrations():
    """39 more of 2 s each."""
    told = Forecast(100, 60, 2.0, 1, (), work=78.0, serial=78.0, abreast=2, at_most=True, integrations=40)
    assert told.duration == pytest.approx(78) and "40 integrations" in str(told)


def test_a_short_study_has_no_figure():
    assert not any(letter.isdigit() for letter in Forecast(100, 100, 0.1, 2, (), work=10.0).words)
    assert "62 s" not in (told := Forecast(100, 100, 1.24, 2, (), work=124.0).words) and "1 min" in told
    assert "12 s" in Forecast(20, 20, 1.234, 2, (), work=24.68).words


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def revisions(forecast, durations):
    """Moments and times left of the revised forecasts, with runs of these durations on two processors."""
    clock, found, free = Clock(), [], [forecast.start] * 2
    pace = StudyPace(forecast, clock)
    for number, seconds in enumerate(durations):
        free.sort()
        clock.now = free[0] = free[0] + seconds
        if (revised := pace.after(forecast.seconds, len(durations) - 1 - number)) is not None:
            found.append((clock.now, revised.duration))
    return found, max(free)


@pytest.mark.parametrize("factor", [0.3, 3.0, 10.0])
def test_a_forecast_with_a_wrong_pace_is_revised_once(factor):
    forecast = Forecast(400, 400, 1.0, 2, (), work=400.0, start=2.0)
    found, end = revisions(forecast, [factor] * 400)
    ((moment, left),) = found
    assert moment < end / 10 and left == pytest.approx(end - moment, rel=0.3)


def test_a_forecast_with_the_right_pace_stands():
    forecast = Forecast(400, 400, 1.0, 2, (), work=400.0, start=2.0)
    for durations in ([1.0] * 400, [0.5, 1.5] * 200, [1.3] * 400):
        assert not revisions(forecast, durations)[0]


def test_other_work_that_begins_and_ends_revises_a_forecast_each_time():
    forecast = Forecast(900, 900, 1.0, 2, (), work=900.0)
    found, end = revisions(forecast, [1.0] * 100 + [4.0] * 400 + [1.0] * 400)
    assert len(found) >= 2 and 0.5 < found[-1][1] / (end - found[-1][0]) < 2


def test_a_study_of_seconds_that_lasts_longer_says_so():
    forecast = Forecast(60, 60, 0.1, 2, (), work=6.0)
    assert not revisions(forecast, [0.2] * 60)[0]
    found, end = revisions(forecast, [2.0] * 60)
    assert found[0][1] == pytest.approx(end - found[0][0], rel=0.3)


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


def test_a_search_is_not_told_fewer_checks_than_it_makes(oscillating, tmp_path):
    """The first run, the best one, and the smallest and the largest value of each factor."""
    study = oscillating(
        factors={
            "System2.k2": {"low": 5.0, "high": 15.0},
            "System1.c1": {"low": 0.1, "high": 0.4},
        },
        design={"kind": "optimize", "maximize": "peak", "runs": 20, "seed": 1},
        accuracy="check",
    )
    told = []
    results = ssptool.study(study, tmp_path / "o.study", workers=1, announce=told.append)
    checked = [remark for remark in results.table()["accuracy_remark"].to_pylist() if remark]
    assert told[0].checks == 6 >= len(checked) and told[0].at_most
