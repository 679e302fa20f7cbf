"""While one types, what fits is offered: from the schemas, from the documents, and from inside FMUs; names are renamed
everywhere.
"""

import re
from pathlib import Path

import pytest
from lsprotocol import types
from lxml import etree
from pygls.exceptions import JsonRpcException

import ssptool
from ssptool.documents.unfinished import element_kinds, typing_place
from ssptool.language_server.meanings import ATTRIBUTES, LISTS, SINCE_2_0, meaning
from ssptool.language_server.places import uri_of
from tests.language_server.conftest import Author, begin

pytestmark = pytest.mark.asyncio(loop_scope="module")

LAST = '<ssd:Connection startElement="System2" startConnector="F" endElement="System1" endConnector="F"/>'


async def offered(author: Author, path: Path, typed: str) -> dict[str, types.CompletionItem]:
    """What is offered behind a part of the text that was just typed, by label."""
    at = begin(author.texts[path], typed, len(typed)).start
    params = types.CompletionParams(types.TextDocumentIdentifier(uri_of(path)), at)
    found = await author.client.text_document_completion_async(params)
    assert isinstance(found, list)
    return {one.label: one for one in found}


@pytest.mark.parametrize(
    ("typed", "some", "none"),
    [
        ("<", {"ssd:Connection"}, {"ssd:Component"}),
        ("<ssd:Connection ", {"startElement", "endConnector", "suppressUnitConversion"}, {"name"}),
        ('<ssd:Connection startElement="', {"System1", "System2"}, {"x1", ""}),
        ('<ssd:Connection startElement="System2" startConnector="', {"F", "x1", "v1", "a1"}, {"System1"}),
        (
            '<ssd:Connection endElement="System1" endConnector="F" startElement="System2" startConnector="',
            {"F"},
            {"x1", "a1"},
        ),
        ('<ssd:Connection startElement="System2" suppressUnitConversion="', {"true", "false"}, {"F"}),
    ],
)
async def test_what_is_half_typed_is_completed(author: Author, oscillator: Path, typed: str, some: set, none: set):
    structure = oscillator / "SystemStructure.ssd"
    author.open(structure)
    author.type(structure, LAST, f"{LAST}\n      <!-- here -->{typed}")
    found = await offered(author, structure, f"<!-- here -->{typed}")
    assert some <= found.keys()
    assert not none & found.keys()


async def test_what_is_offered_follows_changes_elsewhere(author: Author, oscillator: Path):
    structure, tag = oscillator / "SystemStructure.ssd", '<!-- here --><ssd:Connection startElement="'
    author.open(structure)
    author.type(structure, LAST, f"{LAST}{tag}")
    assert {"System1", "System2"} <= (await offered(author, structure, tag)).keys()
    author.type(structure, tag, f"{tag}S")  # a document kept from before serves again
    assert {"System1", "System2"} <= (await offered(author, structure, f"{tag}S")).keys()
    author.type(structure, '<ssd:Component name="System1"', '<ssd:Component name="Mass"')
    found = await offered(author, structure, f"{tag}S")
    assert "Mass" in found
    assert "System1" not in found


async def test_variables_come_from_inside_the_fmu_and_units_from_document_and_fmus(author: Author, oscillator: Path):
    structure = oscillator / "SystemStructure.ssd"
    author.open(structure)
    author.type(structure, "<ssd:Connectors>", '<ssd:Connectors><ssd:Connector kind="parameter" name="')
    found = await offered(author, structure, 'kind="parameter" name="')
    assert "k1" in found
    assert "x1" not in found  # it has a connector
    assert found["k1"].detail == "parameter Float64 N/m"
    author.type(structure, 'kind="parameter" name="', 'kind="parameter" name="k1"><ssc:Real unit="')
    units = await offered(author, structure, 'name="k1"><ssc:Real unit="')
    assert units["m/s2"].detail is None
    assert units["N/m"].detail == "of an FMU; not defined in this document"


