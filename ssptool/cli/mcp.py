"""The command `ssptool mcp`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from ssptool.errors import WrongUsage, missing_extra
from ssptool.sandbox import wanted


def _no_folder(folder: Path) -> WrongUsage:
    """There is no folder to serve."""
    return WrongUsage(f"{folder} is not a folder: name the folder with the systems to serve")


def mcp_command(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder to serve; nothing outside is read or written.")
    ] = Path(),
    allow_edits: Annotated[
        bool, typer.Option("--allow-edits", help="Apply edits (default: show them as diffs only).")
    ] = False,
    results: Annotated[
        Path | None,
        typer.Option(
            "--results", metavar="FOLDER", help="Let runs write results to this folder, inside the served folder."
        ),
    ] = None,
    sandbox: Annotated[
        bool,
        typer.Option(
            "--sandbox/--no-sandbox",
            show_default=False,
            help="Run FMUs in a sandbox (Linux), or in a child process with all your rights (default: --sandbox).",
        ),
    ] = True,
) -> None:
    """Serve a folder to programs that speak MCP.

    MCP is the Model Context Protocol, over standard input and output. Clients start this command by themselves. Its
    tools check, explain and run the systems of the folder, read results, and show edits as diffs. Results stay in
    memory, and no file is written, unless an option allows it.

    Examples:
      ssptool mcp plants
      ssptool mcp plants --allow-edits --results plants/results
    """
    if sys.stdin.isatty():
        raise typer.BadParameter("a client starts this command, and speaks with it; docs/mcp.md says how")
    if not folder.is_dir():
        raise _no_folder(folder)
    try:
        import mcp.server.stdio  # noqa: F401
        import mcp_types  # noqa: F401
    except ImportError:
        raise missing_extra("mcp", "mcp") from None
    from ssptool.cli.mcp_server.server import serve

    boxed = wanted(None, setting=True) if sandbox else False
    serve(folder, allow_edits=allow_edits, results=results, sandbox=boxed)
