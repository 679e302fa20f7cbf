"""The trace from requirements to rules and tests is complete, and the kit names what is there."""

import re

import pytest

from ssptool.rules.catalogue import RULES
from ssptool.rules.chapters import ELSEWHERE
from tests.qualification.behaviour import BEHAVIOUR
from tests.qualification.measured import collected
from tests.qualification.trace import ROOT, by_code, codes_in, requirements, tried_by
from tests.qualification.use_cases import USE_CASES, all_evidence

KIT = ROOT / "docs" / "qualification" / "README.md"


@pytest.fixture(scope="module")
def tests_that_name_codes():
    """Tests of rules and of values of parameters, by node id."""
    return collected(["tests/rules", "tests/network/test_precedence.py", "tests/network/test_signal_dictionaries.py"])


def test_every_requirement_has_a_rule_or_a_reason():
    traced = requirements()
    assert len({one.id for one in traced}) == len(traced) > 200
    assert [one.id for one in traced if one.id not in RULES and not one.reason] == []
    assert {one.id for one in traced if one.id in RULES and one.reason} == set()


def test_every_reason_is_of_a_requirement_without_a_rule():
    without = {one.id for one in requirements()} - RULES.keys()
    assert without == BEHAVIOUR.keys() | ELSEWHERE.keys()
    assert not BEHAVIOUR.keys() & ELSEWHERE.keys()


def test_every_rule_has_a_test(tests_that_name_codes):
    assert sorted(RULES.keys() - by_code(tests_that_name_codes).keys()) == []


def test_the_test_that_a_document_is_blamed_belongs_to_its_rule_only(tests_that_name_codes):
    named = by_code(tests_that_name_codes)
    blamed = "tests/rules/test_catalogue.py::test_a_rule_blames_the_marked_lines_and_nothing_else[XML-002/"
    assert [code for code, tests in named.items() if any(one.startswith(blamed) for one in tests)] == ["XML-002"]


def test_tried_by_pages_are_no_tried_by_rules():
    named = "tests/rules/test_pages.py::test_the_page_of_a_rule_says_everything_about_it[XML-002]"
    assert by_code([named]) == {}


def test_what_the_program_does_about_a_requirement_is_tested_by_what_is_there():
    """Functions that exist, in files that are evidence."""
    for code, behaviour in BEHAVIOUR.items():
        for test in behaviour.tests:
            file, _, name = test.partition("::")
            assert re.search(rf"^def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE), (code, test)
            assert any(file == path or file.startswith(f"{path}/") for path in all_evidence()), (code, test)


def test_demands_on_the_program_have_a_test_or_nothing_to_test(tests_that_name_codes):
    """Those of parameters are named by the cases of tests/network/test_precedence.py."""
    named = by_code(tests_that_name_codes)
    untested = [one.id for one in requirements() if not one.rules and not one.tests and not named.get(one.id)]
    assert untested == ["PKG-019", "PKG-023", "META-007"]


def test_a_range_of_rules_in_a_reason_names_all_of_them():
    assert codes_in("other rules check it: TRF-001 to TRF-003, XML-001") == ("TRF-001", "TRF-003", "XML-001", "TRF-002")


def test_a_requirement_is_tried_by_tests_that_name_it_and_by_its_own():
    (one,) = (one for one in requirements() if one.id == "CLK-004")
    own = f"{one.tests[0]}[a]"
    named = {"SSD-CONN-003": ("of the rule",), "CLK-004": ("of the id",), "CLK-005": ("of another",)}
    assert tried_by(one, named, [own, "elsewhere"]) == ("of the id", "of the rule", own)


def test_evidence_of_use_cases_is_there():
    assert [path for path in all_evidence() if not (ROOT / path).exists()] == []


def test_the_kit_has_a_chapter_for_each_use_case():
    chapters = re.findall(r"^### (.*)$", KIT.read_text(encoding="utf-8"), re.MULTILINE)
    assert chapters[: len(USE_CASES)] == [one.title for one in USE_CASES]
