"""The severity, basis and clause of each rule are those of the requirement of the standard that it checks.

`docs/qualification/requirements.csv` has one line per requirement: no severity for a version means that the requirement
is not there, or that no document can violate it.
"""

import csv
import re
from pathlib import Path
from typing import Any

import pytest

from ssptool.rules.catalogue import RULES, VERSIONS, Rule
from ssptool.rules.chapters import CHAPTERS  # so that the catalogue is complete

TABLE = Path(__file__).parents[2] / "docs" / "qualification" / "requirements.csv"
with TABLE.open(encoding="utf-8", newline="") as table:
    REQUIREMENTS = {line["id"]: line for line in csv.DictReader(table)}
CHECKED = sorted(RULES.keys() & REQUIREMENTS.keys())

SCHEMA = "the documentation in the schema asks for it, and no clause of the text"
DIFFERENCES: dict[tuple[str, str], str] = {
    ("FMU-005", "clause"): SCHEMA,
    ("SSD-CTR-010", "clause"): SCHEMA,
    ("TYPE-002", "clause"): SCHEMA,
    ("XML-009", "clause"): "the schemas of all formats say so, and no single clause does",
    ("XML-011", "clause"): "the standard says nothing of entities: refusing them is a matter of safety",
    ("PKG-022", "clause"): "the standard does not ask for it: an unused file is legal",
    (
        "PKG-021",
        "severity",
    ): "of two entries with one name each tool may read another one",
    ("SSD-CONN-008", "severity"): "the severity depends on the two types; the one of the catalogue is the highest",
    ("SSD-CONN-008", "basis"): "which types are accepted is left to the implementation",
    ("SSM-004", "severity"): "the value is not applied, as from an unknown source (SSM-003), which is a warning",
    ("SSV-005", "severity"): "a value in both places is as ambiguous in SSP 1.0",
    ("VER-002", "severity"): "the features are of 2.0, the document that must not use them is of 1.0",
    ("VER-004", "severity"): "the inline content is of 2.0, the document around it is of 1.0",
}
"""(Code, severity, basis or clause) → the reason why the rule differs from the requirement."""


def differences(rule: Rule, wanted: dict[str, Any]) -> set[str]:
    found = set()
    stated = {version: wanted[f"severity in {version}"] for version in VERSIONS if wanted[f"severity in {version}"]}
    if {version: severity.value for version, severity in rule.severity.items()} != stated:
        found.add("severity")
    if rule.basis.value.lower() != wanted["basis"].lower():
        found.add("basis")
    if not clauses(wanted["clause of SSP 2.0"]) & clauses(rule.source):
        found.add("clause")
    return found


def clauses(text: str) -> set[str]:
    """The clauses named in a text, and those around them; `§4 to §8` names all between."""
    ranges = [range(int(first), int(last) + 1) for first, last in re.findall(r"§(\d+) to §(\d+)", text)]
    between = {str(number) for numbers in ranges for number in numbers}
    named = between | set(re.findall(r"(?<![\d.])\d+(?:\.\d+)*", re.sub(r"(SSP|FMI|RFC) [\d.]+", "", text)))
    split = [clause.split(".") for clause in named]
    return {".".join(parts[:depth]) for parts in split for depth in range(1, len(parts) + 1)}


@pytest.mark.parametrize("code", CHECKED)
def test_a_rule_has_the_severity_basis_and_clause_of_its_requirement(code: str):
    reasoned = {what for known, what in DIFFERENCES if known == code}
    assert differences(RULES[code], REQUIREMENTS[code]) == reasoned


def test_differences_have_a_reason_and_concern_requirements():
    assert all(len(reason) > 20 for reason in DIFFERENCES.values())
    assert {code for code, _ in DIFFERENCES} <= REQUIREMENTS.keys()


def test_rules_of_our_own_are_numbered_apart_from_requirements():
    own = RULES.keys() - REQUIREMENTS.keys()
    assert CHAPTERS
    assert all(int(code.rpartition("-")[2]) > 100 or code.startswith("PEER") for code in own)
