"""Evaluation order, tearing and cycles, on systems whose structure is known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssptool.network.dependencies import (
    algebraic_loops,
    analyze,
    blocks,
    component_cycles,
    evaluation_order,
    sequence,
    tear,
)
from ssptool.network.graph_algorithms import EXACT_LIMIT, induced, is_acyclic
from ssptool.network.network import Signal
from ssptool.network.signal_graph import Stage
from tests.network.small import component, dual_mass, graph_at, graph_of_edges, network, signal

STAGES = list(Stage)


def loops(system, stage=Stage.COMMUNICATION):
    graph = graph_at(system, stage)
    return algebraic_loops(graph, evaluation_order(graph))


def order_of(graph):
    return blocks(graph, evaluation_order(graph))


def torn_of(graph):
    return [graph.signals[vertex] for vertex in tear(graph, range(len(graph.signals)))]


def without(graph, signals):
    kept = [vertex for vertex, signal in enumerate(graph.signals) if signal not in signals]
    return induced(graph.after, kept)


def names(signals):
    return [str(each) for each in signals]


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("declared", [("x1", "v1", "a1"), None], ids=["declared", "undeclared"])
def test_the_coupled_masses_form_one_algebraic_loop(stage, declared):
    (loop,) = loops(dual_mass(declared), stage)
    assert names(loop.outputs) == ["System1.a1", "System2.F"]
    assert names(loop.block.torn) == ["System1.a1"]
    assert names(loop.block.signals) == ["System2.a1", "System2.F", "System1.F", "System1.a1"]


def test_a_loop_tells_the_dependencies_that_close_it():
    (loop,) = loops(dual_mass())
    assert [str(edge) for edge in loop.closed_by] == [
        "System1.a1 is connected to System2.a1",
        "System2.F depends on System2.a1",
        "System2.F is connected to System1.F",
        "System1.a1 depends on System1.F",
    ]
    (loop,) = loops(dual_mass(None))
    assert "System2.F may depend on System2.a1 (its FMU declares no dependencies)" in map(str, loop.closed_by)


@pytest.mark.parametrize("stage", STAGES)
def test_without_flange_mass_the_components_form_a_cycle_but_no_loop(stage):
    system = dual_mass(["x1", "v1"])
    assert loops(system, stage) == ()
    (cycle,) = analyze(system, stage).cycles
    assert cycle.components == ("System1", "System2")
    assert cycle.loops == ()
    # Any of these dependencies would close a loop.
    assert [str(fact) for fact in cycle.broken_by] == [
        "System1.v1 does not depend on System1.F",
        "System1.x1 does not depend on System1.F",
        "System2.F does not depend on System2.a1",
    ]


def test_without_loop_every_output_follows_from_earlier_ones():
    order = [
        str(signal)
        for block in order_of(graph_at(dual_mass(["x1", "v1"]), Stage.COMMUNICATION))
        for signal in block.signals
    ]
    assert order.index("System1.x1") < order.index("System2.F") < order.index("System1.a1") < order.index("System2.a1")


def test_a_component_cycle_with_a_loop_carries_it():
    (cycle,) = analyze(dual_mass()).cycles
    assert [names(loop.outputs) for loop in cycle.loops] == [["System1.a1", "System2.F"]]
    assert cycle.broken_by == ()


def test_a_chain_has_no_component_cycle():
    chain = [component(f"C{i}", ["u"], ["y"]) for i in range(4)]
    system = network(chain, [f"C{i}.y -> C{i + 1}.u" for i in range(3)])
    assert component_cycles(system) == ()
    assert analyze(system).cycles == ()


def test_a_component_that_feeds_itself_is_a_cycle():
    system = network([component("A", ["u"], {"y": ["u"]})], ["A.y -> A.u"])
    assert component_cycles(system) == (("A",),)
    assert names(loops(system)[0].block.signals) == ["A.u", "A.y"]


def test_two_separate_loops_are_two_blocks():
    parts = [component(f"C{i}", ["u"], {"y": ["u"]}) for i in range(4)]
    system = network(parts, ["C0.y -> C1.u", "C1.y -> C0.u", "C2.y -> C3.u", "C3.y -> C2.u"])
    assert [names(loop.outputs) for loop in loops(system)] == [["C0.y", "C1.y"], ["C2.y", "C3.y"]]


def graph_of(pairs):
    return graph_of_edges((Signal("", str(a)), Signal("", str(b))) for a, b in pairs)


def test_one_hub_tears_a_wheel():
    """All cycles of a wheel pass its hub."""
    wheel = graph_of([("hub", i) for i in range(8)] + [(i, "hub") for i in range(8)])
    assert names(torn_of(wheel)) == ["hub"]


def test_a_complete_graph_needs_all_but_one():
    """Any two vertices of it form a cycle."""
    complete = graph_of((a, b) for a in "abcdef" for b in "abcdef" if a != b)
    assert len(torn_of(complete)) == 5


def test_disjoint_cycles_need_one_each_even_beyond_the_exact_limit():
    number = EXACT_LIMIT + 8
    cycles = graph_of(
        edge for i in range(number) for edge in [(f"{i}a", f"{i}b"), (f"{i}b", f"{i}c"), (f"{i}c", f"{i}a")]
    )
    assert len(torn_of(cycles)) == number


def test_of_equal_choices_the_first_name_is_torn():
    assert names(torn_of(graph_of(["cb", "ba", "ac"]))) == ["a"]


SIGNALS = st.integers(0, 25).map(lambda n: Signal(f"C{n % 5}", f"x{n}"))
EDGES = st.lists(st.tuples(SIGNALS, SIGNALS), max_size=120)


@given(EDGES)
def test_without_its_torn_signals_a_graph_has_no_cycle(edges):
    graph = graph_of_edges(edges)
    torn = torn_of(graph)
    assert is_acyclic(without(graph, torn))
    assert list(torn) == sorted(set(torn))


@given(EDGES)
def test_no_torn_signal_is_superfluous(edges):
    graph = graph_of_edges(edges)
    torn = set(torn_of(graph))
    for each in torn:
        assert not is_acyclic(without(graph, torn - {each}))


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=25))
def test_small_graphs_are_torn_in_the_fewest_places(pairs):
    graph = graph_of(pairs)
    fewer = len(torn_of(graph)) - 1
    subsets = [[]]
    for node in graph.signals:
        subsets += [[*subset, node] for subset in subsets]
    for subset in subsets:
        if len(subset) <= fewer:
            assert not is_acyclic(without(graph, subset))


@given(EDGES)
def test_every_edge_leads_forward_or_stays_in_its_block(edges):
    graph = graph_of_edges(edges)
    order = order_of(graph)
    place = {each: number for number, block in enumerate(order) for each in block.signals}
    assert sorted(place) == graph.signals
    assert all(place[source] <= place[destination] for source, destination in edges)
    for block in order:
        looped = len(block.signals) > 1 or (block.signals[0], block.signals[0]) in edges
        assert block.is_loop is looped


@given(EDGES)
def test_within_a_loop_every_signal_follows_from_guesses_and_earlier_ones(edges):
    for block in order_of(graph_of_edges(edges)):
        known = set(block.torn)
        for each in block.signals:
            inside = {source for source, destination in edges if destination == each} & set(block.signals)
            assert inside <= known
            known.add(each)


@given(EDGES, st.randoms())
def test_the_order_does_not_depend_on_the_order_of_the_edges(edges, random):
    shuffled = list(edges)
    random.shuffle(shuffled)
    assert order_of(graph_of_edges(edges)) == order_of(graph_of_edges(shuffled))


def test_a_sequence_ends_with_the_torn_signals():
    ring = graph_of(["ab", "bc", "ca"])
    order = sequence(ring, range(3), [ring.signals.index(signal("a"))])
    assert names(ring.signals[vertex] for vertex in order) == ["b", "c", "a"]
