"""Between SSP 1.0 and 2.0: nothing is lost without a word, and what a downgrade keeps aside comes back."""

import random
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

import ssptool
from ssptool.documents.archive import Archive
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.document import Document
from ssptool.documents.schema import schema_findings
from ssptool.editing import originals
from ssptool.editing.changes import Loss, RefusedEdit
from ssptool.editing.downgrade import COVERED, IN_1_0, NOTHING_TO_DO, STEPS
from ssptool.editing.versions import Version, migrate_lone, upgrade_package
from ssptool.network.legality import LEGAL, Owner
from tests.documents.schema_corpus import FORMATS, Author
from tests.network.packages import NAMESPACES, component, content, model, package, ssd, ssv

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"
MODEL = model('input u Real start="0"; output y Real; parameter k Real start="1"')

seeds = st.integers(0, 2**32 - 1)
formats = st.sampled_from(FORMATS)


MODEL_OF_FMI3 = (
    '<fmiModelDescription fmiVersion="3.0" modelName="M" instantiationToken="t"><CoSimulation modelIdentifier="M"/>'
    '<ModelVariables><Float64 name="time" valueReference="0" causality="independent" variability="continuous"/>'
    "</ModelVariables><ModelStructure/></fmiModelDescription>"
)


def generated(version: str, format: str, seed: int) -> Document:
    """A valid document of the corpus' grammar."""
    root = Author(version, random.Random(seed)).document(format)
    return Document(f"x.{format}", etree.tostring(root, xml_declaration=True, encoding="UTF-8"))


def down(document: Document, drop: bool = True):
    return migrate_lone(document, Version.V1_0, drop=drop)


def up(document: Document):
    return migrate_lone(document, Version.V2_0)


def again(document: Document) -> Document:
    return Document(document.name, document.to_bytes())


def meaning(content: bytes) -> bytes:
    """Canonical XML without white space between elements, of which the lossless rewordings are undone."""
    root = etree.fromstring(content, etree.XMLParser(remove_blank_text=True))
    for element in list(root.iter("*")):  # the loop removes some
        space, _, local = element.tag.rpartition("}")
        if space.startswith("{http://ssp-standard.org"):
            element.tag = f"{space}}}" + {"Float64": "Real", "Int32": "Integer"}.get(local, local)
        if local in ("String", "Enumeration", "Binary") and "value" not in element.attrib and len(element) == 1:
            only = element[0]
            if only.tag.endswith("ParameterValues}Value"):
                element.set("value", only.get("value"))
                element.remove(only)
        if local == "Component" and element.get("source", "x").strip() == "":
            del element.attrib["source"]
    return etree.tostring(root, method="c14n")


# --- Over documents of every kind ---


@given(formats, seeds)
def test_what_a_downgrade_drops_or_weakens_comes_back(format, seed):
    document = generated("2.0", format, seed)
    original = document.source
    down(document)
    assert schema_findings(again(document).root, "1.0") == []
    restored = again(document)
    assert all(change.loss is Loss.NOTHING for change in up(restored).changes)
    assert meaning(restored.to_bytes()) == meaning(original)


@given(formats, seeds)
def test_a_1_0_document_comes_back_byte_for_byte(format, seed):
    document = generated("1.0", format, seed)
    # Component sources that are empty, which 2.0 does not allow, are the one thing that an upgrade changes.
    told = up(document).changes
    assert schema_findings(again(document).root, "2.0") == []
    lowered = again(document)
    if not told:
        assert down(lowered, drop=False).changes == ()
        assert lowered.to_bytes() == document.source


@given(formats, seeds)
def test_a_document_of_the_version_stays_as_it_is(format, seed):
    for version, migrate in (("1.0", down), ("2.0", up)):
        document = generated(version, format, seed)
        # Inline documents have a version of their own; the corpus gives them that of the document.
        assert migrate(document).files == ()


