"""Unsaved edits outlive the studio: they are kept in a file next to the system, and offered at the next start."""

import json
import re
import signal
import subprocess
import sys
from functools import partial
from urllib.parse import urlsplit

import pytest
from websockets.sync.client import connect

import ssptool
from ssptool.documents.archive import Archive
from ssptool.studio.calls import PageCalls
from ssptool.studio.session import EditSession
from ssptool.studio.unsaved import UnsavedEdits
from tests.cli.browser import browser, violations
from tests.studio.conftest import COOKIES, copy_of, opened
from tests.waiting import until

SSD, SSV = "SystemStructure.ssd", "resources/dual_mass_oscillator.ssv"
SCENARIO = """events:
  - {time: 0.25, variable: System1.m1, action: override, value: 3.5}
"""


@pytest.fixture
def folder(tmp_path):
    return copy_of("dual_mass_oscillator", tmp_path)


@pytest.fixture
def start():
    """Start sessions one after the other; the last one may still be open at the end."""
    made = []

    def begin(system):
        made.append(PageCalls(EditSession(system), lambda _: None))
        return made[-1]

    yield begin
    made[-1].close()


def rename(calls, old, new):
    return calls.call("edit", {"edits": [{"verb": "rename", "old": old, "new": new}]})


def ended(calls):
    """End a session as the server does."""
    calls.keep()
    calls.close()


def kept(calls):
    return calls.call("model", {})["kept"]


def elements(calls) -> set[str]:
    return {one["name"] for one in calls.call("model", {})["systems"][0]["elements"]}


@pytest.mark.parametrize("packed", [False, True])
def test_unsaved_edits_are_opened_by_the_next_session_and_saved(start, folder, tmp_path, packed):
    system = folder
    if packed:
        system = folder.with_suffix(".ssp")
        with Archive.open(folder) as archive:
            archive.save(system)
    calls = start(system)
    calls.call("edit", {"edits": [{"verb": "set", "name": "System1.m1", "value": "3.5"}]})
    rename(calls, "System1", "Left")
    diff = calls.call("changes", {})["diff"]
    ended(calls)
    calls = start(system)
    assert elements(calls) == {"System1", "System2"}
    offered = kept(calls)
    assert (offered["file"], offered["names"]) == (f"{system.name}.unsaved", [SSD, SSV])
    calls.call("open_unsaved", {"file": offered["file"]})
    assert kept(calls) is None
    assert elements(calls) == {"Left", "System2"}
    assert calls.call("changes", {})["diff"] == diff
    calls.call("undo", {})
    assert elements(calls) == {"System1", "System2"}
    calls.call("redo", {})
    rename(calls, "System2", "Right")
    calls.call("save", {})
    assert not (tmp_path / offered["file"]).exists()
    with Archive.open(system) as archive:
        assert b'name="Left"' in archive.read(SSD) and b'name="Right"' in archive.read(SSD)
        assert b'value="3.5"' in archive.read(SSV)


def test_nothing_is_kept_of_what_is_saved_or_undone(start, folder, tmp_path):
    calls = start(folder)
    rename(calls, "System1", "Left")
    calls.call("save", {})
    rename(calls, "System2", "Right")
    calls.call("undo", {})
    ended(calls)
    assert [file.name for file in tmp_path.iterdir()] == [folder.name]
    assert kept(start(folder)) is None


def test_one_file_has_the_edits_of_now_while_a_session_lives(start, folder, tmp_path):
    calls = start(folder)
    file = tmp_path / f"{folder.name}.unsaved"
    calls.keep()
    assert not file.exists()
    rename(calls, "System1", "Left")
    calls.keep()
    first = UnsavedEdits.read(file).files
    written = file.stat().st_mtime_ns
    calls.keep()
    assert file.stat().st_mtime_ns == written, "nothing has changed since"
    rename(calls, "System2", "Right")
    calls.keep()
    assert UnsavedEdits.read(file).files != first
    calls.call("undo", {})
    calls.keep()
    assert UnsavedEdits.read(file).files == first
    calls.call("undo", {})
    calls.keep()
    assert not file.exists()
    calls.call("redo", {})
    calls.keep()
    calls.call("save", {})
    assert [one.name for one in tmp_path.iterdir()] == [folder.name]


