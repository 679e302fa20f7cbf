"""Values that doubles cannot hold: texts, bytes and large integers, compared by numbers in their place."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def fits_doubles(values: NDArray[Any]) -> bool:
    """Whether these values (n,) are numbers, and no double is another one than its value."""
    if values.dtype == object:
        return False
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8 or not values.size:
        return True
    return int(values.min()) >= -(2**53) and int(values.max()) <= 2**53


def coded(one: NDArray[Any], other: NDArray[Any]) -> tuple[Floats, Floats]:
    """Numbers (n,) and (m,) in place of values: equal where the values are."""
    every = [*one.tolist(), *other.tolist()]
    numbers = {value: number for number, value in enumerate(dict.fromkeys(every))}
    places = np.array([numbers[value] for value in every], dtype=np.float64)
    return places[: len(one)], places[len(one) :]
