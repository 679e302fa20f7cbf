"""Another program changes what unsaved edits concern: nothing is lost, and each way out of the conflict is open."""

import re
import shutil

import pytest

import ssptool
from ssptool.documents.archive import Archive
from ssptool.studio.calls import PageCalls
from ssptool.studio.session import Conflict, EditSession
from tests.cli.browser import browser, violations
from tests.studio.conftest import copy_of

SSD = "SystemStructure.ssd"
SCENARIO = """events:
  - {time: 0.25, variable: System1.m1, action: override, value: 3.5}
"""


@pytest.fixture
def folder(tmp_path):
    return copy_of("dual_mass_oscillator", tmp_path)


@pytest.fixture
def package(folder):
    made = folder.with_suffix(".ssp")
    with Archive.open(folder) as archive:
        archive.save(made)
    return made


@pytest.fixture
def opened():
    """Open the calls of a page on a system."""
    made = []

    def open_calls(system, events=None):
        made.append(PageCalls(EditSession(system), (events if events is not None else []).append))
        return made[-1]

    yield open_calls
    for calls in made:
        calls.close()


def rename(calls, old, new):
    return calls.call("edit", {"edits": [{"verb": "rename", "old": old, "new": new}]})


def renamed_by_another(system, old="System1", new="Other"):
    with ssptool.edit(system) as editor:
        editor.rename(old, new)


def conflicted(calls, system) -> str:
    """Bring about a conflict: System1 gets two names."""
    rename(calls, "System1", "Left")
    renamed_by_another(system)
    calls.look_at_disk()
    return calls.call("model", {})["conflict"]


def elements(calls) -> set[str]:
    return {one["name"] for one in calls.call("model", {})["systems"][0]["elements"]}


def content(system) -> dict[str, bytes]:
    with Archive.open(system) as archive:
        return {name: archive.read(name) for name in archive.names()}


def test_a_conflict_is_part_of_the_model_once_and_prevents_edits(opened, folder):
    events = []
    calls = opened(folder, events)
    assert "another program has changed SystemStructure.ssd" in conflicted(calls, folder)
    calls.look_at_disk()
    assert [one["event"] for one in events] == ["model", "model"], "an edit, and the conflict; no passing message"
    with pytest.raises(Conflict):
        rename(calls, "System2", "Right")
    with pytest.raises(Conflict):
        calls.call("save", {})
    assert elements(calls) == {"Left", "System2"}


def test_saving_tells_the_pages_of_a_conflict(opened, folder):
    events = []
    calls = opened(folder, events)
    rename(calls, "System1", "Left")
    renamed_by_another(folder)
    with pytest.raises(Conflict):
        calls.call("save", {})
    assert events[-1]["conflict"]


def test_undo_ends_a_conflict(opened, folder):
    calls = opened(folder)
    rename(calls, "System2", "Right")
    conflicted(calls, folder)
    calls.call("undo", {})
    model = calls.call("model", {})
    assert (model["conflict"], model["undo"], model["unsaved"]) == ("", "rename System2 Right", True)
    assert elements(calls) == {"Other", "Right"}
    calls.call("save", {})
    assert b'name="Right"' in (folder / SSD).read_bytes() and b'name="Other"' in (folder / SSD).read_bytes()


def test_a_redo_ends_the_conflict_of_an_undo_beyond_the_last_save(opened, folder):
    calls = opened(folder)
    rename(calls, "System1", "Left")
    calls.call("save", {})
    calls.call("undo", {})
    renamed_by_another(folder, "System2", "Right")
    calls.look_at_disk()
    assert "what was saved before is undone here" in calls.call("model", {})["conflict"]
    calls.call("redo", {})
    assert calls.call("model", {})["conflict"] == ""
    assert elements(calls) == {"Left", "Right"}


def test_a_conflict_ends_when_the_other_program_takes_its_change_back(opened, folder):
    calls = opened(folder)
    conflicted(calls, folder)
    renamed_by_another(folder, "Other", "System1")
    calls.look_at_disk()
    assert calls.call("model", {})["conflict"] == ""
    calls.call("save", {})
    assert b'name="Left"' in (folder / SSD).read_bytes()


