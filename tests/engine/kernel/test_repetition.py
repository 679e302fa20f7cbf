"""Iterated steps of stiffly coupled, noisy and failing components."""

from dataclasses import replace

import numpy as np
import pytest

from ssptool.engine.kernel.calls import (
    AcceptedSteps,
    Call,
    Code,
    Instruction,
    IterateRule,
    LoopCalls,
    MeasureKind,
    MeasureLimit,
    Op,
    RuleKind,
    SolveLoop,
)
from ssptool.engine.kernel.solutions import SolutionStatus
from tests.engine.kernel.methods import HeldInputs, IterationCalls
from tests.engine.kernel.mock_fmu import DO_STEP, Mock

H = 0.1
PLAIN = IterateRule()
AITKEN = IterateRule(RuleKind.AITKEN, 0.5)
ANDERSON = IterateRule(RuleKind.ANDERSON, 1.0, window=8)
SECANTS = IterateRule(RuleKind.SECANTS, reuse=5, filter=1e-3, max_columns=60)
NEWTON = IterateRule(RuleKind.NEWTON)
FEW_SECANTS = IterateRule(RuleKind.SECANTS, reuse=2, filter=1e-3, max_columns=3)
DISCARD = 2


class System:
    """Integrators x' = A x, each fed by outputs of others: one component with all of a group's inputs and outputs per
    row of blocks, so that every group is iterated with as many unknowns as it has rows.
    """

    def __init__(self, make_kernel, mocks, *matrices, x=None, **changed):
        """With the mean of both ends, inputs are constant over a step."""
        sizes = [len(matrix) for matrix in matrices]
        self.size = sum(sizes)
        self.kernel = make_kernel(2 * self.size)
        self.mocks, self.indices, groups = [], [], []
        starts = np.ones(self.size) if x is None else np.asarray(x)
        first = 0
        for matrix in matrices:
            groups.append((first, matrix, self._add(mocks, first, matrix, starts)))
            first += len(matrix)
        wires = [(first, row, matrix) for first, matrix, _ in groups for row in range(len(matrix))]
        inputs = [first + row for first, row, _ in wires]
        # One wire into each input: from the next state of the group, with the gain that its matrix has there.
        sources = [self.size + first + (row + 1) % len(matrix) for first, row, matrix in wires]
        gains = [matrix[row, (row + 1) % len(matrix)] for _, row, matrix in wires]
        self.kernel.connect(sources, inputs, gains, [0.0] * self.size)
        self._register(groups, changed)

    def _add(self, mocks, first, matrix, starts):
        """An instance for each state; their indices."""
        found = []
        for row in range(len(matrix)):
            mock = Mock(x=[starts[first + row]])
            self.mocks.append(mock)
            found.append(self.kernel.add(mocks.table(self.kernel, mock, [first + row], [self.size + first + row])))
        return found

    def _register(self, groups, changed):
        kernel = self.kernel
        everything, nobody = kernel.group(range(self.size)), kernel.group([])
        assert kernel.evaluate(kernel.schedule([Call(i, [], [self.size + i]) for i in range(self.size)])).ok
        kernel.exchange(everything)
        kernel.accept(0.0)
        for first, matrix, instances in groups:
            group = kernel.group(instances)
            unknowns = list(range(first, first + len(matrix)))
            calls = IterationCalls(
                group=group,
                following=nobody if "held_inputs" in changed else group,
                held=group if "held_inputs" in changed else nobody,
                schedule=kernel.schedule([]),
                unknowns=unknowns,
                nominal=[1.0 + k for k in range(len(unknowns))],
                order=1,
                prediction=2,
                measures=[MeasureLimit(MeasureKind.RELATIVE, 1e-10)],
                rule=SECANTS,
                plain_iterations=2,
                max_iterations=30,
                retreats=False,
            )
            self.calls = replace(calls, **changed)
            self.indices.append(kernel.iteration(self.calls))
        kernel.record_slots(range(self.size, 2 * self.size))
        iterate = [Instruction(Op.ITERATE, index) for index in self.indices]
        self.program = [*iterate, Instruction(Op.EXCHANGE, everything), Instruction(Op.ACCEPT), Instruction(Op.RECORD)]

    def run(self, steps, first=0):
        rows = np.empty((steps, 1 + self.size))
        outcome = self.kernel.run(self.program, 0.0, H, first, rows)
        return outcome, rows[: outcome.steps, 1:]

    def facts(self, steps):
        """All that a run leaves, as bytes and numbers."""
        outcome, rows = self.run(steps)
        kernel = self.kernel
        memory = [kernel.iteration_memory(index) for index in self.indices]
        secants = [part.tobytes() for one in memory for part in one.secants]
        kept = [(one.given_up, one.misses.tolist()) for one in memory]
        reports = [repr(kernel.iteration_report(index)) for index in self.indices]
        accepted = [repr(kernel.accepted_steps(index)) for index in self.indices]
        counts = kernel.iterations().tolist()
        kernel.release()
        return outcome, rows.tobytes(), counts, kernel.values.tobytes(), secants, kept, reports, accepted


