"""Documents that are only read say the same as those that can be edited, and cannot be edited."""

import gc
from itertools import zip_longest
from pathlib import Path

import pytest

import ssptool
from ssptool.documents import ssc, ssd
from ssptool.documents.archive import Archive
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.document import Document, Positions
from ssptool.documents.element import Element
from ssptool.documents.frozen import FrozenNode
from ssptool.documents.vocabulary import NSMAP
from ssptool.rules.catalogue import content_of
from ssptool.rules.runner import check_with_fixes, open_checked

ROOT = Path(__file__).parents[2]
SUFFIXES = (".ssd", ".ssv", ".ssm", ".ssb")
DOCUMENTS = sorted(
    path for folder in ("systems", "tests") for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES
)
SYSTEMS = sorted(path for path in (ROOT / "tests" / "rules").glob("*/*") if path.suffix in SUFFIXES)

HEAD = " ".join(f'xmlns:{prefix}="{uri}"' for prefix, uri in NSMAP.items())


def structure(inside: str, version: str = "2.0", before: str = "", after: str = "") -> bytes:
    """A system with this content, on line 2."""
    return (
        f'{before}<ssd:SystemStructureDescription {HEAD} name="n" version="{version}">\n'
        f'<ssd:System name="s">{inside}</ssd:System>\n</ssd:SystemStructureDescription>{after}'
    ).encode()


def both(source: bytes, name: str = "a.ssd") -> tuple[Document, Document]:
    read, edited = Document(name, source, reading=True), Document(name, source)
    assert not edited.frozen
    return read, edited


FEW = 100


def same_nodes(read: Document, edited: Document) -> int:
    """Compare all nodes of two trees; their number."""
    number, places = 0, (Positions(read), Positions(edited))
    for one, other in zip_longest(read.root.iter(), edited.root.iter()):
        number += 1
        assert one.tag == other.tag and [each.tag for each in one] == [each.tag for each in other]
        assert read.line_of(one) == edited.line_of(other) > 0
        if not isinstance(other.tag, str):
            continue
        assert isinstance(one, Element) and one.element_class is other.element_class
        assert list(one.attrib.items()) == list(other.attrib.items()) and len(one) == len(other)
        assert one.position == other.position == places[0].position(one) == places[1].position(other)
        assert content_of(one) == content_of(other) and one.nsmap == other.nsmap
        if number < FEW:
            for walk in ("iterancestors", "itersiblings", "iterdescendants", "iterchildren"):
                found, expected = (list(getattr(node, walk)("*")) for node in (one, other))
                assert [each.tag for each in found] == [each.tag for each in expected], walk
            found, expected = (list(node.having("name", "id")) for node in (one, other))
            assert [read.line_of(each) for each in found] == [edited.line_of(each) for each in expected]
    return number


ODDITIES = {
    "comments": '<!-- a\nb --><ssd:Elements><!--c-->\n<ssd:Component\n  name="c"/><!----></ssd:Elements>',
    "instructions": '<?a b?><ssd:Elements><?c?><ssd:Component name="c" source="x.fmu"/>\n</ssd:Elements><?d\ne f?>',
    "characters": '<ssd:Elements><ssd:Component name="&#65;&amp;&#10;&quot;ä€𝄞" description="a\n\tb&#9;" '
    'source="x.fmu"/></ssd:Elements>',
    "quotes": "<ssd:Elements><ssd:Component name='\"' source='>'/>\n<ssd:Component name=\"'\" source='<!--'/>"
    "</ssd:Elements>".replace("'<!--'", "'&lt;!--'"),
    "annotation": '<ssd:Annotations><ssc:Annotation type="de.b"><w> \n&lt; t<![CDATA[<u>]]>\n v '
    '<b xmlns="urn:b" c="d">e<f/>g</b>\n'
    '<ssd:Component name="a"/><h xmlns:ssd="urn:other"><ssd:System xml:lang="de"/></h></w>'
    "</ssc:Annotation></ssd:Annotations>",
    "arrays": '<ssd:Connectors>\n<ssd:Connector name="x" kind="input"><ssc:Real unit="m"/><ssc:Dimension size="3"/>'
    '<ssc:Dimension size="2"/></ssd:Connector></ssd:Connectors>',
    "long": f'<ssd:Elements>\n<ssd:Component name="{"n" * 3_000_000}" source="x.fmu"/></ssd:Elements>',
    "many lines": "\n" * 70_000 + '<ssd:Connectors>\n<ssd:Connector name="x" kind="input"/></ssd:Connectors>',
}


@pytest.mark.parametrize("inside", ODDITIES.values(), ids=ODDITIES)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_frozen_documents_have_the_same_nodes_in_the_same_places(inside, ends):
    source = structure(inside, before="\ufeff<?xml version='1.0'?>\n<!-- 1 -->\n<?p?>", after="\n<!-- 2 -->")
    read, edited = both(source.replace(b"\n", ends.encode()))
    assert read.frozen
    if len(inside) < 1_000_000:
        assert same_nodes(read, edited) > 3
    else:
        assert [each.line for each in read.root.iter("*")] == [edited.line_of(each) for each in edited.root.iter("*")]
    assert read.to_bytes() == edited.to_bytes() == source.replace(b"\n", ends.encode()) and not read.changed


