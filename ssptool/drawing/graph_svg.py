"""A system graph as a picture: components as boxes, wires, feedthrough inside the boxes, algebraic loops marked."""

from collections.abc import Mapping
from itertools import count

from ssptool.drawing.graph_dot import loop_edges
from ssptool.drawing.sheets.arranging import arranged
from ssptool.drawing.sheets.marks import Mark, Remark
from ssptool.drawing.sheets.stated import Span, StatedBlock, StatedFeedthrough, StatedLine, StatedPin, StatedSheet
from ssptool.drawing.sheets.svg import sheet_svg
from ssptool.network.arrays import connected
from ssptool.network.network import Component, Port
from ssptool.network.signals import Signal
from ssptool.network.system_graph import SystemGraph


def graph_svg(graph: SystemGraph) -> str:
    """In layers from left to right in the direction of the wires, whatever the documents say of places."""
    spans = _numbered(graph)
    marked = {spans[edge]: (Remark(Mark.LOOP, "", 0, "part of an algebraic loop"),) for edge in loop_edges(graph)}
    return sheet_svg(arranged({(): _stated(graph, spans)}), marked)


def _numbered(graph: SystemGraph) -> Mapping[tuple[Signal, Signal], Span]:
    """What is drawn comes from no file: each line has a number of its own instead."""
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
            StatedLine(_end(source), _end(destination), None, f"{source} → {destination}", spans[source, destination])
            for source, destination in connected(network)
        ),
        notes=(),
        pins=tuple(_pin(port) for port in network.ports),
    )


def _block(graph: SystemGraph, component: Component, spans: Mapping[tuple[Signal, Signal], Span]) -> StatedBlock:
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
