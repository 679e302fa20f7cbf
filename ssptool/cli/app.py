"""The command `ssptool`: its list of commands, which are loaded on demand, and its errors.

Loading all commands takes as long as many a call. `--help` therefore prints `PANELS` without loading commands.
"""

import os
import re
import shlex
import signal
import sys
import threading
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, MutableMapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, NamedTuple, TextIO

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

import ssptool
from ssptool.cli.command_words import SYNONYMS, about
from ssptool.cli.terminal import for_reader
from ssptool.errors import (
    ENDING,
    ContradictingSettings,
    PartialSystem,
    RenamedSetting,
    WrongUsage,
    disk_trouble,
    is_own,
)
from ssptool.foreign_text import has_colour, indented, readable, several_lines, terminal_size, without_commands
from ssptool.working_directory import shown

PANELS = {
    "Check and understand": {
        "validate": "Check a system: findings with location, reason and fix.",
        "rule": "Explain a rule: its requirement, its reason, and the fix.",
        "info": "List components and variants of a system, or variables of an FMU.",
        "graph": "Show dependencies, component cycles and algebraic loops.",
        "draw": "Draw a system as a diagram.",
        "explain": "Explain the value of a parameter or connector, step by step.",
        "parameters": "List all parameters in a table, or write it to a file.",
        "studio": "Show and edit a system in the browser.",
        "lsp": "Serve an editor: findings, fixes and names while you type.",
        "mcp": "Serve a folder to programs that speak MCP.",
        "doctor": "List installed and missing parts of ssptool.",
    },
    "Run": {
        "plan": "Print the choices of a run, their reasons, and the calls.",
        "run": "Initialize and simulate a system, and write its results.",
        "study": "Run one system many times: `ssptool study FILE.toml`.",
        "sweep": "Run a system with each combination of values, and list results.",
    },
    "Analyze": {
        "linearize": "Linearize a system at one instant: matrices A, B, C, D.",
        "trim": "Find a steady state, and save it as a start of runs.",
        "modes": "List eigenvalues of a system: frequency, damping, participation.",
        "sensitivities": "Derive outputs over time with respect to parameters.",
    },
    "Results": {
        "plot": "Plot results over time, or the results of a study.",
        "compare": "Compare results with a reference, within tolerances.",
        "report": "Write one HTML report about a run or a study.",
        "reproduce": "Repeat the run of a result, and compare the values.",
    },
    "Edit": {
        "example": "List the example systems, or write one into a folder.",
        "new": "Create a system, empty or with FMUs.",
        "add": "Add FMUs, packages, tables, a nested system, or a connector.",
        "remove": "Remove elements or connectors. The inverse of `add`.",
        "connect": "Connect connectors, terminals, or elements by matching names.",
        "disconnect": "Remove connections. The inverse of `connect`.",
        "set": "Set parameters and start values, or the default experiment.",
        "unset": "Remove parameters that were set. The inverse of `set`.",
        "bind": "Bind a parameter set to an element.",
        "unbind": "Remove a parameter binding. The inverse of `bind`.",
        "map": "Map names of a bound parameter set to parameters.",
        "unmap": "Remove entries of a parameter mapping. The inverse of `map`.",
        "dictionary": "Edit signal dictionaries: signals that elements share by name.",
        "rename": "Rename an element or a connector, with all references to it.",
        "duplicate": "Copy an element, with its values and without its connections.",
        "copy": "Write elements as a new system, for `paste` into other systems.",
        "paste": "Copy elements of another system into a system.",
        "wrap": "Move elements into a new nested system.",
        "unwrap": "Dissolve a nested system. The inverse of `wrap`.",
        "move": "Move elements into a nested system, or out of it.",
        "place": "Set the position of an element in the diagram of its system.",
        "align": "Align elements in the diagram, or distribute them evenly.",
        "annotate": "Write a note into the diagram, move it, or remove it.",
        "route": "Route the line of a connection through points of the diagram.",
        "replace": "Replace the FMU of a component.",
    },
    "Packages, variants and versions": {
        "pack": "Pack a folder into a package. Equal folders give equal files.",
        "unpack": "Write the files of a package into a folder.",
        "convert": "Convert an FMU, or a system of Open Simulation Platform, to SSP.",
        "export": "Export a system as one FMU.",
        "variant": "List and change the variants of a package.",
        "upgrade": "Convert a system, or one document, to SSP 2.0.",
        "downgrade": "Convert a system, or one document, to SSP 1.0.",
        "diff": "Compare two systems by meaning, not by text.",
    },
}
"""Subject → name → the first sentence of its help, in the order of the list of commands.

The command `name` is the function `name_command` of its module; a group of commands, `name_app`.
"""

