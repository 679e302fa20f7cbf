"""Names of public modules that are loaded at first use."""

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

PARTS = ("analysis", "exceptions", "renderers", "studies", "types", "variants")
"""Public modules inside the package."""


_MEANT = {
    **dict.fromkeys(("run", "sim", "simulate_fmu", "simulate_ssp"), "simulate"),
    **dict.fromkeys(("check", "lint"), "validate"),
    **dict.fromkeys(("open", "load", "read"), "edit"),
    **dict.fromkeys(("show", "list", "inspect", "read_model_description"), "info"),
    **dict.fromkeys(("optimize", "optimise", "run_study", "monte_carlo"), "study"),
    **dict.fromkeys(("fit", "identify", "estimate"), "calibrate"),
}
"""Name that other programs have for a function → the function."""


def homes(file: str) -> Mapping[str, str]:
    """Public name → module that defines it, of a module.

    Its stub is the one table, for type checkers and for loading (as in Scientific Python's SPEC 1).
    """
    stub = Path(file).with_suffix(".pyi").read_text(encoding="utf-8")
    return {name: home for home, name in re.findall(r"^from (ssptool\.[\w.]+) import (?!__)(\w+) as", stub, re.M)}


def _in_a_part(name: str) -> str:
    """The name in the public module of the package that has it, such as `types.Trace`; empty if none has."""
    package = Path(__file__).parent
    places = {part: (package / f"{part}.py", package / part / "__init__.py") for part in PARTS}
    parts = {part: str(next(filter(Path.exists, files))) for part, files in places.items()}
    return next((f"{part}.{name}" for part, path in parts.items() if name in homes(path)), "")


def lazy_names(module: str, file: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """`__all__`, `__getattr__` and `__dir__` of a public module: verbs first."""
    known = homes(file)
    names = sorted(known, key=lambda name: (not name[0].islower(), name))

    def load(name: str) -> Any:
        if name in known:
            return getattr(import_module(known[name]), name)
        near = _MEANT[name] if _MEANT.get(name) in known else _in_a_part(name)
        if not near:
            from difflib import get_close_matches  # only for the message

            near = next(iter(get_close_matches(name, known, 1)), "")
        hint = f"; did you mean {module if near in known else 'ssptool'}.{near}?" if near else ""
        raise AttributeError(f"module {module!r} has no attribute {name!r}{hint}")

    return names, load, lambda: sorted(names)
