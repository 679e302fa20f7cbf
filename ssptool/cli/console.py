"""Where text goes: results to standard output, complaints and progress to standard error."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import typer


def complain(message: str) -> None:
    """One error, on standard error."""
    typer.secho("error: ", fg="red", bold=True, err=True, nl=False)
    typer.echo(message, err=True)


@contextmanager
def progress_bar(description: str) -> Iterator[Callable[[float], None]]:
    """A bar for a fraction 0 … 1, drawn on a terminal only and gone afterwards."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    with ExitStack() as stack:
        bars: list[Callable[[float], None]] = []

        def update(fraction: float) -> None:
            # Only now, because a bar is a thread, and a process is forked more safely while it has but one.
            if not bars:
                bars.append(_start_bar(description, stack))
            bars[0](fraction)

        yield update


def _start_bar(description: str, stack: ExitStack) -> Callable[[float], None]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    progress = stack.enter_context(Progress(*columns, console=Console(stderr=True), transient=True))
    task = progress.add_task(description, total=1.0)
    return lambda fraction: progress.update(task, completed=fraction)
