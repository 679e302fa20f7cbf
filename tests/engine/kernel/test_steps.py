"""Steps, failures, saved states and programs."""

import math
from dataclasses import replace

import numpy as np
import pytest

from ssptool.engine.kernel.calls import Call, Code, Instruction, Op
from tests.engine.kernel.mock_fmu import DO_STEP, FREE_STATE, GET, GET_STATE, SET, SET_STATE, Mock, Mocks

FMI_NAMES = {
    2: ("fmi2SetReal", "fmi2GetReal", "fmi2DoStep", "fmi2GetFMUstate", "fmi2SetFMUstate"),
    3: ("fmi3SetFloat64", "fmi3GetFloat64", "fmi3DoStep", "fmi3GetFMUState", "fmi3SetFMUState"),
}


def chain(make_kernel, mocks, count=2):
    """`count` integrators in a ring: slots 2k (input) and 2k + 1 (output), input k from output k − 1."""
    kernel = make_kernel(2 * count)
    components = [Mock(x=[1.0 + k]) for k in range(count)]
    for k, mock in enumerate(components):
        kernel.add(mocks.table(kernel, mock, inputs=[2 * k], outputs=[2 * k + 1]))
    sources = [(2 * k - 1) % (2 * count) for k in range(count)]
    kernel.connect(sources, [2 * k for k in range(count)], [1.0] * count, [0.0] * count)
    return kernel, components, kernel.group(range(count))


@pytest.mark.parametrize(("function", "name"), [(SET, 0), (GET, 1), (DO_STEP, 2)])
@pytest.mark.parametrize("status", [2, 3, 4, 5])
def test_a_failing_call_stops_the_step_and_is_named(make_kernel, mocks, function, name, status):
    kernel, (first, second, third), group = chain(make_kernel, mocks, 3)
    second.refuse(function, status)
    outcome = kernel.advance(group, 0.0, 0.1)
    assert not outcome.ok
    assert outcome.code is Code.FMI
    assert (outcome.instance, outcome.function, outcome.fmi_status) == (1, FMI_NAMES[mocks.version][name], status)
    assert (first.calls[DO_STEP], third.calls[DO_STEP]) == (1, 0)


def test_a_warning_does_not_stop_anything(make_kernel, mocks):
    kernel, (first, _), group = chain(make_kernel, mocks)
    for function in (SET, GET, DO_STEP):
        first.refuse(function, status=1)
    assert kernel.advance(group, 0.0, 0.1).ok


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_component_that_delivers_nonsense_is_named(make_kernel, mocks, value):
    kernel, (_, second), group = chain(make_kernel, mocks)
    if math.isnan(value):
        second.nan_from = 0.0
    else:
        second.x[0] = value
    outcome = kernel.advance(group, 0.0, 0.1)
    assert outcome.code is Code.NONFINITE
    assert (outcome.instance, outcome.slot) == (1, 3)
    assert outcome.function == FMI_NAMES[mocks.version][1]


@pytest.mark.parametrize("flag", ["event", "early_return"])
def test_an_fmi3_step_that_ends_otherwise_is_named(make_kernel, mock_library, flag):
    kernel, (_, second), group = chain(make_kernel, Mocks(mock_library, 3))
    setattr(second, flag, 1)
    outcome = kernel.advance(group, 0.0, 0.1)
    spelled = {"event": "eventHandlingNeeded", "early_return": "earlyReturn"}
    assert (outcome.code, outcome.instance, outcome.function) == (Code.FMI, 1, f"fmi3DoStep:{spelled[flag]}")


TO_END = (Code.FMI, 1, "fmi3DoStep:terminateSimulation")


def told(outcome):
    return outcome.code, outcome.instance, outcome.function


def test_a_step_in_which_fmi3_is_asked_to_end_is_the_last_one(make_kernel, mock_library):
    kernel, (_, second), group = chain(make_kernel, Mocks(mock_library, 3))
    second.terminate = 1
    assert kernel.advance(group, 0.0, 0.1).ok
    second.terminate = 0  # it need not say it again
    assert told(kernel.advance(group, 0.1, 0.1)) == TO_END
    assert second.calls[DO_STEP] == 1


def test_an_end_that_was_asked_for_in_a_step_that_is_taken_back_is_none(make_kernel, mock_library):
    kernel, (_, second), group = chain(make_kernel, Mocks(mock_library, 3))
    assert kernel.save(group).ok
    second.terminate = 1
    assert kernel.advance(group, 0.0, 0.2).ok and kernel.restore(group).ok
    second.terminate = 0
    assert kernel.advance(group, 0.0, 0.1).ok and kernel.advance(group, 0.1, 0.1).ok
    kernel.release()


