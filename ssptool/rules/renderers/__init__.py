"""Ways to show a report, by name. Each takes a report and gives a text; none of them checks anything."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ssptool.rules.renderers.json import render_json
from ssptool.rules.renderers.text import render_text
from ssptool.rules.report import Report

RENDERERS: Mapping[str, Callable[[Report], str]] = MappingProxyType({"text": render_text, "json": render_json})
