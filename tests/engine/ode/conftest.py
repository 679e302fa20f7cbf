"""FMUs of both versions of FMI for the tests of integration."""

import pytest


@pytest.fixture(params=(2, 3), ids=lambda version: f"fmi{version}")
def models(request, test_models):
    """A folder with FMUs of one version of FMI."""
    return test_models.parent / f"fmi{request.param}"


@pytest.fixture
def models3(test_models):
    return test_models.parent / "fmi3"


@pytest.fixture(params=(2, 3), ids=lambda version: f"fmi{version}")
def hybrids(request, engine_models):
    """A folder with FMUs of one version of FMI, which have events and variables of all types."""
    return engine_models.parent / f"fmi{request.param}"


@pytest.fixture
def hybrids3(engine_models):
    return engine_models.parent / "fmi3"
