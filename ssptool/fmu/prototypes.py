"""FMPy's instances, made at a fraction of the time.

For each instance FMPy finds out anew what arguments the functions of FMI have, by inspecting its own methods, which
takes longer than most FMUs do to load. The answer is always the same, so here it is kept.
"""

import ctypes
import inspect
from functools import cache
from types import UnionType
from typing import Any, NamedTuple, get_args


class _Prototype(NamedTuple):
    name: str
    arguments: tuple[str, ...]
    types: tuple[Any, ...]
    result: Any


@cache
def quick(kind: type) -> type:
    """The same FMPy class of FMI 2.0 or 3.0 instances, but for how it looks up the functions of a library.

    A class of another making, such as one of a later FMPy, is returned as it is.
    """
    if not hasattr(kind, "_loadFunctions"):
        return kind
    return type(kind.__name__, (kind,), {"_loadFunctions": _load_functions})


def _load_functions(instance: Any) -> None:
    for prototype in _prototypes(instance.__class__):
        function = getattr(instance.dll, prototype.name)
        function.argnames = list(prototype.arguments)
        function.argtypes = list(prototype.types)
        function.restype = prototype.result
        instance._functions[prototype.name] = function


@cache
def _prototypes(kind: type) -> tuple[_Prototype, ...]:
    found = inspect.getmembers(kind, inspect.isfunction)
    return tuple(_prototype(name, method) for name, method in found if name.startswith(("fmi2", "fmi3")))


def _prototype(name: str, method: Any) -> _Prototype:
    signature = inspect.signature(method)
    _self, *parameters = signature.parameters.values()
    types = (parameter.annotation for parameter in parameters)
    return _Prototype(
        name,
        tuple(parameter.name for parameter in parameters),
        tuple(get_args(kind)[0] if isinstance(kind, UnionType) else kind for kind in types),
        {bytes: ctypes.c_char_p, int: ctypes.c_int}.get(signature.return_annotation, signature.return_annotation),
    )
