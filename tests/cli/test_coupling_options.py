"""The options of `ssptool run` and `ssptool plan` that say how components are coupled."""

import csv
import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from pytest import approx

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"


def times(path):
    with path.open(newline="") as file:
        return [float(row["time"]) for row in csv.DictReader(file)]


def test_iterates_of_loops_and_steps_are_written_to_the_files_asked_for(ssptool, tmp_path):
    logs = ("--log-loops", "loops.csv", "--log-coupling", "coupling.jsonl")
    status, _, _ = ssptool("run", SYSTEM, "--stop-time", 0.01, "--in-process", *logs)
    assert status == 0
    with (tmp_path / "loops.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert set(rows[0]) == {"time", "stage", "loop", "solver", "iteration", "signal", "value", "residual"}
    lines = [json.loads(line) for line in (tmp_path / "coupling.jsonl").read_text().splitlines()]
    assert lines[0]["group"] == "System1, System2" and lines[-1]["converged"] is True


def test_adaptive_steps_are_rows_of_the_result(ssptool, tmp_path):
    status, out, _ = ssptool("run", SYSTEM, "--adaptive", 1e-3, "--in-process", "--output", "r.csv")
    assert status == 0, out
    t = times(tmp_path / "r.csv")
    steps = [b - a for a, b in itertools.pairwise(t)]
    assert (t[0], t[-1]) == (0.0, 10.0) and max(steps) > 5 * min(steps)


def test_late_outputs_lag_one_step(ssptool, tmp_path):
    """F at the first point after the start is still that of the start, 5 N."""
    arguments = ("run", SYSTEM, "--stop-time", 0.1, "--step-size", 0.1, "--exchange", "late", "--in-process")
    assert ssptool(*arguments, "--output", "late.csv")[0] == 0
    with (tmp_path / "late.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert float(rows[0]["System1.a1 [m/s2]"]) == pytest.approx(5.0)
    # a1 of the mass belongs to the force of the start: a1 = F(0) − k1 x1 − c1 v1.
    x1, v1, a1 = (float(rows[1][f"System1.{name}"]) for name in ("x1 [m]", "v1 [m/s]", "a1 [m/s2]"))
    assert a1 == pytest.approx(5.0 - 10 * x1 - 0.2 * v1)


def test_the_plan_names_what_was_asked_for(ssptool):
    arguments = (
        "--substeps",
        "System2=10",
        "--convergence",
        "absolute=1e-6",
        "--convergence",
        "residual-relative=1e-4",
    )
    status, out, _ = ssptool("plan", SYSTEM, *arguments, "--acceleration", "newton", "--adaptive", "1e-4")
    assert status == 0
    for phrase in (
        "10 of System2",
        "absolute 1e-06 and residual-relative 0.0001",
        "interface Newton",
        "errors of all steps at most 0.0001",
        "restore all states",
    ):
        assert phrase in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--substeps", "System2"), "not of the form NAME=NUMBER"),
        (("--substeps", "System2=ten"), "not a number of type int"),
        (("--substeps", "Sytem2=10"), "no component 'Sytem2'"),
        (("--convergence", "absolut=1"), "found 'absolut'"),
        (("--convergence", "absolute=0"), "must be positive"),
        (("--adaptive", "2"), "between 0 and 1"),
        (("--iterations", "0"), "--iterations"),
        (("--prediction-order", "3"), "--prediction-order"),
        (("--relaxation", "0"), "relaxation must be greater than 0 and at most 1, found 0"),
        (("--relaxation", "1.5"), "relaxation must be greater than 0 and at most 1, found 1.5"),
        (("--exchange", "late", "--master", "iterated"), "exchange consistent"),
        (("--relaxation", "0.5", "--acceleration", "aitken"), "only acceleration constant takes a relaxation factor"),
        (("--iterations", "3", "--tolerance", "1e-3"), "leave out iterations or tolerance"),
        (("--adaptive", "1e-3", "--implementation", "me"), "with model exchange"),
        (("--every", "2", "--output-step", "0.01"), "leave one of them out"),
        (("--fmu-log-level", "ok"), "name the file"),
        (("--log-coupling", "log.txt"), "must end in .csv or .jsonl"),
    ],
)
def test_options_that_make_no_sense_are_refused(ssptool, arguments, message):
    status, _, error = ssptool("run", SYSTEM, "--stop-time", 0.01, "--in-process", *arguments)
    assert status == 2
    assert message in " ".join(error.replace("│", " ").split())


