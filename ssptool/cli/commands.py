"""The commands by name. The module of each is loaded when it is called: to load all takes as long as many a call."""

import re
from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

SUMMARIES = {
    "validate": "Say what is wrong with a system, where and why, without running it.",
    "rule": "Say what a rule demands, why, how bad a violation is, and how to fix it.",
    "explain": "Say why a parameter or connector has its value, with file and line at each step.",
    "graph": "Show how the parts of a system depend on each other.",
    "draw": (
        "Draw a system as a diagram: elements, connectors, connections, icons and notes where the documents place them."
    ),
    "plan": "Print what a run would do, without loading a binary: choices with reasons, and the sequence of calls.",
    "run": "Initialize and co-simulate a system, write its results, and say how it went.",
    "study": "Many runs of one system: `study FILE.toml` does them, `study status|results|resume FOLDER` sees to them.",
    "plot": "Draw results over time: one panel per unit, the runs on top of each other.",
    "compare": "Compare results with a reference: is every signal inside the tube around it?",
    "report": "Write one self-contained HTML page about a run or a study.",
    "info": "Say what is in a system: components, their FMUs and what these can do, variants.",
    "diff": "Compare two systems by meaning: components, connectors, connections, parameter values, units, variants.",
    "upgrade": "Make a system, or one document, one of SSP 2.0.",
    "downgrade": "Make a system, or one document, one of SSP 1.0.",
    "pack": "Make a package of a folder. Equal folders give equal files.",
    "unpack": "Write the files of a package into a folder: all of them or none, and none outside it.",
    "variant": "List and change the variants of a package: the SSDs at its root.",
    "new": "Make an empty system.",
    "add": "Make components of FMUs or packages, copied into the archive; or add a system or a connector.",
    "connect": (
        "Connect two connectors, two terminals member by member, or two elements by the names of their connectors."
    ),
    "disconnect": "Remove what connects two connectors, terminals or elements. The inverse of `connect`.",
    "remove": "Remove elements or connectors, and the connections that touch them. The inverse of `add`.",
    "rename": "Rename an element or a connector; connections, parameters and mappings follow.",
    "set": "Set parameters and start values, in the parameter set from which they come; or the default experiment.",
    "unset": "Remove the parameters from which variables have their values. The inverse of `set`.",
    "bind": "Bind a parameter set to an element; its values win over those of earlier bindings.",
    "unbind": "Take a parameter binding away from an element. The inverse of `bind`.",
    "map": "Add entries to the mapping of a binding: parameters of its set get other names.",
    "unmap": "Take entries out of the mapping of a binding. The inverse of `map`.",
    "dictionary": "Make, fill and refer to signal dictionaries: signals that elements share by name.",
    "replace": (
        "Let a component be another FMU. Refused if connectors, connections or parameters use what that does not have."
    ),
}
"""Name → the first sentence of its help, in the order of the list of commands. The command `name` is `name_command` in
the module `name`; a group of them, `name_app`.
"""


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
        self.commands = {name: TyperCommand(name, help=summary) for name, summary in SUMMARIES.items()}
        super().format_help(ctx, formatter)
        self.commands = loaded

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise Interrupted from error


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
