"""Add components, systems and connectors: interfaces, places in the canvas, and the text of a new system."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import count, zip_longest
from math import inf, isfinite
from pathlib import Path, PurePath, PurePosixPath
from xml.sax.saxutils import quoteattr

from ssptool.documents import ssc, ssd
from ssptool.documents.csv_columns import CsvColumn, read_columns
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.ssd import ConnectorKind as Kind
from ssptool.documents.storage import NESTING_MARK
from ssptool.documents.vocabulary import FMU, NSMAP, TABLE
from ssptool.editing.changes import EditError, hint
from ssptool.editing.draft import Draft
from ssptool.editing.experiment import set_experiment
from ssptool.editing.names import Name, find_system
from ssptool.editing.units import Root, number_text, unit_named, use_enumeration, use_unit
from ssptool.editing.upgrade import MODERN
from ssptool.fmu.description import Causality, DefaultExperiment, FmuDescription, Variable, named
from ssptool.fmu.validity import read_and_check

SIGNALS = (Causality.INPUT, Causality.OUTPUT)
PARAMETERS = (Causality.PARAMETER, Causality.CALCULATED_PARAMETER, Causality.STRUCTURAL_PARAMETER)

_KINDS = {
    Causality.INPUT: Kind.INPUT,
    Causality.OUTPUT: Kind.OUTPUT,
    Causality.PARAMETER: Kind.PARAMETER,
    Causality.CALCULATED_PARAMETER: Kind.CALCULATED_PARAMETER,
    Causality.STRUCTURAL_PARAMETER: Kind.STRUCTURAL_PARAMETER,
}
# The types of FMI 1.0 and 2.0; the other types of FMI 3.0 came with SSP 2.0.
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

    Units and enumerations that they name are defined in the document.

    """
    variables = [variable for variable in fmu.variables.values() if variable.causality in causalities]
    names = {variable.name for variable in variables}
    made = [_connector(variable, names, fmu, root) for variable in variables]
    arrange(made)
    return made


def _connector(variable: Variable, names: Collection[str], fmu: FmuDescription, root: Root) -> ssd.Connector:
    """`names` are those of all the connectors that the element gets, to which this one can refer."""
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
    """The type of a connector for a variable, in the words of the document's version of SSP."""
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
    """Give connectors without a type that of the FMU's variable; units and enumerations are defined in the document."""
    for connector in component.connectors:
        variable = fmu.variables.get(connector.name)
        if variable is not None and connector.type is None:
            connector.type = signal_type(variable, fmu, root)


def arrange(connectors: list[ssd.Connector]) -> None:
    """Inputs and parameters on the left side of the box, what comes out on the right, evenly from the top."""
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


