"""Fixes mend what they are for, and touch nothing else."""

import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import ssptool
from ssptool.rules.runner import check_path
from ssptool.types import Report

HERE = Path(__file__).parent
CASES = sorted(path for path in HERE.glob("*-*/fail-*"))


def name(case: Path) -> str:
    return f"{case.parent.name}/{case.stem}"


def texts(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes().decode(errors="replace")
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.slow
@pytest.mark.parametrize("unsafe", [False, True], ids=["safe", "unsafe"])
@pytest.mark.parametrize("case", CASES, ids=name)
def test_fixes_of_any_case_bring_no_errors_and_leave_nothing_to_fix(case: Path, unsafe: bool, package):
    folder = package(case)
    if not (folder / "SystemStructure.ssd").exists():
        return
    before, found = texts(folder), check_path(folder, unguarded=True)
    shown = ssptool.fix(folder, unsafe=unsafe, save=False)
    assert texts(folder) == before
    mended = ssptool.fix(folder, unsafe=unsafe)
    assert mended == shown
    after = check_path(folder, unguarded=True)
    assert bool(mended.diff) is bool(mended.fixed) is (texts(folder) != before)
    assert {one.code for one, safe in found.fixable.items() if safe or unsafe} <= {one.code for one in mended.fixed}
    assert [one for one, safe in after.fixable.items() if safe or unsafe] == []
    if not any(one.code.startswith(("XML-", "VER-")) for one in found.errors):
        # Of a document that the schema refuses the content is judged only once that is mended.
        assert errors(after) <= errors(found)


def errors(report: Report) -> Counter[str]:
    return Counter(one.code for one in report.errors)


DOCUMENT = """<?xml version='1.0' encoding='UTF-8'?>
<ssd:SystemStructureDescription version="2.0" name="Case"
    xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription"
    xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon">
  <ssd:System name="Root">
    <ssd:Connectors>
      <ssd:Connector name="u" kind="input"><ssc:Real unit="N"/></ssd:Connector>
      <ssd:Connector name="y" kind="output"><ssc:Real/></ssd:Connector>
    </ssd:Connectors>
    <ssd:Elements>
      <ssd:Component name="Plant" source="resources/Mass.fmu">
        <ssd:Connectors>
          <ssd:Connector
              name="F"   kind='input'/>
          <ssd:Connector name="x" kind="output"/>
        </ssd:Connectors>
      </ssd:Component>
    </ssd:Elements>
    <ssd:Connections>
      <ssd:Connection startConnector="u" endElement="Plant" endConnector="F"/>
      <ssd:Connection startElement="Plant" startConnector="x" endConnector="y"/>
    </ssd:Connections>
  </ssd:System>
  <ssd:Units>
    <ssc:Unit name="N"><ssc:BaseUnit kg="1" m="1" s="-2"/></ssc:Unit>
  </ssd:Units>
</ssd:SystemStructureDescription>
"""
FIRST = '      <ssd:Connection startConnector="u" endElement="Plant" endConnector="F"/>\n'
UNIT = '    <ssc:Unit name="N"><ssc:BaseUnit kg="1" m="1" s="-2"/></ssc:Unit>\n'
# (code, what of the document is replaced by what); the fix undoes it.
CERTAIN = [
    ("URI-003", "resources/Mass.fmu", "resources\\Mass.fmu"),
    ("SSD-CONN-013", "Connection startConnector", 'Connection startElement="" startConnector'),
    ("SSD-CONN-007", FIRST, FIRST + FIRST),
    ("UNIT-001", UNIT, UNIT + UNIT),
    ("UNIT-002", 'unit="N"', 'unit=" N"'),
    ("XML-009", "  </ssd:System>", "    <ssd:GraphicalElements/>\n  </ssd:System>"),
    ("VER-001", 'version="2.0"', 'version="2.0.1"'),
    ("UNIT-002", 'unit="N"', 'unit="[N]"'),
    ("UNIT-002", "<ssc:Real/>", '<ssc:Real unit=""/>'),
]
GUESSED = [
    ("URI-002", "resources/Mass.fmu", "resources/Mas.fmu"),
    ("SSD-CONN-001", 'startElement="Plant"', 'startElement="Plan"'),
    ("FMU-004", "kind='input'", "kind='parameter'"),
]
# What nobody can be sure of: which of two connectors is meant, whether a connection is the one or the other way, or
# what a later version means.
LEFT_ALONE = [
    ("VER-001", 'version="2.0"', 'version="2.1"'),
    ("SSD-CONN-002", 'endConnector="F"', 'endConnector="G"'),
    ("SSD-CONN-007", FIRST, FIRST + '<ssd:Connection startElement="Plant" startConnector="F" endConnector="u"/>'),
    ("UNIT-001", UNIT, UNIT + '<ssc:Unit name="N"><ssc:BaseUnit m="1"/></ssc:Unit>'),
]


def spoilt(old: str, new: str) -> str:
    assert old in DOCUMENT
    return DOCUMENT.replace(old, new, 1)


@pytest.fixture
def written(package: Callable[[Path], Path], tmp_path: Path) -> Callable[[str], Path]:
    """A package of this document and the FMU that the unspoilt one names."""

    def write(text: str) -> Path:
        (tmp_path / "case.ssd").write_text(DOCUMENT)
        folder = package(tmp_path / "case.ssd")
        (folder / "SystemStructure.ssd").write_text(text)
        return folder

    return write


@pytest.mark.parametrize(("code", "old", "new"), CERTAIN)
def test_a_safe_fix_undoes_the_fault_byte_for_byte(code: str, old: str, new: str, written):
    folder = written(spoilt(old, new))
    assert code in {one.code for one in check_path(folder, unguarded=True).diagnostics}
    assert code in {one.code for one in ssptool.fix(folder).fixed}
    assert (folder / "SystemStructure.ssd").read_text() == DOCUMENT


@pytest.mark.parametrize(("code", "old", "new"), GUESSED)
def test_a_guess_is_made_only_if_asked_for(code: str, old: str, new: str, written):
    folder = written(spoilt(old, new))
    assert ssptool.fix(folder).fixed == ()
    assert {one.code for one in ssptool.fix(folder, unsafe=True).fixed} == {code}
    assert (folder / "SystemStructure.ssd").read_text() == DOCUMENT


@pytest.mark.parametrize(("code", "old", "new"), LEFT_ALONE)
def test_what_nobody_can_know_is_left_alone(code: str, old: str, new: str, written):
    folder = written(spoilt(old, new))
    assert code in {one.code for one in check_path(folder, unguarded=True).diagnostics}
    assert ssptool.fix(folder, unsafe=True).fixed == ()


def test_what_is_ignored_is_not_fixed(written):
    folder = written(spoilt(*CERTAIN[1][1:]))
    assert ssptool.fix(folder, ignore=["SSD-CONN-013"]).fixed == ()


def test_a_repair_may_lead_to_the_next(written):
    """The schema refuses the document, so that its content is judged only after the first repair."""
    folder = written(spoilt(*CERTAIN[5][1:]).replace(FIRST, FIRST + FIRST))
    mended = ssptool.fix(folder)
    assert [one.code for one in mended.fixed] == ["XML-009", "SSD-CONN-007"]
    assert (folder / "SystemStructure.ssd").read_text() == DOCUMENT


def test_a_container_with_a_comment_is_not_thrown_away_unasked(written):
    old, new = CERTAIN[5][1:]
    folder = written(spoilt(old, new.replace("<ssd:GraphicalElements/>", CONTAINER)))
    assert ssptool.fix(folder).fixed == ()
    assert [one.code for one in ssptool.fix(folder, unsafe=True).fixed] == ["XML-009"]


CONTAINER = "<ssd:GraphicalElements><!-- to be drawn --></ssd:GraphicalElements>"


def test_a_zip_is_fixed_as_well(written, tmp_path: Path):
    folder = written(spoilt(*CERTAIN[0][1:]))
    packed = tmp_path / "package.ssp"
    with zipfile.ZipFile(packed, "w") as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            archive.write(path, path.relative_to(folder).as_posix())
    mended = ssptool.fix(packed)
    assert "-      <ssd:Component" in mended.diff
    with zipfile.ZipFile(packed) as archive:
        assert archive.read("SystemStructure.ssd").decode() == DOCUMENT
