"""Files that FMPy brings along, found without loading it, which takes longer than to check a small system."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path


@cache
def fmpy_folder() -> Path:
    """Where FMPy is installed.

    Raises
    ------
    ModuleNotFoundError
        It is not.
    """
    spec = find_spec("fmpy")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("FMPy is not installed: pip install fmpy", name="fmpy")
    return Path(spec.origin).parent
