"""Options that messages advise are there, for the commands that print these messages."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

import ssptool as library
from ssptool.cli.app import app

PACKAGE = Path(library.__file__).parent
RUNS = ("run", "study")
EDITS = ("set", "connect", "add", "bind", "unbind", "unmap", "pack", "unpack", "diff", "downgrade")
PRINTED_BY = {
    "analysis": ("linearize", "trim", "run"),
    "api": ("run", "reproduce", "pack"),
    "documents": ("validate", "run", *EDITS),
    "drawing": ("draw", "plot", "info"),
    "editing": EDITS,
    "engine": RUNS,
    "exporting": ("export",),
    "fmu": RUNS,
    "language_server": ("run", "draw"),
    "network": ("run", "explain", "add"),
    "results": ("reproduce",),
    "rules": ("validate", "rule", *RUNS),
    "studies": ("run", "study", "plot", "report"),
    "studio": ("run", "study"),
    "child_processes.py": RUNS,
    "option_words.py": ("run",),
    "sandbox.py": RUNS,
}
"""Part of the package → the commands of which its messages may name options; `cli` declares them itself."""
NOT_OURS = {"fmu": {"--version"}, "language_server": {"--install-extension", "--force"}}
"""Options of other programs, by the part that names them: a compiler and VS Code."""


def said(path: Path) -> Iterator[str]:
    """Texts of a module without docstrings and other texts that stand alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.value


def options(command: str) -> set[str]:
    found = typer.main.get_command(app).commands[command]
    each = (found, *getattr(found, "commands", {}).values())
    return {flag for one in each for parameter in one.params for flag in (*parameter.opts, *parameter.secondary_opts)}


def advised(part: str) -> set[str]:
    paths = [PACKAGE / part] if part.endswith(".py") else sorted((PACKAGE / part).rglob("*.py"))
    found = {
        option for path in paths for text in said(path) for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)
    }
    return found - NOT_OURS.get(part, set())


@pytest.mark.parametrize("part", PRINTED_BY)
def test_options_that_messages_advise_are_there(part):
    assert advised(part) <= set[str]().union(*map(options, PRINTED_BY[part]))


def test_no_part_that_advises_options_is_left_out():
    parts = {path.name for path in PACKAGE.iterdir() if path.is_dir() or path.suffix == ".py"} - {"cli"}
    assert {part for part in parts if advised(part)} <= PRINTED_BY.keys()
    assert advised("engine") > {"--max-iterations", "--master"}
