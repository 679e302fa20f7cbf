"""Copies of the example system, to be edited."""

import shutil
from pathlib import Path

import pytest

from tests.editing.small_systems import DUAL_MASS


@pytest.fixture
def dual_mass(tmp_path: Path) -> Path:
    """The dual-mass oscillator with its default structure only."""
    folder = tmp_path / "dual_mass"
    (folder / "resources").mkdir(parents=True)
    for name in ("SystemStructure.ssd", "resources/dual_mass_oscillator.ssv"):
        shutil.copyfile(DUAL_MASS / name, folder / name)
    for number in (1, 2):
        shutil.copyfile(DUAL_MASS / f"resources/System{number}.fmu", folder / f"resources/System{number}.fmu")
    return folder


@pytest.fixture
def variants(tmp_path: Path) -> Path:
    """The dual-mass oscillator with all its variants."""
    return Path(shutil.copytree(DUAL_MASS, tmp_path / "variants"))
