"""Commands that analyze a system at one instant."""

import csv
import json
from pathlib import Path

import pytest

SYSTEMS = Path(__file__).parents[2] / "systems"
CHAIN = SYSTEMS / "mass_spring_damper"


def test_the_command_writes_a_parameter_set(ssptool):
    status, out, _ = ssptool("trim", CHAIN, "-o", "point.ssv")
    assert status == 0
    assert "first.mass.s0 = -0.1962" in out
    _, out, _ = ssptool("explain", CHAIN, "first.mass.s0", "--parameters", "point.ssv")
    assert "-0.1962" in out
    status, out, _ = ssptool(
        "trim", CHAIN, "--format", "json", "--free", "first.mass.F=0:1000", "--target", "first.mass.s=0.1"
    )
    assert status == 0
    force = next(one["value"] for one in json.loads(out)["inputs"])
    assert force == pytest.approx(50 * (0.1 + 0.1962))  # c (s - s_eq)
    status, _, err = ssptool("trim", CHAIN, "--free", "first.mass.F")
    assert status == 2
    assert "underdetermined" in err


def test_the_command_writes_a_linear_model(ssptool):
    status, out, _ = ssptool("linearize", SYSTEMS / "dual_mass_oscillator", "--open", "System1.F", "-o", "model.json")
    assert (status, out) == (0, "linear model: model.json\n")
    assert json.loads(Path("model.json").read_text())["B"] == [[0], [1], [0], [0]]
    status, _, err = ssptool("linearize", SYSTEMS / "dual_mass_oscillator", "-o", "model.gif")
    assert status == 2
    assert ".mat" in err and ".svg" in err


def test_modes_are_listed(ssptool):
    status, out, _ = ssptool("modes", SYSTEMS / "rotational_spring_mass_damper", "--at", "1s")
    assert status == 0
    assert "-0.331414 ± 1.82742i" in out


def test_the_command_writes_the_derivatives(ssptool):
    oscillator = SYSTEMS / "dual_mass_oscillator"
    arguments = ("sensitivities", oscillator, "System1.c1", "--measure", "System1.x1", "--stop-time", "1")
    status, out, _ = ssptool(*arguments, "-o", "s.csv")
    assert status == 0 and "variational equations" in out
    with Path("s.csv").open() as file:
        rows = list(csv.DictReader(file))
    _, out, _ = ssptool(*arguments, "--format", "json")
    last = json.loads(out)["derivatives"][-1][0][0]
    assert float(rows[-1]["System1.x1 / System1.c1"]) == pytest.approx(last)


def test_a_plan_advises_options_that_run_takes(ssptool):
    status, out, _ = ssptool("plan", SYSTEMS / "dual_mass_oscillator", "--stop-time", "2", "--advise", "1e-3")
    (following,) = (line.split() for line in out.splitlines() if line.startswith("  next: "))
    assert status == 0
    status, _, _ = ssptool(
        "run", SYSTEMS / "dual_mass_oscillator", "--stop-time", "2", "--accuracy", "1e-3", *following[1:]
    )
    assert status == 0  # the run states an error within 1e-3
