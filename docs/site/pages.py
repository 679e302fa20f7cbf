"""Gather the pages of the site: those of the repository, and references made from the program.

They are put into build/site/pages, or the folder SITE_PAGES, and keep their places, so that links hold there as here.
"""

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

import ssptool
from ssptool.cli.app import PANELS, app

ROOT = Path(__file__).parents[2]
PAGES = Path(os.environ.get("SITE_PAGES") or ROOT / "build" / "site" / "pages")


def gather() -> None:
    """Make all pages anew."""
    shutil.rmtree(PAGES, ignore_errors=True)
    documents = [*(ROOT / "docs").glob("*.md"), ROOT / "docs" / "qualification" / "README.md"]
    written = [*ROOT.glob("*.md"), *documents, *(ROOT / "systems").glob("*/README.md")]
    for page in written:
        for file in (page, *_targets(page)):
            place = PAGES / file.relative_to(ROOT)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)
    for name in ("colours.css", "iframe-worker.js"):
        shutil.copy(Path(__file__).with_name(name), PAGES)
    reference = PAGES / "reference"
    reference.mkdir()
    (reference / "commands.md").write_text("\n".join(_commands()), encoding="utf-8")
    (reference / "python.md").write_text("\n".join(_python()), encoding="utf-8")


def _targets(page: Path) -> Iterator[Path]:
    """Files that a page links to or shows."""
    for target in re.findall(r"\]\(([^)\s#]+)", page.read_text(encoding="utf-8")):
        file = (page.parent / target).resolve()
        if not target.startswith("http") and file.is_file():
            yield file


# -- commands -----------------------------------------------------------------------------------------------------


def _commands() -> Iterator[str]:
    yield "# Commands\n\nAs `ssptool COMMAND --help` prints them.\n"
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for panel, names in PANELS.items():
        yield f"## {panel}\n"
        for name in names:
            yield from _command(f"ssptool {name}", commands[name], "###")
            for inner, command in getattr(commands[name], "commands", {}).items():
                yield from _command(f"ssptool {name} {inner}", command, "####")


def _command(title: str, command: Any, heading: str) -> Iterator[str]:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option" and one.opts != ["--help"]]
    context = command.make_context("", [], resilient_parsing=True)
    metavars = [one.make_metavar(context) for one in arguments]
    words = " ".join([title, *(["[OPTIONS]"] if options else []), *metavars])
    yield f"{heading} {title}\n\n```text\n{words}\n```\n\n{_markdown(command.help)}\n"
    rows = [(name, one.help) for name, one in zip(metavars, arguments, strict=True) if getattr(one, "help", "")]
    for one in options:
        names = ", ".join((*one.opts, *one.secondary_opts))
        rows.append((f"{names} {one.metavar or ''}".rstrip(), one.help))
    if rows:
        yield "| argument or option | meaning |\n|---|---|"
        yield from (f"| `{name}` | {_markdown(text).replace('|', '&#124;')} |" for name, text in rows)
        yield ""


def _markdown(text: str | None) -> str:
    """A help text without the escapes that typer needs, and with those that Markdown needs."""
    plain = re.sub(r"\\(?=\[)", "", text or "")
    parts = re.split(r"(`[^`]*`)", plain)  # code stands for itself
    return "".join(part if part.startswith("`") else re.sub(r"([*_<\[\]])", r"\\\1", part) for part in parts)


# -- Python -------------------------------------------------------------------------------------------------------


def _python() -> Iterator[str]:
    yield "# Python\n\nAll that `import ssptool` offers; each name is loaded when it is first used.\n"
    public = {name: _module(name) for name in ssptool.__all__}
    functions = {name: module for name, module in public.items() if module.startswith("ssptool.api.")}
    for module in dict.fromkeys(sorted(functions.values())):
        yield f"## {_subject(module)}\n"
        yield from (f"::: {module}.{name}\n" for name in functions if functions[name] == module)
    yield "## Values and errors\n"
    others = {
        name: module for name, module in public.items() if module.startswith("ssptool.") and name not in functions
    }
    yield from (f"::: {module}.{name}\n" for name, module in others.items())
    for name in (name for name, module in public.items() if not module):
        thing = getattr(ssptool, name)
        told = (
            f"Formats: {', '.join(thing)}." if isinstance(thing, Mapping) else (thing.__doc__ or "").partition("\n")[0]
        )
        yield f"### `{name}`\n\n{told}\n"


def _module(name: str) -> str:
    """The module that defines a public name."""
    thing = getattr(ssptool, name)
    module = str(getattr(thing, "__module__", ""))
    return module if module.startswith("ssptool.") and getattr(import_module(module), name, None) is thing else ""


def _subject(module: str) -> str:
    """The first sentence of a module."""
    return (import_module(module).__doc__ or module).partition("\n")[0].rstrip(".")


if __name__ == "__main__":
    gather()
