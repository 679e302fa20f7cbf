"""`ssptool`: the command, and where its errors end."""

import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

import ssptool
from ssptool.cli.commands import Commands, Interrupted
from ssptool.cli.console import complain
from ssptool.working_directory import shown
from ssptool.wrong_usage import WrongUsage

app = typer.Typer(
    name="ssptool",
    cls=Commands,
    help="Validate, understand, initialize and co-simulate systems of FMUs in the SSP format.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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


def command() -> None:
    """Run the command. Whatever goes wrong reaches the user as a sentence, and the caller as an exit status."""
    # Threads of the BLAS library take longer to start than most runs do, and matrices here are small.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        with _ended_by_sigterm():
            app()
    except Interrupted as stopped:
        complain(_with_notes("interrupted", stopped.__cause__))
        sys.exit(130)
    except Terminated as stopped:
        complain(_with_notes("terminated", stopped))
        sys.exit(143)
    except BrokenPipeError:
        # The reader of our output (`ssptool … | head`) has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        if os.environ.get("SSPTOOL_DEBUG"):
            traceback.print_exc()
        sys.exit(_explain(error))


class Terminated(BaseException):
    """Somebody asked this process to end (SIGTERM), such as a scheduler of jobs: as if interrupted from the keyboard,
    it keeps what there is and clears away what it has made.
    """


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """A request to end raises `Terminated`. Whoever calls the command gets back what it had done with such requests."""
    if threading.current_thread() is not threading.main_thread():  # where Python has no signals
        yield
        return
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        if before is not None:  # else it was not Python that saw to it
            signal.signal(signal.SIGTERM, before)


def _terminate(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough
    raise Terminated


def _with_notes(what: str, stopped: BaseException | None) -> str:
    """What happened, and what those that it went through had to say of it."""
    return ": ".join([what, *getattr(stopped, "__notes__", [])])


def _explain(error: Exception) -> int:
    """Print what is wrong and return the exit status that says what kind of trouble it is."""
    if isinstance(error, WrongUsage):
        # Loaded here, because few calls of the command need it.
        from ssptool.arguments import WrongArgument

        if isinstance(error, WrongArgument):
            error = WrongArgument(_as_typed(error.name), error.found, error.expected)
        complain(str(error.args[0] if isinstance(error, KeyError) else error))
        return 2
    if any(kind.__module__.split(".")[0] == "ssptool" for kind in type(error).__mro__):
        complain(str(error))
        return 1
    if isinstance(error, OSError | ValueError | LookupError):
        complain(_sentence(error))
        return 2
    complain(f"internal error: {type(error).__name__}: {error}. This is a bug; --debug shows where.")
    return 1


def _as_typed(name: str) -> str:
    """The option that was typed for an argument of Python: `--substeps System2` for `substeps['System2']`."""
    match = re.fullmatch(r"(\w+)(?:\['(.*)'\])?", name)
    option = "" if match is None else f"--{match[1].replace('_', '-')}"
    if match is None or option not in {argument.partition("=")[0] for argument in sys.argv}:
        return name
    return f"{option} {match[2]}" if match[2] else option


def _sentence(error: Exception) -> str:
    """What Python says, without number and brackets of the operating system."""
    if isinstance(error, FileNotFoundError) and error.filename is not None:
        path = shown(Path(os.fsdecode(error.filename)))
        folder = path.parent
        return f"{path} does not exist" if folder.is_dir() else f"{folder}: no such folder; make it first"
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{shown(Path(os.fsdecode(error.filename)))}: {error.strerror[0].lower()}{error.strerror[1:]}"
    return str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
