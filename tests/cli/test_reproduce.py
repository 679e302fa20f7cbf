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
