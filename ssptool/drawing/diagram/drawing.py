"""Diagrams that can be shown and saved: SVG, PNG, and HTML pages that zoom, print, and need no network."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from lxml import etree

from ssptool.documents.saving import save_file
from ssptool.drawing.diagram.arrange import all_arranged, arranged, expanded
from ssptool.drawing.diagram.groups import members_of
from ssptool.drawing.diagram.memory import DATA as LAYOUT
from ssptool.drawing.diagram.memory import Memory
from ssptool.drawing.diagram.model import (
    Sheet,
    Span,
    StatedBlock,
    StatedFeedthrough,
    StatedLine,
    StatedPin,
    StatedSheet,
)
from ssptool.drawing.diagram.read import Mark, Remark
from ssptool.drawing.diagram.svg import Remarks, sheet_svg
from ssptool.drawing.plot import content_policy, dark_style
from ssptool.drawing.plot_model import check_plot_name
from ssptool.drawing.text import explanations_text
from ssptool.errors import WrongUsage, counted, missing_extra
from ssptool.foreign_text import html_text, json_text, one_line
from ssptool.network.arrays import connected
from ssptool.network.dependencies import SystemGraph, loop_edges
from ssptool.network.explanation import Explained, Explanation
from ssptool.network.network import FlatComponent, Port, Signal
from ssptool.network.tree import ElementPath, dotted
from ssptool.option_words import DrawnConnections

SCALE = 2.0
"""Pixels per unit of the SVG, sharp on high-resolution screens."""

LARGEST = 12_000
"""Pixels of a side: a picture with more is drawn smaller."""


def png(svg: str) -> bytes:
    """A picture with `SCALE` pixels per unit, or fewer if it would be too large.

    Raises
    ------
    MissingPackage
        resvg, which draws it, is not installed.
    WrongUsage
        The picture would be less than one pixel wide or high.
    """
    try:
        import resvg_py  # optional
    except ImportError as error:
        raise missing_extra("plot", "resvg_py") from error
    root = etree.fromstring(svg.encode())
    width, height = (float(root.get(name, "1")) for name in ("width", "height"))
    scale = min(SCALE, LARGEST / max(width, height))
    if min(width, height) * scale < 1.0:
        raise WrongUsage(
            f"a picture of {width:g} x {height:g} units is too narrow for a PNG; write an .svg or .html file, or "
            "correct the places of its elements"
        )
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=scale, font_files=_fonts()))


def _fonts() -> list[str] | None:
    """The fonts of matplotlib, for machines without fonts."""
    if find_spec("matplotlib") is None:
        return None
    folder = files("matplotlib") / "mpl-data" / "fonts" / "ttf"
    return [str(folder / name) for name in ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf")]


Values: TypeAlias = Mapping[str, Mapping[str, str]]
"""Texts on the values of variables and connectors, by full name of the component and name of the variable."""


NO_VALUES: Mapping[str, object] = MappingProxyType({"values": {}})


def sheets_page(
    sheets: Sequence[Sheet],
    expanded: Sequence[Sheet],
    remarks: Remarks,
    title: str,
    data: Mapping[str, object] = NO_VALUES,
) -> str:
    """A page with one section per sheet; the first is shown initially, and all of them in print.

    Parameters
    ----------
    expanded
        Sheets that can be shown with the content of their elements.
    data
        Data by name: the `values` shown next to the pointed element, and data for a later drawing.
    """
    known = {sheet.path: sheet for sheet in sheets}
    open_ones = {sheet.path: sheet for sheet in expanded}
    groups = {block.path for sheet in sheets for block in sheet.blocks if block.group}
    sections = "\n".join(_section(sheet, open_ones.get(sheet.path), known, remarks, groups) for sheet in sheets)
    heading = html_text(title)
    script = f"<script>{_resource('page.js')}</script>"
    toggle = '<label><input type="checkbox" id="inside"> Show the content of elements</label>' if expanded else ""
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"{content_policy(script)}\n<title>{heading}</title>\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{_resource('page.css')}{dark_style()}</style>\n</head>\n<body>\n<header><h1>{heading}</h1>"
        '<button id="in" aria-label="Zoom in">+</button><button id="out" aria-label="Zoom out">−</button>'
        f'<button id="fit">Fit</button>{toggle}'
        '<input type="search" id="find" placeholder="Find (/)" aria-label="Find an element or connector">'
        '<output id="found" for="find"></output></header>\n'
        f"<main>\n{sections}\n</main>\n"
        '<aside id="facts" aria-label="Element under the pointer" aria-live="polite" tabindex="0"></aside>\n'
        f"{''.join(_data(*each) for each in data.items())}\n{script}\n</body>\n</html>\n"
    )


def _data(name: str, content: object) -> str:
    """Data for the script, escaped so that no tag in it ends the script element."""
    text = json_text(content, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{text}</script>'


def _section(
    sheet: Sheet,
    expanded: Sheet | None,
    known: dict[ElementPath, Sheet],
    remarks: Remarks,
    groups: Collection[ElementPath],
) -> str:
    pictures = [f'<div class="picture">{sheet_svg(sheet, remarks, link=_address)}</div>']
    if expanded is not None:
        pictures.append(f'<div class="picture inside">{sheet_svg(expanded, remarks, link=_address)}</div>')
    system = next(path for path in (sheet.path[:end] for end in range(len(sheet.path), -1, -1)) if path not in groups)
    return (
        f'<section id="{html_text(_identity(sheet.path))}" data-name="{html_text(dotted(system))}" '
        f'aria-label="{html_text(sheet.name)}">\n'
        f'<nav aria-label="Where this is">{_trail(sheet, known)}</nav>\n{"".join(pictures)}</section>'
    )


def _trail(sheet: Sheet, known: dict[ElementPath, Sheet]) -> str:
    """Links to the enclosing systems, and the name of this one."""
    around = [sheet.path[:depth] for depth in range(len(sheet.path))]
    links = [
        f'<a href="{html_text(_address(path))}">{html_text(known[path].name)}</a>' for path in around if path in known
    ]
    return " › ".join([*links, f'<span aria-current="page">{html_text(sheet.name)}</span>'])


def _identity(path: ElementPath) -> str:
    return one_line("/".join(["system", *path]))


def _address(path: ElementPath) -> str:
    return "#" + _identity(path)


def _resource(name: str) -> str:
    return (files("ssptool.drawing.diagram") / name).read_text(encoding="utf-8")


DRAWINGS = (".svg", ".png", ".html")


@dataclass(frozen=True, slots=True)
class Drawing:
    """One system as a picture, or all of them as a page. Notebooks show the picture.

    Attributes
    ----------
    path, depth
        The system of the picture, and its number of shown nested levels.
        stated
            All systems as stated by their documents, the root first, and groups of elements of large systems.
        remarks
            Highlighted elements and connections.
        connections
            Rule for lines that represent several connections.
        explain
            Explains all values for a page (slow).
    memory
        Layouts of an earlier page.
    """

    title: str
    path: ElementPath
    depth: int
    stated: Mapping[ElementPath, StatedSheet]
    remarks: Remarks
    connections: DrawnConnections
    explain: Callable[[], Sequence[Explained]] = tuple
    memory: Memory = field(default_factory=Memory)

    def __repr__(self) -> str:
        groups = sum(block.group for sheet in self.stated.values() for block in sheet.blocks)
        return f"<Drawing of {self.title}: {counted(len(self.stated) - groups, 'system')}: save(FILE) writes it>"

    @property
    def sheet(self) -> Sheet:
        """The system of the picture, arranged. Raises WrongUsage."""
        return arranged(self.stated, self.path, self.depth, self.connections)

    @property
    def svg(self) -> str:
        """The picture. Raises WrongUsage."""
        return sheet_svg(self.sheet, self.remarks)

    @property
    def page(self) -> str:
        """An HTML page that zooms, opens nested systems, and needs no network. Raises WrongUsage."""
        sheets = all_arranged(self.stated, self.connections, self.memory)
        insides = expanded(self.stated, self.connections, self.memory)
        data = {"values": values_of(self.explain()), LAYOUT: self.memory.content(members_of(self.stated))}
        return sheets_page(sheets, insides, self.remarks, self.title, data)

    def save(self, path: Path | str) -> None:
        """Write an .svg or .png picture or an .html page.

        Raises
        ------
        ValueError
            The file name has another ending.
        MissingPackage
            The library for PNG is not installed.
        WrongUsage
            The page would have more systems than a person can look at.
        """
        path = Path(path)
        check_plot_name(path, DRAWINGS)
        save_file(path, self._content(path.suffix.lower()))

    def _content(self, ending: str) -> bytes:
        match ending:
            case ".html":
                return self.page.encode()
            case ".png":
                return png(self.svg)
            case _:
                return self.svg.encode()

    def _repr_svg_(self) -> str:
        return self.svg


def values_of(explained: Iterable[Explained]) -> Values:
    """Output of `ssptool explain` for each value."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for one in explained:
        if isinstance(one, Explanation):
            component, variable = one_line(one.signal.component), one_line(one.signal.variable)
            found[component][variable] = explanations_text([one])
    return found


