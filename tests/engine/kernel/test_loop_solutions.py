"""Registered loops that the kernel solves from afar, against closed forms, and to the same bits in both kernels."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from ssptool.engine.kernel.calls import Call, Code, LoopCalls, SolveLoop
from ssptool.engine.kernel.solutions import SolutionStatus
from tests.engine.kernel.kernels import bits
from tests.engine.kernel.methods import LoopMethod
from tests.engine.kernel.mock_fmu import DIRECTIONAL, GET, WIDTH, Mock

AUTO = LoopMethod.AUTO
DISCARD, ERROR = 2, 3


def loop_of(make_kernel, mocks, mock, size=1, factors=None, **options):
    """(kernel, loop): outputs of one component are its inputs, and are torn: x = D K x + offset + c (K x)³."""
    kernel = make_kernel(2 * size)
    kernel.add(mocks.table(kernel, mock, inputs=range(size), outputs=range(size, 2 * size)))
    kernel.connect(range(size, 2 * size), range(size), factors or [1.0] * size, [0.0] * size)
    body = (Call(0, range(size), range(size, 2 * size)),)
    limits = {"nominal": [1.0] * size, "rtol": 1e-12, "atol": 0.0, "max_iterations": 20} | options
    return kernel, kernel.loop(LoopCalls(range(size, 2 * size), body, **limits))


def solve(kernel, loop, method=AUTO, second=None):
    size = len(kernel.values) // 2
    outcome, solution, _ = kernel.solve(loop, method, kernel.values[size:].copy() if second is None else second)
    assert outcome.ok
    return solution


@pytest.mark.parametrize("directional", [False, True])
@pytest.mark.parametrize("gain", [-100.0, -2.0, 0.5, 3.0])
def test_a_loop_is_solved_and_its_components_are_there(make_kernel, mocks, gain, directional):
    """x = gain·x + 3."""
    kernel, loop = loop_of(make_kernel, mocks, Mock([[gain]], x=[3.0]), directional=directional)
    solution = solve(kernel, loop)
    how = "directional derivatives" if directional else "finite differences"
    assert (solution.status, solution.solver) == (SolutionStatus.CONVERGED, f"Newton ({how})")
    assert solution.x == approx([3 / (1 - gain)], rel=1e-9)
    assert kernel.values[0] == solution.x[0]
    assert kernel.values[1] == solution.x[0] + solution.residual[0]


def test_differences_take_one_evaluation_per_colour(make_kernel, mocks):
    """y_k depends on y_k and y_(k+1): columns that are two apart share no row, so that two colours are enough.
    The second of two Newton steps is for what rounding of differences leaves.
    """
    gains = np.diag([-2.0] * WIDTH) + np.diag([0.5] * (WIDTH - 1), 1)
    evaluations = []
    for pattern in ([(int(i), int(j)) for i, j in zip(*np.nonzero(gains), strict=True)], None):
        mock = Mock(gains, x=[3.0] * WIDTH)
        kernel, loop = loop_of(make_kernel, mocks, mock, WIDTH, pattern=pattern)
        assert solve(kernel, loop, LoopMethod.NEWTON).converged
        evaluations.append(mock.calls[GET])
    assert evaluations[1] - evaluations[0] == 2 * (WIDTH - 2)


@pytest.mark.parametrize("method", LoopMethod)
def test_every_method_solves_a_contraction(make_kernel, mocks, method):
    """y1 = y2/2 + 1, y2 = y1/2: 4/3 and 2/3."""
    kernel, loop = loop_of(make_kernel, mocks, Mock([[0.0, 0.5], [0.5, 0.0]], x=[1.0, 0.0]), size=2)
    assert solve(kernel, loop, method).x == approx([4 / 3, 2 / 3], abs=1e-11)


def test_wrong_directional_derivatives_are_told_and_replaced(make_kernel, mocks):
    mock = Mock([[-2.0]], x=[3.0])
    mock.lie = 5.0
    kernel, loop = loop_of(make_kernel, mocks, mock, directional=True)
    solution = solve(kernel, loop)
    assert solution.converged and solution.contradicted
    kernel.refresh_chord(loop)
    assert kernel.chord(loop) == approx(np.array([[-1 / 3]]), rel=1e-6)
    mock.lie = 0.0
    assert not solve(kernel, loop).contradicted


@pytest.mark.parametrize(("offset", "status"), [(0.0, SolutionStatus.UNDETERMINED), (1.0, SolutionStatus.INCONSISTENT)])
def test_a_gain_of_one_leaves_the_solution_open_or_none(make_kernel, mocks, offset, status):
    """y1 = 2 y2 + offset, y2 = y1/2."""
    kernel, loop = loop_of(make_kernel, mocks, Mock([[0.0, 2.0], [0.5, 0.0]], x=[offset, 0.0]), size=2)
    solution = solve(kernel, loop, LoopMethod.NEWTON)
    assert solution.status is status
    assert solution.direction == approx([1.0, 0.5], rel=1e-6)


def test_a_double_root_is_a_solution(make_kernel, mocks):
    """u³ − 3u + 2 = (u − 1)²(u + 2), from 1.5."""
    mock = Mock([[-2.0]], x=[2.0])
    mock.cubic[0] = 1.0
    kernel, loop = loop_of(make_kernel, mocks, mock)
    kernel.values[1] = 1.5
    solution = solve(kernel, loop)
    assert solution.converged and solution.x == approx([1.0], abs=1e-5)


def test_bounds_are_kept(make_kernel, mocks):
    """x = 3x − 4 has the solution 2, beyond the maximum."""
    kernel, loop = loop_of(make_kernel, mocks, Mock([[3.0]], x=[-4.0]), minimum=[-1.0], maximum=[1.0])
    solution = solve(kernel, loop, LoopMethod.NEWTON)
    assert (solution.status, solution.x.tolist()) == (SolutionStatus.STALLED, [1.0])


def test_a_loop_starts_from_the_second_values_where_the_first_are_rejected(make_kernel, mocks):
    mock = Mock([[0.5]], x=[1.0])
    mock.least, mock.beyond = 0.0, DISCARD
    kernel, loop = loop_of(make_kernel, mocks, mock)
    kernel.values[1] = -4.0
    assert solve(kernel, loop, second=np.array([1.0])).x == approx([2.0], rel=1e-12)
    kernel.values[1] = -4.0
    solution = solve(kernel, loop)
    assert (solution.status, solution.x.tolist()) == (SolutionStatus.NONFINITE, [-4.0])
    assert (solution.rejected.code, solution.rejected.fmi_status, solution.rejected.loop) == (Code.FMI, DISCARD, loop)


@pytest.mark.parametrize("from_call", [1, 2, 3])
def test_an_fmu_that_cannot_continue_ends_it(make_kernel, mocks, from_call):
    mock = Mock([[0.5]], x=[1.0])
    kernel, loop = loop_of(make_kernel, mocks, mock)
    mock.refuse(GET, ERROR, from_call)
    outcome, _, iterates = kernel.solve(loop, AUTO, np.zeros(1), True)
    assert (outcome.code, outcome.instance, outcome.loop, outcome.fmi_status) == (Code.FMI, 0, loop, ERROR)
    assert len(iterates) == (from_call > 1)
    mock.fail[GET] = 0
    assert solve(kernel, loop).converged


def test_iterates_are_given_to_those_who_watch(make_kernel, mocks):
    kernel, loop = loop_of(make_kernel, mocks, Mock([[-2.0]], x=[3.0]))
    _, solution, iterates = kernel.solve(loop, AUTO, np.zeros(1), True)
    assert [iterate.number for iterate in iterates] == list(range(1, solution.iterations + 1))
    assert {(iterate.loop, iterate.solver) for iterate in iterates} == {(loop, solution.solver)}
    assert [abs(iterate.residual[0]) for iterate in iterates] == list(solution.history)
    assert kernel.solve(loop, AUTO, np.zeros(1))[2] == ()


def test_rounding_loosens_the_tolerance_of_a_large_gain(make_kernel, mocks):
    """Rounding of x, 2⁻⁵², times a gain of 1e5, four times."""
    kernel, loop = loop_of(make_kernel, mocks, Mock([[-1e5]], x=[3.0]), directional=True)
    assert kernel.allow_rounding(loop) == 1e-12
    assert solve(kernel, loop).x == approx([3 / (1 + 1e5)], rel=1e-9)
    assert kernel.allow_rounding(loop) == 4 * 2.0**-52 * 1e5
    kernel, loop = loop_of(make_kernel, mocks, Mock([[-2.0]], x=[3.0]))
    solve(kernel, loop)
    assert kernel.allow_rounding(loop) == 1e-12


# -- schedules that get over loops -------------------------------------------------------------------------------


def test_a_loop_that_the_chord_does_not_solve_is_rescued_once(make_kernel, mocks):
    """Gain −2: x ← g(x) diverges; the new chord then takes two evaluations at most."""
    mock = Mock([[-2.0]], x=[3.0])
    kernel, loop = loop_of(make_kernel, mocks, mock, directional=True)
    schedule = kernel.schedule([SolveLoop(loop)])
    outcome, rescues, iterates = kernel.evaluate_surely(schedule)
    assert outcome.ok and iterates == ()
    ((rescued, solution),) = rescues
    assert rescued == loop and solution.converged
    assert kernel.values[1] == approx(1.0, rel=1e-12)
    assert kernel.chord(loop).tolist() == [[1.0 / -3.0]]
    mock.x[0] = 6.0
    before = kernel.loop_iterations
    outcome, rescues, _ = kernel.evaluate_surely(schedule)
    assert outcome.ok and rescues == () and kernel.loop_iterations == before + 2
    assert kernel.values[1] == approx(2.0, rel=1e-12)


def test_a_loop_without_a_solution_is_told_with_the_reason(make_kernel, mocks):
    kernel, loop = loop_of(make_kernel, mocks, Mock([[1.0]], x=[1.0]))
    outcome, rescues, _ = kernel.evaluate_surely(kernel.schedule([SolveLoop(loop)]))
    assert (outcome.code, outcome.loop) == (Code.LOOP, loop)
    ((_, solution),) = rescues
    assert solution.status is SolutionStatus.INCONSISTENT


def test_a_component_that_cannot_continue_ends_a_rescue(make_kernel, mocks):
    mock = Mock([[-2.0]], x=[3.0])
    kernel, loop = loop_of(make_kernel, mocks, mock)
    mock.refuse(GET, ERROR, from_call=22)
    outcome, rescues, _ = kernel.evaluate_surely(kernel.schedule([SolveLoop(loop)]))
    assert (outcome.code, outcome.loop, outcome.fmi_status) == (Code.FMI, loop, ERROR)
    assert rescues == ()


def test_all_iterates_of_a_rescue_are_in_order(make_kernel, mocks):
    kernel, loop = loop_of(make_kernel, mocks, Mock([[-2.0]], x=[3.0]))
    schedule = kernel.schedule([SolveLoop(loop)])
    _, ((_, solution),), iterates = kernel.evaluate_surely(schedule, True)
    newton = [(solution.solver, number) for number in range(1, solution.iterations + 1)]
    chord = [("chord", number) for number in range(1, 21)]
    assert [(one.solver, one.number) for one in iterates] == [*chord, *newton, ("chord", 1)]
    assert kernel.loop_iterations == 21
    assert kernel.evaluate_surely(schedule)[2] == ()


def test_each_loop_is_rescued_only_once_per_evaluation(make_kernel, mocks):
    """Two loops in one schedule, each of which needs it."""
    kernel = make_kernel(4)
    for k, offset in ((0, 3.0), (1, 6.0)):
        kernel.add(mocks.table(kernel, Mock([[-2.0]], x=[offset]), inputs=[2 * k], outputs=[2 * k + 1]))
    kernel.connect([1, 3], [0, 2], [1.0, 1.0], [0.0, 0.0])
    loops = [
        kernel.loop(LoopCalls([2 * k + 1], (Call(k, [2 * k], [2 * k + 1]),), [1.0], 1e-12, 0.0, 20)) for k in (0, 1)
    ]
    outcome, rescues, _ = kernel.evaluate_surely(kernel.schedule([SolveLoop(loop) for loop in loops]))
    assert outcome.ok and [loop for loop, _ in rescues] == loops
    assert kernel.values[[1, 3]] == approx([1.0, 2.0], rel=1e-12)


def test_loops_and_questions_that_cannot_be_right_are_refused(make_kernel, mocks):
    kernel, loop = loop_of(make_kernel, mocks, Mock([[0.5]]))
    body = (Call(0, [0], [1]),)
    right = LoopCalls([1], body, [1.0], 1e-12, 0.0, 20)
    for wrong in ({"minimum": [0.0, 1.0]}, {"maximum": [0.0, 1.0]}):
        with pytest.raises(ValueError, match="as many bounds"):
            kernel.loop(replace(right, **wrong))
    for pair in ((0, 1), (1, 0), (-1, 0)):
        with pytest.raises(ValueError, match=r"the pattern does not fit into \(1, 1\)"):
            kernel.loop(replace(right, pattern=[pair]))
    with pytest.raises(ValueError):
        kernel.solve(loop, AUTO, np.zeros(2))
    with pytest.raises(ValueError):
        kernel.solve(loop, 9, np.zeros(1))
    for ask in (kernel.refresh_chord, kernel.allow_rounding, kernel.chord):
        with pytest.raises(IndexError, match="loop 5"):
            ask(5)


# -- equal bits ---------------------------------------------------------------------------------------------------


def facts(solution):
    names = ("x", "status", "iterations", "residual_norm", "residual", "history", "solver", "direction", "rejected")
    return bits([*(getattr(solution, name) for name in names), solution.contradicted])


def answers(make_kernel, mocks, seed, method):
    """Everything that a kernel makes of a random loop, nonlinear or not, with what may go wrong."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 5))
    gains = rng.normal(size=(size, size)) * 10.0 ** rng.integers(-1, 3)
    gains[rng.random(gains.shape) < 0.3] = 0.0
    mock = Mock(gains, x=rng.normal(size=size))
    for k in range(size):
        mock.cubic[k] = rng.normal() if rng.random() < 0.4 else 0.0
    mock.lie = 10.0 if rng.random() < 0.2 else 0.0
    if rng.random() < 0.3:
        mock.least, mock.beyond = -1.0, DISCARD
    if rng.random() < 0.1:
        mock.refuse(DIRECTIONAL, DISCARD)
    pattern = [(int(i), int(j)) for i, j in zip(*np.nonzero(gains + np.eye(size)), strict=True)]
    nominal = (10.0 ** rng.integers(-2, 3, size=size)).tolist()
    bounds = {"minimum": [-20.0] * size, "maximum": [20.0] * size} if rng.random() < 0.5 else {}
    options = {"directional": bool(rng.random() < 0.5), "pattern": pattern, "nominal": nominal, **bounds}
    factors = rng.normal(size=size).tolist()
    kernel, loop = loop_of(make_kernel, mocks, mock, size, factors, **options)
    kernel.values[size:] = rng.normal(size=size)
    outcome, solution, iterates = kernel.solve(loop, method, rng.normal(size=size), True)
    found = [outcome, facts(solution), bits(iterates), kernel.values.tobytes()]
    rtol = kernel.allow_rounding(loop)
    found += [rtol, rtol == 1e-12 or kernel.refresh_chord(loop), kernel.chord(loop).tobytes()]
    outcome, rescues, iterates = kernel.evaluate_surely(kernel.schedule([SolveLoop(loop)]), True)
    found += [outcome, [(index, facts(one)) for index, one in rescues], bits(iterates), kernel.values.tobytes()]
    return [*found, kernel.chord(loop).tobytes(), list(mock.calls)]
