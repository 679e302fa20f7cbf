"""Interfaces of new elements: typed connectors, boxes on the canvas, and the version of SSP that they need."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, zip_longest

from ssptool.documents import ssc, ssd
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.ssd import ConnectorKind as Kind
from ssptool.documents.vocabulary import number_text
from ssptool.editing.changes import EditError
from ssptool.editing.draft import Draft
from ssptool.editing.units import Root, unit_named, use_enumeration, use_unit
from ssptool.editing.versions import MODERN
from ssptool.errors import hint
from ssptool.fmu.description import Causality, FmuDescription, Variable
from ssptool.fmu.units import named

SIGNALS = (Causality.INPUT, Causality.OUTPUT)
PARAMETERS = (Causality.PARAMETER, Causality.CALCULATED_PARAMETER, Causality.STRUCTURAL_PARAMETER)
_KINDS = {
    Causality.INPUT: Kind.INPUT,
    Causality.OUTPUT: Kind.OUTPUT,
    Causality.PARAMETER: Kind.PARAMETER,
    Causality.CALCULATED_PARAMETER: Kind.CALCULATED_PARAMETER,
    Causality.STRUCTURAL_PARAMETER: Kind.STRUCTURAL_PARAMETER,
}
# Types of FMI 1.0 and 2.0; the other types of FMI 3.0 exist since SSP 2.0.
_TYPES_1 = {
    "Float64": ssc.Real,
    "Int32": ssc.Integer,
    "Boolean": ssc.Boolean,
    "String": ssc.String,
    "Binary": ssc.Binary,
}
_TYPES = {kind.__name__: kind for kind in ssc.TYPES}


def connectors_of(fmu: FmuDescription, causalities: Collection[Causality], root: Root) -> list[ssd.Connector]:
    """New connectors for the variables of these causalities, in the order of the model description.

    Their units and enumerations are defined in the document.
    """
    variables = [variable for variable in fmu.variables.values() if variable.causality in causalities]
    names = {variable.name for variable in variables}
    made = [_connector(variable, names, fmu, root) for variable in variables]
    arrange(made)
    return made


def _connector(variable: Variable, names: Collection[str], fmu: FmuDescription, root: Root) -> ssd.Connector:
    """A connector for a variable; `names` are those of all connectors of the element, which it may refer to."""
    connector = ssd.Connector.new(name=variable.name, kind=_KINDS[variable.causality])
    if variable.description:
        connector.description = variable.description
    connector.add(signal_type(variable, fmu, root))
    for size, parameter in zip_longest(variable.shape, variable.sizes):
        by_parameter = parameter in names
        connector.add(ssc.Dimension.new(size_connector=parameter) if by_parameter else ssc.Dimension.new(size=size))
    for clock in variable.clocks:
        if clock in names:
            connector.add(ssd.Clock.new(name=clock))
    return connector


def signal_type(variable: Variable, fmu: FmuDescription, root: Root) -> ssc.SignalType:
    """Type of a connector for a variable, in the document's version of SSP."""
    if variable.type == "Enumeration":
        name = variable.declared_type or variable.name
        return ssc.Enumeration.new(name=use_enumeration(root, name, variable.items))
    made: ssc.SignalType = (_TYPES_1 if root.version == "1.0" else _TYPES)[variable.type].new()
    if isinstance(made, ssc.FloatingPoint):
        made.unit = use_unit(root, named(fmu.units, variable.unit))
    elif isinstance(made, ssc.Binary):
        made.mime_type = variable.mime_type
    elif isinstance(made, ssc.Clock):
        known = {declared.name for declared in ssc.Clock.attributes().values()}
        for name, text in variable.clock:
            if name in known:
                made.set(name, text)
    return made


def state_types(component: ssd.Component, fmu: FmuDescription, root: Root) -> None:
    """Set the types of connectors without a type from the FMU's variables; units and enumerations are defined in the
    document.
    """
    for connector in component.connectors:
        variable = fmu.variables.get(connector.name)
        if variable is not None and connector.type is None:
            connector.type = signal_type(variable, fmu, root)


