"""Graph algorithms, checked by definition and against networkx."""

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from ssptool.network.graph_algorithms import (
    between_cycles,
    cyclic_components,
    feedback_vertex_set,
    induced,
    is_acyclic,
    reached,
    strong_components,
    topological_order,
)

NODES = st.integers(0, 12)
EDGES = st.lists(st.tuples(NODES, NODES), max_size=40)
FORWARD = EDGES.map(lambda edges: [(min(edge), max(edge)) for edge in edges if edge[0] != edge[1]])


@given(EDGES)
def test_cyclic_components_are_the_strong_ones_with_a_cycle(edges):
    graph = nx.DiGraph(edges)
    strong = nx.strongly_connected_components(graph)
    cyclic = [part for part in strong if not nx.is_directed_acyclic_graph(graph.subgraph(part))]
    found = list(cyclic_components(graph.adj))
    assert sorted(map(set, found), key=min) == sorted(cyclic, key=min)
    assert set().union(*found) <= set(between_cycles(graph.adj))


@given(EDGES)
def test_a_graph_is_acyclic_where_networkx_says_so(edges):
    graph = nx.DiGraph(edges)
    assert is_acyclic(graph.adj) is nx.is_directed_acyclic_graph(graph)


def test_a_long_ring_needs_no_recursion():
    ring = nx.cycle_graph(20_000, create_using=nx.DiGraph)
    assert list(cyclic_components(ring.adj)) == [list(range(20_000))]
    assert not is_acyclic(ring.adj)


@given(FORWARD)
def test_the_topological_order_is_that_of_networkx(edges):
    graph = nx.DiGraph(edges)
    assert topological_order(graph.adj) == list(nx.lexicographical_topological_sort(graph))


def test_the_topological_order_leaves_out_cycles_and_all_behind_them():
    assert topological_order(nx.DiGraph(["ab", "bc", "cb", "cd"]).adj) == ["a"]


@given(EDGES)
def test_without_its_feedback_vertex_set_a_graph_has_no_cycle(edges):
    graph = nx.DiGraph(edges)
    graph.remove_nodes_from(feedback_vertex_set(graph.adj, set(graph)))
    assert nx.is_directed_acyclic_graph(graph)


@given(EDGES, st.sets(NODES))
def test_an_induced_graph_has_the_edges_between_its_nodes_in_their_order(edges, inside):
    graph = nx.DiGraph(edges)
    part = induced(graph.adj, [node for node in graph if node in inside])
    assert list(part) == [node for node in graph if node in inside]
    ends = [(node, other) for node, others in part.items() for other in others]
    assert ends == [edge for edge in graph.edges if set(edge) <= inside]


@given(EDGES)
def test_strong_components_are_those_of_networkx_each_after_those_that_it_leads_to(edges):
    graph = nx.DiGraph(edges)
    found = list(strong_components(graph.adj))
    assert sorted(map(set, found), key=min) == sorted(nx.strongly_connected_components(graph), key=min)
    place = {node: number for number, part in enumerate(found) for node in part}
    assert all(place[source] >= place[destination] for source, destination in graph.edges)


@given(EDGES, NODES)
def test_reached_are_the_nodes_at_the_ends_of_paths(edges, start):
    graph = nx.DiGraph(edges)
    graph.add_node(start)
    following = nx.transitive_closure(graph, reflexive=False)
    assert reached(graph.adj, start) == set(following[start])
