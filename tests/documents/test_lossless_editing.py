"""What an edit does not touch keeps its bytes, whatever the formatting."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from ssptool.documents import ssc, ssd, ssv
from ssptool.documents.document import Document
from ssptool.documents.element import PARSER
from ssptool.documents.vocabulary import NSMAP, SSC, SSD, SSV

DECLARATIONS = f'xmlns:ssd="{SSD}" xmlns:ssc="{SSC}"'

# --- Documents with odd formatting, as text ---

line_ends = st.sampled_from(["\n", "\r\n", "\n\n\t", "  \r\n  "])
spaces = st.sampled_from(["", " ", "  ", "\t"]) | line_ends
gaps = st.sampled_from([" ", "  ", "\t", " \n", "\r\n      "])
# Characters as they may stand in a document: plain, as reference in three spellings, beyond the basic plane.
plain = st.sampled_from(["a", "Zz", "0.5", "ä", "😀", ">", "x y", "&amp;", "&lt;", "&gt;", "&quot;", "&#10;", "&#x41;"])
values = st.lists(plain | st.sampled_from(["&#9;", "&apos;", "\t", "\n"]), max_size=4).map("".join)
texts = st.lists(plain | line_ends | st.sampled_from(["<![CDATA[ <&]] ]]>", "&#13;", "'", '"']), max_size=3).map(
    "".join
)
comments = st.sampled_from(["<!---->", "<!-- <x a='1'> & -->", "<!--\r\n ä > -->"])
instructions = st.sampled_from(["<?go?>", "<?go to='x>y' ?>", "<?xml-stylesheet href='a.xsl'?>", "<?x\r\n ?>"])
asides = comments | instructions
names = st.sampled_from(["ssd:System", "ssd:Component", "ssc:Unit", "ssd:Notes", "f:x", "g:y", "z"])
attribute_names = st.sampled_from(["name", "source", "xml:lang", "f:a", "id", "kind", "startElement", "ä"])


@st.composite
def attributes(draw, hole=""):
    """Attributes with any quotes and spaces; the hole is one that is called `hole`."""
    keys = draw(st.lists(attribute_names, unique=True, max_size=3))
    written = []
    for key in keys:
        quote = draw(st.sampled_from("'\""))
        equals = draw(st.sampled_from(["=", " = ", "\n="]))
        written.append(f"{draw(gaps)}{key}{equals}{quote}{draw(values)}{quote}")
    if hole:
        written.insert(draw(st.integers(0, len(written))), f"{draw(gaps)}{hole}")
    return "".join(written)


@st.composite
def elements(draw, depth=3, hole=""):
    name = draw(names)
    # The prefixes that are declared here are used here, so that every declaration matters.
    declared = {"f:x": ' xmlns:f="urn:f"', "g:y": " xmlns:g='urn:g&amp;'\n xmlns:f = \"urn:f\""}.get(name, "")
    tag = f"{name} xmlns:f='urn:f2'{draw(attributes(hole=hole))}" if not declared else name + declared
    if declared:
        tag += draw(attributes(hole=hole))
    end = draw(st.sampled_from(["", " ", "\r\n"]))
    count = draw(st.integers(0, 3 if depth else 0))
    content = draw(texts) if draw(st.booleans()) else draw(spaces)
    for _ in range(count):
        content += draw(elements(depth=depth - 1) | asides) + (draw(texts) if draw(st.booleans()) else draw(spaces))
    if not content and draw(st.booleans()):
        return f"<{tag}{end}/>"
    return f"<{tag}{end}>{content}</{name}{draw(st.sampled_from(['', ' ', chr(10)]))}>"


@st.composite
def documents(draw, hole=""):
    mark = draw(st.sampled_from(["", "\ufeff"]))
    declaration = draw(
        st.sampled_from(
            ["", "<?xml version='1.0'?>", '<?xml version="1.0"  encoding = "utf-8" standalone="yes" ?>\r\n']
        )
    )
    default = draw(st.sampled_from(["", ' xmlns="urn:default"']))
    before, after = draw(spaces) + draw(st.just("") | asides), draw(st.just("") | asides) + draw(spaces)
    if not declaration:
        before = before.lstrip()
    inner = draw(elements(hole=hole))
    root = "ssd:SystemStructureDescription"
    start = f"<{root} {DECLARATIONS}{default}{draw(attributes()).replace(' f:a', ' fa').replace(chr(9) + 'f:a', ' fa')}"
    start = re.sub(r"(\s)f:a", r"\1fa", start)
    return f"{mark}{declaration}{before}{start}>{draw(spaces)}{inner}{draw(spaces)}</{root}>{after}"


# --- Properties ---


@settings(max_examples=150)
@given(documents())
def test_an_unedited_document_keeps_every_byte(text):
    source = text.encode()
    assert Document("a.ssd", source).to_bytes() == source


def escaped(value: str, quote: str) -> str:
    """A value as XML requires it in an attribute: written here once more, character by character."""
    needed = {"&": "&amp;", "<": "&lt;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
    needed[quote] = {"'": "&apos;", '"': "&quot;"}[quote]
    return "".join(needed.get(character, character) for character in value)


xml_text = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Cn")) | st.sampled_from("\n\t\r<&'\""))


@settings(max_examples=150)
@given(documents(hole="@@"), st.sampled_from("'\""), values, xml_text)
def test_setting_an_attribute_changes_the_bytes_of_its_value_and_no_others(template, quote, before, after):
    source = template.replace("@@", f"edited={quote}{before}{quote}")
    document = Document("a.ssd", source.encode())
    (node,) = document.root.xpath("//*[@edited]")
    unchanged = node.get("edited") == after
    node.set("edited", after)
    expected = source if unchanged else template.replace("@@", f"edited={quote}{escaped(after, quote)}{quote}")
    assert document.to_bytes() == expected.encode()


@settings(max_examples=100)
@given(documents(hole="@@"), values)
def test_removing_an_attribute_removes_it_and_the_space_before_it(template, before):
    source = template.replace("@@", f'edited="{before}"')
    document = Document("a.ssd", source.encode())
    (node,) = document.root.xpath("//*[@edited]")
    del node.attrib["edited"]
    assert document.to_bytes() == re.sub(r"\s+@@", "", template).encode()


def infoset(node):
    """Everything that an XML parser tells of a tree, prefixes aside."""
    tag = node.tag if isinstance(node.tag, str) else (node.tag.__name__, getattr(node, "target", ""))
    text = etree._Element.text.__get__(node) if isinstance(node.tag, str) else node.text
    return tag, dict(node.attrib), text or "", [(infoset(child), child.tail or "") for child in node]


def some_node(data, root, *, also_root=True):
    nodes = list(root.iter("*")) if also_root else list(root.iterdescendants("*"))
    return data.draw(st.sampled_from(nodes)) if nodes else None


def edit_attribute(data, root):
    key = data.draw(st.sampled_from(["name", "source", "{urn:new}n", "{urn:f}a"]))
    some_node(data, root).set(key, data.draw(xml_text))


def edit_text(data, root):
    node = some_node(data, root)
    etree._Element.text.__set__(node, data.draw(xml_text))


def edit_tail(data, root):
    if (node := some_node(data, root, also_root=False)) is not None:
        node.tail = data.draw(xml_text)


def edit_name(data, root):
    some_node(data, root).tag = data.draw(st.sampled_from([f"{{{SSC}}}Unit", "plain", "{urn:new}n"]))


def delete(data, root):
    if (node := some_node(data, root, also_root=False)) is not None:
        node.delete()


def insert(data, root):
    node = some_node(data, root)
    new = data.draw(
        st.sampled_from([etree.Comment(" c "), etree.PI("p", "q"), ssc.Unit.new(name="<"), PARSER.makeelement("plain")])
    )
    node.insert(data.draw(st.integers(0, len(node))), new)


def move(data, root):
    node, target = some_node(data, root, also_root=False), some_node(data, root)
    if node is not None and target not in node.iter():
        target.insert(data.draw(st.integers(0, len(target))), node)


EDITS = [edit_attribute, edit_text, edit_tail, edit_name, delete, insert, move]


@settings(max_examples=200)
@given(st.data(), documents(), st.lists(st.sampled_from(EDITS), min_size=1, max_size=4))
def test_whatever_was_edited_reads_back_as_the_edited_tree(data, text, edits):
    document = Document("a.ssd", text.encode())
    for edit in edits:
        edit(data, document.root)
    again = Document("a.ssd", document.to_bytes())
    assert infoset(again.root) == infoset(document.root)


# --- The usual edits, byte by byte ---

SYSTEM = f"""<?xml version='1.0' encoding="UTF-8"?>
<!-- by hand -->
<ssd:SystemStructureDescription {DECLARATIONS}
    version="1.0" name='Main'>
    <ssd:System name="Root">
        <ssd:Elements>
            <ssd:Component name="A" source='resources/A.fmu' />
            <!-- B follows -->
            <ssd:Component name='B'
                           source="resources/B.fmu"></ssd:Component>
        </ssd:Elements>
    </ssd:System>