def ring(*gains):
    """x_k' = gains[k] x_(k+1), the last one fed by the first."""
    matrix = np.zeros((len(gains), len(gains)))
    for k, gain in enumerate(gains):
        matrix[k, (k + 1) % len(gains)] = gain
    return matrix


def trapezoidal(matrix, steps, x):
    """Interpolated inputs of an integrator are the trapezoidal rule: (1 − hA/2) x₁ = (1 + hA/2) x₀."""
    size = len(matrix)
    step = np.linalg.solve(np.eye(size) - H / 2 * matrix, np.eye(size) + H / 2 * matrix)
    return np.array([np.linalg.matrix_power(step, k) @ x for k in range(1, steps + 1)])


SOFT, STIFF, ALONE = ring(-1.0, 0.5), ring(-60.0, 45.0), ring(-60.0)
MANY = ring(-40.0, 30.0, 55.0, 25.0, -35.0)


@pytest.mark.parametrize(
    ("rule", "matrix"),
    [
        *[(rule, matrix) for rule in (SECANTS, FEW_SECANTS, ANDERSON, NEWTON) for matrix in (SOFT, STIFF, ALONE)],
        *[(AITKEN, matrix) for matrix in (SOFT, ALONE)],
    ],
)
def test_accelerated_iterations_give_the_trapezoidal_rule(make_kernel, mocks, rule, matrix):
    """Gains of h/2·√(60·45) = 2.6 or h/2·60 = 3 of one iteration, with which plain ones diverge."""
    system = System(make_kernel, mocks, matrix, rule=rule, max_iterations=200)
    outcome, rows = system.run(20)
    assert outcome.ok
    # 20 steps that do not amplify, each left with 1e-10 of its size and what the gain makes of that
    assert rows == pytest.approx(trapezoidal(matrix, 20, np.ones(len(matrix))), abs=1e-7)
    system.kernel.release()


@pytest.mark.parametrize("matrix", [SOFT, STIFF, ALONE], ids=["soft", "stiff", "alone"])
def test_the_mean_of_both_ends_gives_the_trapezoidal_rule(make_kernel, mocks, matrix):
    """An integrator cannot tell it from an input that runs from one end to the other."""
    system = System(make_kernel, mocks, matrix, held_inputs=HeldInputs.MEAN, max_iterations=200)
    outcome, rows = system.run(20)
    assert outcome.ok
    assert rows == pytest.approx(trapezoidal(matrix, 20, np.ones(len(matrix))), abs=1e-7)
    system.kernel.release()


def test_iqn_ils_solves_stiff_groups_with_the_columns_of_steps_before(make_kernel, mocks):
    """The step is linear and the same each time: after the first steps, the columns know all of it."""
    system = System(make_kernel, mocks, MANY)
    outcome, rows = system.run(15)
    assert outcome.ok
    assert rows == pytest.approx(trapezoidal(MANY, 15, np.ones(5)), rel=1e-6)
    assert system.kernel.iterations()[0] > 5 and system.kernel.iterations()[4:].max() <= 4
    system.kernel.release()