def test_an_end_that_is_asked_for_before_the_end_of_a_step_is_told_of(make_kernel, mock_library):
    kernel, (_, second), group = chain(make_kernel, Mocks(mock_library, 3))
    second.terminate = second.early_return = 1
    assert told(kernel.advance(group, 0.0, 0.1)) == TO_END


def test_a_fatal_failure_inside_an_intermediate_update_is_not_lost(make_kernel, mock_library):
    kernel, (first, _), group = chain(make_kernel, Mocks(mock_library, 3))
    kernel.input_rates[0, 0] = 1.0
    first.refuse(SET, status=4, from_call=3)  # the first is that at the start of the step
    outcome = kernel.advance(group, 0.0, 0.1)
    assert (outcome.instance, outcome.function, outcome.fmi_status) == (0, "fmi3SetFloat64", 4)
    assert first.calls[DO_STEP] == 1


def test_components_without_inputs_or_outputs_are_only_stepped(make_kernel, mocks):
    kernel, mock = make_kernel(0), Mock()
    kernel.add(mocks.table(kernel, mock, inputs=[], outputs=[]))
    assert kernel.advance(kernel.group([0]), 2.0, 0.25).ok
    assert (mock.calls[SET], mock.calls[GET], mock.calls[DO_STEP]) == (0, 0, 1)
    assert (mock.last_t, mock.last_h) == (2.0, 0.25)


def test_a_restored_state_gives_the_same_step_again(make_kernel, mocks):
    kernel, _, group = chain(make_kernel, mocks)
    kernel.values[:] = [0.3, 1.0, 0.7, 2.0]
    kernel.hold(group)
    assert kernel.save(group).ok
    results = []
    for _ in range(3):
        assert kernel.restore(group).ok
        assert kernel.advance(group, 0.0, 0.1).ok
        results.append(kernel.values.copy())
    kernel.release()
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])


def test_components_may_flush_their_results_although_they_may_be_set_back(make_kernel, mocks):
    """FMUs exist that start each step from the same state if noSetFMUStatePriorToCurrentPoint is false."""
    kernel, (first, second), group = chain(make_kernel, mocks)
    assert kernel.save(kernel.group([1])).ok
    assert kernel.advance(group, 0.0, 0.1).ok
    assert (first.last_no_set_state, second.last_no_set_state) == (1, 1)


def test_states_are_reused_and_freed_once(make_kernel, mocks):
    kernel, (first, _), group = chain(make_kernel, mocks)
    for _ in range(3):
        assert kernel.save(group).ok
    kernel.release()
    kernel.release()
    assert (first.calls[GET_STATE], first.calls[FREE_STATE]) == (3, 1)


@pytest.mark.parametrize(("function", "name"), [(GET_STATE, 3), (SET_STATE, 4)])
def test_failing_state_functions_are_named(make_kernel, mocks, function, name):
    kernel, (_, second), group = chain(make_kernel, mocks)
    second.refuse(function)
    outcome = kernel.save(group)
    if function == SET_STATE:
        assert outcome.ok
        outcome = kernel.restore(group)
    kernel.release()
    assert (outcome.instance, outcome.function) == (1, FMI_NAMES[mocks.version][name])


def test_what_was_not_saved_cannot_be_restored(make_kernel, mocks):
    kernel, _, group = chain(make_kernel, mocks)
    with pytest.raises(ValueError, match="no state of instance 0"):
        kernel.restore(group)


# -- programs --------------------------------------------------------------------------------------------------


def jacobi(schedule):
    return [
        Instruction(Op.EXCHANGE, 0),
        Instruction(Op.HOLD, 0),
        Instruction(Op.ADVANCE, 0),
        Instruction(Op.EVALUATE, schedule),
        Instruction(Op.ACCEPT),
        Instruction(Op.RECORD),
    ]


def test_times_of_a_run_do_not_drift(make_kernel, mocks):
    """Each is that of the decimal number start + k h, and no sum: the same in pieces as at once."""
    kernel, (first, _), _ = chain(make_kernel, mocks)
    schedule = kernel.schedule([])
    kernel.record_slots([])
    rows = np.empty((1000, 1))
    assert kernel.run(jacobi(schedule), 0.1, 1e-3, 0, rows[:400]).steps == 400
    assert kernel.run(jacobi(schedule), 0.1, 1e-3, 400, rows[400:]).steps == 600
    assert np.array_equal(rows[:, 0], [(100 + k) / 1000 for k in range(1, 1001)])
    assert first.last_t == 1.099


