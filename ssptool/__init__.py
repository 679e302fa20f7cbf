"""ssptool: validate, understand, initialize and co-simulate systems of FMUs in the SSP format.

The layers, each importing only those to its left:

    documents ← fmu ← network ← rules, drawing, editing ← engine ← results ← studies ← exporting ← api ←
    language_server, studio ← cli

The names in `__init__.pyi` are the public API, and those of the modules `exceptions`, `renderers`, `types` and
`variants`. They are loaded at first use, so that `import ssptool` costs nothing.
"""

import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

from ssptool.public_names import PARTS, homes, lazy_names
from ssptool.version import __version__ as __version__

__all__, _load, _ = lazy_names(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name in PARTS:
        return import_module(f"ssptool.{name}")
    if name not in __all__ and (part := _moved(name)):
        text = f"ssptool.{name} is now ssptool.{part}.{name}; the earlier name is for this version only"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return getattr(import_module(f"ssptool.{part}"), name)
    return _load(name)


def _moved(name: str) -> str:
    """The public module to which a name of the package has moved; empty: it has not."""
    files = {part: str(Path(__file__).with_name(f"{part}.py")) for part in PARTS}
    return next((part for part, file in files.items() if name in homes(file)), "")


def __dir__() -> list[str]:
    return sorted((*__all__, *PARTS, "__version__"))
