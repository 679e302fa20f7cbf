"""Settings, studies and scenarios are judged while one types, by what reads them; their keys and words are offered."""

import asyncio
import textwrap
from pathlib import Path

import pytest
from lsprotocol import types

from ssptool.language_server.places import uri_of
from ssptool.language_server.run_files import RunFile, keys_and_words, run_file_of
from ssptool.studies.study_file import KEYS_OF_TABLES
from tests.language_server.conftest import Author, begin
from tests.waiting import PATIENCE

pytestmark = pytest.mark.asyncio(loop_scope="module")

STUDY = """\
    system = "oscillator"
    accept = ["SSD-"]

    [settings]
    stop_time = 1
    master = "jacobi"

    [factors]
    m1 = { variable = "System1.m1", values = [1, 2] }

    [results]
    peak = 'max("System1.x1")'
    """
SCENARIO = """\
    events:
      - time: 1
        variable: System1.F
        action: override
        value: 2
    """


def open_text(author: Author, path: Path, text: str) -> Path:
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    author.open(path)
    return path


async def said(author: Author, path: Path, part: str) -> types.Diagnostic:
    """The only diagnostic of a file, once it says something."""
    async with asyncio.timeout(PATIENCE):
        while not any(part in one.message for one in author.shown(path)):
            await author.client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    (found,) = author.shown(path)
    return found


async def gone(author: Author, path: Path) -> None:
    async with asyncio.timeout(PATIENCE):
        while author.shown(path):
            await author.client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)


async def proposed(author: Author, path: Path, part: str, shift: int = 0) -> list[str]:
    at = begin(author.texts[path], part, shift).start
    params = types.CompletionParams(types.TextDocumentIdentifier(uri_of(path)), at)
    found = await author.client.text_document_completion_async(params)
    assert isinstance(found, list | tuple)
    return [one.label for one in found]


async def hovered(author: Author, path: Path, part: str) -> str:
    at = begin(author.texts[path], part, 1).start
    params = types.HoverParams(types.TextDocumentIdentifier(uri_of(path)), at)
    found = await author.client.text_document_hover_async(params)
    assert found is not None
    assert isinstance(found.contents, types.MarkupContent)
    return found.contents.value


async def test_a_wrong_setting_is_shown_at_its_line_until_it_is_right(author: Author, tmp_path: Path):
    settings = open_text(author, tmp_path / "ssptool.toml", 'strict = true\nignore = ["SSD-GEO-00X"]\n')
    found = await said(author, settings, "no rule has the code 'SSD-GEO-00X'")
    assert found.range.start.line == 1
    author.type(settings, "SSD-GEO-00X", "SSD-GEO-001")
    await gone(author, settings)
    assert "SSD-GEO-001" in await proposed(author, settings, "SSD-GEO-001", 3)
    assert (await hovered(author, settings, "SSD-GEO-001")).startswith("**SSD-GEO-001**")
    author.type(settings, "strict", "\nstrict")
    assert "allow-outside" in await proposed(author, settings, "\nstrict")


async def test_a_study_is_judged_whole(author: Author, oscillator: Path):
    study = open_text(author, oscillator.parent / "masses.toml", STUDY.replace("[1, 2]", "3"))
    found = await said(author, study, "factors.m1.values")
    assert found.range.start.line == 8
    author.type(study, "values = 3", "values = [3]")
    await gone(author, study)
    author.type(study, "max(", "maxx(")
    assert (await said(author, study, "maxx")).range.start.line == 11
    author.type(study, "maxx(", "max(")
    await gone(author, study)
    assert "gauss-seidel" in await proposed(author, study, "jacobi", 2)
    assert "step_size" in await proposed(author, study, "stop_time")
    assert "calibration" in await proposed(author, study, "accept")
    assert "500ms" in await hovered(author, study, "stop_time")


async def test_a_study_is_judged_with_its_system_as_it_is_in_the_editor(author: Author, oscillator: Path):
    structure = oscillator / "SystemStructure.ssd"
    author.open(structure)
    study = open_text(author, oscillator.parent / "masses.toml", STUDY.replace("System1.m1", "System1.m11"))
    assert "did you mean System1.m1" in (await said(author, study, "no variable 'System1.m11'")).message
    author.type(study, "System1.m11", "System1.m1")
    await gone(author, study)
    assert "System1.k1" in await proposed(author, study, "System1.m1", 9)
    assert "System1.x1" in await proposed(author, study, "System1.x1", 9)
    author.type(study, "System1.x1", "System1.x2")
    assert (await said(author, study, "no signal that is recorded is called 'System1.x2'")).range.start.line == 11
    author.type(study, "System1.x2", "System1.x1")
    await gone(author, study)
    author.type(structure, 'name="System1"', 'name="SystemA"')
    assert "System1.m1" in (await said_first(author, study)).message


async def said_first(author: Author, path: Path) -> types.Diagnostic:
    async with asyncio.timeout(PATIENCE):
        while not author.shown(path):
            await author.client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    return author.shown(path)[0]


async def test_a_scenario_is_judged_and_its_words_are_offered(author: Author, tmp_path: Path):
    scenario = open_text(author, tmp_path / "steps.yaml", SCENARIO.replace("override", "overide"))
    found = await said(author, scenario, "expected one of override")
    assert found.range == types.Range(types.Position(3, 4), types.Position(3, 19))
    assert await proposed(author, scenario, "overide") == ["override", "bias", "reset"]
    assert "model" in await proposed(author, scenario, "variable")
    author.type(scenario, "overide", "override")
    await gone(author, scenario)
    assert "from then on" in await hovered(author, scenario, "override")


async def test_every_key_and_word_has_a_meaning():
    for table, keys in KEYS_OF_TABLES.items():
        told = keys_and_words(RunFile.STUDY, table, "")
        assert {*told} == {str(key) for key in keys} or table == "settings"
        assert all(told.values()), table
    assert all(keys_and_words(RunFile.STUDY, "design", "kind").values())
    for table in ("", "defaults", "events"):
        assert all(keys_and_words(RunFile.SCENARIO, table, "").values())
    assert all(keys_and_words(RunFile.SETTINGS, "", "").values())


async def test_files_of_other_programs_are_left_alone():
    assert run_file_of(Path("pyproject.toml"), STUDY) is None
    assert run_file_of(Path("a.toml"), '[package]\nname = "a"\n') is None
    assert run_file_of(Path("a.yaml"), "on:\n  push: {}\n") is None
    assert run_file_of(Path("a.toml"), textwrap.dedent(STUDY)) is RunFile.STUDY
    assert run_file_of(Path("a.yaml"), textwrap.dedent(SCENARIO)) is RunFile.SCENARIO
