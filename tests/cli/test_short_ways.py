"""Units of typed values, components in `explain` and `set`, formats by endings, and commands that can be pasted."""

import json
from pathlib import Path
from shutil import copytree

import pytest

import ssptool as library
from tests.cli.test_commands import SYSTEM

SHORT = ["--stop-time", 0.05, "--step-size", "10ms"]


@pytest.fixture
def system(tmp_path):
    return copytree(SYSTEM, tmp_path / "my system")


@pytest.fixture
def warm(ssptool, system):
    """A system with an input in K, and one without a unit."""
    assert ssptool("add", system, "--connector", "T", "--unit", "K")[0] == 0
    assert ssptool("add", system, "--connector", "n")[0] == 0
    return system


@pytest.mark.parametrize(
    ("typed", "expected"),
    [("20 degC", 293.15), ("20degC", 293.15), ("300 K", 300.0), ("3e5 mK", 300.0), ("7", 7.0)],
)
def test_a_run_converts_values_with_units_and_their_offsets(ssptool, warm, typed, expected):
    status, _, err = ssptool("run", warm, *SHORT, "--set", f"T={typed}", "--record", "T", "-o", "r.csv")
    assert status == 0, err
    assert library.read_trace("r.csv")["T"][-1] == pytest.approx(expected, rel=1e-14)


def test_python_takes_them_too(system):
    result = library.simulate(system, start_values={"System1.m1": "500 g"}, stop_time=0.01, isolated=False)
    (override,) = result.overrides
    assert (override.after, override.unit) == (0.5, "kg")


@pytest.mark.parametrize(
    ("typed", "told"),
    [("T=20 kg", "K"), ("T=20 foo", "20 K"), ("n=3 m", "without a unit"), ("T=hot", "a number")],
)
def test_a_unit_that_does_not_fit_is_refused(ssptool, warm, typed, told):
    status, out, err = ssptool("run", warm, *SHORT, "--set", typed)
    assert (status, out) == (2, "")
    assert typed.partition("=")[2] in err and told in err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["System1.m1=500 g"], 0.5),
        (["System1.m1", "500 g"], 0.5),
        (["System1", "m1", "3"], 3.0),
        (["system1.m1", "500", "g"], 0.5),
        (["system1", "M1=2 kg", "k1=5 N/mm"], 2.0),
        (["System1.m1=500", "--unit", "g"], 0.5),
    ],
    ids=str,
)
def test_set_takes_units_and_words(ssptool, system, words, expected):
    status, _, err = ssptool("set", system, *words)
    assert status == 0, err
    (found,) = library.explain(system, "System1.m1")
    assert found.value == pytest.approx(expected, rel=1e-14)
    if "k1=5 N/mm" in words:
        assert library.explain(system, "System1.k1")[0].value == pytest.approx(5000, rel=1e-14)


@pytest.mark.parametrize("words", [["System1.m1"], ["a", "b", "c", "d"], ["a=1", "b"]], ids=" ".join)
def test_words_that_set_nothing_are_refused(ssptool, system, words):
    status, _, err = ssptool("set", system, *words)
    assert status == 2 and "NAME=VALUE" in err


def test_a_component_is_explained_as_a_table_of_its_connectors_and_parameters(ssptool, system):
    status, out, _ = ssptool("explain", system, "system1")
    rows = {line.split()[0]: line for line in out.splitlines()[1:]}
    assert status == 0
    assert {"System1.F", "System1.x1", "System1.m1", "System1.k1"} <= set(rows)
    assert all(name.startswith("System1.") for name in rows)
    assert "1 kg" in rows["System1.m1"] and "dual_mass_oscillator.ssv:7" in rows["System1.m1"]
    found = json.loads(ssptool("explain", system, "System1", "--format", "json")[1])
    assert len(found) == len(rows)


@pytest.mark.parametrize(
    ("ending", "begin"),
    [
        (".svg", b"<svg"),
        (".png", b"\x89PNG"),
        (".html", b"<!DOCTYPE html>"),
        (".dot", b"digraph"),
        (".json", b"{"),
        (".txt", b"DualMassOscillator"),
    ],
)
def test_a_graph_is_drawn_by_the_ending_of_its_file(ssptool, ending, begin):
    status, out, err = ssptool("graph", SYSTEM, "--output", f"g{ending}")
    assert (status, out, err) == (0, f"graph: g{ending}\n", "")
    assert Path(f"g{ending}").read_bytes().startswith(begin)


def test_an_ending_that_no_graph_has_is_refused_unless_the_format_is_given(ssptool, tmp_path):
    status, _, err = ssptool("graph", SYSTEM, "--output", "g.pdf")
    assert status == 2 and "g.pdf" in err and ".svg" in err
    assert list(tmp_path.iterdir()) == []
    assert ssptool("graph", SYSTEM, "--format", "dot", "--output", "g.gv")[0] == 0


def test_a_report_finds_the_system_of_its_results(ssptool, system):
    ssptool("run", system, *SHORT, "-o", "r.csv")
    status, out, _ = ssptool("report", "r.csv")
    assert (status, out) == (0, "report: r.report.html\n")
    assert "System1" in Path("r.report.html").read_text(encoding="utf-8")
    system.rename(system.with_name("moved"))
    status, _, err = ssptool("report", "r.csv")
    assert status == 2 and "ssptool report SYSTEM r.csv" in err and "my system" in err
    Path("bare.csv").write_text("time,x\n0,1\n", encoding="utf-8")
    assert ssptool("report", "bare.csv")[0] == 2
    assert "ssptool run" in ssptool("report", "moved")[2]


def test_commands_in_messages_name_the_system_so_that_they_can_be_pasted(ssptool, system):
    _, _, err = ssptool("run", system, "--set", "zz=1")
    assert f"`ssptool explain '{system}' --all`" in err


def test_results_go_to_several_formats(ssptool):
    outputs = ["-o", "b.mat", "-o", "a.csv", "--output", "c.csv"]
    status, out, err = ssptool("run", SYSTEM, *SHORT, *outputs)
    assert (status, err) == (0, "")
    assert "a.csv" in out and "c.csv" in out and "b.mat" in out
    first = library.read_trace("a.csv")
    for name in ("b.mat", "c.csv"):
        other = library.read_trace(name)
        assert other.signals == first.signals and all((other[one] == first[one]).all() for one in first.signals)
        assert library.read_manifest(name)["system"] == "DualMassOscillator"
    assert library.reproduce("c.csv").same


def test_copies_overwrite_nothing_that_the_run_reads_or_writes(ssptool, tmp_path):
    (tmp_path / "in.csv").write_text("time\n0\n1\n", encoding="utf-8")
    for words in (["-o", "a.csv", "-o", "./a.csv"], ["-o", "a.csv", "-o", "in.csv", "--inputs", "in.csv"]):
        status, _, err = ssptool("run", SYSTEM, *SHORT, *words)
        assert status == 2 and "overwrite" in err + "overwrite" * ("twice" in err), err
    status, _, err = ssptool("run", SYSTEM, *SHORT, "-o", "a.csv", "-o", "b.foo")
    assert status == 2 and ".parquet" in err
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]
