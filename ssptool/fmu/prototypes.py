"""FMPy's instances, made at a fraction of the time and without a change of the working directory.

For each instance FMPy finds out anew what arguments the functions of FMI have, by inspecting its own methods, which
takes longer than most FMUs do to load; and for each it looks them all up in the library. Here the first answer is kept
for ever, and the second for as long as the library is loaded. FMPy also changes the working directory while it loads a
library, which is that of all threads of the process; here a library is loaded by its absolute path.
"""

import ctypes
import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, NamedTuple, get_args

import fmpy


class _Prototype(NamedTuple):
    name: str
    arguments: tuple[str, ...]
    types: tuple[Any, ...]
    result: Any


class Library:
    """The functions of one loaded library, looked up with its first instance and shared by all."""

    def __init__(self) -> None:
        self._held: ctypes.CDLL | None = None
        self._functions: dict[str, Any] = {}
        self.addresses: Mapping[str, int] = {}
        """FMI function name → address, for all functions of the interface type; empty before the first instance."""

    def instance(self, kind: type, path: Path, *, prefix: str = "") -> Any:
        """An instance of this FMPy class of FMI instances, with the functions of the library at an absolute path.

        `prefix` is what the names of the functions begin with in a library of FMI 1.0. The folder of the library is
        searched for the libraries that it needs on Windows; on other systems the library itself says where these are.

        Raises
        ------
        OSError
            The library cannot be loaded.
        AttributeError
            The library lacks a function.
        """
        instance: Any = object.__new__(kind)
        if self._held is None:
            # Held once more, so that it stays where it is when the instance that opened it is freed.
            held = ctypes.CDLL(str(path))
            self._functions = dict(_bound(held, kind, prefix))
            self.addresses = {stated_name(name): _address(function) for name, function in self._functions.items()}
            self._held = held
        instance.dll = ctypes.CDLL(str(path))
        instance._functions = self._functions
        instance.component = instance.callbacks = instance.fmiCallLogger = None
        return instance

    def close(self) -> None:
        """Let go of the library; instances that still live have their own hold on it."""
        if self._held is not None:
            fmpy.freeLibrary(self._held._handle)
            self._held = None


def stated_name(name: str) -> str:
    """What FMI calls a function; FMPy tells those of FMI 1.0 apart from the others."""
    return "fmi" + name.removeprefix("fmi1") if name.startswith("fmi1") else name


def _bound(library: ctypes.CDLL, kind: type, prefix: str) -> Iterator[tuple[str, Any]]:
    for prototype in prototypes(kind):
        function: Any = getattr(library, prefix + stated_name(prototype.name))
        function.argnames = list(prototype.arguments)
        function.argtypes = list(prototype.types)
        function.restype = prototype.result
        yield prototype.name, function


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@cache
def prototypes(kind: type) -> tuple[_Prototype, ...]:
    found = inspect.getmembers(kind, inspect.isfunction)
    return tuple(_prototype(name, method) for name, method in found if name.startswith(("fmi1", "fmi2", "fmi3")))


def _prototype(name: str, method: Any) -> _Prototype:
    signature = inspect.signature(method)
    _self, *parameters = signature.parameters.values()
    types = (parameter.annotation for parameter in parameters)
    result = signature.return_annotation
    if name.startswith("fmi1") and result is ctypes.c_char_p and parameters:
        result = ctypes.c_int  # FMPy declares a text where FMI 1.0 has a status; no text is got from an instance
    return _Prototype(
        name,
        tuple(parameter.name for parameter in parameters),
        tuple(get_args(kind)[0] if isinstance(kind, UnionType) else kind for kind in types),
        {bytes: ctypes.c_char_p, int: ctypes.c_int}.get(result, result),
    )
