"""Which parameters reach which variables: bindings, prefixes and mappings followed to their targets.

Names are relative to the element that owns the binding and are compared whole, because the names of elements and of
variables may contain dots (SSP 2.0 §5.2.3).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ssptool.documents import ssd, ssm, ssv
from ssptool.documents.element import Element
from ssptool.fmu.description import FmuDescription, Variable
from ssptool.network.terminals import settable
from ssptool.rules.links import Carried, by_variable, carried_by
from ssptool.rules.memory import remembered
from ssptool.rules.subjects import Structure, is_fmu
from ssptool.rules.trees import around, every


@dataclass(frozen=True, slots=True)
class Target:
    """What a name stands for: a variable of an FMU, or a connector of another element."""

    element: ssd.SystemElement
    name: str
    carried: Carried
    variable: Variable | None = None
    fmi: str = ""

    def __str__(self) -> str:
        return f"{self.element.name}.{self.name}"


@dataclass(frozen=True, slots=True)
class Use:
    """One parameter of one binding, under the name that it has after prefix and mapping."""

    owner: ssd.SystemElement
    binding: ssd.ParameterBinding
    parameter: ssv.Parameter
    entry: ssm.MappingEntry | None
    name: str
    targets: tuple[Target, ...]
    addressed: ssd.SystemElement | None
    """The existing element that the start of the name means, where there are no targets."""
    rest: str
    """What follows that element's name."""
    judged: bool
    """False where the name leads into an element whose variables are not known."""


def uses(structure: Structure) -> tuple[Use, ...]:
    """Every parameter that a binding of the structure gives to some name."""
    return _uses(structure.root, structure)


def variables_of(element: ssd.SystemElement, structure: Structure) -> list[str]:
    """The names that an element can be given values for, without those of elements inside it."""
    description = structure.fmu_of(element)
    if description is not None:
        return [name for name, variable in description.variables.items() if settable(variable)]
    return [connector.name for connector in element.connectors]


@remembered
def _uses(root: Element, structure: Structure) -> tuple[Use, ...]:
    found: list[Use] = []
    for binding in every(root, ssd.ParameterBinding):
        owner = next(around(binding, ssd.SystemElement))
        parameters = structure.parameter_set_of(binding)
        if parameters is not None:
            found += _of_binding(owner, binding, parameters, structure)
    return tuple(found)


def _of_binding(
    owner: ssd.SystemElement, binding: ssd.ParameterBinding, parameters: ssv.ParameterSet, structure: Structure
) -> Iterator[Use]:
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
) -> Use:
    targets = tuple(_targets(name, owner, structure))
    addressed, rest = _addressed(name, owner, structure)
    reached = addressed if addressed is not None else owner
    return Use(owner, binding, parameter, entry, name, targets, addressed, rest, _known(reached, structure))


def _targets(name: str, element: ssd.SystemElement, structure: Structure) -> Iterator[Target]:
    description = structure.fmu_of(element)
    if description is not None:
        yield from _variable(name, element, description)
        return
    for connector in element.connectors:
        if connector.name == name:
            yield Target(element, name, carried_by(connector, element, structure))
            break
    for child, rest in _inside(name, element, structure):
        yield from _targets(rest, child, structure)


def _variable(name: str, element: ssd.SystemElement, description: FmuDescription) -> Iterator[Target]:
    variable = description.variables.get(name)
    if variable is not None:
        yield Target(element, name, by_variable(description, variable), variable, description.fmi_version)


def _inside(name: str, element: ssd.SystemElement, structure: Structure) -> Iterator[tuple[ssd.SystemElement, str]]:
    """The children whose names the name starts with, and the rest of it."""
    if isinstance(element, ssd.System):
        children = structure.interface(element).elements
        dot = name.find(".")
        while dot >= 0:
            if name[:dot] in children:
                yield children[name[:dot]], name[dot + 1 :]
            dot = name.find(".", dot + 1)


def _addressed(name: str, element: ssd.SystemElement, structure: Structure) -> tuple[ssd.SystemElement | None, str]:
    """The innermost element that the start of a name means."""
    found: tuple[ssd.SystemElement | None, str] = (None, name)
    for child, rest in _inside(name, element, structure):
        deeper = _addressed(rest, child, structure)
        found = deeper if deeper[0] is not None else (child, rest)
    return found


def _known(element: ssd.SystemElement, structure: Structure) -> bool:
    """Whether all variables of an element are known: not of a component that is no FMU, or not a readable one."""
    if not isinstance(element, ssd.Component):
        return True
    return is_fmu(element) and structure.fmu_of(element) is not None
