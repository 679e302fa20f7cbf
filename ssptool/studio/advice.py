"""Advice of findings in the words of the page: commands become edits that a button makes, or places of the page."""

import re
import shlex
from collections.abc import Mapping
from typing import Any

_COMMAND = re.compile(r"`ssptool ([^`]*)`")
_PLACES: Mapping[str, str] = {
    "bind": "the command `bind`",
    "connect": "the table Connect",
    "place": "a drag",
    "plan": "Run › Plan",
    "replace": "Replace FMU…",
    "run": "Run",
    "set": "the table Parameters",
    "validate": "Findings",
}
"""Place of the page that has what a command does."""
_OPTIONS: Mapping[str, str] = {"--inputs": "a file or scenario (Inputs)"}


def page_advice(advice: str) -> tuple[str, tuple[tuple[str, list[dict[str, Any]]], ...]]:
    """Advice in the words of the page, without commands, and edits by the titles of their buttons. Edits are only taken
    from commands that are complete.
    """
    actions: list[tuple[str, list[dict[str, Any]]]] = []

    def replaced(found: re.Match[str]) -> str:
        words = shlex.split(found[1]) if found[1].count("'") % 2 == 0 and found[1].count('"') % 2 == 0 else []
        match words:
            case ["connect", "SYSTEM", a, b]:
                actions.append((f"Connect {a} with {b}", [{"verb": "connect", "a": a, "b": b}]))
                return ""
            case ["unset", "SYSTEM", name]:
                actions.append((f"Unset {name}", [{"verb": "unset", "name": name}]))
                return ""
            case [verb, *_]:
                return _PLACES.get(verb, f"`{verb}`")
        return found[0]

    text = _COMMAND.sub(replaced, advice)
    for option, told in _OPTIONS.items():
        text = text.replace(option, told)
    return "" if actions and text.endswith(": ") else text, tuple(actions)