def test_newton_solves_stiff_groups_at_once_and_keeps_the_jacobian(make_kernel, mocks):
    """The first guess, five differences, and what is right then; later steps need none."""
    system = System(make_kernel, mocks, MANY, rule=NEWTON, plain_iterations=1)
    outcome, rows = system.run(15)
    assert outcome.ok
    assert rows == pytest.approx(trapezoidal(MANY, 15, np.ones(5)), rel=1e-6)
    counts = system.kernel.iterations()
    assert counts.max() <= 3
    assert system.mocks[0].calls[DO_STEP] == counts.sum() + 5
    system.kernel.release()


def test_newton_renews_a_jacobian_that_is_out_of_date(make_kernel, mocks):
    """A step of another size answers otherwise: a tenth of it, which the same Jacobian does not solve as fast."""
    system = System(make_kernel, mocks, STIFF, rule=NEWTON, plain_iterations=1)
    assert system.run(3)[0].ok
    before = system.mocks[0].calls[DO_STEP]
    counts = []
    for k in range(3):
        outcome = system.kernel.iterate(0, 3 * H + k * H / 10, H / 10)
        assert outcome.ok
        counts.append(outcome.iterations)
        system.kernel.accept(3 * H + (k + 1) * H / 10)
    assert system.mocks[0].calls[DO_STEP] == before + sum(counts) + 2  # differences, once
    assert counts[1:] == [2, 2]
    system.kernel.release()


@pytest.mark.parametrize("matrix", [ALONE, STIFF, ring(-50.0, 45.0, 60.0), MANY], ids=len)
def test_iqn_ils_solves_a_linear_interface_in_size_plus_two_evaluations(make_kernel, mocks, matrix):
    """After as many differences the least-squares problem is exact, however strongly the interface amplifies; one more
    for what rounding leaves. Steps that answer like those before take what these have learned.
    """
    for reuse in (5, 0):
        rule = SECANTS._replace(reuse=reuse)
        system = System(make_kernel, mocks, matrix, rule=rule, plain_iterations=1, prediction=0)
        outcome, _ = system.run(4)
        assert outcome.ok
        counts = system.kernel.iterations().tolist()
        assert 2 < counts[0] <= len(matrix) + 3
        assert max(counts[2:]) <= 3 if reuse else min(counts[2:]) > 2
        system.kernel.release()


def judged(make_kernel, mocks, *measures, nominal=1.0):
    """Of the plain iterates of a step of x' = −x from 1000: the relative change, and how many times it is too large."""
    size = {"nominal": [nominal], "prediction": 0, "max_iterations": 3}
    system = System(make_kernel, mocks, ring(-1.0), x=[1e3], rule=PLAIN, measures=measures, **size)
    assert system.run(1)[0].code is Code.COUPLING
    report = system.kernel.iteration_report(0)
    system.kernel.release()
    return report.judged[:, 0], report.judged[:, 1]


def test_measures_compare_with_what_they_say(make_kernel, mocks):
    """From −1000 to −900 and −905: changes are 100, 5 and 0.25. Several measures must all be met."""
    absolute, relative, residual = (MeasureLimit(kind, 1e-12) for kind in MeasureKind)
    distances = np.array([100.0, 5.0, 0.25])
    changes, excess = judged(make_kernel, mocks, relative)
    assert changes == pytest.approx(distances / [1000, 900, 905]) and excess == pytest.approx(changes / 1e-12)
    changes, excess = judged(make_kernel, mocks, relative, nominal=1e6)
    assert changes == pytest.approx(distances / 1e6) and excess == pytest.approx(changes / 1e-12)
    assert judged(make_kernel, mocks, absolute)[1] == pytest.approx(distances / 1e-12)
    assert judged(make_kernel, mocks, residual)[1] == pytest.approx(distances / 100 / 1e-12)
    assert judged(make_kernel, mocks, residual, absolute)[1] == pytest.approx(distances / 1e-12)


@pytest.mark.parametrize("kind", MeasureKind)
def test_values_that_differ_in_their_last_digits_only_agree(make_kernel, mocks, kind):
    """Whatever is asked for."""
    system = System(make_kernel, mocks, SOFT, rule=PLAIN, measures=[MeasureLimit(kind, 1e-300)], prediction=0)
    outcome, _ = system.run(3)
    assert outcome.ok and system.kernel.accepted_steps(0).noisy == 0
    system.kernel.release()


