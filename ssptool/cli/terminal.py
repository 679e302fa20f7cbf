"""Text on a terminal: wrapped to its width, with styles for headings, findings and remarks; and the progress of long
work.

Text that goes to a file or a pipe is not changed.
"""

import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, TextIO

import typer

from ssptool.foreign_text import direct, has_colour, terminal_size
from ssptool.work_in_progress import NOTHING, Listener, listening

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

_NARROWEST = 40
_DEEPER = 4
"""Blanks before the rest of a line that was filled, beyond those before the line."""
_FINDING = re.compile(r"^( *)(error|warning|note)(?=[: ])")
_COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}
_REMARK = re.compile(r"(?<=\S)  (\(.*\))$")


def for_reader(text: str, stream: TextIO) -> str:
    """The text formatted for the stream; unchanged if the stream is not a terminal."""
    if not stream.isatty():
        return text
    return laid_out(text, max(terminal_size(stream).columns, _NARROWEST), colour=has_colour(stream))


def laid_out(text: str, width: int, *, colour: bool) -> str:
    """Lines of at most `width` characters, broken between words; longer words, such as paths, are not broken.

    Lines of the form "name  text" continue below their text; other lines, and rows of tables, continue indented. A line
    above indented lines, and the first line of a table, is a heading.
    """
    lines = text.split("\n")
    filled = (_filled(line, width) for line in lines)
    if not colour:
        return "\n".join(filled)
    return "\n".join(
        "\n".join(_styled(part, heading) for part in line.split("\n"))
        for line, heading in zip(filled, _headings(lines), strict=True)
    )


def _columns(line: str) -> list[int]:
    """Beginnings of the second and the later columns; a remark in parentheses is none."""
    return [gap.end() for gap in re.finditer(r"(?<=\S) {2,}(?!\()", line)]


def _headings(lines: list[str]) -> list[bool]:
    columns = len(_columns(lines[0]))
    return [columns > 1] + [False] * (len(lines) - 1) if columns else _outline(lines)


def _outline(lines: list[str]) -> list[bool]:
    return [
        bool(line) and not line.startswith(" ") and below.startswith("  ") and not _columns(line)
        for line, below in zip(lines, [*lines[1:], ""], strict=True)
    ]


def _filled(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    longest = max(map(len, line.split()), default=0)
    return "\n".join(
        textwrap.wrap(
            line,
            width,
            subsequent_indent=" " * min(_hanging(line, width), max(width - longest, 0)),
            break_long_words=False,
            break_on_hyphens=False,
            expand_tabs=False,
            replace_whitespace=False,
        )
    )


def _hanging(line: str, width: int) -> int:
    """Blanks before the rest of a line."""
    columns = _columns(line)
    indent = len(line) - len(line.lstrip(" "))
    return columns[0] if len(columns) == 1 and columns[0] <= width // 2 else indent + _DEEPER


def _styled(line: str, heading: bool) -> str:
    finding = _FINDING.match(line)
    if finding is not None:
        word = typer.style(finding[2], fg=_COLOURS[finding[2]], bold=True)
        return finding[1] + word + line[finding.end() :]
    if heading:
        return typer.style(line, bold=True)
    return _REMARK.sub(lambda remark: "  " + typer.style(remark[1], dim=True), line)


# -- progress ----------------------------------------------------------------------------------------------------------


def has_cursor(stream: TextIO) -> bool:
    """Whether it is a terminal with a cursor that can be moved."""
    return stream.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


_PATIENCE = 0.25
"""Seconds without a word: with the start of the command and the loading of rich, less than one until the first."""
_TURN = 0.1
"""Seconds from one picture to the next."""


@contextmanager
def busy() -> Iterator[Listener]:
    """Show long work in a temporary line on standard error; yields the function that takes its words.

    The line appears only on a terminal with styles, and not for short work.
    """
    if not has_colour(sys.stderr):
        yield lambda _: None
        return
    line = _WorkLine()
    with listening(line.tell):
        try:
            yield line.tell
        finally:
            line.close()


class _WorkLine:
    """A turning bar and words beside it, drawn by a thread that ends with the line."""

    def __init__(self) -> None:
        self._words = "reading"
        self._ended = Event()
        self._thread = Thread(target=self._draw, daemon=True)
        self._thread.start()

    def tell(self, words: str) -> None:
        self._words = words
        if words == NOTHING:
            self.close()

    def close(self) -> None:
        self._ended.set()
        self._thread.join()

    def _draw(self) -> None:
        if self._ended.wait(_PATIENCE):
            return
        from rich.live import Live
        from rich.spinner import Spinner

        turning = Spinner("line", self._words)  # of ASCII, which every terminal takes
        # The standard streams belong to the thread that works.
        with Live(
            turning,
            console=_console(),
            transient=True,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        ) as live:
            while not self._ended.wait(_TURN):
                turning.update(text=self._words)
                live.refresh()


@contextmanager
def progress_bar(description: str) -> Iterator[Callable[[float], None]]:
    """A bar for a fraction 0 … 1, with the work that is done before and after it: on a terminal only, and temporary."""
    if not has_cursor(sys.stderr):
        yield lambda _: None
        return
    with busy() as line, ExitStack() as stack:
        bar = _Bar(description, line, stack)
        with listening(bar.tell):
            yield bar.update


class _Bar:
    """A bar that begins with the first fraction. Work that is told before it is shown in a `line`, and work that is
    told later in the bar, which moves to and fro until the next fraction.
    """

    def __init__(self, description: str, line: Listener, stack: ExitStack) -> None:
        self._base, self._line, self._stack = description, line, stack
        self._words = description
        self._drawn: Progress | None = None
        self._shown: TaskID | None = None
        self._has_fraction = False

    def update(self, fraction: float) -> None:
        if not self._has_fraction:
            self._show(self._words, 1.0)
        if self._drawn is not None and self._shown is not None:
            self._drawn.update(self._shown, completed=fraction)

    def tell(self, words: str) -> None:
        if self._drawn is None:
            self._line(words)
            return
        self._words = words or self._base
        if words != NOTHING:
            self._show(words, None)

    def _show(self, words: str, total: float | None) -> None:
        """Show this work alone; rich changes no bar with an end into one without."""
        # Only now, because a bar is a thread, and a process is forked more safely while it has but one.
        self._drawn = self._drawn or self._begun()
        if self._shown is not None:
            self._drawn.remove_task(self._shown)
        self._shown, self._has_fraction = self._drawn.add_task(words, total=total), total is not None

    def _begun(self) -> "Progress":
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        return self._stack.enter_context(Progress(*columns, console=_console(), transient=True))


def _console() -> "Console":
    from rich.console import Console

    return Console(file=direct(sys.stderr))
