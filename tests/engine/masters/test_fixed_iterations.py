"""Steps of a fixed number of iterations say when they have not converged; advice that works on the case."""

import re
from pathlib import Path

import numpy as np
import pytest
import typer

import ssptool
from ssptool.cli.app import app
from ssptool.engine.failure import Ending

ROOT = Path(__file__).parents[3]
NEWMARK = {"variant": "Newmark.ssd", "master": "iterated", "approximation": "hold", "acceleration": "none"}
SYSTEM = ROOT / "systems" / "one_dof_oscillator"


def test_iterations_that_run_away_are_counted_with_the_worst_residual_and_its_signal(tmp_path):
    """Without acceleration the iteration has a gain of about -6 at this step size: no number of them converges."""
    for isolated in False, True:
        output = tmp_path / f"{isolated}.csv"
        settings = {**NEWMARK, "step_size": 0.1, "iterations": 30}
        result = ssptool.simulate(SYSTEM, output=output, isolated=isolated, **settings)
        statistics = ssptool.read_manifest(output)["statistics"]
        assert result.status is Ending.UNSTABLE
        assert 10 >= statistics["unconverged"] >= statistics["steps"] > 5  # steps beyond the failure were computed too
        assert statistics["residual"] > 1
        assert statistics["residual_signal"] in result
        (note,) = (note for note in result.notes if "did not converge" in note)
        assert "macro steps of Mass, SpringDamper did not converge in 30 iterations" in note
        assert statistics["residual_signal"] in note
        assert "--acceleration iqn-ils" in note


@pytest.mark.parametrize("acceleration", ["iqn-ils", "newton"])
def test_the_acceleration_that_the_note_names_converges_on_the_same_case(acceleration):
    result = ssptool.simulate(SYSTEM, **{**NEWMARK, "acceleration": acceleration}, step_size=0.1, iterations=30)
    assert result.statistics.unconverged == 0
    assert not any("converge" in note for note in result.notes)


def test_too_few_iterations_are_told_and_without_the_number_the_steps_converge():
    few = ssptool.simulate(SYSTEM, **NEWMARK, step_size=0.001, iterations=2)
    assert few.statistics.unconverged > 900
    assert any("leave out --iterations" in note for note in few.notes)
    assert ssptool.simulate(SYSTEM, **NEWMARK, step_size=0.001).unwrap()


def test_enough_iterations_are_not_spoken_of():
    result = ssptool.simulate(SYSTEM, **NEWMARK, step_size=0.001, iterations=8)
    assert (result.statistics.unconverged, result.statistics.residual) == (0, 0.0)
    assert not any("converge" in note for note in result.notes)


def test_more_iterations_are_advised_only_where_they_help():
    slow = ssptool.simulate(SYSTEM, **NEWMARK, step_size=0.001, max_iterations=3).failure
    more = re.search(r"--max-iterations (\d+)", slow.advice)
    assert ssptool.simulate(SYSTEM, **NEWMARK, step_size=0.001, max_iterations=int(more[1])).ok
    for size in 0.1, 0.05:
        lost = ssptool.simulate(SYSTEM, **NEWMARK, step_size=size).failure
        assert "diverges" in lost.message
        assert "--max-iterations" not in lost.advice
        assert "--master jacobi" not in lost.advice  # it runs away here


def test_steps_of_too_few_iterations_are_solved_by_newtons_method():
    """The same run as with enough of them; extrapolated inputs instead lead an FMU astray within 0.05 s."""
    governor = SYSTEM.parent / "flyball_governor"
    few = ssptool.simulate(governor, implementation="cs", max_iterations=5, stop_time=0.05)
    assert any("Newton's method" in note for note in few.notes)
    enough = ssptool.simulate(governor, implementation="cs", stop_time=0.05).unwrap()
    size = np.abs(enough.y).max(axis=0)
    assert np.all(np.abs(few.unwrap().y - enough.y) <= 1e-6 * size)


def commands():
    """Every command and subcommand."""
    waiting = [typer.main.get_command(app)]
    while waiting:
        command = waiting.pop()
        yield command
        waiting += getattr(command, "commands", {}).values()


def test_every_option_that_the_source_speaks_of_is_one_of_the_command_line():
    options = {text for command in commands() for one in command.params for text in (*one.opts, *one.secondary_opts)}
    options |= {"--debug", "--help", "--version", "--install-extension"}  # the last one is that of VS Code
    spoken = {
        (option, path.name)
        for path in (ROOT / "ssptool").rglob("*.py")
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", path.read_text(encoding="utf-8"))
    }
    assert not {(option, name) for option, name in spoken if option not in options}
