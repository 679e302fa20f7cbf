"""Read JSON as YAML nodes with positions, because YAML 1.1 does not accept tabs for indentation or surrogate pairs.

References: RFC 8259; YAML 1.1 §4.1.3.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NoReturn

import yaml

from ssptool.foreign_text import TOO_DEEP, too_deep

_BLANK = re.compile(r"[ \t\r\n]*")
_BARE = re.compile(r"[^ \t\r\n,\]}]+")
_TAG = "tag:yaml.org,2002:"
_WORDS = {"true": "bool", "false": "bool", "null": "null"}


def looks_like_json(text: str) -> bool:
    """True if a text starts like a JSON object: with a name in quotes, or empty. Names in YAML rarely have quotes."""
    return re.match(r'[ \t\r\n]*\{[ \t\r\n]*["}]', text) is not None


def compose_json(text: str) -> yaml.Node:
    """The root of a JSON text.

    Raises
    ------
    json.JSONDecodeError
        It is not JSON (the error has line and column), or is nested too deeply.
    """

    def refuse(constant: str) -> NoReturn:
        raise json.JSONDecodeError(f"JSON has no {constant}", text, text.find(constant))

    try:
        content = json.loads(text, parse_constant=refuse, parse_int=str, parse_float=str)  # numbers of any length
    except RecursionError:
        raise json.JSONDecodeError(TOO_DEEP, text, 0) from None
    if too_deep(content):
        raise json.JSONDecodeError(TOO_DEEP, text, 0)
    return _JsonNodes(text).node()


class _JsonNodes:
    """Builder of nodes from a text that is known to be JSON, starting at `at`."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = [0, *(found.end() for found in re.finditer("\r\n|\r|\n", text))]
        self.at = 0

    def node(self) -> yaml.Node:
        start = self._next()
        match self._text[start]:
            case "{":
                pairs = [(self.node(), self._value()) for _ in self._entries("}")]
                return yaml.MappingNode(f"{_TAG}map", pairs, *self._marks(start), flow_style=True)
            case "[":
                items = [self.node() for _ in self._entries("]")]
                return yaml.SequenceNode(f"{_TAG}seq", items, *self._marks(start), flow_style=True)
            case '"':
                value, self.at = json.JSONDecoder().raw_decode(self._text, start)
                return yaml.ScalarNode(f"{_TAG}str", value, *self._marks(start), style='"')
        return self._bare(start)

    def _bare(self, start: int) -> yaml.Node:
        """A number, true, false or null."""
        bare = _BARE.match(self._text, start)
        assert bare is not None
        self.at = bare.end()
        kind = _WORDS.get(bare[0]) or ("int" if bare[0].lstrip("-").isdigit() else "float")
        return yaml.ScalarNode(f"{_TAG}{kind}", bare[0], *self._marks(start))

    def _value(self) -> yaml.Node:
        """The node after a colon."""
        self.at = self._next() + 1
        return self.node()

    def _entries(self, end: str) -> Iterator[None]:
        """Stop before each entry of a collection, and after its end."""
        self.at += 1
        while self._text[self._next()] != end:
            if self._text[self.at] == ",":
                self.at += 1
            yield
        self.at += 1

    def _next(self) -> int:
        """Skip blanks; returns the new position."""
        blank = _BLANK.match(self._text, self.at)
        assert blank is not None
        self.at = blank.end()
        return self.at

    def _marks(self, start: int) -> tuple[yaml.Mark, yaml.Mark]:
        return self._mark(start), self._mark(self.at)

    def _mark(self, index: int) -> yaml.Mark:
        line = bisect_right(self._lines, index) - 1
        return yaml.Mark("", index, line, index - self._lines[line], None, 0)
