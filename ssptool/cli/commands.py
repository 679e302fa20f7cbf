"""The commands by name. The module of each is loaded when it is called: to load all takes as long as many a call."""

import re
from collections.abc import Iterator, MutableMapping
from importlib import import_module
from itertools import zip_longest
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

PANELS = {
    "Check and understand": {
        "validate": "Say what is wrong with a system, where, why, and how to fix it.",
        "rule": "Say what a rule demands, why, and how to fix a violation.",
        "info": "Say what is in a system, and what variables an FMU has.",
        "graph": "Show how the parts of a system depend on each other.",
        "draw": "Draw a system as a diagram, as its documents place it.",
        "explain": "Say why a parameter or connector has its value, step by step.",
    },
    "Run": {
        "plan": "Print what a run would do, and why, without loading a binary.",
        "run": "Initialize and simulate a system, and write its results.",
        "study": "Do many runs of one system: `ssptool study FILE.toml`.",
    },
    "Results": {
        "plot": "Draw results over time, or those of a study.",
        "compare": "Say whether results stay inside tolerances around a reference.",
        "report": "Write one HTML page about a run or a study.",
    },
    "Edit": {
        "new": "Make an empty system.",
        "add": "Add FMUs, packages or tables, or a system, or a connector.",
        "remove": "Remove elements or connectors. The inverse of `add`.",
        "connect": "Connect connectors, terminals, or elements by matching names.",
        "disconnect": "Remove connections. The inverse of `connect`.",
        "set": "Set parameters and start values, or the default experiment.",
        "unset": "Remove parameters that were set. The inverse of `set`.",
        "bind": "Bind a parameter set to an element.",
        "unbind": "Take a parameter binding away. The inverse of `bind`.",
        "map": "Give parameters of a bound set other names.",
        "unmap": "Take such other names away. The inverse of `map`.",
        "dictionary": "Make and fill dictionaries: signals that elements share by name.",
        "rename": "Rename an element or a connector; all that refers to it follows.",
        "replace": "Let a component be another FMU.",
    },
    "Packages, variants and versions": {
        "pack": "Make a package of a folder. Equal folders give equal files.",
        "unpack": "Write the files of a package into a folder.",
        "convert": "Write an FMU, or a system of the Open Simulation Platform, as SSP.",
        "variant": "List and change the variants of a package.",
        "upgrade": "Make a system, or one document, one of SSP 2.0.",
        "downgrade": "Make a system, or one document, one of SSP 1.0.",
        "diff": "Compare two systems by meaning, not by text.",
    },
}
"""What belongs together → name → the first sentence of its help, in the order of the list of commands.

The command `name` is `name_command` in the module `name`; a group of them, `name_app`.
"""

SUMMARIES = {name: summary for commands in PANELS.values() for name, summary in commands.items()}


WITHOUT_VALUE = {"--statistics": ("text", "json")}
"""Option that may stand without a value → its values; the first is the one that is meant then."""


class Interrupted(BaseException):
    """Somebody pressed Ctrl-C: its cause. Typer would end a `KeyboardInterrupt` without a word."""


class Commands(TyperGroup):
    """A group whose commands are found as they are asked for."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.commands = _Loaded()

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """For the list of commands none is loaded."""
        loaded = self.commands
        self.commands = {
            name: TyperCommand(name, help=summary, rich_help_panel=panel)
            for panel, commands in PANELS.items()
            for name, summary in commands.items()
        }
        super().format_help(ctx, formatter)
        self.commands = loaded

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise Interrupted from error


class _Command(TyperCommand):
    """A command with options that may stand without a value, which typer does not know."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(_with_values(args)))


def _with_values(arguments: list[str]) -> Iterator[str]:
    for argument, following in zip_longest(arguments, arguments[1:]):
        values = WITHOUT_VALUE.get(argument)
        yield argument if values is None or following in values else f"{argument}={values[0]}"


class _Loaded(MutableMapping[str, Any]):
    """What typer takes for a dictionary of all commands."""

    def __init__(self) -> None:
        self._commands: dict[str, Any] = dict.fromkeys(SUMMARIES)

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
        app.command(name, cls=_Command)(getattr(module, f"{name}_command"))
    command = typer.main.get_command(app)
    command.name = name
    for each in (command, *getattr(command, "commands", {}).values()):
        each.help = _plain(each.help or "")
        for option in each.params:
            option.help = _without_markup(getattr(option, "help", None) or "")
    return command


def _plain(help: str) -> str:
    """A docstring as text that typer fills to the width of the terminal: it takes the breaks of lines for meant, except
    those of the first paragraph, and what stands in brackets for markup.
    """
    paragraphs = (" ".join(paragraph.split()) for paragraph in help.split("\n\n"))
    return _without_markup("\n\n".join(paragraphs))


def _without_markup(text: str) -> str:
    """What stands in brackets is a unit or a table, not a style."""
    return re.sub(r"\[(?=[a-zA-Z/@#])", r"\\[", text)
