"""No run is silently wrong: true errors of runs of many kinds are within the stated ones, or the runs tell."""

import re
from pathlib import Path

import pytest

from tests.accuracy.measured import carried_out, silence, true_error, written
from tests.accuracy.systems import SYSTEMS

pytestmark = pytest.mark.one_in(3)

EACH = pytest.mark.parametrize("name", SYSTEMS)
ROOT = Path(__file__).parents[2]

WANTED = 1e-4


@pytest.fixture
def system(name):
    return SYSTEMS[name]


@pytest.fixture
def folder(system, tmp_path):
    return written(system, tmp_path)


@EACH
def test_a_run_states_its_error_warns_or_fails(system, folder):
    result = carried_out(system, folder, accuracy="auto")
    assert silence(system, result) == ""
    assert not result.ok or result.accuracy.steps


@pytest.mark.slow
@EACH
def test_an_error_that_is_asked_for_is_reached_or_missed_with_words(system, folder):
    result = carried_out(system, folder, accuracy=WANTED, timeout=1.5)
    if result.ok and result.accuracy.met:
        assert (system.blind and result.accuracy.remark) or true_error(system, result)[0] <= 3 * WANTED
    else:
        assert result.failure is not None or result.accuracy.remark


def test_the_page_has_the_systems_and_the_number_of_them_is_right():
    page = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8").split("<!-- table")[1]
    _head, *rows = re.findall(r"^\| (.*?) \|", page, re.MULTILINE)
    assert rows == list(SYSTEMS)
    assert f"[{len(SYSTEMS)} systems with exact answers]" in (ROOT / "README.md").read_text(encoding="utf-8")
