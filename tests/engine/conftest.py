"""FMUs that the engine's tests need beside those of the example system."""

from pathlib import Path

import pytest

import ssptool.engine.run.system as run_system
import ssptool.engine.simulate as simulating
import ssptool.studies.worker as working
from tests.cmake_build import build
from tests.engine import both_ways
from tests.engine.carriers import build as build_carriers
from tests.engine.dual_mass import RESOURCES
from tests.engine.systems import write_system

ROOT = Path(__file__).parents[2]


def pytest_collection_modifyitems(items):
    if not (RESOURCES / "System1.fmu").exists():
        for item in items:
            if "engine" in item.path.parts:
                item.add_marker(pytest.mark.skip(reason="the FMUs are not built: make setup"))


@pytest.fixture
def reached(monkeypatch):
    """Kernels of the systems that come have all operations, also those that the product does not ask for."""
    from ssptool.engine.kernel._methods import NativeSystem

    monkeypatch.setattr(run_system, "native_system", NativeSystem)


@pytest.fixture
def compared(monkeypatch):
    """Runs in this process are done at once and row by row; gives the number of those that were compared."""
    monkeypatch.setattr(simulating, "execute", both_ways.both)
    monkeypatch.setattr(working, "execute", both_ways.both)
    before = len(both_ways.COMPARED)
    return lambda: len(both_ways.COMPARED) - before


@pytest.fixture(scope="session")
def test_models():
    """The folder with the FMI 2.0 FMUs that exist for tests of the wrapper, built if need be."""
    return _built(ROOT / "tests" / "models", ROOT / "build" / "test-models")


@pytest.fixture(scope="session")
def engine_models():
    """The folder with the FMI 2.0 FMUs of tests/engine/models, built if need be."""
    return _built(ROOT / "tests" / "engine" / "models", ROOT / "build" / "engine-test-models")


@pytest.fixture(scope="session")
def carriers(tmp_path_factory):
    """The folder with FMUs that carry values of every type."""
    folder = tmp_path_factory.mktemp("carriers")
    build_carriers(folder)
    return folder


@pytest.fixture
def system(engine_models, tmp_path):
    """Write a system of these FMUs and return its folder."""
    return lambda components, connections: write_system(tmp_path / "system", engine_models, components, connections)


@pytest.fixture
def swing(system):
    """The folder of a mass on a spring, in components that feed each other, pushed by the free input Sum.w."""
    wires = [("Mass.z", "Spring.z"), ("Mass.v", "Spring.v"), ("Spring.F", "Sum.u"), ("Sum.y", "Mass.F")]
    folder = system({"Mass": "Mass", "Spring": "SpringDamper", "Sum": "Affine"}, wires)
    ssd = folder / "SystemStructure.ssd"
    text = ssd.read_text()
    for end in ('endElement="Sum"', 'startElement="Sum"'):
        text = text.replace(end, f'suppressUnitConversion="true" {end}')
    ssd.write_text(text)
    return folder


def _built(source, folder):
    build(source, folder)
    return folder / "fmi2"
