"""Trace from the requirements of the standard to rules, and from rules to the tests that try them."""

import ast
import csv
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ssptool.rules.catalogue import RULES, VERSIONS
from ssptool.rules.chapters import ELSEWHERE
from tests.qualification.behaviour import BEHAVIOUR, Behaviour

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "docs" / "qualification" / "requirements.csv"

CODE = re.compile(r"\b(?:SSD-[A-Z]+|[A-Z]{2,5})-\d{3}\b")
_RANGE = re.compile(r"\b([A-Z-]+)-(\d{3}) to \1-(\d{3})\b")

ABOUT_TEXTS = frozenset({"tests/rules/test_pages.py", "tests/rules/test_requirements.py"})
"""Tests that name rules and judge no document: pages of rules, and the table of requirements."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """A requirement of the standard, and the rules that check it.

    Attributes
    ----------
    clause
        Clauses of SSP 2.0 that it is from.
    severities
        Version of SSP → severity of a violation; empty: no document can violate it.
    rules
        Its own rule, or those that check it as well.
    reason
        Why it has no rule of its own; empty if it has one.
    tests
        Node ids of functions that try it, beside those that name its id or one of its rules.
    """

    id: str
    basis: str
    clause: str
    severities: Mapping[str, str]
    rules: tuple[str, ...]
    reason: str
    tests: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Codes by which tests name it."""
        return tuple(dict.fromkeys((self.id, *self.rules)))


def requirements() -> tuple[Requirement, ...]:
    """All requirements, in the order of the table."""
    with TABLE.open(encoding="utf-8", newline="") as table:
        return tuple(map(_requirement, csv.DictReader(table)))


def _requirement(line: Mapping[str, str]) -> Requirement:
    code = line["id"]
    severities = {version: line[f"severity in {version}"] for version in VERSIONS if line[f"severity in {version}"]}
    behaviour = BEHAVIOUR.get(code, Behaviour(ELSEWHERE[code][1] if code in ELSEWHERE else ""))
    rules = (code,) if code in RULES else codes_in(behaviour.told)
    return Requirement(
        code, line["basis"], line["clause of SSP 2.0"], severities, rules, behaviour.told, behaviour.tests
    )


def codes_in(text: str) -> tuple[str, ...]:
    """Codes of rules in a text; `XML-001 to XML-011` names all between."""
    between = (
        f"{area}-{number:03}"
        for area, first, last in _RANGE.findall(text)
        for number in range(int(first), int(last) + 1)
    )
    return tuple(code for code in dict.fromkeys((*CODE.findall(text), *between)) if code in RULES)


def by_code(tests: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Code → tests (by node id) that name it: in their parameters, or in the text of their function."""
    found: dict[str, list[str]] = defaultdict(list)
    for test in tests:
        function, _, parameters = test.partition("[")
        file, _, name = function.partition("::")
        if file not in ABOUT_TEXTS and not name.startswith("test_a_rule_has_"):
            # Where the parameters name rules, those in the text belong to other parameters.
            for code in set(CODE.findall(parameters)) or named_codes(file).get(name.rpartition("::")[2], set()):
                found[code].append(test)
    return {code: tuple(tests) for code, tests in found.items()}


@cache
def named_codes(file: str) -> Mapping[str, frozenset[str]]:
    """Test function → the codes that its text has, decorators included."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {one.name: frozenset(_codes_of(one)) for one in functions if one.name.startswith("test_")}


def _codes_of(function: ast.AST) -> Iterator[str]:
    for node in ast.walk(function):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from CODE.findall(node.value)


def tried_by(requirement: Requirement, named: Mapping[str, Iterable[str]], tests: Iterable[str]) -> tuple[str, ...]:
    """Tests that try a requirement: those that name it or one of its rules (`by_code`), and those that it names."""
    naming = [test for code in requirement.names for test in named.get(code, ())]
    own = [test for test in tests if test.partition("[")[0] in requirement.tests] if requirement.tests else []
    return tuple(dict.fromkeys((*naming, *own)))