def test_the_factor_of_relaxation_is_planned(ssptool):
    status, out, _ = ssptool("plan", SYSTEM, "--relaxation", 0.3)
    text = " ".join(out.split())
    assert status == 0
    assert "acceleration constant (required by relaxation)" in text
    assert "relaxation 0.3 (asked for)" in text
    assert "relaxation 0.5 (default)" in " ".join(ssptool("plan", SYSTEM, "--acceleration", "constant")[1].split())


def test_a_step_goes_the_asked_part_of_the_way(ssptool, tmp_path):
    """With a gain γ of the loop and the factor ω, the residual shrinks by 1 − ω (1 − γ) in each iteration, and γ goes
    to 0 with the step size where inputs are held: less than 1e-5 here, as far as both velocities and forces go.
    """
    arguments = ("--step-size", 1e-6, "--stop-time", 2e-6, "--approximation", "hold", "--iterations", 4)
    arguments = (*arguments, "--prediction-order", 0, "--relaxation", 0.3)
    ssptool("run", SYSTEM, "--in-process", "--log-coupling", "log.jsonl", *arguments)
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    residuals = np.array([line["residuals"]["System1.F"] for line in lines]).reshape(-1, 4)
    assert residuals[:, 1:] / residuals[:, :-1] == approx(0.7, rel=1e-4)


def test_a_fixed_number_of_iterations_is_planned_and_logged_as_such(ssptool, tmp_path):
    arguments = ("--iterations", 3, "--prediction-order", 0)
    status, out, _ = ssptool("plan", SYSTEM, *arguments)
    assert status == 0
    assert "repeat, exactly 3 times in all" in out
    assert "by extrapolation of order 0" in out
    status, _, _ = ssptool(
        "run", SYSTEM, "--stop-time", 0.01, "--in-process", "--log-coupling", "log.jsonl", *arguments
    )
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert status == 0
    assert [line["iteration"] for line in lines] == [1, 2, 3] * 10
    assert all(line["converged"] is (line["iteration"] == 3) for line in lines)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--iterations", 2, "--master", "jacobi"), "only master iterated repeats steps"),
        (("--max-iterations", 5, "--master", "jacobi"), "--max-iterations 5 with master jacobi: only master iterated"),
        (("--max-iterations", 5, "--implementation", "me"), "--max-iterations 5 with model exchange"),
        (("--prediction-order", 0, "--master", "gauss-seidel"), "only master iterated repeats steps"),
        (("--iterations", 2, "--tolerance", "1e-6"), "leave out iterations or tolerance"),
        (("--iterations", 2, "--convergence", "absolute=1e-6"), "leave out iterations or convergence"),
        (("--iterations", 2, "--adaptive", "1e-4"), "leave out iterations or adaptive steps"),
        (("--relaxation", 0.3, "--master", "jacobi"), "only master iterated repeats steps"),
        (("--relaxation", 0.3, "--acceleration", "aitken"), "only acceleration constant takes a relaxation factor"),
    ],
)
def test_settings_of_the_iteration_that_exclude_each_other_are_refused(ssptool, arguments, message):
    status, _, error = ssptool("run", SYSTEM, "--stop-time", 0.01, "--in-process", *arguments)
    assert status == 2
    assert message in " ".join(error.replace("│", " ").split())
