"""Block diagrams of systems."""

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path

from ssptool.api.check import Files, Report, open_archive, validate
from ssptool.arguments import count, path, text, texts, word
from ssptool.documents.archive import Archive
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.document import Document
from ssptool.drawing.diagram.drawing import DRAWINGS, Drawing
from ssptool.drawing.diagram.groups import with_groups
from ssptool.drawing.diagram.memory import Memory
from ssptool.drawing.diagram.read import Mark, Remark, findings, marked, stated_sheets
from ssptool.drawing.plot_model import check_plot_name
from ssptool.errors import UnknownName
from ssptool.network.arrays import whole
from ssptool.network.dependencies import analyze, loop_edges
from ssptool.network.explanation import Explained, explain_all
from ssptool.network.flatten import build_network
from ssptool.network.tree import ElementPath as NetworkPath
from ssptool.network.tree import dotted
from ssptool.option_words import ConnectionsWord, DrawnConnections, Highlight, HighlightWord
from ssptool.public_calls import public


@public
def draw(
    system: Path | str,
    output: Path | str | None = None,
    *,
    variant: str | None = None,
    level: str = "",
    depth: int = 0,
    highlight: HighlightWord | Sequence[HighlightWord] = (),
    connections: ConnectionsWord = "bundled",
    allow_outside: Files = (),
) -> Drawing:
    """Draw a system as a diagram: a picture of one system, or an HTML page with all nested systems.

    Positions, sizes, icons, notes and way points come from the documents; elements without a position are laid out in
    layers. Systems with errors are drawn as far as they can be read. If more than 60 elements have no position, closely
    connected elements are drawn as a group. A group has a name and its own sheet, like a nested system.

    Parameters
    ----------
    output
        Save the diagram to this file: .svg, .png or .html. Groups of an existing page are kept, and unchanged elements
        and lines keep their positions.
    level
        Full name of the nested system to draw (default: the root).
    depth
        Number of nested levels that a picture shows inside the boxes of elements. A page shows each system both with
        and without its content.
    highlight
        Mark `loops` (connections of algebraic loops) or `findings` (elements and connections with findings).
    connections
        `bundled`: draw more than 8 connections between two components as one line with their number, and group the
        elements of large systems; `all`: draw each connection.
    allow_outside
        Folders outside of the system in which it may read files, as in `validate`.

    Raises
    ------
    ValueError
        The ending of `output` is not supported, `depth` is negative, or a word is not one of those above.
    UnknownName
        The nested system does not exist.
    WrongUsage
        The picture or page would show more than 1 000 systems.
    MissingPackage
        A library for drawing is not installed.
    """
    file = None if output is None else path("output", output)
    if file is not None:
        check_plot_name(file, DRAWINGS)
    count("depth", depth, 0)
    drawn = word("connections", connections, DrawnConnections)
    wanted = [word("highlight", one, Highlight) for one in texts("highlight", highlight, "loops, findings")]
    memory = Memory.of_page(file) if file is not None and file.suffix.lower() == ".html" else Memory()
    with open_archive(system, allow_outside) as archive:
        structure = archive.structure(variant)
        stated = stated_sheets(archive, structure)
        if drawn is DrawnConnections.BUNDLED:
            stated = with_groups(stated, memory.members)
        chosen = _chosen(list(stated), text("level", level))
        checked = partial(validate, system, variant=variant, allow_outside=allow_outside)
        told = _remarks(checked, archive, structure, wanted)
        remarks = marked(list(stated.values()), told)
        drawing = Drawing(
            title=structure.structure.name,
            path=chosen,
            depth=depth,
            stated=stated,
            remarks=remarks,
            connections=drawn,
            explain=partial(_explained, system, variant, allow_outside),
            memory=memory,
        )
    if file is not None:
        drawing.save(file)
    return drawing


def _explained(system: Path | str, variant: str | None, allow_outside: Files) -> tuple[Explained, ...]:
    """Explanations of all values, as far as the system can be flattened."""
    with open_archive(system, allow_outside) as archive:
        try:
            return explain_all(build_network(archive, archive.structure(variant)))
        except InvalidDocument:
            return ()


def _chosen(paths: Sequence[NetworkPath], system: str) -> NetworkPath:
    by_name = {dotted(path): path for path in paths}
    if system not in by_name:
        inside = [name for name in by_name if name]
        raise UnknownName(f"there is no nested system {system!r}", system, inside)
    return by_name[system]


def _remarks(
    checked: Callable[[], Report], archive: Archive, structure: Document, highlight: Collection[Highlight]
) -> Iterator[Remark]:
    if Highlight.FINDINGS in highlight:
        yield from findings(checked().diagnostics)
    if Highlight.LOOPS in highlight:
        yield from loop_remarks(archive, structure)


def loop_remarks(archive: Archive, structure: Document) -> Iterator[Remark]:
    """The connections that close algebraic loops."""
    graph = analyze(build_network(archive, structure))
    edges, arrays = loop_edges(graph), graph.network.arrays
    for wire in graph.network.wires:
        if (whole(wire.source, arrays), whole(wire.destination, arrays)) in edges:
            for origin in wire.origin:
                yield Remark(Mark.LOOP, origin.file, origin.line, "part of an algebraic loop")
