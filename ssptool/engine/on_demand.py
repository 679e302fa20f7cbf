"""Families of which a run uses few members: the package of each says where they are, and loads what is asked for."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def on_demand(package: str, homes: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """The `__getattr__` of a package (PEP 562) whose modules `homes` have these names."""
    home = {name: module for module, names in homes.items() for name in names}

    def load(name: str) -> Any:
        if name in home:
            return getattr(import_module(f"{package}.{home[name]}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return load
