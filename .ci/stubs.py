"""Types of the native modules, for mypy: a file of stubs beside the binding of each that was built."""

from importlib.util import find_spec
from pathlib import Path

from nanobind.stubgen import main

MODULES = ("ssptool.engine.kernel._kernel", "ssptool.fmu._messages", "ssptool.fmu.processes._proxy")

for module in MODULES:
    if find_spec(module):
        main(["--quiet", "--module", module, "--output-file", str(Path(*module.split(".")).with_suffix(".pyi"))])
