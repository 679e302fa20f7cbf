"""The picture never shows another wiring than the document: lines of different signals neither share a way nor meet."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssptool.drawing.diagram.arrange import arranged
from ssptool.drawing.diagram.model import Point, Rectangle, Sheet
from ssptool.drawing.diagram.routing import Router, crossings, interrupted, nets_of
from tests.drawing.crossings import crosses
from tests.drawing.sheets.random_systems import sheet

EVERYWHERE = Rectangle(-1000.0, -1000.0, 1000.0, 1000.0)
RIGHT = Point(1.0, 0.0)
HAIR = 1e-9


def meetings(ways: Sequence[tuple[Point, ...]]) -> set[tuple[int, int]]:
    """Pairs of lines that share a part, or of which one touches the other with an end or corner; a plain crossing is
    none.
    """
    of_part = np.repeat(np.arange(len(ways)), [len(way) - 1 for way in ways])
    starts = np.array([point for way in ways for point in way[:-1]])
    ends = np.array([point for way in ways for point in way[1:]])
    low, high = np.minimum(starts, ends), np.maximum(starts, ends)
    found = set()
    for number, way in enumerate(ways):
        corners, own = np.array(way)[:, None], of_part == number
        met = ((corners >= low - HAIR) & (corners <= high + HAIR)).all(axis=2).any(axis=0)
        for axis in (0, 1):
            along = 1 - axis
            level = (starts[:, axis] == ends[:, axis]) & (starts[own, axis] == ends[own, axis])[:, None]
            level &= np.abs(starts[own, axis][:, None] - starts[:, axis]) < HAIR
            shared = np.minimum(high[own, along][:, None], high[:, along])
            shared = np.maximum(low[own, along][:, None], low[:, along]) < shared - HAIR
            met |= (level & shared).any(axis=0)
        found |= {(min(number, other), max(number, other)) for other in set(of_part[met].tolist()) - {number}}
    return found


def _on(point: Point, one: Point, other: Point) -> bool:
    return all(min(a, b) - HAIR <= p <= max(a, b) + HAIR for p, a, b in zip(point, one, other, strict=True))


def check_wiring(drawn: Sheet) -> None:
    nets = nets_of((line.points[0], line.points[-1]) for line in drawn.lines)
    for one, other in meetings([line.points for line in drawn.lines]):
        assert nets[one] == nets[other], (drawn.lines[one].points, drawn.lines[other].points)
    boxes = [block.extent for block in drawn.blocks]
    assert not any(crosses(line.points, boxes) for line in drawn.lines)


def system(ends, pins: dict[str, list[tuple[str, str]]], places: dict[str, Rectangle] | None = None):
    stated = sheet((), pins, [], ends)
    if places:
        stated = replace(stated, blocks=tuple(replace(one, extent=places[one.name]) for one in stated.blocks))
    return arranged({(): stated})


TWO = {"A": [("y1", "output"), ("y2", "output")], "B": [("u1", "input"), ("u2", "input")]}
CROSSED = [(("A", "y1"), ("B", "u2")), (("A", "y2"), ("B", "u1"))]


@pytest.mark.parametrize("places", [None, {"A": Rectangle(0, 0, 20, 30), "B": Rectangle(60, 0, 80, 30)}])
def test_two_signals_that_cross_are_drawn_so(places):
    """With pins at equal heights both lines would take the same way, and read as the opposite."""
    drawn = system(CROSSED, TWO, places)
    check_wiring(drawn)
    assert gaps_of(drawn) == 1


def gaps_of(drawn: Sheet) -> int:
    """Checks each crossing of two signals: the level line has a gap there, and the upright one none."""
    nets = nets_of((line.points[0], line.points[-1]) for line in drawn.lines)
    crossed = crossings(drawn.lines)
    ways = [list(interrupted(line.points, crossed.get(n, ()), 0.36 * drawn.text)) for n, line in enumerate(drawn.lines)]
    seen = 0
    for (n, line), (m, other) in product(enumerate(drawn.lines), repeat=2):
        if nets[n] == nets[m]:
            continue
        for (a, b), (c, d) in product(pairwise(line.points), pairwise(other.points)):
            between = min(a.x, b.x) < c.x < max(a.x, b.x) and min(c.y, d.y) < a.y < max(c.y, d.y)
            if a.y == b.y and c.x == d.x and between:
                at = Point(c.x, a.y)
                level, upright = ([part for run in ways[k] for part in pairwise(run) if _on(at, *part)] for k in (n, m))
                assert not level
                assert upright
                seen += 1
    return seen


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5, 7])
def test_a_line_has_a_gap_where_another_signal_crosses_it(seed: int):
    assert gaps_of(arranged(random_system(Random(seed), 12, seed % 2 == 1))) > 0


def test_two_crossing_lines_have_one_gap_and_keep_their_corners():
    drawn = system(CROSSED, TWO)
    assert gaps_of(drawn) == 1
    crossed = crossings(drawn.lines)
    for number, line in enumerate(drawn.lines):
        runs = list(interrupted(line.points, crossed.get(number, ()), 0.36 * drawn.text))
        assert {*line.points} <= {point for run in runs for point in run}


@pytest.mark.parametrize("turned", [False, True])
def test_gaps_close_to_each_other_and_to_corners_stay_apart(turned: bool):
    way = [Point(0.0, 0.0), Point(10.0, 0.0), Point(10.0, 5.0)]
    at = [Point(x, 0.0) for x in (0.01, 5.0, 5.1, 9.99)]
    runs = list(interrupted(way[::-1] if turned else way, at, 1.0))
    assert len(runs) == 5
    points = [point for run in (runs[::-1] if turned else runs) for point in (run[::-1] if turned else run)]
    assert points == sorted(points)
    assert not any(_on(place, *part) for run in runs for part in pairwise(run) for place in at)


def random_system(chance: Random, components: int, placed: bool):
    pins = chance.choice([2, 4, 10])
    faces = {
        f"C{k}": [(f"{'uy'[n % 2]}{n}", ("input", "output")[n % 2]) for n in range(chance.randint(1, pins))]
        for k in range(components)
    }
    own = [(f"p{n}", chance.choice(["input", "output"])) for n in range(3)]
    ends = {
        kind: [(name, pin) for name, face in faces.items() for pin, of in face if of == kind]
        for kind in ("input", "output")
    }
    ends["output"] += [("", pin) for pin, kind in own if kind == "input"]
    ends["input"] += [("", pin) for pin, kind in own if kind == "output"]
    if not ends["output"]:
        return random_system(chance, components, placed)
    lines = [(chance.choice(ends["output"]), taker) for taker in ends["input"] if chance.random() < 0.8]
    stated = sheet((), faces, own, lines)
    if placed:
        side = int(components**0.5) + 2
        cells = chance.sample(list(product(range(side), range(side))), components)
        places = [Rectangle(40 * i, 30 * j, 40 * i + 20, 30 * j + 15) for i, j in cells]
        stated = replace(
            stated, blocks=tuple(replace(one, extent=at) for one, at in zip(stated.blocks, places, strict=True))
        )
    return {(): stated}


@pytest.mark.parametrize("placed", [False, True], ids=["free", "placed"])
@pytest.mark.parametrize(("components", "systems"), [(2, 20), (5, 20), (12, 10), (40, 2)])
def test_no_two_signals_can_be_mistaken_for_each_other(components: int, systems: int, placed: bool):
    for seed in range(systems):
        check_wiring(arranged(random_system(Random(seed), components, placed)))


@pytest.mark.slow
@pytest.mark.parametrize("placed", [False, True], ids=["free", "placed"])
def test_no_two_signals_of_three_hundred_components_can_be_mistaken(placed: bool):
    check_wiring(arranged(random_system(Random(1), 300, placed)))


def brackets(*heights: tuple[float, float], boxes=(), taken=()) -> list[tuple[Point, ...]]:
    """Lines out to the right of one pin and back to another, each of its own net."""
    router = Router(boxes, 0.3, EVERYWHERE)
    for way in taken:
        router.take(way, -1)
    ways = []
    for net, (y1, y2) in enumerate(heights):
        ways.append(tuple(router.way(Point(0.0, y1), RIGHT, Point(0.0, y2), RIGHT, net, 5.0)))
        router.take(ways[-1], net)
    return ways


@given(st.permutations(range(7)))
@settings(max_examples=40)
def test_lines_beside_each_other_have_lanes_of_their_own(ends):
    ways = brackets(*((float(start), 7.5 + end) for start, end in enumerate(ends)))
    assert not meetings(ways)
    assert all(a.x == b.x or a.y == b.y for way in ways for a, b in pairwise(way))


def test_lines_of_one_pin_run_together():
    """The second line shares most of its way with the first."""
    router = Router([], 0.3, EVERYWHERE)
    first = router.way(Point(0.0, 0.0), RIGHT, Point(0.0, 10.0), RIGHT, 0, 5.0)
    router.take(first, 0)
    second = router.way(Point(0.0, 0.0), RIGHT, Point(0.0, 20.0), RIGHT, 0, 5.0)
    assert first[1] == second[1] == (5.0, 0.0)


def test_a_line_whose_way_is_stated_stays_and_the_other_makes_room():
    stated = (Point(0.0, 0.0), Point(5.0, 0.0), Point(5.0, 10.0), Point(0.0, 10.0))
    (way,) = brackets((1.0, 9.0), taken=[stated])
    assert not meetings([stated, way])
    assert Counter(point.x for point in way).most_common(1)[0][0] != 5.0


def test_no_line_moves_into_a_box():
    right = Rectangle(5.4, -20.0, 9.0, 20.0)
    ways = brackets((0.0, 10.0), (1.0, 9.0), boxes=[right])
    assert not any(crosses(way, [right]) for way in ways)
    assert not meetings(ways)
