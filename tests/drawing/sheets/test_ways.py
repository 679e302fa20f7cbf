"""Lines between elements that have a place go around the others, and show where they branch."""

from itertools import combinations, pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ssptool.drawing.diagram.layout import straightened
from ssptool.drawing.diagram.model import Line, Point, Rectangle
from ssptool.drawing.diagram.routing import Router, branches
from tests.drawing.crossings import crosses
from tests.drawing.sheets.test_sheets import connector, element, sheets, system

LEFT, RIGHT = Point(-1.0, 0.0), Point(1.0, 0.0)


def line(*points: tuple[float, float]) -> Line:
    return Line(tuple(Point(*point) for point in points), (), ())


EVERYWHERE = Rectangle(-1000.0, -1000.0, 1000.0, 1000.0)


def way_between(start, outward, end, other, boxes, lane=2.0, limits=EVERYWHERE):
    return Router(boxes, lane, limits).way(Point(*start), outward, Point(*end), other, 0, 4.0)


def test_a_line_goes_around_what_stands_between():
    """The shortest way with the fewest bends: over the upper edge, which is nearer, two lanes away from it."""
    wall = Rectangle(40, -5, 60, 30)
    way = straightened(way_between((0, 25), RIGHT, (100, 25), LEFT, [wall]))
    assert [point.y for point in way] == [25, 25, 34, 34, 25, 25]


def test_a_line_stays_on_the_sheet():
    wall, limits = Rectangle(40, -50, 60, 30), Rectangle(-10, -100, 110, 31)
    assert min(point.y for point in way_between((0, 25), RIGHT, (100, 25), LEFT, [wall], limits=limits)) < -50


def test_a_line_with_nothing_in_its_way_goes_across_halfway():
    assert way_between((0, 0), RIGHT, (100, 20), LEFT, []) == ((0, 0), (50, 0), (50, 20), (100, 20))


def test_where_everything_is_shut_in_the_line_is_straight_on():
    ring = [
        Rectangle(-30, -30, 30, -20),
        Rectangle(-30, 20, 30, 30),
        Rectangle(-30, -20, -20, 20),
        Rectangle(20, -20, 30, 20),
    ]
    assert straightened(way_between((0, 0), RIGHT, (100, 0), LEFT, ring)) == ((0, 0), (100, 0))


def overlap(one: Rectangle, other: Rectangle) -> bool:
    return one.x1 < other.x2 and other.x1 < one.x2 and one.y1 < other.y2 and other.y1 < one.y2


@st.composite
def boxes(draw) -> list[Rectangle]:
    corners = draw(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=8))
    sizes = st.integers(2, 30)
    return [Rectangle(10 * x, 10 * y, 10 * x + draw(sizes), 10 * y + draw(sizes)) for x, y in corners]


@given(
    boxes(),
    st.tuples(st.integers(-9, 240), st.integers(-9, 240)),
    st.tuples(st.integers(-9, 240), st.integers(-9, 240)),
)
@settings(max_examples=100)
def test_ways_are_outside_of_all_boxes_level_or_upright(boxes, begin, finish):
    ends = Point(*begin), Point(*finish)
    # Each box has a lane around it: where boxes leave less room than that between them, there may be no way.
    apart = [Rectangle(box.x1 - 3, box.y1 - 3, box.x2 + 3, box.y2 + 3) for box in boxes]
    assume(not any(box.x1 < x < box.x2 and box.y1 < y < box.y2 for box in apart for x, y in ends))
    assume(not any(overlap(*pair) for pair in combinations(apart, 2)))
    way = way_between(ends[0], RIGHT, ends[1], LEFT, boxes, lane=1.0)
    assert (way[0], way[-1]) == ends
    assert not crosses(way, boxes)
    assert all(a.x == b.x or a.y == b.y for a, b in pairwise(way))


def test_connections_without_way_points_do_not_run_through_elements(tmp_path):
    places = {"A": (0, connector("y", "output")), "Between": (40, ""), "B": (80, connector("u", "input"))}
    parts = "".join(
        element(name, pins, f'<ssd:ElementGeometry x1="{x}" y1="0" x2="{x + 20}" y2="20"/>')
        for name, (x, pins) in places.items()
    )
    ends = '<ssd:Connection startElement="A" startConnector="y" endElement="B" endConnector="u"/>\n'
    drawn = sheets(system(tmp_path / "s", parts, ends))[""]
    assert not crosses(drawn.lines[0].points, [block.extent for block in drawn.blocks])


@pytest.mark.parametrize(
    ("other", "points"),
    [
        (line((0, 0), (5, 0), (5, 9)), [(5, 0)]),  # turns where the first goes on
        (line((0, 0), (5, 0), (5, 9), (10, 9)), [(5, 0)]),
        (line((1, 1), (5, 1), (5, -9)), []),  # crosses, but comes from another pin
        (line((0, 0), (-5, 0)), []),  # they part at the pin itself
    ],
)
def test_branches_are_where_lines_from_one_pin_part(other, points):
    assert branches([line((0, 0), (10, 0)), other]) == points
