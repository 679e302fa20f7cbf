"""Errors of a caller who asks for something that does not exist, and of packages that are not installed."""

from importlib import import_module
from typing import Any


class WrongUsage(Exception):
    """What was asked for by name is not there, or cannot be: a signal, a variant, a format, a rule, the value of a
    parameter. Other words mend it; nothing is wrong with the system. The command line exits with 2.
    """


_PACKAGES = {"simpleeval": "simpleeval", "distributed": "dask[distributed]", "pyarrow": "pyarrow", "psutil": "psutil"}


class StudiesUnavailable(ImportError):
    """A package of the extra `study` is not installed."""

    def __init__(self, package: str) -> None:
        super().__init__(f"studies need {package}: pip install 'ssptool[study]'")
        self.package = package


def studies_need(module: str) -> Any:
    """The module, loaded when it is needed. Raises StudiesUnavailable."""
    try:
        return import_module(module)
    except ImportError:
        raise StudiesUnavailable(_PACKAGES[module.split(".")[0]]) from None
