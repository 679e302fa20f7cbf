"""ssptool: validate, understand, initialize and co-simulate systems of FMUs in the SSP format.

The layers, each importing only those to its left:

    documents ← fmu ← network ← rules, drawing, editing ← engine ← results ← studies ← exporting ← api ←
    language_server, studio ← cli

The names in `__init__.pyi` are the public API. They are loaded at first use, so that `import ssptool` costs nothing.
"""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

from ssptool.version import __version__ as __version__

# The stub is the one table of the public names, for type checkers and for loading (as in Scientific Python's SPEC 1).
_STUB = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
_MODULES = {name: module for module, name in re.findall(r"^from ([\w.]+) import (?!__)(\w+) as", _STUB, re.M)}
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'ssptool' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted((*__all__, "__version__"))
