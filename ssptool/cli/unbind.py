"""`ssptool unbind`."""

from typing import Annotated

import typer

from ssptool.cli.bundles import bundled
from ssptool.cli.edited import Editing, edited, editing_from
from ssptool.cli.options import SystemPath


@bundled(how=editing_from)
def unbind_command(
    system: SystemPath,
    how: Editing,
    file: Annotated[
        str, typer.Argument(metavar="FILE.ssv", help="The parameter set that is bound; or inline, for an inline set.")
    ],
    of: Annotated[str, typer.Option("--from", metavar="ELEMENT", help="Whose binding; else the system's.")] = "",
    number: Annotated[
        int | None,
        typer.Option("--number", metavar="N", min=1, help="Which one, from 1, if there are several of that set."),
    ] = None,
    with_resource: Annotated[
        bool, typer.Option("--with-resource", help="Delete the set and its mapping as well, if nothing else uses them.")
    ] = False,
) -> None:
    """Take a parameter binding away. The inverse of `bind`.

    For example `ssptool unbind plant heavy.ssv --from Motor`, or `ssptool unbind plant inline`.
    """
    with edited(system, how) as editor:
        editor.unbind(file, of=of, number=number, with_resource=with_resource)
