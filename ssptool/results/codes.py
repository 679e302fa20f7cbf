"""Values that doubles cannot hold: texts and large integers, compared by numbers in their place."""

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
    every = np.concatenate([one.astype(object), other.astype(object)])
    places = np.unique(every, return_inverse=True)[1].astype(np.float64)
    return places[: len(one)], places[len(one) :]
