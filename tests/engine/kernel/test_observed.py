"""Variables that are got for the rows of the trace and for nothing else."""

import math
from dataclasses import replace

import numpy as np
import pytest

from ssptool.engine.kernel.calls import Code, Instruction, Op
from tests.engine.kernel.mock_fmu import DO_STEP, FIRST_OUTPUT, GET, SET, Mock
from tests.engine.kernel.test_steps import FMI_NAMES
from tests.engine.kernel.test_types import CASES, VALUES, carrier, integers, put, read, table  # noqa: F401


def observed(make_kernel, mocks, mock, **more):
    """Input 0 → output 1; slot 2 observes the second output, slot 3 follows from that."""
    kernel = make_kernel(4)
    own = mocks.table(kernel, mock, inputs=[0], outputs=[1])
    kernel.add(replace(own, observed_slots=[2], observed_references=[FIRST_OUTPUT + 1], **more))
    kernel.connect([2], [3], [1000.0], [1.0])
    kernel.record_slots([0, 1, 2, 3])
    return kernel, kernel.group([0])


def program(group):
    return [Instruction(Op.HOLD, group), Instruction(Op.ADVANCE, group), Instruction(Op.ACCEPT), Instruction(Op.RECORD)]


def test_every_row_has_them_with_the_inputs_of_the_row(make_kernel, mocks):
    """The observed output is 2 u, at once."""
    mock = Mock(feedthrough=[[0.0], [2.0]])
    kernel, _ = observed(make_kernel, mocks, mock)
    kernel.values[0] = 3.0
    row = np.empty(5)
    assert kernel.record(0.5, row).ok
    assert row.tolist() == [0.5, 3.0, 0.0, 6.0, 6001.0]
    assert (mock.calls[SET], mock.calls[GET], mock.calls[DO_STEP]) == (1, 1, 0)


def test_inputs_that_somebody_else_sets_are_left_alone(make_kernel, mocks):
    mock = Mock(feedthrough=[[0.0], [2.0]])
    kernel, _ = observed(make_kernel, mocks, mock, refreshed=False)
    kernel.values[0] = 3.0
    assert kernel.record(0.5, np.empty(5)).ok
    assert mock.calls[SET] == 0


def test_a_run_records_them_in_each_row_and_asks_once_for_all(make_kernel, mocks):
    mock = Mock(x=[1.0, 5.0], feedthrough=[[0.0], [2.0]])
    kernel, group = observed(make_kernel, mocks, mock)
    kernel.values[0] = 3.0
    rows = np.empty((4, 5))
    assert kernel.run(program(group), 0.0, 0.1, 0, rows).ok
    assert rows[:, 3].tolist() == [11.0] * 4 and rows[:, 4].tolist() == [11001.0] * 4
    assert mock.calls[GET] == 8  # the output of the step, and what is observed


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_not_finite_is_recorded_and_ends_nothing(make_kernel, mocks, value):
    kernel, group = observed(make_kernel, mocks, Mock(x=[1.0, value]))
    rows = np.empty((2, 5))
    assert kernel.run(program(group), 0.0, 0.1, 0, rows).ok
    assert np.array_equal(rows[:, 3], [value, value], equal_nan=True)


def test_a_component_that_refuses_is_named_and_the_rows_before_stay(make_kernel, mocks):
    mock = Mock(x=[1.0, 5.0])
    kernel, group = observed(make_kernel, mocks, mock)
    mock.refuse(GET, from_call=4)
    outcome = kernel.run(program(group), 0.0, 0.1, 0, np.empty((4, 5)))
    assert (outcome.code, outcome.steps, outcome.instance) == (Code.FMI, 1, 0)
    assert outcome.function == FMI_NAMES[mocks.version][1]
    assert kernel.record(0.3, np.empty(5)).function == outcome.function


@pytest.mark.parametrize(("major", "kind"), CASES)
def test_they_may_have_any_type(make_kernel, carrier, major, kind):  # noqa: F811
    """What the component passes on at once is observed in slots 4 and 5."""
    kernel = make_kernel(6, integers=integers(range(6), kind))
    own = table(carrier, major, [0, 1], [2, 3], kind)
    kernel.add(replace(own, observed_slots=[4, 5], observed_references=[20, 21], observed_types=[kind] * 2))
    kernel.record_slots([4, 5])
    for slot, value in enumerate(VALUES[kind]):
        put(kernel, slot, kind, value)
    assert kernel.record(0.0, np.empty(3)).ok
    assert [read(kernel, slot, kind) for slot in (4, 5)] == VALUES[kind]


def test_a_row_of_another_width_is_refused(make_kernel, mocks):
    kernel, _ = observed(make_kernel, mocks, Mock())
    with pytest.raises(ValueError, match="row"):
        kernel.record(0.0, np.empty(3))


def test_their_slots_belong_to_the_instance(make_kernel, mocks):
    kernel = make_kernel(2)
    own = mocks.table(kernel, Mock(), inputs=[0], outputs=[1])
    with pytest.raises(ValueError, match="slot 1 already belongs"):
        kernel.add(replace(own, observed_slots=[1], observed_references=[12]))
    with pytest.raises(ValueError, match="observed references"):
        kernel.add(replace(own, observed_slots=[1]))
