"""Names lead to what they mean: values and their origin, definitions, other uses, and the outline of a document."""

import shutil
from pathlib import Path

import pytest
from lsprotocol import types

import ssptool
from ssptool.language_server.places import uri_of
from tests.language_server.conftest import ROOT, Author, begin

pytestmark = pytest.mark.asyncio(loop_scope="module")
CORPUS = ROOT / "../shared/corpus"


def at(author: Author, path: Path, part: str, shift: int = 0) -> dict[str, object]:
    here = begin(author.texts[path], part, shift).start
    return {"text_document": types.TextDocumentIdentifier(uri_of(path)), "position": here}


async def hovered(author: Author, path: Path, part: str, shift: int = 0) -> str:
    found = await author.client.text_document_hover_async(types.HoverParams(**at(author, path, part, shift)))
    assert found is not None
    assert isinstance(found.contents, types.MarkupContent)
    return found.contents.value


async def targets(author: Author, path: Path, part: str, shift: int = 0) -> list[tuple[str, str]]:
    """The files and the text of the lines to which a name leads."""
    found = await author.client.text_document_definition_async(types.DefinitionParams(**at(author, path, part, shift)))
    assert isinstance(found, list)
    return [line_of(author, one) for one in found]


def line_of(author: Author, place: types.Location) -> tuple[str, str]:
    path = Path(place.uri.removeprefix("file://"))
    text = author.texts.get(path) or path.read_text()
    return path.name, text.split("\n")[place.range.start.line].strip()


async def test_the_end_of_a_connection_is_explained_as_the_command_does(author: Author, oscillator: Path):
    structure = oscillator / "SystemStructure.ssd"
    author.open(structure)
    told = await hovered(author, structure, 'endElement="System2" endConnector="x1"', 36)
    (explained,) = ssptool.explain(oscillator, "System2.x1")
    assert ssptool.renderers.EXPLANATION_RENDERERS["text"]((explained,)) in told


async def test_a_parameter_is_explained_with_the_value_that_was_just_typed(author: Author, oscillator: Path):
    values = oscillator / "resources/dual_mass_oscillator.ssv"
    author.open(values)
    author.type(values, '<ssv:Real value="10" unit="N/m"/>', '<ssv:Real value="12" unit="N/m"/>')
    told = await hovered(author, values, 'name="System1.k1"', 8)
    assert "System1.k1" in told
    assert "12 N/m" in told


async def test_an_fmu_and_an_attribute_are_described(author: Author, oscillator: Path):
    structure = oscillator / "SystemStructure.ssd"
    author.open(structure)
    assert "FMI 2.0" in await hovered(author, structure, "resources/System1.fmu", 3)
    assert "input" in await hovered(author, structure, 'kind="input"', 7)


async def test_names_lead_to_their_definitions_across_files(author: Author, oscillator: Path):
    structure, values = oscillator / "SystemStructure.ssd", oscillator / "resources/dual_mass_oscillator.ssv"
    author.open(structure)
    author.open(values)
    (element,) = await targets(author, structure, 'startElement="System2" startConnector="F"', 15)
    assert element[1].startswith('<ssd:Component name="System2"')
    (connector,) = await targets(author, structure, 'startElement="System2" startConnector="F"', 39)
    assert connector[1].startswith('<ssd:Connector name="F" kind="output"')
    (unit,) = await targets(author, structure, '<ssc:Real unit="m/s2"/>', 16)
    assert unit[1].startswith('<ssc:Unit name="m/s2">')
    (file,) = await targets(author, structure, 'source="resources/dual_mass_oscillator.ssv"', 12)
    assert file[0] == "dual_mass_oscillator.ssv"
    (variable,) = await targets(author, values, 'name="System1.k1"', 8)
    assert variable[0] == "modelDescription.xml"
    assert 'name="k1"' in variable[1]


async def test_references_are_all_uses_in_the_system(author: Author, oscillator: Path):
    structure = oscillator / "SystemStructure.ssd"
    text = author.open(structure)
    context = types.ReferenceContext(include_declaration=True)
    params = types.ReferenceParams(context=context, **at(author, structure, 'Component name="System1"', 17))
    found = await author.client.text_document_references_async(params) or ()
    assert len(found) == text.count('Element="System1"') + 1
    lines = {line_of(author, one)[1] for one in found}
    assert any(one.startswith('<ssd:Component name="System1"') for one in lines)
    assert sum(one.startswith("<ssd:Connection ") for one in lines) == text.count('Element="System1"')


async def test_the_outline_has_systems_components_connectors_and_connections(author: Author, oscillator: Path):
    structure = oscillator / "SystemStructure.ssd"
    author.open(structure)
    document = types.TextDocumentIdentifier(uri_of(structure))
    found = await author.client.text_document_document_symbol_async(types.DocumentSymbolParams(document))
    system = (found or ())[0]
    assert isinstance(system, types.DocumentSymbol)
    below = {one.name: one for one in system.children or ()}
    assert {"System1", "System2", "System1.x1 – System2.x1"} <= below.keys()
    assert [(one.name, one.detail) for one in below["System1"].children or ()][:2] == [
        ("F", "input Real N"),
        ("x1", "output Real m"),
    ]
    author.type(structure, "<ssd:Connections>", "<ssd:Half")
    again = await author.client.text_document_document_symbol_async(types.DocumentSymbolParams(document))
    assert again == found
    author.type(structure, "<ssd:Half", "<ssd:Connections>")
    folds = await author.client.text_document_folding_range_async(types.FoldingRangeParams(document)) or ()
    lines = author.texts[structure].split("\n")
    assert {lines[one.start_line].strip().split()[0] for one in folds} >= {
        "<ssd:System",
        "<ssd:Elements>",
        "<ssd:Component",
    }


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of documents by other tools is not here")
async def test_names_in_documents_of_other_tools_lead_to_what_has_the_name(author: Author, tmp_path: Path):
    """Every end of every connection leads to an element of that name, in all systems that other tools wrote."""
    shutil.copytree(CORPUS, tmp_path / "corpus")
    tried = 0
    for structure in sorted((tmp_path / "corpus").rglob("*.ssd")):
        text = author.open(structure)
        name = text.partition('startElement="')[2].partition('"')[0]
        if not name:
            continue
        for _, line in await targets(author, structure, f'startElement="{name}"', 14):
            assert f'name="{name}"' in line or line.startswith("<ssd:")
            tried += 1
    assert tried >= 8
