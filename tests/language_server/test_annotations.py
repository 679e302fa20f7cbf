"""Hints, semantic tokens, formatting and lenses are in the text what the command line tells of it."""

import random
import re
import textwrap
from pathlib import Path

import pytest
from lsprotocol import types

from ssptool.documents.document import Document
from ssptool.language_server.formatting import formatted
from ssptool.language_server.places import uri_of
from ssptool.language_server.tokens import LEGEND
from tests.language_server.conftest import ROOT, Author, offset

pytestmark = pytest.mark.asyncio(loop_scope="module")

SYSTEMS = ROOT / "systems"
DOCUMENTS = sorted(path for path in SYSTEMS.rglob("*") if path.suffix in (".ssd", ".ssv", ".ssm", ".ssb"))
EVERYTHING = types.Range(types.Position(0, 0), types.Position(10_000, 0))


async def hints(author: Author, path: Path, within: types.Range = EVERYTHING) -> list[tuple[str, str]]:
    """What is written before a hint on its line, and the hint."""
    params = types.InlayHintParams(types.TextDocumentIdentifier(uri_of(path)), within)
    found = await author.client.text_document_inlay_hint_async(params)
    text = author.texts[path]
    return [(text[: offset(text, one.position)].rpartition(" ")[2], str(one.label)) for one in found or ()]


async def test_the_ends_of_connections_have_their_type_and_unit(author: Author, oscillator: Path):
    structure = oscillator / "SystemStructure.ssd"
    text = author.open(structure)
    line = text[: text.index("<ssd:Connections>")].count("\n")
    only = types.Range(types.Position(line + 1, 0), types.Position(line + 2, 0))
    assert await hints(author, structure, only) == [
        *(('startConnector="x1"', "Real m"), ('endConnector="x1"', "Real m")),
        *(('startConnector="v1"', "Real m/s"), ('endConnector="v1"', "Real m/s")),
    ]
    assert len(await hints(author, structure)) == 8


async def test_a_parameter_has_the_value_that_its_variables_get_in_the_end(author: Author, oscillator: Path):
    values = oscillator / "resources" / "dual_mass_oscillator.ssv"
    text = author.open(values)
    author.type(values, '<ssv:Real value="1" unit="kg"/>', '<ssv:Real value="1500" unit="g"/>')
    author.type(
        values,
        '<ssc:Unit name="kg">',
        '<ssc:Unit name="g"><ssc:BaseUnit kg="1" factor="0.001"/></ssc:Unit><ssc:Unit name="kg">',
    )
    found = await hints(author, values)
    assert found[:2] == [('value="1500"', "→ 1.5 kg"), ('value="10"', "→ 10.0 N/m")]
    assert len(found) == text.count("<ssv:Parameter ")


async def test_names_are_tokens_of_their_kinds(author: Author, oscillator: Path):
    structure = oscillator / "SystemStructure.ssd"
    text = author.open(structure)
    document = types.TextDocumentIdentifier(uri_of(structure))
    found = await author.client.text_document_semantic_tokens_full_async(types.SemanticTokensParams(document))
    assert found is not None
    named, line, start = set(), 0, 0
    lines = text.split("\n")
    for number in range(0, len(found.data), 5):
        down, right, length, kind, declares = found.data[number : number + 5]
        line, start = line + down, right if down else start + right
        named.add((lines[line][start : start + length], LEGEND.token_types[kind], bool(declares)))
    assert {
        ("System1", "class", True),
        ("System1", "class", False),
        ("x1", "property", False),
        ("m", "type", True),
    } <= named
    assert {kind for _, kind, _ in named} == {"class", "property", "type"}


async def test_a_client_is_told_only_which_tokens_have_changed(author: Author, oscillator: Path):
    structure = oscillator / "SystemStructure.ssd"
    author.open(structure)
    document = types.TextDocumentIdentifier(uri_of(structure))
    whole = types.SemanticTokensParams(document)
    before = await author.client.text_document_semantic_tokens_full_async(whole)
    assert before is not None
    assert before.result_id is not None
    ask = author.client.text_document_semantic_tokens_full_delta_async
    same = await ask(types.SemanticTokensDeltaParams(document, before.result_id))
    assert isinstance(same, types.SemanticTokensDelta)
    assert not same.edits
    assert same.result_id is not None
    author.type(structure, 'startElement="System2" startConnector="F"', 'startElement="ü"\n startConnector="F"')
    change = await ask(types.SemanticTokensDeltaParams(document, same.result_id))
    assert isinstance(change, types.SemanticTokensDelta)
    (edit,) = change.edits
    assert 0 < edit.delete_count < 20
    now = [*before.data]
    now[edit.start : edit.start + edit.delete_count] = edit.data or ()
    after = await author.client.text_document_semantic_tokens_full_async(whole)
    assert after is not None
    assert now == list(after.data) != list(before.data)
    unknown = await ask(types.SemanticTokensDeltaParams(document, "of another time"))
    assert isinstance(unknown, types.SemanticTokens)
    assert unknown.data == after.data


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(SYSTEMS).as_posix())
async def test_a_document_in_the_style_of_its_author_stays_as_it_is(path: Path):
    source = path.read_bytes()
    assert formatted(Document(path.name, source)).encode() == source.removeprefix(b"\xef\xbb\xbf")


