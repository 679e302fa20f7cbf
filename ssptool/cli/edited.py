"""What all commands that edit have in common: their options, and how they end."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ssptool.editing.editor import Editor

Diff = Annotated[bool, typer.Option("--diff", help="Show the changes as a unified diff, and write nothing.")]
Force = Annotated[bool, typer.Option("--force", help="Write even if the system gets new errors.")]
Into = Annotated[str, typer.Option("--into", metavar="SYSTEM", help="The system inside that gets it; else the root.")]


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
