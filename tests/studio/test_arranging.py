"""Elements are arranged as the drawing would place them; files come from folders of other systems; pictures are saved;
two fingers zoom.
"""

import os

import pytest
from lxml import etree

import ssptool
from ssptool.drawing.diagram.read import stated_sheets
from ssptool.errors import WrongUsage
from ssptool.studio.calls import PageCalls
from ssptool.studio.recent import MOST_FOLDERS, recent_fmus, remember_folders
from ssptool.studio.session import EditSession
from tests.cli.browser import browser
from tests.studio.conftest import box_of, copy_of

SYSTEM = "dual_mass_oscillator"


@pytest.fixture
def system(tmp_path):
    return copy_of(SYSTEM, tmp_path)


def places(path) -> dict[str, tuple[float, ...]]:
    with ssptool.edit(path, save=False) as editor:
        geometry = {one.name: one.geometry for one in editor.system.elements}
    return {
        name: tuple(getattr(one, side) for side in ("x1", "y1", "x2", "y2"))
        for name, one in geometry.items()
        if one is not None
    }


def pile_up(path) -> None:
    """Put all elements onto one place."""
    with ssptool.edit(path, force=True) as editor:
        for one in editor.system.elements:
            editor.place(one.name, x=3.0, y=7.0, width=20.0, height=20.0)


def test_elements_get_the_places_of_the_drawing_of_a_system_without_places(system):
    """The places are those of the layout: inputs left, no element over another; undo brings the old ones back."""
    pile_up(system)
    calls = PageCalls(EditSession(system), lambda _: None)
    try:
        before = calls.call("sheet", {"path": []})["svg"]
        calls.call("arrange", {"sheet": []})
        boxes = [
            block.extent.upright for block in stated_sheets(calls._session.archive, calls._session.structure)[()].blocks
        ]
        assert all(
            one.x2 <= other.x1 or other.x2 <= one.x1 or one.y2 <= other.y1 or other.y2 <= one.y1
            for number, one in enumerate(boxes)
            for other in boxes[:number]
        )
        calls.call("undo", {})
        assert calls.call("sheet", {"path": []})["svg"] == before
        calls.call("redo", {})
        calls.call("save", {})
    finally:
        calls.close()
    arranged = places(system)
    assert arranged.keys() == {"System1", "System2"}
    with ssptool.edit(system, force=True) as editor:
        for one in editor.system.elements:
            one.geometry = None
    calls = PageCalls(EditSession(system), lambda _: None)
    try:
        drawn = {one.path[-1]: one.extent.upright for one in calls._model.arranged(()).blocks}
    finally:
        calls.close()
    for name, box in drawn.items():
        assert arranged[name] == pytest.approx((box.x1, box.y1, box.x2, box.y2), abs=0.1), "the layout of the drawing"


def test_there_is_nothing_to_arrange_where_no_system_is(system):
    calls = PageCalls(EditSession(system), lambda _: None)
    try:
        with pytest.raises(WrongUsage, match="Nowhere"):
            calls.call("arrange", {"sheet": ["Nowhere"]})
    finally:
        calls.close()


APART = """names => {
  const frames = names.map(name => document.querySelector(`.block[data-of=${name}] .frame`));
  const [one, other] = frames.map(frame => frame.getBoundingClientRect());
  return one.right <= other.left || other.right <= one.left;
}"""


@browser
def test_a_pile_is_arranged_by_a_key_and_by_the_menu_and_undone(studio, chromium, system):
    pile_up(system)
    before = places(system)
    page = chromium(studio(system))
    page.locator("ssp-diagram").click(position={"x": 10, "y": 10})
    page.emulate_media(reduced_motion="reduce")  # on their way, the elements are over each other
    page.keyboard.press("l")
    page.get_by_text(f"{SYSTEM} · not saved").wait_for()
    page.wait_for_function(APART, arg=["System1", "System2"])
    first, second = (box_of(page, f".block[data-of={name}] .frame") for name in ("System1", "System2"))
    assert first["x"] + first["width"] <= second["x"] or second["x"] + second["width"] <= first["x"]
    page.emulate_media(reduced_motion="no-preference")
    page.keyboard.press("Control+z")
    page.get_by_text(f"{SYSTEM} · saved").wait_for()
    page.locator("ssp-diagram").click(position={"x": 10, "y": 10}, button="right")
    page.get_by_role("menuitem", name="Arrange automatically").click()
    page.get_by_text(f"{SYSTEM} · not saved").wait_for()
    page.keyboard.press("Control+s")
    page.get_by_text(f"{SYSTEM} · saved").wait_for()
    assert places(system) != before
    assert all(round(one, 1) == one for box in places(system).values() for one in box)


# -- files of other folders


def test_the_folders_used_last_come_first_and_those_without_fmus_not_at_all(tmp_path):
    systems = [copy_of(SYSTEM, tmp_path / str(number)) for number in range(MOST_FOLDERS + 2)]
    for one in systems:
        remember_folders(one)
    found = recent_fmus(systems[-1])
    folders = list(dict.fromkeys(file.parent for file in found))
    assert folders == [one / "resources" for one in reversed(systems[-MOST_FOLDERS:-1])]
    assert systems[-1] / "resources" not in folders, "the files of the system itself are listed already"
    (systems[-2] / "resources" / "System1.fmu").unlink()
    assert systems[-2] / "resources" / "System1.fmu" not in recent_fmus(systems[-1])