</ssd:SystemStructureDescription>
"""


def edited(edit, source=SYSTEM):
    document = Document("SystemStructure.ssd", source.encode())
    edit(document.structure.system)
    return document.to_bytes().decode()


def test_an_added_element_is_indented_like_its_neighbours():
    new = ssd.Component.new(name="C", source="resources/C.fmu")
    end = "</ssd:Component>\n"
    line = '            <ssd:Component name="C" source="resources/C.fmu"/>\n'
    assert edited(lambda system: system.add(new)) == SYSTEM.replace(end, end + line)


def test_the_first_element_of_its_kind_comes_with_its_container_in_schema_order():
    connector = ssd.Connector.new(name="x", kind="output", type=ssc.Real.new(unit="m"))
    lines = """
        <ssd:Connectors>
            <ssd:Connector name="x" kind="output">
                <ssc:Real unit="m"/>
            </ssd:Connector>
        </ssd:Connectors>"""
    head = '<ssd:System name="Root">'
    assert edited(lambda system: system.add(connector)) == SYSTEM.replace(head, head + lines)


def test_a_new_attribute_stands_where_the_last_one_does():
    def edit(system):
        system.elements[1].implementation = ssd.Implementation.CO_SIMULATION

    source = 'source="resources/B.fmu"'
    line = f'{source}\n                           implementation="CoSimulation"'
    assert edited(edit) == SYSTEM.replace(source, line)


def test_content_opens_an_empty_tag():
    def edit(system):
        system.elements[0].geometry = ssd.ElementGeometry.new(x1=0, y1=0, x2=1.5, y2=1)

    inner = """>
                <ssd:ElementGeometry x1="0.0" y1="0.0" x2="1.5" y2="1.0"/>
            </ssd:Component>"""
    assert edited(edit) == SYSTEM.replace("A.fmu' />", f"A.fmu'{inner}")


def test_a_deleted_element_takes_its_line_along():
    gone = """            <ssd:Component name="A" source='resources/A.fmu' />\n"""
    assert edited(lambda system: system.elements[0].delete()) == SYSTEM.replace(gone, "")


def test_a_deleted_last_element_leaves_the_end_tag_in_its_place():
    gone = (
        "            <ssd:Component name='B'\n                           source=\"resources/B.fmu\"></ssd:Component>\n"
    )
    assert edited(lambda system: system.elements[1].delete()) == SYSTEM.replace(gone, "")


def test_a_container_goes_with_its_last_element_unless_it_is_required():
    text = f'<ssd:System {DECLARATIONS} name="s">\n  <ssd:Connections>\n    {{}}\n  </ssd:Connections>\n</ssd:System>'
    connection = '<ssd:Connection startConnector="a" endConnector="b"/>'
    document = Document("a.ssd", text.format(connection).encode())
    document.root.connections[0].delete()
    assert document.to_bytes().decode() == f'<ssd:System {DECLARATIONS} name="s"/>'

    head = f'<ssv:ParameterSet xmlns:ssv="{SSV}" version="1.0" name="s">'
    text = f"{head}<ssv:Parameters>{{}}</ssv:Parameters></ssv:ParameterSet>"
    document = Document("a.ssv", text.format('<ssv:Parameter name="p"/>').encode())
    document.root.parameters[0].delete()
    assert document.to_bytes().decode() == f"{head}<ssv:Parameters/></ssv:ParameterSet>"


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("indent", ["    ", "\t", " "])
def test_adding_and_deleting_gives_the_document_back(line_end, indent):
    source = SYSTEM.replace("    ", indent).replace("\n", line_end)

    def edit(system):
        for new in (
            ssd.Connection.new(start_connector="a", end_connector="b"),
            ssd.Component.new(name="C"),
            ssd.Connector.new(name="x", kind="input", type=ssc.Real.new()),
        ):
            system.add(new)
            new.delete()

    assert edited(edit, source) == source


def test_added_lines_end_like_the_others():
    source = SYSTEM.replace("\n", "\r\n")
    text = edited(lambda system: system.add(ssd.Connector.new(name="x", kind="input")), source)
    assert text.count("\r\n") == text.count("\n") == source.count("\n") + 3


def test_a_document_on_one_line_stays_on_one_line():
    source = re.sub(r"\s*\n\s*", " ", SYSTEM).replace("> <", "><")
    text = edited(lambda system: system.add(ssd.Component.new(name="C")), source)
    assert "\n" not in text
    assert '<ssd:Component name="C"/></ssd:Elements>' in text


def test_an_element_of_another_prefix_takes_the_prefix_of_the_document():
    source = SYSTEM.replace("ssd:", "q:").replace("xmlns:ssd", "xmlns:q")
    assert '<q:Component name="C"/>' in edited(lambda system: system.add(ssd.Component.new(name="C")), source)
    source = SYSTEM.replace("ssd:", "").replace("xmlns:ssd", "xmlns")
    assert '<Component name="C"/>' in edited(lambda system: system.add(ssd.Component.new(name="C")), source)


def test_a_namespace_that_the_document_lacks_is_declared_on_the_new_element():
    source = SYSTEM.replace(f' xmlns:ssc="{SSC}"', "")
    text = edited(lambda system: system.add(ssd.Connector.new(name="x", kind="input", type=ssc.Real.new())), source)
    assert f'<ssc:Real xmlns:ssc="{SSC}"/>' in text
    assert Document("a.ssd", text.encode()).structure.system.connectors[0].type_name == "Real"


def test_values_of_parameters_are_edited_in_place():
    head = f"<ssv:ParameterSet xmlns:ssv='{SSV}' version='1.0' name='p'><ssv:Parameters>"
    parameter = "<ssv:Parameter name='m' >\n<ssv:Real value = '1e0'   unit='kg'/></ssv:Parameter>"
    source = f"{head}{parameter}</ssv:Parameters></ssv:ParameterSet>"
    document = Document("p.ssv", source.encode())
    document.root.parameters[0].value = 2
    assert document.to_bytes().decode() == source.replace("'1e0'", "'2.0'")


def test_comments_around_the_root_can_be_added_and_are_kept():
    document = Document("a.ssd", SYSTEM.encode())
    document.root.addprevious(etree.Comment(" new "))
    text = document.to_bytes().decode()
    assert text == SYSTEM.replace("<!-- by hand -->\n", "<!-- by hand -->\n<!-- new -->\n")


def test_lines_are_those_on_which_start_tags_begin():
    system = Document("a.ssd", SYSTEM.encode()).structure.system
    document = Document("a.ssd", SYSTEM.encode())
    lines = [component.position.line for component in document.structure.system.elements]
    assert lines == [7, 9]
    assert [document.line_of(component) for component in document.structure.system.elements] == [7, 9]
    assert system.elements[1].line >= 9, "without the document libxml2's line is all there is"


def test_lines_are_exact_beyond_what_libxml2_stores():
    many = "\n" * 70_000
    elements = "<ssd:Elements>\n<ssd:Component\nname='a'/></ssd:Elements>"
    source = f"<ssd:System {DECLARATIONS} name='s'>{many}{elements}</ssd:System>"
    document = Document("a.ssd", source.encode())
    (component,) = document.root.elements
    assert component.position.line == document.line_of(component) == 70_002


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf", b'<?xml version="1.0"?>', b'<?xml version="1.0"?>\r\n'])
@pytest.mark.parametrize("aside", [b"", b"<!-- <no> </no> -->", b"<?no <no>\n?>", b"<![CDATA[<no>\n]]>"])
def test_lines_are_those_of_libxml2_whatever_stands_between_tags(start, aside):
    """libxml2 knows the line on which a start tag ends, which here is that on which it begins."""
    source = (
        start + b"<r>\n<a/><b>" + aside + b"\n<c/></b>\n" + aside.replace(b"<![CDATA[<no>\n]]>", b"") + b"<d/></r>\n"
    )
    document = Document("x.ssd", source)
    elements = list(document.root.iter("*"))
    assert [document.line_of(element) for element in elements] == [element.sourceline for element in elements]


def test_an_added_element_has_no_line():
    document = Document("a.ssd", SYSTEM.encode())
    new = ssd.Component.new(name="C")
    document.structure.system.add(new)
    assert new.position.line == 0
    assert new.position.file == "a.ssd"


def test_all_prefixes_of_the_standard_can_be_made():
    made = [kind.new() for kind in (ssd.System, ssc.Unit, ssv.ParameterSet)]
    assert [node.nsmap for node in made] == [{prefix: NSMAP[prefix]} for prefix in ("ssd", "ssc", "ssv")]
