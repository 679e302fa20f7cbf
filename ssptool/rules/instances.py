"""Components that are systems of their own, and how systems contain each other through them (SSP 2.0 §5.4)."""

from ssptool.documents import ssd
from ssptool.documents.element import Element
from ssptool.rules.memory import remembered
from ssptool.rules.subjects import Instance, Structure
from ssptool.rules.trees import around


def instance_of(element: Element | None, structure: Structure) -> Instance | None:
    """The system that a component is; None if it is none, cannot be read, or contains the component (SSD-COMP-008)."""
    found = structure.instance(element)
    return None if found is None or not isinstance(element, ssd.Component) or recursive(element, structure) else found


def recursive(component: ssd.Component, structure: Structure) -> bool:
    """Whether a component is, directly or through others, an instance of a system that contains it."""
    found = structure.instance(component)
    if found is None:
        return False
    inside = _systems_inside(found.system, found.structure)
    return any(system in inside for system in around(component, ssd.System))


@remembered
def _systems_inside(system: ssd.System, structure: Structure) -> frozenset[ssd.System]:
    """A system and those inside it, the ones that components are instances of included."""
    found, waiting = {system}, [Instance(system, structure)]
    while waiting:
        around = waiting.pop()
        for element in around.system.elements:
            inner = Instance(element, around.structure) if isinstance(element, ssd.System) else None
            inner = inner or around.structure.instance(element)
            if inner is not None and inner.system not in found:
                found.add(inner.system)
                waiting.append(inner)
    return frozenset(found)
