"""Elements are resized, aligned and moved, alone, several at once and in drawn groups, by verbs of the command line."""

import pytest

import ssptool
from benchmarks.studio_page import write_system
from ssptool.studio.calls import PageCalls
from ssptool.studio.session import EditSession
from tests.cli.browser import browser, violations
from tests.studio.conftest import box_of, copy_of, drag

SSD = "SystemStructure.ssd"


@pytest.fixture
def folder(tmp_path):
    """An oscillator whose elements stand at different heights."""
    folder = copy_of("dual_mass_oscillator", tmp_path)
    with ssptool.edit(folder) as editor:
        editor.place("System2", 90, 20)
    return folder


@pytest.fixture
def page(studio, chromium, folder):
    return chromium(studio(folder))


def boxes(folder) -> dict[str, tuple[float, float, float, float]]:
    """Where the elements stand in the document on disk."""
    with ssptool.edit(folder, save=False) as editor:
        found = {one.name: one.geometry for one in editor.document.structure.system.elements}
    return {name: (one.x1, one.y1, one.x2, one.y2) for name, one in found.items()}


def saved(page) -> None:
    page.keyboard.press("Control+s")
    page.get_by_text("dual_mass_oscillator · saved").wait_for()


def middle(page, selector: str) -> tuple[float, float]:
    box = box_of(page, selector)
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


@browser
def test_a_corner_is_dragged_and_an_edge_moved_with_the_keyboard(page, folder):
    before = boxes(folder)["System1"]
    page.locator(".block[data-of=System1] .frame").click()
    start = middle(page, ".block[data-of=System1] .handle[data-corner=se]")
    drag(page, start, (start[0] + 20, start[1] + 30))
    page.get_by_text("dual_mass_oscillator · not saved").wait_for()
    saved(page)
    dragged = boxes(folder)["System1"]
    assert (dragged[0], dragged[3]) == (before[0], before[3]), "the opposite corner stays"
    assert dragged[1] < before[1] and dragged[2] > before[2]
    page.locator(".block[data-of=System1]").focus()
    for count in (2, 3):  # the keyboard stays where it is when the picture is drawn anew
        page.keyboard.press("Alt+Shift+ArrowLeft")
        page.get_by_role("tab", name=f"Changes ({count})").wait_for()
    saved(page)
    assert boxes(folder)["System1"] == pytest.approx((*dragged[:2], dragged[2] - 10, dragged[3]))


@browser
def test_several_elements_are_chosen_aligned_and_moved(page, folder):
    page.locator(".block[data-of=System1] .frame").click()
    page.locator(".block[data-of=System2] .frame").click(modifiers=["Shift"])
    page.get_by_role("heading", name="2 elements").wait_for()
    assert page.locator(".block.selected").count() == 2
    assert violations(page) == []
    page.get_by_role("button", name="Bottom").click()
    page.get_by_text("dual_mass_oscillator · not saved").wait_for()
    expected = copy_of("dual_mass_oscillator", folder.parent / "command")
    (expected / SSD).write_bytes((folder / SSD).read_bytes())
    with ssptool.edit(expected) as editor:
        editor.align("System1", "System2", to="bottom")
    saved(page)
    assert (folder / SSD).read_bytes() == (expected / SSD).read_bytes()
    before = boxes(folder)
    page.locator(".block[data-of=System2]").focus()
    page.keyboard.press("Alt+ArrowRight")
    page.get_by_text("dual_mass_oscillator · not saved").wait_for()
    saved(page)
    assert boxes(folder) == {name: pytest.approx((x1 + 5, y1, x2 + 5, y2)) for name, (x1, y1, x2, y2) in before.items()}


HALFWAY = """selector => {
  const line = document.querySelector(selector);
  const point = line?.getPointAtLength(line.getTotalLength() / 2).matrixTransform(line.getScreenCTM());
  return point && [point.x, point.y];
}"""


@browser
def test_a_part_of_a_line_is_dragged_aside(page, folder):
    """The line of F has a step halfway, which is moved to the left; its ends stay at their connectors."""
    text = "System2.F – System1.F"
    page.evaluate(f"document.querySelector('ssp-diagram').select({{kind: 'connection', texts: ['{text}']}})")
    page.locator("path.selected").wait_for(state="attached")
    start = page.wait_for_function(HALFWAY, arg=f"[data-connections*='{text}']").json_value()
    drag(page, start, (start[0] - 20, start[1] + 2))
    page.get_by_role("tab", name="Changes (1)").wait_for()
    saved(page)
    with ssptool.edit(folder, save=False) as editor:
        line = next(one for one in editor.system.connections if one.geometry is not None)
        assert {end.connector for end in line.ends} == {"F"}
        points = list(zip(line.geometry.points_x, line.geometry.points_y, strict=True))
    places = boxes(folder)
    assert len(points) == 2
    assert points[0][0] == points[1][0] < (places["System1"][2] + places["System2"][0]) / 2 - 1


@browser
def test_a_rubber_band_and_the_keyboard_choose_several(page):
    area = box_of(page, "ssp-diagram")
    page.keyboard.down("Shift")
    drag(page, (area["x"] + 5, area["y"] + 5), (area["x"] + area["width"] - 5, area["y"] + area["height"] - 5))
    page.keyboard.up("Shift")
    page.get_by_role("heading", name="2 elements").wait_for()
    page.keyboard.press("Escape")
    page.locator(".block[data-of=System1]").focus()
    page.keyboard.press("Shift+Space")
    page.locator(".block[data-of=System2]").focus()
    page.keyboard.press("Shift+Space")
    page.get_by_role("heading", name="2 elements").wait_for()
    page.keyboard.press("Delete")
    page.locator(".block").first.wait_for(state="detached")
    page.get_by_role("button", name="Undo").click()
    page.locator(".block[data-of=System2]").wait_for()


def test_elements_in_drawn_groups_are_moved_and_stay_in_their_group(tmp_path):
    system = write_system(tmp_path / "large", 80, placed=False)
    calls = PageCalls(EditSession(system), lambda _: None)
    groups = [one for one in calls.call("sheet", {"path": []})["blocks"].values() if one["group"]]
    for group in groups[:2]:
        sheet = calls.call("sheet", {"path": group["path"]})
        element = next(iter(sheet["blocks"].values()))["path"]
        calls.call("move", {"sheet": group["path"], "elements": [element], "dx": 30.0, "dy": 10.0})
        after = calls.call("sheet", {"path": group["path"]})
        assert after["blocks"].keys() == sheet["blocks"].keys()
        assert [one["path"] for one in after["blocks"].values() if one["placed"]] == [element]
        again = calls.call("move", {"sheet": group["path"], "elements": [element], "dx": 0.0, "dy": 10.0})
        assert again["label"].startswith(f"place {element[0]} ") and " more" not in again["label"]
    assert {one["name"] for one in calls.call("sheet", {"path": []})["blocks"].values()} >= {
        one["name"] for one in groups
    }
    calls.call("save", {})
    calls.close()
    with ssptool.edit(system, save=False) as editor:
        found = [one.geometry for one in editor.document.structure.system.elements if one.geometry is not None]
        corners = [(one.x1, one.y1, one.x2, one.y2) for one in found]
    apart = [
        a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1] for k, a in enumerate(corners) for b in corners[:k]
    ]
    assert sum(not one for one in apart) <= 2, "but for the two that were moved, elements of groups stand apart"
