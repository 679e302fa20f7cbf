"""Systems as diagrams."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Literal

from ssptool.api.validating import validate
from ssptool.documents.archive import Archive
from ssptool.documents.document import Document
from ssptool.drawing.graph_dot import loop_edges
from ssptool.drawing.plot import check_plot_name
from ssptool.drawing.sheets.arranging import arrange
from ssptool.drawing.sheets.marks import Mark, Remark, marked
from ssptool.drawing.sheets.page import sheets_page
from ssptool.drawing.sheets.picture import png
from ssptool.drawing.sheets.reading import stated_sheets
from ssptool.drawing.sheets.sheet import Sheet
from ssptool.drawing.sheets.svg import Remarks, sheet_svg
from ssptool.network.flatten import build_network
from ssptool.network.system_graph import analyze

DRAWINGS = (".svg", ".png", ".html")

Highlight = Literal["loops", "findings"]


class NoSuchSystem(LookupError):
    """A drawing of a nested system was asked for that is not there."""

    def __init__(self, name: str, available: Sequence[str]) -> None:
        there = f"there are {', '.join(available)}" if available else "there is none inside"
        super().__init__(f"no nested system is called {name!r}; {there}")
        self.name = name
        self.available = tuple(available)


def draw(
    path: Path | str,
    output: Path | str,
    *,
    variant: str | None = None,
    system: str = "",
    highlights: Collection[Highlight] = (),
) -> None:
    """Draw a system as a diagram: an SVG or PNG picture of one level, or an HTML page with all of them.

    Places, sizes, icons, notes and way points are those of the documents; what has none is laid out in layers. Systems
    with errors are drawn as far as they can be read.

    Parameters
    ----------
    output
        The ending says what it becomes: .svg, .png or .html.
    system
        The full name of a nested system, of which the picture is; without, of the whole.
    highlights
        What is to stand out: the connections of algebraic loops; elements and connections that have findings.

    Raises
    ------
    ValueError
        The ending is another.
    NoSuchSystem
        There is no nested system of this name.
    PlotUnavailable
        The library that makes a PNG is not installed.
    """
    output = Path(output)
    check_plot_name(output, DRAWINGS)
    with Archive.open(path) as archive:
        structure = archive.structure(variant)
        sheets = [arrange(stated) for stated in stated_sheets(archive, structure)]
        chosen = _chosen(sheets, system)
        remarks = marked(sheets, _remarks(path, variant, archive, structure, highlights))
        title = structure.structure.name
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_bytes(_content(output.suffix.lower(), chosen, sheets, remarks, title))


def _content(ending: str, chosen: Sheet, sheets: Sequence[Sheet], remarks: Remarks, title: str) -> bytes:
    if ending == ".html":
        return sheets_page(sheets, remarks, title).encode()
    svg = sheet_svg(chosen, remarks)
    return png(svg) if ending == ".png" else svg.encode()


def _chosen(sheets: Sequence[Sheet], system: str) -> Sheet:
    by_name = {".".join(sheet.path): sheet for sheet in sheets}
    if system not in by_name:
        raise NoSuchSystem(system, [name for name in by_name if name])
    return by_name[system]


def _remarks(
    path: Path | str, variant: str | None, archive: Archive, structure: Document, highlights: Collection[Highlight]
) -> Iterator[Remark]:
    if "findings" in highlights:
        for found in validate(path, variant=variant).diagnostics:
            mark = Mark(found.severity.value)
            yield Remark(mark, found.position.file, found.position.line, f"{found.code}: {found.message}")
    if "loops" in highlights:
        graph = analyze(build_network(archive, structure))
        edges = loop_edges(graph)
        for wire in graph.network.wires:
            if (wire.source, wire.destination) in edges:
                for origin in wire.origin:
                    yield Remark(Mark.LOOP, origin.file, origin.line, "part of an algebraic loop")