FAMILIES = {
    "understand": ("rule", "info", "graph", "draw", "explain", "parameters"),
    "run": ("plan", "run"),
    "study": ("study", "sweep"),
    "analysis": ("linearize", "modes", "trim", "sensitivities"),
    "results": ("plot", "compare", "report", "reproduce"),
    "edit": (
        "new",
        "add",
        "remove",
        "connect",
        "disconnect",
        "dictionary",
        "rename",
        "duplicate",
        "copy",
        "paste",
        "wrap",
        "unwrap",
        "move",
        "place",
        "align",
        "annotate",
        "route",
        "replace",
    ),
    "edit_parameters": ("set", "unset", "bind", "unbind", "map", "unmap"),
    "package": ("example", "pack", "unpack", "convert", "export", "variant", "upgrade", "downgrade", "diff"),
}
"""Module → its commands. A command of no family is in the module of its own name."""

SUMMARIES = {name: summary for commands in PANELS.values() for name, summary in commands.items()}


PACKAGE = Path(ssptool.__file__).parent

BUG = 70
"""Exit status of a mistake in ssptool itself (EX_SOFTWARE of sysexits.h)."""

USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]
"""Base of all errors of a command line."""

WITHOUT_VALUE = {"--statistics": ("text", "json")}
"""Option that may stand without a value → its values; the first is the one that is meant then."""


class Commands(TyperGroup):
    """A group whose commands are found as they are asked for."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.commands = _Loaded()

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the list of commands without loading one of them."""
        loaded = self.commands
        self.commands = {
            name: TyperCommand(name, help=summary, rich_help_panel=panel)
            for panel, commands in PANELS.items()
            for name, summary in commands.items()
        }
        super().format_help(ctx, formatter)
        self.commands = loaded

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _meant(args))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        word = args[0]
        if word not in self.commands and not word.startswith("-"):
            raise _not_a_command(word)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:  # typer would end without a message
            raise Terminated(signal.SIGINT) from error


def _meant(arguments: list[str]) -> list[str]:
    """Words to type here for these arguments, the first of which may be a word of another program."""
    if arguments[:1] == ["help"]:
        return [*_meant(arguments[1:]), "--help"]
    return [*SYNONYMS.get(arguments[0], arguments[:1]), *arguments[1:]] if arguments else arguments


_OF_SYSTEMS = {"info": "lists its contents", "validate": "checks it", "run": "runs it", "studio": "shows it"}
_OF_RESULTS = {"plot": "plots results", "report": "writes a page about them"}
_OF_MEASUREMENTS = {
    "plot": "plots its signals",
    "run SYSTEM --inputs": "drives inputs with its columns",
    "study new SYSTEM --data": "calibrates parameters with it",
}
_OF_STUDIES = {"study": "runs a study"}


def _not_a_command(word: str) -> WrongUsage:
    """The error for the first word of a line that is not a command: a file, the name of one, or an unknown word."""
    if Path(word).exists():
        return _without_command(word)
    if Path(word).suffix:
        return WrongUsage(f"{word} is neither a command nor an existing file\n`ssptool --help` lists all commands")
    return WrongUsage("\n".join(about(word, SUMMARIES)))


def _without_command(path: str) -> WrongUsage:
    """The error for a file without a command: what can be done with it."""
    ways = {".toml": _OF_STUDIES, **dict.fromkeys((".csv", ".parquet", ".mat", ".h5", ".mf4"), _OF_RESULTS)}
    found = ways.get(Path(path).suffix.lower(), _OF_SYSTEMS)
    if Path(path).suffix.lower() == ".csv" and not Path(f"{path}.json").exists():
        found = _OF_MEASUREMENTS
    lines = [f"ssptool {name} {shlex.quote(path)}: {does}" for name, does in found.items()]
    return WrongUsage("\n".join(["a command is missing", *lines]))