def test_all_documents_here_say_the_same_frozen():
    frozen = 0
    for path in DOCUMENTS:
        try:
            read, edited = both(path.read_bytes(), path.name)
        except InvalidDocument:
            continue
        same_nodes(read, edited)
        frozen += read.frozen
    assert frozen > 300


def test_findings_and_titles_of_fixes_are_the_same_for_frozen_documents():
    fixes = 0
    for path in SYSTEMS:
        try:
            with open_checked(path, reading=True) as read, open_checked(path) as edited:
                found, expected = check_with_fixes(read, unguarded=True), check_with_fixes(edited, unguarded=True)
        except InvalidDocument:
            continue
        assert found.report == expected.report, path
        told = {diagnostic: (fix.title, fix.safe) for diagnostic, fix in found.fixes.items()}
        assert told == {diagnostic: (fix.title, fix.safe) for diagnostic, fix in expected.fixes.items()}, path
        fixes += len(told)
    assert fixes > 15


CONNECTOR = '<ssd:Connector name="{}" kind="input"><ssc:Real unit="m"/></ssd:Connector>'
PLAIN = CONNECTOR.format("a") + "\n" + CONNECTOR.format("b") + '\n<ssd:Connector name="c" kind="output"/>\n'
ANNOTATED = (
    PLAIN + '<ssd:Connector name="d" kind="input"><ssd:Annotations><ssc:Annotation type="t">\n <w f="1">e &lt; g\n'
    "</w></ssc:Annotation></ssd:Annotations></ssd:Connector>\n"
)


def several(*connectors: str, before: str = "", after: str = "") -> str:
    """Components with these connectors, further down each."""
    inside = (
        f"<ssd:Component\n name='c{number}' source='x.fmu'>\n<ssd:Connectors>{one}</ssd:Connectors></ssd:Component>"
        for number, one in enumerate(connectors)
    )
    return f"{before}<ssd:Elements>{''.join(inside)}</ssd:Elements>{after}"


IN_ANNOTATION = (
    '<ssd:Annotations><ssc:Annotation type="t"><ssd:Connectors>{}</ssd:Connectors></ssc:Annotation></ssd:Annotations>'
)
REPEATED = {
    "plain": several(PLAIN, PLAIN, PLAIN),
    "between others": several(PLAIN, ANNOTATED, CONNECTOR.format("x"), PLAIN, "\n\n" + PLAIN, ANNOTATED, PLAIN),
    "of the system too": f"<ssd:Connectors>{PLAIN}</ssd:Connectors>" + several(PLAIN, PLAIN),
    "in a comment": several(PLAIN, PLAIN, before=f"<!--<ssd:Connectors>{PLAIN}</ssd:Connectors>-->"),
    "with a comment": several(f"{PLAIN}<!-- {PLAIN} -->\n", f"{PLAIN}<!-- {PLAIN} -->\n"),
    "in an annotation": several(PLAIN, PLAIN, after=IN_ANNOTATION.format(PLAIN)),
    "in an instruction": several(PLAIN, PLAIN, after=f"<?a <a:Connectors>{PLAIN}</a:Connectors>?>"),
    "with a namespace": several(PLAIN, PLAIN).replace("<ssd:Component", "<ssd:Component xmlns:x='urn:x'"),
    "with spaces in tags": several(PLAIN, PLAIN, PLAIN).replace("</ssd:Connectors>", "</ssd:Connectors >", 1),
    "with a lookalike": several(*[PLAIN.replace('"a"', '"a Connector> Connectors> b"')] * 3),
    "with a mark": several(PLAIN, PLAIN, before="<?ssptool-repeated 0?>"),
}


@pytest.mark.parametrize("inside", REPEATED.values(), ids=REPEATED)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_repeated_connectors_are_nodes_of_their_own(inside, version):
    read, edited = both(structure(inside, version))
    assert read.frozen and same_nodes(read, edited) > 10
    connectors = list(read.root.iter(ssd.Connector.qualified_name))
    assert [each.line for each in connectors] == sorted(each.line for each in connectors)
    assert all(connector in list(connector.getparent()) for connector in connectors)


def test_repeated_connectors_are_valid_only_if_all_of_them_are():
    wrong = PLAIN.replace('kind="output"', 'kind="other"')

    def frozen(*connectors: str, inside: str = PLAIN, around: str = "<ssd:Component") -> bool:
        # Nothing checks the content of an annotation, so `inside` may be anything.
        system = f"<ssd:System name='t'>{IN_ANNOTATION.format(inside)}</ssd:System>"
        text = (
            several(*connectors).replace("<ssd:Elements>", f"<ssd:Elements>{system}").replace("<ssd:Component", around)
        )
        return both(structure(text))[0].frozen

    assert frozen(PLAIN, PLAIN) and frozen(PLAIN, PLAIN, inside=wrong)
    assert not frozen(wrong, wrong) and not frozen(PLAIN, wrong, wrong) and not frozen(wrong, inside=wrong)
    assert not frozen(PLAIN, PLAIN, around="<ssd:Component xmlns:ssc='urn:other'")
    identified = PLAIN.replace('name="b"', 'name="b" id="i"')
    assert frozen(identified, PLAIN) and not frozen(identified, identified)


