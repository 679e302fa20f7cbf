"""Macro steps that nobody states: if the measured error is large, a run takes smaller ones, and says so."""

import json

import pytest

import ssptool
from tests.accuracy.measured import carried_out, true_error, written
from tests.accuracy.systems import by_steps, oscillator

LONG = by_steps(oscillator(stop=20.0))
"""32 periods, 20 ms each step: 5 rad/s."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return written(LONG, tmp_path_factory.mktemp("long"))


def test_a_default_run_is_right_and_names_the_error_of_the_default_step(folder, tmp_path):
    stated = carried_out(LONG, folder, accuracy="check", step_size=0.02)
    assert true_error(LONG, stated)[0] > 0.05 and not stated.accuracy.default
    result = ssptool.simulate(folder, output=tmp_path / "r.csv", accuracy="check", **LONG.settings)
    assert true_error(LONG, result)[0] <= min(0.01, 3 * result.accuracy.error)
    assert "0.02 s" in result.accuracy.default and result.accuracy.met
    assert json.loads((tmp_path / "r.csv.json").read_text())["settings"]["step_size"] == result.settings.step_size
    assert len(ssptool.read_trace(tmp_path / "r.csv").t) == len(result.t) > 1001


def test_later_runs_of_a_loop_have_the_step_of_the_first(folder):
    first, other = (carried_out(LONG, folder, accuracy="auto", start_values={"Mass.mass": m}) for m in (2.0, 2.1))
    assert other.settings.step_size == first.settings.step_size < 0.02
    assert other.accuracy.error is None and first.accuracy.default in other.accuracy.remark


def test_small_errors_keep_the_default_step(folder):
    result = carried_out(LONG, folder, accuracy="check", stop_time=0.8)
    assert result.settings.step_size is None and not result.accuracy.default and len(result.t) == 41