def graph_svg(graph: SystemGraph) -> str:
    """The graph as SVG, in layers from left to right in the direction of the wires; stated positions are ignored."""
    spans = _numbered(graph)
    marked = {spans[edge]: (Remark(Mark.LOOP, "", 0, "part of an algebraic loop"),) for edge in loop_edges(graph)}
    return sheet_svg(arranged({(): _stated(graph, spans)}), marked)


def _numbered(graph: SystemGraph) -> Mapping[tuple[Signal, Signal], Span]:
    """Artificial line numbers for a drawing that does not come from a file."""
    edges = [*connected(graph.network), *((edge.source, edge.destination) for edge in graph.feedthrough)]
    return {edge: Span("", number, number) for edge, number in zip(dict.fromkeys(edges), count(1))}


def _stated(graph: SystemGraph, spans: Mapping[tuple[Signal, Signal], Span]) -> StatedSheet:
    network = graph.network
    components = network.components
    return StatedSheet(
        path=(),
        name=network.name,
        canvas=None,
        blocks=tuple(_block(graph, component, spans) for component in components.values()),
        lines=tuple(
            StatedLine(
                _end(source), _end(destination), None, (f"{source} → {destination}",), (spans[source, destination],)
            )
            for source, destination in connected(network)
        ),
        notes=(),
        pins=tuple(_pin(port) for port in network.ports),
    )


def _block(graph: SystemGraph, component: FlatComponent, spans: Mapping[tuple[Signal, Signal], Span]) -> StatedBlock:
    return StatedBlock(
        path=(component.name,),
        source=component.source.rpartition("/")[2],
        described="",
        extent=None,
        rotation=0.0,
        icon=None,
        pins=tuple(_pin(port) for port in component.ports),
        opens=False,
        span=Span(component.position.file, component.position.line, component.position.line),
        feedthrough=tuple(
            StatedFeedthrough(
                edge.source.variable,
                edge.destination.variable,
                f"{edge.destination} depends on {edge.source}",
                spans[edge.source, edge.destination],
            )
            for edge in graph.feedthrough
            if edge.source.component == component.name
        ),
    )


def _pin(port: Port) -> StatedPin:
    unit = f" [{port.unit}]" if port.unit else ""
    return StatedPin(
        port.signal.variable, port.kind, None, None, f"{port.signal.variable}: {port.kind} {port.type}{unit}"
    )


def _end(signal: Signal) -> tuple[str, str]:
    return signal.component, signal.variable
