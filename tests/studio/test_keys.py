"""Undo, redo and save by the keyboard: with each case of the letters, in each field, and only if they can be used."""

import pytest

from ssptool.documents.archive import Archive
from tests.cli.browser import browser
from tests.studio.conftest import copy_of
from tests.waiting import until

SSD, SSV = "SystemStructure.ssd", "resources/dual_mass_oscillator.ssv"
PRESS = """([key, code, more]) => document.body.dispatchEvent(
  new KeyboardEvent('keydown', {key, code, ...more, bubbles: true, cancelable: true}))"""
CONTROL, SHIFTED, COMMAND = {"ctrlKey": True}, {"ctrlKey": True, "shiftKey": True}, {"metaKey": True, "shiftKey": True}
UNDO = {
    "letter": ("z", "KeyZ", CONTROL),
    "Caps Lock": ("Z", "KeyZ", CONTROL),
    "Mac": ("z", "KeyZ", {"metaKey": True}),
    "Cyrillic": ("я", "KeyZ", CONTROL),
}
REDO = {
    "letter": ("z", "KeyZ", SHIFTED),  # what Caps Lock makes of it, too
    "capital": ("Z", "KeyZ", SHIFTED),
    "Mac": ("z", "KeyZ", COMMAND),
    "Mac, capital": ("Z", "KeyZ", COMMAND),
    "y": ("y", "KeyY", CONTROL),
    "Caps Lock and y": ("Y", "KeyY", CONTROL),
    "German y": ("y", "KeyZ", CONTROL),
    "Cyrillic": ("Я", "KeyZ", SHIFTED),
}


@pytest.fixture
def folder(tmp_path):
    return copy_of("dual_mass_oscillator", tmp_path)


@pytest.fixture
def page(studio, chromium, folder):
    return chromium(studio(folder))


def remove(page, element: str) -> None:
    page.locator(f".block[data-of={element}] .frame").click()
    page.keyboard.press("Delete")
    page.locator(f".block[data-of={element}]").wait_for(state="detached")


@browser
def test_undo_and_redo_work_with_every_case_of_the_letter(page):
    remove(page, "System1")
    block, undo = page.locator(".block[data-of=System1]"), list(UNDO.values())
    for number, redo in enumerate(REDO.values()):
        page.evaluate(PRESS, undo[number % len(undo)])
        block.wait_for()
        page.evaluate(PRESS, redo)
        block.wait_for(state="detached")
    page.keyboard.press("Control+z")
    block.wait_for()
    page.keyboard.press("Control+Shift+Z")
    block.wait_for(state="detached")
    assert page.evaluate(PRESS, ["z", "KeyZ", {**CONTROL, "altKey": True}]), "AltGr and a letter is a character"
    assert page.errors == []


@browser
def test_a_save_that_does_nothing_looks_so(page):
    look = "node => [getComputedStyle(node).backgroundColor, getComputedStyle(node).color]"
    save, undo = page.get_by_role("button", name="Save", exact=True), page.get_by_role("button", name="Undo")
    assert save.is_disabled()
    assert save.evaluate(look) == undo.evaluate(look)
    remove(page, "System1")
    page.get_by_text("dual_mass_oscillator · not saved").wait_for()
    assert save.evaluate(look) != page.get_by_role("button", name="Redo").evaluate(look)


@browser
def test_a_value_is_saved_from_the_field_in_which_it_is_typed(page, folder):
    page.get_by_role("tab", name="Parameters").click()
    page.get_by_label("Value of System1.m1").fill("3.5")
    page.keyboard.press("Control+s")
    page.get_by_role("tab", name="Changes (1)").wait_for()
    page.get_by_text("dual_mass_oscillator · saved").wait_for()
    assert b'value="3.5"' in (folder / SSV).read_bytes()
    page.locator("#find").focus()
    assert not page.evaluate(PRESS.replace("document.body", "document.activeElement"), ["S", "KeyS", CONTROL])
    assert page.errors == []


@browser
def test_xml_is_saved_from_the_editor_in_which_it_is_typed(page, folder):
    page.locator(".block[data-of=System1] .frame").click()
    page.get_by_role("button", name="Edit XML").click()
    area = page.locator("ssp-details textarea")
    before = (folder / SSD).read_bytes()
    text = area.input_value()
    area.fill(text.replace("</ssd:Component>", ""))
    page.keyboard.press("Control+s")
    page.locator("#messages .message").wait_for()
    assert (folder / SSD).read_bytes() == before
    area.fill(text.replace('description="Mass 1', 'description="the left mass'))
    page.keyboard.press("Control+s")
    page.get_by_role("tab", name="Changes (1)").wait_for()
    page.get_by_text("dual_mass_oscillator · saved").wait_for()
    with Archive.open(folder) as archive:
        assert b'description="the left mass' in archive.read(SSD)
    assert page.errors == []


@browser
def test_autosave_writes_gestures_and_their_undo_and_is_remembered(page, folder):
    saved, before = page.get_by_text("dual_mass_oscillator · saved"), (folder / SSD).read_bytes()
    page.get_by_label("Autosave").check()
    remove(page, "System1")
    page.get_by_text("dual_mass_oscillator · not saved").wait_for()
    saved.wait_for()
    assert b'name="System1"' not in (folder / SSD).read_bytes()
    page.keyboard.press("Control+z")
    page.locator(".block[data-of=System1]").wait_for()
    until(lambda: (folder / SSD).read_bytes() == before)
    page.reload()
    page.locator("ssp-diagram svg").wait_for()
    assert page.get_by_label("Autosave").is_checked()
    page.get_by_role("tab", name="Parameters").click()
    value = page.get_by_label("Value of System1.m1")
    value.fill("3.5")
    page.locator("#find").focus()
    page.get_by_label("Value of System1.k1").fill("2")
    until(lambda: b'value="3.5"' in (folder / SSV).read_bytes())
    assert page.get_by_label("Value of System1.k1").input_value() == "2", "typing goes on"
