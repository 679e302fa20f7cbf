"""Libraries of FMUs from C, built with the system's compiler."""

import os
import shutil
import subprocess
from pathlib import Path

import fmpy

from tests.cmake_build import for_compilers

PLATFORM = {1: fmpy.platform, 2: fmpy.platform, 3: fmpy.platform_tuple}
_NOTHING_TO_DO = ("SetupExperiment", "EnterInitializationMode", "ExitInitializationMode", "Terminate", "FreeInstance")


def write_missing(path: Path, *models: type, prefix1: str = "") -> Path:
    """C functions for those of FMI that FMPy asks for in such a model and that its own source does not have.

    Where there is nothing to do they succeed; all others return an error. A model overrides what it defines itself.
    `prefix1` is that of names of FMI 1.0.
    """
    every = {name for model in models for name in dir(model) if name.startswith(("fmi1", "fmi2", "fmi3"))}
    rows = []
    for name in sorted(every):
        status = 0 if name[4:] in _NOTHING_TO_DO else 3
        function = f"{prefix1}fmi{name[4:]}" if name.startswith("fmi1") else name
        rows.append(f"__attribute__((weak)) int {function}(void) {{ return {status}; }}\n")
    path.write_text("".join(rows))
    return path


def build_shared(library: Path, *sources: Path | str) -> Path:
    """From sources, and what else the compiler is to be told."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    assert compiler, "a C compiler is needed to build the FMU that these tests use"
    flags = ["-std=c11", "-O1", "-g", "-Wall", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, *sources, "-o", library], env=for_compilers(), check=True)
    return library


def build_model(library: Path, source: Path, *models: type, prefix1: str = "", flags: tuple[str, ...] = ()) -> Path:
    """A library of one source, with what is missing of FMI for such models."""
    missing = write_missing(library.with_suffix(".missing.c"), *models, prefix1=prefix1)
    return build_shared(library, *flags, source, missing)
