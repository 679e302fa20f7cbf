"""From documents to what they say of the look of each system."""

import math
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from ssptool.documents import ssd
from ssptool.documents.archive import Archive, UnresolvableUri
from ssptool.documents.document import Document
from ssptool.documents.element import Element
from ssptool.drawing.sheets.stated import Extent, Icon, Note, Span, StatedBlock, StatedLine, StatedPin, StatedSheet
from ssptool.fmu.graphics import terminal_places
from ssptool.fmu.terminals import TERMINALS
from ssptool.network.places import ComponentPlace, Path, SystemPlace
from ssptool.network.tree import grow

_MEDIA_TYPES = {".png": "image/png", ".svg": "image/svg+xml"}
_FMU_ICONS = ("terminalsAndIcons/icon.svg", "terminalsAndIcons/icon.png", "icon.svg", "icon.png", "model.png")
"""Where FMI 3.0 and 2.0 have them, the better ones first."""


Places: TypeAlias = Mapping[str, tuple[float, float]]
"""Of connectors, in fractions of the box of their element."""


def stated_sheets(archive: Archive, structure: Document) -> dict[Path, StatedSheet]:
    """A sheet for each system that can be read, the root first; those of nested SSDs and packages are among them."""
    tree = grow(archive, structure)
    systems = {place.path: place for place in tree.systems}
    fmus = {place.path: place for place in tree.components}
    return {place.path: _Reader(place, systems, fmus).sheet() for place in tree.systems}


class _Reader:
    def __init__(
        self, place: SystemPlace, systems: Mapping[Path, SystemPlace], fmus: Mapping[Path, ComponentPlace]
    ) -> None:
        self._archive = place.scope.archive
        self._place = place
        self._systems = systems
        self._fmus = fmus
        self._file = place.scope.document.name

    def sheet(self) -> StatedSheet:
        system = self._place.system
        name = self._place.path[-1] if self._place.path else system.name
        canvas = system.system_geometry
        return StatedSheet(
            path=self._place.path,
            name=name,
            canvas=None if canvas is None else _area(canvas),
            blocks=tuple(self._block(element) for element in system.elements),
            lines=tuple(self._line(connection) for connection in system.connections),
            notes=tuple(Note(place, note.text) for note in system.notes if (place := _area(note)) is not None),
            pins=tuple(_pin(connector) for connector in system.connectors),
        )

    def _block(self, element: ssd.SystemElement) -> StatedBlock:
        path = (*self._place.path, element.name)
        geometry = element.geometry
        extent = None if geometry is None else _area(geometry)
        places = self._places(path)
        return StatedBlock(
            path=path,
            source=_source(element),
            described=element.description or "",
            extent=extent,
            rotation=0.0 if geometry is None or extent is None else geometry.rotation,
            icon=self._icon(path, geometry),
            pins=tuple(_pin(connector, places.get(connector.name)) for connector in element.connectors),
            opens=path in self._systems,
            span=self._span(element),
        )

    def _places(self, path: Path) -> Places:
        """What stands behind an element says of the places of its connectors, should the element itself not."""
        if path in self._systems:
            own = {connector.name: connector.geometry for connector in self._systems[path].system.connectors}
            return {name: (place.x, place.y) for name, place in own.items() if place is not None}
        if (place := self._fmus.get(path)) is not None:
            entry = self._archive.inside(place.source, TERMINALS)
            return terminal_places(self._archive.content(entry)) if self._archive.has(entry) else {}
        return {}

    def _line(self, connection: ssd.Connection) -> StatedLine:
        geometry = connection.geometry
        start = connection.start_element, connection.start_connector
        end = connection.end_element, connection.end_connector
        return StatedLine(
            start=start,
            end=end,
            way=None if geometry is None else _way(geometry),
            described=f"{'.'.join(filter(None, start))} – {'.'.join(filter(None, end))}",
            span=self._span(connection),
        )

    def _span(self, element: Element) -> Span:
        last = max((node.line for node in element.iter() if isinstance(node, Element)), default=element.line)
        return Span(self._file, element.line, last)

    def _icon(self, path: Path, geometry: ssd.ElementGeometry | None) -> Icon | None:
        found = self._stated_icon(geometry) or self._fmu_icon(path)
        if found is None:
            return None
        content, media_type = found
        if geometry is None:
            return Icon(content, media_type, keeps_ratio=True)
        return Icon(content, media_type, geometry.icon_rotation, geometry.icon_flip, geometry.icon_fixed_aspect_ratio)

    def _stated_icon(self, geometry: ssd.ElementGeometry | None) -> tuple[bytes, str] | None:
        if geometry is None or geometry.icon_source is None:
            return None
        try:
            entry = self._archive.resolve(self._file, geometry.icon_source)
        except UnresolvableUri:
            return None
        return self._picture(entry)

    def _fmu_icon(self, path: Path) -> tuple[bytes, str] | None:
        place = self._fmus.get(path)
        if place is None:
            return None
        pictures = (self._picture(self._archive.inside(place.source, name)) for name in _FMU_ICONS)
        return next(filter(None, pictures), None)

    def _picture(self, entry: str) -> tuple[bytes, str] | None:
        media_type = next((kind for ending, kind in _MEDIA_TYPES.items() if entry.lower().endswith(ending)), None)
        if media_type is None or not self._archive.has(entry):
            return None
        return self._archive.content(entry), media_type


def _area(box: ssd.Box) -> Extent | None:
    """None for what covers nothing or is no number: the standard does not say where that is."""
    extent = Extent(box.x1, box.y1, box.x2, box.y2)
    corners = (box.x1, box.y1, box.x2, box.y2)
    return extent if all(map(math.isfinite, corners)) and extent.width > 0.0 and extent.height > 0.0 else None


def _way(geometry: ssd.ConnectionGeometry) -> tuple[tuple[float, float], ...] | None:
    """None where a coordinate is missing or no number."""
    xs, ys = geometry.points_x, geometry.points_y
    if len(xs) != len(ys) or not all(map(math.isfinite, (*xs, *ys))):
        return None
    return tuple(zip(xs, ys, strict=True))


def _place(x: float | None, y: float | None) -> tuple[float, float] | None:
    return (x, y) if x is not None and y is not None and math.isfinite(x) and math.isfinite(y) else None


def _pin(connector: ssd.Connector, otherwise: tuple[float, float] | None = None) -> StatedPin:
    geometry = connector.geometry
    place = otherwise if geometry is None else _place(geometry.x, geometry.y)
    inner = place
    if geometry is not None:
        inner = _place(geometry.system_inner_x, geometry.system_inner_y) or place
    return StatedPin(connector.name, connector.kind.value, place, inner, "; ".join(_facts(connector)))


def _facts(connector: ssd.Connector) -> Iterator[str]:
    unit = f" [{connector.unit}]" if connector.unit else ""
    yield f"{connector.name}: {connector.kind.value}{' ' + connector.type_name if connector.type_name else ''}{unit}"
    if connector.description:
        yield connector.description


def _source(element: ssd.SystemElement) -> str:
    if isinstance(element, ssd.Component):
        return (element.source or "").rpartition("/")[2]
    return element.dictionary if isinstance(element, ssd.SignalDictionaryReference) else ""