def test_a_file_that_was_there_before_is_not_deleted_with_the_own_one(start, folder, tmp_path):
    calls = start(folder)
    rename(calls, "System1", "Left")
    ended(calls)
    calls = start(folder)
    rename(calls, "System2", "Right")
    calls.keep()
    assert {file.name for file in tmp_path.glob("*.unsaved*")} == {f"{folder.name}.unsaved", f"{folder.name}.unsaved-2"}
    calls.call("undo", {})
    calls.call("open_unsaved", {"file": f"{folder.name}.unsaved"})
    calls.keep()
    assert [file.name for file in tmp_path.glob("*.unsaved*")] == [f"{folder.name}.unsaved"]
    calls.call("undo", {})
    calls.keep()
    assert (tmp_path / f"{folder.name}.unsaved").exists()


def test_a_copy_is_saved_and_the_session_stays_with_its_system(start, folder, tmp_path):
    calls = start(folder)
    before = (folder / SSD).read_bytes()
    rename(calls, "System1", "Left")
    assert calls.call("save_copy", {"name": "other.ssp"}) == {"saved": "other.ssp"}
    assert calls.call("model", {})["unsaved"]
    assert (folder / SSD).read_bytes() == before
    with Archive.open(tmp_path / "other.ssp") as archive:
        assert b'name="Left"' in archive.read(SSD)
    with pytest.raises(FileExistsError):
        calls.call("save_copy", {"name": "other.ssp"})
    calls.call("undo", {})
    assert elements(calls) == {"System1", "System2"}


def test_an_undone_save_is_kept(start, folder):
    calls = start(folder)
    rename(calls, "System1", "Left")
    calls.call("save", {})
    calls.call("undo", {})
    ended(calls)
    calls = start(folder)
    calls.call("open_unsaved", {"file": kept(calls)["file"]})
    assert elements(calls) == {"System1", "System2"}
    assert calls.call("model", {})["unsaved"]


def test_edits_of_a_new_system_are_kept(start, folder, tmp_path):
    calls = start(tmp_path / "new.ssp")
    calls.call("edit", {"edits": [{"verb": "add", "fmus": [str(folder / "resources" / "System1.fmu")]}]})
    ended(calls)
    assert not (tmp_path / "new.ssp").exists()
    calls = start(tmp_path / "new.ssp")
    calls.call("open_unsaved", {"file": "new.ssp.unsaved"})
    calls.call("save", {})
    with Archive.open(tmp_path / "new.ssp") as archive:
        assert archive.read("resources/System1.fmu") == (folder / "resources" / "System1.fmu").read_bytes()
    assert not (tmp_path / "new.ssp.unsaved").exists()


def test_an_entry_that_is_taken_away_is_kept_as_such(start, folder):
    calls = start(folder)
    calls.call("edit", {"edits": [{"verb": "remove", "names": ["System1"]}]})
    removed = {name for name, content in calls._session.state.files.items() if content is None}
    ended(calls)
    again = UnsavedEdits.read(folder.with_name("dual_mass_oscillator.unsaved"))
    assert {name for name, content in again.files.items() if content is None} == removed


def test_edits_of_files_that_have_changed_since_then_are_opened_as_a_conflict(start, folder):
    calls = start(folder)
    rename(calls, "System1", "Left")
    ended(calls)
    with ssptool.edit(folder) as editor:
        editor.rename("System1", "Other")
    theirs = (folder / SSD).read_bytes()
    calls = start(folder)
    file = kept(calls)["file"]
    calls.call("open_unsaved", {"file": file})
    assert "is not as it was when you edited it" in calls.call("model", {})["conflict"]
    assert elements(calls) == {"Left", "System2"}
    calls.call("undo", {})
    assert calls.call("model", {})["conflict"] == ""
    assert elements(calls) == {"Other", "System2"}
    assert kept(calls)["file"] == file, "nothing is lost before it is saved or discarded"
    calls.call("open_unsaved", {"file": file})
    calls.call("save_as", {"name": "mine"})
    assert (folder / SSD).read_bytes() == theirs
    assert b'name="Left"' in (folder.with_name("mine") / SSD).read_bytes()
    assert not folder.with_name(file).exists()


def test_edits_fit_if_another_program_has_changed_other_files(start, folder):
    calls = start(folder)
    calls.call("edit", {"edits": [{"verb": "disconnect", "a": "System1.a1", "b": "System2.a1"}]})
    ended(calls)
    with ssptool.edit(folder) as editor:
        editor.set("System1.m1", 3.5)
    calls = start(folder)
    calls.call("open_unsaved", {"file": kept(calls)["file"]})
    assert calls.call("model", {})["conflict"] == ""
    calls.call("save", {})
    assert b'"a1"' in (folder / SSD).read_bytes()
    assert b'value="3.5"' in (folder / SSV).read_bytes()