def arrange(connectors: list[ssd.Connector]) -> None:
    """Position inputs and parameters on the left side of the box and outputs on the right, evenly from the top."""
    entering = (Kind.INPUT, Kind.PARAMETER, Kind.STRUCTURAL_PARAMETER)
    for x, side in (
        (0.0, [each for each in connectors if each.kind in entering]),
        (1.0, [each for each in connectors if each.kind not in entering]),
    ):
        for connector, y in zip(side, _heights(len(side)), strict=True):
            connector.geometry = ssd.ConnectorGeometry.new()
            connector.geometry.set("x", number_text(x))
            connector.geometry.set("y", number_text(y))


def _heights(count: int) -> Iterator[float]:
    return (round(1 - (number + 1) / (count + 1), 3) for number in range(count))


SIZE = 40.0  # width and smallest height of a box [mm]
PER_CONNECTOR = 8.0
GAP = 40.0
PLACES = 6
"""Decimals of sums of positions [mm]; beyond these stands only what rounding leaves."""
COLUMNS = 6


@dataclass(frozen=True, slots=True)
class CanvasBox:
    """A rectangle with lower left and upper right corner [mm]."""

    x1: float
    y1: float
    x2: float
    y2: float

    def meets(self, other: "CanvasBox") -> bool:
        return self.x1 < other.x2 and other.x1 < self.x2 and self.y1 < other.y2 and other.y1 < self.y2


def place(element: ssd.SystemElement, system: ssd.System) -> None:
    """Place a new element of a system in free room, and enlarge a stated canvas to contain it.

    If no other element has a position, the new one does not get one either, so that drawings lay out all elements by
    their connections.
    """
    others = _boxes(each for each in system.elements if each is not element)
    if not others:
        return
    box = free_spot(others, len(element.connectors))
    element.geometry = ssd.ElementGeometry.new()
    for corner in ("x1", "y1", "x2", "y2"):
        element.geometry.set(corner, number_text(getattr(box, corner)))
    _grow(system, box, others)


def shrink(system: ssd.System, gone: ssd.SystemElement) -> bool:
    """Shrink the canvas after the removal of an element that `place` had positioned, to the canvas before `place`.

    Returns true if it changed.
    """
    canvas, others = system.system_geometry, _boxes(system.elements)
    box = box_of(gone)
    if canvas is None or box is None or not others or box != free_spot(others, len(gone.connectors)):
        return False
    right, top = max(each.x2 for each in others), max(each.y2 for each in others)
    size = canvas.x2, canvas.y2
    if box.x2 > right and canvas.x2 >= box.x2:
        canvas.set("x2", number_text(right + canvas.x2 - box.x2))
    if box.y2 > top and canvas.y2 >= box.y2:
        canvas.set("y2", number_text(top + canvas.y2 - box.y2))
    return size != (canvas.x2, canvas.y2)


def free_spot(others: Iterable[CanvasBox], connectors: int, size: tuple[float, float] | None = None) -> CanvasBox:
    """The first free cell of a grid, row by row from the lower left corner of the others; with a given size, or a size
    for this number of connectors.
    """
    taken = list(others)
    left = min(box.x1 for box in taken)
    bottom = min(box.y1 for box in taken)
    width, height = size or (SIZE, max(SIZE, PER_CONNECTOR * (connectors + 1)))
    for cell in count():
        row, column = divmod(cell, COLUMNS)
        x, y = left + column * (width + GAP), bottom + row * (height + GAP)
        box = CanvasBox(x, y, x + width, y + height)
        if not any(box.meets(other) for other in taken):
            return box
    raise AssertionError("an endless grid has a free cell")


def put_beside(element: ssd.SystemElement, system: ssd.System) -> None:
    """Move an element that already has a box to a free spot; the canvas grows to contain it."""
    box = box_of(element)
    if box is None:
        place(element, system)
        return
    others = _boxes(each for each in system.elements if each is not element)
    if others:
        spot = free_spot(others, len(element.connectors), (box.x2 - box.x1, box.y2 - box.y1))
        shift_by(element, spot.x1 - box.x1, spot.y1 - box.y1)
        _grow(system, spot, others)


