"""Values on their way from a parameter set to variables: read, renamed, converted, with every step noted."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ssptool.documents import ssc, ssm, ssv
from ssptool.documents.diagnostics import Position
from ssptool.fmu.description import Value
from ssptool.fmu.units import Unit
from ssptool.network.network import Assignment, ProvenanceStep, StepKind
from ssptool.network.places import Tree
from ssptool.network.signals import Conversion
from ssptool.network.targets import Target
from ssptool.network.transform import transformed
from ssptool.network.units import conversion, document_units, named
from ssptool.network.values import convert


@dataclass(frozen=True, slots=True)
class Given:
    """A value on its way from a parameter set to its targets."""

    name: str
    value: Value
    type: str
    unit: Unit | None
    source_items: Mapping[str, int]
    position: Position
    chain: tuple[ProvenanceStep, ...]

    def after(self, kind: StepKind, position: Position, detail: str = "", **changes: object) -> "Given":
        """This value one step on; `changes` may set `name`, `value` and `unit`."""
        moved = replace(self, **changes)  # type: ignore[arg-type]
        step = ProvenanceStep(kind, position, moved.name, moved.value, detail, unit_name(moved.unit))
        return replace(moved, chain=(*self.chain, step))


def read_set(parameters: ssv.ParameterSet, tree: Tree, detail: str = "") -> Iterator[Given]:
    """The parameters of a set that have a value; arrays are refused by name."""
    units = document_units(parameters)
    for parameter in parameters.parameters:
        value, position = parameter.value, parameter.position
        if isinstance(value, tuple) and (value or parameter.dimensions):
            tree.refuse(position, f"the array {parameter.name!r} in a parameter set")
        elif value is not None and value != ():
            yield Given(
                name=parameter.name,
                value=value,
                type=parameter.type_name or "",
                unit=named(units, parameter.unit),
                source_items=_items(parameter, parameters),
                position=position,
                chain=(ProvenanceStep(StepKind.BINDING, position, parameter.name, value, detail, parameter.unit),),
            )


def _items(parameter: ssv.Parameter, parameters: ssv.ParameterSet) -> Mapping[str, int]:
    if not isinstance(parameter.type, ssv.Enumeration):
        return {}
    for enumeration in parameters.enumerations:
        if enumeration.name == parameter.type.name:
            return {item.name: item.value for item in enumeration.items}
    return {}


def by_source(mapping: ssm.ParameterMapping) -> dict[str, list[ssm.MappingEntry]]:
    """A parameter may go to several targets; each starts from its original value."""
    entries: dict[str, list[ssm.MappingEntry]] = {}
    for entry in mapping.entries:
        entries.setdefault(entry.source, []).append(entry)
    return entries


def suited(given: Given, target: Target, entry: ssm.MappingEntry | None) -> Assignment:
    """Unit conversion, then transformation, then type conversion (§5.2.3, §7.1.1).

    Raises
    ------
    IncompatibleUnits, InvalidValue
        The target does not take this value.
    """
    at = given.position if entry is None else entry.position
    if isinstance(given.value, float) and not (entry is not None and entry.suppress_unit_conversion):
        change = conversion(given.unit, target.unit, target.relative)
        if change != Conversion():
            detail = f"{unit_name(given.unit)} → {unit_name(target.unit)}"
            given = given.after(StepKind.UNIT, at, detail, value=change(given.value), unit=target.unit)
    transformation: ssc.Transformation | None = None if entry is None else entry.transformation
    if transformation is not None:
        value, detail = transformed(given.value, transformation, given.source_items or target.items)
        given = given.after(StepKind.TRANSFORMATION, transformation.position, detail, value=value, unit=target.unit)
    value = convert(str(target), given.value, target.type, target.items)
    return Assignment(target.signal, value, unit_name(target.unit), given.chain)


def unit_name(unit: Unit | None) -> str | None:
    return None if unit is None else unit.name