def test_edits_in_conflict_are_kept_and_opened_in_conflict(start, folder):
    calls = start(folder)
    rename(calls, "System1", "Left")
    with ssptool.edit(folder) as editor:
        editor.rename("System1", "Other")
    calls.look_at_disk()
    ended(calls)
    calls = start(folder)
    calls.call("open_unsaved", {"file": kept(calls)["file"]})
    assert calls.call("model", {})["conflict"]
    assert elements(calls) == {"Left", "System2"}


def test_several_endings_overwrite_nothing(start, folder, tmp_path):
    for name in ("Left", "West"):
        calls = start(folder)
        rename(calls, "System1", name)
        ended(calls)
    files = ["dual_mass_oscillator.unsaved", "dual_mass_oscillator.unsaved-2"]
    assert sorted(file.name for file in tmp_path.glob("*.unsaved*")) == files
    calls = start(folder)
    calls.call("open_unsaved", {"file": files[0]})
    with pytest.raises(ssptool.exceptions.WrongUsage, match="save or undo them first"):
        calls.call("open_unsaved", {"file": files[1]})
    rename(calls, "System2", "Right")
    ended(calls)
    assert sorted(file.name for file in tmp_path.glob("*.unsaved*")) == files
    calls = start(folder)
    calls.call("open_unsaved", {"file": files[0]})
    assert elements(calls) == {"Left", "Right"}
    calls.call("reload", {})
    for file in files:
        calls.call("discard_unsaved", {"file": file})
    assert kept(calls) is None
    assert list(tmp_path.glob("*.unsaved*")) == []


def test_edits_of_a_scenario_are_kept(start, folder, tmp_path):
    scenario = tmp_path / "heavy.yaml"
    scenario.write_text(SCENARIO)
    calls = start(folder)
    change = {"event": 0, "time": 0.5, "action": "override", "value": 4.5}
    calls.call("stimulus", {"file": "heavy.yaml", "change": "set_event", "arguments": change, "before": SCENARIO})
    ended(calls)
    assert scenario.read_text() == SCENARIO
    calls = start(folder)
    assert kept(calls)["names"] == ["heavy.yaml"]
    calls.call("open_unsaved", {"file": kept(calls)["file"]})
    calls.call("save", {})
    assert "4.5" in scenario.read_text()


def test_a_folder_that_cannot_be_written_to_loses_nothing(start, folder, tmp_path, monkeypatch):
    calls = start(folder)
    rename(calls, "System1", "Left")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(elsewhere))
    write = UnsavedEdits.write

    def refused(edits):
        if edits.source.parent == tmp_path:
            raise PermissionError(13, "Permission denied", str(edits.source))
        write(edits)

    monkeypatch.setattr(UnsavedEdits, "write", refused)
    ended(calls)
    (elsewhere / "dual_mass_oscillator.unsaved").rename(tmp_path / "dual_mass_oscillator.unsaved")
    calls = start(folder)
    calls.call("open_unsaved", {"file": kept(calls)["file"]})
    assert elements(calls) == {"Left", "System2"}


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x05\x06" + bytes(18)])
def test_another_file_of_that_name_is_told_of_and_can_be_discarded(start, folder, content):
    file = folder.with_name("dual_mass_oscillator.unsaved")
    file.write_bytes(content)
    calls = start(folder)
    assert kept(calls)["problem"]
    with pytest.raises(ssptool.exceptions.UnusableFile):
        calls.call("open_unsaved", {"file": file.name})
    with pytest.raises(ssptool.exceptions.WrongUsage):
        calls.call("discard_unsaved", {"file": f"{folder.name}/{SSD}"})
    calls.call("discard_unsaved", {"file": file.name})
    assert not file.exists()


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.fixture
def started():
    """Start a studio in a process; gives it and the address of its page."""
    processes = []

    def begin(system):
        command = [sys.executable, "-m", "ssptool", "studio", str(system), "--no-browser"]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        hang_up = None if sys.platform == "win32" else partial(signal.signal, signal.SIGHUP, signal.SIG_DFL)
        # Tests that nohup has started ignore this signal, and so would the studio.
        processes.append(subprocess.Popen(command, **pipes, text=True, preexec_fn=hang_up))
        return processes[-1], opened(re.search(r"http://\S+", processes[-1].stdout.readline())[0])

    yield begin
    for process in processes:
        process.kill()
        process.communicate()


