"""The catalogue as pages: complete, current, and found by code."""

from pathlib import Path

import pytest

import ssptool
from ssptool.exceptions import UnknownName
from ssptool.rules.catalogue import RULES
from ssptool.rules.chapters import CHAPTERS, ELSEWHERE

DOCS = Path(__file__).parents[2] / "docs"


def test_the_generated_page_is_current():
    assert (DOCS / "rules.md").read_text(encoding="utf-8") == ssptool.renderers.catalogue_page(), "run `make docs`"


def test_the_generated_page_has_every_rule_once():
    lines = ssptool.renderers.catalogue_page().split("\n")
    assert sorted(line[4:] for line in lines if line.startswith("### ")) == sorted(RULES)
    assert [line for line in lines if line.startswith("| ")][1:] == [
        f"| {code} | {title} | {reason} |" for code, (title, reason) in sorted(ELSEWHERE.items())
    ]


def test_every_rule_is_in_a_chapter_of_the_page_and_names_its_source():
    assert {rule.chapter for rule in RULES.values()} == set(CHAPTERS)
    assert all(rule.source for rule in RULES.values())


@pytest.mark.parametrize("code", sorted(RULES))
def test_the_page_of_a_rule_says_everything_about_it(code: str):
    page, rule = ssptool.renderers.rule_page(code), RULES[code]
    assert page.startswith(f"{code}: {rule.title}")
    for word in (rule.source, rule.basis, *rule.severity.values(), "Fix: ", "--for" if rule.tools else "--ignore"):
        assert word in page
    assert set(rule.severity) == {"1.0", "2.0"} or all(f"SSP {version}" in page for version in rule.severity)


def test_the_page_says_where_something_is_checked_that_has_no_rule_of_its_own():
    assert "XML-004" in ssptool.renderers.rule_page("ann-001")


def test_a_misspelt_code_gets_the_nearest():
    with pytest.raises(UnknownName, match="SSD-CONN-003"):
        ssptool.renderers.rule_page("SSD-CON-003")


def test_no_code_is_given_to_a_rule_and_to_something_else():
    assert not set(RULES) & set(ELSEWHERE)
