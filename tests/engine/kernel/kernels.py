"""Kernels by the number of slots, and what they give as bytes to compare."""

import numpy as np

from ssptool.engine.kernel.calls import Slots
from tests.engine.kernel.methods import Kernel, create


def create_kernel(slots: int, integers: Slots = ()) -> Kernel:
    return create(slots, integers=integers)


def bits(value):
    """Everything that a solution or an iterate consists of, with arrays and numbers as their bytes."""
    match value:
        case np.ndarray() | float():
            return np.asarray(value, dtype=float).tobytes()
        case tuple() | list():
            return [bits(one) for one in value]
        case _:
            return value
