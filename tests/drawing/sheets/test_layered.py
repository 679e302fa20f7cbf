"""The layout of what has no place: nothing overlaps, lines meet their pins, order follows the signals."""

from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssptool.drawing.diagram.layers import Edge, in_layers
from ssptool.drawing.diagram.layout import LayoutBox, Spacing, lay_out
from ssptool.drawing.diagram.model import Point

SPACING = Spacing(row=10.0, lane=4.0, margin=8.0)


def box(name: str, height: float = 20.0) -> LayoutBox:
    return LayoutBox(name, 30.0, height, {"in": 5.0}, {"out": height - 5.0})


def edge(source: str, destination: str) -> Edge:
    return Edge((source, "out"), (destination, "in"))


@st.composite
def graphs(draw) -> tuple[list[LayoutBox], list[Edge]]:
    names = [f"n{number}" for number in range(draw(st.integers(1, 9)))]
    boxes = [box(name, draw(st.sampled_from([15.0, 20.0, 60.0]))) for name in names]
    pairs = draw(st.lists(st.tuples(st.sampled_from(names), st.sampled_from(names)), max_size=20, unique=True))
    return boxes, [edge(*pair) for pair in pairs]


def _meets_another(line: Edge, edges: list[Edge]) -> bool:
    """Whether it shares a pin with another: two lines that end at one pin can have no lanes apart from each other."""
    return any(line.destination == other.destination or line.source == other.source for other in edges if other != line)


@given(graphs())
@settings(max_examples=60)
def test_boxes_do_not_touch_and_lines_run_from_pin_to_pin(graph):
    boxes, edges = graph
    layout = lay_out(boxes, edges, SPACING)
    assert set(layout.corners) == {box.name for box in boxes}
    for one, other in combinations(boxes, 2):
        a, b = layout.corners[one.name], layout.corners[other.name]
        beside = a.x + one.width <= b.x or b.x + other.width <= a.x
        above = a.y + one.height + SPACING.row <= b.y + 1e-6 or b.y + other.height + SPACING.row <= a.y + 1e-6
        assert beside or above
    by_name = {box.name: box for box in boxes}
    assert all(_meets_another(line, edges) for line in edges if line not in layout.ways)
    for line, way in layout.ways.items():
        source, destination = by_name[line.source[0]], by_name[line.destination[0]]
        begin, end = layout.corners[source.name], layout.corners[destination.name]
        assert way[0] == pytest.approx((begin.x + source.width, begin.y + source.outlets["out"]))
        assert way[-1] == pytest.approx((end.x, end.y + destination.inlets["in"]))
        assert all(p.x == q.x or p.y == q.y for p, q in pairwise(way))


def corners_of(edges: list[Edge], boxes: list[LayoutBox]) -> list[int]:
    ways = lay_out(boxes, edges, SPACING).ways
    return [len(ways[one]) - 2 for one in edges]


def test_boxes_in_a_row_have_straight_lines_whatever_their_heights():
    chain = [box(f"n{k}", height) for k, height in enumerate([15.0, 60.0, 33.5])]
    assert corners_of([edge("n0", "n1"), edge("n1", "n2")], chain) == [0, 0]


@pytest.mark.parametrize("beside", range(1, 5))
def test_a_line_is_straight_beside_boxes_that_pull_their_neighbours_off_it(beside: int):
    """The single line stays straight between fans of two, which are symmetric about their source."""
    fans = range(beside)
    boxes = [box("s"), box("a"), *(box(f"{name}{k}") for k in fans for name in ("hub", "b", "c"))]
    pairs = [edge("s", "a"), *(edge(f"hub{k}", f"{end}{k}") for k in fans for end in "bc")]
    assert corners_of(pairs, boxes)[0] == 0


@given(graphs())
@settings(max_examples=60)
def test_all_lines_but_those_that_close_cycles_point_right_or_to_a_strip_below(graph):
    boxes, edges = graph
    layers = in_layers([box.name for box in boxes], edges)
    layout = lay_out(boxes, edges, SPACING)
    for line in edges:
        forward = comes_first(layout.corners[line.source[0]], layout.corners[line.destination[0]])
        assert forward or line in layers.backward


def comes_first(one: Point, other: Point) -> bool:
    """As in lines of text. Strips are far apart, and what stands in a layer is left-aligned."""
    return one.x < other.x or one.y > other.y


def test_without_a_cycle_no_line_runs_back():
    assert in_layers(["a", "b", "c"], [edge("a", "b"), edge("b", "c"), edge("a", "c")]).backward == ()


def test_of_a_cycle_the_fewest_lines_run_back():
    """Two signals from a to b and one back: the one is cut."""
    two = [Edge(("a", "x"), ("b", "x")), Edge(("a", "v"), ("b", "v"))]
    assert in_layers(["a", "b"], [*two, edge("b", "a")]).backward == (edge("b", "a"),)


def test_a_chain_is_a_straight_line():
    boxes = [LayoutBox(name, 30.0, 20.0, {"in": 10.0}, {"out": 10.0}) for name in "abc"]
    layout = lay_out(boxes, [edge("a", "b"), edge("b", "c")], SPACING)
    assert all(len(way) == 2 for way in layout.ways.values())


def test_an_edge_that_goes_forward_after_other_cycles_were_cut_is_drawn():
    """Two edges from one element to another, of a cycle through a third, and a loop of one element."""
    one = LayoutBox("1", 10.0, 10.0, {"1": 2.0, "W": 4.0, "0": 6.0}, {".": 2.0})
    boxes = [
        LayoutBox("0", 10.0, 10.0, {}, {"0": 2.0}),
        one,
        LayoutBox("00", 10.0, 10.0, {"0": 2.0}, {"00": 2.0}),
        LayoutBox("000", 10.0, 10.0, {"g": 2.0, "s": 4.0}, {"o": 2.0}),
    ]
    edges = [
        Edge(("0", "0"), ("1", "0")),
        Edge(("000", "o"), ("1", "1")),
        Edge(("000", "o"), ("1", "W")),
        Edge(("1", "."), ("00", "0")),
        Edge(("00", "00"), ("000", "g")),
        Edge(("000", "o"), ("000", "s")),
    ]
    assert set(lay_out(boxes, edges, SPACING).ways) == set(edges)