class _Command(TyperCommand):
    """A command with options that accept an optional value, which typer does not support.

    An option with one value is rejected if it is given twice, because typer would drop all values except the last.
    """

    left_out: Sequence[Any] = ()
    """Options that `--help` does not show, but the completion of the shell does."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        for option in self.left_out:
            option.hidden = True
        super().format_help(ctx, formatter)
        for option in self.left_out:
            option.hidden = False

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        args = list(_with_values(args))
        if any(one.startswith("--sandbox=") for one in args):
            self._take_degree_of_sandbox(ctx, args)
        if not ctx.resilient_parsing:  # else it is the shell that completes the line
            try:
                _, _, given = self.make_parser(ctx).parse_args(list(args))
            except USAGE_ERROR as error:
                error.ctx = error.ctx or ctx  # type: ignore[attr-defined]
                raise
            for one, times in Counter(given).items():
                if times > 1 and isinstance(one, TyperOption) and not (one.multiple or one.is_flag):
                    raise typer.BadParameter(f"given {times} times, and takes one value", ctx, one)
        return super().parse_args(ctx, args)

    def _take_degree_of_sandbox(self, ctx: Any, args: list[str]) -> None:
        from ssptool.option_words import BEST  # few commands state it
        from ssptool.sandbox import stated

        if not any("--sandbox" in one.opts for one in self.params):
            return
        for one in [one for one in args if one.startswith("--sandbox=")]:
            if (degree := one.partition("=")[2]) != BEST:
                raise typer.BadParameter(f"the value may only be {BEST}; found {degree!r}", ctx, param_hint="--sandbox")
            args.remove(one)
            ctx.call_on_close(partial(stated.reset, stated.set(BEST)))


def _with_values(arguments: list[str]) -> Iterator[str]:
    for argument, following in zip_longest(arguments, arguments[1:]):
        values = WITHOUT_VALUE.get(argument)
        yield argument if values is None or following in values else f"{argument}={values[0]}"


class _Loaded(MutableMapping[str, Any]):
    """Dictionary of all commands for typer, which loads each when it is looked up."""

    def __init__(self) -> None:
        self._commands: dict[str, Any] = dict.fromkeys(SUMMARIES)

    def __getitem__(self, name: str) -> Any:
        if self._commands[name] is None:
            self._commands[name] = _command(name)
        return self._commands[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._commands[name] = command

    def __delitem__(self, name: str) -> None:
        del self._commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._commands)

    def __len__(self) -> int:
        return len(self._commands)


def _command(name: str) -> Any:
    family = next((module for module, names in FAMILIES.items() if name in names), name)
    module = import_module(f"ssptool.cli.{family}")
    app: typer.Typer | None = getattr(module, f"{name}_app", None)
    if app is None:
        app = typer.Typer(add_completion=False)
        app.command(name)(getattr(module, f"{name}_command"))
    for registered in app.registered_commands:
        registered.cls = _Command
    command = typer.main.get_command(app)
    command.name = name
    for each in (command, *getattr(command, "commands", {}).values()):
        each.help = _plain(each.help or "")
        for option in each.params:
            option.help = _without_markup(_help_of(option))
        _shorten(each)
    return command


def _help_of(option: Any) -> str:
    """The help of an option or argument, with its default in the one form "(default: X)", and a word if it repeats."""
    text: str = getattr(option, "help", None) or ""
    default = getattr(option.default, "value", option.default)
    if option.show_default and isinstance(default, str | int | float) and default not in ("", False):
        text = f"{text.removesuffix('.')} (default: {default})."
    option.show_default = False
    return f"{text} Repeatable." if isinstance(option, TyperOption) and option.multiple else text


MOST_OPTIONS = 16
"""Options that one help shows; of a command with more, those without a panel, and `--help-all` all."""


def _shorten(command: Any) -> None:
    """Let the help of a command with many options show the usual ones."""
    left = [one for one in command.params if getattr(one, "rich_help_panel", None) and not one.hidden]
    if not isinstance(command, _Command) or len(command.params) <= MOST_OPTIONS or not left:
        return

    def show_all(ctx: Any, _option: Any, wanted: bool) -> None:
        if wanted and not ctx.resilient_parsing:
            command.left_out = ()
            typer.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()

    every = TyperOption(
        param_decls=["--help-all"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show_all,
        help=f"Show {len(left)} more options and exit.",
        show_default=False,
    )
    command.params.append(every)
    command.left_out = tuple(left)


def _plain(help: str) -> str:
    """A docstring as text for typer, which wraps it to the width of the terminal, except examples. Without this, typer
    would keep line breaks (except in the first paragraph), and interpret brackets as markup.
    """
    paragraphs = (one if one.startswith(EXAMPLES) else " ".join(one.split()) for one in help.split("\n\n"))
    return _without_markup("\n\n".join(paragraphs))


EXAMPLES = "Examples:\n"
"""The beginning of a paragraph of commands, each in a line of its own."""


def _without_markup(text: str) -> str:
    """Escape brackets: they enclose units and tables, not styles."""
    return re.sub(r"\[(?=[a-zA-Z/@#])", r"\\[", text)


def say(text: str, *, err: bool = False, nl: bool = True, verbatim: bool = False) -> None:
    """Print text that may come from files, so that neither the terminal nor a CI service interprets it as a command.

    It is wrapped to the width of a terminal and styled, except for text that programs may read (`verbatim`).
    """
    text = without_commands(several_lines(text if verbatim else _with_system(text)))
    stream = sys.stderr if err else sys.stdout
    typer.echo(text if verbatim else for_reader(text, stream), err=err, nl=nl, color=has_colour(stream))


_ADVISED = re.compile(r"(`ssptool (?:[a-z]+ )+)SYSTEM(?![.\w])")


def _with_system(text: str) -> str:
    """The text with the system of this call in commands that it advises, so that they can be pasted. An FMU is the
    system of a command, except of edits, which need it as a file.
    """
    if not _ADVISED.search(text):
        return text
    from ssptool.arguments import SYSTEM_ENDINGS  # for errors only

    words = [word for word in sys.argv[2:] if not word.startswith("-") and Path(word).exists()]
    systems = [word for word in words if Path(word).is_dir() or Path(word).suffix.lower() in SYSTEM_ENDINGS]
    if len(systems) != 1:
        return text
    name = shlex.quote(systems[0])
    if Path(systems[0]).suffix.lower() != ".fmu":
        return _ADVISED.sub(lambda found: found[1] + name, text)
    edits = (*FAMILIES["edit"], *FAMILIES["edit_parameters"])
    text = _ADVISED.sub(lambda found: found[0] if found[1].split()[1] in edits else found[1] + name, text)
    return re.sub(r"(`ssptool (?:convert|add SYSTEM) )FILE\.fmu", lambda found: found[1] + name, text)


def complain(message: str, *, rendered: bool = False) -> None:
    """Print one error on standard error; the lines of a `rendered` message are not indented."""
    say("error: " + readable(message if rendered else indented(message)), err=True)


app = typer.Typer(
    name="ssptool",
    cls=Commands,
    help="Validate, understand, initialize and co-simulate systems of FMUs in the SSP format.",
    no_args_is_help=True,
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
        bool, typer.Option("--version", "-V", help="Print the version and exit.", callback=_show_version, is_eager=True)
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
        with _ended_by_request(), warnings.catch_warnings():
            warnings.showwarning = _warn
            sys.exit(app(standalone_mode=False) or 0)
    except Terminated as stopped:
        what = "interrupted" if stopped.number == signal.SIGINT else "terminated"
        with suppress(OSError):  # the terminal may be closed
            complain(_with_notes(what, stopped.__cause__ or stopped))
        sys.exit(128 + stopped.number)
    except BrokenPipeError:
        # The reader of our output (`ssptool … | head`) has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except USAGE_ERROR as error:
        from ssptool.cli.usage import usage_message  # few calls need it

        if message := usage_message(error):
            complain(message)
        sys.exit(2)
    except Exception as error:
        if os.environ.get("SSPTOOL_DEBUG"):
            traceback.print_exc()
        sys.exit(_explain(error))


def _warn(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    if issubclass(category, RenamedSetting):
        text = f"warning: {message}"
    elif issubclass(category, PartialSystem):
        text = str(message)
    else:
        text = warnings.formatwarning(message, category, filename, lineno, line)
    say(readable(text), err=True)


class Terminated(BaseException):
    """A request to end the process: SIGINT (Ctrl-C), SIGTERM, for example of a job scheduler, or SIGHUP of a closed
    terminal. Results so far are kept and temporary files are removed.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@contextmanager
