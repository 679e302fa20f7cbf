"""Large systems are drawn as groups: none of their elements and connections is lost, and groups stay as they were."""

import random
from collections import Counter
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ssptool
from ssptool.drawing.diagram.arrange import all_arranged
from ssptool.drawing.diagram.groups import MOST_ELEMENTS, members_of, with_groups
from ssptool.drawing.diagram.model import Rectangle, StatedSheet
from ssptool.option_words import DrawnConnections
from tests.drawing.sheets.random_systems import sheet
from tests.drawing.sheets.test_lanes import check_wiring
from tests.drawing.sheets.test_sheets import connector, element, system


def large(components: int, wires: int, families: int, seed: int = 1, more: int = 0) -> StatedSheet:
    """Components of which most connections stay within families of neighbours; `more` come after all others."""
    chance = random.Random(seed)
    faces = {f"C{n}": [("y0", "output"), ("y1", "output")] for n in range(components)}
    ends = []
    for number in range(wires):
        taker = chance.randrange(components)
        near = [one for one in range(components) if one % families == taker % families]
        source = chance.choice(near if chance.random() < 0.85 else range(components))
        faces[f"C{taker}"].append((f"u{number}", "input"))
        ends.append(((f"C{source}", f"y{chance.randrange(2)}"), (f"C{taker}", f"u{number}")))
    for number in range(more):
        faces[f"N{number}"] = [("u", "input")]
        ends.append(((f"C{families + number % families}", "y0"), (f"N{number}", "u")))
    made = sheet((), faces, [("in", "input"), ("out", "output")], ends)
    return replace(made, lines=tuple(replace(line, described=(f"{line.start} – {line.end}",)) for line in made.lines))


@given(st.integers(61, 150), st.integers(0, 300), st.integers(1, 8), st.integers(0, 9))
@settings(max_examples=15)
def test_every_element_is_in_one_group_and_no_connection_is_lost(components, wires, families, seed):
    stated = large(components, wires, families, seed)
    made = with_groups({(): stated})
    assert all(len(one.blocks) <= MOST_ELEMENTS for one in made.values())
    drawn = Counter(block.path for one in made.values() for block in one.blocks if not block.group)
    assert drawn == Counter(block.path for block in stated.blocks)
    told = Counter(text for one in made.values() for line in one.lines for text in line.described)
    assert told == Counter(text for line in stated.lines for text in line.described)
    for one in made.values():
        pins = {(block.name, pin.name) for block in one.blocks for pin in block.pins}
        assert {end for line in one.lines for end in (line.start, line.end)} <= pins
        assert len(pins) == sum(len(block.pins) for block in one.blocks)


@pytest.mark.parametrize(("components", "wires", "families"), [(80, 250, 4), (70, 400, 1), (130, 300, 9)])
def test_groups_keep_the_wiring_readable(components, wires, families):
    made = with_groups({(): large(components, wires, families)})
    for drawn in all_arranged(made, DrawnConnections.BUNDLED):
        check_wiring(drawn)


def test_equal_systems_keep_their_groups_in_equal_order():
    """That of the sheets, and not that of a set, which differs from process to process."""
    made = with_groups({(): large(200, 500, 9)})
    groups = list(dict.fromkeys(members_of(made).values()))
    assert len(groups) > 5
    assert groups == [path for path in made if path]


def of_families(families: int, each: int, wires: int, kind: str, seed: int = 1) -> StatedSheet:
    """Families of components; of their connections with others, all are from any family, or from those before it."""
    chance = random.Random(seed)
    faces = {f"C{n}": [("y", "output")] for n in range(families * each)}
    ends = []
    for number in range(wires):
        taker = chance.randrange(families * each)
        family = taker % families
        if chance.random() > 0.85:
            family = {
                "any": chance.randrange(families),
                "before": chance.randrange(family + 1),
                "next": max(family - 1, 0),
            }[kind]
        faces[f"C{taker}"].append((f"u{number}", "input"))
        ends.append(((f"C{family + families * chance.randrange(each)}", "y"), (f"C{taker}", f"u{number}")))
    return sheet((), faces, [("in", "input"), ("out", "output")], ends)


@pytest.mark.parametrize(("families", "kind"), [*product([7, 12, 20], ["any", "before", "next"]), (40, "next")])
def test_a_sheet_of_groups_is_neither_a_row_nor_a_column(families, kind):
    """Groups that are all connected with each other would be one row, each in a layer of its own."""
    (drawn, *_) = all_arranged(
        with_groups({(): of_families(families, 10, 80 * families, kind)}), DrawnConnections.BUNDLED
    )
    assert len(drawn.blocks) >= 6
    assert 1 / 2.5 <= drawn.canvas.width / drawn.canvas.height <= 2.5
    check_wiring(drawn)


def test_families_are_found():
    found = members_of(with_groups({(): large(100, 1000, 5)}))
    groups = {frozenset(path for path, of in found.items() if of == group) for group in set(found.values())}
    assert groups == {frozenset((f"C{n}",) for n in range(family, 100, 5)) for family in range(5)}


def test_sixty_elements_are_no_group():
    assert list(with_groups({(): large(60, 100, 3)})) == [()]


@pytest.mark.parametrize("wires", [0, 5000])
def test_elements_that_are_all_alike_are_grouped_in_their_order(wires):
    made = with_groups({(): large(70, wires, 1)})
    assert len(made[()].blocks) < 10


def test_elements_with_a_place_keep_it():
    stated = large(70, 100, 3)
    place = Rectangle(0, 0, 20, 20)
    first, *others = stated.blocks
    made = with_groups({(): replace(stated, blocks=(replace(first, extent=place), *others))})
    assert [block.path for block in made[()].blocks if block.extent == place] == [first.path]


def test_new_elements_join_the_groups_of_an_earlier_drawing():
    before = members_of(with_groups({(): large(100, 1000, 5)}))
    after = members_of(with_groups({(): large(100, 1000, 5, more=3)}, before))
    assert {path: group for path, group in after.items() if path in before} == before
    for number in range(3):
        assert after[f"N{number}",] == before[f"C{5 + number}",]


def test_a_group_is_drawn_by_its_name_and_says_what_it_is(tmp_path):
    parts = "".join(
        element(f"C{n}", connector("u", "input") + connector("y", "output")) for n in range(MOST_ELEMENTS + 1)
    )
    lines = "".join(
        f'<ssd:Connection startElement="C{n}" startConnector="y" endElement="C{n + 1}" endConnector="u"/>\n'
        for n in range(MOST_ELEMENTS)
    )
    path = system(tmp_path / "s", parts, lines)
    drawing = ssptool.draw(path)
    assert "elements, grouped by connections</text>" in drawing.svg
    assert ">C0<" not in drawing.svg
    assert ">C0<" in ssptool.draw(path, level="Group 1").svg
    assert ">C0<" in ssptool.draw(path, connections="all").svg
    assert repr(drawing).startswith("<Drawing of S: 1 system:")
    with pytest.raises(ssptool.exceptions.UnknownName, match="did you mean Group"):
        ssptool.draw(path, level="Group 99")
