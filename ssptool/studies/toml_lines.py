"""On which lines of a TOML file its keys are, which the parser does not tell."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from ssptool.studies.findings import Key

_QUOTED = r'"(?:[^"\\]|\\.)*"|\'[^\']*\''
_KEY = re.compile(rf"^\s*((?:{_QUOTED}|[\w-]+)(?:\s*\.\s*(?:{_QUOTED}|[\w-]+))*)\s*=")
_TABLE = re.compile(rf"^\s*\[\[?\s*((?:{_QUOTED}|[^\]\"'])+)\]")


def key_lines(text: str) -> dict[Key, int]:
    """Key → line, from 1; keys of inline tables are on that of the table."""
    found: dict[Key, int] = {}
    table: Key = ()
    for number, line in enumerate(text.splitlines(), 1):
        if match := _TABLE.match(line):
            table = _path(match[1]) or table
            found.setdefault(table, number)
        elif match := _KEY.match(line):
            path = _path(match[1])
            for length in range(1, len(path) + 1):
                found.setdefault((*table, *path[:length]), number)
    return found


def _path(text: str) -> Key:
    try:
        return tuple(_names(tomllib.loads(f"{text.strip()} = 0")))
    except tomllib.TOMLDecodeError:
        return ()


def _names(nested: Mapping[str, Any]) -> Iterator[str]:
    inside: Any = nested
    while isinstance(inside, dict):
        name, inside = next(iter(inside.items()))
        yield name