@pytest.mark.parametrize("unit", ["  ", "\t", "    "])
async def test_wrong_indentation_is_mended_in_the_style_of_the_others(unit: str):
    right = (SYSTEMS / "dual_mass_oscillator" / "SystemStructure.ssd").read_text(encoding="utf-8")
    right = re.sub(r"(?m)^ +(?=<)", lambda found: unit * (len(found[0]) // 2), right)
    lines, chance = right.split("\n"), random.Random(7)
    for number in chance.sample([at for at, line in enumerate(lines) if re.match(r"\s*<(ssd|/ssd):", line)][3:], 9):
        lines[number] = chance.choice(("", " ", "\t\t   ", unit * 7)) + lines[number].lstrip()
    broken = "\n".join(lines)
    assert broken != right
    assert formatted(Document("a.ssd", broken.encode())) == right


async def test_a_line_that_could_follow_two_styles_is_moved_and_not_all_the_others():
    line = '    <ssd:Connection startConnector="x" endConnector="x"/>\n'
    text = (
        '<ssd:System xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription" name="a">\n  <ssd:Elements>\n'
        '      <ssd:Component name="b">\n        <ssd:Connectors>\n            <ssd:Connector name="x"/>\n'
        "        </ssd:Connectors>\n    </ssd:Component>\n"
        '    <ssd:Component name="c">\n        <ssd:Connectors>\n            <ssd:Connector name="x"/>\n'
        "        </ssd:Connectors>\n        <ssd:Annotations/>\n    </ssd:Component>\n  </ssd:Elements>\n"
        f"  <ssd:Connections>\n{line * 6}  </ssd:Connections>\n</ssd:System>\n"
    )
    assert formatted(Document("a.ssd", text.encode())) == text.replace(
        '      <ssd:Component name="b"', '    <ssd:Component name="b"'
    )


async def test_formatting_moves_the_lines_of_a_tag_together_and_leaves_annotations_alone():
    text = textwrap.dedent("""\
        <ssd:SystemStructureDescription xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription"
            xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon" version="1.0" name="a">
          <ssd:System name="ä">
            <ssd:Connectors>
              <ssd:Connector name="a" kind="input"/>
                <ssd:Connector name="b"
                    kind="input">
                  <ssc:Real/>
              </ssd:Connector>
              <ssd:Connector name="c" kind="input"/>
            </ssd:Connectors>
            <ssd:Annotations><ssc:Annotation type="x">
           <x>
               <y/></x></ssc:Annotation>
            </ssd:Annotations>
          </ssd:System>
        </ssd:SystemStructureDescription>
        """)
    wanted = text.replace(
        '        <ssd:Connector name="b"\n            kind="input">\n          <ssc',
        '      <ssd:Connector name="b"\n          kind="input">\n        <ssc',
    )
    assert wanted != text
    assert formatted(Document("a.ssd", text.encode())) == wanted


async def test_formatting_is_a_list_of_small_edits(author: Author, oscillator: Path):
    structure = oscillator / "SystemStructure.ssd"
    text = author.open(structure)
    params = types.DocumentFormattingParams(
        types.TextDocumentIdentifier(uri_of(structure)), types.FormattingOptions(4, True)
    )
    assert not await author.client.text_document_formatting_async(params)
    author.type(structure, "      <ssd:Component name", "<ssd:Component name")
    edits = await author.client.text_document_formatting_async(params)
    assert edits is not None
    (edit,) = edits
    broken = author.texts[structure]
    start, end = offset(broken, edit.range.start), offset(broken, edit.range.end)
    assert broken[:start] + edit.new_text + broken[end:] == text
    assert end - start < 400


async def test_a_plan_is_made_from_the_lens_above_a_system(author: Author, oscillator: Path):
    structure = oscillator / "SystemStructure.ssd"
    author.open(structure)
    params = types.CodeLensParams(types.TextDocumentIdentifier(uri_of(structure)))
    lenses = await author.client.text_document_code_lens_async(params)
    commands = {one.command.title: one.command for one in lenses or () if one.command is not None}
    assert list(commands) == ["Run", "Plan", "Draw"]
    plan = commands["Plan"]
    shown = len(author.client.shown_documents)
    await author.client.workspace_execute_command_async(types.ExecuteCommandParams(plan.command, plan.arguments))
    (made,) = author.client.shown_documents[shown:]
    assert "jacobi" in Path(made.uri.removeprefix("file://")).read_text(encoding="utf-8").lower()
    broken = structure.read_text(encoding="utf-8").replace('startConnector="x1"', 'startConnector="x9"')
    structure.write_text(broken, encoding="utf-8")
    await author.client.workspace_execute_command_async(types.ExecuteCommandParams(plan.command, plan.arguments))
    assert "SSD-CONN-002" in author.client.messages[-1].message
