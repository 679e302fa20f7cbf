"""Words that other programs have for a command, and files without one."""

from pathlib import Path
from shutil import copy, copytree

import pytest
import typer

from ssptool.cli.app import SUMMARIES, app
from ssptool.cli.command_words import OPTIONS_MEANT, SERVING, SYNONYMS

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
    [
        ("s.ssp", ("info", "validate", "run")),
        ("r r.csv", ("plot", "report")),
        ("s.toml", ("study",)),
        ("measured.csv", ("plot", "run SYSTEM --inputs", "study new SYSTEM --data")),
    ],
)
def test_of_a_file_alone_it_is_said_what_can_be_done_with_it(ssptool, file, commands):
    Path(file).touch()
    Path("r r.csv.json").touch()
    status, _, err = ssptool(file)
    assert status == 2
    name = f"'{file}'" if " " in file else file
    assert all(f"ssptool {command} {name}" in err for command in commands)


def test_advice_about_an_fmu_can_be_pasted(ssptool):
    """An FMU is the file of an edit, not the system."""
    copy(OSCILLATOR / "resources" / "System1.fmu", "m.fmu")
    _, _, err = ssptool("import", "m.fmu")
    assert "`ssptool convert m.fmu SYSTEM`" in err and "`ssptool add SYSTEM m.fmu`" in err
    _, _, err = ssptool("edit", "m.fmu")
    assert "`ssptool studio m.fmu`" in err and "set SYSTEM" in err and "connect SYSTEM" in err


@pytest.mark.parametrize("command", ["run", "validate"])
def test_a_system_without_its_ending_is_named(ssptool, command):
    Path("models").mkdir()
    Path("models/plant.ssp").touch()
    Path("models/plant.csv").touch()
    status, _, err = ssptool(command, "models/plant")
    assert status == 2 and "models/plant.ssp?" in err and "plant.csv" not in err


@pytest.mark.parametrize("name", ["s s", "s s.fmu"])
def test_a_system_is_no_result_until_it_has_run(ssptool, name):
    """The advice names the system, and works."""
    copy(OSCILLATOR / "resources" / "System1.fmu", name) if name.endswith("fmu") else copytree(OSCILLATOR, name)
    status, _, err = ssptool("plot", name)
    assert status == 2 and f"`ssptool run '{name}'`" in err and f"`ssptool draw '{name}'`" in err
    assert ssptool("run", name, "--stop-time", "0.01")[0] == 0 and ssptool("plot", "s s.csv")[0] == 0


def test_what_is_neither_a_command_nor_a_file_is_refused(ssptool):
    status, _, err = ssptool("frobnicate")
    assert status == 2 and "frobnicate" in err


@pytest.mark.parametrize("word", SERVING)
def test_commands_that_serve_are_named_and_exist(ssptool, word):
    assert word not in SUMMARIES and word not in SYNONYMS
    status, _, err = ssptool(word)
    assert status == 2
    for line in SERVING[word]:
        assert f"ssptool {line}" in err
        assert {name for name in line.split() if name.startswith("--")} <= options(line.split()), line


def options(words: list[str]) -> set[str]:
    """Options of the command that these words begin with."""
    command, left = typer.main.get_command(app), list(words)
    while left and left[0] in getattr(command, "commands", {}):
        command = command.commands[left.pop(0)]
    return {name for one in command.params for name in one.opts} | {"--help"}


def test_commands_that_serve_name_the_system_of_the_call(ssptool):
    _, _, err = ssptool("sensitivity", OSCILLATOR)
    assert f"`ssptool study new {OSCILLATOR} --design saltelli`" in err


@pytest.mark.parametrize(
    ("typo", "meant"), [("validte", "validate"), ("rnu", "run"), ("plto", "plot"), ("exprot", "export")]
)
def test_a_misspelt_command_is_recognized(ssptool, typo, meant):
    assert f"did you mean {meant}?" in ssptool(typo)[2]


@pytest.mark.parametrize("word", ["polish", "teleport", "cachet"])
def test_a_word_that_resembles_no_command_gets_no_proposal(ssptool, word):
    assert "did you mean" not in ssptool(word)[2]


@pytest.mark.parametrize("name", OPTIONS_MEANT)
def test_options_that_are_meant_exist(name):
    known = options(name.split())
    for word, meant in OPTIONS_MEANT[name].items():
        assert f"--{word}" not in known
        words = meant.strip("`").removeprefix("ssptool ").split() if "`" in meant else [*name.split(), meant.split()[0]]
        assert {one for one in words if one.startswith("--")} <= options(words)


@pytest.mark.parametrize("word", ["sim", "lint", "calibrate"])
def test_help_of_a_word_of_another_program_is_that_of_the_command(ssptool, word):
    assert ssptool("help", word) == ssptool(*SYNONYMS[word], "--help")


@pytest.mark.parametrize("word", ["missing.ssp", "folder/missing.fmu"])
def test_a_file_that_does_not_exist_is_not_called_an_unknown_command(ssptool, word):
    status, _, err = ssptool(word)
    assert status == 2 and f"{word} is neither a command nor an existing file" in err


def test_an_option_without_dashes_is_recognized(ssptool):
    status, _, err = ssptool("run", OSCILLATOR, "stop_time=1")
    assert status == 2 and "did you mean --stop-time 1?" in err


def test_a_report_of_a_missing_file_says_that_it_is_missing(ssptool):
    status, _, err = ssptool("report", "missing.csv")
    assert status == 2 and "missing.csv does not exist" in err
