"""The drawing of a loop: an arrow in its direction for each connection, its texts beside no other ones."""

from itertools import pairwise

import pytest
from lxml import etree

from ssptool.drawing.diagram.loop import LoopArrow, loop_svg

SVG = "{http://www.w3.org/2000/svg}"


def ring(count):
    names = [f"C{number}" for number in range(count)]
    return [
        LoopArrow((name, "y"), (following, "u"), f"y → u: {name} W", f"residual of {name}", worst=name == "C1")
        for name, following in zip(names, [*names[1:], names[0]], strict=True)
    ]


def drawn(arrows):
    return etree.fromstring(loop_svg("ring", arrows, "largest"))


def wires(root):
    return [
        path for path in root.iter(f"{SVG}path") if "wire" in path.get("class") and "through" not in path.get("class")
    ]


def ends(path):
    points = [tuple(map(float, point.split(","))) for point in path.get("d").removeprefix("M").split()]
    return points[0], points[-1]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 6, 12])
def test_each_arrow_begins_below_its_source_and_ends_below_its_destination(count):
    root = drawn(ring(count))
    middles = {
        group.find(f"{SVG}text").text: float(rect.get("x")) + float(rect.get("width")) / 2
        for group in root.iter(f"{SVG}g")
        if "block" in group.get("class") and (rect := group.find(f"{SVG}rect")) is not None
    }
    arrows = [path for path in wires(root) if " → " in path.find(f"{SVG}title").text]
    assert len(arrows) == count
    for arrow, one in zip(arrows, ring(count), strict=True):
        start, end = ends(arrow)
        assert (start[0], end[0]) == pytest.approx((middles[one.source[0]], middles[one.destination[0]]), abs=0.01)


def test_the_worst_connection_stands_out_and_the_legend_names_it():
    root = drawn(ring(3))
    (worst,) = [path for path in wires(root) if "error" in path.get("class") and " → " in path.find(f"{SVG}title").text]
    assert worst.find(f"{SVG}title").text.startswith("C1.y → C2.u")
    assert "largest" in [text.text for text in root.iter(f"{SVG}text")]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 6, 12])
def test_texts_keep_apart(count):
    """Lines of text at the same height do not meet, and no two arrows share a height."""
    root = drawn(ring(count))
    for one, other in pairwise(sorted({round(ends(path)[0][1], 3) for path in wires(root)})):
        assert other - one > 3.0
    heights = [float(text.get("y")) for text in root.iter(f"{SVG}text") if "C" in text.text and " " in text.text]
    assert len(set(heights)) == len(heights) == 2 * count


def test_an_arrow_follows_the_one_that_leads_to_its_source():
    first, second, third = ring(3)
    rows = [path.find(f"{SVG}title").text.splitlines()[0] for path in wires(drawn([second, first, third]))]
    assert [row for row in rows if " → " in row] == ["C1.y → C2.u", "C2.y → C0.u", "C0.y → C1.u"]


def test_names_are_texts_and_never_markup():
    evil = '<script>alert("1")</script>' * 20
    root = drawn([LoopArrow((evil, evil), ("B", "u"), evil, evil, worst=True)])
    assert not list(root.iter("script", f"{SVG}script"))
    assert float(root.get("width")) < 5000
