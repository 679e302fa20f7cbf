"""Inputs and scenarios on a time axis: points and events are added, moved and removed by mouse and keyboard."""

import pytest

import ssptool
from tests.cli.browser import browser, violations
from tests.studio.conftest import box_of, copy_of, drag


@pytest.fixture
def folder(tmp_path):
    """An oscillator with a free input, a file that drives it, and a scenario."""
    with ssptool.edit(copy_of("dual_mass_oscillator", tmp_path), force=True) as editor:
        editor.disconnect("System2.F", "System1.F")
    (tmp_path / "push.csv").write_text("time;System1.F [N]\n0;5\n2;5\n 4 ; 1\n10;1\n")
    (tmp_path / "fault.yaml").write_text(
        "events:\n  - {time: 2, model: System1, variable: x1, action: bias, value: 1}  # a step\n"
    )
    return tmp_path


@pytest.fixture
def page(studio, chromium, folder):
    page = chromium(studio(folder / "dual_mass_oscillator"))
    page.get_by_role("tab", name="Inputs").click()
    page.get_by_label("Input file").select_option("push.csv")
    page.get_by_label("Scenario").select_option("fault.yaml")
    page.get_by_role("button", name="System1.x1: bias +1 m at 2 s").wait_for()
    return page


CHOOSE_NO_SCENARIO = """() => {
    const files = document.getElementById('choose-scenario');
    files.value = '';
    files.dispatchEvent(new Event('change'));
}"""
TWO_FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def mark(page, name: str):
    return page.locator("#panel-stimuli").get_by_role("button", name=name)


def middle_of(page, name: str) -> tuple[float, float]:
    box = box_of(page, f"#panel-stimuli [aria-label='{name}']", scroll=True)
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def written(page, name: str, folder) -> str:
    page.keyboard.press("Control+s")
    page.get_by_text("dual_mass_oscillator · saved").wait_for()
    return (folder / name).read_text()


@browser
def test_a_point_is_dragged_in_time_and_value(page, folder):
    at = middle_of(page, "System1.F: 1 N at 4 s")
    drag(page, at, (at[0] + 40, at[1] - 15))
    mark(page, "System1.F: 1 N at 4 s").wait_for(state="detached")
    page.get_by_text("dual_mass_oscillator · not saved").wait_for()
    lines = written(page, "push.csv", folder).splitlines()
    assert lines[:3] == ["time;System1.F [N]", "0;5", "2;5"] and lines[4] == "10;1", "all other rows keep their bytes"
    time, value = lines[3].split(";")
    assert time[0] == " " and 4 < float(time) < 10 and 1 < float(value) < 5


@browser
@pytest.mark.parametrize("meanwhile", ["another width", "another scenario"])
def test_a_point_in_hand_stays_in_hand_when_the_tracks_are_drawn(page, folder, meanwhile):
    at = middle_of(page, "System1.F: 1 N at 4 s")
    page.mouse.move(*at)
    page.mouse.down()
    page.mouse.move(at[0] + 10, at[1], steps=2)
    if meanwhile == "another width":
        page.set_viewport_size({"width": 1100, "height": 720})
        page.wait_for_function("innerWidth === 1100")
    else:
        page.evaluate(CHOOSE_NO_SCENARIO)
    page.evaluate(TWO_FRAMES)
    page.mouse.move(at[0] + 40, at[1], steps=2)
    page.mouse.up()
    page.get_by_text("dual_mass_oscillator · not saved").wait_for()
    time, value = written(page, "push.csv", folder).splitlines()[3].split(";")
    assert 4 < float(time) < 10 and float(value) == 1
    tracks = page.locator("#panel-stimuli svg.track")
    tracks.nth(1).wait_for(state="detached" if meanwhile == "another scenario" else "attached")


@browser
def test_the_keyboard_moves_adds_and_removes(page, folder):
    event = mark(page, "System1.x1: bias +1 m at 2 s")
    event.focus()
    page.keyboard.press("Enter")
    page.get_by_label("Time [s]").fill("3.5")
    page.get_by_label("Time [s]").press("Enter")
    mark(page, "System1.x1: bias +1 m at 3.5 s").wait_for()
    page.get_by_label("Action").select_option("override")
    mark(page, "System1.x1: override 1 m at 3.5 s").focus()
    page.keyboard.press("ArrowRight")
    mark(page, "System1.x1: override 1 m at 3.5 s").wait_for(state="detached")
    page.keyboard.press("ArrowLeft")
    mark(page, "System1.x1: override 1 m at 3.5 s").wait_for()
    page.get_by_role("button", name="Add event…").click()
    page.get_by_label("Time [s]").last.fill("5")
    page.get_by_role("dialog").get_by_label("Action").select_option("reset")
    page.get_by_role("dialog").get_by_label("Variable").select_option("System1.x1")
    assert violations(page) == []
    page.get_by_role("dialog").get_by_role("button", name="Add", exact=True).click()
    mark(page, "System1.x1: reset at 5 s").wait_for()
    assert written(page, "fault.yaml", folder) == (
        "events:\n  - {time: 3.5, model: System1, variable: x1, action: override, value: 1}  # a step\n"
        "  - {time: 5.0, model: System1, variable: x1, action: reset}\n"
    )
    mark(page, "System1.x1: reset at 5 s").focus()
    page.keyboard.press("Delete")
    mark(page, "System1.x1: reset at 5 s").wait_for(state="detached")
    page.get_by_role("button", name="Undo").click()
    mark(page, "System1.x1: reset at 5 s").wait_for()


@browser
def test_a_double_click_adds_a_point_where_it_is(page):
    track = page.locator("#panel-stimuli svg.point")
    count = track.locator(".mark").count()
    box = box_of(page, "#panel-stimuli svg.point", scroll=True)
    page.mouse.dblclick(box["x"] + box["width"] * 0.9, box["y"] + box["height"] / 2)
    track.locator(".mark").nth(count).wait_for()
    page.get_by_role("button", name="Undo").click()
    track.locator(".mark").nth(count).wait_for(state="detached")


@browser
def test_the_next_run_takes_them(page):
    page.get_by_role("tab", name="Run").click()
    page.locator("#run").click()
    page.locator(".runs li", has_text="completed").wait_for()
    page.get_by_role("tab", name="Inputs").click()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert violations(page) == []
