"""Elements of systems drawn in groups are edited by their own paths; a group is known to the drawing only."""

import re

import pytest

import ssptool
from benchmarks.studio_page import write_system
from ssptool.studio.calls import PageCalls
from ssptool.studio.session import EditSession
from tests.cli.browser import browser, violations
from tests.studio.conftest import box_of, copy_of, drag

FMU = "dual_mass_oscillator/resources/System1.fmu"
FRAME = re.compile(r'class="block" data-of="([^"]+)".*?<rect x="([^"]+)" y="([^"]+)"', re.DOTALL)


@pytest.fixture
def system(tmp_path):
    """100 components without places; one of them lacks a source for u0."""
    made = write_system(tmp_path / "large", 100, placed=False)
    with ssptool.edit(made) as editor:
        editor.disconnect("C6.y0", "C7.u0")
    return made


@pytest.fixture
def calls(system):
    made = PageCalls(EditSession(system), lambda _: None)
    made.call("model", {})
    yield made
    made.close()


def blocks(calls, path=()):
    return {one["name"]: one for one in calls.call("sheet", {"path": path})["blocks"].values()}


def group_of(calls, element: str) -> list[str]:
    """The group in whose sheet an element is."""
    groups = [one["path"] for one in blocks(calls).values() if one["group"]]
    return next(path for path in groups if element in blocks(calls, path))


def placed(system) -> dict[str, tuple[float, float, float, float]]:
    with ssptool.edit(system, save=False) as editor:
        found = {one.name: one.geometry for one in editor.document.structure.system.elements}
        return {name: (one.x1, one.y1, one.x2, one.y2) for name, one in found.items() if one is not None}


def corners(calls, path) -> dict[str, tuple[float, float]]:
    """Corners of elements in the picture, from that of the first one."""
    found = FRAME.findall(calls.call("sheet", {"path": path})["svg"])
    left, top = next((float(x), float(y)) for name, x, y in found if name != "C7")
    return {name: (float(x) - left, float(y) - top) for name, x, y in found}


def test_a_group_is_told_of_without_a_file(calls):
    about = calls.call("about", {"element": group_of(calls, "C7")})
    assert "grouped by connections" in about["facts"][0]
    assert not about.get("where") and not about.get("xml")


def test_elements_in_a_group_are_connected_by_their_own_paths(calls):
    group = group_of(calls, "C7")
    sheet = calls.call("sheet", {"path": group})
    assert sheet["system"] == []
    assert sheet["blocks"]["C7"]["path"] == ["C7"]
    [found] = [one for one in calls.call("suggestions", {"system": group}) if list(one["destination"]) == ["C7", "u0"]]
    assert found["sources"]
    targets = calls.call("targets", {"owner": ["C7"], "names": ["u0"]})
    assert ["C6", "y0"] in [[*one["owner"], one["name"]] for one in targets]
    edits = [{"verb": "connect", "a": ["C6", "y0"], "b": ["C7", "u0"]}]
    assert 'startElement="C6" startConnector="y0"' in calls.call("edit", {"edits": edits, "sheet": group})["diff"]
    assert "C6.y0 – C7.u0" in calls.call("connections", {"path": group_of(calls, "C6")}) or group != group_of(
        calls, "C6"
    )


def test_suggestions_in_a_group_are_those_of_its_elements(calls):
    groups = [one["path"] for one in blocks(calls).values() if one["group"]]
    found = [one for path in groups for one in calls.call("suggestions", {"system": path})]
    assert [list(one["destination"]) for one in found] == [["C7", "u0"]]


def test_connectors_that_stand_for_several_have_no_targets(calls):
    group = group_of(calls, "C7")
    assert calls.call("targets", {"owner": group, "names": ["12 to others"]}) == []
    assert calls.call("targets", {"owner": ["C7"], "names": ["3 from others"]}) == []


def test_a_line_between_groups_has_the_ends_of_its_connection(tmp_path):
    """One connection leads from the second half to the first."""
    made = write_system(tmp_path / "halves", 80, placed=False)
    with ssptool.edit(made) as editor:
        for line in list(editor.system.connections):
            one, other = (int(end.element[1:]) for end in line.ends)
            if (one < 40) != (other < 40):
                editor.disconnect(*(f"{end.element}.{end.connector}" for end in line.ends))
        editor.connect("C50.y3", "C0.u0", factor=2.5, offset=1.5)
    calls = PageCalls(EditSession(made), lambda _: None)
    known = calls.call("connections", {"path": []})["C50.y3 – C0.u0"]
    assert known["ends"] == [["C50", "y3"], ["C0", "u0"]]
    assert known["names"] == ["C50.y3", "C0.u0"]
    assert "2.5" in known["conversion"] and "1.5" in known["conversion"]
    about = calls.call("connection", {"sheet": [], "text": "C50.y3 – C0.u0"})
    assert about["values"] and 'factor="2.5"' in about["xml"]
    calls.call("edit", {"edits": [{"verb": "disconnect", "a": known["ends"][0], "b": known["ends"][1]}]})
    assert "C50.y3 – C0.u0" not in calls.call("connections", {"path": []})
    calls.close()


