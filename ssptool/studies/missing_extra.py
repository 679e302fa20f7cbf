"""What studies need and `pip install ssptool` does not bring."""

from importlib import import_module
from typing import Any

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
