"""What holds of every example system, in every form that a system may take."""

from pathlib import Path

import numpy as np
import pytest

import ssptool
from ssptool import Settings

pytestmark = pytest.mark.one_in(3)

SYSTEMS = sorted(path.parent for path in (Path(__file__).parents[2] / "systems").glob("*/SystemStructure.ssd"))
SHORT = Settings(stop_time=0.05)
every_system = pytest.mark.parametrize("system", SYSTEMS, ids=lambda path: path.name)


def results(path: Path):
    """Traces of all variants of a system."""
    return [
        ssptool.simulate(path, variant=variant.name, settings=SHORT) for variant in ssptool.variants.list_variants(path)
    ]


def assert_same_results(path: Path, original: Path) -> None:
    found, expected = results(path), results(original)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.ok and other.ok
        assert [column.signal for column in one.trace.columns] == [column.signal for column in other.trace.columns]
        assert np.array_equal(one.trace.y, other.trace.y)


@every_system
def test_validates_without_warnings(system):
    report = ssptool.validate(system)
    assert not report.errors and not report.warnings


@every_system
def test_runs_to_its_end_without_settings(system):
    result = ssptool.simulate(system)
    assert result.ok
    assert np.all(np.isfinite(result.trace.y))


@every_system
def test_packed_it_gives_the_same_bits(system, tmp_path):
    ssptool.pack(system, tmp_path / "packed.ssp")
    assert_same_results(tmp_path / "packed.ssp", system)


@every_system
def test_upgraded_and_downgraded_back_it_gives_the_same_bits(system, tmp_path):
    new, old = tmp_path / "new", tmp_path / "old"
    ssptool.upgrade(system, output=new)
    assert_same_results(new, system)
    report = ssptool.validate(new)
    assert not report.errors and not report.warnings
    ssptool.downgrade(new, output=old)
    assert_same_results(old, system)
