"""Decorator for the methods of an object that several threads may call, and that call FMUs."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from ssptool.working_directory import kept_working_directory

_P = ParamSpec("_P")
_R = TypeVar("_R")


def one_at_a_time(method: Callable[Concatenate[Any, _P], _R]) -> Callable[Concatenate[Any, _P], _R]:
    """Decorator: serialize method calls with the object's `_lock` (RLock), and keep the working directory."""

    @wraps(method)
    def waiting(self: Any, /, *arguments: _P.args, **named: _P.kwargs) -> _R:
        with self._lock, kept_working_directory():
            return method(self, *arguments, **named)

    return waiting
