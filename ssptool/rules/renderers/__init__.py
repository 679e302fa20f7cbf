"""Ways to show a report, by name. Each takes a report and gives a text; none of them checks anything.

A way is loaded when it is first gone: most of them need libraries that nobody waits for who only wants to run a system.
"""

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import Any

from ssptool.rules.renderers.summary import summary
from ssptool.rules.report import Report

__all__ = ["PLAIN_RENDERERS", "RENDERERS", "summary"]

_NAMES = ("text", "json", "sarif", "junit", "github")


def _render(name: str, report: Report, **options: Any) -> str:
    text: str = getattr(import_module(f"{__name__}.{name}"), f"render_{name}")(report, **options)
    return text


RENDERERS: Mapping[str, Callable[[Report], str]] = MappingProxyType({name: partial(_render, name) for name in _NAMES})
PLAIN_RENDERERS: Mapping[str, Callable[[Report], str]] = MappingProxyType(
    {**RENDERERS, "text": partial(_render, "text", colour=False)}
)
"""The same without colours, for files."""