def _ended_by_request() -> Iterator[None]:
    """Raise `Terminated` on a request to end. The earlier handlers are restored afterwards."""
    if threading.current_thread() is not threading.main_thread():  # where Python has no signals
        yield
        return
    before = {number: handler for number in ENDING if (handler := signal.getsignal(number)) is not signal.SIG_IGN}
    for number in before:
        signal.signal(number, _terminate)
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:  # else it was not Python that saw to it
                signal.signal(number, handler)


def _terminate(number: int, _frame: FrameType | None) -> None:
    for one in ENDING:
        signal.signal(one, signal.SIG_IGN)  # once is enough
    raise Terminated(number)


def _with_notes(what: str, stopped: BaseException | None) -> str:
    """The message of an error, with the notes added to it."""
    return ": ".join([what, *getattr(stopped, "__notes__", [])])


def _explain(error: Exception) -> int:
    """Print an error and return its exit status."""
    trouble = explained(error, terminal_size(sys.stderr).columns if sys.stderr.isatty() else sys.maxsize)
    complain(trouble.message, rendered=trouble.rendered)
    return trouble.status


class Trouble(NamedTuple):
    """Message and exit status of an error; `rendered` as in `complain`."""

    message: str
    status: int
    rendered: bool = False


def explained(error: Exception, width: int = sys.maxsize) -> Trouble:
    """Text of an error for the user; excerpts of files have lines of this width."""
    if isinstance(error, WrongUsage):
        # Loaded here, because few calls of the command need it.
        from ssptool.arguments import WrongArgument

        if isinstance(error, WrongArgument):
            error = WrongArgument(_as_typed(error.name), error.found, error.expected)
        if isinstance(error, ContradictingSettings):
            return Trouble(_with_options(str(error)), error.exit_status)
        return Trouble(_text(error), error.exit_status)
    if is_own(error):
        rendered = getattr(error, "rendered", None)
        return Trouble(_text(error), 1) if rendered is None else Trouble(rendered(width), 1, rendered=True)
    if isinstance(error, OSError) and not _in_package(str(error.filename or "")):
        return Trouble(sentence(error), 2)
    if isinstance(error, MemoryError):
        return Trouble(f"there is not enough memory for this{f': {error}' if error.args else ''}", 1)
    return Trouble(_bug_report(error), BUG)


