"""Findings are shown while one types, in the text as it is in the editor, and gone when the fault is."""

import shutil
from pathlib import Path

import pytest
from lsprotocol import types

import ssptool
from ssptool.language_server.findings import moved
from tests.language_server.conftest import ROOT, Author, position

pytestmark = pytest.mark.asyncio(loop_scope="module")

END = 'startConnector="x1" endElement="System2" endConnector="x1"'


async def test_a_fault_is_shown_at_its_attribute_while_the_file_on_disk_has_none(author: Author, oscillator: Path):
    structure = oscillator / "SystemStructure.ssd"
    author.open(structure)
    await author.sees(structure)
    author.type(structure, END, END.replace('startConnector="x1"', 'startConnector="x7"'))
    (found,) = await author.sees(structure, "SSD-CONN-002")
    text = author.texts[structure]
    at = text.index('startConnector="x7"')
    assert found.range == types.Range(position(text, at), position(text, at + len('startConnector="x7"')))
    assert found.severity == types.DiagnosticSeverity.Error
    assert "x7" in found.message
    assert ssptool.validate(oscillator).ok
    author.type(structure, '"x7"', '"x1"')
    await author.sees(structure)


async def test_a_structure_is_judged_with_the_unsaved_parameter_set_beside_it(author: Author, oscillator: Path):
    values = oscillator / "resources/dual_mass_oscillator.ssv"
    author.open(values)
    await author.sees(values)
    author.type(values, 'name="System1.m1"', 'name="System1.nothing"')
    (found,) = await author.sees(values, "SSD-PAR-023")
    assert "'nothing'" in found.message


async def test_findings_in_other_files_stay_while_the_structure_is_half_typed(author: Author, oscillator: Path):
    structure, values = oscillator / "SystemStructure.ssd", oscillator / "resources/dual_mass_oscillator.ssv"
    author.open(structure)
    author.open(values)
    author.type(values, 'name="System1.m1"', 'name="System1.nothing"')
    await author.sees(values, "SSD-PAR-023")
    author.type(structure, "<ssd:Connections>", "<ssd:Connections><ssd:Conn")
    (found,) = await author.sees(structure, "XML-001")
    text = author.texts[structure]
    typed = position(text, text.index("<ssd:Connections><ssd:Conn")).line
    assert typed <= found.range.start.line <= typed + 1
    assert found.range.start.character > 0
    assert [one.code for one in author.faults(values)] == ["SSD-PAR-023"]
    author.type(structure, "<ssd:Connections><ssd:Conn", "<ssd:Connections>")
    await author.sees(structure)
    assert [one.code for one in author.faults(values)] == ["SSD-PAR-023"]


async def test_columns_are_counted_in_the_units_of_the_protocol(author: Author, oscillator: Path):
    """A character beyond the first 65 536 is two units of UTF-16."""
    structure = oscillator / "SystemStructure.ssd"
    author.open(structure)
    author.type(
        structure, '<ssd:Connection startElement="System1"', '<ssd:Connection description="🎢" startElement="Sys"'
    )
    (found,) = await author.sees(structure, "SSD-CONN-001")
    text = author.texts[structure]
    at = text.index('startElement="Sys"')
    assert found.range.start == position(text, at)


async def test_a_document_that_was_never_saved_is_judged_by_itself(author: Author, tmp_path: Path):
    values = tmp_path / "new.ssv"
    author.open(
        values,
        '<ssv:ParameterSet xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues" version="2.0" '
        'name="n"><ssv:Parameters><ssv:Parameter name="a"><ssv:Real value="one"/></ssv:Parameter></ssv:Parameters>'
        "</ssv:ParameterSet>",
    )
    (found,) = await author.sees(values, "XML-004")
    assert "one" in found.message


async def test_a_lone_structure_takes_the_parameter_sets_that_it_names(author: Author, oscillator: Path):
    lone = oscillator / "lone.ssd"
    (oscillator / "SystemStructure.ssd").rename(lone)
    values = oscillator / "resources/dual_mass_oscillator.ssv"
    author.open(values)
    author.type(values, 'name="System1.m1"', 'name="System1.nothing"')
    await author.sees(values, "SSD-PAR-023")


async def test_what_changes_on_disk_is_judged_when_the_editor_tells_of_it(author: Author, oscillator: Path):
    structure = oscillator / "SystemStructure.ssd"
    author.open(structure)
    await author.sees(structure)
    (oscillator / "resources/System2.fmu").unlink()
    change = types.FileEvent((oscillator / "resources/System2.fmu").as_uri(), types.FileChangeType.Deleted)
    author.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([change]))
    await author.sees(structure, "URI-002")
    shutil.copy(ROOT / "systems/dual_mass_oscillator/resources/System2.fmu", oscillator / "resources")
    author.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([change]))
    await author.sees(structure)


async def test_findings_go_when_the_folder_goes(author: Author, oscillator: Path):
    structure = oscillator / "SystemStructure.ssd"
    author.open(structure)
    author.type(structure, END, END.replace("x1", "x7", 1))
    await author.sees(structure, "SSD-CONN-002")
    author.close()
    author.texts.clear()
    shutil.rmtree(oscillator)
    author.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([]))
    await author.sees(structure)


@pytest.mark.parametrize(
    ("now", "lines"), [("a\nx\nb\nc\nd", [0, 2, 3, 4]), ("a\nd", [0, 1, 1]), ("a\nb\nx\nd", [0, 1, 2, 3])]
)
async def test_a_finding_stays_at_its_line_while_lines_come_and_go_before_it(now: str, lines: list[int]):
    before = "a\nb\nc\nd"
    found = [types.Diagnostic(types.Range(types.Position(line, 0), types.Position(line, 1)), "") for line in range(4)]
    assert [one.range.start.line for one in moved(found, before, now)] == lines