SIZE = 40.0  # mm, width and least height of a box
PER_CONNECTOR = 8.0
GAP = 40.0
COLUMNS = 6


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle, lower left and upper right corner, in mm."""

    x1: float
    y1: float
    x2: float
    y2: float

    def meets(self, other: "Box") -> bool:
        return self.x1 < other.x2 and other.x1 < self.x2 and self.y1 < other.y2 and other.y1 < self.y2


def place(element: ssd.SystemElement, system: ssd.System) -> None:
    """Give a new element of a system a box in a free spot, and enlarge the canvas, if there is one, to hold it."""
    others = _boxes(each for each in system.elements if each is not element)
    box = free_spot(others, len(element.connectors))
    element.geometry = ssd.ElementGeometry.new()
    for corner in ("x1", "y1", "x2", "y2"):
        element.geometry.set(corner, number_text(getattr(box, corner)))
    canvas = system.system_geometry
    if canvas is not None and others:
        margin_x = canvas.x2 - max(each.x2 for each in others)
        margin_y = canvas.y2 - max(each.y2 for each in others)
        if canvas.x2 < box.x2:
            canvas.set("x2", number_text(box.x2 + max(margin_x, 0.0)))
        if canvas.y2 < box.y2:
            canvas.set("y2", number_text(box.y2 + max(margin_y, 0.0)))


def shrink(system: ssd.System, gone: ssd.SystemElement) -> bool:
    """After an element was removed from where `place` would put it: the canvas as it was before `place`.

    Gives whether it is another than before.
    """
    canvas, others = system.system_geometry, _boxes(system.elements)
    box = _box(gone)
    if canvas is None or box is None or not others or box != free_spot(others, len(gone.connectors)):
        return False
    right, top = max(each.x2 for each in others), max(each.y2 for each in others)
    size = canvas.x2, canvas.y2
    if box.x2 > right and canvas.x2 >= box.x2:
        canvas.set("x2", number_text(right + canvas.x2 - box.x2))
    if box.y2 > top and canvas.y2 >= box.y2:
        canvas.set("y2", number_text(top + canvas.y2 - box.y2))
    return size != (canvas.x2, canvas.y2)


def free_spot(others: Iterable[Box], connectors: int) -> Box:
    """The first cell of a grid, row by row from the lower left corner of the others, that meets none of them."""
    taken = list(others)
    left = min((box.x1 for box in taken), default=10.0)
    bottom = min((box.y1 for box in taken), default=10.0)
    height = max(SIZE, PER_CONNECTOR * (connectors + 1))
    for cell in count():
        row, column = divmod(cell, COLUMNS)
        x, y = left + column * (SIZE + GAP), bottom + row * (height + GAP)
        box = Box(x, y, x + SIZE, y + height)
        if not any(box.meets(other) for other in taken):
            return box
    raise AssertionError("an endless grid has a free cell")


def _boxes(elements: Iterable[ssd.SystemElement]) -> list[Box]:
    return [box for element in elements if (box := _box(element)) is not None]


def _box(element: ssd.SystemElement) -> Box | None:
    geometry = element.geometry
    if geometry is None:
        return None
    try:
        x, y = sorted((geometry.x1, geometry.x2)), sorted((geometry.y1, geometry.y2))
    except InvalidDocument:
        return None
    box = Box(x[0], y[0], x[1], y[1])
    return box if all(abs(value) < 1e9 for value in (*x, *y)) else None


RESOURCES = "resources"
TYPES_1_0 = ("Real", "Integer", "Boolean", "String", "Enumeration", "Binary")
NAMES_1_0 = {modern: old for old, modern in MODERN.items()}
KINDS_1_0 = tuple(ssd.ConnectorKind)[:5]


def add_fmu(draft: Draft, fmu: Path | str, name: str | None, into: Name, parameters: bool) -> ssd.Component:
    """Copy an FMU into the archive, and make it a component with a connector for each input and output.

    A system without a default experiment takes that of the FMU.

    Parameters
    ----------
    fmu
        A file, or an entry that the archive already has.
    parameters
        Make connectors for its parameters as well.

    Raises
    ------
    UnreadableFmu
        The file is no FMU.
    EditError
        The name is taken.
    """
    path = Path(fmu)
    where, system = find_system(draft.system, into)
    name = path.stem if name is None else name
    require_free(system, name, str(where), "choose another with --name")
    entry = None if path.is_file() else stored(draft, str(fmu))
    description = read_and_check(draft.archive.local_path(entry) if entry else path)
    require_ssp_for(draft, name, description)
    causalities = SIGNALS + PARAMETERS * parameters
    made = connectors_of(description, causalities, draft.root)
    entry = entry or store(draft, path)
    component = ssd.Component.new(
        name=name, type=FMU, source=draft.reference(entry), implementation=implementation_of(description)
    )
    for connector in made:
        component.add(connector)
    system.add(component)
    place(component, system)
    draft.note(
        f"added {name} to {where}: FMI {description.fmi_version}, {entry}, connectors "
        + (", ".join(f"{each.name} ({each.kind})" for each in made) or "none")
    )
    _take_experiment(draft, description.experiment)
    return component


def add_table(draft: Draft, table: Path | str, name: str | None, into: Name, parameters: bool) -> ssd.Component:
    """Copy a CSV file into the archive, and make it a component with an output for each column.

    `time` is the first of its columns. Columns of numbers are Real, or Float64, in the unit that the header states in
    brackets; those of `true` and `false` are Boolean, all others String.

    Raises
    ------
    EditError
        The file is no table, or the name is taken, or a unit is not known.
    """
    path = Path(table)
    where, system = find_system(draft.system, into)
    name = path.stem if name is None else name
    require_free(system, name, str(where), "choose another with --name")
    entry = None if path.is_file() else stored(draft, str(table))
    columns, findings = read_columns(draft.archive.local_path(entry) if entry else path, str(table))
    if findings:
        raise EditError(f"{table} is no table:\n" + "\n".join(f"  {finding}" for finding in findings))
    made = [_of_column(draft, column) for column in columns]
    arrange(made)
    entry = entry or store(draft, path)
    component = ssd.Component.new(name=name, type=TABLE, source=draft.reference(entry))
    for connector in made:
        component.add(connector)
    system.add(component)
    place(component, system)
    draft.note(f"added {name} to {where}: a table, {entry}, outputs " + ", ".join(each.name for each in made))
    return component


def _of_column(draft: Draft, column: CsvColumn) -> ssd.Connector:
    name, unit = column.bracketed or (column.name, column.unit)
    connector = ssd.Connector.new(name=name, kind=ssd.ConnectorKind.OUTPUT)
    number = all(map(_is_number, column.texts))
    type_name = "Boolean" if {text.strip().lower() for text in column.texts} <= {"true", "false"} else "String"
    connector.add(plain_type(draft, "Float64" if number else type_name, (unit or None) if number else None))
    return connector


def _is_number(text: str) -> bool:
    try:
        return isfinite(float(text))
    except ValueError:
        return False


def _take_experiment(draft: Draft, suggested: DefaultExperiment) -> None:
    """Of the FMU, for a system that has none; SSP has no place for its step size and tolerance."""
    start, stop = suggested.start or 0.0, suggested.stop
    if draft.root.default_experiment is None and stop is not None and start < stop:
        set_experiment(draft, start, stop)


def add_system(draft: Draft, name: str, into: Name) -> ssd.System:
    """Make an empty system inside another."""
    where, outer = find_system(draft.system, into)
    require_free(outer, name, str(where), "choose another name")
    system = ssd.System.new(name=name)
    outer.add(system)
    place(system, outer)
    draft.note(f"added the system {name} to {where}")
    return system


def add_connector(
    draft: Draft, name: str, kind: str, of: Name, type_name: str | None, unit: str | None
) -> ssd.Connector:
    """Give a system a connector.

    Raises
    ------
    EditError
        There is one of that name, or this version of SSP has no such kind or type, or the unit is not known.
    """
    where, system = find_system(draft.system, of)
    if name in {each.name for each in system.connectors}:
        raise EditError(f"{where} already has a connector {name!r}: choose another name")
    if kind not in list(ssd.ConnectorKind):
        raise EditError(f"{kind!r} is no kind of a connector{hint(kind, list(ssd.ConnectorKind))}")
    require_kind(draft, ssd.ConnectorKind(kind))
    connector = ssd.Connector.new(name=name, kind=ssd.ConnectorKind(kind))
    if type_name is None and unit is not None:
        type_name = "Real" if draft.version == "1.0" else "Float64"
    if type_name is not None:
        connector.add(plain_type(draft, type_name, unit))
    system.add(connector)
    draft.note(f"added the connector {name} ({kind}) to {where}")
    return connector


def require_free(system: ssd.System, name: str, where: str, advice: str) -> None:
    if not name:
        raise EditError("an element needs a name")
    if name in {element.name for element in system.elements}:
        raise EditError(f"there is already an element {name!r} in {where}: {advice}")


def stored(draft: Draft, name: str) -> str:
    """The entry of this name in the package of the structure, in `resources` if it says no folder.

    Raises
    ------
    FileNotFoundError
        There is neither such a file nor such an entry.
    """
    for entry in (draft.base + name, f"{draft.base}{RESOURCES}/{name}"):
        if draft.archive.has(entry):
            return entry
    package = draft.packages.name.rstrip("!") or draft.archive.path
    raise FileNotFoundError(f"{name} does not exist, neither as a file nor in {package}")


def store(draft: Draft, path: Path) -> str:
    """Put a file into `resources`; the entry it has there, which is an existing one if that has the same bytes."""
    return _inside(draft, path) or _put(draft, path, path)


def store_copy(draft: Draft, entry: str) -> str:
    """The entry itself; one in an FMU or package inside, to which no document can refer, is copied into `resources`."""
    if entry in draft.archive.names() or NESTING_MARK not in entry:
        return entry
    return _put(draft, PurePosixPath(entry.rpartition(NESTING_MARK)[2]), draft.archive.local_path(entry))


def _put(draft: Draft, named: PurePath, file: Path) -> str:
    number = 1
    entry = f"{draft.base}{RESOURCES}/{named.name}"
    while draft.archive.has(entry):
        if draft.archive.read(entry) == file.read_bytes():
            return entry
        number += 1
        entry = f"{draft.base}{RESOURCES}/{named.stem}_{number}{named.suffix}"
    draft.archive.put(entry, file)
    return entry


def _inside(draft: Draft, path: Path) -> str | None:
    """The entry that a file on disk is, if the archive is a folder and the file is in it."""
    base = draft.archive.path
    folder = base if base.is_dir() else base.parent if base.suffix.lower() == ".ssd" else None
    if folder is None or not path.resolve().is_relative_to(folder.resolve()):
        return None
    entry = path.resolve().relative_to(folder.resolve()).as_posix()
    return entry if draft.archive.has(entry) and entry.startswith(f"{draft.base}{RESOURCES}/") else None


def require_ssp_for(draft: Draft, component: str, description: FmuDescription) -> None:
    """Make the document one of SSP 2.0 if a component's FMU needs that: SSP 1.0 speaks of FMI 1.0 and 2.0 only."""
    if description.fmi_major >= 3:
        draft.require_ssp_2(f"the FMU of {component} is of FMI {description.fmi_version}")


