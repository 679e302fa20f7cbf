"""Gather the pages of the site: those of the repository, and references made from the program.

They are put into build/site/pages, or the folder SITE_PAGES, and keep their places, so that links hold there as here.
"""

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

import commands

import ssptool

ROOT = Path(__file__).parents[2]
PAGES = Path(os.environ.get("SITE_PAGES") or ROOT / "build" / "site" / "pages")


def gather() -> None:
    """Make all pages anew."""
    shutil.rmtree(PAGES, ignore_errors=True)
    written = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "systems").glob("*/README.md")]
    for page in written:
        for file in (page, *_targets(page)):
            place = PAGES / file.relative_to(ROOT)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)
    for name in ("colours.css", "iframe-worker.js"):
        shutil.copy(Path(__file__).with_name(name), PAGES)
    reference = PAGES / "reference"
    reference.mkdir()
    (reference / "commands.md").write_text("\n".join(commands.markdown()), encoding="utf-8")
    (reference / "python.md").write_text("\n".join(_python()), encoding="utf-8")


def _targets(page: Path) -> Iterator[Path]:
    """Files that a page links to or shows."""
    for target in re.findall(r"\]\(([^)\s#]+)", page.read_text(encoding="utf-8")):
        file = (page.parent / target).resolve()
        if not target.startswith("http") and file.is_file():
            yield file


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
