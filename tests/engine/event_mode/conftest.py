"""Systems of the engine's test models."""

import pytest

from tests.engine.event_mode.systems import write_system


@pytest.fixture
def system(engine_models, tmp_path):
    """Write a system of these FMUs and return its folder."""
    fmus = engine_models.parent
    return lambda components, connections=(), parameters="", name="system": write_system(
        tmp_path / name, fmus, components, connections, parameters
    )