def implementation_of(description: FmuDescription) -> ssd.Implementation:
    """The interface type to state for a component: co-simulation where its FMU offers that.

    It is stated although `any` is the default: for other tools `any` is another choice, or none.
    """
    return ssd.Implementation(next(iter(description.interface_types), ssd.Implementation.ANY))


def require_type(draft: Draft, name: str) -> None:
    """Make the document one of SSP 2.0 if a type needs that."""
    if name not in TYPES_1_0:
        draft.require_ssp_2(f"a connector is {name}")


def require_kind(draft: Draft, kind: ssd.ConnectorKind) -> None:
    """Make the document one of SSP 2.0 if a kind of connectors needs that."""
    if kind not in KINDS_1_0:
        draft.require_ssp_2(f"the kind of a connector is {kind}")


def plain_type(draft: Draft, name: str, unit: str | None, root: Root | None = None) -> ssc.SignalType:
    """A type of a connector or dictionary entry; its unit is defined in `root`, else in the structure."""
    kinds = {kind.__name__: kind for kind in ssc.TYPES if kind is not ssc.Enumeration}
    if name not in kinds:
        raise EditError(f"{name!r} is no type of SSP{hint(name, kinds)}")
    if draft.version == "1.0":
        name = NAMES_1_0.get(name, name)
    require_type(draft, name)
    made = kinds[name].new()
    if unit is not None:
        if not isinstance(made, ssc.FloatingPoint):
            raise EditError(f"a connector of type {name} has no unit")
        made.unit = use_unit(root if root is not None else draft.root, unit_named(draft, unit))
    return made


