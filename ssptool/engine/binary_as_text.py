"""Binary variables, which pass a kernel as texts: two hexadecimal digits for each byte."""

import ctypes
from collections.abc import Callable, Mapping, Sequence
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_size_t, c_uint, c_void_p
from dataclasses import replace
from typing import Any

from ssptool.engine.kernel.interface import ACCESS, InstanceTable
from ssptool.fmu.description import Value
from ssptool.fmu.instance import FmiError, FmuInstance

BINARY, STRING = "Binary", "String"
AS_TEXTS = (STRING, BINARY)
"""Types whose signals are texts in a kernel."""

CARRIED: Mapping[int, frozenset[str]] = {
    major: frozenset(kinds) | ({BINARY} if major == 3 else frozenset()) for major, kinds in ACCESS.items()
}
"""Types whose signals are exchanged, by major version of FMI."""

NOTHING: Mapping[str, Value] = {STRING: "", BINARY: b""}
"""What a signal has of which nothing is known; of a type that is not here, 0."""

_OK = 0
_REFERENCES = POINTER(c_uint)
_STRINGS = CFUNCTYPE(c_int, c_void_p, _REFERENCES, c_size_t, POINTER(c_void_p), c_size_t)


def kernel_types(types: Sequence[str]) -> tuple[str, ...]:
    """The types by which a kernel knows variables of these."""
    return tuple(STRING if kind == BINARY else kind for kind in types)


class BinaryAsText:
    """Stands in for the functions that set and get the texts of one instance, of which `references` are binary."""

    def __init__(self, instance: FmuInstance, references: frozenset[int]) -> None:
        self._instance = instance
        self._references = references
        self._texts: list[bytes] = []  # of the last call: the kernel has only their addresses
        self._callbacks = {"fmi3SetString": _STRINGS(self._set), "fmi3GetString": _STRINGS(self._get)}

    def within(self, table: InstanceTable) -> InstanceTable:
        """The table with these functions, which it must not outlive."""
        addresses = {name: ctypes.cast(one, c_void_p).value or 0 for name, one in self._callbacks.items()}
        return replace(table, functions={**table.functions, **addresses})

    def _get(self, _component: int, references: Any, count: int, values: Any, _values: int) -> int:
        self._texts.clear()

        def get(place: int) -> None:
            text = self._text(references[place])
            self._texts.append(text)
            values[place] = ctypes.cast(c_char_p(text), c_void_p).value

        return _all(count, get)

    def _text(self, reference: int) -> bytes:
        if reference in self._references:
            content: bytes | None = self._instance.call("getBinary", [reference])[0]
            return (content or b"").hex().encode()
        found = (c_char_p * 1)()
        self._instance.call("fmi3GetString", self._instance.component, (c_uint * 1)(reference), 1, found, 1)
        return found[0] or b""

    def _set(self, _component: int, references: Any, count: int, values: Any, _values: int) -> int:
        def put(place: int) -> None:
            text, reference = ctypes.string_at(values[place]), references[place]
            if reference in self._references:
                self._instance.call("setBinary", [reference], [bytes.fromhex(text.decode())])
            else:
                own, value = (c_uint * 1)(reference), (c_char_p * 1)(text)
                self._instance.call("fmi3SetString", self._instance.component, own, 1, value, 1)

        return _all(count, put)


def _all(count: int, action: Callable[[int], None]) -> int:
    """For every place. Gives the status of the first that fails: an exception cannot pass through a kernel."""
    try:
        for place in range(count):
            action(place)
    except FmiError as error:
        return error.status
    return _OK