def test_what_is_added_in_a_group_appears_there(calls, tmp_path):
    fmu = copy_of("dual_mass_oscillator", tmp_path).parent / FMU
    group = group_of(calls, "C7")
    before = blocks(calls, group)
    edits = [{"verb": "add", "fmus": [str(fmu)], "into": []}, {"verb": "add_system", "name": "inner", "into": []}]
    calls.call("edit", {"edits": edits, "sheet": group})
    assert blocks(calls, group).keys() == before.keys() | {"System1", "inner"}
    inserts = {name: one["inserts"] for name, one in blocks(calls, group).items()}
    assert inserts["System1"] and not inserts["inner"], "it has no connectors, so that no line takes it"
    calls.call("edit", {"edits": [{"verb": "rename", "old": "System1", "new": "Spring"}], "sheet": group})
    assert blocks(calls, group).keys() == before.keys() | {"Spring", "inner"}
    calls.call("undo", {})
    assert blocks(calls, group).keys() == before.keys() | {"System1", "inner"}


def test_a_move_in_a_group_places_the_moved_element_only(calls, system):
    group = group_of(calls, "C7")
    before = corners(calls, group)
    for _ in range(2):
        calls.call("move", {"sheet": group, "elements": [["C7"]], "dx": 15.0, "dy": -5.0})
    after = corners(calls, group)
    x, y = before.pop("C7")
    assert after.pop("C7") == pytest.approx((x + 30.0, y + 10.0), abs=0.1), "the picture's y points down"
    assert after == {name: pytest.approx(corner, abs=0.1) for name, corner in before.items()}
    calls.call("save", {})
    assert placed(system).keys() == {"C7"}
    for _ in range(2):
        calls.call("undo", {})
    assert corners(calls, group)["C7"] == pytest.approx((x, y), abs=0.1)


def test_aligning_and_resizing_in_a_group_places_these_elements_only(calls, system):
    group = group_of(calls, "C7")
    one, other, third = sorted(blocks(calls, group))[:3]
    calls.call("align", {"sheet": group, "elements": [[one], [other]], "to": "left"})
    calls.call("resize", {"sheet": group, "element": [third], "edges": {"x2": 7.5}})
    calls.call("save", {})
    found = placed(system)
    assert found.keys() == {one, other, third}
    assert found[one][0] == found[other][0]


def test_elements_moved_in_two_groups_stand_apart(calls, system):
    groups = [one["path"] for one in blocks(calls).values() if one["group"]][:2]
    for group in groups:
        element = sorted(blocks(calls, group))[0]
        calls.call("move", {"sheet": group, "elements": [[element]], "dx": 3.0, "dy": 2.0})
    calls.call("save", {})
    (a1, b1, a2, b2), (c1, d1, c2, d2) = placed(system).values()
    assert a2 < c1 or c2 < a1 or b2 < d1 or d2 < b1


@browser
def test_a_group_is_selected_opened_and_edited_in_the_page(studio, chromium, system):
    page = chromium(studio(system))
    diagram = page.locator("ssp-diagram")
    group = page.locator(".block[data-of='Group 1']")
    group.focus()
    page.keyboard.press("Enter")
    page.locator("#trail [aria-current]", has_text="Group 1").wait_for()
    page.locator("#trail button").first.click()
    diagram.evaluate("diagram => diagram.select({kind: 'element', key: 'Group 1'})")
    page.locator("ssp-details h2", has_text="Group 1").wait_for()
    page.keyboard.press("F2")
    page.keyboard.press("Delete")
    assert page.get_by_role("dialog").count() == 0
    assert page.get_by_role("button", name="Rename").count() == 0
    page.get_by_role("complementary", name="Systems").get_by_role("button", name="Group 1", exact=True).click()
    page.locator("#trail [aria-current]", has_text="Group 1").wait_for()
    page.get_by_role("button", name="Add system").click()
    page.get_by_label("Name", exact=True).fill("inner")
    page.keyboard.press("Enter")
    page.locator(".block[data-of='inner']").wait_for(state="attached")
    frame = box_of(page, ".block[data-of='inner'] .frame")
    at = frame["x"] + frame["width"] / 2, frame["y"] + frame["height"] / 2
    drag(page, at, (at[0] + 30, at[1] + 10))
    page.get_by_role("tab", name="Changes (2)").wait_for()
    page.keyboard.press("Control+s")
    page.get_by_text("large · saved").wait_for()
    assert placed(system).keys() == {"inner"}
    assert page.locator("#messages .message").all_inner_texts() == []
    assert violations(page) == []
    assert page.errors == []
