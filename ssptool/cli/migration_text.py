"""What `upgrade` and `downgrade` print."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ssptool.editing.versions import Migration

DocumentPath = Annotated[
    Path,
    typer.Argument(metavar="SYSTEM", help="An .ssp file, an unpacked one (folder), or one .ssd, .ssv, .ssm or .ssb."),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="PATH", help="Write there; without it in place.")
]


def migration_text(migration: "Migration", target: Path) -> str:
    """What happened, one line each, and a summary."""
    lines = [str(change) for change in migration.changes]
    lines += [f"{name}: a package inside stays as it is: versions may be mixed" for name in migration.nested]
    if migration.files:
        names = ", ".join(file.name for file in migration.files)
        lines.append(f"{target}: SSP {migration.version} now: {names}")
    else:
        lines.append(f"{target}: SSP {migration.version} already, nothing to do")
    return "\n".join(lines)
