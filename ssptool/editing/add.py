"""Add components, systems and connectors to a system; packages and structures become components."""

from collections.abc import Collection, Iterator, Sequence
from itertools import count
from math import isfinite
from pathlib import Path

from ssptool.arguments import path as file_path
from ssptool.documents import ssc, ssd
from ssptool.documents.archive import Archive
from ssptool.documents.csv_columns import CsvColumn, read_columns
from ssptool.documents.document import Document
from ssptool.documents.foreign_files import read_bytes
from ssptool.documents.vocabulary import FMU, PACKAGE, SYSTEM_STRUCTURE, TABLE
from ssptool.editing.changes import EditError
from ssptool.editing.draft import Draft, store, stored
from ssptool.editing.interface import (
    PARAMETERS,
    SIGNALS,
    arrange,
    connectors_of,
    implementation_of,
    place,
    plain_type,
    require_kind,
    require_ssp_for,
    require_type,
)
from ssptool.editing.names import Name, find_system, require_free
from ssptool.editing.set import set_experiment
from ssptool.editing.units import use_enumeration, use_unit
from ssptool.errors import hint
from ssptool.fmu.description import FmuExperiment
from ssptool.fmu.read_description import read_and_check
from ssptool.fmu.units import named
from ssptool.network.conversion import document_units


def add_fmu(draft: Draft, fmu: Path | str, name: str | None, into: Name, parameters: bool) -> ssd.Component:
    """Copy an FMU into the archive, and make it a component with a connector for each input and output.

    A system without a default experiment gets that of the FMU.

    Parameters
    ----------
    fmu
        A file, or an entry that the archive already has.
    parameters
        Make connectors for its parameters as well.

    Raises
    ------
    UnreadableFmu
        The file is not an FMU.
    EditError
        The name is taken.
    """
    path = file_path("fmu", fmu)
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


def names_in(draft: Draft, system: Name) -> set[str]:
    """The names that are taken in a system."""
    return {element.name for element in find_system(draft.system, system)[1].elements}


def free_names(taken: Collection[str], files: Sequence[Path | str]) -> Iterator[str]:
    """Names of components for files that are added together: their own, or with the next free number: `Fan2`."""
    stems = [file_path("file", file).stem for file in files]
    taken = set(taken)
    kept = {*stems} - taken
    for stem in stems:
        name = stem if stem in kept - taken else next_name(stem, taken | kept)
        taken.add(name)
        yield name


def next_name(name: str, taken: Collection[str]) -> str:
    """The name with a free number from 2 on, in place of the number at its end."""
    stem = name.rstrip("0123456789") or name
    return next(one for number in count(2) if (one := f"{stem}{number}") not in taken)


def add_table(draft: Draft, table: Path | str, name: str | None, into: Name, parameters: bool) -> ssd.Component:
    """Copy a CSV file into the archive, and make it a component with an output for each column.

    The first column must be `time`. Columns of numbers are Real, or Float64, in the unit that the header states in
    brackets; those of `true` and `false` are Boolean, all others String.

    Raises
    ------
    EditError
        The file is not a table, the name is already used, or a unit is unknown.
    """
    path = file_path("table", table)
    where, system = find_system(draft.system, into)
    name = path.stem if name is None else name
    require_free(system, name, str(where), "choose another with --name")
    entry = None if path.is_file() else stored(draft, str(table))
    columns, findings = read_columns(draft.archive.local_path(entry) if entry else path, str(table), portable=True)
    if findings:
        raise EditError(f"{table} is not a table:\n" + "\n".join(f"  {finding}" for finding in findings))
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


