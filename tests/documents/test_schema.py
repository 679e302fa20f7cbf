"""Findings by schema: their place, their words, and which version judges what."""

import copy
import itertools
import shutil
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyssp_standard
import pytest
import xmlschema
from lxml import etree

from ssptool.documents import element, schema
from ssptool.documents.document import Document
from ssptool.documents.schema import DocumentPart, load_schema, schema_findings, schema_folder
from ssptool.documents.vocabulary import NSMAP

PREFIXES = " ".join(f'xmlns:{prefix}="{uri}"' for prefix, uri in NSMAP.items())


def parse(text):
    return Document("test.xml", text.encode()).root


def ssd(content="", version="1.0", attributes='name="s"', after=""):
    return (
        f'<ssd:SystemStructureDescription {PREFIXES} xmlns:f="urn:f" version="{version}" name="n">\n'
        f"<ssd:System {attributes}>\n{content}</ssd:System>\n{after}</ssd:SystemStructureDescription>"
    )


def ssv(parameters, version="2.0"):
    return (
        f'<ssv:ParameterSet {PREFIXES} version="{version}" name="n"><ssv:Parameters>{parameters}'
        "</ssv:Parameters></ssv:ParameterSet>"
    )


def connector(name="u", kind="input", content="", more=""):
    return f'<ssd:Connector name="{name}" kind="{kind}" {more}>{content}</ssd:Connector>\n'


def connectors(*each):
    return "<ssd:Connectors>\n" + "".join(each) + "</ssd:Connectors>\n"


def binding(values="", mapping=""):
    return (
        "<ssd:ParameterBindings><ssd:ParameterBinding>\n"
        f"<ssd:ParameterValues>{values}</ssd:ParameterValues>\n<ssd:ParameterMapping>{mapping}</ssd:ParameterMapping>\n"
        "</ssd:ParameterBinding></ssd:ParameterBindings>\n"
    )


def only_finding(text, version="1.0"):
    (finding,) = schema_findings(parse(text), version)
    return finding


def messages(text, version="1.0"):
    return [finding.message for finding in schema_findings(parse(text), version)]


def test_a_valid_document_has_no_findings():
    assert schema_findings(parse(ssd(connectors(connector()))), "1.0") == []


# Words


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            ssd(connectors(connector(kind="inputs"))),
            "<ssd:Connector>: attribute 'kind' is 'inputs'; allowed are "
            "'input', 'output', 'parameter', 'calculatedParameter', 'inout'",
        ),
        (
            ssd("<ssd:Connectors/>"),
            "<ssd:Connectors> is incomplete: it lacks <ssd:Connector>",
        ),
        (
            ssd(connectors(connector(content="<ssd:Real/>"))),
            "<ssd:Real> is not allowed at this place in <ssd:Connector>; its namespace should be that of <ssc:Real>",
        ),
        (
            ssd(connectors(connector(content="<ssc:Real/><ssc:Real/>"))),
            "<ssc:Real> is not allowed at this place in <ssd:Connector>; "
            "expected <ssd:ConnectorGeometry> or <ssd:Annotations>",
        ),
        (
            ssd(connectors(connector(content="<ssd:Annotations/>"))),
            "<ssd:Annotations> is incomplete: it lacks <ssc:Annotation>",
        ),
        (
            ssd(connectors(connector(content="<ssc:Real> </ssc:Real>"))),
            "<ssc:Real> must be empty: no elements, no text, no blanks",
        ),
        (ssd("text"), "<ssd:System> may contain elements, but no text"),
        (ssd(attributes=""), "<ssd:System> lacks the attribute 'name'"),
        (ssd(attributes='name=""'), "<ssd:System>: attribute 'name' must not be empty"),
        (ssd(attributes='name="s" f:x="1"'), "<ssd:System>: attribute 'x (of namespace urn:f)' is not allowed"),
        (
            ssd(connectors(connector(more='decription="d"'))),
            "<ssd:Connector>: attribute 'decription' is not allowed; did you mean 'description'?",
        ),
        (ssd(attributes='name="s" id="1a"'), "<ssd:System>: attribute 'id' is '1a', not a name: letters, digits, "
         "'.', '-', '_', and a letter or '_' first"),
        (
            ssd(connectors(connector(more='id="c"'), connector("v", more='id="c"'))),
            "<ssd:Connector>: attribute 'id' is 'c', but another element has this id already",
        ),
        (
            ssd('<ssd:ElementGeometry x1="0" y1="0" x2="1" y2="1,5"/>'),
            "<ssd:ElementGeometry>: attribute 'y2' is '1,5', not a number such as 1, -2.5e-3, INF or NaN",
        ),
        (
            ssd().replace('version="1.0"', 'version="2.0"'),
            "<ssd:SystemStructureDescription>: attribute 'version' is '2.0'; the schema of SSP 1.0 allows '1.0'",
        ),
        (
            "<foo/>",
            "<foo> is not the root of an SSP document; expected <ssd:SystemStructureDescription>, <ssv:ParameterSet>, "
            "<ssm:ParameterMapping> and <ssb:SignalDictionary>",
        ),
    ],
)  # fmt: skip
def test_a_message_says_what_was_found_and_what_is_allowed(text, message):
    assert messages(text) == [message]


