"""Methods of an object that several threads may call, of which one is at work at a time."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")


def one_at_a_time(method: Callable[Concatenate[Any, _P], _R]) -> Callable[Concatenate[Any, _P], _R]:
    """The method waits for what other threads do with the object, which has a `_lock` (RLock)."""

    @wraps(method)
    def waiting(self: Any, /, *arguments: _P.args, **named: _P.kwargs) -> _R:
        with self._lock:
            return method(self, *arguments, **named)

    return waiting
