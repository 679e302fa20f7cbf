"""Shell completion of names from the system on the command line."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

import ssptool
from ssptool.arguments import SYSTEM_ENDINGS

if TYPE_CHECKING:
    from ssptool.network.inventory import Inventory, VariableEntry

MOST = 200
"""Names offered at once; of more, only their parts up to the next dot."""

_SET = {"parameter", "calculatedParameter", "structuralParameter", "input"}
"""Causalities of variables that get values."""


def elements(ctx: typer.Context, incomplete: str) -> list[str]:
    """Full names of components."""
    return _offered(incomplete, (name for found in _contents(ctx) for name in _components(found)))


def full_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Full names of components and of their variables."""
    return _offered(
        incomplete,
        (name for found in _contents(ctx) for name in (*_components(found), *(one.name for one in found.variables))),
    )


def assignments(ctx: typer.Context, incomplete: str) -> list[str]:
    """Beginnings NAME= of assignments to parameters and inputs."""
    return _offered(
        incomplete,
        (f"{one.name}=" for found in _contents(ctx) for one in found.variables if _is_set(one)),
    )


def _is_set(variable: "VariableEntry") -> bool:
    return variable.causality in _SET


def _components(found: "Inventory") -> list[str]:
    return [one.name for one in found.components]


def _contents(ctx: typer.Context) -> Iterator["Inventory"]:
    """Contents of the system of a command line; none if it cannot be read, as nothing can be said while typing."""
    system = ctx.params.get("system") or _typed_system()
    if not system or not Path(system).exists():
        return
    try:
        yield ssptool.info(system, variables="*", variant=ctx.params.get("variant"), settings_file=False)
    except Exception:
        return


def _typed_system() -> str:
    """The system in the words of the shell: the arguments are not known where the value of an option is completed."""
    words = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")
    existing = (word.strip("'\"") for word in words.split()[2:] if not word.startswith("-"))
    return next((word for word in existing if Path(word).is_dir() or Path(word).suffix.lower() in SYSTEM_ENDINGS), "")


def _offered(incomplete: str, known: Iterator[str]) -> list[str]:
    found = list(dict.fromkeys(name for name in known if name.startswith(incomplete)))
    if len(found) <= MOST:
        return found
    dots = ((name, name.find(".", len(incomplete))) for name in found)
    return list(dict.fromkeys(name if dot < 0 else name[: dot + 1] for name, dot in dots))
