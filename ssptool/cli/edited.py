"""What all commands that edit have in common: their options, and how they end."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import ssptool
from ssptool.dataclass import dataclass

if TYPE_CHECKING:
    from ssptool.editing.editor import Editor


class Shared(StrEnum):
    """What to do about a nested document of which several components are made."""

    REFUSE = "refuse"
    ALL = "all"
    COPY = "copy"


EVERY_EDIT = "Every edit"
Diff = Annotated[
    bool,
    typer.Option("--diff", help="Show the changes as a unified diff, and write nothing.", rich_help_panel=EVERY_EDIT),
]
Force = Annotated[
    bool, typer.Option("--force", help="Write even if the system gets new errors.", rich_help_panel=EVERY_EDIT)
]
Into = Annotated[str, typer.Option("--into", metavar="SYSTEM", help="The system inside that gets it; else the root.")]
EditedVariant = Annotated[
    str | None,
    typer.Option(
        "--variant",
        metavar="NAME",
        help="Which SSD of the package; without it SystemStructure.ssd.",
        rich_help_panel=EVERY_EDIT,
    ),
]
SharedDocument = Annotated[
    Shared,
    typer.Option(
        "--shared",
        help="If a name leads into an .ssd or .ssp of which several components are made: refuse, edit all of them, or "
        "give the named one a copy of its own.",
        rich_help_panel=EVERY_EDIT,
    ),
]


@dataclass(frozen=True, slots=True)
class Editing:
    """What is edited beside the arguments of a command, and how it ends."""

    variant: str | None
    shared: Shared
    diff: bool
    force: bool


def editing_from(
    variant: EditedVariant = None,
    shared: SharedDocument = Shared.REFUSE,
    diff: Diff = False,
    force: Force = False,
) -> Editing:
    """The options of every command that edits."""
    return Editing(variant, shared, diff, force)


@contextmanager
def edited(system: Path, how: Editing, *, save: bool = True) -> "Iterator[Editor]":
    """Edit a system, and print what was done."""
    save = save and not how.diff
    editing = ssptool.edit(system, variant=how.variant, shared=how.shared.value, force=how.force, save=save)
    with showing(editing, how.diff) as editor:
        yield editor


@contextmanager
def showing(editing: "AbstractContextManager[Editor]", diff: bool) -> "Iterator[Editor]":
    """Run edits to their end, and then print what they did, or with `diff` what they would change."""
    text = ""
    try:
        with editing as editor:
            yield editor
            text = editor.diff().rstrip("\n") if diff else "\n".join(editor.notes)
    except Exception:
        if diff and text:
            typer.echo(text)  # What would not be saved is worth seeing even so.
        raise
    if text:
        typer.echo(text)


def parted(texts: list[str] | None, form: str, option: str | None = None) -> list[tuple[str, str]]:
    """`["a=b"]` → `[("a", "b")]`; `form` says in words such as SOURCE=TARGET what is expected."""
    pairs = []
    for text in texts or []:
        first, equals, second = text.partition("=")
        if not equals or not first.strip():
            raise typer.BadParameter(f"{text!r} is not of the form {form}", param_hint=option)
        pairs.append((first.strip(), second.strip()))
    return pairs
