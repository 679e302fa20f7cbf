"""Builds the FMUs of this folder, once, with what builds the example systems' FMUs."""

import fcntl
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FOLDER = HERE.parents[1] / "build" / "test-fmus"

(
    NOTHING,
    WRITE_TO_NULL,
    EXIT_WITH_3,
    ABORT,
    HANG,
    EAT_MEMORY,
    NOT_A_NUMBER,
    OVERFLOW_STACK,
    KILL_ITSELF,
    KILL_PARENT,
    CRAWL,
    NAN_INSIDE,
    LEAVE_THREAD,
    PRINT,
    GO_ELSEWHERE,
) = range(15)
"""What `Misbehaving` does from time `when` on, by its parameter `what`."""


@cache
def build() -> Path:
    """The folder with `Misbehaving.fmu` in fmi1, fmi2 and fmi3."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # other tests may build the same folder
        configure = [_tool("cmake"), "-S", HERE, "-B", FOLDER, "-G", "Ninja"]
        configure += [f"-DCMAKE_MAKE_PROGRAM={_tool('ninja')}", f"-DPython_EXECUTABLE={sys.executable}"]
        for command in (configure, [_tool("cmake"), "--build", FOLDER, "-j", "2"]):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
    return FOLDER


def _tool(name: str) -> str:
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    return found or pytest.skip(f"{name} is not installed")