@given(formats, seeds)
def test_a_downgrade_without_losses_is_never_refused_and_else_names_all(format, seed):
    dropped = [c for c in down(generated("2.0", format, seed)).changes if c.loss is Loss.DROPPED]
    if not dropped:
        down(generated("2.0", format, seed), drop=False)
        return
    with pytest.raises(RefusedEdit) as refusal:
        down(generated("2.0", format, seed), drop=False)
    assert len(refusal.value.reasons) == len(dropped)
    assert all(one.position.file and one.position.line for one in refusal.value.reasons)


# --- The table ---


def test_every_difference_has_a_step_or_a_reason_for_none():
    assert COVERED | NOTHING_TO_DO.keys() == {f"DIFF-{number:02}" for number in range(1, 31)}
    assert COVERED.isdisjoint(NOTHING_TO_DO)
    assert {code for code, _ in STEPS} <= COVERED


def structure(interface: str, extra: str = "", elements: str = "", wires: str = "", version: str = "2.0") -> Document:
    text = ssd(f"{interface}<ssd:Elements>{elements}</ssd:Elements>{wires}{extra}", version)
    return Document("SystemStructure.ssd", text.encode())


def placed(*inside: str, attributes: str = 'kind="input"') -> Document:
    """A component with one connector."""
    connector = f'<ssd:Connector name="u" {attributes}>{"".join(inside)}</ssd:Connector>'
    return structure(
        "",
        elements=f'<ssd:Component name="A" source="a.fmu"><ssd:Connectors>{connector}</ssd:Connectors></ssd:Component>',
    )


def parameter(inside: str) -> Document:
    text = (
        f'<ssv:ParameterSet {NAMESPACES} version="2.0" name="s"><ssv:Parameters>\n'
        f'<ssv:Parameter name="p">{inside}</ssv:Parameter>\n</ssv:Parameters></ssv:ParameterSet>'
    )
    return Document("p.ssv", text.encode())


def entry(inside: str) -> Document:
    space = 'xmlns:ssb="http://ssp-standard.org/SSP1/SystemStructureSignalDictionary"'
    text = (
        f'<ssb:SignalDictionary {NAMESPACES} {space} version="2.0">'
        f'<ssb:DictionaryEntry name="e">{inside}</ssb:DictionaryEntry></ssb:SignalDictionary>'
    )
    return Document("d.ssb", text.encode())


WEAKENED = [
    ("DIFF-03", placed("<ssc:Float32/>"), "<ssc:Real/>"),
    ("DIFF-03", placed("<ssc:UInt16/>"), "<ssc:Integer/>"),
    ("DIFF-03", placed("<ssc:UInt64/>"), 'kind="input">'),
    ("DIFF-04", parameter('<ssv:UInt32 value="7"/>'), '<ssv:Integer value="7"/>'),
    ("DIFF-04", parameter('<ssv:Float32 value="0.5"/>'), '<ssv:Real value="0.5"/>'),
    ("DIFF-05", parameter('<ssv:Real value="1"/><ssc:Dimension size="1"/>'), '<ssv:Real value="1"/>'),
    ("DIFF-07", placed("<ssc:Real/>", '<ssd:Clock name="c"/>'), "<ssc:Real/>"),
    ("DIFF-08", placed("<ssc:Integer/>", attributes='kind="structuralParameter"'), 'kind="parameter"'),
    ("DIFF-09", placed("<ssc:Real/>", attributes='kind="constant"'), 'kind="calculatedParameter"'),
    ("DIFF-10", placed("<ssc:Real/>", attributes='kind="local"'), '<ssd:Component name="A" source="a.fmu">'),
    ("DIFF-13", structure("", elements='<ssd:Component name="A"/>'), '<ssd:System name="A">'),
    (
        "DIFF-14",
        structure("", elements='<ssd:Component name="A" source="a.fmu" implementation="ScheduledExecution"/>'),
        '<ssd:Component name="A" source="a.fmu">',
    ),
    (
        "DIFF-15",
        structure("", elements='<ssd:Component name="A" type="text/x-modelica; path=M" source="a.mo"/>'),
        'type="text/x-modelica; path=M"',
    ),
    (
        "DIFF-16",
        structure('<ssc:MetaData kind="general" type="a/b" source="m.txt"/>', elements='<ssd:System name="S"/>'),
        "&lt;ssc:MetaData",
    ),
    (
        "DIFF-17",
        structure(
            "",
            '<ssd:Annotations><ssc:Annotation type="org.example">words</ssc:Annotation></ssd:Annotations>',
            '<ssd:System name="S"/>',
        ),
        ":content xmlns:kept=",
    ),
    (
        "DIFF-18",
        placed('<ssd:ConnectorGeometry x="0" y="1" systemInnerX="0.5"/>'),
        '<ssd:ConnectorGeometry x="0" y="1"/>',
    ),
]


