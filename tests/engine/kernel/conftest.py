"""Kernels, components and compilers for the tests of this folder.

SSPTOOL_KERNEL names another build of the native kernel to test, such as one with sanitizers.
"""

import importlib.util
import os
import sys
from collections.abc import Callable

import pytest

if path := os.environ.get("SSPTOOL_KERNEL"):
    specification = importlib.util.spec_from_file_location("ssptool.engine.kernel._kernel", path)
    assert specification and specification.loader, path
    module = importlib.util.module_from_spec(specification)
    sys.modules["ssptool.engine.kernel._kernel"] = module
    specification.loader.exec_module(module)

from ssptool.engine.kernel.interface import Kernel
from tests.engine.kernel.kernels import make_native, make_twin
from tests.engine.kernel.mock_fmu import Mocks, build

MakeKernel = Callable[[int], Kernel]


@pytest.fixture(params=[make_twin, make_native], ids=["twin", "native"])
def make_kernel(request: pytest.FixtureRequest) -> MakeKernel:
    make: MakeKernel = request.param
    return make


@pytest.fixture(scope="session")
def mock_library(tmp_path_factory: pytest.TempPathFactory):
    return build(tmp_path_factory.mktemp("mock"))


@pytest.fixture(params=[2, 3], ids=["fmi2", "fmi3"])
def mocks(request: pytest.FixtureRequest, mock_library) -> Mocks:
    return Mocks(mock_library, request.param)
