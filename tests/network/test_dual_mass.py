"""The dual-mass oscillator from its files to its algebraic loop, with and without declared dependencies."""

import pytest

from ssptool.network.dependencies import analyze, dependency_graph
from ssptool.network.signal_graph import Stage
from tests.network.packages import component, content, flat, model, package, ssd

VARIABLES1 = (
    "input F Real start='0' unit='N'; output x1 Real unit='m'; output v1 Real; output a1 Real;"
    "parameter m1 Real start='1'"
)
VARIABLES2 = (
    "input x1 Real start='0' unit='m'; input v1 Real start='0'; input a1 Real start='0'; output F Real unit='N'"
)
DECLARED1 = """<Outputs><Unknown index="2" dependencies=""/><Unknown index="3" dependencies=""/>
  <Unknown index="4" dependencies="1"/></Outputs>
  <InitialUnknowns><Unknown index="2" dependencies=""/><Unknown index="3" dependencies=""/>
  <Unknown index="4" dependencies="1 5"/></InitialUnknowns>"""
DECLARED2 = """<Outputs><Unknown index="4" dependencies="1 2 3"/></Outputs>
  <InitialUnknowns><Unknown index="4" dependencies="1 2 3"/></InitialUnknowns>"""
NO_FLANGE = DECLARED2.replace("1 2 3", "1 2")
SYSTEM = ssd(
    content(
        "",
        [
            component("System1", "System1", "input F Real N, output x1 Real m, output v1 Real, output a1 Real"),
            component("System2", "System2", "input x1 Real m, input v1 Real, input a1 Real, output F Real N"),
        ],
        [
            "System1.x1 -> System2.x1",
            "System1.v1 -> System2.v1",
            "System1.a1 -> System2.a1",
            "System2.F -> System1.F",
        ],
    )
)


def oscillator(folder, structure1=DECLARED1, structure2=DECLARED2):
    fmus = {"System1": model(VARIABLES1, structure1), "System2": model(VARIABLES2, structure2)}
    return flat(package(folder, SYSTEM, fmus))


def loops(cycle):
    return [[str(output) for output in loop.outputs] for loop in cycle.loops]


@pytest.mark.parametrize("stage", list(Stage))
@pytest.mark.parametrize(
    "structures",
    [(DECLARED1, DECLARED2), (DECLARED1, ""), (DECLARED1, "<Outputs><Unknown index='4'/></Outputs>")],
    ids=["declared", "no model structure", "no dependencies"],
)
def test_the_loop_of_acceleration_and_force_is_found(tmp_path, structures, stage):
    (cycle,) = analyze(oscillator(tmp_path, *structures), stage).cycles
    assert cycle.components == ("System1", "System2")
    assert loops(cycle) == [["System1.a1", "System2.F"]]


@pytest.mark.parametrize("stage", list(Stage))
def test_without_any_declaration_every_output_is_in_the_loop(tmp_path, stage):
    (cycle,) = analyze(oscillator(tmp_path, "", ""), stage).cycles
    assert loops(cycle) == [["System1.a1", "System1.v1", "System1.x1", "System2.F"]]
    assert [str(signal) for signal in cycle.loops[0].block.torn] == ["System2.F"]


@pytest.mark.parametrize("stage", list(Stage))
def test_without_the_flange_the_force_breaks_the_loop(tmp_path, stage):
    (cycle,) = analyze(oscillator(tmp_path, DECLARED1, NO_FLANGE), stage).cycles
    assert loops(cycle) == []
    assert "System2.F does not depend on System2.a1" in [str(fact) for fact in cycle.broken_by]


def test_the_system_graph_holds_order_and_feedthrough(tmp_path):
    graph = analyze(oscillator(tmp_path))
    assert [block.is_loop for block in graph.order].count(True) == 1
    assert {str(edge) for edge in graph.feedthrough} >= {"System1.a1 depends on System1.F"}


def test_a_thousand_components_are_flattened_and_ordered(tmp_path):
    """A grid of 1000 components with 20 inputs each, connected to the one before: 20 000 wires, no loop."""
    number, width = 1000, 20
    variables = "; ".join(f"input u{i} Real start='0'; output y{i} Real" for i in range(width))
    structure = (
        "<Outputs>"
        + "".join(f'<Unknown index="{2 * i + 2}" dependencies="{2 * i + 1}"/>' for i in range(width))
        + "</Outputs>"
    )
    interface = ", ".join(f"input u{i} Real, output y{i} Real" for i in range(width))
    parts = [component(f"C{i}", "cell", interface) for i in range(number)]
    flows = [f"C{i}.y{j} -> C{(i + 1) % number}.u{j}" for i in range(number - 1) for j in range(width)]
    archive = package(tmp_path, ssd(content("", parts, flows)), {"cell": model(variables, structure)})
    network = flat(archive)
    assert len(network.wires) == (number - 1) * width
    graph = dependency_graph(network, Stage.COMMUNICATION)
    assert len(list(graph.edges())) == (2 * number - 2) * width
    order = analyze(network).order
    assert len(order) == len(graph)