async def test_editors_list_units_in_the_order_of_the_document_and_those_of_fmus_after_them(
    author: Author, oscillator: Path
):
    """An editor sorts by what an item says, and by its label where that is equal or missing."""
    structure = oscillator / "SystemStructure.ssd"
    own = [f"u{number}" for number in range(120, 0, -1)]  # neither ascending nor as many as have equally many digits
    author.open(structure)
    added = "".join(f'<ssc:Unit name="{name}"><ssc:BaseUnit s="1"/></ssc:Unit>' for name in own)
    author.type(structure, "<ssd:Units>", f"<ssd:Units>{added}")
    author.type(
        structure, "<ssd:Connectors>", '<ssd:Connectors><ssd:Connector kind="parameter" name="k1"><ssc:Real unit="'
    )
    found = await offered(author, structure, 'name="k1"><ssc:Real unit="')
    listed = sorted(found.values(), key=lambda item: (item.sort_text or item.label, item.label))
    assert [item.label for item in listed[: len(own)]] == own
    of_fmus = [item.detail is not None for item in listed]
    assert any(of_fmus) and of_fmus == sorted(of_fmus)


async def test_kinds_and_their_documentation_are_those_of_the_schema(author: Author, oscillator: Path):
    structure = oscillator / "SystemStructure.ssd"
    author.open(structure)
    author.type(structure, '<ssd:Connector name="F" kind="input"', '<ssd:Connector name="F" kind="')
    assert {"input", "output", "inout", "parameter"} <= (await offered(author, structure, 'name="F" kind="')).keys()
    author.type(structure, 'kind="', 'kind="input" ')
    found = await offered(author, structure, 'kind="input" ')
    assert "description" in found
    documentation = found["description"].documentation
    assert isinstance(documentation, types.MarkupContent)
    assert "a text" in documentation.value


async def test_a_parameter_set_is_offered_what_it_can_set_where_it_is_bound(author: Author, oscillator: Path):
    values = oscillator / "resources/dual_mass_oscillator.ssv"
    author.open(values)
    author.type(values, "<ssv:Parameters>", '<ssv:Parameters><ssv:Parameter name="System2.')
    found = await offered(author, values, '<ssv:Parameters><ssv:Parameter name="System2.')
    assert {"System1.k1", "System2.k3"} <= found.keys()
    edit = found["System2.k3"].text_edit
    assert isinstance(edit, types.TextEdit)
    assert edit.range.end.character - edit.range.start.character == len("System2.")


async def test_a_component_is_renamed_with_all_that_refers_to_it_as_the_command_does(author: Author, oscillator: Path):
    structure, values = oscillator / "SystemStructure.ssd", oscillator / "resources/dual_mass_oscillator.ssv"
    author.open(structure)
    author.open(values)
    at = begin(author.texts[structure], 'endElement="System2"', 14).start
    document = types.TextDocumentIdentifier(uri_of(structure))
    place = await author.client.text_document_prepare_rename_async(types.PrepareRenameParams(document, at))
    assert isinstance(place, types.Range)
    edit = await author.client.text_document_rename_async(types.RenameParams(document, at, "Second"))
    assert edit is not None
    author.take(edit)
    with ssptool.edit(oscillator) as editor:
        editor.rename("System2", "Second")
    assert author.texts[structure] == structure.read_text()
    assert author.texts[values] == values.read_text()
    assert "Second.k3" in author.texts[values]


async def test_a_renaming_that_is_not_made_leaves_no_trace_in_the_next_one(author: Author, oscillator: Path):
    """Also the name that the file on disk has is an edit of the text in the editor."""
    structure, values = oscillator / "SystemStructure.ssd", oscillator / "resources/dual_mass_oscillator.ssv"
    before = {path: author.open(path) for path in (structure, values)}
    document = types.TextDocumentIdentifier(uri_of(structure))

    async def renamed(part: str, new: str) -> types.WorkspaceEdit:
        at = begin(author.texts[structure], part, 14).start
        edit = await author.client.text_document_rename_async(types.RenameParams(document, at, new))
        assert edit is not None
        return edit

    await renamed('endElement="System2"', "Dropped")
    author.take(await renamed('endElement="System2"', "Zweitgrößtes"))
    assert "Dropped" not in author.texts[structure] + author.texts[values]
    for path in (structure, values):
        assert author.texts[path] == re.sub('"System2(?!.fmu)', '"Zweitgrößtes', before[path])
        change = types.TextDocumentContentChangeWholeDocument(author.texts[path])
        version = types.VersionedTextDocumentIdentifier(author.next_version(), uri_of(path))
        author.client.text_document_did_change(types.DidChangeTextDocumentParams(version, [change]))
    author.take(await renamed('endElement="Zweitgrößtes"', "System2"))
    assert {path: author.texts[path] for path in before} == before


