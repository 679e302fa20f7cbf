"""Commands are found by their names, and loaded when they are asked for."""

import subprocess
import sys
from pathlib import Path

import typer

import ssptool.cli
from ssptool.cli.commands import NAMES
from ssptool.cli.main import app

FOLDER = Path(ssptool.cli.__file__).parent


def test_every_module_with_a_command_is_listed():
    texts = {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py")}
    having = [name for name, text in texts.items() if f"def {name}_command(" in text or f"{name}_app = " in text]
    assert sorted(NAMES) == sorted(having)


def test_every_listed_command_has_a_help():
    commands = typer.main.get_command(app).commands
    assert list(commands) == list(NAMES)
    assert all(command.name == name and command.help for name, command in commands.items())


def test_a_command_loads_no_module_of_another():
    code = (
        "import sys, typer, ssptool.cli.main as cli; typer.main.get_command(cli.app).commands['graph']; "
        "print(*(m for m in sys.modules if m.startswith('ssptool.cli.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {module.removeprefix("ssptool.cli.") for module in done.stdout.split()}
    assert loaded & set(NAMES) == {"graph"}
