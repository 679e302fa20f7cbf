"""The source line of a finding, with the offending place in it."""

import re
from dataclasses import dataclass

from ssptool.documents.diagnostics import Position

_STEP = re.compile(r"(?P<name>[\w.\-]+)(?P<stated>(\[@\w+=('[^']*'|\"[^\"]*\")\])*)(\[\d+\])?$")
_STATED = re.compile(r"\[@(\w+)=(?:'([^']*)'|\"([^\"]*)\")\]")
_ATTRIBUTE = re.compile(r"/@([\w\-]+)$")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """One line of a document; the characters `start` to `end` of it are to blame."""

    text: str
    start: int
    end: int


def excerpt(line: str, position: Position) -> Excerpt:
    """The place in a source line that an address means: the attribute or else the element; if unsure, the line."""
    line = line.expandtabs(4).rstrip()
    address, attribute = _split(position.address)
    tag = _tag(line, address)
    if tag is None:
        return Excerpt(line, len(line) - len(line.lstrip()), len(line))
    if attribute:
        named = re.compile(rf"\b{re.escape(attribute)}\s*=\s*(\"[^\"]*\"|'[^']*')").search(line, *tag)
        if named:
            return Excerpt(line, *named.span())
    return Excerpt(line, *tag)


def _split(address: str) -> tuple[str, str]:
    named = _ATTRIBUTE.search(address)
    return (address[: named.start()], named[1]) if named else (address, "")


def _tag(line: str, address: str) -> tuple[int, int] | None:
    """Where in the line the start tag of the element stands, by its name and what the address says identifies it."""
    step = _STEP.search(address)
    if step is None:
        return None
    wanted = [(key, one or two) for key, one, two in _STATED.findall(step["stated"])]
    tags = re.compile(rf"<(\w[\w.\-]*:)?{re.escape(step['name'])}(?=[\s/>]|$)[^<>]*>?").finditer(line)
    spans = [
        (tag.start(), tag.end())
        for tag in tags
        if all(re.search(rf"\b{key}\s*=\s*([\"']){re.escape(value)}\1", tag[0]) for key, value in wanted)
    ]
    return spans[0] if spans else None
