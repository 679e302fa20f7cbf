"""Steps that are repeated until the values at their end agree."""

from dataclasses import replace

import numpy as np
import pytest

from ssptool.engine.kernel.calls import (
    Call,
    Code,
    Instruction,
    IterateRule,
    MeasureKind,
    MeasureLimit,
    Op,
    RuleKind,
)
from tests.engine.kernel.methods import IterationCalls
from tests.engine.kernel.mock_fmu import DO_STEP, GET_STATE, SET_STATE, Mock

H = 0.1
GAINS = (-1.0, 0.5)
CALLS = IterationCalls(
    group=0,
    following=0,
    held=0,
    schedule=0,
    unknowns=[0, 2],
    nominal=[1.0, 2.0],
    order=1,
    prediction=2,
    measures=[MeasureLimit(MeasureKind.RELATIVE, 1e-12)],
    rule=IterateRule(),
    plain_iterations=1,
    max_iterations=50,
    retreats=False,
)


def pair(make_kernel, mocks, gains=GAINS, **changed):
    """Two integrators that feed each other: x1' = gains[0] x2, x2' = gains[1] x1, from (1, 0.3).

    Slots: 0 → first → 1; 2 → second → 3.
    """
    kernel = make_kernel(4)
    components = [Mock(x=[1.0]), Mock(x=[0.3])]
    for mock, slot in zip(components, (0, 2), strict=True):
        kernel.add(mocks.table(kernel, mock, [slot], [slot + 1]))
    kernel.connect([3, 1], [0, 2], list(gains), [0.0, 0.0])
    group, nobody = kernel.group([0, 1]), kernel.group([])
    assert kernel.evaluate(kernel.schedule([Call(0, [], [1]), Call(1, [], [3])])).ok
    kernel.exchange(group)
    kernel.accept(0.0)
    calls = replace(CALLS, group=group, following=group, held=nobody, schedule=kernel.schedule([]))
    index = kernel.iteration(replace(calls, **changed))
    kernel.record_slots([1, 3])
    program = [Instruction(Op.ITERATE, index), Instruction(Op.EXCHANGE, group), Instruction(Op.ACCEPT)]
    return kernel, components, index, [*program, Instruction(Op.RECORD)]


def trapezoidal(steps):
    """Interpolated inputs of an integrator are the trapezoidal rule: (1 − hA/2) x₁ = (1 + hA/2) x₀."""
    matrix = np.array([[0.0, GAINS[0]], [GAINS[1], 0.0]]) * H / 2
    step = np.linalg.solve(np.eye(2) - matrix, np.eye(2) + matrix)
    return [np.linalg.matrix_power(step, k) @ [1.0, 0.3] for k in range(1, steps + 1)]


@pytest.mark.parametrize("relaxation", [1.0, 0.7])
def test_interpolated_inputs_that_agree_give_the_trapezoidal_rule(make_kernel, mocks, relaxation):
    kernel, _components, _, program = pair(make_kernel, mocks, rule=IterateRule(factor=relaxation))
    rows = np.empty((20, 3))
    assert kernel.run(program, 0.0, H, 0, rows).steps == 20
    # 20 steps, each left with 1e-12 of its size
    assert rows[:, 1:] == pytest.approx(np.array(trapezoidal(20)), abs=1e-10)
    counts = kernel.iterations()
    assert len(counts) == 20 and counts.min() > 1
    kernel.release()


ABSOLUTE, RELATIVE, RESIDUAL = (
    MeasureLimit(kind, limit) for kind, limit in zip(MeasureKind, (1e-5, 1e-7, 0.1), strict=True)
)


def test_every_measure_asks_for_iterations_of_its_own(make_kernel, mocks):
    """All together take as many as the one that asks for most; a fixed number is taken whatever they say."""
    counts = {}
    for measures in ((ABSOLUTE,), (RELATIVE,), (RESIDUAL,), (ABSOLUTE, RELATIVE, RESIDUAL)):
        kernel, _components, _, program = pair(make_kernel, mocks, measures=measures, prediction=0)
        rows = np.empty((5, 3))
        assert kernel.run(program, 0.0, H, 0, rows).ok
        counts[measures] = kernel.iterations().tolist()
        kernel.release()
    *single, together = counts.values()
    assert together == np.max(single, axis=0).tolist()
    assert len(set(map(tuple, single))) == 3


