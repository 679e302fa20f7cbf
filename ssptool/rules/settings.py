"""The settings of a project: `ssptool.toml`, or `[tool.ssptool]` in `pyproject.toml`, the nearest one upwards."""

import re
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

from ssptool.rules.catalogue import near
from ssptool.rules.switches import Choice, UnknownRule, UnknownTool
from ssptool.working_directory import absolute

OWN_FILE, PROJECT_FILE = "ssptool.toml", "pyproject.toml"
KEYS = ("select", "ignore", "strict", "for", "allow-outside")
_EXAMPLES = {"for": ("tools", "fmpy"), "allow-outside": ("folders", "../fmus")}


class InvalidSettings(Exception):
    """A settings file that says something that there is not: `path`, `line`, what, and what to try."""

    def __init__(self, path: Path, line: int, message: str, advice: str = "") -> None:
        super().__init__(f"{path}:{line}: {message}" + (f" ({advice})" if advice else ""))
        self.path, self.line, self.message, self.advice = path, line, message, advice


def find_settings(start: Path) -> Choice:
    """What the nearest settings file says, from the folder of `start` (or `start`, if it is one) upwards.

    Raises
    ------
    InvalidSettings
        The file is no TOML, or has an unknown key, a value of the wrong type, or a code that no rule has.
    """
    start = absolute(start)
    for folder in (start, *start.parents) if start.is_dir() else start.parents:
        for name in (OWN_FILE, PROJECT_FILE):
            path = folder / name
            if path.is_file() and (choice := _read(path)) is not None:
                return choice
    return Choice()


def _read(path: Path) -> Choice | None:
    """None if the file is no settings file of ours."""
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    if path.name == PROJECT_FILE and "ssptool" not in text:
        return None  # most are none of ours, and may be as wrong as they like
    return _stated(path, text)


@lru_cache(maxsize=8)  # opening, checking and running a system ask for the same file, which takes milliseconds to parse
def _stated(path: Path, text: str) -> Choice | None:
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        place = re.search(r"at line (\d+)", str(problem))
        line = int(place[1]) if place else text.count("\n") + 1
        raise InvalidSettings(path, line, f"not valid TOML: {problem}") from None
    if path.name == PROJECT_FILE or "tool" in content:
        # Our own file may have the header that pyproject.toml needs.
        tool = content.get("tool", {})
        if not isinstance(tool, dict) or "ssptool" not in tool:
            if path.name == PROJECT_FILE:
                return None
            raise InvalidSettings(path, _line(text, "tool"), "there is no setting 'tool'", "write [tool.ssptool]")
        content = tool["ssptool"]
        if not isinstance(content, dict):
            raise InvalidSettings(path, _line(text, "ssptool"), "tool.ssptool is not a table", "write [tool.ssptool]")
    return _choice(path, text, content)


def _choice(path: Path, text: str, content: dict[str, Any]) -> Choice:
    for key, value in content.items():
        line = _line(text, key, ours=True)
        if key not in KEYS:
            raise InvalidSettings(path, line, f"there is no setting {key!r}", near(key, KEYS))
        if key == "strict" and not isinstance(value, bool):
            raise InvalidSettings(path, line, f"strict is {value!r}", "it is true or false")
        if key != "strict" and not _is_list_of_texts(value):
            items, example = _EXAMPLES.get(key, ("codes", "SSD-GEO"))
            advice = f'it is a list of {items}, such as {key} = ["{example}"]'
            raise InvalidSettings(path, line, f"{key} is {value!r}", advice)
        try:
            if key == "for":
                Choice(tools=tuple(value))
            elif key in ("select", "ignore"):
                Choice(select=tuple(value))
        except UnknownRule as problem:
            raise InvalidSettings(path, line, f"no rule has the code {problem.code!r}", problem.advice) from None
        except UnknownTool as problem:
            message = f"the limits of {problem.tool!r} are not known"
            raise InvalidSettings(path, line, message, problem.advice) from None
    select, ignore, tools = (tuple(content.get(key, ())) for key in ("select", "ignore", "for"))
    folders = tuple(path.parent / folder for folder in content.get("allow-outside", ()))
    return Choice(select, ignore, content.get("strict"), tools, folders)


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _line(text: str, key: str, ours: bool = False) -> int:
    """Where a key stands; with `ours` below the header of our table."""
    lines = text.split("\n")
    headers = (number for number, line in enumerate(lines) if re.match(r"\s*\[tool\.ssptool\]", line))
    first = next(headers, 0) if ours else 0
    stated = re.compile(rf"""\s*(\[+\s*)?(tool\.ssptool\.)?["']?{re.escape(key)}["']?\s*[.=\]]""")
    return next((number for number in range(first, len(lines)) if stated.match(lines[number])), first) + 1
