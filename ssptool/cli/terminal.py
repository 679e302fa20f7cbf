"""Text for the eye: filled to the width of a terminal, with headings, findings and remarks set apart by style.

Nothing of this happens to text that goes into a file or a pipe: there each line stands as it is.
"""

import os
import re
import textwrap
from shutil import get_terminal_size
from typing import TextIO

import typer

from ssptool.foreign_text import has_colour

_NARROWEST = 40
_DEEPER = 4
"""Blanks before the rest of a line that was filled, beyond those before the line."""
_FINDING = re.compile(r"^( *)(error|warning|note)(?=[: ])")
_COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}
_REMARK = re.compile(r"(?<=\S)  (\(.*\))$")


def for_reader(text: str, stream: TextIO) -> str:
    """The text as it suits the stream: unchanged where that is no terminal."""
    if not stream.isatty():
        return text
    return laid_out(text, max(terminal_size(stream).columns, _NARROWEST), colour=has_colour(stream))


def terminal_size(stream: TextIO) -> os.terminal_size:
    """Columns and rows: what COLUMNS and LINES say, else those of the terminal; 80 x 24 where it does not say."""
    # The standard library asks `sys.__stdout__`, which is no stream any more behind the gate of ours.
    try:
        own = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        own = os.terminal_size((0, 0))
    return get_terminal_size((own.columns or 80, own.lines or 24))


def laid_out(text: str, width: int, *, colour: bool) -> str:
    """Lines of at most `width` characters, broken between words; a longer word, such as a path, stays whole.

    What a line of the form "name  text" has no room for goes on below its text; of other lines, and of rows of a table,
    it is indented. A line that others are indented under is a heading, and so is the first one of a table.
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
    """Where the second and the later ones begin; a remark in parentheses is none."""
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
    return "\n".join(
        textwrap.wrap(
            line,
            width,
            subsequent_indent=" " * _hanging(line, width),
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