def test_the_wrong_item_of_a_list_is_named_once():
    text = ssv('<ssv:Parameter name="p"><ssv:Float64 value="1 2 x 4"/></ssv:Parameter>')
    assert messages(text, "2.0") == [
        "<ssv:Float64>: attribute 'value' is '1 2 x 4'; in this list 'x' is not a number such as 1, -2.5e-3, INF or NaN"
    ]


@pytest.mark.parametrize("value", ["x", "18446744073709551616", "-9223372036854775809"])
def test_an_integer_out_of_range_is_refused_in_words(value):
    text = (
        f'<ssm:ParameterMapping {PREFIXES} version="2.0"><ssm:MappingEntry source="a" target="b">'
        f'<ssc:IntegerMappingTransformation><ssc:MapEntry source="{value}" target="0"/>'
        "</ssc:IntegerMappingTransformation></ssm:MappingEntry></ssm:ParameterMapping>"
    )
    assert messages(text, "2.0") == [f"<ssc:MapEntry>: attribute 'source' is '{value}', not an integer of 64 bits"]


def test_ten_expected_elements_may_not_be_all():
    (message,) = messages(ssd("<f:x/>", version="2.0"), "2.0")
    assert message.endswith("or <ssd:GraphicalElements> (among others)")


def test_an_element_of_no_namespace_is_told_which_one_it_needs():
    (message,) = messages(ssd("<Connectors/>"))
    assert message.endswith("its namespace should be that of <ssd:Connectors>")


def test_a_long_value_is_shortened():
    (message,) = messages(ssd(connectors(connector(kind="k" * 1000))))
    assert len(message) < 250


def test_no_message_shows_a_namespace_of_ssp():
    """Also not those messages of libxml2 that we pass on, such as those on xsi:type."""
    xsi = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    texts = [ssd(attributes=f'name="s" {xsi} {odd}') for odd in ('xsi:nil="false"', 'xsi:type="ssd:Nope"')]
    assert all("ssp-standard.org" not in message for text in texts for message in messages(text))


# Place


def test_a_finding_has_line_address_attribute_and_element():
    root = parse(ssd(connectors(connector("a"), connector("b", kind="in"))))
    (finding,) = schema_findings(root, "1.0")
    assert finding.element.position.line == 5
    assert finding.element.address == "/System[@name='s']/Connectors/Connector[@name='b']"
    assert finding.attribute == "kind"
    assert finding.element is root[0][0][1]
    assert finding.kind == "SCHEMAV_CVC_ENUMERATION_VALID"


def test_elements_are_found_whatever_their_prefixes():
    """libxml2's paths count `*` for default namespaces and `prefix:name` for the others."""
    uri = NSMAP["ssd"]
    mixed = (
        connector("a")
        + f'<Connector xmlns="{uri}" name="b" kind="input"/>'
        + f'<Connector xmlns="{uri}" name="c" kind="wrong"/>'
        + f'<q:Connector xmlns:q="{uri}" name="d" kind="input"/>'
        + f'<q:Connector xmlns:q="{uri}" name="e" kind="wrong"/>'
        + "<!-- a comment --><?pi?>"
        + connector("f", kind="wrong")
    )
    findings = schema_findings(parse(ssd(connectors(mixed))), "1.0")
    assert [finding.element.get("name") for finding in findings] == ["c", "e", "f"]


