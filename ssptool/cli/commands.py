"""The commands by name. The module of each is loaded when it is called: to load all takes as long as many a call."""

import re
from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

NAMES = (
    "validate",
    "rule",
    "explain",
    "graph",
    "draw",
    "plan",
    "run",
    "study",
    "plot",
    "compare",
    "report",
    "info",
    "diff",
    "upgrade",
    "downgrade",
    "pack",
    "unpack",
    "variant",
    "new",
    "add",
    "connect",
    "disconnect",
    "remove",
    "rename",
    "set",
    "unset",
    "bind",
    "unbind",
    "map",
    "unmap",
    "dictionary",
    "replace",
)
"""In the order of the help. The command `name` is `name_command` in the module `name`; a group of them, `name_app`."""


class Commands(TyperGroup):
    """A group whose commands are found as they are asked for."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.commands = _Loaded()


class _Loaded(MutableMapping[str, Any]):
    """What typer takes for a dictionary of all commands."""

    def __init__(self) -> None:
        self._commands: dict[str, Any] = dict.fromkeys(NAMES)

    def __getitem__(self, name: str) -> Any:
        if self._commands[name] is None:
            self._commands[name] = _command(name)
        return self._commands[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._commands[name] = command

    def __delitem__(self, name: str) -> None:
        del self._commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._commands)

    def __len__(self) -> int:
        return len(self._commands)


def _command(name: str) -> Any:
    module = import_module(f"ssptool.cli.{name}")
    app: typer.Typer | None = getattr(module, f"{name}_app", None)
    if app is None:
        app = typer.Typer(add_completion=False)
        app.command(name)(getattr(module, f"{name}_command"))
    command = typer.main.get_command(app)
    command.name = name
    for each in (command, *getattr(command, "commands", {}).values()):
        each.help = _plain(each.help or "")
    return command


def _plain(help: str) -> str:
    """A docstring as text that typer fills to the width of the terminal: it takes the breaks of lines for meant, except
    those of the first paragraph, and what stands in brackets for markup.
    """
    paragraphs = (" ".join(paragraph.split()) for paragraph in help.split("\n\n"))
    return re.sub(r"\[(?=[a-zA-Z/@#])", r"\\[", "\n\n".join(paragraphs))