def test_steps_of_a_fixed_number_of_iterations_that_have_not_converged_are_counted(make_kernel, mocks):
    """The contraction is h²/8 an iteration, 1/800 here: one more of them is a thousandth of the change."""
    for count, converged in ((1, False), (2, False), (6, True)):
        changed = {"measures": [MeasureLimit(MeasureKind.RELATIVE, 1e-8)], "count": count, "max_iterations": count}
        kernel, _components, index, program = pair(make_kernel, mocks, prediction=0, **changed)
        rows = np.empty((10, 3))
        assert kernel.run(program, 0.0, H, 0, rows).ok
        assert kernel.iterations().tolist() == [count] * 10
        accepted = kernel.accepted_steps(index)
        assert accepted.unconverged == (0 if converged else 10)
        assert (accepted.residual > 1e-8) is not converged and not accepted.grows
        kernel.release()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"measures": []}, "at least 1 measure"),
        ({"measures": [MeasureLimit(MeasureKind.ABSOLUTE, 0.0)]}, "must be positive"),
        ({"measures": [ABSOLUTE], "count": 2}, "1 relative measure"),
        ({"count": -1}, "must not be negative"),
        ({"prediction": 3}, "polynomial order is 3"),
    ],
)
def test_measures_that_cannot_be_right_are_refused(make_kernel, mocks, changed, message):
    with pytest.raises(ValueError, match=message):
        pair(make_kernel, mocks, **changed)


def step_by_hand(kernel, t):
    """One step, operation by operation; the number of its iterations."""
    nominal, count = np.array([1.0, 2.0]), 1
    assert kernel.save(0).ok
    kernel.extrapolate(0, 2)
    first, second = kernel.input_rates[:, [0, 2]]
    x = kernel.input_value[[0, 2]] + H * first + H * H / 2 * second
    kernel.exchange(0)
    while True:
        kernel.values[[0, 2]] = x
        kernel.interpolate(0, 1, H)
        assert kernel.advance(0, t, H).ok
        kernel.exchange(0)
        found = kernel.values[[0, 2]]
        if (np.abs(found - x) <= 1e-12 * np.maximum(np.abs(x), nominal)).all():
            return count
        x, count = nominal * (found / nominal), count + 1
        assert kernel.restore(0).ok


def test_a_run_is_its_operations_one_by_one(make_kernel, mocks):
    kernel, _components, _, program = pair(make_kernel, mocks)
    rows = np.empty((10, 3))
    assert kernel.run(program, 0.0, H, 0, rows).ok
    by_hand, _others, _, _ = pair(make_kernel, mocks)
    for k in range(10):
        assert kernel.iterations()[k] == step_by_hand(by_hand, k * H)
        by_hand.accept((k + 1) * H)
        assert by_hand.values[[1, 3]].tobytes() == rows[k, 1:].tobytes()
    kernel.release()
    by_hand.release()


def test_one_step_is_that_of_a_program(make_kernel, mocks):
    kernel, _components, index, program = pair(make_kernel, mocks)
    rows = np.empty((3, 3))
    assert kernel.run(program, 0.0, H, 0, rows).ok
    other, _others, _, _ = pair(make_kernel, mocks)
    for k in range(3):
        outcome = other.iterate(index, k * H, H)
        assert (outcome.ok, outcome.iterations) == (True, kernel.iterations()[k])
        other.exchange(0)
        other.accept((k + 1) * H)
        assert other.values[[1, 3]].tobytes() == rows[k, 1:].tobytes()
    kernel.release()
    other.release()


