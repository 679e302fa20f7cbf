"""Parameter bindings followed through prefixes and mappings to the variables they set.

Names are relative to the element that owns the binding and are compared whole, because the names of elements and of
variables may contain dots (SSP 2.0 §5.2.3).
"""

from collections.abc import Iterator
from typing import NamedTuple

from ssptool.documents import ssd, ssm, ssv
from ssptool.fmu.description import FmuDescription, Variable
from ssptool.network.connectors import settable
from ssptool.network.legality import Carried, by_variable
from ssptool.rules.links import by_name, carried_by, instance_of, interface, links
from ssptool.rules.subjects import Structure, around, found_once


class ParameterTarget(NamedTuple):
    """A variable of an FMU, or a connector of another element, that a name refers to."""

    element: ssd.SystemElement
    name: str
    carried: Carried
    variable: Variable | None = None
    fmi: str = ""
    connected: bool = False
    """True if a connection provides its value."""
    follows_from: frozenset[str] | None = None
    """Variables from which its FMU calculates it at the start; None if undeclared."""

    def __str__(self) -> str:
        return f"{self.element.name}.{self.name}"


class ParameterUse(NamedTuple):
    """One parameter of one binding, with its name after prefix and mapping."""

    owner: ssd.SystemElement
    binding: ssd.ParameterBinding
    parameter: ssv.Parameter
    entry: ssm.MappingEntry | None
    name: str
    targets: tuple[ParameterTarget, ...]
    addressed: ssd.SystemElement | None = None
    """The element that the start of the name refers to, if there are no targets."""
    rest: str = ""
    """The rest of the name after the name of that element."""
    offered: tuple[str, ...] = ()
    """Names that can be set at the element, if there are no targets."""
    judged: bool = True
    """False if the name refers to an element whose variables are unknown."""


def variables_of(element: ssd.SystemElement, structure: Structure) -> list[str]:
    """Names that can be set at an element, except those of elements inside of it."""
    description = structure.fmu_of(element)
    if description is not None:
        return [name for name, variable in description.variables.items() if settable(variable)]
    instance = instance_of(element, structure)
    inner = [] if instance is None else instance.system.connectors
    return list(dict.fromkeys(connector.name for connector in (*element.connectors, *inner)))


@found_once
def uses(structure: Structure) -> tuple[ParameterUse, ...]:
    """Every parameter of every binding of the structure, with its targets."""
    found: list[ParameterUse] = []
    for binding in structure.all(ssd.ParameterBinding):
        owner = next(around(binding, ssd.SystemElement))
        parameters = structure.parameter_set_of(binding)
        if parameters is not None:
            found += _of_binding(owner, binding, parameters, structure)
    return tuple(found)


def _of_binding(
    owner: ssd.SystemElement, binding: ssd.ParameterBinding, parameters: ssv.ParameterSet, structure: Structure
) -> Iterator[ParameterUse]:
    mapping = binding.parameter_mapping
    renaming = None if mapping is None else structure.mapping_of(mapping)
    if mapping is not None and renaming is None:
        return
    entries: dict[str, list[ssm.MappingEntry]] = {}
    for entry in renaming.entries if renaming is not None else ():
        entries.setdefault(entry.source, []).append(entry)
    for parameter in parameters.parameters:
        name = binding.prefix + parameter.name
        if renaming is None:
            yield _use(owner, binding, parameter, None, name, structure)
        for entry in entries.get(name, ()):
            yield _use(owner, binding, parameter, entry, entry.target, structure)


def _use(
    owner: ssd.SystemElement,
    binding: ssd.ParameterBinding,
    parameter: ssv.Parameter,
    entry: ssm.MappingEntry | None,
    name: str,
    structure: Structure,
) -> ParameterUse:
    targets = tuple(_targets(name, owner, structure))
    if targets:
        return ParameterUse(owner, binding, parameter, entry, name, targets)
    addressed, rest, where = _addressed(name, owner, structure)
    reached = addressed if addressed is not None else owner
    offered, known = tuple(_offered(reached, where)), _known(reached, where)
    return ParameterUse(owner, binding, parameter, entry, name, targets, addressed, rest, offered, known)