def test_recorded_slots_have_the_order_asked_for(make_kernel, mocks):
    kernel, _, _ = chain(make_kernel, mocks)
    kernel.values[:] = [1.0, 2.0, 3.0, 4.0]
    kernel.record_slots([3, 0, 3])
    rows = np.empty((1, 4))
    assert kernel.run([Instruction(Op.RECORD)], 0.0, 0.5, 0, rows).ok
    assert rows.tolist() == [[0.5, 4.0, 1.0, 4.0]]


def test_a_failing_run_keeps_the_rows_before(make_kernel, mocks):
    kernel, (_, second), _ = chain(make_kernel, mocks)
    kernel.record_slots([1, 3])
    second.refuse(DO_STEP, status=3, from_call=6)
    rows = np.full((10, 3), -1.0)
    outcome = kernel.run(jacobi(kernel.schedule([])), 0.0, 0.1, 0, rows)
    assert (outcome.code, outcome.instance, outcome.steps) == (Code.FMI, 1, 5)
    assert np.all(rows[:5, 0] > 0)
    assert np.all(rows[5:] == -1.0)


def test_a_failing_instruction_has_its_place_in_the_whole_program(make_kernel, mocks):
    """Also behind instructions for nobody."""
    kernel, (first, _), group = chain(make_kernel, mocks)
    nobody = kernel.group([])
    first.refuse(DO_STEP)
    kernel.record_slots([])
    idle = [Instruction(Op.HOLD, nobody), Instruction(Op.EXTRAPOLATE, nobody, 1), Instruction(Op.ADVANCE, nobody)]
    outcome = kernel.run([*idle, Instruction(Op.ADVANCE, group)], 0.0, 0.1, 0, np.empty((1, 1)))
    assert (outcome.code, outcome.instruction) == (Code.FMI, 3)


PROGRAMS = {
    "jacobi, held": [Instruction(Op.EXCHANGE, 0), Instruction(Op.HOLD, 0), Instruction(Op.ADVANCE, 0)],
    "jacobi, extrapolated": [Instruction(Op.EXTRAPOLATE, 0, 2), Instruction(Op.ADVANCE, 0)],
    "gauss-seidel": [
        *(Instruction(Op.EXCHANGE, 1), Instruction(Op.EXTRAPOLATE, 1, 1), Instruction(Op.ADVANCE, 1)),
        *(Instruction(Op.EXCHANGE, 2), Instruction(Op.INTERPOLATE, 2, 2), Instruction(Op.ADVANCE, 2)),
    ],
}
END = [Instruction(Op.EVALUATE, 0), Instruction(Op.ACCEPT), Instruction(Op.RECORD)]


def coupled(make_kernel, mocks):
    """Three components with several variables, feedthrough, conversions, and numbers that do not round nicely."""
    kernel = make_kernel(12)
    mocked = [
        Mock([[0.1, 0.3], [0.0, -0.7]], [1.0, -0.2]),
        Mock([[0.0, 0.0], [0.0, 0.0]], [0.3, 0.9]),
        Mock([[0.37]], [0.6]),
    ]
    shapes = [([0, 1], [2, 3]), ([4, 5], [6, 7]), ([8], [9])]
    for mock, (inputs, outputs) in zip(mocked, shapes, strict=True):
        kernel.add(mocks.table(kernel, mock, inputs, outputs))
    kernel.connect(
        [6, 9, 2, 3, 7, 2], [0, 1, 4, 5, 8, 10], [-1.1, 0.31, -0.9, 0.7, -1.3, 1e3], [0.01, 0.0, 0.2, -0.3, 0.7, 0.1]
    )
    for instances in ([0, 1, 2], [0, 2], [1]):
        kernel.group(instances)
    kernel.schedule([Call(1, [4, 5], [6, 7]), Call(2, [8], [9]), Call(0, [0, 1], [2, 3]), Call(1, [4, 5], [])])
    kernel.record_slots(range(11))
    assert kernel.evaluate(0).ok
    kernel.accept(0.0)
    return kernel, mocked


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_run_is_its_operations_one_by_one(make_kernel, mocks, name):
    kernel, _components = coupled(make_kernel, mocks)
    rows = np.empty((50, 12))
    assert kernel.run([*PROGRAMS[name], *END], 0.0, 0.013, 0, rows).ok
    by_hand, _others = coupled(make_kernel, mocks)
    for k in range(50):
        t, reached = 13 * k / 1000, 13 * (k + 1) / 1000
        for instruction in PROGRAMS[name]:
            match instruction.op:
                case Op.EXCHANGE:
                    by_hand.exchange(instruction.argument)
                case Op.HOLD:
                    by_hand.hold(instruction.argument)
                case Op.EXTRAPOLATE:
                    by_hand.extrapolate(instruction.argument, instruction.order)
                case Op.INTERPOLATE:
                    by_hand.interpolate(instruction.argument, instruction.order, 0.013)
                case Op.ADVANCE:
                    assert by_hand.advance(instruction.argument, t, 0.013).ok
        assert by_hand.evaluate(0).ok
        by_hand.accept(reached)
        assert rows[k].tobytes() == np.array([reached, *by_hand.values[:11]]).tobytes()