INLINE = (
    '<ssd:ParameterBindings><ssd:ParameterBinding><ssd:ParameterValues><ssv:ParameterSet version="{}" name="p">'
    "<ssv:Parameters/></ssv:ParameterSet></ssd:ParameterValues></ssd:ParameterBinding></ssd:ParameterBindings>"
)


@pytest.mark.parametrize(
    ("source", "frozen"),
    [
        (structure(""), True),
        (structure(INLINE.format("2.0")), True),
        (structure(INLINE.format("1.0")), False),
        (structure("", version="3.0"), False),
        (structure("", version="1.0"), True),
        (structure('<ssd:Elements><ssd:Component name="a" sourze="b"/></ssd:Elements>'), False),
        (
            structure('<ssd:Elements><ssd:Component name="a" id="i"/><ssd:Component name="b" id=" i"/></ssd:Elements>'),
            False,
        ),
        (b'<a version="2.0"/>', False),
    ],
)
def test_only_documents_without_violations_of_the_schema_are_frozen(source, frozen):
    assert Document("a.ssd", source, reading=True).frozen is frozen
    assert not Document("a.ssd", source).frozen


@pytest.mark.parametrize(
    "source",
    [
        b"",
        b"<",
        b"text",
        b"<?xml",
        b"<?xml version='1.0'",
        structure("&unknown;"),
        structure("")[:-9],
        structure("") + b"text",
        structure("") + b"<a/>",
        structure("<ssd:Elements>"),
        structure("<other:Elements/>"),
        structure('<ssd:Elements a="1" a="2"/>'),
        b"<!DOCTYPE a>" + structure(""),
        structure("").replace(b"name", b"n\xe4me"),
        structure("<ssd:Annotations>" * 300 + "</ssd:Annotations>" * 300),
    ],
)
def test_what_is_no_document_is_refused_in_the_same_words(source):
    found = []
    for reading in (True, False):
        with pytest.raises(InvalidDocument) as caught:
            Document("a.ssd", source, reading=reading)
        found.append(caught.value.diagnostics)
    assert found[0] == found[1]


def test_a_frozen_document_cannot_be_edited():
    document = Document(
        "a.ssd", structure('<ssd:Elements><ssd:Component name="c" source="x.fmu"/></ssd:Elements>'), reading=True
    )
    (component,) = document.structure.system.elements
    with pytest.raises(TypeError, match="read"):
        component.name = "d"
    with pytest.raises(TypeError):
        component.attrib["name"] = "d"
    with pytest.raises((TypeError, AttributeError)):
        component.delete()
    with pytest.raises((TypeError, AttributeError)):
        document.structure.system.add(ssd.Component.new(name="d"))
    with pytest.raises(TypeError):
        _ = document.text
    assert component.name == "c" and not document.changed


def test_equal_attributes_are_shared_and_elements_have_no_dictionary():
    inside = "".join(
        f'<ssd:Connector name="x{n % 2}" kind="input"><ssc:Real unit="m"/></ssd:Connector>' for n in range(4)
    )
    root = Document("a.ssd", structure(f"<ssd:Connectors>{inside}</ssd:Connectors>"), reading=True).root
    for node in root.iter():
        assert isinstance(node, FrozenNode) and not hasattr(node, "__dict__")
    first, second, third, _ = root.iter(ssd.Connector.qualified_name)
    assert first._attributes is third._attributes is not second._attributes
    assert len({id(real._attributes) for real in root.iter(ssc.Real.qualified_name)}) == 1


def test_a_closed_archive_lets_go_of_what_was_only_read(tmp_path):
    (tmp_path / "a.ssd").write_bytes(structure("<!-- a --><ssd:Elements><ssd:Component name='c'/></ssd:Elements>"))
    enabled = gc.isenabled()
    gc.disable()
    try:
        with Archive.open(tmp_path / "a.ssd", reading=True) as archive:
            component = archive.structure().structure.system.elements[0]
            before = sum(isinstance(one, FrozenNode) for one in gc.get_objects())
        del archive
        # What is around the component stays, but nobody takes it for empty.
        assert before - sum(isinstance(one, FrozenNode) for one in gc.get_objects()) == 1
    finally:
        if enabled:
            gc.enable()
    assert component.name == "c" and component.line == 2
    with pytest.raises(AttributeError):
        list(component.iterchildren())


def test_a_system_is_edited_after_it_was_validated(tmp_path):
    system = tmp_path / "a.ssd"
    system.write_bytes(
        structure("<!-- kept --><ssd:Elements><ssd:Component name='c'\n  source='x.fmu'/></ssd:Elements>")
    )
    ssptool.validate(system)
    with Archive.open(system) as archive:
        component = archive.structure().structure.system.elements[0]
        component.name = "d"
        archive.save()
    assert b"<!-- kept --><ssd:Elements><ssd:Component name='d'\n  source='x.fmu'/>" in system.read_bytes()