def _targets(name: str, element: ssd.SystemElement, structure: Structure) -> Iterator[ParameterTarget]:
    description = structure.fmu_of(element)
    if description is not None:
        yield from _variable(name, element, description, structure)
        return
    yield from _connector(name, element, structure)
    for child, rest, where in _inside(name, element, structure):
        yield from _targets(rest, child, where)


def _variable(
    name: str, element: ssd.SystemElement, description: FmuDescription, structure: Structure
) -> Iterator[ParameterTarget]:
    variable = description.variables.get(name)
    if variable is not None:
        known, connected = by_variable(description, variable), (element, name) in driven(structure)
        stating = by_name(element, structure).get(name) if known.unit is None else None
        if stating is not None:
            known = known._replace(unit=carried_by(stating, element, structure).unit)
        source = description.initial_unknowns.get(name)
        yield ParameterTarget(element, name, known, variable, description.fmi_version, connected, source)


def _connector(name: str, element: ssd.SystemElement, structure: Structure) -> Iterator[ParameterTarget]:
    """The connector of an element; for a component that refers to a system, also a connector that only the system
    declares.
    """
    instance = instance_of(element, structure)
    places = (
        [(element, structure)] if instance is None else [(element, structure), (instance.system, instance.structure)]
    )
    for owner, where in places:
        connector = by_name(owner, where).get(name)
        if connector is not None:
            connected = (element, name) in driven(structure)
            yield ParameterTarget(element, name, carried_by(connector, owner, where), connected=connected)
            return


def _inside(
    name: str, element: ssd.SystemElement, structure: Structure
) -> Iterator[tuple[ssd.SystemElement, str, Structure]]:
    """The children whose names are prefixes of the name, each with the rest of the name and its structure."""
    for system, where in _system(element, structure):
        children = interface(system, where).elements
        dot = name.find(".")
        while dot >= 0:
            if name[:dot] in children:
                yield children[name[:dot]], name[dot + 1 :], where
            dot = name.find(".", dot + 1)


def _system(element: ssd.SystemElement, structure: Structure) -> Iterator[tuple[ssd.System, Structure]]:
    """The system of an element, in its own document or in another one."""
    if isinstance(element, ssd.System):
        yield element, structure
    elif (instance := instance_of(element, structure)) is not None:
        yield instance.system, instance.structure


def _addressed(
    name: str, element: ssd.SystemElement, structure: Structure
) -> tuple[ssd.SystemElement | None, str, Structure]:
    """The innermost element that the start of a name refers to, and its structure."""
    found: tuple[ssd.SystemElement | None, str, Structure] = (None, name, structure)
    for child, rest, where in _inside(name, element, structure):
        deeper = _addressed(rest, child, where)
        found = deeper if deeper[0] is not None else (child, rest, where)
    return found


def _offered(element: ssd.SystemElement, structure: Structure) -> Iterator[str]:
    yield from variables_of(element, structure)
    for system, where in _system(element, structure):
        yield from interface(system, where).elements


@found_once
def driven(structure: Structure) -> frozenset[tuple[ssd.SystemElement, str]]:
    """Connectors that get their values from a connection, with the elements that own them."""
    found = (link for system in structure.systems for link in links(system, structure))
    return frozenset((link.flow[1].owner, link.flow[1].name) for link in found if link.flow is not None)


def _known(element: ssd.SystemElement, structure: Structure) -> bool:
    """True if all variables of an element are known; false for a component without a readable FMU."""
    if not isinstance(element, ssd.Component):
        return True
    return structure.fmu_of(element) is not None or instance_of(element, structure) is not None