def called(address, **message):
    """Call the server as a page does."""
    parts = urlsplit(address)
    headers = {"Cookie": COOKIES[address]}
    url = f"ws://{parts.netloc}{parts.path}calls"
    with connect(url, origin=f"http://{parts.netloc}", additional_headers=headers) as calls:
        calls.send(json.dumps({"id": 1, **message}))
        while (answer := json.loads(calls.recv())).get("id") != 1:
            pass
        assert "error" not in answer, answer
        return answer["answer"]


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
def test_a_process_that_is_killed_loses_nothing(started, start, folder, tmp_path):
    process, address = started(folder)
    called(address, call="edit", arguments={"edits": [{"verb": "rename", "old": "System1", "new": "Left"}]})
    file = tmp_path / f"{folder.name}.unsaved"
    until(file.exists)
    process.send_signal(signal.SIGKILL)
    process.wait()
    calls = start(folder)
    calls.call("open_unsaved", {"file": kept(calls)["file"]})
    assert elements(calls) == {"Left", "System2"}


SIGNALS = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
@pytest.mark.parametrize("name", SIGNALS)
def test_a_signal_keeps_unsaved_edits_and_says_so(started, folder, name):
    process, address = started(folder)
    called(address, call="edit", arguments={"edits": [{"verb": "rename", "old": "System1", "new": "Left"}]})
    process.send_signal(getattr(signal, name))
    out, _ = process.communicate(timeout=60)
    file = folder.with_name("dual_mass_oscillator.unsaved")
    assert str(file) in out and f"ssptool studio {folder}" in out
    assert b'name="System1"' in (folder / SSD).read_bytes()
    assert b'name="Left"' in UnsavedEdits.read(file).files[SSD]
    assert process.returncode == (0 if name == "SIGINT" else 143)


# -- the page ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def pages(chromium, studio, tmp_path):
    """Open pages of one browser, which share cookies."""
    browser = chromium(studio(copy_of("dual_mass_oscillator", tmp_path / "other"))).context.browser
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    context.set_default_timeout(60_000)

    def shown(address):
        name, value = COOKIES[address].split("=", 1)
        path = urlsplit(address).path
        host = {"domain": urlsplit(address).hostname, "path": path}
        context.add_cookies([{"name": name, "value": value, **host, "httpOnly": True, "sameSite": "Strict"}])
        page = context.new_page()
        page.goto(address)
        page.locator("ssp-diagram svg").wait_for()
        return page

    yield shown
    context.close()


@browser
def test_a_page_greys_out_and_is_back_with_the_next_server(pages, started, folder):
    """With what was typed there; the next server has other secrets, which another page of the browser knows."""
    process, address = started(folder)
    page = pages(address)
    page.locator(".block[data-of=System1] .frame").click()
    page.get_by_role("button", name="Edit XML").click()
    area = page.locator("ssp-details textarea")
    area.press("End")
    area.type("<!-- typed -->")
    called(address, call="edit", arguments={"edits": [{"verb": "rename", "old": "System2", "new": "Right"}]})
    page.locator(".block[data-of=Right]").wait_for()
    process.send_signal(signal.SIGINT)
    page.locator("#banner").get_by_text("The server has ended").wait_for()
    process.communicate(timeout=60)
    assert page.locator("body.away > main").evaluate("main => main.inert") is True
    assert page.locator("main").evaluate("main => getComputedStyle(main).filter") == "grayscale(1)"
    process, again = started(folder)
    assert urlsplit(again).port == urlsplit(address).port, "the port of a system is the same, if it is free"
    page.locator("#banner").get_by_text("has been started again").wait_for()
    pages(again)
    page.locator("body:not(.away)").wait_for()
    page.locator(".block[data-of=System2]").wait_for()
    page.locator("#banner").get_by_text("dual_mass_oscillator.unsaved").wait_for()
    assert page.locator("#banner .lasting").count() == 1
    assert "<!-- typed -->" in area.input_value()
    page.get_by_role("button", name="Open them").click()
    page.locator(".block[data-of=Right]").wait_for()


@browser
def test_kept_edits_are_opened_or_discarded_in_the_page(studio, chromium, start, folder):
    calls = start(folder)
    rename(calls, "System1", "Left")
    ended(calls)
    page = chromium(studio(folder))
    page.locator("#banner").get_by_text("dual_mass_oscillator.unsaved").wait_for()
    assert violations(page) == []
    page.get_by_role("button", name="Open them").click()
    page.locator(".block[data-of=Left]").wait_for()
    page.locator("#banner .lasting").wait_for(state="detached")
    page.get_by_role("button", name="Undo").click()
    page.locator(".block[data-of=System1]").wait_for()
    page.get_by_role("button", name="Discard them…").click()
    page.get_by_role("dialog").get_by_role("button", name="Discard").click()
    page.locator("#banner .lasting").wait_for(state="detached")
    assert not folder.with_name("dual_mass_oscillator.unsaved").exists()
    assert page.errors == []
