"""The command lsp: a language server for editors."""

import os
import sys
from typing import Annotated

import typer

from ssptool.errors import missing_extra


def lsp_command(
    vscode: Annotated[
        bool, typer.Option("--vscode", help="Install the extension for VS Code that comes with ssptool, and end.")
    ] = False,
) -> None:
    """Serve an editor: findings, fixes and names while you type.

    This is a language server for .ssd, .ssv, .ssm and .ssb, settings, studies and scenarios, over standard input and
    output. Editors start it themselves. It shows the findings of `validate`, also in unsaved text, and offers the fixes
    of `validate --fix`. It needs an extra: pip install 'ssptool[lsp]'.

    For example in Neovim: `vim.lsp.start({name = 'ssptool', cmd = {'ssptool', 'lsp'}})`; `ssptool lsp --help` prints
    this.
    """
    if vscode:
        from ssptool.language_server.extension import install_extension

        print(install_extension())
        return
    if sys.stdin.isatty():
        raise typer.BadParameter("an editor starts this command, and speaks with it; docs/editors.md says how")
    try:
        from ssptool.language_server.server import serve
    except ImportError as missing:
        raise missing_extra("lsp", (missing.name or "pygls").partition(".")[0]) from None
    # A stream of its own, which is closed when the editor leaves; that of the process goes on to the end.
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as stdout:
        serve(sys.stdin.buffer, stdout)
