"""Quick fixes are those of `validate --fix`, as edits of what differs and nothing else."""

from pathlib import Path

import pytest
from lsprotocol import types

import ssptool
from tests.language_server.conftest import Author, begin

pytestmark = pytest.mark.asyncio(loop_scope="module")

END = 'startElement="System1" startConnector="x1"'


async def test_a_guess_is_offered_as_one_and_writes_one_name(author: Author, oscillator: Path):
    structure = oscillator / "SystemStructure.ssd"
    before = author.open(structure)
    await author.sees(structure)
    author.type(structure, END, END.replace("System1", "Sytsem1"))
    await author.sees(structure, "SSD-CONN-001")
    (action,) = await author.offered(structure, begin(author.texts[structure], "Sytsem1"), "quickfix")
    (of_line,) = await author.offered(structure, begin(author.texts[structure], "<ssd:Connection start"), "quickfix")
    assert of_line.title == action.title
    assert action.title == 'Write startElement="System1" (a guess)'
    assert not action.is_preferred
    assert action.edit is None
    put = author.take(await author.resolved(action))
    assert author.texts[structure] == before
    assert "".join(put) in "System1"


async def test_each_of_several_names_that_may_be_meant_is_a_guess_of_its_own(author: Author, oscillator: Path):
    structure = oscillator / "SystemStructure.ssd"
    before = author.open(structure)
    await author.sees(structure)
    author.type(structure, END, END.replace("System1", "System"))
    await author.sees(structure, "SSD-CONN-001")
    actions = await author.offered(structure, begin(author.texts[structure], '"System"', 1), "quickfix")
    assert [one.title for one in actions] == [f'Write startElement="System{number}" (a guess)' for number in (2, 1)]
    assert not any(one.is_preferred for one in actions)
    assert await author.offered(structure, begin(author.texts[structure], '"System"', 1), "source.fixAll") == []
    author.take(await author.resolved(actions[1]))
    assert author.texts[structure] == before


async def test_a_fix_that_is_certain_is_preferred_and_all_of_them_are_one_action(author: Author, oscillator: Path):
    structure = oscillator / "SystemStructure.ssd"
    before = author.open(structure)
    await author.sees(structure)
    line = '      <ssd:Connection startElement="System2" startConnector="F" endElement="System1" endConnector="F"/>\n'
    author.type(structure, line, line + line)
    await author.sees(structure, "SSD-CONN-007")
    here = begin(author.texts[structure], line + line, len(line) + 10)
    (action,) = await author.offered(structure, here, "quickfix")
    assert action.is_preferred
    (every,) = await author.offered(structure, here, "source.fixAll")
    assert every.kind == types.CodeActionKind.SourceFixAll
    author.take(await author.resolved(action))
    assert author.texts[structure] == before


async def test_an_edit_is_that_of_the_fix_command(author: Author, oscillator: Path):
    structure = oscillator / "SystemStructure.ssd"
    author.open(structure)
    author.type(structure, END, END.replace("System1", "Sytsem1"))
    author.type(
        structure, '      <ssd:Connection startElement="System2"', '\n  <ssd:Connection  startElement="System2"'
    )
    await author.sees(structure, "SSD-CONN-001")
    structure.write_text(author.texts[structure])
    (action,) = await author.offered(structure, begin(author.texts[structure], "Sytsem1"), "quickfix")
    author.take(await author.resolved(action))
    ssptool.fix(oscillator, unsafe=True)
    assert author.texts[structure] == structure.read_text()


async def test_no_fix_is_offered_where_there_is_no_fault(author: Author, oscillator: Path):
    structure = oscillator / "SystemStructure.ssd"
    text = author.open(structure)
    await author.sees(structure)
    assert await author.offered(structure, begin(text, END)) == []
