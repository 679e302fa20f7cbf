"""`ssptool compare` as a pipeline meets it."""

import json
from pathlib import Path

import pytest

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"


@pytest.fixture
def traces(ssptool, tmp_path):
    for name, options in {"fine.csv": ("--step-size", 1e-3), "coarse.parquet": ("--step-size", 1e-2)}.items():
        assert ssptool("run", SYSTEM, "--stop-time", 1, "--output", tmp_path / name, *options)[0] == 0
    return tmp_path / "coarse.parquet", tmp_path / "fine.csv"


def test_the_exit_status_says_whether_they_agree(ssptool, traces):
    assert ssptool("compare", *traces, "--absolute", 1)[0] == 0
    status, out, _ = ssptool("compare", *traces, "--absolute", 1e-9)
    assert status == 1
    assert out.splitlines()[-1] == "differs: 8 of 8 signals"


def test_tolerances_by_pattern_and_json(ssptool, traces):
    status, out, _ = ssptool("compare", *traces, "--absolute", "1e-9", "--absolute", "*.x1=1", "--format", "json")
    signals = {one["signal"]: one["verdict"] for one in json.loads(out)["signals"]}
    assert status == 1
    assert (signals["System1.x1"], signals["System1.v1"]) == ("agrees", "differs")


def test_a_picture_of_the_worst_signals(ssptool, traces, tmp_path):
    assert ssptool("compare", *traces, "--plot", tmp_path / "p.svg", "--signals", "System1.*")[0] in (0, 1)
    assert "<svg" in (tmp_path / "p.svg").read_text()


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (["--absolute", "wide"], 2, "must be a number; found"),
        (["--relative", "-1"], 2, "not negative"),
        (["--signals", "System1.y1"], 2, "System1.v1"),
        (["--plot", "p.bmp"], 2, ".png"),
    ],
)
def test_wrong_usage_is_told(ssptool, traces, options, status, words):
    found, _, err = ssptool("compare", *traces, *options)
    assert found == status
    assert words in err


def test_a_file_that_is_no_trace_is_told_by_name_and_line(ssptool, traces, tmp_path):
    (tmp_path / "bad.csv").write_text("time,a\n0,1\n1,x\n")
    status, _, err = ssptool("compare", tmp_path / "bad.csv", traces[1])
    assert status in (1, 2)
    assert "bad.csv:3" in err
    status, _, err = ssptool("compare", tmp_path / "none.csv", traces[1])
    assert status == 2
    assert "none.csv" in err


def test_a_difference_in_a_last_row_without_line_end_is_seen(ssptool, tmp_path):
    for name, last in (("trace", "2,99"), ("reference", "2,5")):
        (tmp_path / f"{name}.csv").write_text(f"time,x\n0,1\n1,2\n{last}")
    assert ssptool("compare", "trace.csv", "reference.csv")[0] == 1
    (tmp_path / "trace.csv").write_text("time,x\n0,1\n1,2\n2,5\n3\n")
    status, out, _ = ssptool("compare", "trace.csv", "reference.csv")
    assert (status, "trace.csv:5: " in out) == (0, True)