def test_all_wrong_elements_are_reported_in_document_order():
    wrong = [connector(f"c{number}", kind="wrong") for number in range(300)]
    findings = schema_findings(parse(ssd(connectors(*wrong))), "1.0")
    assert [finding.element.position.line for finding in findings] == list(range(4, 304))


def test_the_element_is_exact_where_lines_are_beyond_what_libxml2_counts():
    text = ssd("\n" * 70_000 + connectors(connector("a"), connector("b", kind="wrong")))
    finding = only_finding(text)
    assert finding.element.get("name") == "b"
    assert finding.element.position.line >= 65_535


# Versions and inline content


def test_features_of_2_0_are_refused_in_1_0():
    text = ssd(connectors(connector(kind="local", content="<ssc:Float64/>")), version="1.0")
    assert len(messages(text, "1.0")) == 2
    assert messages(text, "2.0") == []


@pytest.mark.parametrize("version", ["", "1.1", "2.0.1", "3.0", "all", "../ssp-1.0"])
def test_another_version_is_no_version(version):
    with pytest.raises(ValueError, match="no schema for SSP"):
        schema_findings(parse(ssd()), version)


def test_inline_content_is_checked_and_told_apart():
    finding = only_finding(ssd(binding('<ssv:ParameterSet version="1.0" name="p"/>')))
    assert finding.part is DocumentPart.INLINE
    assert finding.message == "<ssv:ParameterSet> is incomplete: it lacks <ssv:Parameters>"
    assert only_finding(ssd("<ssd:Connectors/>")).part is DocumentPart.DOCUMENT


INLINE = (
    '<ssv:ParameterSet version="{}" name="p"><ssv:Parameters>\n<ssv:Parameter name="x"><ssv:Float32 value="1"/>'
    "</ssv:Parameter></ssv:Parameters></ssv:ParameterSet>"
)


@pytest.mark.parametrize("outer", ["1.0", "2.0"])
def test_inline_content_is_judged_by_the_version_that_it_declares(outer):
    assert schema_findings(parse(ssd(binding(INLINE.format("2.0")), version=outer)), outer) == []

    (finding,) = schema_findings(parse(ssd(binding(INLINE.format("1.0")), version=outer)), outer)
    assert finding.message.startswith("<ssv:Float32> is not allowed at this place in <ssv:Parameter>; expected")
    assert finding.element.address.startswith(
        "/System[@name='s']/ParameterBindings/ParameterBinding/ParameterValues/ParameterSet"
    )
    assert (finding.part, finding.element.position.line) == (DocumentPart.INLINE, 5)


def test_findings_of_mixed_versions_are_in_document_order():
    text = ssd(
        connectors(connector(kind="wrong")) + binding(INLINE.format("1.0")) + "<ssd:Elements/>",
        version="2.0",
        after='<ssd:DefaultExperiment startTime="soon"/>',
    )
    lines = [finding.element.position.line for finding in schema_findings(parse(text), "2.0")]
    assert lines == sorted(lines)
    assert len(lines) == 4


def test_validation_of_mixed_versions_leaves_the_tree_as_it_was():
    root = parse(ssd(binding(INLINE.format("1.0")), version="2.0"))
    before = etree.tostring(root)
    schema_findings(root, "2.0")
    assert etree.tostring(root) == before


def test_an_inline_document_can_be_judged_alone():
    root = parse(ssd(binding(INLINE.format("1.0")), version="2.0"))
    (inline,) = root.iter("{*}ParameterSet")
    (finding,) = schema_findings(inline, "1.0")
    assert (finding.part, finding.element.position.line) == (DocumentPart.INLINE, 5)