def _text(error: Exception) -> str:
    """The message of an error, without the quotes of a `KeyError` and without the repetition of a single finding."""
    findings: Sequence[Any] = getattr(error, "diagnostics", ())
    if len(findings) == 1 and str(error) == str(findings[0]):
        return str(error).replace(f": {findings[0].severity} {findings[0].code}: ", f": {findings[0].code}: ", 1)
    return str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)


def _bug_report(error: Exception) -> str:
    """Report of a bug: error, place, and the text to send."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if _in_package(frame.filename)]
    where = f" ({Path(own[-1].filename).relative_to(PACKAGE.parent)}:{own[-1].lineno})" if own else ""
    typed = shlex.join(argument for argument in sys.argv[1:] if argument != "--debug")
    return (
        f"internal error: {type(error).__name__}: {error}{where}\n"
        "This is a bug of ssptool, and not a mistake of yours. Please report it with what this prints:\n"
        f"  ssptool --debug {typed}\n"
        f"ssptool {ssptool.__version__}, Python {sys.version.split()[0]}, {sys.platform}"
    )


def _in_package(file: str) -> bool:
    return PACKAGE in Path(file).parents


def _as_typed(name: str) -> str:
    """The option that was typed for an argument of Python: `--substeps System2` for `substeps['System2']`."""
    match = re.fullmatch(r"(\w+)(?:\['(.*)'\])?", name)
    option = "" if match is None else f"--{match[1].replace('_', '-')}"
    if match is None or option not in {argument.partition("=")[0] for argument in sys.argv}:
        return name
    return f"{option} {match[2]}" if match[2] else option


def _with_options(message: str) -> str:
    """The message with `--max-iterations` for `max_iterations`, if one of the names in it was typed as an option."""
    names = re.compile(r"(?<![\w-])[a-z]+(?:_[a-z]+)+\b")
    options = {name: f"--{name.replace('_', '-')}" for name in names.findall(message)}
    typed = {argument.partition("=")[0] for argument in sys.argv}
    return names.sub(lambda name: options[name[0]], message) if typed.intersection(options.values()) else message


def sentence(error: OSError) -> str:
    """File, what is wrong, and the way out, without number and brackets of the operating system."""
    if isinstance(error, FileNotFoundError) and error.filename is not None:
        path = shown(Path(os.fsdecode(error.filename)))
        folder = path.parent
        return f"{path} does not exist" if folder.is_dir() else f"{folder}: no such folder; make it first"
    if error.filename is not None and error.strerror:
        return f"{shown(Path(os.fsdecode(error.filename)))}: {disk_trouble(error)}"
    return disk_trouble(error)