async def test_a_name_that_is_taken_is_refused_with_the_words_of_the_command(author: Author, oscillator: Path):
    structure = oscillator / "SystemStructure.ssd"
    author.open(structure)
    at = begin(author.texts[structure], 'endElement="System2"', 14).start
    params = types.RenameParams(types.TextDocumentIdentifier(uri_of(structure)), at, "System1")
    with pytest.raises(JsonRpcException, match="System1"):
        await author.client.text_document_rename_async(params)


@pytest.mark.parametrize("ending", ["ssd", "ssv", "ssm", "ssb"])
async def test_an_empty_document_is_offered_its_root(author: Author, tmp_path: Path, ending: str):
    path = tmp_path / f"new.{ending}"
    author.open(path, '<?xml version="1.0" encoding="UTF-8"?>\n<s')
    (root,) = (await offered(author, path, "\n<s")).values()
    assert isinstance(root.text_edit, types.TextEdit)
    place = root.text_edit.range
    assert (place.start, place.end) == (types.Position(1, 0), types.Position(1, 2))
    text = root.text_edit.new_text.replace(
        "  $0\n", '<ssv:Parameter name="k"><ssv:Real value="1"/></ssv:Parameter>' * (ending == "ssv")
    )
    path.write_text(re.sub(r"\$\d", "a", text))
    assert not ssptool.validate(path).errors


async def test_all_that_the_schemas_have_is_known_with_its_meaning():
    schemas = [etree.parse(str(one)) for one in Path("schemas").rglob("*.xsd")]
    declared = {kind: {one.get("name") for schema in schemas for one in schema.iter(XS + kind)} for kind in XS_KINDS}
    kinds = {kind.local_name: kind for kind in element_kinds().values()}
    assert declared["element"] - {None} == {*kinds, *LISTS}
    for name, kind in kinds.items():
        assert kind.__doc__, name
        assert all(meaning(name, one.name) for one in kind.attributes().values()), name
    known = {one.name for kind in element_kinds().values() for one in kind.attributes().values()}
    assert declared["attribute"] - {None} <= known
    assert {key.split(" ")[-1] for key in ATTRIBUTES} == known
    old = {
        one.get("name") for path in Path("schemas/ssp-1.0").glob("*.xsd") for one in etree.parse(str(path)).iter("*")
    }
    assert {*kinds, *known} - old == SINCE_2_0


XS, XS_KINDS = "{http://www.w3.org/2001/XMLSchema}", ("element", "attribute")


async def test_every_prefix_of_a_document_has_a_place():
    """No text that is being typed is too broken, and the elements around a place are those that are open there."""
    text = '<a x="1>2"><!-- <b> --><b y=\'<\'/><c><![CDATA[<d>]]></c><e f="g'
    for offset in range(len(text) + 1):
        typing_place(text, offset)
    place = typing_place(text, len(text))
    assert ([tag.name for tag in place.around], place.attribute, place.typed) == (["a"], "f", "g")


async def test_an_error_that_names_an_element_does_not_keep_its_name(author: Author, oscillator: Path):
    structure = oscillator / "SystemStructure.ssd"
    author.open(structure)
    author.type(structure, 'startElement="System2" startConnector="F"', 'startElement="System2" startConnector="Fz"')
    document, at = (
        types.TextDocumentIdentifier(uri_of(structure)),
        begin(author.texts[structure], 'name="System2', 8).start,
    )
    edit = await author.client.text_document_rename_async(types.RenameParams(document, at, "Second"))
    assert isinstance(edit, types.WorkspaceEdit)
    author.take(edit)
    assert 'startElement="Second" startConnector="Fz"' in author.texts[structure]


async def test_a_part_of_the_name_of_a_parameter_renames_what_it_means(author: Author, oscillator: Path):
    structure, values = oscillator / "SystemStructure.ssd", oscillator / "resources" / "dual_mass_oscillator.ssv"
    text = author.open(structure)
    author.open(values)
    author.type(structure, "<ssd:Elements>", f"<ssd:Elements>{BOX}")
    author.type(values, "<ssv:Parameters>", f"<ssv:Parameters>{SIZE}")
    document = types.TextDocumentIdentifier(uri_of(values))
    at = begin(author.texts[values], "Box.size", 5).start
    place = await author.client.text_document_prepare_rename_async(types.PrepareRenameParams(document, at))
    assert place == types.Range(
        begin(author.texts[values], "Box.size", 4).start, begin(author.texts[values], "Box.size", 8).end
    )
    edit = await author.client.text_document_rename_async(types.RenameParams(document, at, "length"))
    assert edit is not None
    assert author.take(edit) == ["length", "length"]
    assert author.texts[structure] == text.replace("<ssd:Elements>", f"<ssd:Elements>{BOX.replace('size', 'length')}")
    assert SIZE.replace("size", "length") in author.texts[values]
    at = begin(author.texts[values], "Box.length", 1).start
    edit = await author.client.text_document_rename_async(types.RenameParams(document, at, "Case"))
    assert edit is not None
    assert author.take(edit) == ["Case", "Case"]


