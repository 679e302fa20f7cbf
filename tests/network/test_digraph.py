"""The small graph answers as networkx does."""

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssptool.network.digraph import (
    Digraph,
    condensation,
    cyclic_components,
    is_acyclic,
    reached,
    strong_components,
    topological_order,
)

VERTICES = st.integers(0, 12)
EDGES = st.lists(st.tuples(VERTICES, VERTICES), max_size=40)
FORWARD = EDGES.map(lambda edges: [(min(edge), max(edge)) for edge in edges if edge[0] != edge[1]])


def digraph(edges):
    return Digraph((one, other, None) for one, other in edges)


@given(EDGES)
def test_strong_components_are_those_of_networkx(edges):
    ours = list(map(frozenset, strong_components(digraph(edges))))
    assert len(ours) == len(set(ours))
    assert set(ours) == set(map(frozenset, nx.strongly_connected_components(nx.DiGraph(edges))))


@given(EDGES)
def test_cyclic_components_are_the_strong_ones_with_a_cycle(edges):
    graph = digraph(edges)
    cyclic = [set(part) for part in strong_components(graph) if not is_acyclic(graph.part(part))]
    found = [set(part) for part in cyclic_components(graph)]
    assert sorted(found, key=min) == sorted(cyclic, key=min)


def test_strong_components_of_a_long_ring_need_no_recursion():
    size = 20_000
    ring = digraph((i, (i + 1) % size) for i in range(size))
    assert list(strong_components(ring)) == [list(range(size))]


@given(EDGES)
def test_a_graph_is_acyclic_where_networkx_says_so(edges):
    assert is_acyclic(digraph(edges)) is nx.is_directed_acyclic_graph(nx.DiGraph(edges))


@given(FORWARD, st.permutations(range(13)))
def test_the_topological_order_is_that_of_networkx(edges, ranks):
    graph = digraph(edges)
    expected = nx.lexicographical_topological_sort(nx.DiGraph(edges), key=ranks.__getitem__)
    assert topological_order(graph, ranks.__getitem__) == list(expected)


def test_a_cycle_has_no_topological_order():
    with pytest.raises(ValueError, match="cycle"):
        topological_order(digraph(["ab", "ba"]), str)


@given(EDGES)
def test_the_condensation_has_the_components_as_vertices_and_no_cycle(edges):
    whole = condensation(digraph(edges))
    theirs = nx.condensation(nx.DiGraph(edges))
    named = {number: frozenset(data["members"]) for number, data in theirs.nodes(data=True)}
    assert set(whole) == set(named.values())
    assert {(one, other) for one, other, _ in whole.edges()} == {(named[a], named[b]) for a, b in theirs.edges}
    assert is_acyclic(whole)


@given(EDGES.filter(bool))
def test_a_vertex_reaches_its_descendants_and_itself_in_a_cycle(edges):
    graph, theirs = digraph(edges), nx.DiGraph(edges)
    for vertex in graph:
        found = reached(graph, vertex)
        assert found - {vertex} == nx.descendants(theirs, vertex)
        assert (vertex in found) is any(
            vertex == other or vertex in nx.descendants(theirs, other) for other in graph.after[vertex]
        )


@given(EDGES, st.sets(VERTICES))
def test_a_part_has_the_edges_between_its_vertices(edges, inside):
    graph = digraph(edges)
    part = graph.part(vertex for vertex in graph if vertex in inside)
    assert list(part) == [vertex for vertex in graph if vertex in inside]
    assert list(part.edges()) == [edge for edge in graph.edges() if {edge[0], edge[1]} <= inside]
    assert {(b, a) for b, others in part.before.items() for a in others} == {(b, a) for a, b, _ in part.edges()}


def test_labels_and_order_are_kept():
    graph = Digraph([("b", "a", 1), ("a", "c", 2), ("b", "a", 3)], vertices=["z"])
    assert list(graph) == ["z", "b", "a", "c"]
    assert list(graph.edges()) == [("b", "a", 3), ("a", "c", 2)]
    assert ("z" in graph, "y" in graph, len(graph)) == (True, False, 4)
