"""No false alarms: the example systems have neither errors nor warnings."""

from pathlib import Path

import pytest

from ssptool.rules.runner import check_path

SYSTEMS = sorted(path.parent for path in Path(__file__).parents[2].glob("systems/*/SystemStructure.ssd"))


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda path: path.name)
def test_the_example_systems_have_neither_errors_nor_warnings(system: Path):
    report = check_path(system, unguarded=True)
    assert [str(one) for one in (*report.errors, *report.warnings)] == []
    assert not report.fixable