def shift_by(element: ssd.SystemElement, x: float, y: float) -> None:
    """Shift the box of an element, if it has one [mm]."""
    geometry = element.geometry
    if geometry is not None and box_of(element) is not None:
        for corner in ("x1", "y1", "x2", "y2"):
            geometry.set(corner, number_text(getattr(geometry, corner) + (x if corner[0] == "x" else y)))


def _grow(system: ssd.System, box: CanvasBox, others: Sequence[CanvasBox]) -> None:
    """Enlarge a stated canvas to the right and to the top for a new box, with the present margin."""
    canvas = system.system_geometry
    if canvas is not None:
        right, top = (max(getattr(each, corner) for each in others) for corner in ("x2", "y2"))
        margin_x, margin_y = max(canvas.x2 - right, 0.0), max(canvas.y2 - top, 0.0)
        if canvas.x2 < box.x2:
            canvas.set("x2", number_text(box.x2 + margin_x))
        if canvas.y2 < box.y2:
            canvas.set("y2", number_text(box.y2 + margin_y))


def hold(system: ssd.System, box: CanvasBox) -> None:
    """Enlarge a stated canvas that does not contain a box."""
    canvas = system.system_geometry
    if canvas is None:
        return
    for corner, outer in (("x1", min), ("y1", min), ("x2", max), ("y2", max)):
        now = getattr(canvas, corner)
        if (wanted := outer(now, getattr(box, corner))) != now:
            canvas.set(corner, number_text(wanted))


def _boxes(elements: Iterable[ssd.SystemElement]) -> list[CanvasBox]:
    return [box for element in elements if (box := box_of(element)) is not None]


def box_of(element: ssd.SystemElement) -> CanvasBox | None:
    geometry = element.geometry
    if geometry is None:
        return None
    try:
        x, y = sorted((geometry.x1, geometry.x2)), sorted((geometry.y1, geometry.y2))
    except InvalidDocument:
        return None
    box = CanvasBox(x[0], y[0], x[1], y[1])
    return box if all(abs(value) < 1e9 for value in (*x, *y)) else None


TYPES_1_0 = ("Real", "Integer", "Boolean", "String", "Enumeration", "Binary")
NAMES_1_0 = {modern: old for old, modern in MODERN.items()}
KINDS_1_0 = tuple(ssd.ConnectorKind)[:5]


def require_ssp_for(draft: Draft, component: str, description: FmuDescription) -> None:
    """Convert the document to SSP 2.0 if a component's FMU needs it: SSP 1.0 only supports FMI 1.0 and 2.0."""
    if description.fmi_major >= 3:
        draft.require_ssp_2(f"the FMU of {component} is of FMI {description.fmi_version}")


def implementation_of(description: FmuDescription) -> ssd.Implementation:
    """Interface type to state for a component: co-simulation if its FMU offers it.

    It is stated although `any` is the default, because other tools interpret `any` differently or do not support it.
    """
    return ssd.Implementation(next(iter(description.interface_types), ssd.Implementation.ANY))


def require_type(draft: Draft, name: str) -> None:
    """Convert the document to SSP 2.0 if a type needs it."""
    if name not in TYPES_1_0:
        draft.require_ssp_2(f"a connector is {name}")


def require_kind(draft: Draft, kind: ssd.ConnectorKind) -> None:
    """Convert the document to SSP 2.0 if a kind of connector needs it."""
    if kind not in KINDS_1_0:
        draft.require_ssp_2(f"the kind of a connector is {kind}")


def plain_type(draft: Draft, name: str, unit: str | None, root: Root | None = None) -> ssc.SignalType:
    """Type of a connector or dictionary entry; its unit is defined in `root` (default: in the structure)."""
    kinds = {kind.__name__: kind for kind in ssc.TYPES if kind is not ssc.Enumeration}
    if name not in kinds:
        raise EditError(f"{name!r} is not a type of SSP{hint(name, kinds)}")
    if draft.version == "1.0":
        name = NAMES_1_0.get(name, name)
    require_type(draft, name)
    made = kinds[name].new()
    if unit is not None:
        if not isinstance(made, ssc.FloatingPoint):
            raise EditError(f"a connector of type {name} has no unit")
        made.unit = use_unit(root if root is not None else draft.root, unit_named(draft, unit))
    return made
