"""A job as bytes for a fresh interpreter, with the functions in it that only this process knows."""

import io
import pickle
from importlib import import_module
from importlib.util import find_spec
from types import FunctionType
from typing import Any

from ssptool.engine.isolation.child import Assignment
from ssptool.pickling import Pickler


class NotSendable(ValueError):
    """Something of a run cannot be given to a fresh process."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the run cannot be given to a process of its own ({reason}): define functions that drive inputs at the "
            "top level of a module, or run the FMUs in this process (isolated=False)"
        )
        self.reason = reason


def task_for_fresh(assignment: Assignment) -> bytes:
    """For `child.main`.

    Raises
    ------
    NotSendable
        There is something in it that cannot leave this process.
    """
    buffer = io.BytesIO()
    try:
        _Sender(buffer, pickle.HIGHEST_PROTOCOL).dump(assignment)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise NotSendable(str(error)) from None
    return buffer.getvalue()


class _Sender(Pickler):
    """Sends what was defined in a notebook, in a script or inside a function as code; anything else by its name."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, FunctionType | type) and not _importable(value):
            return pickle.loads, (_as_code(value),)
        return super().reducer_override(value)


def _importable(value: FunctionType | type) -> bool:
    return value.__module__ != "__main__" and "<" not in value.__qualname__


def _as_code(value: FunctionType | type) -> bytes:
    if find_spec("cloudpickle") is None:
        raise pickle.PicklingError(
            f"{value.__qualname__} is defined in {value.__module__}, where no other process finds it; with the package "
            "cloudpickle, it can be sent"
        )
    code: bytes = import_module("cloudpickle").dumps(value)
    return code
