"""Names are matched without regard to case if only one is meant; the exact name always wins."""

from shutil import copytree

import pytest

import ssptool as library
from ssptool.errors import AmbiguousName, in_other_case
from tests.cli.test_commands import SYSTEM

SHORT = ["--stop-time", 0.05, "--step-size", "10ms"]


@pytest.fixture
def system(tmp_path):
    return copytree(SYSTEM, tmp_path / "system")


@pytest.fixture
def two(ssptool, system):
    """A system with two inputs that differ in case only."""
    for name in ("Load", "load"):
        assert ssptool("add", system, "--connector", name, "--unit", "N")[0] == 0
    return system


def test_one_candidate_is_meant_and_two_are_named():
    assert in_other_case("motor.r", ["Motor.R", "Motor.L"]) == "Motor.R"
    assert in_other_case("motor.x", ["Motor.R"]) is None
    with pytest.raises(AmbiguousName, match=r"'motor.r' is ambiguous: there are MOTOR.R and Motor.R"):
        in_other_case("motor.r", ["Motor.R", "MOTOR.R", "Motor.R"])


def test_a_run_sets_and_records_them(ssptool):
    status, out, err = ssptool("run", SYSTEM, *SHORT, "--set", "system2.K2=80", "--record", "SYSTEM1.X1", "-v")
    assert (status, err) == (0, "")
    assert "System2.k2 = 80 N/m" in out
    assert library.read_trace("dual_mass_oscillator.csv").signals == ("System1.x1",)
    assert ssptool("run", SYSTEM, *SHORT, "--record", "*.V1", "-o", "v.csv")[0] == 0
    assert library.read_trace("v.csv").signals == ("System1.v1", "System2.v1")


def test_results_are_read_by_them(ssptool):
    ssptool("run", SYSTEM, *SHORT, "-o", "r.csv")
    assert ssptool("plot", "r.csv", "--signals", "system1.X1")[0] == 0
    status, out, _ = ssptool("compare", "r.csv", "r.csv", "--signals", "system1.X1", "--absolute", "system1.X1=0.1")
    assert status == 0 and "System1.x1" in out and "0.1 " in out


def test_a_system_is_explained_and_edited_by_them(ssptool, system):
    assert ssptool("explain", system, "SYSTEM1.M1")[1] == ssptool("explain", system, "System1.m1")[1]
    assert "System1.m1 = 3 kg" in ssptool("set", system, "system1.M1=3")[1]
    assert "System1.m1 = 3 kg" in ssptool("explain", system, "System1.m1")[1]
    assert "unset System1.m1" in ssptool("unset", system, "system1.M1")[1]
    assert ssptool("info", system, "system2")[1] == ssptool("info", system, "System2")[1]
    assert ssptool("disconnect", system, "system1.X1", "System2.x1")[0] == 0
    assert "System1.x1 → System2.x1" in ssptool("connect", system, "SYSTEM1.x1", "system2.X1")[1]


def test_inputs_and_scenarios_name_them(ssptool, system, tmp_path):
    ssptool("add", system, "--connector", "Load", "--unit", "N")
    (tmp_path / "in.csv").write_text("time,LOAD [kN]\n0,2\n1,2\n", encoding="utf-8")
    assert ssptool("run", system, *SHORT, "--inputs", "in.csv", "-o", "r.csv", "--record", "load")[0] == 0
    assert set(library.read_trace("r.csv")["Load"]) == {2000.0}
    event = "{time: 0.02, model: SYSTEM2, variable: X1, action: override, value: 0.25}"
    (tmp_path / "s.yaml").write_text(f"events:\n  - {event}\n", encoding="utf-8")
    assert ssptool("run", system, *SHORT, "--scenario", "s.yaml", "-o", "r.csv")[0] == 0
    assert library.read_trace("r.csv")["System2.x1"][-1] == 0.25


def test_two_candidates_are_an_error_that_names_both_and_the_exact_name_wins(ssptool, two, tmp_path):
    for words in (["explain", two, "LOAD"], ["run", two, *SHORT, "--record", "LOAD"], ["run", two, "--set", "LOAD=1"]):
        status, _, err = ssptool(*words)
        assert status == 2, words
        assert "LOAD" in err and "Load and load" in err
    (tmp_path / "in.csv").write_text("time,LOAD\n0,2\n1,2\n", encoding="utf-8")
    status, _, err = ssptool("run", two, "--inputs", "in.csv")
    assert status == 2 and "Load and load" in err
    for name in ("Load", "load"):
        status, out, _ = ssptool("explain", two, name)
        assert status == 0 and out.startswith(name)
        assert ssptool("run", two, *SHORT, "--record", name, "-o", "r.csv")[0] == 0
        assert library.read_trace("r.csv").signals == (name,)


def test_settings_name_components_by_them(ssptool):
    """The values are those of the exact name, to the last bit."""
    options = ["--master", "jacobi", *SHORT]
    for name in ("system1", "System1"):
        assert ssptool("run", SYSTEM, *options, "--substeps", f"{name}=3", "-o", f"{name}.csv")[0] == 0
    assert ssptool("compare", "system1.csv", "System1.csv", "--absolute", "0", "--relative", "0")[0] == 0
    assert ssptool("run", SYSTEM, *options, "--fmu-log", "l.csv", "--fmu-log-level", "SYSTEM2=ok")[0] == 0
    status, _, err = ssptool("plan", SYSTEM, "--substeps", "sistem1=3")
    assert status == 2 and "there is no component 'sistem1'; there are System1" in err
    made = library.plan(SYSTEM, substeps={"SYSTEM1": 3}, master="jacobi")
    assert made.settings.substeps == {"System1": 3}