async def test_a_parameter_that_sets_nothing_is_renamed_alone_and_with_a_prefix_in_mappings(
    author: Author, oscillator: Path
):
    structure, values = oscillator / "SystemStructure.ssd", oscillator / "resources" / "dual_mass_oscillator.ssv"
    author.open(structure)
    author.open(values)
    author.type(values, "<ssv:Parameters>", f"<ssv:Parameters>{SIZE}")
    document = types.TextDocumentIdentifier(uri_of(values))
    at = begin(author.texts[values], "Box.size", 1).start
    edit = await author.client.text_document_rename_async(types.RenameParams(document, at, "size"))
    assert edit is not None
    assert author.take(edit) == ["size"]
    author.texts[values] = author.texts[values].replace('"size"', '"Box.size"')
    author.type(values, "Box.size", "size")
    author.type(
        structure,
        BOUND,
        f'{BOUND[:-2]} prefix="p."><ssd:ParameterMapping>{INLINE}</ssd:ParameterMapping></ssd:ParameterBinding>',
    )
    at = begin(author.texts[values], '"size"', 2).start
    edit = await author.client.text_document_rename_async(types.RenameParams(document, at, "mass"))
    assert edit is not None
    assert sorted(author.take(edit)) == ["mass", "p.mass"]


BOX = (
    '<ssd:System name="Box"><ssd:Connectors><ssd:Connector name="size" kind="parameter"><ssc:Real/></ssd:Connector>'
    "</ssd:Connectors></ssd:System>"
)
SIZE = '<ssv:Parameter name="Box.size"><ssv:Real value="1"/></ssv:Parameter>'
BOUND = '<ssd:ParameterBinding source="resources/dual_mass_oscillator.ssv"/>'
INLINE = (
    '<ssm:ParameterMapping version="1.0" xmlns:ssm="http://ssp-standard.org/SSP1/SystemStructureParameterMapping">'
    '<ssm:MappingEntry source="p.size" target="System1.m1"/></ssm:ParameterMapping>'
)


async def test_a_parameter_is_renamed_with_the_mapping_that_names_it_but_not_where_it_is_a_name_itself(
    author: Author, oscillator: Path
):
    structure, values = oscillator / "SystemStructure.ssd", oscillator / "resources" / "dual_mass_oscillator.ssv"
    text = author.open(values)
    document, at = types.TextDocumentIdentifier(uri_of(values)), begin(text, "System1.m1", 9).start
    with pytest.raises(Exception, match="'m1' is a variable of the FMU of 'System1'"):
        await author.client.text_document_rename_async(types.RenameParams(document, at, "mass"))
    mapping = oscillator / "resources" / "names.ssm"
    mapping.write_text(
        '<ssm:ParameterMapping version="1.0"\n'
        '    xmlns:ssm="http://ssp-standard.org/SSP1/SystemStructureParameterMapping">\n'
        '<ssm:MappingEntry source="System1.m1" target="System1.m1"/>\n</ssm:ParameterMapping>\n',
        encoding="utf-8",
    )
    bound = '<ssd:ParameterBinding source="resources/dual_mass_oscillator.ssv"/>'
    renaming = f'{bound[:-2]}><ssd:ParameterMapping source="resources/names.ssm"/></ssd:ParameterBinding>'
    author.open(structure)
    author.type(structure, bound, renaming)
    edit = await author.client.text_document_rename_async(types.RenameParams(document, at, "a & b"))
    assert edit is not None
    assert author.take(edit) == ["a &amp; b", "a &amp; b"]
    assert 'source="a &amp; b" target="System1.m1"' in author.texts[mapping]
    assert '<ssv:Parameter name="a &amp; b"' in author.texts[values]
    with pytest.raises(Exception, match="already"):
        await author.client.text_document_rename_async(types.RenameParams(document, at, "System1.k1"))
