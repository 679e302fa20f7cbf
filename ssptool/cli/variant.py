"""`ssptool variant list|add|remove|default`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import ssptool
from ssptool.cli.edited import Diff

if TYPE_CHECKING:
    from ssptool.editing.variants import VariantEdit

Package = Annotated[Path, typer.Argument(metavar="SYSTEM", help="An .ssp file or an unpacked one (folder).")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The variant, by its name or its file.")]

variant_app = typer.Typer(
    help="List and change the variants of a package.\n\nThese are the SSDs at its root.",
    no_args_is_help=True,
    add_completion=False,
)


@variant_app.command("list")
def list_command(system: Package) -> None:
    """Show the variants; the first is the default, SystemStructure.ssd."""
    for number, variant in enumerate(ssptool.list_variants(system)):
        default = ", the default" if number == 0 else ""
        typer.echo(f"{variant.name}  ({variant.file}, SSP {variant.version}{default})")


@variant_app.command("add")
def add_command(
    system: Package,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the new variant.")],
    like: Annotated[
        str | None, typer.Option("--from", metavar="VARIANT", help="The one to copy; without it the default.")
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", metavar="FILE.ssd", help="Of the new variant; without it called after it.")
    ] = None,
    diff: Diff = False,
) -> None:
    """Copy a variant under another name.

    For example `ssptool variant add plant Winter --from Summer`. The inverse is
    `variant remove`.
    """
    _show(ssptool.add_variant(system, name, like=like, file=file, save=not diff), diff)


@variant_app.command("remove")
def remove_command(system: Package, name: Name, diff: Diff = False) -> None:
    """Take a variant away, other than the default. The files that it refers to stay.

    For example `ssptool variant remove plant Winter`.
    """
    _show(ssptool.remove_variant(system, name, save=not diff), diff)


@variant_app.command("default")
def default_command(system: Package, name: Name, diff: Diff = False) -> None:
    """Make a variant the default: it becomes SystemStructure.ssd, and that gets a file called after its name.

    For example `ssptool variant default plant Winter`.
    """
    _show(ssptool.set_default_variant(system, name, save=not diff), diff)


def _show(edit: "VariantEdit", diff: bool) -> None:
    typer.echo(ssptool.unified_diff(edit.files).rstrip("\n") if diff else "\n".join(edit.notes))
