"""Values on their way from a parameter set to variables: read, renamed, converted, with every step noted."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod

from ssptool.dataclass import dataclass
from ssptool.documents import ssc, ssm, ssv
from ssptool.documents.diagnostics import Position
from ssptool.fmu.description import Value
from ssptool.fmu.shapes import Shape, element_names, in_words
from ssptool.fmu.units import Unit, named
from ssptool.network.network import Assignment, ProvenanceStep, StepKind
from ssptool.network.places import Tree
from ssptool.network.signals import Conversion
from ssptool.network.targets import Target
from ssptool.network.transform import transformed
from ssptool.network.units import conversion, document_units
from ssptool.network.values import convert


@dataclass(frozen=True, slots=True)
class Given:
    """A value on its way from a parameter set to its targets.

    Of an array each element goes this way by itself: `name` is that of the array, `element` what follows it in the
    name of the element, as in `[2,3]`, and `shape` the extents of the array.
    """

    name: str
    value: Value
    type: str
    unit: Unit | None
    source_items: Mapping[str, int]
    position: Position
    chain: tuple[ProvenanceStep, ...]
    element: str = ""
    shape: Shape = ()

    @property
    def full_name(self) -> str:
        return self.name + self.element

    def after(self, kind: StepKind, position: Position, detail: str = "", **changes: object) -> "Given":
        """This value one step on; `changes` may set `name`, `value` and `unit`."""
        moved = replace(self, **changes)  # type: ignore[arg-type]
        step = ProvenanceStep(kind, position, moved.full_name, moved.value, detail, unit_name(moved.unit))
        return replace(moved, chain=(*self.chain, step))


def read_set(parameters: ssv.ParameterSet, tree: Tree, detail: str) -> Iterator[Given]:
    """The parameters of a set that have a value; arrays with more or fewer values than elements are refused by name."""
    units = document_units(parameters)
    for parameter in parameters.parameters:
        value, position, shape = parameter.value, parameter.position, _shape(parameter)
        if value is None or value == ():
            continue
        values = value if isinstance(value, tuple) else (value,)
        if len(values) != prod(shape):
            problem = f"{len(values)} values for the parameter {parameter.name!r}, {in_words(shape)}"
            tree.refuse(position, problem, rules=("SSV-004", "SSV-006"))
            continue
        unit, items = named(units, parameter.unit), _items(parameter, parameters)
        for name, own in zip(element_names(parameter.name, shape), values, strict=True):
            yield Given(
                name=parameter.name,
                value=own,
                type=parameter.type_name or "",
                unit=unit,
                source_items=items,
                position=position,
                chain=(ProvenanceStep(StepKind.BINDING, position, name, own, detail, parameter.unit),),
                element=name[len(parameter.name) :],
                shape=shape,
            )


def _shape(parameter: ssv.Parameter) -> Shape:
    return tuple(dimension.size or 0 for dimension in parameter.dimensions)


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
