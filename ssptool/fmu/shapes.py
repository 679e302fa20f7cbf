"""Names of the elements of arrays: `y[1]`, `y[2,3]`, counted from 1 and row by row (FMI 3.0 §2.4.7.5)."""

from itertools import product
from typing import TypeAlias

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