def test_plain_iterations_do_not_solve_stiff_groups(make_kernel, mocks):
    system = System(make_kernel, mocks, STIFF, rule=PLAIN, max_iterations=500)
    outcome, _ = system.run(1)
    assert outcome.code is Code.COUPLING and outcome.iterations < 50
    report = system.kernel.iteration_report(0)
    assert report.grows and not report.left_domain and report.least > 1.0  # comes no nearer than its own size
    system.kernel.release()


def test_what_noise_explains_is_accepted_and_counted(make_kernel, mocks):
    """Outputs are off by up to 1e-6: no iterate agrees to 1e-10, and the rule of the step is met to some 1e-6."""
    system = System(make_kernel, mocks, SOFT)
    system.mocks[0].noise = 1e-6
    outcome, rows = system.run(20)
    accepted = system.kernel.accepted_steps(0)
    assert outcome.ok and 1e-8 < accepted.floor < 1e-5
    assert 0 < accepted.noisy <= 20 and accepted.level <= accepted.floor
    assert (accepted.damped, accepted.unrepeated, accepted.failed) == (0, 0, 0)
    assert rows == pytest.approx(trapezoidal(SOFT, 20, np.ones(2)), abs=1e-4)
    system.kernel.release()


def test_a_step_that_does_not_converge_is_done_with_strong_damping(make_kernel, mocks):
    """x' = −60 x: the gain of plain iterations is −3; Aitken's relaxation of one unknown is exact."""
    system = System(make_kernel, mocks, ALONE, rule=PLAIN, retreats=True)
    outcome, rows = system.run(9)
    accepted = system.kernel.accepted_steps(0)
    assert outcome.ok and (accepted.damped, accepted.damped_from, accepted.unrepeated) == (9, 0.0, 0)
    assert (accepted.failed, accepted.failed_damped) == (9, 0)
    assert rows == pytest.approx(trapezoidal(ALONE, 9, np.ones(1)), abs=1e-8)
    # Plain ones until 1e6 times as far apart as at first (3¹³ > 1e6), and after three failures but one; then those that
    # are damped.
    counts = system.kernel.iterations()
    assert counts[:3].min() > 13 and counts[3:].max() < 8
    system.kernel.release()


def test_the_tenth_step_that_is_not_done_as_planned_is_too_many(make_kernel, mocks):
    system = System(make_kernel, mocks, ALONE, rule=PLAIN, retreats=True)
    outcome, _ = system.run(25)
    accepted = system.kernel.accepted_steps(0)
    assert (outcome.code, outcome.steps) == (Code.COUPLING, 9)
    assert (accepted.steps, accepted.unplanned, accepted.damped) == (10, 10, 10)
    assert not system.kernel.iteration_report(0).escaped
    system.kernel.release()


def test_a_hundredth_of_the_steps_need_not_be_done_as_planned(make_kernel, mocks):
    system = System(make_kernel, mocks, ALONE, rule=PLAIN, retreats=True)
    system.kernel.set_accepted_steps(0, AcceptedSteps(steps=1100, unplanned=10))
    outcome, _ = system.run(25)
    assert (outcome.code, outcome.steps) == (Code.COUPLING, 1)  # 11 of 1101 are fewer than a hundredth, 12 of 1102 more
    system.kernel.release()


def test_newton_solves_a_step_that_strong_damping_does_not(make_kernel, mocks):
    """Two iterations are enough for Newton's method, since the step is linear, and for nothing else."""
    system = System(make_kernel, mocks, STIFF, retreats=True, max_iterations=2, plain_iterations=1)
    outcome, rows = system.run(9)
    accepted = system.kernel.accepted_steps(0)
    assert outcome.ok and (accepted.damped, accepted.unrepeated) == (9, 0)
    assert rows == pytest.approx(trapezoidal(STIFF, 9, np.ones(2)), abs=1e-7)
    system.kernel.release()


