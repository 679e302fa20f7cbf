"""The assembled cross-check: its page has each case with the verdict that is expected, and some are run here."""

import re

import pytest

from tests.foreign.cross_check import PAGE, assemble, case_of, catalogue, check
from tests.systems.peers import where_wheels_are

pytestmark = where_wheels_are


def test_the_page_has_every_case_with_its_verdict():
    cases = list(catalogue())
    verdicts = PAGE.read_text(encoding="utf-8").partition("## Verdicts")[2]
    rows = re.findall(r"^\| (\S+/\S+) \|.*?\| ([^|]+) \|", verdicts, re.MULTILINE)
    assert {case_of(name, cases).place for name, _ in rows} == {case.place for case in cases}
    assert [name for name, verdict in rows if verdict != case_of(name, cases).verdict] == []
    (told,) = re.findall(r"^(\d+) cases: (\d+) passed", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert told == (str(len(rows)), str(sum(verdict == "passed" for _, verdict in rows)))


@pytest.mark.slow
def test_cases_of_each_kind_pass(tmp_path):
    places = (
        "fmi1/cs/dual_mass_oscillator/System1",
        "fmi2/cs/pythonfmu/Half",
        "fmi3/me/dual_mass_oscillator/System1",
        "systems/exported_fmi2",
    )
    chosen = [case for case in catalogue() if case.place in places]
    assert len(chosen) == len(places)
    assemble(tmp_path / "cases", chosen)
    found = check(tmp_path / "cases", tmp_path / "verdicts")
    assert [(one["name"], one["verdict"]) for one in found if one["verdict"] != "passed"] == []
    assert len(found) == len(places)
