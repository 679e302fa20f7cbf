"""A session: gestures are done all or none, undone without limit, saved atomically, and merged with changes on disk."""

import pytest

import ssptool
from ssptool.errors import WrongUsage
from ssptool.studio.calls import PageCalls
from ssptool.studio.session import Conflict, EditSession
from tests.studio.conftest import copy_of

SSD = "SystemStructure.ssd"


@pytest.fixture
def system(tmp_path):
    return copy_of("dual_mass_oscillator", tmp_path)


@pytest.fixture
def calls(system):
    session = EditSession(system)
    calls = PageCalls(session, lambda _: None)
    yield calls
    calls.close()


def edit(calls, verb, **arguments):
    return calls.call("edit", {"edits": [{"verb": verb, **arguments}]})


def test_gestures_are_those_of_the_command_line_and_saved_when_asked_for(calls, system, tmp_path):
    before = (system / SSD).read_bytes()
    answer = edit(calls, "disconnect", a=["System1", "a1"], b="System2.a1")
    assert answer["label"] == "disconnect System1.a1 System2.a1"
    assert "-      <ssd:Connection" in answer["diff"]
    assert (system / SSD).read_bytes() == before
    calls.call("save", {})
    other = copy_of("dual_mass_oscillator", tmp_path / "other")
    with ssptool.edit(other) as editor:
        editor.disconnect("System1.a1", "System2.a1")
    assert (system / SSD).read_bytes() == (other / SSD).read_bytes()


def test_undo_reaches_beyond_a_save_and_redo_comes_back(calls, system):
    before = (system / SSD).read_bytes()
    edit(calls, "rename", old="System1", new="Left")
    calls.call("save", {})
    after = (system / SSD).read_bytes()
    edit(calls, "rename", old="Left", new="West")
    calls.call("undo", {})
    calls.call("undo", {})
    assert calls.call("model", {})["unsaved"]
    calls.call("save", {})
    assert (system / SSD).read_bytes() == before
    calls.call("redo", {})
    calls.call("save", {})
    assert (system / SSD).read_bytes() == after
    assert calls.call("model", {})["redo"] == "rename Left West"


def test_a_gesture_that_fails_changes_nothing(calls):
    edits = [{"verb": "rename", "old": "System1", "new": "Left"}, {"verb": "remove", "names": ["nothere"]}]
    with pytest.raises(WrongUsage, match="nothere"):
        calls.call("edit", {"edits": edits})
    assert calls.call("changes", {}) == {"diff": "", "gestures": []}
    assert {one["name"] for one in calls.call("model", {})["systems"][0]["elements"]} == {"System1", "System2"}


def test_a_preview_changes_nothing(calls):
    told = calls.call("preview", {"edits": [{"verb": "rename", "old": "System1", "new": "Left"}]})
    assert 'name="Left"' in told["diff"]
    assert calls.call("changes", {})["diff"] == ""


def test_unsaved_edits_are_made_again_on_top_of_what_another_program_has_changed(calls, system):
    edit(calls, "rename", old="System1", new="Left")
    with ssptool.edit(system) as editor:
        editor.set("System2.k2", 7.0)
        editor.disconnect("System1.a1", "System2.a1")
    calls.look_at_disk()
    calls.call("save", {})
    text = (system / SSD).read_text()
    assert 'name="Left"' in text and 'startConnector="a1"' not in text
    assert calls.call("model", {})["undo"] == "rename System1 Left"


def test_what_another_program_has_changed_is_never_written_over(calls, system):
    edit(calls, "rename", old="System1", new="Left")
    with ssptool.edit(system) as editor:
        editor.rename("System1", "Other")
    theirs = (system / SSD).read_bytes()
    calls.look_at_disk()
    assert "another program has changed" in calls.call("model", {})["conflict"]
    with pytest.raises(Conflict, match="do not fit any more"):
        calls.call("save", {})
    assert (system / SSD).read_bytes() == theirs
    calls.call("reload", {})
    assert {one["name"] for one in calls.call("model", {})["systems"][0]["elements"]} == {"Other", "System2"}


def test_a_new_system_is_made_when_it_is_saved(tmp_path):
    session = EditSession(tmp_path / "new.ssp")
    calls = PageCalls(session, lambda _: None)
    fmu = copy_of("dual_mass_oscillator", tmp_path) / "resources" / "System1.fmu"
    edit(calls, "add", fmus=[str(fmu)])
    assert not (tmp_path / "new.ssp").exists()
    calls.call("undo", {})
    calls.call("redo", {})
    calls.call("save", {})
    calls.close()
    with ssptool.new(tmp_path / "other" / "new.ssp", fmu):
        (tmp_path / "other").mkdir()
    assert (tmp_path / "new.ssp").read_bytes() == (tmp_path / "other" / "new.ssp").read_bytes()


def test_a_fix_is_a_gesture(calls, system):
    text = (system / SSD).read_text().replace('startConnector="a1"', 'startConnector="a11"')
    (system / SSD).write_text(text)
    calls.look_at_disk()
    found = next(one for one in calls.call("findings", {})["findings"] if one["fixes"])
    assert found["severity"] == "error"
    calls.call("fix", {"key": found["key"], "title": found["fixes"][0]["title"]})
    assert not [one for one in calls.call("findings", {})["findings"] if one["severity"] == "error"]
    calls.call("save", {})
    assert 'startConnector="a1"' in (system / SSD).read_text()


def test_unknown_calls_verbs_and_arguments_are_refused_by_name(calls):
    with pytest.raises(WrongUsage, match="no call 'modle'; did you mean model"):
        calls.call("modle", {})
    with pytest.raises(WrongUsage, match="'conect' is not a verb of edits; did you mean connect"):
        edit(calls, "conect")
    with pytest.raises(WrongUsage, match="connect has no argument 'c'"):
        edit(calls, "connect", a="x", b="y", c="z")
    with pytest.raises(WrongUsage, match="'close'"):
        calls.call("close", {})


def test_an_fmu_is_shown_and_cannot_be_edited(tmp_path):
    fmu = copy_of("dual_mass_oscillator", tmp_path) / "resources" / "System1.fmu"
    session = EditSession(fmu)
    calls = PageCalls(session, lambda _: None)
    assert "ssptool convert" in calls.call("model", {})["readOnly"]
    with pytest.raises(WrongUsage, match="cannot be changed"):
        edit(calls, "rename", old="System1", new="Left")
    calls.close()
