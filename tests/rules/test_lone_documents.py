"""A parameter set, mapping or dictionary by itself: its schema, and the rules that need no system."""

from pathlib import Path

import pytest
from lxml import etree

import ssptool
from ssptool.documents.archive import LONE_SUFFIXES
from ssptool.rules.runner import check_path

HERE = Path(__file__).parent
ROOTS = {"ParameterSet": ".ssv", "ParameterMapping": ".ssm", "SignalDictionary": ".ssb"}
FORMATS = {
    "SystemStructureParameterValues": "ParameterSet",
    "SystemStructureParameterMapping": "ParameterMapping",
    "SystemStructureSignalDictionary": "SignalDictionary",
}
SSV = """<?xml version="1.0" encoding="UTF-8"?>
<ssv:ParameterSet xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues" version="1.0" name="a">
  <ssv:Parameters>
    <ssv:Parameter name="k"><ssv:Real value="1" unit="N/q"/></ssv:Parameter>
    <ssv:Parameter name="k"><ssv:Real value="{value}" unit=""/></ssv:Parameter>
  </ssv:Parameters>
</ssv:ParameterSet>
"""


@pytest.fixture
def parameters(tmp_path):
    path = tmp_path / "a.ssv"
    path.write_text(SSV.format(value="2"), encoding="utf-8")
    return path


def found(report):
    return [(one.code, one.position.file, one.position.line) for one in report.diagnostics]


def test_rules_on_values_and_units_are_applied(parameters):
    report = ssptool.validate(parameters)
    assert found(report) == [("UNIT-002", "a.ssv", 4), ("SSV-001", "a.ssv", 5), ("UNIT-002", "a.ssv", 5)]
    assert report.files == ("a.ssv",)


def test_the_schema_is_applied(parameters):
    parameters.write_text(SSV.format(value="two"), encoding="utf-8")
    assert found(ssptool.validate(parameters)) == [("XML-004", "a.ssv", 5)]


def test_no_other_file_of_the_folder_is_looked_at(parameters):
    (parameters.parent / "SystemStructure.ssd").write_text("<broken", encoding="utf-8")
    (parameters.parent / "resources").mkdir()
    (parameters.parent / "resources" / "unused.ssv").write_text("<broken", encoding="utf-8")
    assert {file for _, file, _ in found(ssptool.validate(parameters))} == {"a.ssv"}


def test_what_is_certain_is_mended_in_the_file(parameters):
    mended = ssptool.fix(parameters)
    assert [one.code for one in mended.fixed] == ["UNIT-002"]
    assert parameters.read_text(encoding="utf-8") == SSV.format(value="2").replace(' unit=""', "")


def test_another_kind_of_document_is_told(tmp_path):
    path = tmp_path / "a.ssm"
    path.write_text(SSV.format(value="2"), encoding="utf-8")
    assert [code for code, _, _ in found(ssptool.validate(path))] == ["XML-003"]


def test_a_document_has_no_variants(parameters):
    with pytest.raises(LookupError, match="no variant 'x'"):
        ssptool.validate(parameters, variant="x")


@pytest.mark.parametrize("name", ["nothere.ssv", "nothere.ssb"])
def test_a_file_that_is_not_there_is_told(tmp_path, name):
    with pytest.raises(FileNotFoundError, match=f"{name} does not exist"):
        ssptool.validate(tmp_path / name)


def lone_documents():
    """All of those that other tests have in files or inline in structures."""
    for path in sorted(HERE.glob("*-*/**/*")):
        if path.suffix in LONE_SUFFIXES:
            yield path.suffix, path.read_bytes()
        elif path.suffix == ".ssd":
            for element in etree.parse(path, etree.XMLParser(recover=True)).iter("{*}*"):
                name = etree.QName(element)
                if FORMATS.get((name.namespace or "").rpartition("/")[2]) == name.localname:
                    yield ROOTS[name.localname], etree.tostring(element, with_tail=False)


def test_no_rule_asks_for_a_system_that_is_not_there(tmp_path):
    count = 0
    for count, (suffix, content) in enumerate(lone_documents(), 1):
        path = tmp_path / f"{count}{suffix}"
        path.write_bytes(content)
        check_path(path, unguarded=True)
    assert count > 50
