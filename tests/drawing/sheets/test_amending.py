"""A sheet of which a part has changed: all else stays where it was, and the drawing can be read as a new one can."""

import json
from dataclasses import replace
from itertools import combinations
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssptool.drawing.diagram import memory
from ssptool.drawing.diagram.arrange import all_arranged
from ssptool.drawing.diagram.labels import lettered
from ssptool.drawing.diagram.memory import Memory
from ssptool.drawing.diagram.model import Rectangle, Sheet, StatedSheet
from ssptool.option_words import DrawnConnections
from tests.drawing.sheets.random_systems import sheet, systems
from tests.drawing.sheets.test_lanes import check_wiring, random_system
from tests.drawing.sheets.test_readable import boxes, check_labels, overlap, segments


def drawn(stated: StatedSheet, kept: Memory) -> tuple[Sheet, Memory, bool]:
    """The drawing, what a page with it keeps for the next one, and whether it was laid out anew."""
    with patch.object(memory, "lay_out", wraps=memory.lay_out) as anew:
        [made] = all_arranged({(): stated}, DrawnConnections.ALL, kept)
    return made, Memory.of_content(json.loads(json.dumps(kept.content({})))), anew.called


def changed(chance, stated: StatedSheet, name: str = "New") -> StatedSheet:
    """With an element, a connection or a connector more or less. `chance` chooses from a list."""
    blocks, lines = stated.blocks, stated.lines
    pins = [((block.name, pin.name), pin.kind) for block in blocks for pin in block.pins]
    outlets = [end for end, kind in pins if kind == "output"]
    driven = {line.end for line in lines}
    free = [end for end, kind in pins if kind == "input" and end not in driven]
    match chance(["add", "add", "remove", "connect", "disconnect", "connector", "port"]):
        case "add":
            face = [(f"{'uy'[n % 2]}{n}", ("input", "output")[n % 2]) for n in range(chance([1, 4, 9]))]
            ends = [(chance(outlets), (name, pin)) for pin, kind in face if kind == "input" and outlets]
            ends += [((name, "y1"), chance(free))] if len(face) > 1 and free else []
            new = sheet((), {name: face}, [], ends)
            return replace(stated, blocks=(*blocks, *new.blocks), lines=(*lines, *new.lines))
        case "remove" if len(blocks) > 1:
            gone = chance(blocks).name
            others = (line for line in lines if gone not in (line.start[0], line.end[0]))
            return replace(stated, blocks=tuple(one for one in blocks if one.name != gone), lines=tuple(others))
        case "connect" if free and outlets:
            return replace(stated, lines=(*lines, *sheet((), {}, [], [(chance(outlets), chance(free))]).lines))
        case "disconnect" if lines:
            gone = chance(lines)
            return replace(stated, lines=tuple(line for line in lines if line is not gone))
        case "connector":
            of, pin = chance(blocks), sheet((), {"": [(f"of {name}", "input")]}, [], []).blocks[0].pins[0]
            blocks = tuple(replace(one, pins=(*one.pins, pin)) if one is of else one for one in blocks)
            ends = [(chance(outlets), (of.name, pin.name))] if outlets else []
            return replace(stated, blocks=blocks, lines=(*lines, *sheet((), {}, [], ends).lines))
        case "port" if free:
            own = sheet((), {}, [(f"of {name}", "input")], [(("", f"of {name}"), chance(free))])
            return replace(stated, pins=(*stated.pins, *own.pins), lines=(*lines, *own.lines))
    return stated


def unchanged(before: StatedSheet, after: StatedSheet) -> set[str]:
    """Elements whose connectors and connections are the same in both."""
    apart = {*before.lines} ^ {*after.lines}
    touched = {element for line in apart for element, _ in (line.start, line.end)}
    return {block.name for block in {*before.blocks} & {*after.blocks}} - touched


def extents(made: Sheet) -> dict[str, Rectangle]:
    return {block.name: block.extent for block in made.blocks}


def check(made: Sheet) -> None:
    check_wiring(made)
    check_labels(lettered(made))
    for one, other in combinations(extents(made).values(), 2):
        assert not overlap(one, other)
    for segment in segments(made):
        assert segment.width == 0.0 or segment.height == 0.0, "lines are level or upright, and so cross at right angles"
        assert not any(overlap(segment, box) for box in boxes(made).values())


@given(systems(14).map(lambda stated: stated[()]), st.data())
@settings(max_examples=120)
def test_what_has_not_changed_keeps_its_place(before, data):
    after = changed(lambda choices: data.draw(st.sampled_from(choices)), before)
    one, kept, _ = drawn(before, Memory())
    other, _, anew = drawn(after, kept)
    if not anew:
        assert all(extents(one)[name] == extents(other)[name] for name in unchanged(before, after))
    check(other)


@pytest.mark.parametrize(("components", "number"), [(4, 40), (12, 30), (40, 8)])
def test_a_system_grows_and_shrinks_with_hardly_a_new_layout(components: int, number: int):
    """And after several changes one by one, the drawing can still be read."""
    layouts = 0
    for seed in range(number):
        chance = Random(seed)
        stated = random_system(chance, components, placed=False)[()]
        made, kept, _ = drawn(stated, Memory())
        for step in range(4):
            before, stated = (stated, made), changed(chance.choice, stated, f"New{step}")
            made, kept, anew = drawn(stated, kept)
            layouts += anew
            if not anew:
                assert all(extents(before[1])[name] == extents(made)[name] for name in unchanged(before[0], stated))
        check(made)
    assert layouts <= 4 * number / 10


def test_elements_below_those_with_a_place_keep_theirs():
    """Also if the uppermost of them goes."""
    faces = {f"C{n}": [("u", "input"), ("y", "output")] for n in range(6)}
    ends = [((f"C{n}", "y"), (f"C{n + 1}", "u")) for n in range(5)]
    stated = sheet((), faces, [], ends)
    blocks = (replace(stated.blocks[0], extent=Rectangle(0.0, 0.0, 24.0, 24.0)), *stated.blocks[1:])
    stated = replace(stated, blocks=blocks)
    one, kept, _ = drawn(stated, Memory())
    top = max(one.blocks[1:], key=lambda block: block.extent.y2).name
    after = replace(
        stated,
        blocks=tuple(block for block in blocks if block.name != top),
        lines=tuple(line for line in stated.lines if top not in (line.start[0], line.end[0])),
    )
    other, _, anew = drawn(after, kept)
    assert not anew
    assert extents(other).items() <= extents(one).items()
