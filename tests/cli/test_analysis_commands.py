"""Commands that analyze a system at one instant."""

import csv
import json
import shutil
from pathlib import Path

import pytest

from tests.engine.event_mode.systems import write_system
from tests.engine.small.fmus import Var, make_fmu

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


def test_the_advice_of_a_refused_linear_model_leads_to_a_sweep(ssptool, tmp_path):
    """Steps that events end: the lag of the sweep has its own events."""
    variables = (
        Var("u", "input", start=0.4),
        Var("x", "local", start=0.3),
        Var("y", "output"),
        Var("count", "output", "Int32", start=0, initial="exact", needs=[]),
    )
    make_fmu(
        tmp_path / "Timed.fmu",
        variables,
        version=3,
        me=None,
        cs='hasEventMode="true"',
        calc="v->y = 2 * v->x + 0.7;",
        event="v->count++; e->has_next = v->time < 0.2; e->next = 0.22; return OK;",
        step="double p = exp(-2 * h); v->x = p * v->x + (1 - p) / 2 * v->u; return OK;",
    )
    system = write_system(tmp_path / "timed", tmp_path, {"P": "Timed"})
    status, _, err = ssptool("linearize", system, "--step-size", "10ms")
    assert status != 0 and "--sweep 0.1:10:20" in err
    status, out, err = ssptool("linearize", system, "--step-size", "10ms", "--sweep", "1:2.5:3")
    assert (status, err) == (0, "") and out.count("P.y / P.u") == 3


def test_a_closed_loop_is_swept_after_it_was_opened(ssptool, tmp_path):
    """As the message asks."""
    system = shutil.copytree(SYSTEMS / "dual_mass_oscillator", tmp_path / "masses")
    status, _, err = ssptool("linearize", system, "--sweep", "0.5,1")
    assert status != 0 and "ssptool disconnect" in err
    assert ssptool("disconnect", system, "System2.F", "System1.F")[0] == 0
    status, out, _ = ssptool(
        "linearize", system, "--sweep", "0.5", "--step-size", "20ms", "--format", "json", "-o", "bode.svg"
    )
    assert status == 0 and json.loads(out)["frequencies"] == [0.5]
    status, _, err = ssptool("linearize", system, "--amplitude", "2")
    assert status == 2 and "--sweep" in err
