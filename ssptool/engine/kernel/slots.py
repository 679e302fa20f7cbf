"""Values of all types in the slots of a kernel."""

from collections.abc import Collection, Mapping

import numpy as np

from ssptool.engine.kernel.interface import Integers, Kernel
from ssptool.engine.trace import BYTES, NUMBERED, TEXT, as_content, from_content
from ssptool.engine.trace import holds_integer as holds_integer
from ssptool.fmu.description import Value, is_text

NOTHING: Mapping[str, Value] = {TEXT: "", BYTES: b""}
"""What a signal has of which nothing is known; of a type that is not here, 0."""


def read_cell(kernel: Kernel, slot: int, kind: str) -> Value:
    """The value in a slot that holds a signal of this type."""
    if not holds_integer(kind):
        return float(kernel.values[slot])
    number = int(kernel.integers[slot])
    if kind in NUMBERED:
        return from_content(kernel.content(number), kind)
    match kind:
        case "Boolean":
            return number != 0
        case "UInt64":
            return number % 2**64
        case _:
            return number


def copy_cells(source: Kernel, destination: Kernel, slots: Integers, numbered: Collection[int]) -> None:
    """From one kernel to another with the same `slots` (k,); where they are `numbered`, the numbers differ."""
    destination.integers[slots] = source.integers[slots]
    for slot in numbered:
        destination.integers[slot] = destination.number(source.content(int(source.integers[slot])))


def write_cell(kernel: Kernel, slot: int, kind: str, value: Value) -> None:
    """Put a value into a slot that holds a signal of this type.

    Raises
    ------
    TypeError, ValueError, OverflowError
        It is none of this type.
    """
    if holds_integer(kind):
        kernel.integers[slot] = _number(kernel, kind, value)
    else:
        kernel.values[slot] = float(value)


def cell(kernel: Kernel, kind: str, value: Value, *, keep: bool = True) -> float:
    """The eight bytes that stand for a value of this type, as a double. Raises what `write_cell` does.

    `keep`: it is kept elsewhere than in a slot.
    """
    if holds_integer(kind):
        return float(np.int64(_number(kernel, kind, value, keep)).view(np.float64))
    return float(value)


def _number(kernel: Kernel, kind: str, value: Value, keep: bool = False) -> int:
    if kind == TEXT and isinstance(value, str) and not is_text(value):
        raise ValueError(f"{value!r} has zeros, at which it would end, or is no Unicode")
    if kind in NUMBERED:
        return kernel.number(as_content(value, kind), keep)
    number = int(value)
    return in_cell(number) if kind == "UInt64" else number


def in_cell(number: int) -> int:
    """An integer as cells have it: of the upper half of UInt64, the one with a sign that has the same bits."""
    return number - 2**64 if number >= 2**63 else number
