"""FMUs of FMI 1.0 as a user meets them."""

from pathlib import Path

import pytest

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"
FMUS = SYSTEM / "resources" / "fmi1"
pytestmark = pytest.mark.skipif(not (FMUS / "System1.fmu").exists(), reason="the FMUs are not built: make setup")


def test_a_system_of_them_is_made_checked_understood_and_run(ssptool, tmp_path):
    made = tmp_path / "made"
    ssptool("new", made, "--stop-time", 1)
    _, out, _ = ssptool("add", made, FMUS / "System1.fmu", SYSTEM / "resources" / "System2.fmu", "--parameters")
    assert "System1" in out and "FMI 1.0" in out and "m1 (parameter)" in out
    for name in ("x1", "v1", "a1"):
        assert ssptool("connect", made, f"System1.{name}", f"System2.{name}")[0] == 0
    assert ssptool("connect", made, "System2.F", "System1.F")[0] == 0
    status, out, _ = ssptool("validate", made)
    assert status == 0 and "FMU-105" not in out and "FMU-004" not in out
    _, out, _ = ssptool("info", made)
    assert "System1, FMI 1.0: CoSimulation" in out and "input derivatives, variable steps" in out
    assert "algebraic loop {System1.a1, System2.F}" in ssptool("graph", made)[1]
    assert ssptool("explain", made, "System1.m1")[1].startswith("System1.m1 = 1")
    assert "fmi1" not in ssptool("plan", made)[2]
    status, out, err = ssptool("run", made, "--set", "System1.m1=2", "--step-size", 0.01)
    assert (status, err) == (0, "") and "completed" in out


@pytest.mark.parametrize(
    "flags", [["--in-process"], ["--statistics", "text"], ["--approximation", "hold"], ["--threads", 2]]
)
def test_run_takes_its_flags(ssptool, flags):
    status, out, err = ssptool("run", SYSTEM, "--variant", "FMI1", "--stop-time", 0.05, *flags)
    assert (status, err) == (0, "")
    assert "completed" in out and ("fmiDoStep" in out) is ("--statistics" in flags)


def test_a_master_that_needs_more_is_refused_with_what_there_is(ssptool):
    status, _, err = ssptool("run", SYSTEM, "--variant", "FMI1", "--master", "iterated")
    assert status == 1
    assert "System1" in err and "saves and restores its state" in err and "jacobi with extrapolated inputs" in err