def test_the_files_on_disk_are_taken_and_edited_further(opened, package):
    calls = opened(package)
    conflicted(calls, package)
    calls.call("reload", {})
    assert elements(calls) == {"Other", "System2"}
    rename(calls, "Other", "East")
    calls.call("save", {})
    assert b'name="East"' in content(package)[SSD]


@pytest.mark.parametrize(("kind", "name"), [("folder", "mine"), ("folder", "mine.ssp"), ("package", "mine")])
def test_edits_are_saved_under_another_name_and_continued_there(opened, request, tmp_path, kind, name):
    system = request.getfixturevalue(kind)
    expected = tmp_path / "expected" / system.name
    expected.parent.mkdir()
    (shutil.copytree if system.is_dir() else shutil.copy)(system, expected)
    renamed_by_another(expected, "System1", "Left")
    calls = opened(system)
    conflicted(calls, system)
    theirs = content(system)
    with pytest.raises(FileExistsError, match="exists: choose another name"):
        calls.call("save_as", {"name": system.name})
    calls.call("save_as", {"name": name})
    mine = tmp_path / (name if kind == "folder" else "mine.ssp")
    assert content(system) == theirs
    assert content(mine) == content(expected)
    model = calls.call("model", {})
    assert (model["file"], model["conflict"], model["unsaved"], model["undo"]) == (mine.name, "", False, "")
    rename(calls, "Left", "West")
    calls.call("save", {})
    assert b'name="West"' in content(mine)[SSD]
    assert content(system) == theirs


def test_a_lone_document_is_saved_under_another_name_in_its_folder(opened, folder):
    lone = folder / SSD
    calls = opened(lone)
    calls.call("edit", {"edits": [{"verb": "disconnect", "a": "System1.a1", "b": "System2.a1"}]})
    with ssptool.edit(lone) as editor:
        editor.disconnect("System1.a1", "System2.a1").disconnect("System1.v1", "System2.v1")
    calls.look_at_disk()
    assert calls.call("model", {})["conflict"]
    with pytest.raises(ssptool.exceptions.WrongUsage, match="refers to files next to it"):
        calls.call("save_as", {"name": "../mine.ssd"})
    calls.call("save_as", {"name": "mine"})
    assert (b'"a1"' in (folder / "mine.ssd").read_bytes(), b'"v1"' in (folder / "mine.ssd").read_bytes()) == (
        True,
        True,
    )
    assert calls.call("model", {})["file"] == "mine.ssd"


def test_a_lone_document_with_edits_in_other_files_becomes_a_package(opened, folder):
    """The name of a component is in its parameter set, too."""
    lone = folder / SSD
    calls = opened(lone)
    conflicted(calls, lone)
    theirs = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    with pytest.raises(
        ssptool.exceptions.WrongUsage, match=r"you have changed resources/dual_mass_oscillator\.ssv, too"
    ):
        calls.call("save_as", {"name": "mine.ssd"})
    calls.call("save_as", {"name": "mine.ssp"})
    assert {file: file.read_bytes() for file in theirs} == theirs
    mine = content(folder / "mine.ssp")
    assert b'name="Left"' in mine[SSD]
    assert b"Left.m1" in mine["resources/dual_mass_oscillator.ssv"]
    assert {name for name in mine if name.endswith(".fmu")} >= {"resources/System1.fmu", "resources/System2.fmu"}


def test_a_package_that_has_vanished_is_saved_whole_under_another_name(opened, package, tmp_path):
    before = content(package)
    calls = opened(package)
    rename(calls, "System1", "Left")
    package.unlink()
    calls.look_at_disk()
    assert "does not exist" in calls.call("model", {})["conflict"]
    with pytest.raises(FileNotFoundError):
        calls.call("reload", {})
    calls.call("save_as", {"name": "mine.ssp"})
    mine = content(tmp_path / "mine.ssp")
    assert b'name="Left"' in mine.pop(SSD)
    assert mine.items() <= before.items()
    assert len(mine) == len(before) - 1


