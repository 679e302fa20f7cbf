"""Drawings of any system can be read: no label hides another thing, no line runs through a box, all is on the page.

Texts are measured with the font that pictures are drawn with, not with the estimate of the layout.
"""

from functools import cache
from importlib.resources import files
from itertools import combinations, pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from ssptool.drawing.diagram.arrange import arranged
from ssptool.drawing.diagram.labels import lettered
from ssptool.drawing.diagram.model import Label, Rectangle, Role, Sheet, TextAnchor, text_width
from ssptool.drawing.diagram.svg import sheet_svg
from tests.drawing.sheets.random_systems import sheet, systems

HAIR = 1e-6


@cache
def font(name: str):
    from matplotlib.ft2font import FT2Font

    found = FT2Font(str(files("matplotlib") / "mpl-data" / "fonts" / "ttf" / name))
    found.set_size(100, 72)
    return found


@cache
def advance(letter: str, bold: bool) -> float:
    return font("DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf").load_char(ord(letter)).linearHoriAdvance / 6553600


def measured(label: Label) -> Rectangle:
    """What a label covers: as wide as its letters are, as high as the largest of them (0.76 and 0.24 of the size)."""
    width = sum(advance(letter, label.role is Role.NAME) for letter in label.text) * label.size
    left = {TextAnchor.START: 0.0, TextAnchor.MIDDLE: 0.5, TextAnchor.END: 1.0}[label.anchor] * width
    base = label.at.y - 0.36 * label.size
    return Rectangle(label.at.x - left, base - 0.24 * label.size, label.at.x - left + width, base + 0.76 * label.size)


def overlap(one: Rectangle, other: Rectangle) -> bool:
    return (
        one.x1 < other.x2 - HAIR and other.x1 < one.x2 - HAIR and one.y1 < other.y2 - HAIR and other.y1 < one.y2 - HAIR
    )


def labels(sheet: Sheet) -> list[Label]:
    return [
        label
        for one in sheet.all()
        for label in [*one.labels, *(each for block in one.blocks for each in block.labels)]
    ]


def segments(sheet: Sheet) -> list[Rectangle]:
    """Straight parts of lines, all of which are level or upright."""
    ways = [line.points for one in sheet.all() for line in one.lines]
    return [Rectangle(*a, *b).upright for way in ways for a, b in pairwise(way)]


def boxes(sheet: Sheet) -> dict[tuple[str, ...], Rectangle]:
    """Of elements that do not show what is inside."""
    around = {one.path for one in sheet.all() if one is not sheet}
    return {block.path: block.extent for one in sheet.all() for block in one.blocks if block.path not in around}


def check_labels(drawn: Sheet) -> None:
    """No label is on another, on a line, or on the box of another element."""
    found = [(label, measured(label)) for label in labels(drawn)]
    for (one, a), (other, b) in combinations(found, 2):
        assert not overlap(a, b), (one, other)
    for label, extent in found:
        assert not any(overlap(extent, segment) for segment in segments(drawn)), label
    for one in drawn.all():
        for block in one.blocks:
            own = [measured(label) for label in block.labels]
            for path, box in boxes(drawn).items():
                if path != block.path:
                    assert not any(overlap(extent, box) for extent in own), (block.name, path)


@given(systems(40), st.integers(0, 2))
@settings(max_examples=60)
def test_no_label_hides_anything(stated, depth):
    check_labels(lettered(arranged(stated, depth=depth)))


@given(systems(40), st.integers(0, 2))
@settings(max_examples=60)
def test_elements_and_connectors_are_named(stated, depth):
    """Where the layout is ours, there is room for all names; those of systems that are open may be on their lines."""
    drawn = lettered(arranged(stated, depth=depth))
    for one in drawn.all():
        for block in one.blocks:
            texts = [label.text for label in block.labels]
            assert block.name in texts
            if block.path in boxes(drawn):
                assert {pin.label for pin in block.pins} <= set(texts)
    assert {pin.label for pin in drawn.pins} == {label.text for label in drawn.labels}


@given(systems(40), st.integers(0, 2))
@settings(max_examples=60)
def test_no_line_runs_through_a_box(stated, depth):
    drawn = arranged(stated, depth=depth)
    for segment in segments(drawn):
        for path, box in boxes(drawn).items():
            assert not overlap(segment, box), path


@given(systems(40), st.integers(0, 2))
@settings(max_examples=30)
def test_everything_is_on_the_page(stated, depth):
    sheet = arranged(stated, depth=depth)
    root = etree.fromstring(sheet_svg(sheet, {}))
    _, _, width, height = map(float, root.get("viewBox").split())
    for rect in root.iterfind(".//{*}rect[@x]"):
        x, y, w, h = (float(rect.get(name)) for name in ("x", "y", "width", "height"))
        assert x >= 0 and y >= 0 and x + w <= width and y + h <= height
    for line in root.iterfind(".//{*}path[@d]"):
        if "wire" not in line.get("class").split():
            continue
        for x, y in (map(float, point.split(",")) for point in line.get("d").replace("M", " ").split()):
            assert 0 <= x <= width and 0 <= y <= height


CHAIN = [((f"part{k}", "y"), (f"part{k + 1}", "u")) for k in range(29)]
FAN = [((f"part{0}", "y"), (f"part{k}", "u")) for k in range(1, 30)]
TREE = [((f"part{(k - 1) // 2}", "y"), (f"part{k}", "u")) for k in range(1, 30)]
RING = [*CHAIN, (("part29", "y"), ("part0", "u"))]
GRID = [((f"part{k}", "y"), (f"part{k + 6}", "u")) for k in range(24)]
GRID += [((f"part{k}", "z"), (f"part{k + 1}", "v")) for k in range(29) if k % 6 != 5]


@pytest.mark.parametrize("ends", [CHAIN, FAN, TREE, RING, GRID], ids=["chain", "fan", "tree", "ring", "grid"])
def test_thirty_components_can_be_read_on_paper(ends):
    """Across A4 (landscape 277 mm x 190 mm) letters are of 4.5 points at least (1.6 mm): small print."""
    faces = {f"part{k}": [("u", "input"), ("v", "input"), ("y", "output"), ("z", "output")] for k in range(30)}
    drawn = arranged({(): sheet((), faces, [], ends)})
    scale = min(277 / drawn.canvas.width, 190 / drawn.canvas.height)
    assert drawn.text * scale >= 1.6


@pytest.mark.parametrize("seed", range(5))
def test_no_label_hides_anything_among_forty_connected_components(seed):
    """Two in three inputs are driven by any output: many lines, and many that run back."""
    random = Random(seed)
    faces = {f"component_{k}": [("u", "input"), ("in2", "input"), ("y", "output"), ("x", "output")] for k in range(40)}
    ends = [
        ((random.choice(list(faces)), random.choice("xy")), (name, inlet))
        for name in faces
        for inlet in ("u", "in2")
        if random.random() < 2 / 3
    ]
    drawn = lettered(arranged({(): sheet((), faces, [], ends)}))
    check_labels(drawn)
    assert len(labels(drawn)) >= 5 * 40
    for segment in segments(drawn):
        assert not any(overlap(segment, box) for box in boxes(drawn).values())


@given(st.text(st.sampled_from([chr(code) for code in range(32, 127)]), max_size=30), st.booleans())
def test_texts_are_at_most_as_wide_as_the_layout_takes_them(text, bold):
    real = sum(advance(letter, bold) for letter in text)
    assert real <= text_width(text, bold=bold) + HAIR
    assert text_width(text, bold=bold) <= 1.6 * real + HAIR
