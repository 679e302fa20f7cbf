"""FMUs that cmake builds for tests."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ssptool.tempfiles import lock


def build(source: Path, folder: Path, *definitions: str) -> None:
    """Bring a folder up to date with its sources; `definitions` are variables of cmake, `NAME=VALUE`."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as file:
        _wait_for_lock(file.fileno())  # several test runs may share the folder
        _clear_other_checkout(source, folder)
        configure = [_tool("cmake"), "-S", source, "-B", folder, "-G", "Ninja"]
        defined = (f"CMAKE_MAKE_PROGRAM={_tool('ninja')}", f"Python_EXECUTABLE={sys.executable}", *definitions)
        for command in (configure + [f"-D{each}" for each in defined], [_tool("cmake"), "--build", folder, "-j", "2"]):
            done = subprocess.run(command, env=for_compilers(), capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr


def for_compilers() -> dict[str, str]:
    """The environment without the sanitizer's library, which tests may be started with: it makes compilers slow."""
    return {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}


def _wait_for_lock(descriptor: int) -> None:
    while True:
        try:
            return lock(descriptor)
        except BlockingIOError:
            time.sleep(0.05)


def _clear_other_checkout(source: Path, folder: Path) -> None:
    """Remove what was built from sources elsewhere: a copied checkout, which cmake would refuse to configure."""
    cache = folder / "CMakeCache.txt"
    if cache.exists() and f"CMAKE_HOME_DIRECTORY:INTERNAL={source.resolve()}\n" not in cache.read_text():
        for path in folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != "lock":
                path.unlink()


def _tool(name: str) -> str:
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    return found or pytest.skip(f"{name} is not installed")
