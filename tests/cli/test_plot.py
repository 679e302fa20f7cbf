"""`ssptool plot` as a user meets it."""

from pathlib import Path

import pytest

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"


@pytest.fixture
def results(ssptool, tmp_path):
    files = [tmp_path / "light.csv", tmp_path / "heavy.parquet"]
    for file, mass in zip(files, (1, 2), strict=True):
        assert ssptool("run", SYSTEM, "--stop-time", 1, "--output", file, "--set", f"System1.m1={mass}")[0] == 0
    return files


@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_pictures_of_several_runs(ssptool, results, tmp_path, ending, start):
    assert ssptool("plot", *results, "--output", tmp_path / f"p.{ending}")[0] == 0
    assert (tmp_path / f"p.{ending}").read_bytes().startswith(start)


def test_a_page_names_each_run_in_its_legend(ssptool, results, tmp_path):
    assert ssptool("plot", *results, "--signals", "System1.x1", "--output", tmp_path / "p.html")[0] == 0
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert "System1.x1 (light: System1.m1 = 1 kg)" in page
    assert "System1.x1 (heavy: System1.m1 = 2 kg)" in page
    assert "System1.v1" not in page


def test_without_a_name_the_plot_is_called_as_the_results(ssptool, results, tmp_path):
    status, out, _ = ssptool("plot", results[0])
    assert (status, out) == (0, "plot: light.png\n")
    assert (tmp_path / "light.png").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--output", "p.bmp"], ".png"),
        (["--signals", "System1.y1"], "did you mean"),
        (["none.csv"], "none.csv"),
    ],
)
def test_wrong_usage_is_told_and_draws_nothing(ssptool, results, tmp_path, options, words):
    status, _, err = ssptool("plot", results[0], *options)
    assert status in (1, 2)
    assert words in err
    assert list(tmp_path.glob("*.png")) == []


def test_the_same_results_twice_are_refused(ssptool, results):
    status, _, err = ssptool("plot", results[0], results[0])
    assert status == 2
    assert "twice" in err


@pytest.mark.parametrize("options", [(), ("--kind", "tornado")])
def test_results_that_are_not_there_are_named(ssptool, options):
    status, _, err = ssptool("plot", "none.csv", *options)
    assert status == 2
    assert "none.csv" in err


def test_a_size_is_for_pictures_of_runs(ssptool, results, tmp_path):
    assert ssptool("plot", results[0], "--size", "85x60mm", "--output", tmp_path / "p.pdf")[0] == 0
    for options in (("--size", "big"), ("--size", "85x60mm", "--output", tmp_path / "p.html")):
        assert ssptool("plot", results[0], *options)[0] == 2
    assert not (tmp_path / "p.html").exists()


def test_a_last_row_that_was_left_out_is_said(ssptool, tmp_path):
    (tmp_path / "cut.csv").write_text("time,x\n0.5,1.5\n1.5,2.5\n2.5,")
    status, out, _ = ssptool("plot", "cut.csv")
    assert (status, "cut.csv:4: " in out) == (0, True)
