"""Errors of a caller who asks for something that does not exist or cannot be, and of packages that are not installed.

Every error that a caller can cause is a class of this package, or an `OSError` of a path. Any other exception that
leaves a public function is a bug of ssptool, and the command line reports it as one (exit status 70).
"""

from importlib import import_module
from typing import Any


class WrongUsage(Exception):
    """What was asked for by name is not there, or cannot be: a signal, a variant, a format, a rule, the value of a
    parameter. Other words mend it; nothing is wrong with the system. The command line exits with 2.
    """


class WrongValue(WrongUsage, ValueError):
    """A value that cannot be, or values that exclude each other; the message says which, and what can be."""


def is_own(error: BaseException) -> bool:
    """Whether the class of an error, or a base of it, is one of this package, so that its message is for the user."""
    return any(kind.__module__.partition(".")[0] == "ssptool" for kind in type(error).__mro__)


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


class PlotUnavailable(Exception):
    """matplotlib (plots), plotly (plots that zoom), resvg_py (diagrams as PNG) or jinja2 (reports) is not installed."""

    def __init__(self, library: str) -> None:
        super().__init__(f"this is drawn with {library}, which is not installed: pip install 'ssptool[plot]'")
        self.library = library