@pytest.mark.parametrize("content", ["{", "[1, null]", '{"a": []}', "[" * 10_000])
def test_a_damaged_list_of_folders_is_none(system, tmp_path, content):
    (tmp_path / "state" / "ssptool").mkdir(parents=True)
    (tmp_path / "state" / "ssptool" / "recent_folders.json").write_text(content)
    assert recent_fmus(system) == []
    remember_folders(system)
    assert {file.parent for file in recent_fmus(copy_of(SYSTEM, tmp_path / "other"))} == {system / "resources"}


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_list_that_cannot_be_written_is_left_out(system, tmp_path):
    (tmp_path / "state").mkdir(mode=0o500)
    remember_folders(system)
    assert recent_fmus(copy_of(SYSTEM, tmp_path / "other")) == []


@browser
def test_a_file_of_a_folder_used_before_is_dragged_into_the_diagram(studio, chromium, system, tmp_path):
    other, command = copy_of("one_dof_oscillator", tmp_path), copy_of(SYSTEM, tmp_path / "command")
    chromium(studio(other))
    page = chromium(studio(system))
    palette = page.locator("ssp-palette")
    palette.get_by_text("In one_dof_oscillator/resources").wait_for()
    diagram = box_of(page, "ssp-diagram")
    entry = palette.get_by_role("button", name="SpringDamper.fmu", exact=True)
    below = {"x": diagram["width"] / 2, "y": 0.8 * diagram["height"]}
    entry.drag_to(page.locator("ssp-diagram"), target_position=below)
    page.locator(".block[data-of=SpringDamper].selected").wait_for()
    page.keyboard.press("Control+s")
    page.get_by_text(f"{SYSTEM} · saved").wait_for()
    with ssptool.edit(command, force=True) as editor:
        editor.add(other / "resources" / "SpringDamper.fmu")
    added = "resources/SpringDamper.fmu"
    assert (system / added).read_bytes() == (command / added).read_bytes()
    with ssptool.edit(system, save=False) as ours, ssptool.edit(command, save=False) as theirs:
        sources = [{one.name: one.source for one in editor.system.elements} for editor in (ours, theirs)]
    assert sources[0] == sources[1]


# -- pictures


@browser
def test_the_picture_is_saved_as_the_command_draws_it_and_as_pixels(studio, chromium, system, tmp_path):
    page = chromium(studio(system))

    def saved(kind: str):
        page.locator("ssp-diagram").click(position={"x": 10, "y": 10}, button="right")
        with page.expect_download() as download:
            page.get_by_role("menuitem", name=f"Save the picture ({kind})").click()
        download.value.save_as(tmp_path / download.value.suggested_filename)
        return tmp_path / download.value.suggested_filename

    vector, pixels = saved("SVG"), saved("PNG")
    assert vector.suffix == ".svg" and pixels.suffix == ".png"
    ssptool.draw(system, tmp_path / "drawn.svg")
    frames = [
        [sorted(node.items()) for node in etree.parse(file).iter("{*}rect") if "frame" in node.get("class", "")]
        for file in (vector, tmp_path / "drawn.svg")
    ]
    assert frames[0] == frames[1] != []
    head = pixels.read_bytes()[:24]
    assert head.startswith(b"\x89PNG") and 3000 in (int.from_bytes(head[16:20]), int.from_bytes(head[20:24]))


# -- fingers


class Fingers:
    """Fingers on the touch screen of a page."""

    def __init__(self, page) -> None:
        self._session = page.context.new_cdp_session(page)

    def touch(self, kind: str, *points: tuple[float, float]) -> None:
        listed = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)]
        self._session.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": listed})


@browser
def test_two_fingers_zoom_and_move_the_view_and_change_nothing(studio, chromium, system):
    page = chromium(studio(system))
    fingers, box = Fingers(page), box_of(page, ".block[data-of=System1] .frame")
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    fingers.touch("Start", (x - 20, y))
    fingers.touch("Start", (x - 20, y), (x + 20, y))
    for step in (1, 2, 3, 4):
        fingers.touch("Move", (x - 20 - 5 * step, y + 10 * step), (x + 20 + 5 * step, y + 10 * step))
    fingers.touch("End")
    now = box_of(page, ".block[data-of=System1] .frame")
    assert now["width"] == pytest.approx(2 * box["width"], rel=1e-3), "40 pixels apart became 80"
    assert now["x"] + now["width"] / 2 == pytest.approx(x, abs=1)
    assert now["y"] + now["height"] / 2 == pytest.approx(y + 40, abs=1), "what is below the fingers stays there"
    assert page.get_by_text(f"{SYSTEM} · saved").is_visible()
    assert page.locator(".selected").count() == 0
    fingers.touch("Start", (x, y + 40))
    fingers.touch("End")
    page.locator(".block[data-of=System1].selected").wait_for()


@browser
def test_a_second_finger_does_not_drop_what_the_first_carries(studio, chromium, system):
    page = chromium(studio(system))
    fingers, box = Fingers(page), box_of(page, ".block[data-of=System2] .frame")
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    view = page.evaluate("document.querySelector('ssp-diagram').view")
    fingers.touch("Start", (x, y))
    fingers.touch("Move", (x, y + 30))
    fingers.touch("Start", (x, y + 30), (x - 90, y))
    fingers.touch("Move", (x, y + 60), (x - 120, y))
    assert page.evaluate("document.querySelector('ssp-diagram').view") == view
    fingers.touch("End")
    page.get_by_text(f"{SYSTEM} · not saved").wait_for()
    moved = box_of(page, ".block[data-of=System2] .frame")
    other = box_of(page, ".block[data-of=System1] .frame")
    assert moved["y"] - other["y"] > 0.5 * 60 * moved["width"] / box["width"]
