"""Kernels and components for the tests of this folder."""

from collections.abc import Callable

import pytest

from tests.engine.kernel.kernels import create_kernel
from tests.engine.kernel.methods import Kernel
from tests.engine.kernel.mock_fmu import Mocks, build

MakeKernel = Callable[..., Kernel]


@pytest.fixture
def make_kernel() -> MakeKernel:
    return create_kernel


@pytest.fixture(scope="session")
def mock_library(tmp_path_factory: pytest.TempPathFactory):
    return build(tmp_path_factory.mktemp("mock"))


@pytest.fixture(params=[2, 3], ids=["fmi2", "fmi3"])
def mocks(request: pytest.FixtureRequest, mock_library) -> Mocks:
    return Mocks(mock_library, request.param)
