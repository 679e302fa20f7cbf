"""Hints that say what to write or to delete are followed to the letter; then the finding is gone."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from lxml import etree

from ssptool.documents.diagnostics import Diagnostic
from tests.rules.test_catalogue import CASES, name, reported

QUOTED = re.compile(r"'([^']*)'")
STATED = re.compile(r'(?:write|state) (\w+)="([^"]*)"')
ATTRIBUTE = re.compile(r'(?:\w+:)?(\w+)="([^"]*)"')
FAILING = [case for case in CASES if case.name.startswith("fail-")]


def renamed(element: etree._Element, finding: Diagnostic) -> None:
    """The name that the message finds fault with becomes the first one that the hint has."""
    wanted, wrong = QUOTED.search(finding.advice), QUOTED.findall(finding.message)
    assert wanted is not None
    every = [(one, *stated) for one in element.iter(etree.Element) for stated in one.attrib.items()]
    for known in reversed(wrong):
        for one, attribute, value in every:
            if known in (value, value.rpartition("#")[2], *value.split(".")):
                one.set(attribute, value.replace(known, wanted[1]))
                return
    raise AssertionError(f"no attribute has one of the values {wrong}")


def restated(element: etree._Element, finding: Diagnostic) -> None:
    stated = STATED.match(finding.advice)
    assert stated is not None
    element.set(stated[1], stated[2])


def emptied(element: etree._Element, _: Diagnostic) -> None:
    for one in element.iter(etree.Element):
        for attribute in [attribute for attribute, value in one.attrib.items() if not value]:
            del one.attrib[attribute]


def deleted(element: etree._Element, _: Diagnostic) -> None:
    parent = element.getparent()
    assert parent is not None
    parent.remove(element)


WAYS: list[tuple[str, Callable[[etree._Element, Diagnostic], None]]] = [
    (r"did you mean '|available: '", renamed),
    (STATED.pattern, restated),
    (r"remove the attribute$", emptied),
    (r"delete one of (the (two|connections|entries)|them)", deleted),
]


def followed(path: Path, finding: Diagnostic, way: Callable[[etree._Element, Diagnostic], None]) -> None:
    tree = etree.parse(path)
    element = next(one for one in tree.iter(etree.Element) if one.sourceline == finding.position.line)
    way(element, finding)
    path.write_bytes(etree.tostring(tree, xml_declaration=True, encoding="UTF-8"))


@pytest.mark.parametrize("case", FAILING, ids=name)
def test_after_a_hint_the_finding_is_gone(case: Path, package: Callable[[Path], Path]):
    code, folder = case.parent.name, package(case)
    for finding in reported(folder, code):
        path = folder / finding.position.file
        way = next((way for words, way in WAYS if re.match(words, finding.advice)), None)
        if way is None or not finding.position.line or not path.is_file():
            continue
        before = path.read_bytes()
        followed(path, finding, way)
        assert (finding.message, finding.position.line) not in [
            (one.message, one.position.line) for one in reported(folder, code)
        ]
        path.write_bytes(before)