def test_metadata_beside_an_inline_mapping_is_checked_in_2_0():
    mapping = '<ssm:ParameterMapping version="2.0"/>'
    metadata = '<ssc:MetaData kind="general" type="text/plain"/>'
    assert messages(ssd(binding(mapping=mapping + metadata), version="2.0"), "2.0") == []
    finding = only_finding(ssd(binding(mapping=metadata + mapping), version="2.0"), "2.0")
    assert finding.part is DocumentPart.INLINE_METADATA
    finding = only_finding(ssd(binding(mapping=mapping + "<ssc:MetaData type=''/>"), version="2.0"), "2.0")
    assert (finding.part, finding.message) == (
        DocumentPart.INLINE_METADATA,
        "<ssc:MetaData> lacks the attribute 'kind'",
    )


PIECES = {
    "foreign": "<f:a/>",
    "mapping": '<ssm:ParameterMapping version="2.0"/>',
    "wrong mapping": "<ssm:ParameterMapping/>",
    "metadata": '<ssc:MetaData kind="general" type="a"/>',
    "wrong metadata": '<ssc:MetaData type="a"/>',
    "signature": '<ssc:Signature role="suitability" type="a"/>',
    "wrong signature": '<ssc:Signature role="suitability"/>',
}


def test_inline_mappings_with_metadata_get_the_verdict_of_the_official_xml_schema_1_1():
    """That schema, which libxml2 cannot read, wants one mapping or foreign content: only these are compared."""
    folder = Path(pyssp_standard.__file__).parent / "resources" / "ssp2"
    official = xmlschema.XMLSchema11(str(folder / "SystemStructureDescription11.xsd"))
    verdicts = []
    for names in itertools.chain.from_iterable(itertools.product(PIECES, repeat=n) for n in range(4)):
        mappings = sum("mapping" in name for name in names)
        if mappings > 1 or (mappings and "foreign" in names):
            continue
        root = parse(ssd(binding(mapping="".join(PIECES[name] for name in names)), version="2.0"))
        verdicts.append(official.is_valid(root))
        assert (schema_findings(root, "2.0") == []) is verdicts[-1], names
    assert verdicts.count(True) >= 15
    assert verdicts.count(False) >= 100


def test_ids_are_unique_across_inline_content():
    inline = '<ssv:ParameterSet id="s" version="1.0" name="p"><ssv:Parameters/></ssv:ParameterSet>'
    finding = only_finding(ssd(binding(inline), attributes='name="s" id="s"'))
    assert finding.message == "<ssv:ParameterSet>: attribute 'id' is 's', but another element has this id already"


def test_ids_in_foreign_content_are_not_compared():
    annotation = '<ssd:Annotations><ssc:Annotation type="org.example"><f:a id="s"/></ssc:Annotation></ssd:Annotations>'
    assert messages(ssd(annotation, attributes='name="s" id="s"')) == []


def test_ids_are_judged_right_after_edits():
    """libxml2 remembers ids in the tree: judged in place, both of these edits would get the wrong verdict."""
    root = parse(ssd(connectors(connector("a", more='id="a"'), connector("b", more='id="b"'))))
    assert schema_findings(root, "1.0") == []
    first, second = root[0][0]
    first.set("id", "b")
    assert len(schema_findings(root, "1.0")) == 1
    first.getparent().remove(first)
    assert schema_findings(root, "1.0") == []
    assert second.get("id") == "b"


def test_elements_added_since_reading_have_no_line():
    root = parse(ssd(connectors(connector("a"))))
    etree.SubElement(root[0][0], f"{{{NSMAP['ssd']}}}Connector", name="new", kind="wrong")
    (finding,) = schema_findings(root, "1.0")
    assert (finding.element.position.line, finding.element.address) == (
        0,
        "/System[@name='s']/Connectors/Connector[@name='new']",
    )


def test_threads_do_not_mix_their_findings():
    wrong = {count: parse(ssd(connectors(*[connector(kind="wrong")] * count))) for count in (1, 7, 40)}
    mixed = []

    def judge(count):
        for _ in range(30):
            found = schema_findings(wrong[count], "1.0")
            if len(found) != count:
                mixed.append((count, len(found)))

    threads = [threading.Thread(target=judge, args=(count,)) for count in wrong]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert mixed == []