def _take_experiment(draft: Draft, suggested: FmuExperiment) -> None:
    """Use the default experiment of the FMU for a system without one; SSP has no attributes for step size and
    tolerance.
    """
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
        A connector of this name exists, this version of SSP does not have the kind or type, or the unit is unknown.
    """
    where, system = find_system(draft.system, of)
    if name in {each.name for each in system.connectors}:
        raise EditError(f"{where} already has a connector {name!r}: choose another name")
    if kind not in list(ssd.ConnectorKind):
        raise EditError(f"{kind!r} is not a kind of a connector{hint(kind, list(ssd.ConnectorKind))}")
    require_kind(draft, ssd.ConnectorKind(kind))
    connector = ssd.Connector.new(name=name, kind=ssd.ConnectorKind(kind))
    if type_name is None and unit is not None:
        type_name = "Real" if draft.version == "1.0" else "Float64"
    if type_name is not None:
        connector.add(plain_type(draft, type_name, unit))
    system.add(connector)
    draft.note(f"added the connector {name} ({kind}) to {where}")
    return connector


SUFFIXES = {".ssp": PACKAGE, ".ssd": SYSTEM_STRUCTURE}
SEEN_OUTSIDE = (ssd.ConnectorKind.INPUT, ssd.ConnectorKind.OUTPUT, ssd.ConnectorKind.INOUT)


def add_structure(draft: Draft, file: Path | str, name: str | None, into: Name, parameters: bool) -> ssd.Component:
    """Make a component of a package, copied into the archive, or of a structure that is in `resources` already.

    It gets the connectors of the root system inside; for a package, that of the default variant.

    Raises
    ------
    InvalidDocument
        The file is not a package or structure.
    EditError
        The name is taken; the file is the system itself, or a structure whose files would be missing; or this version
        of SSP cannot represent a connector.
    """
    path = file_path("file", file)
    where, system = find_system(draft.system, into)
    name = path.stem if name is None else name
    require_free(system, name, str(where), "choose another with --name")
    root = _inner_root(draft, file)
    made = [
        shown_outside(draft, each, root) for each in root.system.connectors if parameters or each.kind in SEEN_OUTSIDE
    ]
    arrange(made)
    entry = store(draft, path) if path.is_file() else stored(draft, str(file))
    component = ssd.Component.new(name=name, type=SUFFIXES[path.suffix.lower()], source=draft.reference(entry))
    for connector in made:
        component.add(connector)
    system.add(component)
    place(component, system)
    told = ", ".join(f"{each.name} ({each.kind})" for each in made) or "none"
    draft.note(f"added {name} to {where}: {root.name}, {entry}, connectors {told}")
    return component


def shown_outside(draft: Draft, inner: ssd.Connector, root: ssd.SystemStructureDescription) -> ssd.Connector:
    """A connector for a component, like that of the root system inside; units and enumerations are defined outside."""
    if inner.dimensions:
        draft.require_ssp_2(f"the connector {inner.name!r} is an array")
    require_kind(draft, inner.kind)
    made = ssd.Connector.new(name=inner.name, kind=inner.kind)
    if inner.description is not None:
        made.description = inner.description
    if inner.type is not None:
        require_type(draft, inner.type.type_name)
        made.add(_outer_type(draft, inner.type, root))
    for dimension in inner.dimensions:
        made.add(dimension.copied())
    for clock in inner.clocks:
        made.add(clock.copied())
    return made


def expose(inner: Draft, connector: ssd.Connector) -> None:
    """Add a connector to the component that refers to a structure, like the new one of the root system of that
    structure.
    """
    host = inner.host
    if host is None or connector.name in {each.name for each in host.place.element.connectors}:
        return
    host.place.element.add(shown_outside(host.draft, connector, inner.root))
    host.draft.note(f"added the connector {connector.name} ({connector.kind}) to {host.place}")


def _outer_type(draft: Draft, inner: ssc.SignalType, root: ssd.SystemStructureDescription) -> ssc.SignalType:
    made = inner.copied()
    if isinstance(made, ssc.FloatingPoint) and made.unit is not None:
        made.unit = use_unit(draft.root, named(document_units(root), made.unit))
    elif isinstance(made, ssc.Enumeration):
        items = {each.name: {item.name: item.value for item in each.items} for each in root.enumerations}
        made.name = use_enumeration(draft.root, made.name, items.get(made.name, {}))
    return made


def _inner_root(draft: Draft, file: Path | str) -> ssd.SystemStructureDescription:
    """Root of the structure that becomes a component."""
    path = file_path("file", file)
    if path.is_file() and path.resolve() == draft.archive.path.resolve():
        raise EditError(f"{path} is the system itself, which cannot be a part of itself")
    if path.suffix.lower() == ".ssp":
        local = path if path.is_file() else draft.archive.local_path(stored(draft, str(file)))
        with Archive.open(local) as archive:
            return archive.structure().structure
    if not path.is_file():
        return draft.archive.document(stored(draft, str(file))).structure
    document = Document(str(file), read_bytes(path))
    if any(node.get("source") for node in document.root.own()):
        raise EditError(
            f"{path} refers to files next to it, which would be missing: `ssptool pack` its folder, and add the "
            ".ssp; or put it and its files into resources yourself, and name that entry"
        )
    return document.structure
