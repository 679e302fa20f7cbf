"""Systems that are pushed from outside."""

import pytest

from tests.engine.stimuli.pushed_mass import write_pushed_mass


@pytest.fixture(params=["fmi2", "fmi3"])
def models(request, engine_models):
    """The folder of the FMUs, of each version of FMI."""
    return engine_models.parent / request.param


@pytest.fixture
def pushed(models, tmp_path):
    """A mass behind the input `push` of the system, of each version of FMI."""
    return write_pushed_mass(tmp_path / "pushed", models)


@pytest.fixture
def pushed2(engine_models, tmp_path):
    """The same, of FMI 2.0 only."""
    return write_pushed_mass(tmp_path / "pushed2", engine_models)


@pytest.fixture
def free(engine_models, tmp_path):
    """A mass whose input F is connected to nothing."""
    return write_pushed_mass(tmp_path / "free", engine_models, outer=False)
