"""References of the commands, made from the program: a page of the site in Markdown, and manual pages.

`python docs/site/commands.py FOLDER` writes the manual pages; `make man` does so.
"""

import os
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import typer

import ssptool
from ssptool.cli.app import EXAMPLES, PANELS, app


class Command(NamedTuple):
    """A command as `--help` shows it. `level` is 1 for one of a group of commands, such as `variant add`."""

    title: str
    panel: str
    level: int
    synopsis: str
    help: str
    rows: tuple[tuple[str, str], ...]
    """Arguments and options with their meanings."""


def commands() -> Iterator[Command]:
    """All commands in the order of `ssptool --help`; those of a group follow it."""
    known = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for panel, names in PANELS.items():
        for name in names:
            yield _command(f"ssptool {name}", panel, 0, known[name])
            for inner, command in getattr(known[name], "commands", {}).items():
                yield _command(f"ssptool {name} {inner}", panel, 1, command)


def _command(title: str, panel: str, level: int, command: Any) -> Command:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option" and one.opts != ["--help"]]
    context = command.make_context("", [], resilient_parsing=True)
    metavars = [one.make_metavar(context) for one in arguments]
    rows = [(name, _plain(one.help)) for name, one in zip(metavars, arguments, strict=True) if one.help]
    for one in options:
        names = ", ".join((*one.opts, *one.secondary_opts))
        rows.append((f"{names} {one.metavar or ''}".rstrip(), _plain(one.help) + _default(one)))
    words = " ".join([title, *(["[OPTIONS]"] if options else []), *metavars])
    return Command(title, panel, level, words, _plain(command.help), tuple(rows))


def _default(option: Any) -> str:
    value = getattr(option.default, "value", option.default)
    shown = option.show_default and value not in (None, False, True, "", (), []) and not callable(value)
    return f" Default: {value}." if shown else ""


def _plain(text: str | None) -> str:
    """A help text without the escapes that typer needs."""
    return re.sub(r"\\(?=\[)", "", text or "")


# -- Markdown -----------------------------------------------------------------------------------------------------


def markdown() -> Iterator[str]:
    """Lines of the page."""
    yield "# Commands\n"
    yield "The text of `ssptool COMMAND --help-all`. Wheels also contain it as manual pages: `man ssptool-run`.\n"
    panel = ""
    for command in commands():
        if command.panel != panel:
            panel = command.panel
            yield f"## {panel}\n"
        yield f"###{'#' * command.level} {command.title}\n"
        yield f"```text\n{command.synopsis}\n```\n\n{_with_examples(command.help)}\n"
        if command.rows:
            yield "| argument or option | meaning |\n|---|---|"
            yield from (f"| `{name}` | {_markdown(text).replace('|', '&#124;')} |" for name, text in command.rows)
            yield ""


def _with_examples(help: str) -> str:
    """A help whose examples are a block of code."""
    text, _, examples = help.partition(EXAMPLES)
    return _markdown(text) + (f"Examples:\n\n```text\n{dedent(examples).rstrip()}\n```\n" if examples else "")


def _markdown(text: str) -> str:
    """With the escapes that Markdown needs."""
    parts = re.split(r"(`[^`]*`)", text)  # code stands for itself
    return "".join(part if part.startswith("`") else re.sub(r"([*_<\[\]])", r"\\\1", part) for part in parts)


# -- manual pages -------------------------------------------------------------------------------------------------


def write_manual(folder: Path) -> None:
    """Write a manual page for each command, and one for all of them, into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    known = list(commands())
    (folder / "ssptool.1").write_text(_overview(known), encoding="utf-8")
    for command in known:
        (folder / f"{command.title.replace(' ', '-')}.1").write_text(_manual(command), encoding="utf-8")


def _overview(known: list[Command]) -> str:
    lines = [
        _head("ssptool"),
        ".SH NAME",
        "ssptool \\- validate, edit, run and export systems of FMUs in the SSP format",
    ]
    lines += [".SH SYNOPSIS", ".B ssptool", "[\\-\\-version] COMMAND [OPTIONS] [ARGUMENTS]"]
    for panel in PANELS:
        lines.append(f'.SH "{panel.upper()}"')
        for command in known:
            if command.panel == panel:
                lines += [".TP", f".BR {_roff(command.title).replace(' ', '-')} (1)", _roff(_first_sentence(command))]
    return "\n".join([*lines, ""])


def _manual(command: Command) -> str:
    name = command.title.replace(" ", "-")
    lines = [_head(name), ".SH NAME", f"{_roff(name)} \\- {_roff(_first_sentence(command)).rstrip('.')}"]
    lines += [".SH SYNOPSIS", f".B {_roff(command.title)}", _roff(command.synopsis.removeprefix(command.title).strip())]
    lines.append(".SH DESCRIPTION")
    lines.append("\n.PP\n".join(map(_paragraph, command.help.split("\n\n"))))
    if command.rows:
        lines.append(".SH ARGUMENTS AND OPTIONS")
        for term, meaning in command.rows:
            lines += [".TP", f".B {_roff(term)}", _roff(" ".join(meaning.split()))]
    return "\n".join([*lines, ".SH SEE ALSO", ".BR ssptool (1)", ""])


def _paragraph(text: str) -> str:
    if not text.startswith(EXAMPLES):
        return _roff(" ".join(text.split()))
    commands = "\n".join(_roff(one) for one in dedent(text.removeprefix(EXAMPLES)).splitlines())
    return f"Examples:\n.PP\n.RS\n.nf\n{commands}\n.fi\n.RE"


def _head(name: str) -> str:
    made = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", 0)) or datetime.now().timestamp(), UTC)
    return f'.TH "{name.upper()}" 1 "{made:%Y-%m-%d}" "ssptool {ssptool.__version__}" "ssptool"'


def _first_sentence(command: Command) -> str:
    return " ".join(command.help.partition("\n\n")[0].split())


def _roff(text: str) -> str:
    """Text with code in bold, and without anything that troff takes for a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", text)
    return re.sub(r"^([.'])", r"\\&\1", text)


if __name__ == "__main__":
    write_manual(Path(sys.argv[1]))
