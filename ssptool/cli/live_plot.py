"""`ssptool plot --live`: a picture in the terminal that follows a run."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

import ssptool
from ssptool.cli.app import say
from ssptool.cli.terminal import has_cursor
from ssptool.drawing.terminal_plot import LEAST_WIDTH, terminal_lines
from ssptool.engine.run.plots import curves_of
from ssptool.errors import WrongValue, counted
from ssptool.foreign_text import direct, has_colour, indented, terminal_size, without_commands

Show = Callable[[list[str]], None]


def live_plot(results: Path, signals: Sequence[str], stop_time: float | None, title: str | None) -> None:
    """Draw the results of a run during the run, until it has ended; without a terminal, draw only the last picture.

    Raises
    ------
    WrongValue
        Standard output cannot show the characters, or no signal can be drawn.
    """
    _check_encoding()
    runs = ssptool.follow(results, signals=signals, stop_time=stop_time)
    if not results.exists():
        say(f"waiting for {results}", err=True)
    name = results.name if title is None else title
    run: ssptool.types.FollowedRun | None = None
    try:
        with _screen() as show:
            for run in runs:
                if show is not None:
                    show(_picture(name, run, signals, whole=False))
    finally:
        # Also after Ctrl-C: what stood on the screen has gone with it.
        if run is not None and len(run.trace):
            typer.echo(without_commands("\n".join(_picture(name, run, signals, whole=not has_cursor(sys.stdout)))))
    if run is not None and run.failure:
        say(indented(run.failure))


def _check_encoding() -> None:
    encoding = sys.stdout.encoding or "utf-8"
    try:
        "⠿─".encode(encoding)
    except UnicodeEncodeError:
        raise WrongValue(
            f"a plot in the terminal needs the characters of UTF-8, and the output is in {encoding}; "
            "set PYTHONIOENCODING=utf-8, or draw a picture (--output)"
        ) from None


@contextmanager
def _screen() -> Iterator[Show | None]:
    """A screen of its own in the terminal, which shows lines; None where there is none."""
    if not has_cursor(sys.stdout):
        yield None
        return
    console = Console(file=direct(sys.stdout), highlight=False)
    with Live(console=console, screen=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False) as screen:
        yield lambda lines: screen.update(Text.from_ansi("\n".join(lines), no_wrap=True, overflow="crop"), refresh=True)


def _picture(name: str, run: "ssptool.types.FollowedRun", signals: Sequence[str], *, whole: bool) -> list[str]:
    """The lines of a run: as many as the terminal has, less one for what follows, or as many as it takes."""
    trace, size = run.trace, terminal_size(sys.stdout)
    curves = curves_of({"": trace}, signals) if len(trace) else []
    if len(trace) and not curves:
        raise WrongValue("there is no signal to draw: strings are never drawn, integers only if --signals selects them")
    reached = f", t = {trace.t[-1]:g} s, {counted(len(trace), 'row')}" if len(trace) else ""
    width = max(size.columns, LEAST_WIDTH) if whole else size.columns
    height = None if whole else size.lines - 1
    return terminal_lines(curves, f"{name}: {run.status}{reached}", width, height, colour=has_colour(sys.stdout))
