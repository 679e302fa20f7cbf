"""Words that other programs have for a command, and files without one."""

from pathlib import Path

import pytest

from ssptool.cli.app import SUMMARIES, SYNONYMS

OSCILLATOR = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"


@pytest.mark.parametrize("word", SYNONYMS)
def test_a_word_of_another_program_does_what_the_command_does(ssptool, word):
    meant = SYNONYMS[word]
    assert word not in SUMMARIES
    assert ssptool(word, "--help") == ssptool(*meant, "--help")


@pytest.mark.parametrize("command", [(), ("run",), ("study", "results")])
def test_help_is_a_command(ssptool, command):
    assert ssptool("help", *command) == ssptool(*command, "--help")


def test_a_run_by_another_word_runs(ssptool):
    status, out, _ = ssptool("simulate", OSCILLATOR, "--stop-time", "0.01", "--output", "r.csv")
    assert status == 0 and "completed" in out
    assert Path("r.csv").exists()


@pytest.mark.parametrize(
    ("file", "commands"),
    [("s.ssp", ("info", "validate", "run")), ("r r.csv", ("plot", "report")), ("s.toml", ("study",))],
)
def test_of_a_file_alone_it_is_said_what_can_be_done_with_it(ssptool, file, commands):
    Path(file).touch()
    status, _, err = ssptool(file)
    assert status == 2
    name = f"'{file}'" if " " in file else file
    assert all(f"ssptool {command} {name}" in err for command in commands)


def test_what_is_neither_a_command_nor_a_file_is_refused(ssptool):
    status, _, err = ssptool("frobnicate")
    assert status == 2 and "frobnicate" in err
