"""A structure as a component of another one: its connectors as they are seen from outside."""

import copy
from pathlib import Path
from typing import TypeVar

from ssptool.documents import ssc, ssd
from ssptool.documents.archive import Archive
from ssptool.documents.document import Document
from ssptool.documents.element import Element
from ssptool.documents.vocabulary import PACKAGE, SYSTEM_STRUCTURE
from ssptool.editing.add import arrange, place, require_free, require_kind, require_type, store, stored
from ssptool.editing.changes import EditError
from ssptool.editing.draft import Draft
from ssptool.editing.names import Name, find_system
from ssptool.editing.units import use_enumeration, use_unit
from ssptool.fmu.description import named
from ssptool.network.conversion import document_units

E = TypeVar("E", bound=Element)
SUFFIXES = {".ssp": PACKAGE, ".ssd": SYSTEM_STRUCTURE}
SIGNALS = (ssd.ConnectorKind.INPUT, ssd.ConnectorKind.OUTPUT, ssd.ConnectorKind.INOUT)


def add_structure(draft: Draft, file: Path | str, name: str | None, into: Name, parameters: bool) -> ssd.Component:
    """Make a component of a package, copied into the archive, or of a structure that is in `resources` already.

    It gets the connectors of the root system inside; the default variant of a package is meant.

    Raises
    ------
    InvalidDocument
        The file is no package or structure.
    EditError
        The name is taken; the file is the system itself, or a structure whose files would not come along; or this
        version of SSP has no words for a connector.
    """
    path = Path(file)
    where, system = find_system(draft.system, into)
    name = path.stem if name is None else name
    require_free(system, name, str(where), "choose another with --name")
    root = _root(draft, file)
    made = [shown_outside(draft, each, root) for each in root.system.connectors if parameters or each.kind in SIGNALS]
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
        made.add(_type(draft, inner.type, root))
    for dimension in inner.dimensions:
        made.add(_copy(dimension))
    for clock in inner.clocks:
        made.add(_copy(clock))
    return made


def expose(inner: Draft, connector: ssd.Connector) -> None:
    """Give the component that is made of a structure a connector that the root system of that has got."""
    host = inner.host
    if host is None or connector.name in {each.name for each in host.place.element.connectors}:
        return
    host.place.element.add(shown_outside(host.draft, connector, inner.root))
    host.draft.note(f"added the connector {connector.name} ({connector.kind}) to {host.place}")


def _type(draft: Draft, inner: ssc.SignalType, root: ssd.SystemStructureDescription) -> ssc.SignalType:
    made = _copy(inner)
    if isinstance(made, ssc.FloatingPoint) and made.unit is not None:
        made.unit = use_unit(draft.root, named(document_units(root), made.unit))
    elif isinstance(made, ssc.Enumeration):
        items = {each.name: {item.name: item.value for item in each.items} for each in root.enumerations}
        made.name = use_enumeration(draft.root, made.name, items.get(made.name, {}))
    return made


def _copy(element: E) -> E:
    """Without what followed it, and in no document."""
    made = copy.deepcopy(element)
    made.tail = None
    return made


def _root(draft: Draft, file: Path | str) -> ssd.SystemStructureDescription:
    """The structure that is to be a component."""
    path = Path(file)
    if path.is_file() and path.resolve() == draft.archive.path.resolve():
        raise EditError(f"{path} is the system itself, which cannot be a part of itself")
    if path.suffix.lower() == ".ssp":
        local = path if path.is_file() else draft.archive.local_path(stored(draft, str(file)))
        with Archive.open(local) as archive:
            return archive.structure().structure
    if not path.is_file():
        return draft.archive.document(stored(draft, str(file))).structure
    document = Document(str(file), path.read_bytes())
    if any(node.get("source") for node in document.root.iter("*")):
        raise EditError(
            f"{path} refers to files beside it, which would not come along: `ssptool pack` its folder, and add the "
            ".ssp; or put it and its files into resources yourself, and name that entry"
        )
    return document.structure
