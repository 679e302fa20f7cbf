"""Arrays as their elements: `y[1]`, `y[2,3]`, counted from 1 and row by row (FMI 3.0 §2.4.7.5)."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from types import MappingProxyType
from typing import TypeAlias

from ssptool.fmu.description import Dependencies, FmuDescription, Value, Variable

Shape: TypeAlias = tuple[int, ...]
"""The extents of an array; a scalar has none."""


def element_names(name: str, shape: Shape) -> tuple[str, ...]:
    """The elements of an array in the order in which FMI passes their values; of a scalar its own name."""
    if not shape:
        return (name,)
    indices = product(*(range(1, extent + 1) for extent in shape))
    return tuple(f"{name}[{','.join(map(str, index))}]" for index in indices)


def in_words(shape: Shape) -> str:
    """A shape as messages have it."""
    return f"an array [{', '.join(map(str, shape))}]" if shape else "a scalar"


def shape_of(variable: Variable, sizes: Mapping[str, int]) -> Shape:
    """The extents of a variable where structural parameters have these values, by name, or their own."""
    parameters = variable.sizes or (None,) * len(variable.shape)
    extents = zip(variable.shape, parameters, strict=True)
    return tuple(extent if parameter is None else sizes.get(parameter, extent) for extent, parameter in extents)


def fixed_shape(variable: Variable) -> tuple[int | None, ...]:
    """The extents that no parameter changes; None for one that a structural parameter gives."""
    parameters = variable.sizes or (None,) * len(variable.shape)
    sides = zip(variable.shape, parameters, strict=True)
    return tuple(extent if parameter is None else None for extent, parameter in sides)


def with_elements(fmu: FmuDescription, sizes: Mapping[str, int]) -> FmuDescription:
    """The description with the elements of every array in its place; `sizes` as for `shape_of`.

    What holds for an array holds for each of its elements: what one depends on is all elements of what the array
    depends on.

    Raises
    ------
    ValueError
        An element has the name of another variable.
    """
    shapes = {name: shape_of(variable, sizes) for name, variable in fmu.variables.items() if variable.shape}
    if not shapes:
        return fmu
    names = {name: element_names(name, shape) for name, shape in shapes.items()}
    variables: dict[str, Variable] = {}
    for name, variable in fmu.variables.items():
        for own in _elements(variable, names) if name in shapes else (variable,):
            if own.name in variables or (own.array and own.name in fmu.variables):
                raise ValueError(f"an element of {name} has the name of the variable {own.name}")
            variables[own.name] = own
    return replace(
        fmu,
        variables=MappingProxyType(variables),
        outputs=_spread(fmu.outputs, names),
        derivatives=_spread(fmu.derivatives, names),
        initial_unknowns=_spread(fmu.initial_unknowns, names),
        arrays=MappingProxyType(shapes),
    )


def _elements(variable: Variable, names: Mapping[str, tuple[str, ...]]) -> Iterator[Variable]:
    own = names[variable.name]
    states = names.get(variable.derivative_of or "", ())
    for place, name in enumerate(own):
        yield replace(
            variable,
            name=name,
            start=_start(variable, place, len(own)),
            starts=(),
            shape=(),
            sizes=(),
            derivative_of=states[place] if place < len(states) else variable.derivative_of,
            array=variable.name,
            element=place,
        )


def _start(variable: Variable, place: int, count: int) -> Value | None:
    """One start value is that of all elements. Those for another size than the present one say nothing."""
    if len(variable.starts) == count:
        return variable.starts[place]
    return variable.starts[0] if len(variable.starts) == 1 else None


def _spread(declared: Dependencies, names: Mapping[str, tuple[str, ...]]) -> Dependencies:
    spread: dict[str, frozenset[str] | None] = {}
    for unknown, known in declared.items():
        needed = None if known is None else frozenset(n for name in known for n in names.get(name, (name,)))
        spread.update(dict.fromkeys(names.get(unknown, (unknown,)), needed))
    return MappingProxyType(spread)
