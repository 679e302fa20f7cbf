"""The page edits a system by mouse and keyboard, with the edits of the command line."""

import pytest

import ssptool
from tests.cli.browser import browser, violations
from tests.studio.conftest import SYSTEMS, box_of, connector_at, copy_of, drag

SSD = "SystemStructure.ssd"


@pytest.fixture
def folder(tmp_path):
    """An oscillator without connections, and the same one for the command line."""
    for name in ("page", "command"):
        with ssptool.edit(copy_of("dual_mass_oscillator", tmp_path / name), force=True) as editor:
            editor.disconnect("System1", "System2")
    return tmp_path


@pytest.fixture
def page(studio, chromium, folder):
    return chromium(studio(folder / "page" / "dual_mass_oscillator"))


def saved(page, folder, name: str = SSD) -> tuple[str, str]:
    """The document that the page saves, and that of the command line."""
    page.keyboard.press("Control+s")
    page.get_by_text("dual_mass_oscillator · saved").wait_for()
    return tuple((folder / one / "dual_mass_oscillator" / name).read_text() for one in ("page", "command"))


@browser
def test_a_line_is_drawn_to_a_connector_that_is_lit(page, folder):
    start, end = connector_at(page, "System1", "x1"), connector_at(page, "System2", "x1")
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(start[0] + 40, start[1] + 5, steps=3)
    page.locator("#hint", has_text="lit").wait_for()
    page.locator(".block[data-of=System2] .lit").wait_for()
    lit = page.locator(".lit").evaluate_all("nodes => nodes.map(n => [n.closest('.block').dataset.of, n.dataset.pins])")
    assert lit == [["System1", '["x1"]'], ["System2", '["x1"]']], "v1 and a1 have other units, F is an output"
    page.mouse.move(*end, steps=3)
    assert page.locator("#hint").inner_text() == "System1.x1 → System2.x1"
    page.mouse.up()
    page.locator('.wire[data-connections*="System1.x1 – System2.x1"]').wait_for(state="attached")
    page.keyboard.press("c")
    page.get_by_label("From", exact=True).fill("System1.v1")
    page.get_by_label("To", exact=True).focus()
    page.locator("#proposed-b option").wait_for(state="attached")
    proposed = page.locator("#proposed-b option").evaluate_all("nodes => nodes.map(node => node.value)")
    assert proposed == ["System2.v1"], "the only one with this unit that has no source"
    page.get_by_label("To", exact=True).fill("System2.v1")
    page.keyboard.press("Enter")
    page.locator('.wire[data-connections*="System1.v1 – System2.v1"]').wait_for(state="attached")
    with ssptool.edit(folder / "command" / "dual_mass_oscillator", force=True) as editor:
        editor.connect("System1.x1", "System2.x1").connect("System1.v1", "System2.v1")
    ours, theirs = saved(page, folder)
    assert ours == theirs


DELETE_ONCE_DRAWN = """(diagram, text) => new MutationObserver((_, observer) => {
  if (!diagram.wireOf(text)) return;
  observer.disconnect();
  diagram.select({kind: 'connection', texts: [text]});
  document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'Delete', bubbles: true}));
}).observe(diagram, {childList: true, subtree: true})"""


@browser
def test_the_keyboard_connects_and_removes(page):
    """Also at the moment when the line is drawn, before the page knows the connection."""
    diagram = page.locator("ssp-diagram")
    diagram.evaluate("diagram => diagram.select({kind: 'connector', key: 'System1', names: ['v1']})")
    diagram.evaluate(DELETE_ONCE_DRAWN, "System1.v1 – System2.v1")
    done = page.get_by_role("button", name="Undo").and_(page.get_by_title("Undo: disconnect", exact=False))
    page.get_by_role("button", name="Connect to System2.v1").press("Enter")
    done.wait_for()
    wire = page.locator('.wire[data-connections*="System1.v1 – System2.v1"]')
    wire.wait_for(state="detached")
    page.keyboard.press("Control+z")
    wire.wait_for(state="attached")
    page.keyboard.press("Control+z")
    wire.wait_for(state="detached")
    page.get_by_text("dual_mass_oscillator · saved").wait_for()


@browser
def test_many_connectors_are_connected_in_a_table(page, folder):
    page.get_by_role("tab", name="Connect").click()
    page.get_by_text("4 of 4 chosen").wait_for()
    page.get_by_role("button", name="Preview").click()
    page.locator("#panel-connect .diff").wait_for()
    assert page.locator("#panel-connect .diff .added", has_text="startElement=").count() == 4
    assert page.locator("ssp-diagram .wire[data-connections]").count() == 0
    page.locator("#panel-connect").get_by_role("button", name="Connect", exact=True).click()
    page.get_by_text("every input has a source").wait_for()
    with ssptool.edit(folder / "command" / "dual_mass_oscillator") as editor:
        editor.connect("System2.F", "System1.F")
        for name in ("x1", "v1", "a1"):
            editor.connect(f"System1.{name}", f"System2.{name}")
    ours, theirs = saved(page, folder)
    assert ours == theirs


