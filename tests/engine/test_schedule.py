"""Schedules against random linear systems, whose signals are known from one matrix inversion."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

from ssptool.engine.planning.schedule import ScheduledLoop, Visit, needed_again, schedule
from ssptool.network.dependencies import evaluation_order
from ssptool.network.network import Signal
from tests.engine.kernel.methods import LoopMethod
from tests.engine.kernel.test_loop_solvers import solution_of
from tests.network.small import graph_of_edges


class LinearSystem:
    """Components y = D u + c with sparse D; inputs wired to random outputs."""

    def __init__(self, seed, components, size):
        rng = np.random.default_rng(seed)
        names = [f"C{i}" for i in range(components)]
        self.outputs = [Signal(name, f"y{j}") for name in names for j in range(size)]
        inputs = [Signal(name, f"u{j}") for name in names for j in range(size)]
        self.source = {u: self.outputs[rng.integers(len(self.outputs))] for u in inputs}
        self.gains = {
            y: {u: rng.normal() for u in inputs if u.component == y.component and rng.random() < 0.5}
            for y in self.outputs
        }
        self.offset = {y: rng.normal() for y in self.outputs}
        wires = ((y, u) for u, y in self.source.items())
        feedthrough = ((u, y) for y, row in self.gains.items() for u in row)
        self.graph = graph_of_edges(wires, feedthrough, self.outputs)

    def exact(self):
        index = {y: i for i, y in enumerate(self.outputs)}
        matrix = np.eye(len(index))
        for y, row in self.gains.items():
            for u, gain in row.items():
                matrix[index[y], index[self.source[u]]] -= gain
        if np.linalg.cond(matrix) > 1e4:
            return None
        x = np.linalg.solve(matrix, [self.offset[y] for y in self.outputs])
        return dict(zip(self.outputs, x, strict=True))


def vertices_of(graph, signals):
    return frozenset(map(graph.signals.index, signals))


def steps_of(graph, outputs):
    return schedule(graph, evaluation_order(graph), vertices_of(graph, outputs))


class Evaluation:
    """What a kernel does with a schedule: components see their inputs only when they are visited."""

    def __init__(self, system):
        self.system = system
        self.values = dict.fromkeys(system.graph.signals, 0.0)
        self.inside = dict.fromkeys(system.source, np.nan)  # what the components have been given

    def perform(self, step):
        if isinstance(step, ScheduledLoop):
            self.solve(step)
        else:
            self.visit(step)

    def visit(self, visit):
        signals = self.system.graph.signals
        for u in map(signals.__getitem__, visit.inputs):
            self.values[u] = self.inside[u] = self.values[self.system.source[u]]
        for y in map(signals.__getitem__, visit.outputs):
            known = sum(gain * self.inside[u] for u, gain in self.system.gains[y].items())
            self.values[y] = known + self.system.offset[y]

    def solve(self, loop):
        torn = [self.system.graph.signals[y] for y in loop.torn]

        def g(x):
            self.values.update(zip(torn, x, strict=True))
            for visit in loop.body:
                self.visit(visit)
            return np.array([self.values[y] for y in torn])

        solution_of(LoopMethod.NEWTON, g, np.zeros(len(loop.torn)))


@given(st.integers(0, 100_000), st.integers(1, 5), st.integers(1, 3))
@settings(max_examples=150)
def test_a_sweep_computes_every_signal_whatever_the_network(seed, components, size):
    system = LinearSystem(seed, components, size)
    exact = system.exact()
    if exact is None:
        return
    evaluation = Evaluation(system)
    for step in steps_of(system.graph, system.outputs):
        evaluation.perform(step)
    assert {y: evaluation.values[y] for y in system.outputs} == approx(exact, rel=1e-6, abs=1e-6)


@given(st.integers(0, 100_000), st.integers(1, 5), st.integers(1, 3))
@settings(max_examples=80)
def test_every_signal_is_set_or_got_in_exactly_one_step(seed, components, size):
    """A loop counts as one step; what it takes in from outside may be set by its first visit."""
    system = LinearSystem(seed, components, size)
    steps = steps_of(system.graph, system.outputs)
    visits = [visit for step in steps for visit in (step.body if isinstance(step, ScheduledLoop) else (step,))]
    done = [signal for visit in visits for signal in (*visit.inputs, *visit.outputs)]
    assert len(done) == len(set(done))
    assert sorted(done) == list(range(len(system.graph.signals)))


@given(st.integers(0, 100_000))
@settings(max_examples=50)
def test_the_pattern_of_a_loop_covers_its_jacobian(seed):
    system = LinearSystem(seed, 4, 3)
    for step in steps_of(system.graph, system.outputs):
        if not isinstance(step, ScheduledLoop):
            continue
        evaluation = Evaluation(system)
        evaluation.inside = dict.fromkeys(system.source, 0.0)

        torn = [system.graph.signals[y] for y in step.torn]

        def g(x, step=step, torn=torn, evaluation=evaluation):
            evaluation.values.update(zip(torn, x, strict=True))
            for visit in step.body:
                evaluation.visit(visit)
            return np.array([evaluation.values[y] for y in torn])

        size = len(step.torn)
        zero = g(np.zeros(size))
        for j, seed_vector in enumerate(np.eye(size)):
            for i in np.flatnonzero(np.abs(g(seed_vector) - zero) > 1e-12):
                assert (int(i), j) in step.pattern


Y, U = "y", "u"


def chain(*names):
    """C1.y → C2.u, C2.y → C3.u …, every y depends on its u."""
    wires = [(Signal(one, Y), Signal(other, U)) for one, other in pairwise(names)]
    return graph_of_edges(wires, [(Signal(name, U), Signal(name, Y)) for name in names[1:]])


def outputs_of(graph):
    return [signal for signal in graph.signals if signal.variable == Y]


def test_a_chain_is_one_visit_per_component_in_order():
    graph = chain("Z", "M", "A")
    steps = steps_of(graph, outputs_of(graph))
    assert [step.component for step in steps] == ["Z", "M", "A"]
    inputs, outputs = ([graph.signals.index(Signal("M", name))] for name in (U, Y))
    assert steps[1] == Visit("M", tuple(inputs), tuple(outputs))


def test_components_that_do_not_need_each_other_are_visited_once_each():
    """Names interleave in the evaluation order; the schedule does not go back and forth."""
    graph = graph_of_edges((), (), [Signal(component, f"y{i}") for i in range(3) for component in ("A", "B")])
    assert [len(step.outputs) for step in steps_of(graph, graph.signals)] == [3, 3]


def test_only_outputs_with_feedthrough_are_needed_again():
    graph = chain("Z", "M")
    needed = needed_again(graph, vertices_of(graph, outputs_of(graph)))
    assert needed == vertices_of(graph, {Signal("M", U), Signal("M", Y)})


def test_signals_outside_of_the_blocks_count_as_known():
    graph = chain("Z", "M", "A")
    known = [graph.signals.index(Signal("A", name)) for name in (U, Y)]
    steps = schedule(graph, known, vertices_of(graph, outputs_of(graph)))
    assert steps == (Visit("A", (known[0],), (known[1],)),)