VERSIONS = ("1.0", "2.0")


def empty_structure(name: str, version: str, start_time: float | None, stop_time: float | None) -> bytes:
    """An SSD with a root system that has nothing in it, and a default experiment [s] if one is given.

    Raises
    ------
    EditError
        There is no such version of SSP, the name is empty, or the experiment does not end after its start.
    """
    if version not in VERSIONS:
        raise EditError(f"there is no SSP {version}; there are {' and '.join(VERSIONS)}")
    if not name:
        raise EditError("a system needs a name")
    start = 0.0 if start_time is None else start_time
    if stop_time is not None and not start < stop_time < inf:
        raise EditError(f"the stop time {stop_time:g} has to be a number greater than the start time {start:g}")
    times = {"startTime": start_time if stop_time is None else start, "stopTime": stop_time}
    stated = "".join(f' {key}="{number_text(time)}"' for key, time in times.items() if time is not None)
    experiment = f"  <ssd:DefaultExperiment{stated}/>\n" if stated else ""
    content = f"  <ssd:System name={quoteattr(name)}/>\n{experiment}"
    return _document("ssd:SystemStructureDescription", name, version, content)


def empty_parameter_set(name: str, version: str) -> bytes:
    """An SSV without parameters."""
    return _document("ssv:ParameterSet", name, version, "  <ssv:Parameters/>\n")


def _document(tag: str, name: str, version: str, content: str) -> bytes:
    prefix = tag.partition(":")[0]
    lines = [f'    xmlns:{each}="{NSMAP[each]}"' for each in (prefix, "ssc")]
    return "\n".join(
        (
            '<?xml version="1.0" encoding="UTF-8"?>',
            f"<{tag}",
            *lines,
            f'    version="{version}" name={quoteattr(name)}>',
            f"{content}</{tag}>",
            "",
        )
    ).encode()
