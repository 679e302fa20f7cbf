"""The command `ssptool studio`."""

from pathlib import Path
from typing import Annotated

import typer

from ssptool.cli.app import say
from ssptool.cli.options import WHAT_A_SANDBOX_CLOSES, Variant, advise_sandbox, sandbox_setting
from ssptool.errors import WrongUsage, missing_extra
from ssptool.sandbox import check_sandbox, wanted


def _which_system(found: list[str]) -> WrongUsage:
    """No system is named, and the working folder has several."""
    return WrongUsage(f"there are several systems here; name one: {', '.join(found)}")


def studio_command(
    system: Annotated[
        Path | None,
        typer.Argument(
            metavar="[SYSTEM]",
            show_default=False,
            help="System to show: .ssp, unpacked folder, .ssd or .fmu; a new one is created when it is "
            "saved (default: the system in the working folder, or a new system.ssp).",
        ),
    ] = None,
    variant: Variant = None,
    port: Annotated[
        int,
        typer.Option(
            "--port",
            min=0,
            max=65535,
            help="Use this port of this machine (0: the usual one of this system, or any free port).",
        ),
    ] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address, and open no browser.")] = False,
    read_only: Annotated[bool, typer.Option("--read-only", help="Show the system, and allow no edits.")] = False,
    sandbox: Annotated[
        bool | None, typer.Option("--sandbox/--no-sandbox", show_default=False, help=WHAT_A_SANDBOX_CLOSES)
    ] = None,
) -> None:
    """Show and edit a system in the browser.

    A page on this machine shows the diagram, findings with their fixes, and values with their origin. Every gesture is
    one of the edit commands (`add`, `connect`, `set`, ...). It is shown as a diff, can be undone, and is written to
    disk when you save.

    The printed address works once, within a minute. Press Enter in the terminal for another one, Ctrl-C to stop. The
    studio needs an extra: pip install 'ssptool[studio]'.

    Examples:
      ssptool studio plant.ssp
    """
    try:
        from ssptool.studio.server import serve
    except ImportError as missing:
        raise missing_extra("studio", (missing.name or "starlette").partition(".")[0]) from None
    from ssptool.studio.session import EditSession

    path = _system_of_working_folder() if system is None else system
    asked = wanted(sandbox, sandbox_setting(path, {}))
    check_sandbox(asked)
    advise_sandbox(path, sandbox, {})
    stated = "the server was started with --read-only" * read_only
    session = EditSession(path, variant=variant, read_only=stated, sandbox=asked)
    try:
        serve(session, port=port, say=lambda text: say(f"{path}: {text}", verbatim=True), browser=not no_browser)
    finally:
        if session.kept_in is not None:
            advice = f"`ssptool studio {session.path}` offers to open them"
            say(f"unsaved edits are kept in {session.kept_in}; {advice}", verbatim=True)


def _system_of_working_folder() -> Path:
    """The system of the working folder, or a new one. Raises WrongUsage."""
    from ssptool.documents.archive import DEFAULT_STRUCTURE  # heavy: `--help` needs it not

    here = Path.cwd()
    found = [here] if (here / DEFAULT_STRUCTURE).is_file() else sorted(here.glob("*.ssp"))
    if len(found) > 1:
        raise _which_system([one.name for one in found])
    return found[0] if found else Path("system.ssp")
