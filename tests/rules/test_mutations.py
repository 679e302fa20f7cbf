"""Whatever is wrong with a document, no rule fails over it: damaged documents are reported, never a fault of ours."""

import copy
import random
import shutil
from pathlib import Path

import pytest
from lxml import etree

from ssptool.renderers import REPORT_RENDERERS
from ssptool.rules.runner import check_path

HERE = Path(__file__).parent
WELL_FORMED = sorted(
    path for path in HERE.glob("*-*/*.ssd") if path.parent.name not in ("XML-001", "XML-002", "XML-011")
)
VALUES = [
    *("", " ", "0", "-1", "x", "NaN", "1e400", "true", "2.0", "1.0", "A.x", ".", "a b", "☃", "a" * 200),
    *("#a", "../x", "//x/y", "file:///x", "?q", "%zz", "%2e%2e/x", "resources/Mass.fmu", "resources/Broken.fmu"),
    *("SystemStructure.ssd", "input", "output", "inout", "unspecified", "[bold]"),
]


def mutate(root: etree._Element, chance: random.Random) -> None:
    """Change or delete an attribute, delete or repeat an element, or put one where it does not belong."""
    elements = [element for element in root.iter() if isinstance(element.tag, str)]
    element = chance.choice(elements)
    parent = element.getparent()
    what = chance.choice(["set", "set", "unset", "delete", "repeat", "move"])
    if what in ("set", "unset") and element.attrib:
        name = chance.choice(sorted(element.attrib))
        element.attrib.pop(name)
        if what == "set":
            element.set(name, chance.choice(VALUES))
    elif what == "delete" and parent is not None:
        parent.remove(element)
    elif what == "repeat" and parent is not None:
        parent.append(copy.deepcopy(element))
    elif what == "move":
        element.append(copy.deepcopy(chance.choice(elements)))


@pytest.mark.parametrize("seed", range(10))
def test_no_rule_fails_over_a_damaged_document(seed: int, package, tmp_path: Path):
    chance = random.Random(seed)
    for _ in range(20):
        root = etree.fromstring(chance.choice(WELL_FORMED).read_bytes())
        for _ in range(chance.randint(1, 3)):
            mutate(root, chance)
        case = tmp_path / "case.ssd"
        case.write_bytes(etree.tostring(root, xml_declaration=True, encoding="UTF-8"))
        shutil.rmtree(tmp_path / "package", ignore_errors=True)
        report = check_path(package(case), unguarded=True)
        assert all(render(report) for render in REPORT_RENDERERS.values())
