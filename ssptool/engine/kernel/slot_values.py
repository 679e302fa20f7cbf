"""Values of signals of any type in the slots of a kernel.

A slot has eight bytes. Signals of type Float64 and Float32 have a double. All others, which are known when the kernel
is created, have a 64-bit integer in the same memory (`integers`): the value of an integer or an enumeration (for UInt64
the same bits), 0 or 1 for a Boolean, and for a String or a Binary its number among the contents that the kernel stores
(the bytes of all strings, as UTF-8, and binary values so far). So every value is copied, stored and recorded exactly,
whatever its type.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ssptool.engine.trace import BYTES, NUMBERED, TEXT, as_content, from_content, holds_integer
from ssptool.fmu.description import Value, is_text

if TYPE_CHECKING:
    from ssptool.engine.kernel._kernel import NativeKernel

NOTHING: Mapping[str, Value] = {TEXT: "", BYTES: b""}
"""Default values by type; 0 for types that are not here."""


def read_slot(kernel: "NativeKernel", slot: int, kind: str) -> Value:
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


def write_slot(kernel: "NativeKernel", slot: int, kind: str, value: Value) -> None:
    """Write a value to a slot that holds a signal of this type.

    Raises
    ------
    TypeError, ValueError, OverflowError
        The value is not of this type.
    """
    if holds_integer(kind):
        kernel.integers[slot] = _number(kernel, kind, value)
    else:
        kernel.values[slot] = float(value)


def slot_value(kernel: "NativeKernel", kind: str, value: Value) -> float:
    """The eight bytes that represent a value of this type, as a double. Raises as `write_slot`."""
    if holds_integer(kind):
        return float(np.int64(_number(kernel, kind, value)).view(np.float64))
    return float(value)


def _number(kernel: "NativeKernel", kind: str, value: Value) -> int:
    if kind == TEXT and isinstance(value, str) and not is_text(value):
        raise ValueError(f"{value!r} has zeros, at which it would end, or is not Unicode")
    if kind in NUMBERED:
        return kernel.number(as_content(value, kind))
    number = int(value)
    return signed_bits(number) if kind == "UInt64" else number


def signed_bits(number: int) -> int:
    """Integer as slots store it; one in the upper half of UInt64 becomes the negative integer with the same bits."""
    return number - 2**64 if number >= 2**63 else number