VALUE = "Value of System1.m1"
PASTE = """(node, text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData('text/plain', text);
  node.dispatchEvent(new ClipboardEvent('paste', {clipboardData, bubbles: true, cancelable: true}));
}"""


@browser
def test_values_are_set_where_they_come_from(page, folder):
    page.get_by_role("tab", name="Parameters").click()
    field = page.get_by_label(VALUE)
    field.fill("3.5")
    field.press("Enter")
    page.get_by_role("tab", name="Changes (", exact=False).click()
    page.locator("details[open] .diff .added", has_text='value="3.5"').wait_for()
    with ssptool.edit(folder / "command" / "dual_mass_oscillator") as editor:
        editor.set("System1.m1", 3.5)
    ours, theirs = saved(page, folder, "resources/dual_mass_oscillator.ssv")
    assert ours == theirs
    page.get_by_role("tab", name="Parameters").click()
    field.evaluate(PASTE, "Name\tUnit\tValue\r\nSystem1.m1\tg\t4250\r\nSystem2.m2\tkg\t2.5\r\n")
    page.wait_for_function("label => document.querySelector(`[aria-label='${label}']`).value === '4.25'", arg=VALUE)
    with ssptool.edit(folder / "command" / "dual_mass_oscillator") as editor:
        editor.set("System1.m1", 4250, "g").set("System2.m2", 2.5)
    ours, theirs = saved(page, folder, "resources/dual_mass_oscillator.ssv")
    assert ours == theirs
    field.fill("heavy")
    field.press("Enter")
    page.get_by_role("alert").get_by_text("expected a number").wait_for()
    assert field.input_value() == "4.25"


@browser
def test_an_element_is_moved(page, folder):
    frame = box_of(page, ".block[data-of=System2] .frame")
    at = frame["x"] + frame["width"] / 2, frame["y"] + 15
    drag(page, at, (at[0] + 40, at[1] + 30))
    page.get_by_text("dual_mass_oscillator · not saved").wait_for()
    with ssptool.edit(folder / "page" / "dual_mass_oscillator", save=False) as editor:
        before = editor.document.structure.system.elements[1].geometry
        corner = before.x1, before.y1
    ours, _ = saved(page, folder)
    with ssptool.edit(folder / "page" / "dual_mass_oscillator", save=False) as editor:
        after = editor.document.structure.system.elements[1].geometry
        x, y = after.x1, after.y1
    assert x > corner[0] and y < corner[1], "the page's y points down, that of the document up"
    with ssptool.edit(folder / "command" / "dual_mass_oscillator") as editor:
        editor.place("System2", x, y)
    assert ours == (folder / "command" / "dual_mass_oscillator" / SSD).read_text()


@browser
def test_an_element_is_renamed_in_a_dialog(page):
    page.locator(".block[data-of=System1] .frame").click()
    page.keyboard.press("F2")
    page.get_by_label("New name").fill("Left")
    assert violations(page) == []
    page.keyboard.press("Enter")
    page.locator(".block.selected[data-of=Left]").wait_for()
    page.get_by_role("button", name="Undo").click()
    page.locator(".block[data-of=System1]").wait_for()


@browser
def test_what_a_replacement_would_break_is_listed_first(page):
    undo, redo = (page.get_by_role("button", name=name) for name in ("Undo", "Redo"))
    page.locator(".block[data-of=System1]").focus()
    page.keyboard.press("Alt+ArrowRight")
    undo.click()
    page.get_by_text("dual_mass_oscillator · saved").wait_for()
    page.locator(".block[data-of=System1] .frame").click()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Replace FMU…").click()
    chooser.value.set_files(SYSTEMS / "dual_mass_oscillator" / "resources" / "System2.fmu")
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("breaks: System1.m1: no such variable").wait_for()
    assert violations(page) == []
    dialog.get_by_role("button", name="Cancel").click()
    assert redo.is_enabled(), "nothing is changed: what was undone can be done again"


@browser
def test_what_another_program_changes_appears(page, folder):
    with ssptool.edit(folder / "page" / "dual_mass_oscillator") as editor:
        editor.rename("System2", "Other")
    page.locator(".block[data-of=Other]").wait_for()
    page.get_by_role("alert").get_by_text("another program has changed").wait_for()
    assert violations(page) == []