def test_growth_of_steps_that_are_solved_is_accepted(make_kernel, mocks):
    """x' = 60 x: the trapezoidal rule makes of each step (1 + 3) / (1 − 3) = −2."""
    matrix = ring(60.0)
    system = System(make_kernel, mocks, matrix, rule=PLAIN, retreats=True, x=[1e3])
    outcome, rows = system.run(9)
    assert outcome.ok and system.kernel.accepted_steps(0).damped == 9
    assert rows == pytest.approx(trapezoidal(matrix, 9, np.array([1e3])), rel=1e-6)
    system.kernel.release()


def singular(*gains):
    """A ring in which one pass makes of a change this very change, so that no iteration finds an end."""
    matrix = ring(*gains)
    assert np.prod(gains) * (H / 2) ** len(gains) == pytest.approx(1.0)
    return matrix


def test_a_step_that_nothing_helps_is_done_once_with_extrapolated_inputs(make_kernel, mocks):
    """Lines through the accepted points are what is left of the coupling."""
    matrix = singular(16.0, 25.0)
    system = System(make_kernel, mocks, matrix, retreats=True, max_iterations=2, plain_iterations=1)
    outcome, rows = system.run(6)
    accepted = system.kernel.accepted_steps(0)
    assert outcome.ok and (accepted.unrepeated, accepted.unrepeated_from, accepted.damped) == (6, 0.0, 0)
    assert accepted.failed == 6 and accepted.failed_damped == 6
    states = [np.ones(2), np.ones(2)]  # the first step knows one point
    for row in rows:
        slope = states[-1] + (states[-1] - states[-2]) / 2
        assert row == pytest.approx(states[-1] + H * matrix @ slope)
        states.append(row)
    # After three failures in a row, one iteration and the step itself.
    assert system.kernel.iterations().tolist() == [3, 3, 3, 2, 2, 2]
    system.kernel.release()


def test_a_step_that_nothing_helps_must_not_lead_far_beyond_all_before(make_kernel, mocks):
    """20 x₀, of nominal value 2, grows from 0 to 20 · 0.1 · 20 x₁ = 4000 in the first step."""
    matrix = singular(20.0, 20.0)
    system = System(make_kernel, mocks, matrix, x=[0.0, 100.0], retreats=True, max_iterations=2, plain_iterations=1)
    outcome, _ = system.run(6)
    assert (outcome.code, outcome.steps) == (Code.COUPLING, 0)
    assert system.kernel.iteration_report(0).escaped and system.kernel.accepted_steps(0).unrepeated == 1
    system.kernel.release()


@pytest.mark.parametrize(("status", "left_domain"), [(DISCARD, True), (3, False)])
def test_a_component_that_rejects_an_iterate_has_left_its_domain(make_kernel, mocks, status, left_domain):
    """An error is none of the values; with retreats, the step is tried otherwise, and then it is the component's."""
    for retreats in (False, True):
        system = System(make_kernel, mocks, SOFT, retreats=retreats)
        system.mocks[1].refuse(DO_STEP, status, from_call=2)
        outcome, _ = system.run(1)
        assert (outcome.code, outcome.instance, outcome.fmi_status, outcome.iterations) == (Code.FMI, 1, status, 2)
        assert system.kernel.iteration_report(0).left_domain is (left_domain and not retreats)
        system.kernel.release()


def test_an_iteration_goes_on_with_the_memory_of_another(make_kernel, mocks):
    """So that a simulation continues from a file with the bits that it would have had."""
    systems = [System(make_kernel, mocks, MANY) for _ in range(2)]
    for system in systems:
        assert system.run(10)[0].ok
    expected = systems[0].run(10, first=10)[1]
    kernel = systems[1].kernel
    index = kernel.iteration(systems[1].calls)
    kernel.set_iteration_memory(index, kernel.iteration_memory(0))
    assert repr(kernel.iteration_memory(index)) == repr(kernel.iteration_memory(0))
    systems[1].program[0] = Instruction(Op.ITERATE, index)
    assert systems[1].run(10, first=10)[1].tobytes() == expected.tobytes()
    assert kernel.iterations().tolist() == systems[0].kernel.iterations().tolist()
    for system in systems:
        system.kernel.release()


