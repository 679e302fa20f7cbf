"""Values of all types in the cells of a kernel."""

from ssptool.engine.columns import holds_integer as holds_integer
from ssptool.engine.kernel.interface import Kernel
from ssptool.fmu.description import Value


def read_cell(kernel: Kernel, slot: int, kind: str) -> Value:
    """The value in a slot that holds a signal of this type."""
    if not holds_integer(kind):
        return float(kernel.values[slot])
    number = int(kernel.integers[slot])
    match kind:
        case "String":
            return kernel.text(number)
        case "Binary":
            return bytes.fromhex(kernel.text(number))
        case "Boolean":
            return number != 0
        case "UInt64":
            return number % 2**64
        case _:
            return number


def write_cell(kernel: Kernel, slot: int, kind: str, value: Value) -> None:
    """Put a value into a slot that holds a signal of this type.

    Raises
    ------
    TypeError, ValueError, OverflowError
        It is none of this type.
    """
    if kind == "String":
        if not isinstance(value, str):
            raise TypeError(f"{value!r} is not a value of type String")
        kernel.integers[slot] = kernel.number(value)
    elif kind == "Binary":
        if not isinstance(value, bytes):
            raise TypeError(f"{value!r} is not a value of type Binary")
        kernel.integers[slot] = kernel.number(value.hex())
    elif holds_integer(kind):
        number = int(value)
        # The same bits stand for the upper half of UInt64.
        kernel.integers[slot] = number - 2**64 if kind == "UInt64" and number >= 2**63 else number
    else:
        kernel.values[slot] = float(value)
