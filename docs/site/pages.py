"""Gather the pages of the site: those of the repository, and references made from the program.

They are put into build/site/pages, or the folder SITE_PAGES, and keep their places, so that links hold there as here.
Notebooks become pages too; with the argument `run` they are executed, and the pages have their outputs.
"""

import html
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import commands
import nbformat
from nbclient import NotebookClient

import ssptool
from ssptool.public_names import PARTS

ROOT = Path(__file__).parents[2]
PAGES = Path(os.environ.get("SITE_PAGES") or ROOT / "build" / "site" / "pages")

FIRST_MODULES = ("run", "stepping", "check", "understand", "parameters", "edit", "study", "compare", "report")
"""Modules of `ssptool.api` that the Python reference begins with."""

FIRST_NAMES = ("simulate",)
"""Functions that come first in their modules."""


def gather(*, execute: bool = False) -> None:
    """Make all pages anew."""
    shutil.rmtree(PAGES, ignore_errors=True)
    documents = [
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs" / "recipes").glob("*.md"),
        ROOT / "docs" / "qualification" / "README.md",
    ]
    written = [*ROOT.glob("*.md"), *documents, *(ROOT / "systems").glob("*/README.md")]
    for page in written:
        for file in (page, *_targets(page)):
            place = PAGES / file.relative_to(ROOT)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)
    for page in PAGES.rglob("*.md"):
        text = page.read_text(encoding="utf-8").replace(".ipynb)", ".md)")
        page.write_text(_with_bars(text), encoding="utf-8")
    for notebook in (ROOT / "docs" / "notebooks").glob("*.ipynb"):
        write_notebook(notebook, PAGES / notebook.relative_to(ROOT).with_suffix(".md"), execute=execute)
    for name in ("colours.css", "iframe-worker.js", "wide_tables.js"):
        shutil.copy(Path(__file__).with_name(name), PAGES)
    reference = PAGES / "reference"
    reference.mkdir()
    (reference / "commands.md").write_text("\n".join(commands.markdown()), encoding="utf-8")
    (reference / "python.md").write_text("\n".join(_python()), encoding="utf-8")


def _with_bars(text: str) -> str:
    r"""The text, in whose tables `a\|b` is code with a bar: here the backslash would be shown, unlike on GitHub."""
    return "\n".join(_BAR.sub(_code, line) if line.startswith("|") else line for line in text.split("\n"))


_BAR = re.compile(r"`([^`]*\\\|[^`]*)`")


def _code(span: re.Match[str]) -> str:
    return f"<code>{html.escape(span[1].replace(chr(92), ''))}</code>".replace("|", "&#124;")


def _targets(page: Path) -> Iterator[Path]:
    """Files that a page links to or shows."""
    for target in re.findall(r"\]\(([^)\s#]+)", page.read_text(encoding="utf-8")):
        file = (page.parent / target).resolve()
        if not target.startswith("http") and file.is_file():
            yield file


# -- notebooks ----------------------------------------------------------------------------------------------------


def write_notebook(path: Path, page: Path, *, execute: bool) -> None:
    """A page of the cells of a notebook; its pictures are files beside it."""
    notebook = nbformat.read(path, as_version=4)
    if execute:
        NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(ROOT)}}).execute()
    page.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, page.with_suffix(".ipynb"))
    parts = [text for number, cell in enumerate(notebook.cells) for text in _cell(cell, page, number)]
    parts.insert(1, f"[This page as a notebook]({path.name})")
    page.write_text("\n\n".join(parts), encoding="utf-8")


def _cell(cell: Any, page: Path, number: int) -> Iterator[str]:
    if cell.cell_type == "markdown":
        yield cell.source
        return
    yield f"```python\n{cell.source}\n```"
    for place, output in enumerate(cell.outputs):
        data = output.get("data", {"text/plain": output.get("text", "")})
        if "image/svg+xml" in data:
            picture = page.with_name(f"{page.stem}-{number}-{place}.svg")
            picture.write_text(data["image/svg+xml"], encoding="utf-8")
            yield f"![Output of the cell above]({picture.name})"
        elif "text/html" in data:
            html = re.sub(r"<th[^>]*></th>", "<td></td>", data["text/html"])  # such as the corner of a table of pandas
            html = html.replace("<table>", '<table class="dataframe">')
            yield f'<div class="output">\n{html}\n</div>'
        else:
            yield f"```text\n{data['text/plain'].rstrip()}\n```"


# -- Python -------------------------------------------------------------------------------------------------------


def _python() -> Iterator[str]:
    yield "# Python\n\nAll that `import ssptool` offers; each name is loaded when it is first used.\n"
    yield from _names(ssptool, "Values")
    for part in PARTS:
        module = getattr(ssptool, part)
        yield f"## `ssptool.{part}`\n\n{module.__doc__}\n"
        yield from _names(module, "")


def _names(part: Any, heading: str) -> Iterator[str]:
    """Entries of a public module: functions by their subject, then values and errors."""
    public = {name: _module(getattr(part, name), name) for name in part.__all__}
    functions = {name: module for name, module in public.items() if heading and module.startswith("ssptool.api.")}
    for module in sorted(set(functions.values()), key=_place):
        yield f"## {_subject(module)}\n"
        own = [name for name in functions if functions[name] == module]
        yield from (f"::: {module}.{name}\n" for name in sorted(own, key=lambda name: name not in FIRST_NAMES))
    if heading:
        yield f"## {heading}\n"
    others = {
        name: module for name, module in public.items() if module.startswith("ssptool.") and name not in functions
    }
    yield from (f"::: {module}.{name}\n" for name, module in others.items())
    for name in (name for name, module in public.items() if not module):
        thing = getattr(part, name)
        told = (
            f"Formats: {', '.join(thing)}." if isinstance(thing, Mapping) else (thing.__doc__ or "").partition("\n")[0]
        )
        yield f"### `{name}`\n\n{told}\n"


def _module(thing: Any, name: str) -> str:
    """The module that defines what has a public name."""
    module = str(getattr(thing, "__module__", ""))
    return module if module.startswith("ssptool.") and getattr(import_module(module), name, None) is thing else ""


def _place(module: str) -> tuple[int, str]:
    """Place of a module: that of a usual session, then by its name."""
    name = module.removeprefix("ssptool.api.")
    return (FIRST_MODULES.index(name) if name in FIRST_MODULES else len(FIRST_MODULES)), name


def _subject(module: str) -> str:
    """The first sentence of a module."""
    return (import_module(module).__doc__ or module).partition("\n")[0].rstrip(".")


if __name__ == "__main__":
    gather(execute="run" in sys.argv[1:])
