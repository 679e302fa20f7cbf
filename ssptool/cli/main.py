"""`ssptool`: the command, and where its errors end."""

import os
import sys
import traceback
from typing import Annotated

import typer

import ssptool
from ssptool.cli.add import add_command
from ssptool.cli.bind import bind_command
from ssptool.cli.compare import compare_command
from ssptool.cli.connect import connect_command
from ssptool.cli.console import complain
from ssptool.cli.dictionary import dictionary_app
from ssptool.cli.diff import diff_command
from ssptool.cli.disconnect import disconnect_command
from ssptool.cli.downgrade import downgrade_command
from ssptool.cli.draw import draw_command
from ssptool.cli.explain import explain_command
from ssptool.cli.graph import graph_command
from ssptool.cli.info import info_command
from ssptool.cli.map import map_command
from ssptool.cli.new import new_command
from ssptool.cli.pack import pack_command
from ssptool.cli.plan import plan_command
from ssptool.cli.plot import plot_command
from ssptool.cli.remove import remove_command
from ssptool.cli.rename import rename_command
from ssptool.cli.replace import replace_command
from ssptool.cli.rule import rule_command
from ssptool.cli.run import run_command
from ssptool.cli.set import set_command
from ssptool.cli.unbind import unbind_command
from ssptool.cli.unmap import unmap_command
from ssptool.cli.unpack import unpack_command
from ssptool.cli.unset import unset_command
from ssptool.cli.upgrade import upgrade_command
from ssptool.cli.validate import validate_command
from ssptool.cli.variant import variant_app

app = typer.Typer(
    name="ssptool",
    help="Validate, understand, initialize and co-simulate systems of FMUs in the SSP format.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("validate")(validate_command)
app.command("rule")(rule_command)
app.command("explain")(explain_command)
app.command("graph")(graph_command)
app.command("draw")(draw_command)
app.command("plan")(plan_command)
app.command("run")(run_command)
app.command("plot")(plot_command)
app.command("compare")(compare_command)
app.command("info")(info_command)
app.command("diff")(diff_command)
app.command("upgrade")(upgrade_command)
app.command("downgrade")(downgrade_command)
app.command("pack")(pack_command)
app.command("unpack")(unpack_command)
app.add_typer(variant_app, name="variant")
app.command("new")(new_command)
app.command("add")(add_command)
app.command("connect")(connect_command)
app.command("disconnect")(disconnect_command)
app.command("remove")(remove_command)
app.command("rename")(rename_command)
app.command("set")(set_command)
app.command("unset")(unset_command)
app.command("bind")(bind_command)
app.command("unbind")(unbind_command)
app.command("map")(map_command)
app.command("unmap")(unmap_command)
app.add_typer(dictionary_app, name="dictionary")
app.command("replace")(replace_command)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ssptool {ssptool.__version__}")
        raise typer.Exit


def _debug(wanted: bool) -> None:
    if wanted:
        os.environ["SSPTOOL_DEBUG"] = "1"


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show Python's traceback when something goes wrong.", callback=_debug)
    ] = False,
) -> None:
    """Options that stand before the command."""


def main() -> None:
    """Run the command. Whatever goes wrong reaches the user as a sentence, and the caller as an exit status."""
    try:
        app()
    except KeyboardInterrupt:
        complain("interrupted")
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output (`ssptool … | head`) has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        if os.environ.get("SSPTOOL_DEBUG"):
            traceback.print_exc()
        sys.exit(_explain(error))


def _explain(error: Exception) -> int:
    """Print what is wrong and return the exit status that says what kind of trouble it is."""
    if any(kind.__module__.split(".")[0] == "ssptool" for kind in type(error).__mro__):
        complain(str(error))
        return 1
    if isinstance(error, OSError | ValueError | LookupError):
        complain(error.args[0] if isinstance(error, KeyError) and error.args else str(error))
        return 2
    complain(f"internal error: {type(error).__name__}: {error}. This is a bug; --debug shows where.")
    return 1
