"""`ssptool reproduce` as a user and continuous integration meet it."""

import json
from pathlib import Path

import pytest

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"


@pytest.fixture
def results(ssptool, tmp_path):
    files = {value: tmp_path / f"{value}.csv" for value in (5, 80)}
    for value, file in files.items():
        assert ssptool("run", SYSTEM, "--stop-time", 0.1, "--set", f"System2.k2={value}", "-o", file)[0] == 0
    return files


def test_the_same_bits_end_with_0(ssptool, results):
    for process in (), ("--in-process",):
        status, out, err = ssptool("reproduce", results[5], *process)
        assert (status, out, err) == (0, f"{results[5]}: same bits (101 rows of 8 signals)\n", "")


def test_other_values_end_with_1_and_are_told_with_what_differs(ssptool, results):
    status, out, _ = ssptool("reproduce", results[5], "--against", results[80])
    assert status == 1
    assert "differs first at t = 0 s, System1.F by 37.5 N (tolerance relative 1e-06)" in out
    assert "  System2.k2: 5 N/m, in the other result 80 N/m" in out
    assert ssptool("reproduce", results[5], "--against", results[80], "--relative", 1e3)[0] == 0
    assert ssptool("reproduce", results[5], "--against", results[80], "--absolute", 1e3)[0] == 0


def test_what_cannot_be_made_again_ends_with_2(ssptool, results, tmp_path):
    results[5].with_suffix(".csv.json").unlink()
    status, out, err = ssptool("reproduce", results[5])
    assert (status, out) == (2, "")
    assert "no manifest" in err
    assert ssptool("reproduce", "none.csv")[0] == 2
    assert ssptool("reproduce", results[80], "--system", tmp_path / "none")[0] == 2
    assert ssptool("reproduce", "none.study#1")[0] == 2
    assert ssptool("reproduce", results[80], "-o", results[80])[0] == 2


def test_programs_read_json(ssptool, results):
    facts = json.loads(ssptool("reproduce", results[5], "--format", "json")[1])
    assert (facts["verdict"], facts["same"], facts["first"], facts["reasons"]) == ("same bits", True, None, [])
    assert {one["state"] for one in facts["inputs"]} == {"the same"}


def test_a_changed_manifest_is_repeated_or_refused_with_a_message(ssptool, results):
    """Keys that are unknown, missing or of another type: exit status 0 to 2, and no internal error."""
    beside = results[5].with_suffix(".csv.json")
    sound = json.loads(beside.read_text())
    arguments = sound["arguments"]
    changed = [{**sound, "arguments": {**arguments, "odd": 3}}]
    changed += [{**sound, "arguments": {key: one for key, one in arguments.items() if key != "system"}}]
    values = (True, -1.5, 10**30, 10**400, "x", [1], {"x": 1})
    for number, name in enumerate(arguments):
        changed.append({**sound, "arguments": {**arguments, name: values[number % len(values)]}})
    for name, value in (("step_size", 10**400), ("iterations", 10**30), ("odd", 1), ("stop_time", {}), ("master", 3)):
        changed.append({**sound, "settings": {**sound["settings"], name: value}})
    changed += [{**sound, name: [1]} for name in ("arguments", "settings", "inputs", "versions", "status")]
    for one in changed:
        beside.write_text(json.dumps(one))
        status, _, err = ssptool("reproduce", results[5], "--in-process")
        assert status in (0, 1, 2) and "internal" not in err.lower() and "Traceback" not in err, err
        if "odd" in one["arguments"]:
            assert status == 2 and "odd" in err and results[5].name in err
