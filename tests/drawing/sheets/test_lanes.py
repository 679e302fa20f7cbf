"""Lines of different pins do not run on top of each other."""

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssptool.drawing.diagram.model import Line, Point, Rectangle
from ssptool.drawing.diagram.routing import side_by_side


def line(*points: tuple[float, float]) -> Line:
    return Line(tuple(Point(float(x), float(y)) for x, y in points), (), ())


def bracket(y1: float, y2: float, x: float = 5.0) -> Line:
    """Out to the right of a pin, up at x, and back to another pin."""
    return line((0, y1), (x, y1), (x, y2), (0, y2))


def on_top(one: Line, other: Line) -> float:
    """How long two lines run on top of each other."""
    length = 0.0
    for a, b in pairwise(one.points):
        for c, d in pairwise(other.points):
            for axis in (0, 1):
                if a[axis] == b[axis] == c[axis] == d[axis]:
                    across = 1 - axis
                    low = max(min(a[across], b[across]), min(c[across], d[across]))
                    length += max(0.0, min(max(a[across], b[across]), max(c[across], d[across])) - low)
    return length


@given(st.permutations(range(7)))
def test_no_two_lines_of_different_pins_are_on_top_of_each_other(ends):
    lines = [bracket(start, 7.5 + end) for start, end in enumerate(ends)]
    for one, other in combinations(side_by_side(lines, [True] * len(lines), 0.3, []), 2):
        assert on_top(one, other) == 0


def test_lines_of_one_pin_stay_together():
    lines = [bracket(0, 10), bracket(0, 20)]
    assert side_by_side(lines, [True, True], 0.3, []) == lines


def test_ends_stay_at_their_pins_and_parts_stay_level_and_upright():
    lines = side_by_side([bracket(0, 10), bracket(1, 9), bracket(2, 8)], [True] * 3, 0.3, [])
    assert [(one.points[0], one.points[-1]) for one in lines] == [((0, n), (0, 10 - n)) for n in range(3)]
    assert all(a.x == b.x or a.y == b.y for one in lines for a, b in pairwise(one.points))
    assert sorted(one.points[1].x for one in lines) == pytest.approx([4.7, 5.0, 5.3])


def test_a_line_whose_way_is_stated_stays_and_the_other_makes_room():
    stated, free = side_by_side([bracket(0, 10), bracket(1, 9)], [False, True], 0.3, [])
    assert stated == bracket(0, 10)
    assert free.points[1].x != 5.0


def test_no_line_is_moved_into_a_box():
    right = Rectangle(5.2, 0, 9, 10)
    lines = side_by_side([bracket(0, 10), bracket(1, 9)], [True, True], 0.15, [right])
    assert max(one.points[1].x for one in lines) == 5.0 and min(one.points[1].x for one in lines) < 5.0
