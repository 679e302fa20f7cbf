"""The five lines of a run, and the other forms of its report: whole, none, JSON."""

import json

import pytest

from tests.cli.test_commands import SYSTEM

SHORT = ["--stop-time", 0.5, "--step-size", "10ms"]
GOVERNOR = SYSTEM.parent / "flyball_governor"
HEAVY = ["--parameters", SYSTEM / "resources" / "heavy_flange.ssv", "--init", "fixed-point"]


def lines(out):
    return {line.split()[0]: line for line in out.splitlines()}


def test_a_run_prints_five_lines(ssptool):
    status, out, err = ssptool("run", SYSTEM, *SHORT, "--accuracy", "check", "-o", "r.csv")
    assert (status, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == ["run", "accuracy", "warnings", "results", "next"]
    said = lines(out)
    assert all(part in said["run"] for part in ("DualMassOscillator", "0 … 0.5 s", "50 steps of 0.01 s", "completed"))
    assert "coupling error" in said["accuracy"]
    assert "51 rows" in said["results"]
    assert "ssptool plot r.csv" in said["next"]
    assert max(map(len, out.splitlines())) <= 100
    assert ssptool(*said["next"].split(";")[0].split()[2:])[0] == 0  # the command can be pasted


def test_files_of_other_formats_are_named_next_to_the_results(ssptool):
    out = ssptool("run", SYSTEM, *SHORT, "-o", "r.csv", "-o", "r.parquet")[1].splitlines()
    assert [line.split()[0] for line in out] == ["run", "accuracy", "warnings", "results", "also", "next"]


def test_notes_and_warnings_are_counted_where_they_are_not_shown(ssptool):
    many = ["--stop-time", 10, "--step-size", "200ms", "--accuracy", "check"]
    short = lines(ssptool("run", SYSTEM, *many)[1])["warnings"]
    whole = ssptool("run", SYSTEM, *many, "--verbose", "-o", "other.csv")[1].splitlines()
    warnings = [line.split(maxsplit=1)[1] for line in whole if line.startswith("warning ")]
    notes = sum(line.startswith("note ") for line in whole)
    assert warnings and warnings[0] in short
    assert f"{notes} note" in short and "--verbose" in short
    assert "off" in lines(ssptool("run", SYSTEM, *many, "--warnings", "off", "-o", "third.csv")[1])["warnings"]


def test_results_of_another_run_are_not_overwritten_without_a_word(ssptool):
    ssptool("run", SYSTEM, *SHORT, "-o", "r.csv")
    (line,) = [
        one
        for one in ssptool("run", SYSTEM, *SHORT, "-o", "r.csv", "--set", "System2.k2=80")[1].splitlines()
        if "overwrote" in one
    ]
    assert all(part in line for part in ("r.csv", "System2.k2", "10 N/m", "80 N/m"))
    assert "overwrote" not in ssptool("run", SYSTEM, *SHORT, "-o", "r.csv", "--set", "System2.k2=80")[1]


def test_quiet_prints_errors_only(ssptool, tmp_path):
    assert ssptool("run", SYSTEM, *SHORT, "--quiet", "-o", "r.csv") == (0, "", "")
    assert (tmp_path / "r.csv").exists()
    status, out, err = ssptool("run", SYSTEM, *HEAVY, "-q")
    assert (status, out) == (1, "")
    assert "an algebraic loop was not solved" in err and "System1.a1" in err
    status, out, err = ssptool("run", GOVERNOR, "--stop-time", 0.003, "-q", "--accuracy", "1e-15", "-o", "s.csv")
    assert (status, out) == (1, "") and "accurate" in err


@pytest.mark.parametrize("more", [["--verbose"], ["--format", "json"], ["--statistics", "json"]], ids=" ".join)
def test_quiet_excludes_reports(ssptool, tmp_path, more):
    status, _, err = ssptool("run", SYSTEM, *more, "-q")
    assert status == 2 and "--quiet" in err
    assert list(tmp_path.iterdir()) == []


def test_the_whole_report_is_json(ssptool):
    status, out, err = ssptool("run", SYSTEM, *SHORT, "--set", "System2.k2=80", "--format", "json")
    found = json.loads(out)
    assert (status, err, found["status"], found["rows"]) == (0, "", "completed", 51)
    assert found["notes"] and found["overrides"][0]["after"] == 80 and "System1.x1" in found["signals"]
    assert {choice["setting"] for choice in found["choices"]} >= {"master", "step_size", "stop_time"}


def test_a_failed_run_says_why_and_what_to_look_at(ssptool):
    status, out, _ = ssptool("run", SYSTEM, *HEAVY, "-o", "r.csv")
    assert status == 1
    assert "an algebraic loop was not solved" in lines(out)["run"]
    assert "--init newton" in out and "ssptool report" in lines(out)["next"]