@pytest.mark.parametrize("scale", [0.0, 0.5, 1.0, 100.0])
@pytest.mark.parametrize("relative", [1e-3, 1e-6])
def test_which_iterate_is_accepted_depends_on_its_own_size(make_kernel, mocks, scale, relative):
    """Whatever the first guess: x = 0.9 x + 100 at the end of the step, from `scale` times the solution, which is 1000.

    x is the integral of a line from x₀ to x over 1.8 s, plus an offset. After k iterations x is off by
    0.9ᵏ (x₀ − 1000), and the next one changes it by a tenth of that.
    """
    solution, guess, h = 1000.0, scale * 1000.0, 1.8
    offset = 100.0 - h / 2 * guess
    kernel, mock = make_kernel(2), Mock()
    kernel.add(mocks.table(kernel, mock, [0], [1]))
    kernel.connect([1], [0], [1.0], [offset])
    kernel.values[1] = guess - offset
    group, nobody = kernel.group([0]), kernel.group([])
    kernel.exchange(group)
    kernel.accept(0.0)
    calls = replace(CALLS, group=group, following=group, held=nobody, schedule=kernel.schedule([]))
    index = kernel.iteration(
        replace(
            calls,
            unknowns=[0],
            nominal=[1.0],
            measures=[MeasureLimit(MeasureKind.RELATIVE, relative)],
            max_iterations=300,
        )
    )
    assert kernel.run([Instruction(Op.ITERATE, index)], 0.0, h, 0, np.empty((1, 1))).ok
    errors = 0.9 ** np.arange(300) * (guess - solution)
    agrees = 0.1 * np.abs(errors) <= relative * np.maximum(np.abs(solution + errors), 1.0)
    assert kernel.iterations().tolist() == [int(np.argmax(agrees)) + 1]
    kernel.release()


def test_an_iteration_that_does_not_agree_in_time_says_so(make_kernel, mocks):
    kernel, _components, _, program = pair(make_kernel, mocks, max_iterations=2)
    outcome = kernel.run(program, 0.0, H, 0, np.empty((5, 3)))
    assert (outcome.code, outcome.instruction, outcome.iterations, outcome.steps) == (Code.COUPLING, 0, 2, 0)
    kernel.release()


def test_an_iteration_that_runs_away_is_ended(make_kernel, mocks):
    """The gain of two iterations is (h/2)² · 1e8 = 2.5e5."""
    kernel, _components, _, program = pair(make_kernel, mocks, gains=(1e4, 1e4))
    outcome = kernel.run(program, 0.0, H, 0, np.empty((5, 3)))
    assert outcome.code is Code.COUPLING and outcome.iterations < 10
    kernel.release()


@pytest.mark.parametrize("function", [DO_STEP, GET_STATE, SET_STATE])
def test_functions_that_fail_in_an_iterate_end_the_run(make_kernel, mocks, function):
    kernel, (_, second), _, program = pair(make_kernel, mocks)
    second.refuse(function)
    outcome = kernel.run(program, 0.0, H, 0, np.empty((5, 3)))
    assert (outcome.code, outcome.instance, outcome.instruction) == (Code.FMI, 1, 0)
    assert outcome.iterations == (2 if function == SET_STATE else 1)
    kernel.release()


@pytest.mark.parametrize(
    "changed",
    [
        {"group": 9},
        {"schedule": 9},
        {"order": 3},
        {"prediction": -1},
        {"max_iterations": 0},
        {"plain_iterations": 0},
        {"rule": IterateRule(RuleKind.SECANTS)},
        {"rule": IterateRule(RuleKind.ANDERSON)},
        {"rule": IterateRule(RuleKind.SECANTS, reuse=-1, max_columns=1)},
        {"unknowns": [], "nominal": []},
        {"nominal": [1.0]},
        {"unknowns": [0, 7]},
    ],
)
def test_iterations_that_cannot_be_right_are_refused(make_kernel, mocks, changed):
    with pytest.raises((ValueError, IndexError)):
        pair(make_kernel, mocks, **changed)


def test_indices_of_iterations_are_checked(make_kernel, mocks):
    kernel, _components, index, _ = pair(make_kernel, mocks)
    memory, accepted = kernel.iteration_memory(index), kernel.accepted_steps(index)
    for call in (
        kernel.iteration_report,
        kernel.iteration_memory,
        kernel.accepted_steps,
        lambda i: kernel.set_iteration_memory(i, memory),
        lambda i: kernel.set_accepted_steps(i, accepted),
        lambda i: kernel.iterate(i, 0.0, H),
    ):
        with pytest.raises(IndexError):
            call(index + 1)
    with pytest.raises(IndexError):
        kernel.run([Instruction(Op.ITERATE, index + 1)], 0.0, H, 0, np.empty((1, 3)))