# -- misuse ----------------------------------------------------------------------------------------------------


def test_tables_that_cannot_be_right_are_refused(make_kernel, mocks):
    kernel, mock = make_kernel(3), Mock()
    table = mocks.table(kernel, mock, [0], [1])
    with pytest.raises(ValueError, match="FMI 4"):
        kernel.add(replace(table, fmi_major=4))
    with pytest.raises(ValueError, match="DoStep"):
        kernel.add(replace(table, functions={k: v for k, v in table.functions.items() if "DoStep" not in k}))
    with pytest.raises(ValueError, match="input references"):
        kernel.add(replace(table, input_references=[0, 1]))
    with pytest.raises(IndexError, match="slot 3"):
        kernel.add(replace(table, output_slots=[3]))


def test_a_slot_belongs_to_one_instance(make_kernel, mocks):
    kernel, mock = make_kernel(3), Mock()
    kernel.add(mocks.table(kernel, mock, [0], [1]))
    with pytest.raises(ValueError, match="slot 1 already belongs"):
        kernel.add(mocks.table(kernel, mock, [2], [1]))


def test_a_foreign_environment_is_refused(make_kernel, mock_library):
    kernel, mock = make_kernel(2), Mock()
    table = Mocks(mock_library, 3).table(kernel, mock, [0], [1])
    with pytest.raises(ValueError, match="same kernel"):
        kernel.add(replace(table, environment=table.environment + 8))


def test_wires_that_cannot_be_right_are_refused(make_kernel, mocks):
    kernel = make_kernel(3)
    with pytest.raises(ValueError, match="two wires end at slot 2"):
        kernel.connect([0, 1], [2, 2], [1.0, 1.0], [0.0, 0.0])
    with pytest.raises(IndexError, match="slot 7"):
        make_kernel(3).connect([7], [2], [1.0], [0.0])
    with pytest.raises(ValueError):
        make_kernel(3).connect([0], [1, 2], [1.0], [0.0])


def test_indices_that_do_not_exist_are_refused(make_kernel, mocks):
    kernel, _, group = chain(make_kernel, mocks)
    with pytest.raises(IndexError, match="instance"):
        kernel.group([2])
    for call in (kernel.exchange, kernel.hold, kernel.save, kernel.restore, kernel.evaluate):
        for index in (group + 1, -1):
            with pytest.raises(IndexError):
                call(index)
    with pytest.raises(ValueError, match="slot 1 is not an input"):
        kernel.schedule([Call(0, [1], [])])


@pytest.mark.parametrize(
    ("program", "columns"),
    [
        ([Instruction(Op.ADVANCE, 5)], 1),
        ([Instruction(Op.EVALUATE, 5)], 1),
        ([Instruction(Op.EXTRAPOLATE, 0, 3)], 1),
        ([Instruction(Op.RECORD), Instruction(Op.RECORD)], 1),
        ([Instruction(Op.RECORD)], 2),
    ],
)
def test_a_program_is_checked_before_anything_is_called(make_kernel, mocks, program, columns):
    kernel, (first, _), _ = chain(make_kernel, mocks)
    with pytest.raises((ValueError, IndexError)):
        kernel.run([Instruction(Op.ADVANCE, 0), *program], 0.0, 0.1, 0, np.empty((2, columns)))
    assert first.calls[DO_STEP] == 0
