"""Steps of components in event mode: what they say is reported, and ends a run of steps."""

import math
from dataclasses import replace

import numpy as np
import pytest

from ssptool.engine.kernel.calls import Call, Code, Instruction, Op
from tests.engine.kernel.mock_fmu import DO_STEP, Mock, Mocks

STEP = [Instruction(Op.SAVE, 0), Instruction(Op.ADVANCE, 0), Instruction(Op.ACCEPT), Instruction(Op.RECORD)]


@pytest.fixture
def reporting(make_kernel, mock_library):
    """A kernel with one component in event mode, that component and its report."""

    def make():
        kernel, mock, report = make_kernel(1), Mock(x=[1.0]), np.array([0.0, math.nan, 0.0, 1.0, 0.0])
        kernel.add(replace(Mocks(mock_library, 3).table(kernel, mock, [], [0]), report=report))
        kernel.group([0])
        kernel.record_slots([0])
        kernel.evaluate(kernel.schedule([Call(0, [], [0])]))
        kernel.accept(0.0)
        return kernel, mock, report

    return make


def test_a_step_that_asks_for_nothing_is_reported_as_done(reporting):
    kernel, _, report = reporting()
    assert kernel.run(STEP, 0.0, 0.5, 0, np.zeros((3, 2))).steps == 3
    assert report.tolist() == [0.0, 1.5, 0.0, 1.0, 0.0]


def test_a_wish_for_an_event_ends_the_run_after_the_step(reporting):
    kernel, mock, report = reporting()
    mock.event = 1
    rows = np.zeros((3, 2))
    outcome = kernel.run(STEP, 0.0, 0.5, 0, rows)
    assert outcome.ok and outcome.steps == 1
    assert rows[:, 0].tolist() == [0.5, 0.0, 0.0]
    assert report.tolist() == [1.0, 0.5, 0.0, 1.0, 0.0]


def test_an_early_return_ends_the_run_before_its_step_counts(reporting):
    """And `discard_point` gives the values of its start."""
    kernel, mock, report = reporting()
    before = kernel.values.tolist()
    mock.early_return, mock.reached = 1, 0.25
    kernel.values[:] += 7.0
    outcome = kernel.run(STEP, 0.0, 0.5, 0, np.zeros((3, 2)))
    assert (outcome.code, outcome.steps, outcome.instruction) == (Code.EVENT, 0, 1)
    assert report.tolist() == [1.0, 0.25, 0.0, 1.0, 0.0]
    kernel.discard_point()
    assert kernel.values.tolist() == before
    assert kernel.restore(0).ok


def test_an_early_return_at_the_end_of_the_step_is_none(reporting):
    """Up to 1e-9 of the step."""
    kernel, mock, _ = reporting()
    mock.early_return, mock.reached = 1, 0.5 - 1e-10
    outcome = kernel.run(STEP, 0.0, 0.5, 0, np.zeros((3, 2)))
    assert outcome.ok and outcome.steps == 1


def test_a_step_without_progress_of_a_component_that_may_not_return_early_is_named(reporting):
    kernel, mock, report = reporting()
    report[3] = 0.0
    mock.early_return, mock.reached = 1, 1e-300
    outcome = kernel.run(STEP, 0.0, 0.5, 0, np.zeros((3, 2)))
    assert (outcome.code, outcome.steps, outcome.function) == (Code.FMI, 0, "fmi3DoStep:earlyReturn")


@pytest.mark.parametrize(("early", "reached"), [(0, 0.25), (0, 0.6), (1, 0.6), (1, -0.1), (1, math.nan)])
@pytest.mark.parametrize("returns", [0.0, 1.0])
def test_a_time_that_contradicts_the_step_is_named(reporting, early, reached, returns):
    kernel, mock, report = reporting()
    report[3] = returns
    mock.early_return, mock.reached = early, reached
    outcome = kernel.run(STEP, 0.0, 0.5, 0, np.zeros((3, 2)))
    assert (outcome.code, outcome.steps, outcome.function) == (Code.FMI, 0, "fmi3DoStep:lastSuccessfulTime")


def test_a_component_that_adds_up_its_own_steps_may_be_a_little_off(reporting):
    kernel, mock, report = reporting()
    mock.reached = 0.5 + 1e-6
    assert kernel.run(STEP, 0.0, 0.5, 0, np.zeros((1, 2))).ok
    assert report[:2].tolist() == [0.0, 0.5]


def test_a_component_that_waits_does_nothing_in_a_step(reporting):
    kernel, mock, report = reporting()
    report[2] = 1.0
    calls = mock.calls[DO_STEP]
    assert kernel.advance(0, 0.0, 0.5).ok
    assert mock.calls[DO_STEP] == calls and math.isnan(report[1])


def test_there_is_no_point_to_take_values_back_to_before_one_was_accepted(make_kernel):
    with pytest.raises(ValueError, match="no point was accepted"):
        make_kernel(1).discard_point()
