"""`ssptool run --statistics` and `--realtime`."""

import json
import re

import pytest

from tests.cli.test_commands import SYSTEM


def test_statistics_as_text_are_a_table_of_calls(ssptool):
    status, out, _ = ssptool("run", SYSTEM, "--stop-time", 0.01, "--statistics", "text")
    assert status == 0
    for word in ("status", "completed", "calls", "System2", "fmi2Instantiate", "iterations each"):
        assert word in out


@pytest.mark.parametrize("more", [[], ["--step-size", 0.001], ["--", SYSTEM]], ids=str)
def test_statistics_without_a_format_are_text(ssptool, more):
    """At the end, before another option, and before the end of the options."""
    system = [] if SYSTEM in more else [SYSTEM]
    status, out, _ = ssptool("run", *system, "--stop-time", 0.01, "--statistics", *more)
    assert status == 0
    assert "fmi2DoStep" in out and not out.startswith("{")


def test_statistics_as_json_are_nothing_but_json(ssptool):
    status, out, _ = ssptool("run", SYSTEM, "--stop-time", 0.01, "--statistics", "json")
    facts = json.loads(out)
    assert (status, facts["status"], facts["rows"]) == (0, "completed", 11)
    assert facts["statistics"]["steps"] == 10
    assert facts["statistics"]["loops_solved"] >= 10
    assert facts["statistics"]["loop_iterations"] >= facts["statistics"]["loops_solved"]
    assert facts["loops"][0]["iterations"] >= 1
    assert {call["component"] for call in facts["statistics"]["calls"]} == {"System1", "System2"}


def test_without_the_option_nothing_is_measured(ssptool):
    _, out, _ = ssptool("run", SYSTEM, "--stop-time", 0.01)
    assert "calls" not in out


def test_a_run_may_keep_pace_with_the_clock(ssptool):
    status, out, _ = ssptool("run", SYSTEM, "--stop-time", 0.01, "--realtime", 0.5, "--verbose")
    assert status == 0
    factor = float(out.split("s of wall time, ")[1].split(" ×")[0])
    assert factor <= 0.51


def test_a_pace_of_0_is_wrong_usage(ssptool):
    status, _, err = ssptool("run", SYSTEM, "--realtime", 0)
    assert status == 2
    assert "greater than 0" in err


def test_statistics_say_what_each_fmu_and_the_engine_cost_and_which_step_was_slowest(ssptool):
    _, out, _ = ssptool("run", SYSTEM, "--stop-time", "10ms", "--statistics", "text")
    shares = {name: share for share, name in re.findall(r"[\d.]+ s +([\d.]+) %  (\S+)\n", out)}
    assert shares.keys() == {"engine", "System1", "System2"}
    assert round(sum(map(float, shares.values())), 6) == 100.0
    assert re.search(r"slowest step +System[12] from t = 0(\.00\d+)? s took ", out)
