"""Scenarios and files of inputs are edited as texts that keep what nobody has changed, and drive the next run."""

import json

import pytest

import ssptool
from ssptool.engine.stimuli.scenario_file import scenario_from
from ssptool.errors import WrongUsage
from ssptool.studio.calls import PageCalls
from ssptool.studio.scenario_text import EMPTY, with_changed, with_event, without
from ssptool.studio.session import Conflict, EditSession
from ssptool.studio.signal_text import SignalText, new_signals
from tests.studio.conftest import copy_of
from tests.studio.test_runs import ended

FLOW = """# a fault
events:
  - {time: 1, model: Brake, variable: force, action: override, value: 0}  # it fails
  # and is mended
  - {time: 3.0, model: Brake, variable: force, action: reset}
end: 4
"""
BLOCK = """defaults:
  action: override
events:
- time: 500ms
  model: Brake
  variable: force
  value: 1.5
- time: 2
  model: Brake
  variable: slip
  action: reset
"""
JSON = '{"events": [{"time": 1, "variable": "u", "action": "bias", "value": 2}]}'


def told(text):
    return [(one.time, one.variable, str(one.action), one.value) for one in scenario_from(text, "s").events]


def changed_lines(before: str, after: str) -> set[str]:
    return set(before.splitlines()) ^ set(after.splitlines())


def test_only_the_values_of_an_event_that_change_are_written():
    text = with_changed(FLOW, 0, 1.5, "override", 0)
    assert text == FLOW.replace("{time: 1,", "{time: 1.5,")
    text = with_changed(BLOCK, 0, 0.5, "bias", 2)
    assert told(text)[0] == (0.5, "Brake.force", "bias", 2)
    assert changed_lines(BLOCK, text) == {"  value: 1.5", "  value: 2", "  action: bias"}, (
        "500ms stays as it is written"
    )
    text = with_changed(FLOW, 1, 3.0, "override", 1e-5)
    assert told(text)[1] == (3.0, "Brake.force", "override", 1e-5)


@pytest.mark.parametrize("text", [FLOW, FLOW.replace("\n", "\r\n"), BLOCK, JSON, EMPTY])
@pytest.mark.parametrize("time", [0.0, 2.5, 3.5])
def test_events_are_added_in_the_order_of_time_and_removed_again(text, time):
    event = ssptool.types.Event(time, "Engine.x[1]", "override", True)
    more = with_event(text, event)
    assert sorted(told(more)) == sorted([*told(text), (time, "Engine.x[1]", "override", True)])
    number = [one[1] for one in told(more)].index("Engine.x[1]")
    assert [one[0] for one in told(more)] == sorted(one[0] for one in told(more))
    assert set(text.splitlines()) - set(more.splitlines()) <= (
        {text.splitlines()[0]} if text in (JSON, EMPTY) else set()
    )
    assert told(without(more, number)) == told(text)
    if text == JSON:
        json.loads(more)


def test_the_last_event_leaves_an_empty_list():
    assert told(without(without(FLOW, 1), 0)) == []
    assert told(without(JSON, 0)) == []
    with pytest.raises(WrongUsage, match="no event 3"):
        without(FLOW, 2)


COMMAS = "time;u [km/h];gear\n0;0,5;1\n 2,5 ;40;2\n2,5;40;3\n"


def test_a_point_keeps_all_other_bytes_of_its_file():
    table = SignalText.of(COMMAS)
    assert table.names == ("u", "gear")
    assert table.with_point(1, "u", 2.0, "41.5").text == COMMAS.replace(" 2,5 ;40;2", " 2 ;41,5;2")
    assert table.with_row("u", 1.25, "7", ["u"]).text == COMMAS.replace("0;0,5;1\n", "0;0,5;1\n1,25;7;1\n")
    assert table.with_row("gear", 1.25, "7", ["u"]).text == COMMAS.replace("0;0,5;1\n", "0;0,5;1\n1,25;20,25;7\n")
    assert table.without_row(1).text == COMMAS.replace(" 2,5 ;40;2\n", "")
    assert table.with_row("u", 3.0, "7", []).text == COMMAS + "3;7;3\n"
    assert table.with_row("u", 0.0, "9", []).text == COMMAS.replace("0;0,5;1", "0;9;1")
    with pytest.raises(WrongUsage, match="from 0 s to 2"):
        table.with_point(1, "u", 3.0, None)
    assert table.with_signal("F", "N", "3").text.splitlines()[:2] == ["time;u [km/h];gear;F [N]", "0;0,5;1;3"]
    assert new_signals("a,b", None, "1") == 'time,"a,b"\n0,1\n'


