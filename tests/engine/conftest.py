"""FMUs that the engine's tests need beside those of the example system."""

import fcntl
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.dual_mass import RESOURCES

ROOT = Path(__file__).parents[2]


def pytest_collection_modifyitems(items):
    if not (RESOURCES / "System1.fmu").exists():
        for item in items:
            if "engine" in item.path.parts:
                item.add_marker(pytest.mark.skip(reason="the FMUs are not built: make setup"))


@pytest.fixture(scope="session")
def test_models():
    """The folder with the FMI 2.0 FMUs that exist for tests only, built if need be."""
    folder = ROOT / "build" / "test-models"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # other tests build the same folder
        configure = [_tool("cmake"), "-S", ROOT / "tests" / "models", "-B", folder, "-G", "Ninja"]
        configure += [f"-DCMAKE_MAKE_PROGRAM={_tool('ninja')}", f"-DPython_EXECUTABLE={sys.executable}"]
        for command in (configure, [_tool("cmake"), "--build", folder, "-j", "2"]):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
    return folder / "fmi2"


def _tool(name):
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    return found or pytest.skip(f"{name} is not installed")
