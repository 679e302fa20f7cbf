"""Commands are found by their names, and loaded when they are asked for."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import ssptool.cli
from ssptool.cli.app import EXAMPLES, FAMILIES, SUMMARIES, app

FOLDER = Path(ssptool.cli.__file__).parent


def test_every_command_is_listed():
    texts = [path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py")]
    having = [name for text in texts for name in re.findall(r"^(?:def )?([a-z]+)_(?:command\(|app = )", text, re.M)]
    assert sorted(SUMMARIES) == sorted(having)


def test_the_list_of_commands_gives_the_first_sentence_of_the_help_of_each():
    commands = typer.main.get_command(app).commands
    assert {name: command.help.split("\n\n")[0] for name, command in commands.items()} == SUMMARIES
    assert [command.name for command in commands.values()] == list(SUMMARIES)


def test_the_list_of_commands_loads_none():
    code = (
        "import sys, typer, ssptool.cli.app as cli; "
        "typer.main.get_command(cli.app)(['--help'], standalone_mode=False); "
        "print(*(m for m in sys.modules if m.startswith('ssptool.')), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert all(name in done.stdout for name in SUMMARIES)
    own = {f"ssptool.cli{name}" for name in ("", ".app", ".command_words", ".terminal")}
    assert set(done.stderr.split()) == {
        *own,
        *("ssptool.version", "ssptool.working_directory", "ssptool.errors", "ssptool.foreign_text"),
        "ssptool.public_names",
        "ssptool.work_in_progress",
    }


def test_a_command_loads_no_other_family():
    code = (
        "import sys, typer, ssptool.cli.app as cli; typer.main.get_command(cli.app).commands['graph']; "
        "print(*(m for m in sys.modules if m.startswith('ssptool.cli.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {module.removeprefix("ssptool.cli.") for module in done.stdout.split()}
    assert loaded & {*FAMILIES, *SUMMARIES} == {"understand"}


@pytest.mark.parametrize("name", SUMMARIES)
def test_a_help_is_filled_to_the_width_and_nothing_of_it_is_taken_for_markup(name):
    command = typer.main.get_command(app).commands[name]
    for each in (command, *getattr(command, "commands", {}).values()):
        text, _, _ = each.help.partition(EXAMPLES)
        assert "\n" not in text.replace("\n\n", "")
        # Rich leaves out what it takes for a style: an unescaped [name].
        assert not re.search(r"(?<!\\)\[[a-zA-Z/@#]", each.help)


def commands_of(name):
    """The command, and those below it."""
    command = typer.main.get_command(app).commands[name]
    return (command, *getattr(command, "commands", {}).values())


@pytest.mark.parametrize("name", SUMMARIES)
def test_an_option_names_all_that_it_can_be(name):
    """A list of names is short where they are few, and else in the sentence that says what they mean."""
    for option in (option for each in commands_of(name) for option in each.params if hasattr(option.type, "choices")):
        choices = [getattr(choice, "value", choice) for choice in option.type.choices]
        words = set(re.findall(r"[\w-]+", option.help))
        assert set(choices) <= words if option.metavar else len("|".join(choices)) <= 20, option.name


@pytest.mark.parametrize("name", SUMMARIES)
def test_every_option_and_argument_is_explained_without_markup(name):
    for option in (option for each in commands_of(name) for option in each.params):
        assert option.help
        assert not re.search(r"(?<!\\)\[[a-zA-Z/@#]", option.help)


@pytest.mark.parametrize("name", SUMMARIES)
def test_a_help_begins_with_a_line_and_has_an_example(name):
    command, *below = commands_of(name)
    assert len(SUMMARIES[name]) <= 66, "longer than a line of a terminal of 80 columns has room for"
    assert f"ssptool {name} " in command.help or below


@pytest.mark.parametrize("name", SUMMARIES)
def test_what_is_written_is_named_alike_in_all_commands(name):
    command = typer.main.get_command(app).commands[name]
    options = [option.opts for each in (command, *getattr(command, "commands", {}).values()) for option in each.params]
    assert all("-o" in names for names in options if "--output" in names)


def test_the_help_of_validate_names_the_table_in_pyproject_toml(ssptool):
    _, out, _ = ssptool("validate", "--help")
    assert "[tool.ssptool] of pyproject.toml" in " ".join(out.split())


def test_commands_fit_on_a_screen():
    """Options stand before a command, alone or in bundles (`bundled`)."""
    long = []
    for file in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and (lines := (node.end_lineno or 0) - node.lineno + 1) > 65:
                long.append(f"{file.name}: {node.name}, {lines} lines")
    assert long == []


def test_a_sandbox_is_complete_or_as_good_as_possible(ssptool):
    status, _, err = ssptool("run", "system", "--sandbox=foo")
    assert status == 2
    assert "--sandbox" in err and "best" in err and "'foo'" in err
