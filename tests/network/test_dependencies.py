"""The dependency graph: what needs what, at which stage."""

import networkx as nx
import pytest

from ssptool.network.dependencies import analyze, dependency_graph
from ssptool.network.signal_graph import Need, Stage
from tests.network.small import component, dual_mass, network, signal

STAGES = list(Stage)


def edges(graph):
    return {(str(source), str(destination)) for source, destination in graph.edges}


@pytest.mark.parametrize("stage", STAGES)
def test_wires_and_declared_feedthrough_are_the_edges(stage):
    graph = dependency_graph(dual_mass(), stage)
    assert edges(graph) == {
        ("System1.x1", "System2.x1"),
        ("System1.v1", "System2.v1"),
        ("System1.a1", "System2.a1"),
        ("System2.F", "System1.F"),
        ("System1.F", "System1.a1"),
        ("System2.x1", "System2.F"),
        ("System2.v1", "System2.F"),
        ("System2.a1", "System2.F"),
    }
    assert graph.edges[signal("System2.F"), signal("System1.F")]["need"] is Need.WIRE
    assert graph.edges[signal("System1.F"), signal("System1.a1")]["need"] is Need.DECLARED


@pytest.mark.parametrize("stage", STAGES)
def test_an_output_without_declaration_depends_on_every_wired_input(stage):
    a = component("A", ["u", "v", "unwired"], ["y"])
    b = component("B", [], {"p": [], "q": []})
    graph = dependency_graph(network([a, b], ["B.p -> A.u", "B.q -> A.v"]), stage)
    assert {("A.u", "A.y"), ("A.v", "A.y")} <= edges(graph)
    assert signal("A.unwired") not in graph
    assert graph.edges[signal("A.u"), signal("A.y")]["need"] is Need.UNDECLARED


def test_outputs_are_vertices_even_if_nothing_is_connected():
    assert set(dependency_graph(network([component("A", ["u"], ["y"])], []), Stage.COMMUNICATION)) == {signal("A.y")}


def test_initialization_has_its_own_dependencies():
    """Filter: y = x, x' = u; its start is steady (x = u), so y needs u only while it initializes."""
    source = component("S", [], {"y": []})
    filter_ = component("F", ["u"], {"y": []}, initial_unknowns={"y": ["u"]})
    system = network([source, filter_], ["S.y -> F.u"])
    assert ("F.u", "F.y") in edges(dependency_graph(system, Stage.INITIALIZATION))
    assert ("F.u", "F.y") not in edges(dependency_graph(system, Stage.COMMUNICATION))


@pytest.mark.parametrize(("exact", "expected"), [(["y"], False), ([], True)])
def test_an_output_that_is_no_initial_unknown_depends_on_nothing_only_if_its_start_is_exact(exact, expected):
    source = component("S", [], {"y": []})
    other = component("F", ["u"], {"y": ["u"]}, initial_unknowns={}, exact=exact)
    graph = dependency_graph(network([source, other], ["S.y -> F.u"]), Stage.INITIALIZATION)
    assert (("F.u", "F.y") in edges(graph)) is expected


def test_parameters_take_part_in_initialization_only():
    source = component("S", [], {"k": []})
    other = component("F", [], {"y": ["k"]}, parameters=["k"])
    system = network([source, other], ["S.k -> F.k"])
    assert edges(dependency_graph(system, Stage.INITIALIZATION)) == {("S.k", "F.k"), ("F.k", "F.y")}
    assert edges(dependency_graph(system, Stage.COMMUNICATION)) == set()


def test_inputs_of_the_root_system_are_sources():
    system = network([component("A", ["u"], {"y": ["u"]})], ["u -> A.u", "A.y -> y"])
    assert edges(dependency_graph(system, Stage.COMMUNICATION)) == {("u", "A.u"), ("A.u", "A.y"), ("A.y", "y")}


def test_networkx_finds_the_algebraic_loop_of_a_system():
    found = analyze(dual_mass())
    (loop,) = nx.simple_cycles(found.dependencies)
    assert set(loop) == {signal(name) for name in ("System1.F", "System1.a1", "System2.F", "System2.a1")}
