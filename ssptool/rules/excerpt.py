"""The source line of a finding, with the offending place in it."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ssptool.documents.diagnostics import Position

_STEP = re.compile(r"(?P<name>[\w.\-]+)(?P<stated>(\[@\w+=('[^']*'|\"[^\"]*\")\])*)(\[\d+\])?$")
_STATED = re.compile(r"\[@(\w+)=(?:'([^']*)'|\"([^\"]*)\")\]")
_ATTRIBUTES = re.compile(r"([\w:.\-]+)\s*=\s*(\"[^\"]*\"|'[^']*')")
_ATTRIBUTE = re.compile(r"/@([\w\-]+)$")


class Excerpt(NamedTuple):
    """One line of a document; the characters `start` to `end` of it, counted from 0, are to blame.

    `line` is its number; not that of the finding, where the attribute to blame stands on a later line than the name of
    its element.
    """

    text: str
    start: int
    end: int
    line: int = 0


def excerpt(line: str, position: Position, following: Sequence[str] = ()) -> Excerpt:
    """The place that an address means: the attribute or else the element; if unsure, the line.

    `following` are the lines below, on which the start tag may go on.
    """
    line = line.rstrip()
    address, attribute = _split(position.address)
    tag = _tag(line, address)
    if tag is None:
        return Excerpt(line, len(line) - len(line.lstrip()), len(line), position.line)
    if attribute:
        named = re.compile(rf"(?<![\w:.\-]){re.escape(attribute)}\s*=\s*(\"[^\"]*\"|'[^']*')")
        if found := named.search(line, *tag):
            return Excerpt(line, *found.span(), position.line)
        for number, below in enumerate(_of_tag(line, tag, following), position.line + 1):
            if found := named.search(below):
                return Excerpt(below.rstrip(), *found.span(), number)
    return Excerpt(line, *tag, position.line)


def _of_tag(line: str, tag: tuple[int, int], following: Sequence[str]) -> Iterator[str]:
    """The lines below that a start tag goes on to."""
    if line.endswith(">", *tag):
        return
    for below in following:
        yield below
        if ">" in below:
            return


def _split(address: str) -> tuple[str, str]:
    named = _ATTRIBUTE.search(address)
    return (address[: named.start()], named[1]) if named else (address, "")


def _tag(line: str, address: str) -> tuple[int, int] | None:
    """Where in the line the start tag of the element stands, by its name and what the address says identifies it.

    Elements around it that the address tells from others may stand on the same line: it is behind these.
    """
    steps = [step for part in _steps(address) if (step := _STEP.search(part)) is not None]
    if not steps or _STEP.search(address) is None:
        return None
    at = 0
    for step in steps[:-1]:
        if step["stated"] and (around := _first(line, step, at)):
            at = around[1]
    return _first(line, steps[-1], at)


def _steps(address: str) -> list[str]:
    """The steps of an address; a slash may also stand in what identifies an element."""
    return re.findall(r"(?:[^/'\"]|'[^']*'|\"[^\"]*\")+", address)


def _first(line: str, step: re.Match[str], at: int) -> tuple[int, int] | None:
    """The first start tag from `at` on that is what a step says."""
    wanted = [(key, one or two) for key, one, two in _STATED.findall(step["stated"])]
    tags = re.compile(rf"<(\w[\w.\-]*:)?{re.escape(step['name'])}(?=[\s/>]|$)[^<>]*>?").finditer(line, at)
    for tag in tags:
        stated = {key: value[1:-1] for key, value in _ATTRIBUTES.findall(tag[0])}
        if all(stated.get(key) == value for key, value in wanted):
            return tag.span()
    return None