def test_counts_are_taken_over(make_kernel, mocks):
    system = System(make_kernel, mocks, SOFT)
    counts = AcceptedSteps(1e-6, 2, 3e-7, 1, 0.25, 4, 0.5, 6, 0.75, 8, 9)
    system.kernel.set_accepted_steps(0, counts)
    assert system.kernel.accepted_steps(0) == counts
    assert system.kernel.accepted_steps(0) is not counts


@pytest.mark.parametrize("part", ["columns", "changes", "answers"])
def test_memory_of_other_unknowns_is_refused(make_kernel, mocks, part):
    system = System(make_kernel, mocks, MANY)
    assert system.run(3)[0].ok
    memory = system.kernel.iteration_memory(0)
    wrong = memory.secants._replace(**{part: getattr(memory.secants, part)[:-1]})
    with pytest.raises((ValueError, TypeError)):
        system.kernel.set_iteration_memory(0, memory._replace(secants=wrong))
    system.kernel.release()


class LoopInside:
    """One integrator x' = u whose input is y = g·y + x, a loop of gain g in the schedule of its iterated step.

    Slots: u 0, x 1; 2 → loop → 3. u = y = x/(1 − g).
    """

    def __init__(self, make_kernel, mocks, gain=3.0):
        self.kernel = kernel = make_kernel(5)
        # The second input of the component of the loop is x.
        integrator, adder = Mock(x=[1.0]), Mock([[gain, 1.0]])
        kernel.add(mocks.table(kernel, integrator, [0], [1]))
        kernel.add(mocks.table(kernel, adder, [2, 4], [3]))
        kernel.connect([3, 3, 1], [0, 2, 4], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0])
        loop = LoopCalls(torn=[3], body=(Call(1, [2, 4], [3]),), nominal=[1.0], rtol=1e-12, atol=0.0, max_iterations=5)
        self.loop = kernel.loop(loop)
        group, nobody = kernel.group([0]), kernel.group([])
        schedule = kernel.schedule([Call(0, [], [1]), SolveLoop(self.loop)])
        assert not kernel.evaluate(schedule).ok
        kernel.values[[0, 2, 3]] = 1.0 / (1.0 - gain) if gain != 1.0 else 0.0
        kernel.accept(0.0)
        calls = IterationCalls(
            group,
            group,
            nobody,
            schedule,
            unknowns=[0],
            nominal=[1.0],
            order=1,
            prediction=2,
            measures=[MeasureLimit(MeasureKind.RELATIVE, 1e-10)],
            rule=SECANTS,
            plain_iterations=2,
            max_iterations=30,
            retreats=False,
        )
        self.index = kernel.iteration(calls)


def test_loops_that_their_own_iteration_does_not_solve_are_rescued_inside_a_step(make_kernel, mocks):
    """x' = x/(1 − g) = −x/2 by the trapezoidal rule; with the chord of the first solution, no other needs help."""
    system = LoopInside(make_kernel, mocks)
    outcome = system.kernel.iterate(system.index, 0.0, H)
    assert outcome.ok and outcome.iterations > 1
    assert system.kernel.values[1] == pytest.approx((1.0 - H / 4) / (1.0 + H / 4), rel=1e-9)
    assert system.kernel.rescue_work.solved == 1 and system.kernel.rescue_work.iterations > 0
    ((loop, solution),) = system.kernel.latest_rescues
    assert loop == system.loop and solution.converged
    system.kernel.release()


def test_a_loop_without_a_solution_ends_the_step(make_kernel, mocks):
    """y = y + x at the first iterate."""
    system = LoopInside(make_kernel, mocks, gain=1.0)
    outcome = system.kernel.iterate(system.index, 0.0, H)
    assert (outcome.code, outcome.loop, outcome.iterations) == (Code.LOOP, system.loop, 1)
    assert not system.kernel.iteration_report(system.index).left_domain
    ((loop, solution),) = system.kernel.latest_rescues
    assert loop == system.loop and solution.status is SolutionStatus.INCONSISTENT
    system.kernel.release()
