"""Exported systems: the FMUs of the example systems must be there."""

import os
import zlib
from pathlib import Path
from zlib import crc32

import pytest

from ssptool.exporting import package
from ssptool.exporting.runtimes import own_platform
from tests.cmake_build import build
from tests.exporting.fmus import RESOURCES

ROOT = Path(__file__).parents[2]


def pytest_collection_modifyitems(config, items):
    if os.environ.get("SSPTOOL_RUNTIME"):
        other = [item for item in items if not _is_of_its_version(item)]
        config.hook.pytest_deselected(items=other)
        items[:] = [item for item in items if _is_of_its_version(item)]
    if not (RESOURCES / "System1.fmu").exists():
        for item in items:
            if "exporting" in item.path.parts:
                item.add_marker(pytest.mark.skip(reason="the FMUs are not built: make setup"))


def _is_of_its_version(item):
    """Whether a test runs with a slow build of the runtime: with one version of FMI only, half of them with each."""
    callspec = getattr(item, "callspec", None)
    if callspec is None or "fmi" not in callspec.params:
        return True
    fmi = callspec.params["fmi"]
    other = item.name.replace(f"fmi{fmi}", "")  # the same for both
    return fmi == 2 + crc32(other.encode()) % 2


@pytest.fixture(scope="session", autouse=True)
def runtime():
    """Another build of the runtime, such as one with sanitizers, if SSPTOOL_RUNTIME names one."""
    with pytest.MonkeyPatch.context() as patch:
        if other := os.environ.get("SSPTOOL_RUNTIME"):
            own, library = own_platform(), package.runtime_library
            patch.setattr(package, "runtime_library", lambda one: Path(other) if one == own else library(one))
        yield


@pytest.fixture(scope="module", autouse=True)
def uncompressed():
    """Compressing the runtime takes longer than most tests. Tests of other folders, which may follow, compress."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zlib, "Z_DEFAULT_COMPRESSION", zlib.Z_NO_COMPRESSION)
        yield


@pytest.fixture(scope="session")
def models():
    """The folder with the FMI 2.0 FMUs of tests/engine/models, built if need be."""
    folder = ROOT / "build" / "engine-test-models"
    build(ROOT / "tests" / "engine" / "models", folder)
    return folder / "fmi2"


@pytest.fixture(scope="session")
def exchange_models():
    """The folder with the FMI 2.0 FMUs of tests/models, which offer model exchange, built if need be."""
    folder = ROOT / "build" / "test-models"
    build(ROOT / "tests" / "models", folder)
    return folder / "fmi2"


@pytest.fixture(scope="session", params=[2, 3], ids="fmi{}".format)
def fmi(request):
    """The version of FMI of an exported FMU."""
    return request.param
