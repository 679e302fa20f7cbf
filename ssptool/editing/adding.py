"""Add: an FMU becomes a component; a system or a connector of a system is made."""

from math import isfinite
from pathlib import Path, PurePath, PurePosixPath

from ssptool.documents import ssc, ssd
from ssptool.documents.csv_columns import CsvColumn, read_columns
from ssptool.documents.media_types import FMU, TABLE
from ssptool.documents.nesting import INSIDE
from ssptool.editing.definitions import Root, use_unit
from ssptool.editing.draft import Draft
from ssptool.editing.errors import EditError, hint
from ssptool.editing.experiment import set_experiment
from ssptool.editing.interface import PARAMETERS, SIGNALS, arrange, connectors_of
from ssptool.editing.names import Name, find_system
from ssptool.editing.placing import place
from ssptool.editing.units import unit_named
from ssptool.editing.upgrading import MODERN
from ssptool.fmu.description import DefaultExperiment, FmuDescription
from ssptool.fmu.validity import read_and_judge

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
    description = read_and_judge(draft.archive.local_path(entry) if entry else path)
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
    if entry in draft.archive.names() or INSIDE not in entry:
        return entry
    return _put(draft, PurePosixPath(entry.rpartition(INSIDE)[2]), draft.archive.local_path(entry))


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