# Files


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("name", ["all", "ssd", "ssv", "ssm", "ssb", "ssc"])
def test_every_schema_file_is_read_by_a_second_processor(version, name):
    """xmlschema checks the rules for schemas (ambiguous content, for one) independently of libxml2."""
    assert load_schema(version, name) is not None
    assert xmlschema.XMLSchema10(str(schema_folder() / f"ssp-{version}" / f"{name}.xsd")).is_valid is not None


def test_catalogs_lead_to_the_schema_of_each_namespace():
    entries = etree.parse(schema_folder() / "catalog.xml").getroot()
    following = [schema_folder() / entry.get("catalog") for entry in entries.iter("{*}nextCatalog")]
    assert following == [schema_folder() / "ssp-2.0" / "catalog.xml"]
    for version in ("1.0", "2.0"):
        folder = schema_folder() / f"ssp-{version}"
        catalog = etree.parse(folder / "catalog.xml")
        found = {
            entry.get("name"): etree.parse(folder / entry.get("uri")).getroot().get("targetNamespace")
            for entry in catalog.iter("{*}uri")
        }
        assert found == {uri: uri for uri in NSMAP.values()}


def test_schemas_are_found_inside_an_installed_package_and_missing_ones_are_told(tmp_path, monkeypatch):
    module = tmp_path / "ssptool" / "documents" / "schema.py"
    module.parent.mkdir(parents=True)
    original = schema_folder()
    monkeypatch.setattr(schema, "__file__", str(module))
    with pytest.raises(FileNotFoundError, match="install ssptool again"):
        schema_folder()
    shutil.copytree(original, tmp_path / "ssptool" / "schemas")
    assert schema_folder() == tmp_path / "ssptool" / "schemas"


# The validating reader, and libxml2's validation of trees


DOCUMENTS = sorted((Path(__file__).parents[1] / "rules").glob("*/*.ss[dvmb]"))


def places(entries: Iterable[Any]) -> list[tuple[str, str]]:
    """Paths and messages; a second report of one wrong list, and what only trees can be asked for, left out."""
    return sorted((path, one.message) for path, one in entries if "type 'xs:ID'" not in one.message)


def damaged(file: Path) -> etree._ElementTree:
    """A document with unknown attributes, text and repeated elements here and there."""
    tree = etree.parse(file)
    for number, node in enumerate(list(tree.iter("*"))):
        if number % 5 == 2:
            node.set("unknown", "1")
        if number % 7 == 3:
            node.text = "text"
        if number % 11 == 6:
            node.addnext(copy.deepcopy(node))
    return tree


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("read", [etree.parse, damaged])
def test_the_reader_finds_what_libxml2_finds_in_trees(version: str, read: Callable[[Path], etree._ElementTree]):
    judge, compared = load_schema(version), 0
    for file in DOCUMENTS:
        try:
            tree = read(file)
        except etree.XMLSyntaxError:
            continue
        judge.validate(tree)
        once = [entry for entry in judge.error_log if entry.type_name != "SCHEMAV_CVC_DATATYPE_VALID_1_2_2"]
        found = [(tree.getpath(element), one) for element, one in schema.violations(tree.getroot(), judge)]
        assert places(found) == places((entry.path, entry) for entry in once), file
        compared += len(found)
    assert compared > 10


def test_beyond_a_number_violations_are_counted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(schema, "MOST_FINDINGS", 3)
    wrong = "".join(connector(f"c{n}", more="x='1'") for n in range(10))
    findings = schema_findings(parse(ssd(f"<ssd:Connectors>{wrong}</ssd:Connectors>")), "1.0")
    assert [finding.element.get("name") for finding in findings] == ["c0", "c1", "c2", "c3"]
    assert "7 more violations" in findings[-1].message


def test_siblings_are_counted_once_for_all_addresses():
    root = parse(ssd("<ssd:Connections>" + "<ssd:Connection/>" * 40 + "</ssd:Connections>"))
    connections = list(root.iter("{*}Connection"))
    each = [connection.address for connection in connections]
    assert each[6] == "/System[@name='s']/Connections/Connection[7]"
    with element.siblings_counted_once():
        assert [connection.address for connection in connections] == each
        counted = element._counted.get()
        assert counted is not None
        assert [len(numbers) for (parent, _), numbers in counted.items() if len(parent) == 40] == [40]
    assert element._counted.get() is None
