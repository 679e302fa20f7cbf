"""The forms in which a system graph can be shown, by name."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ssptool.drawing.graph_dot import graph_dot
from ssptool.drawing.graph_json import graph_json
from ssptool.drawing.graph_svg import graph_svg
from ssptool.drawing.graph_text import graph_text
from ssptool.network.system_graph import SystemGraph

GRAPH_RENDERERS: Mapping[str, Callable[[SystemGraph], str]] = MappingProxyType(
    {"text": graph_text, "json": graph_json, "dot": graph_dot, "svg": graph_svg}
)