@pytest.fixture
def system(tmp_path):
    """An oscillator whose force at System1 is not connected."""
    path = copy_of("dual_mass_oscillator", tmp_path)
    with ssptool.edit(path, force=True) as editor:
        editor.disconnect("System2.F", "System1.F")
    return path


@pytest.fixture
def calls(system):
    calls = PageCalls(EditSession(system), lambda _: None)
    yield calls
    calls.close()


def change(calls, file, what, before="", **arguments):
    return calls.call("stimulus", {"file": file, "change": what, "arguments": arguments, "before": before})


def test_files_are_made_undone_saved_and_drive_the_next_run(calls, system):
    change(calls, "push.csv", "add_signal", signal="System1.F", value="5", unit="N")
    found = calls.call("stimuli", {"scenario": "", "inputs": "push.csv"})
    assert found["inputs"] == ["push.csv"]
    assert found["input"]["signals"][0]["values"] == ["5"]
    assert [one["name"] for one in found["free"]] == ["System1.F"]
    change(calls, "fault.yaml", "add_event", variable="System1.F", time=0.2, action="override", value=0)
    assert "+  - {time: 0.2, model: System1, variable: F" in calls.call("changes", {})["diff"]
    assert not (system.parent / "push.csv").exists()

    calls.call("run", {"settings": {"stop_time": "0.4"}, "scenario": "fault.yaml", "inputs": "push.csv"})
    assert ended(calls)["status"] == "completed", ended(calls)["message"]
    values = [calls.call("values", {"run": 1, "time": time})["System1.F"] for time in (0.1, 0.3)]
    assert values == ["5 N", "0 N"]

    calls.call("undo", {})
    calls.call("redo", {})
    calls.call("save", {})
    assert (system.parent / "push.csv").read_text() == "time,System1.F [N]\n0,5\n"
    assert not calls.call("model", {})["unsaved"]
    calls.call("undo", {})
    calls.call("save", {})
    assert not (system.parent / "fault.yaml").exists(), "it was made after the state that is saved"


def test_the_axis_knows_start_and_stop_of_a_run(calls):
    assert (found := calls.call("stimuli", {}))["start"] == 0.0 < found["stop"]
    calls.call("edit", {"edits": [{"verb": "set_experiment", "start": 2, "stop": 7}]})
    found = calls.call("stimuli", {})
    assert (found["start"], found["stop"]) == (2.0, 7.0)


def test_what_a_run_would_refuse_is_told_while_it_is_edited(calls):
    change(calls, "push.csv", "add_signal", signal="System1.G", value="5")
    assert "System1.G" in calls.call("stimuli", {"inputs": "push.csv"})["problems"][0]
    with pytest.raises(WrongUsage, match="cannot be the name"):
        change(calls, "../push.csv", "add_signal", signal="System1.F", value="5")
    with pytest.raises(WrongUsage, match="has changed in the meantime"):
        change(calls, "push.csv", "remove_row", "another text", row=0)


def test_a_scenario_that_another_program_has_changed_is_never_written_over(calls, system):
    file = system.parent / "fault.yaml"
    file.write_text(FLOW)
    change(calls, "fault.yaml", "remove_event", FLOW, event=0)
    file.write_text(FLOW + "# of another program\n")
    with pytest.raises(Conflict, match=r"fault\.yaml"):
        calls.call("save", {})
    assert file.read_text() == FLOW + "# of another program\n"
    calls.call("reload", {})
    assert calls.call("stimuli", {"scenario": "fault.yaml"})["scenario"]["text"].endswith("program\n")