def test_a_scenario_that_two_have_changed_is_saved_under_two_names(opened, folder, tmp_path):
    scenario = tmp_path / "heavy.yaml"
    scenario.write_text(SCENARIO)
    calls = opened(folder)
    change = {"event": 0, "time": 0.5, "action": "override", "value": 4.5}
    calls.call("stimulus", {"file": "heavy.yaml", "change": "set_event", "arguments": change, "before": SCENARIO})
    theirs = SCENARIO.replace("3.5", "7.5")
    scenario.write_text(theirs)
    calls.look_at_disk()
    assert "heavy.yaml" in calls.call("model", {})["conflict"]
    answer = calls.call("save_as", {"name": "mine"})
    assert answer["saved"] == ["mine", "heavy.mine.yaml"]
    assert scenario.read_text() == theirs
    assert "4.5" in (tmp_path / "heavy.mine.yaml").read_text()


# -- in the page -------------------------------------------------------------------------------------------------------


@pytest.fixture
def page(studio, chromium, folder):
    """A page with an unsaved edit that another program has made impossible."""
    page = chromium(studio(folder))
    page.locator(".block[data-of=System1] .frame").click()
    page.keyboard.press("F2")
    page.get_by_label("New name").fill("Left")
    page.keyboard.press("Enter")
    page.get_by_text("dual_mass_oscillator · not saved").wait_for()
    renamed_by_another(folder)
    page.locator("#banner").get_by_text("another program has changed").wait_for()
    return page


@browser
def test_a_conflict_stays_in_the_banner_until_the_files_on_disk_are_taken(page, folder):
    page.keyboard.press("Control+s")
    assert page.get_by_role("button", name="Save", exact=True).is_disabled()
    page.locator(".block[data-of=System2] .frame").click()
    page.keyboard.press("Delete")
    page.locator("#messages").get_by_text("another program has changed").wait_for()
    page.get_by_role("button", name="Close the message").click()
    assert violations(page) == []
    page.locator("#banner").get_by_role("button", name="Take the files on disk").click()
    page.locator(".block[data-of=Other]").wait_for()
    page.locator("#banner .lasting").wait_for(state="detached")
    page.get_by_text("dual_mass_oscillator · saved").wait_for()
    assert page.errors == []


@browser
def test_edits_in_conflict_are_saved_from_the_banner_under_another_name(page, folder):
    page.locator("#banner").get_by_role("button", name="Save mine as…").click()
    assert page.get_by_label("Name", exact=True).input_value() == "dual_mass_oscillator-mine"
    page.keyboard.press("Enter")
    page.get_by_text("dual_mass_oscillator-mine · saved").wait_for()
    page.locator("#banner .lasting").wait_for(state="detached")
    assert b'name="Left"' in (folder.parent / "dual_mass_oscillator-mine" / SSD).read_bytes()
    assert b'name="Other"' in (folder / SSD).read_bytes()
    assert page.errors == []


@browser
def test_undo_takes_the_conflict_out_of_the_banner(page):
    page.get_by_role("button", name="Undo").click()
    page.locator("#banner .lasting").wait_for(state="detached")
    page.locator(".block[data-of=Other]").wait_for()


@browser
def test_an_edit_that_cannot_be_saved_is_said_until_it_is_saved(studio, chromium, package):
    page = chromium(studio(package))
    page.locator(".block[data-of=System1] .frame").click()
    page.keyboard.press("Delete")
    page.get_by_text("dual_mass_oscillator.ssp · not saved").wait_for()
    before = package.read_bytes()
    page.evaluate(REFUSE_SAVING)
    page.keyboard.press("Control+s")
    page.locator("#banner").get_by_text(re.compile("^Not saved: the disk is full")).wait_for()
    assert package.read_bytes() == before
    page.keyboard.press("/")
    page.locator("#banner").get_by_role("button", name="Save again").click()
    page.locator("#banner .lasting").wait_for(state="detached")
    page.get_by_text("dual_mass_oscillator.ssp · saved").wait_for()
    assert b'name="System1"' not in content(package)[SSD]


REFUSE_SAVING = """() => {
  const send = WebSocket.prototype.send;
  WebSocket.prototype.send = function (text) {
    if (JSON.parse(text).call !== 'save') { send.call(this, text); return; }
    WebSocket.prototype.send = send;
    const data = JSON.stringify({ id: JSON.parse(text).id, error: 'the disk is full' });
    this.onmessage(new MessageEvent('message', { data }));
  };
}"""
