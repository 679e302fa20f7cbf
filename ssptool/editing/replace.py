"""Replace the FMU of a component, and list the consequences."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from ssptool.documents import ssd
from ssptool.documents.ssd import ConnectorKind as Kind
from ssptool.editing.bind import Addressees, Use, uses
from ssptool.editing.changes import EditError, RefusedEdit
from ssptool.editing.connect import described
from ssptool.editing.draft import Draft, Place, store, stored
from ssptool.editing.interface import SIGNALS, implementation_of, require_ssp_for, signal_type
from ssptool.editing.names import Name, find_element, shown
from ssptool.errors import counted
from ssptool.fmu.description import Causality, FmuDescription, Variability, Variable
from ssptool.fmu.read_description import read_description
from ssptool.fmu.units import named
from ssptool.foreign_text import one_line
from ssptool.network.connectors import settable
from ssptool.network.conversion import canonical, convertible, document_units
from ssptool.network.targets import VariableTarget


class Weight(StrEnum):
    """Severity of a consequence."""

    BREAKS = "breaks"
    CHANGES = "changes"
    NEW = "new"


@dataclass(frozen=True, slots=True)
class Consequence:
    """Consequence of the new FMU for a statement in the documents about the old one."""

    weight: Weight
    name: str
    message: str

    def __str__(self) -> str:
        return f"{self.weight}: {self.name}: {self.message}"


class SameFmu(EditError):
    """Nothing to replace: the component already has this FMU."""


def consequences(draft: Draft, component: Name, fmu: Path | str) -> tuple[Consequence, ...]:
    """Consequences of another FMU for a component; nothing is changed. Raises as `replace`, except for breaks."""
    place, _ = _component(draft, component)
    return tuple(_consequences(draft, place, _description(draft, fmu)))


def replace(draft: Draft, component: Name, fmu: Path | str, force: bool) -> tuple[Consequence, ...]:
    """Replace the FMU of a component. Connectors keep their names; types that differ become those of the new FMU.

    Parameters
    ----------
    force
        Replace the FMU even if this breaks references.

    Raises
    ------
    UnknownName, AmbiguousName
        The component does not exist, or there are several.
    UnreadableFmu, FileNotFoundError
        The file is not an FMU.
    RefusedEdit
        Connectors, connections or parameters use what the new FMU does not have.
    """
    place, element = _component(draft, component)
    description = _description(draft, fmu)
    found = tuple(_consequences(draft, place, description))
    if not force and any(each.weight is Weight.BREAKS for each in found):
        breaking = [each for each in found if each.weight is Weight.BREAKS]
        listed = "".join(f"\n  {one_line(f'{each.name}: {each.message}')}" for each in breaking)
        raise RefusedEdit(f"the new FMU of {place} breaks {counted(len(breaking), 'thing')}{listed}", found)
    adapted = _adapted(element, description)
    require_ssp_for(draft, str(place), description)
    old = draft.entry(element.source)
    entry = store(draft, Path(fmu)) if Path(fmu).is_file() else stored(draft, str(fmu))
    if entry == old:
        raise SameFmu(f"{place} is this FMU already ({entry})")
    before = old or element.source
    element.source = draft.reference(entry)
    if element.implementation not in (ssd.Implementation.ANY, *description.interface_types):
        element.implementation = implementation_of(description)
        draft.note(f"{place} is {element.implementation} now: the new FMU offers that")
    for connector, variable in adapted:
        connector.type = signal_type(variable, description, draft.root)
    draft.note(f"replaced the FMU of {place}: {entry} instead of {before}")
    for each in found:
        draft.note(str(each))
    draft.release(old)
    return found


def _adapted(element: ssd.Component, description: FmuDescription) -> list[tuple[ssd.Connector, Variable]]:
    """Connectors whose stated type differs from that of the new FMU, with its variables."""
    found = ((each, description.variables.get(each.name)) for each in element.connectors)
    return [(connector, variable) for connector, variable in found if variable and _other_type(connector, variable)]


def _component(draft: Draft, name: Name) -> tuple[Place, ssd.Component]:
    place = find_element(draft.system, name)
    if not isinstance(place.element, ssd.Component):
        raise EditError(f"{shown(name)!r} is a {type(place.element).__name__.lower()}, not a component")
    return place, place.element


def _description(draft: Draft, fmu: Path | str) -> FmuDescription:
    path = Path(fmu)
    return read_description(path if path.is_file() else draft.archive.local_path(stored(draft, str(fmu))))


def _consequences(draft: Draft, place: Place, new: FmuDescription) -> Iterator[Consequence]:
    for connector in place.element.connectors:
        name = f"{place}.{connector.name}"
        variable = new.variables.get(connector.name)
        if variable is None:
            yield Consequence(Weight.BREAKS, name, f"no such variable{_connected(place, connector.name)}")
        else:
            yield from _of_connector(draft, place, connector, variable, new)
    yield from _of_parameters(draft, place, new)
    declared = {connector.name for connector in place.element.connectors}
    for variable in new.variables.values():
        if variable.causality in SIGNALS and variable.name not in declared:
            yield Consequence(
                Weight.NEW, f"{place}.{variable.name}", f"an {variable.causality} that has no connector yet"
            )


def _of_connector(
    draft: Draft, place: Place, connector: ssd.Connector, variable: Variable, new: FmuDescription
) -> Iterator[Consequence]:
    name, kind = f"{place}.{connector.name}", connector.kind
    constant = kind is Kind.CONSTANT and variable.variability is Variability.CONSTANT
    if kind not in (Kind.UNSPECIFIED, Kind.INOUT) and str(kind) != str(variable.causality) and not constant:
        message = f"the connector is {kind}, the variable {variable.causality}{_connected(place, connector.name)}"
        yield Consequence(Weight.BREAKS, name, message)
    if _other_type(connector, variable):
        message = f"{connector.type_name} becomes {variable.type}{_connected(place, connector.name)}"
        yield Consequence(Weight.CHANGES, name, message)
        return
    unit, own = named(document_units(draft.root), connector.unit), named(new.units, variable.unit)
    if unit is None or own is None or unit == own:
        return
    if not convertible(unit, own):
        yield Consequence(Weight.BREAKS, name, f"the connector is in {unit.name}, the variable in {own.name}")
    elif (unit.factor, unit.offset) != (own.factor, own.offset):
        yield Consequence(Weight.CHANGES, name, f"values in {unit.name} will be converted to {own.name}")


def _of_parameters(draft: Draft, place: Place, new: FmuDescription) -> Iterator[Consequence]:
    for around, path in draft.outwards():
        addressees = Addressees(around)
        for use in uses(around):
            for target in addressees.of(use.full):
                if isinstance(target, VariableTarget) and target.place.path == (*path, *place.path):
                    yield from _of_parameter(use, target, new)


def _of_parameter(use: Use, target: VariableTarget, new: FmuDescription) -> Iterator[Consequence]:
    variable, where = new.variables.get(target.name), f"set by {use.bound}"
    if variable is None:
        yield Consequence(Weight.BREAKS, use.full, f"no such variable, {where}")
        return
    if variable.causality is Causality.INDEPENDENT or not settable(variable):
        yield Consequence(Weight.BREAKS, use.full, f"the FMU calculates it, {where}")
    if variable.type != target.type:
        yield Consequence(Weight.BREAKS, use.full, f"{target.type} becomes {variable.type}, {where}")
    own, before = named(new.units, variable.unit), target.unit
    if own is None or before is None or own == before:
        return
    if not convertible(own, before):
        yield Consequence(Weight.BREAKS, use.full, f"the unit {before.name} becomes {own.name}, {where}")
    elif (own.factor, own.offset) != (before.factor, before.offset):
        stated = "is converted" if use.parameter.unit else f"means {own.name} instead of {before.name} now"
        yield Consequence(Weight.CHANGES, use.full, f"its value {stated}, {where}")


def _other_type(connector: ssd.Connector, variable: Variable) -> bool:
    return connector.type_name is not None and canonical(connector.type_name) != variable.type


def _connected(place: Place, connector: str) -> str:
    """Text for the end of a message: other ends of the connections of a connector."""
    ends = [
        described(connection, place.path[:-1])
        for connection in place.system.connections
        if (place.element.name, connector) in connection.ends
    ]
    return f" (connection of {'; '.join(ends)})" if ends else ""
