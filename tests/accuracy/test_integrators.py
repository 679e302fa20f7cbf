"""The default integrator after state events: its values and event times, against closed forms."""

from dataclasses import replace

import pytest

import ssptool
from tests.accuracy.integrators import CASES, event_error, rod
from tests.accuracy.measured import carried_out, true_error, written

EVENTFUL = [name for name, case in CASES.items() if len(case.events)]


@pytest.mark.parametrize("name", EVENTFUL)
def test_values_and_event_times_are_exact_by_default(name, tmp_path):
    case = CASES[name]
    result = carried_out(case.system, written(case.system, tmp_path))
    assert result.ok and result.statistics.evaluations < 10_000
    assert true_error(case.system, result)[0] < 1e-7
    assert event_error(result, case.events) < 1e-9 * case.system.stop


@pytest.mark.parametrize(("states", "method"), [(60, "rosenbrock"), (101, "bdf")])
def test_many_states_leave_the_default_to_a_method_that_keeps_its_jacobian(states, method, tmp_path):
    made = rod(states)
    made = replace(made, parts={"One": made.parts["One"].able(indicators=("c0 - 0.001",))})
    choices = ssptool.plan(written(made, tmp_path)).choices
    assert next(one.value for one in choices if one.setting == "integrator") == method
