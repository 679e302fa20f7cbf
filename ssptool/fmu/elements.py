"""Descriptions with the elements of arrays in place of these."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod
from types import MappingProxyType

from ssptool.fmu.description import FmuDescription, Value, Variable
from ssptool.fmu.shapes import Shape, element_names


def shape_of(variable: Variable, sizes: Mapping[str, int]) -> Shape:
    """The extents of a variable where structural parameters have these values, by name, or their own."""
    parameters = variable.sizes or (None,) * len(variable.shape)
    extents = zip(variable.shape, parameters, strict=True)
    return tuple(extent if parameter is None else sizes.get(parameter, extent) for extent, parameter in extents)


def fixed_shape(variable: Variable) -> tuple[int | None, ...]:
    """The extents that no parameter changes; None for one that a structural parameter gives."""
    if not variable.shape:
        return ()
    parameters = variable.sizes or (None,) * len(variable.shape)
    sides = zip(variable.shape, parameters, strict=True)
    return tuple(extent if parameter is None else None for extent, parameter in sides)


def with_elements(fmu: FmuDescription, sizes: Mapping[str, int]) -> FmuDescription:
    """The description with the elements of every array in its place; `sizes` as for `shape_of`.

    Dependencies are those of arrays: what holds for one holds for each of its elements.

    Raises
    ------
    ValueError
        An element has the name of another variable.
    """
    shapes = {name: shape_of(variable, sizes) for name, variable in fmu.variables.items() if variable.shape}
    if not shapes:
        return fmu
    elements = Elements(fmu.variables, shapes)
    for name in fmu.variables:
        if (array := elements.array_of(name)) is not None:
            raise ValueError(f"an element of {array} has the name of the variable {name}")
    return replace(fmu, variables=elements, arrays=MappingProxyType(shapes), whole=fmu.variables)


class Elements(Mapping[str, Variable]):
    """Variables by name, with elements in place of arrays; one is made when it is asked for, since tables are large."""

    def __init__(self, whole: Mapping[str, Variable], shapes: Mapping[str, Shape]) -> None:
        self._whole, self._shapes = whole, shapes
        self._made: dict[str, Variable] = {}

    def __getitem__(self, name: str) -> Variable:
        if name in self._whole and name not in self._shapes:
            return self._whole[name]
        made = self._made.get(name)
        if made is None:
            array = self.array_of(name)
            if array is None:
                raise KeyError(name)
            made = self._made[name] = self._element(array, name)
        return made

    def __iter__(self) -> Iterator[str]:
        for name in self._whole:
            yield from element_names(name, self._shapes[name]) if name in self._shapes else (name,)

    def __len__(self) -> int:
        return sum(prod(self._shapes.get(name, ())) for name in self._whole)

    def array_of(self, name: str) -> str | None:
        """The array of which this is an element; None if there is none."""
        array, bracket, _ = name.rpartition("[")
        shape = self._shapes.get(array) if bracket else None
        return None if shape is None or _place(name, array, shape) is None else array

    def _element(self, array: str, name: str) -> Variable:
        whole, shape = self._whole[array], self._shapes[array]
        place = _place(name, array, shape)
        assert place is not None
        state = whole.derivative_of
        return replace(
            whole,
            name=name,
            start=_start(whole, place, prod(shape)),
            starts=(),
            shape=(),
            sizes=(),
            derivative_of=None if state is None else state + name[len(array) :],
            array=array,
            element=place,
        )


def _place(name: str, array: str, shape: Shape) -> int | None:
    """Of an element among the values of its array; None if it is none."""
    texts = name[len(array) + 1 : -1].split(",")
    if name[-1] != "]" or len(texts) != len(shape) or not all(text.isdecimal() for text in texts):
        return None
    place = 0
    for text, extent in zip(texts, shape, strict=True):
        if text[0] == "0" or int(text) > extent:
            return None
        place = place * extent + int(text) - 1
    return place


def _start(variable: Variable, place: int, count: int) -> Value | None:
    """One start value is that of all elements. Those for another size than the present one say nothing."""
    if len(variable.starts) == count:
        return variable.starts[place]
    return variable.starts[0] if len(variable.starts) == 1 else None