@pytest.mark.parametrize(
    ("code", "document", "expected"), WEAKENED, ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_1_0_holds_in_part_is_named_and_comes_back(code, document, expected):
    document = again(document)
    migration = down(document, drop=False)
    assert [(change.code, change.loss) for change in migration.changes] == [(code, Loss.WEAKENED)]
    assert expected in document.to_bytes().decode()
    restored = again(document)
    up(restored)
    assert meaning(restored.to_bytes()) == meaning(document.source)


MAPPING = (
    '<ssd:Connections><ssd:Connection startElement="A" startConnector="y" endElement="B" endConnector="u">'
    '<ssc:IntegerMappingTransformation><ssc:MapEntry source="{}" target="{}"/></ssc:IntegerMappingTransformation>'
    "</ssd:Connection></ssd:Connections>"
)
PAIR = component("A", "a", "output y {0}") + component("B", "b", "input u {0}")
DROPPED = [
    ("DIFF-03", entry("<ssc:UInt32/>"), "'e'"),
    ("DIFF-04", parameter('<ssv:Int64 value="2147483648"/>'), "2147483648"),
    ("DIFF-05", placed("<ssc:Real/>", '<ssc:Dimension size="3"/>'), "array"),
    ("DIFF-05", placed("<ssc:Real/>", "<ssc:Dimension/>"), "array"),
    ("DIFF-05", parameter('<ssv:Real value="1 2"/><ssc:Dimension size="2"/>'), "array"),
    ("DIFF-05", parameter('<ssv:Real value=""/>'), "without a value"),
    ("DIFF-07", placed("<ssc:Clock/>"), "clock"),
    ("DIFF-07", entry("<ssc:Clock/>"), "clock"),
    ("DIFF-11", placed("<ssc:Real/>", attributes='kind="unspecified"'), "unspecified"),
    ("DIFF-21", structure("", "", PAIR.format("Int64"), MAPPING.format(2**40, 1)), str(2**40)),
    ("DIFF-21", structure("", "", PAIR.format("Integer"), MAPPING.format(1, 2**40)), str(2**40)),
    ("DIFF-28", parameter("<ssv:String/>"), "no value"),
    ("DIFF-28", parameter('<ssv:String><ssv:Value value="a"/><ssv:Value value="b"/></ssv:String>'), "2 values"),
]


@pytest.mark.parametrize(
    ("code", "document", "hint"), DROPPED, ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_1_0_cannot_hold_is_refused_by_name_or_dropped_and_kept(code, document, hint):
    with pytest.raises(RefusedEdit, match="--drop") as refusal:
        down(again(document), drop=False)
    assert [one.code for one in refusal.value.reasons] == [code]
    assert hint in str(refusal.value)
    document = again(document)
    down(document)
    assert originals.TYPE in document.to_bytes().decode()
    restored = again(document)
    up(restored)
    assert meaning(restored.to_bytes()) == meaning(document.source)


def test_wide_enumeration_items_are_refused():
    item = '<ssc:Enumeration name="E"><ssc:Item name="a" value="2147483648"/></ssc:Enumeration>'
    document = Document("x.ssd", ssd("", extra=f"<ssd:Enumerations>{item}</ssd:Enumerations>").encode())
    with pytest.raises(RefusedEdit, match="is 2147483648, which needs more than 32 bits"):
        down(document, drop=False)


def test_a_mapping_of_values_that_its_type_cannot_have_goes_without_a_word():
    document = structure("", "", PAIR.format("Integer"), MAPPING.format(2**40, 1))
    assert down(document, drop=False).changes == ()
    assert "<ssc:MapEntry" not in document.to_bytes().decode()


def test_a_single_value_becomes_an_attribute():
    document = parameter('<ssv:String><ssv:Value value="a &lt; b"/></ssv:String>')
    assert down(document, drop=False).changes == ()
    assert '<ssv:String value="a &lt; b"' in document.to_bytes().decode()


def test_all_refusals_come_at_once_with_file_and_line():
    elements = "".join(
        f'\n<ssd:Component name="{name}" source="a.fmu"><ssd:Connectors><ssd:Connector name="c" kind="input">'
        "<ssc:Clock/></ssd:Connector></ssd:Connectors></ssd:Component>"
        for name in "AB"
    )
    with pytest.raises(RefusedEdit) as refusal:
        down(structure("", elements=elements), drop=False)
    assert [str(one.position) for one in refusal.value.reasons] == ["SystemStructure.ssd:3", "SystemStructure.ssd:4"]


def test_a_dropped_connector_takes_its_connections_along_and_all_come_back():
    elements = component("A", "a", "output y Clock") + component("B", "b", "input u Clock, input v Real")
    wires = (
        '<ssd:Connections><ssd:Connection startElement="B" startConnector="u" endElement="A" endConnector="y"/>'
        "</ssd:Connections>"
    )
    document = structure("", "", elements, wires)
    codes = [change.code for change in down(document).changes]
    assert codes == ["DIFF-07"] * 3
    assert "<ssd:Connection " not in document.to_bytes().decode()
    restored = again(document)
    up(restored)
    assert meaning(restored.to_bytes()) == meaning(document.source)


def test_element_wise_connections_are_refused():
    elements = component("A", "a", "output y Real") + component("B", "b", "input u Real")
    wires = (
        '<ssd:Connections><ssd:Connection startElement="A" startConnector="y" endElement="B" endConnector="u"'
        ' startIndices="1"/></ssd:Connections>'
    )
    with pytest.raises(RefusedEdit) as refused:
        down(structure("", "", elements, wires), drop=False)
    assert [one.code for one in refused.value.reasons] == ["DIFF-06"]


@pytest.mark.parametrize("row", sorted(LEGAL, key=str), ids=str)
def test_every_legal_pair_of_2_0_is_legal_in_1_0_or_refused(row):
    """Over the whole table of allowed connections: kinds of 1.0 stand for those of 2.0, and the pair stays legal."""
    source_kind, destination_kind = row.source_kind, row.destination_kind
    own = ", ".join(
        f"{kind} {name}"
        for owner, kind, name in ((row.source_owner, source_kind, "s"), (row.destination_owner, destination_kind, "d"))
        if owner is Owner.SYSTEM
    )
    elements = [
        component(name.upper(), "a", f"{kind} {name}")
        for owner, kind, name in ((row.source_owner, source_kind, "s"), (row.destination_owner, destination_kind, "d"))
        if owner is Owner.ELEMENT
    ] or ['<ssd:System name="Z"/>']
    start = "S.s" if row.source_owner is Owner.ELEMENT else "s"
    end = "D.d" if row.destination_owner is Owner.ELEMENT else "d"
    document = Document("x.ssd", ssd(content(own, elements, [f"{start} -> {end}"])).encode())
    try:
        down(document, drop=False)
    except RefusedEdit as refusal:
        assert [one.code for one in refusal.reasons] == ["DIFF-12"]
        assert (source_kind, destination_kind) == ("constant", "structuralParameter")
        return
    kinds = {(IN_1_0.get(source_kind, source_kind), IN_1_0.get(destination_kind, destination_kind))}
    now = {
        (r.source_kind, r.destination_kind)
        for r in LEGAL
        if r.since == "1.0" and (r.source_owner, r.destination_owner) == (row.source_owner, row.destination_owner)
    }
    assert kinds <= now


# --- Upwards ---


def test_a_pre_release_version_becomes_2_0():
    document = Document("x.ssv", ssv("k Real value='1'").replace('version="2.0"', 'version="1.0-beta"').encode())
    migration = up(document)
    assert [change.code for change in migration.changes] == ["DIFF-02"]
    assert document.root.get("version") == "2.0"


@pytest.mark.parametrize("version", ["2.0.1", "3.0", "", "Draft"])
@pytest.mark.parametrize("migrate", [up, down])
def test_other_versions_are_refused(version, migrate):
    document = Document("x.ssv", ssv("k Real value='1'").replace('version="2.0"', f'version="{version}"').encode())
    with pytest.raises(InvalidDocument, match="SSP knows the versions"):
        migrate(document)


def test_an_invalid_document_is_not_converted_but_said_to_be_invalid():
    document = Document("x.ssv", ssv("k Float64 value='1'").replace('version="2.0"', 'version="1.0"').encode())
    with pytest.raises(InvalidDocument, match=r"x.ssv:\d.*Float64"):
        up(document)


def test_a_file_that_is_no_ssp_document_is_refused():
    with pytest.raises(InvalidDocument, match="not an SSP document"):
        up(Document("x.ssv", b"<a version='1.0'/>"))


def test_an_empty_source_goes_because_2_0_forbids_it():
    document = structure("", elements='<ssd:Component name="A" source=""/>', version="1.0")
    assert [change.code for change in up(document).changes] == ["DIFF-13"]
    assert "source" not in document.to_bytes().decode().split("Component ")[1].split("/>")[0]


def test_variants_that_share_a_name_get_the_names_of_their_files(tmp_path):
    archive = package(tmp_path / "p", ssd("", "1.0"), {}, {"B.ssd": ssd("", "1.0"), "C.ssd": ssd("", "1.0")})
    migration = upgrade_package(archive)
    assert [variant.root.get("name") for variant in archive.variants()] == ["test", "test (B)", "test (C)"]
    assert [change.code for change in migration.changes] == ["DIFF-20", "DIFF-20"]


def test_an_edited_downgrade_keeps_the_edit_and_says_that_the_original_stays_aside():
    document = placed("<ssc:Real/>", attributes='kind="structuralParameter"')
    down(document)
    text = document.to_bytes().decode().replace('kind="parameter"', 'kind="input"')
    edited = Document("x.ssd", text.encode())
    changes = up(edited).changes
    assert [change.loss for change in changes] == [Loss.WEAKENED]
    assert "edited since" in changes[0].message
    assert 'kind="input"' in edited.to_bytes().decode()


@pytest.mark.parametrize(
    "note",
    [
        "<k:removed index='0'>no element</k:removed>",
        "<k:removed index='0'>&lt;a></k:removed>",
        "<k:removed index='x'>&lt;a/></k:removed>",
        "<k:element at='ssc:Real' was='Float32'/>",
        "<k:element at='x:Real' was='ssc:Float32'/>",
        "<k:unknown/>",
    ],
)
def test_a_note_that_cannot_be_read_is_told_and_stays(note):
    content = f"<k:kept xmlns:k='{originals.NAMESPACE}'>{note}</k:kept>"
    annotation = f"<ssc:Annotation type='{originals.TYPE}'>{content}</ssc:Annotation>"
    document = structure(
        "", f"<ssd:Annotations>{annotation}</ssd:Annotations>", '<ssd:System name="S"/>', version="1.0"
    )
    assert [change.loss for change in up(document).changes] == [Loss.WEAKENED]
    assert annotation in document.to_bytes().decode()


def test_annotations_of_others_are_not_looked_into():
    foreign = "<x><ssd:Connector kind='unspecified'/><ssc:Float32/></x>"
    annotations = f"<ssd:Annotations><ssc:Annotation type='org.example'>{foreign}</ssc:Annotation></ssd:Annotations>"
    document = structure("", annotations, '<ssd:System name="S"/>')
    assert down(document, drop=False).changes == ()
    assert foreign in document.to_bytes().decode()


def test_inline_documents_change_with_their_ssd():
    inline = "<ssd:ParameterValues>" + ssv("k Float32 value='1'") + "</ssd:ParameterValues>"
    bound = f"<ssd:ParameterBindings><ssd:ParameterBinding>{inline}</ssd:ParameterBinding></ssd:ParameterBindings>"
    document = structure(bound, elements='<ssd:System name="S"/>')
    assert [change.code for change in down(document, drop=False).changes] == ["DIFF-04"]
    text = document.to_bytes().decode()
    assert text.count('version="1.0"') == 2
    assert "<ssv:Real" in text


# --- Whole packages, on disk ---


def test_a_package_goes_down_and_up_again_and_only_versions_and_lossless_words_differ(tmp_path):
    folder = Path(shutil.copytree(SYSTEM, tmp_path / "p"))
    migration = ssptool.downgrade(folder)
    assert {file.name for file in migration.files} == {"FMI3.ssd", "Mixed.ssd"}
    assert {change.code for change in migration.changes} == {"DIFF-23"}
    assert ssptool.validate(folder).ok
    ssptool.upgrade(folder)
    with Archive.open(folder) as now, Archive.open(SYSTEM) as before:
        assert now.names() == before.names()
        for name in ("FMI3.ssd", "Mixed.ssd"):
            assert meaning(now.read(name)) == meaning(before.read(name))


def test_nothing_is_written_without_need_or_leave(tmp_path):
    folder = package(
        tmp_path / "p",
        ssd(component("A", "A", "input u Clock").join(["<ssd:Elements>", "</ssd:Elements>"])),
        {"A": MODEL},
    ).path
    before = {path: path.read_bytes() for path in folder.rglob("*.ssd")}
    with pytest.raises(RefusedEdit):
        ssptool.downgrade(folder)
    ssptool.downgrade(folder, drop=True, save=False)
    assert {path: path.read_bytes() for path in folder.rglob("*.ssd")} == before


@pytest.mark.parametrize("unpacked", [False, True], ids=["packed", "unpacked"])
def test_an_fmu_of_a_version_that_1_0_does_not_know_is_named(tmp_path, unpacked):
    system = ssd(content("", [component("A", "A")], [])).replace("<ssd:Connections>\n</ssd:Connections>", "")
    folder = package(tmp_path / "p", system, {"A": MODEL_OF_FMI3}).path
    if unpacked:
        fmu = (folder / "resources/A.fmu").rename(folder / "A.zip")
        shutil.unpack_archive(fmu, folder / "resources/A.fmu")
        fmu.unlink()
    (change,) = ssptool.downgrade(folder, force=True).changes
    assert "the FMU of 'A' is of FMI 3.0" in change.message


def test_a_copy_elsewhere_leaves_the_original_alone(tmp_path):
    folder = package(tmp_path / "p", ssd("", "1.0"), {"A": MODEL}).path
    ssptool.upgrade(folder, output=tmp_path / "q.ssp")
    with Archive.open(folder) as before, Archive.open(tmp_path / "q.ssp") as after:
        assert (before.structure().version, after.structure().version) == ("1.0", "2.0")
        assert before.read("resources/A.fmu") == after.read("resources/A.fmu")


@pytest.mark.parametrize("suffix", ["ssd", "ssv", "ssm", "ssb"])
def test_one_document_can_be_converted_alone(tmp_path, suffix):
    path = tmp_path / f"x.{suffix}"
    path.write_bytes(generated("1.0", suffix, 3).source)
    (tmp_path / "resources").mkdir()
    other = tmp_path / "resources" / "other.ssv"
    other.write_text(ssv("k Real value='1'").replace('version="2.0"', 'version="1.0"'))
    ssptool.upgrade(path)
    assert Document(path.name, path.read_bytes()).version == "2.0"
    assert 'version="1.0"' in other.read_text()


def test_packages_inside_a_package_stay_as_they_are_and_are_named(tmp_path):
    archive = package(tmp_path / "p", ssd("", "1.0"), {}, {"resources/inner.ssp": "any"})
    assert upgrade_package(archive).nested == ("resources/inner.ssp",)
