"""How large arrays are: the FMU says it, or a structural parameter does, which the system may set (SSP 2.0 §4.5.3)."""

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from ssptool.documents.diagnostics import Position
from ssptool.fmu.description import FmuDescription
from ssptool.fmu.elements import shape_of, with_elements
from ssptool.fmu.packed import MODEL_DESCRIPTION
from ssptool.fmu.shapes import in_words
from ssptool.network.places import ComponentPlace, Tree, dotted
from ssptool.network.signals import Signal
from ssptool.network.terminals import Key, Terminal, terminals

MOST_ELEMENTS = 10_000_000
"""Of the arrays of one component together: a number in a parameter set could ask for any memory."""


def sized(fmu: FmuDescription, sizes: Mapping[str, int], entry: str, tree: Tree) -> FmuDescription:
    """`fmu` with elements in place of its arrays; what cannot be is refused, and then it stays as it is."""
    total = sum(prod(shape_of(variable, sizes)) for variable in fmu.variables.values() if variable.shape)
    position = Position(f"{entry.rstrip('/')}/{MODEL_DESCRIPTION}")
    if total > MOST_ELEMENTS:
        tree.refuse(position, f"arrays with {total} elements together, where {MOST_ELEMENTS} are the limit")
        return fmu
    try:
        return with_elements(fmu, sizes)
    except ValueError as problem:
        tree.refuse(position, str(problem))
        return fmu


def undivided(tree: Tree) -> dict[Key, Terminal]:
    """For what treats an array as one thing: the tree with no elements in place of arrays; and its terminals."""
    tree.components[:] = [replace(place, elements=place.fmu) for place in tree.components]
    return {key: terminal._replace(extents=()) for key, terminal in terminals(tree).items()}


def check_stated(tree: Tree) -> None:
    """Refuse connectors that state another size than their variable has here."""
    for place in tree.components:
        for connector in place.component.connectors if place.elements.arrays else ():
            shape = place.elements.arrays.get(connector.name)
            stated = [dimension.size for dimension in connector.dimensions]
            if shape is None or not stated:
                continue
            sizes = zip(stated, shape, strict=False)
            if len(stated) != len(shape) or any(size not in (None, extent) for size, extent in sizes):
                found = ", ".join("?" if size is None else str(size) for size in stated)
                what = f"{dotted(place.path)}.{connector.name}"
                tree.refuse(
                    place.scope.survey.position(connector),
                    f"the dimensions [{found}] of the connector {what}, whose variable is {in_words(shape)}",
                    rules=("FMU-007",),
                )


def structural(place: ComponentPlace) -> frozenset[str]:
    """The structural parameters that size arrays."""
    return frozenset(size for variable in place.fmu.variables.values() for size in variable.sizes if size is not None)


def has_variable_sizes(tree: Tree, known: Mapping[Key, Terminal]) -> bool:
    """Whether parameters size arrays anywhere."""
    by_connectors = any(isinstance(each, str) for one in known.values() for each in one.extents)
    return by_connectors or any(structural(place) for place in tree.components if place.elements.arrays)


def resize(tree: Tree, given: Mapping[Signal, int]) -> None:
    """Let these integers, by variable and connector, size the arrays of a tree."""
    tree.sizes = given
    known: dict[tuple[str, tuple[tuple[str, int], ...]], FmuDescription] = {}
    for number, place in enumerate(tree.components):
        name = dotted(place.path)
        own = {size: given[Signal(name, size)] for size in structural(place) if Signal(name, size) in given}
        if own:
            key = (place.source, tuple(sorted(own.items())))
            if key not in known:
                known[key] = sized(place.fmu, own, place.source, tree)
            tree.components[number] = replace(place, elements=known[key])
