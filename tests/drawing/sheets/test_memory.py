"""Sheets that have not changed since an earlier page stay, and a page of somebody else changes no diagram."""

import json
import re

import pytest

import ssptool
from ssptool.drawing.diagram import memory
from tests.drawing.sheets.test_groups import large
from tests.drawing.sheets.test_sheets import connector, element, system

DATA = re.compile(r'(<script type="application/json" id="layout">)(.*?)(</script>)', re.DOTALL)


def written(folder, components: int, wires: int, more: int = 0):
    """A large system as a document."""
    stated = large(components, wires, 5, more=more)
    parts = "".join(
        element(block.name, "".join(connector(pin.name, pin.kind) for pin in block.pins)) for block in stated.blocks
    )
    lines = "".join(
        f'<ssd:Connection startElement="{line.start[0]}" startConnector="{line.start[1]}" '
        f'endElement="{line.end[0]}" endConnector="{line.end[1]}"/>\n'
        for line in stated.lines
    )
    return system(folder, parts, lines)


def sections(page: str) -> dict[str, str]:
    found = re.findall(r'<section id="([^"]*)".*?</section>', page, re.DOTALL)
    texts = re.findall(r"<section .*?</section>", page, re.DOTALL)
    return dict(zip(found, texts, strict=True))


def without_titles(text: str) -> str:
    return re.sub(r"<title>.*?</title>", "", text, flags=re.DOTALL)


def test_the_same_system_is_drawn_the_same_without_a_new_layout(tmp_path, monkeypatch):
    path, page = written(tmp_path / "s", 80, 200), tmp_path / "d.html"
    ssptool.draw(path, page)
    first = page.read_text(encoding="utf-8")
    monkeypatch.setattr(memory, "lay_out", None)
    ssptool.draw(path, page)
    assert page.read_text(encoding="utf-8") == first


def test_a_new_element_changes_its_group_and_no_other(tmp_path):
    page = tmp_path / "d.html"
    ssptool.draw(written(tmp_path / "s", 100, 1000), page)
    before = sections(page.read_text(encoding="utf-8"))
    ssptool.draw(written(tmp_path / "s", 100, 1000, more=1), page)
    after = sections(page.read_text(encoding="utf-8"))
    assert before.keys() == after.keys()
    drawn, again = ({name: without_titles(text) for name, text in one.items()} for one in (before, after))
    same = {name for name in drawn if drawn[name] == again[name]}
    assert len(same) == len(before) - 2, "the group, and the number of its elements in the outer sheet"


def redrawn(path, page, content: str) -> str:
    """The page that is drawn over one with another content."""
    text = page.read_text(encoding="utf-8")
    page.write_text(DATA.sub(lambda found: found[1] + content + found[3], text), encoding="utf-8")
    ssptool.draw(path, page)
    return page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "null",
        "[1",
        '{"groups": 1, "layouts": []}',
        '{"method": 3, "groups": [["a", "b"]], "layouts": []}',
        '{"method": 3, "groups": [[["C0"], []]], "layouts": {}}',
        '{"method": 3, "groups": [], "layouts": [7]}',
        '{"method": 3, "groups": [], "layouts": [[[[], false, false], [[0, 0]], []]]}',
        '{"method": 3, "groups": [], "layouts": [[[[], false, false], [["C0", 0, 0, 1]], []]]}',
        '{"method": 3, "groups": [], "layouts": [[[[], false, false], [["C0", NaN, 0, 1, 1]], []]]}',
        '{"method": 3, "groups": [], "layouts": [[[[], false, false], [], [[1, "x"]]]]}',
        '{"method": 3, "groups": [], "layouts": [[[[], false, false], [], [[]]]]}',
        '{"method": 3, "groups": [], "layouts": [[[["C0", 1], false, false], [], []]]}',
    ],
)
def test_a_page_that_fits_nothing_changes_nothing(tmp_path, content):
    path, page = written(tmp_path / "s", 70, 100), tmp_path / "d.html"
    ssptool.draw(path, page)
    first = page.read_text(encoding="utf-8")
    assert redrawn(path, page, content) == first


def at_one_place(boxes, ways):
    """All boxes on each other."""
    for box in boxes:
        box[1:3] = boxes[0][1:3]


def through_boxes(boxes, ways):
    """Ways that run along the lower edge of the sheet."""
    low = min(box[2] for box in boxes)
    ways[:] = [[*way[:2], way[0], low - 9.0, way[-2], low - 9.0, *way[-2:]] for way in ways]


def across(boxes, ways):
    """Ways that are neither level nor upright."""
    ways[:] = [[*way[:2], *way[-2:]] for way in ways]


@pytest.mark.parametrize(("wires", "spoil"), [(0, at_one_place), (60, through_boxes), (60, across)])
def test_a_page_with_another_wiring_is_not_believed(tmp_path, wires, spoil):
    path, page = written(tmp_path / "s", 30, wires), tmp_path / "d.html"
    ssptool.draw(path, page)
    first = page.read_text(encoding="utf-8")
    content = json.loads(DATA.search(first)[2])
    for _, boxes, ways in content["layouts"]:
        spoil(boxes, ways)
    assert redrawn(path, page, json.dumps(content)) == first


def test_a_page_of_an_earlier_method_is_laid_out_anew(tmp_path, monkeypatch):
    path, page = written(tmp_path / "s", 30, 60), tmp_path / "d.html"
    ssptool.draw(path, page)
    first = page.read_text(encoding="utf-8")
    monkeypatch.setattr(memory, "_METHOD", memory._METHOD + 1)
    monkeypatch.setattr(memory, "amended", None)
    ssptool.draw(path, page)
    assert without_layout(page.read_text(encoding="utf-8")) == without_layout(first)


def without_layout(page: str) -> str:
    return DATA.sub("", page)


def test_groups_of_a_foreign_page_take_no_name_of_an_element(tmp_path):
    path, page = written(tmp_path / "s", 70, 100), tmp_path / "d.html"
    groups = [[[f"C{n}"], ["C0" if n % 2 else "C1"]] for n in range(70)]
    data = json.dumps({"groups": groups, "layouts": [], "method": 3})
    page.write_text(f'<script type="application/json" id="layout">{data}</script>', encoding="utf-8")
    ssptool.draw(path, page)
    assert set(sections(page.read_text(encoding="utf-8"))) == {"system"} | {
        name for name in sections(page.read_text(encoding="utf-8")) if name.startswith("system/Group ")
    }
