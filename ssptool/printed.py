"""Text of public values: `str` of a value is what the command prints of it.

Values belong to lower layers than the modules that write texts of them. Each of these modules declares its function
with `prints`; the API loads it together with the functions that return such values.
"""

from collections.abc import Callable
from typing import Any, TypeVar

Writer = TypeVar("Writer", bound=Callable[[Any], str])

_WRITERS: dict[type[Any], Callable[[Any], str]] = {}
"""Class of a value → function that writes its text."""


class Printed:
    """Base of values whose `str` is the text that the command prints, without colours and with lines of any length."""

    __slots__ = ()

    def __str__(self) -> str:
        return printed_text(self)


def printed_text(value: object) -> str:
    """The text that was declared for values of this class or a base of it, or the representation."""
    write = next((_WRITERS[kind] for kind in type(value).__mro__ if kind in _WRITERS), repr)
    return write(value)


def prints(kind: type[Any]) -> Callable[[Writer], Writer]:
    """Declare the function that writes the text of values of this class."""

    def declare(write: Writer) -> Writer:
        _WRITERS[kind] = write
        return write

    return declare
