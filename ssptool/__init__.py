"""ssptool: validate, understand, initialize and co-simulate systems of FMUs in the SSP format.

The layers, each importing only those to its left:

    documents ← fmu ← network ← rules, drawing, editing ← engine ← results ← studies ← exporting ← api ←
    language_server, studio ← cli

The public API consists of the names in `__init__.pyi` and in the modules `analysis`, `exceptions`, `renderers`,
`studies`, `types` and `variants`. They are loaded at first use, so that `import ssptool` costs nothing.
"""

from importlib import import_module
from typing import Any

from ssptool.public_names import PARTS, lazy_names
from ssptool.version import __version__ as __version__

__all__, _load, _ = lazy_names(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name in PARTS:
        return import_module(f"ssptool.{name}")
    return _load(name)


def __dir__() -> list[str]:
    return sorted((*__all__, *PARTS, "__version__"))
