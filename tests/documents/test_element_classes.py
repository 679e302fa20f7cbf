"""The element classes against the official SSP 2.0 schemas, which pyssp_standard ships (a test-only dependency)."""

from dataclasses import dataclass, field
from importlib.resources import files
from itertools import chain, pairwise

import pytest
import xmlschema
from lxml import etree

from ssptool.documents import ssb, ssc, ssd, ssm, ssv
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.element import PARSER, Element, InvalidAttribute
from ssptool.documents.vocabulary import NSMAP

# What absent means is said in the text of the standard here, not in the schema (catalogue of SSP, 1.10).
DEFAULTS_OF_THE_TEXT = {
    ("Connection", "startElement"): "",
    ("Connection", "endElement"): "",
    ("ParameterBinding", "prefix"): "",
}


@dataclass
class Official:
    """What the schema says of the elements of one name: some of them have several types."""

    attributes: dict[str, list[tuple[bool, str | None, str]]] = field(default_factory=dict)
    children: list[list[str]] = field(default_factory=list)
    types: int = 0


def official_elements() -> dict[str, Official]:
    found: dict[str, Official] = {}
    seen = set()

    def walk(declaration):
        if (key := (declaration.name, id(declaration.type))) in seen:
            return
        seen.add(key)
        official = found.setdefault(declaration.name, Official())
        official.types += 1
        for name, use in declaration.type.attributes.items():
            if name:
                kind = use.type.root_type.local_name
                official.attributes.setdefault(name, []).append((use.use == "required", use.default, kind))
        content = declaration.type.content
        inner = list(content.iter_elements()) if hasattr(content, "iter_elements") else []
        elements = [element for element in inner if isinstance(element, xmlschema.XsdElement)]
        official.children.append([element.name for element in elements])
        for element in elements:
            walk(element)

    folder = files("pyssp_standard") / "resources" / "ssp2"
    for name in ("Description", "ParameterValues", "ParameterMapping", "SignalDictionary"):
        schema = xmlschema.XMLSchema(str(folder / f"SystemStructure{name}.xsd"))
        for element in schema.elements.values():
            walk(element)
    return found


OFFICIAL = official_elements()
CLASSES = {
    kind.qualified_name: kind
    for module in (ssc, ssd, ssv, ssm, ssb)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, Element) and kind.qualified_name
}
CONTAINERS = {slot.container for kind in CLASSES.values() for slot in kind.slots if slot.container}
METADATA = [ssc.MetaData.qualified_name, ssc.Signature.qualified_name]
SAMPLES = {
    "string": ("a b", "a b"),
    "anyURI": ("resources/a.fmu", "resources/a.fmu"),
    "anySimpleType": ("a", "a"),
    "dateTime": ("2024-02-29T10:00:00Z", "2024-02-29T10:00:00Z"),
    "boolean": ("1", True),
    "double": (" -2.5E-3\n", -0.0025),
    "float": ("INF", float("inf")),
    "decimal": ("7", 7),
    "hexBinary": ("0aFF", b"\x0a\xff"),
}


def local(tag: str) -> str:
    return tag.rpartition("}")[2]


def element(kind: type[Element], /, **attributes: str) -> Element:
    made = PARSER.makeelement(kind.qualified_name)
    for name, value in attributes.items():
        made.set(name, value)
    return made


def attributes_of(kind):
    return {declared.name: (python, declared) for python, declared in kind.attributes().items()}


ALL_ATTRIBUTES = [
    pytest.param(kind, name, id=f"{kind.__module__.rpartition('.')[2]}.{kind.__name__}.{name}")
    for kind in CLASSES.values()
    for name in attributes_of(kind)
]


def test_every_official_element_has_a_class_or_is_a_transparent_container():
    assert set(OFFICIAL) == set(CLASSES) | CONTAINERS


@pytest.mark.parametrize("kind", CLASSES.values(), ids=lambda kind: kind.qualified_name.rpartition("/")[2])
def test_a_class_has_exactly_the_attributes_of_its_official_element(kind):
    assert set(attributes_of(kind)) == set(OFFICIAL[kind.qualified_name].attributes)


@pytest.mark.parametrize(("kind", "name"), ALL_ATTRIBUTES)
def test_an_absent_attribute_has_the_official_default_or_is_reported_missing(kind, name):
    python, declared = attributes_of(kind)[name]
    official = OFFICIAL[kind.qualified_name]
    uses = official.attributes[name]
    if len(uses) == official.types and all(required for required, _, _ in uses):
        with pytest.raises(InvalidAttribute) as caught:
            getattr(element(kind), python)
        assert caught.value.attribute == name
        return
    default = next((default for _, default, _ in uses if default is not None), None)
    expected = DEFAULTS_OF_THE_TEXT.get((local(kind.qualified_name), name))
    if default is not None:
        expected = declared.converter.read(default)
    assert getattr(element(kind), python) == expected


@pytest.mark.parametrize(("kind", "name"), ALL_ATTRIBUTES)
def test_an_attribute_is_read_in_its_official_type_and_written_back_as_the_same_value(kind, name):
    python, declared = attributes_of(kind)[name]
    base = OFFICIAL[kind.qualified_name].attributes[name][0][2]
    text, value = SAMPLES[base]
    if "one of" in declared.converter.expected:
        text = value = declared.converter.expected.removeprefix("one of ").split(", ")[0]
    elif declared.converter.expected.startswith("a list"):
        text, value = f"{text} {text}", (value, value)
    elif kind is ssc.MapEntry:
        value = text  # The type depends on the transformation around it.
    read = element(kind, **{name: text})
    assert getattr(read, python) == value
    setattr(read, python, value)
    assert getattr(read, python) == value
    assert set(read.attrib) == {name}
    if not declared.required:
        setattr(read, python, None)
        assert not read.attrib


@pytest.mark.parametrize("kind", CLASSES.values(), ids=lambda kind: kind.qualified_name.rpartition("/")[2])
def test_children_are_declared_in_the_official_order(kind):
    official = max(OFFICIAL[kind.qualified_name].children, key=len)
    if kind in (ssd.ParameterMapping, ssd.SignalDictionary):
        official = METADATA  # After any content, which XML Schema 1.0 cannot say.
    order = {name: place for place, name in enumerate(official)}
    declared = [sorted(order[name] for name in slot.here) for slot in kind.slots]
    every = sorted(chain.from_iterable(declared))
    assert every == list(range(len(official))), "every official child has a place, and no other"
    assert all(before[-1] < after[0] for before, after in pairwise(declared))


@pytest.mark.parametrize("kind", CLASSES.values(), ids=lambda kind: kind.qualified_name.rpartition("/")[2])
def test_containers_hold_what_is_declared_within_them(kind):
    for slot in kind.slots:
        if slot.container:
            held = OFFICIAL[slot.container].children
            assert set(slot.tags) in [set(names) for names in held]


def parse(text: str) -> Element:
    declarations = " ".join(f'xmlns:{prefix}="{uri}"' for prefix, uri in NSMAP.items())
    return etree.fromstring(f"<root {declarations}>{text}</root>", PARSER)[0]


def test_a_linear_transformation_with_only_an_offset_has_factor_one():
    assert parse('<ssc:LinearTransformation offset="3"/>').factor == 1.0


def test_a_connector_tells_type_and_unit_only_where_they_are_stated():
    stated, bare = (
        parse('<ssd:Connector name="x" kind="output"><ssc:Float32 unit="m"/></ssd:Connector>'),
        parse('<ssd:Connector name="x" kind="calculatedParameter"/>'),
    )
    assert (stated.type_name, stated.unit, stated.kind) == ("Float32", "m", ssd.ConnectorKind.OUTPUT)
    assert (bare.type, bare.type_name, bare.unit) == (None, None, None)
    assert bare.kind is ssd.ConnectorKind.CALCULATED_PARAMETER


@pytest.mark.parametrize(
    ("content", "value"),
    [
        ('<ssv:Real value="1e-3"/>', 0.001),
        ('<ssv:Float64 value=" 1 2.5 "/>', (1.0, 2.5)),
        ('<ssv:Float64 value="1"/><ssc:Dimension size="1"/>', (1.0,)),
        ('<ssv:Integer value="-7"/>', -7),
        ('<ssv:UInt64 value="18446744073709551615"/>', 2**64 - 1),
        ('<ssv:Boolean value="1"/>', True),
        ('<ssv:String value=" a  b "/>', " a  b "),
        ('<ssv:String/><ssc:Dimension size="0"/>', ()),
        ('<ssv:String><ssv:Value value="a b"/><ssv:Value value=""/></ssv:String>', ("a b", "")),
        ('<ssv:Enumeration value="on"/>', "on"),
        ('<ssv:Binary value="00FF"/>', b"\x00\xff"),
        ('<ssv:Binary><ssv:Value value="0A"/><ssv:Value value=""/></ssv:Binary>', (b"\n", b"")),
        ("", None),
    ],
)
def test_a_parameter_has_a_python_value(content, value):
    parameter = parse(f'<ssv:Parameter name="p">{content}</ssv:Parameter>')
    assert parameter.value == value
    assert type(parameter.value) is type(value)


@pytest.mark.parametrize(
    ("content", "value"),
    [
        ('<ssv:Real value="1"/>', 2.5),
        ('<ssv:Real value="1"/>', float("-inf")),
        ('<ssv:Float64 value="1"/>', (1.0, 2.0)),
        ('<ssv:Boolean value="1"/>', False),
        ('<ssv:String value="a"/>', "<&>'\""),
        ('<ssv:String value="a"/>', ("a", "b c")),
        ('<ssv:String><ssv:Value value="1"/><ssv:Value value="2"/><ssv:Value value="3"/></ssv:String>', ("x", "y")),
        ('<ssv:Binary value="00"/>', b"\xab"),
    ],
)
def test_the_value_of_a_parameter_can_be_set(content, value):
    parameter = parse(f'<ssv:Parameter name="p">{content}</ssv:Parameter>')
    parameter.value = value
    assert parameter.value == value


@pytest.mark.parametrize("text", ["1,5", "1_0", "0x1", "inf", "nan", "", "1 2", "１"])
def test_what_xml_schema_does_not_call_a_double_is_refused(text):
    with pytest.raises(InvalidAttribute, match="factor"):
        _ = element(ssc.LinearTransformation, factor=text).factor


@pytest.mark.parametrize("text", ["128", "-129", "1.0", "1e2", "", "१"])
def test_integers_have_the_range_of_their_type(text):
    with pytest.raises(InvalidAttribute, match="8 bits"):
        _ = element(ssv.Int8, value=text or "x").value


def test_what_is_no_hexadecimal_number_is_refused_with_its_place():
    with pytest.raises(InvalidAttribute, match="pairs of hexadecimal digits") as caught:
        _ = parse('<ssv:Parameter name="p"><ssv:Binary value="true"/></ssv:Parameter>').value
    assert caught.value.found == "true"


@pytest.mark.parametrize("value", [128, -129])
def test_an_integer_out_of_range_is_not_written(value):
    with pytest.raises(ValueError, match="8 bits"):
        ssv.Int8.new(value=(value,))


def test_a_word_outside_a_closed_set_is_refused_with_the_allowed_ones():
    with pytest.raises(InvalidAttribute) as caught:
        _ = element(ssd.Connector, kind="Input").kind
    assert caught.value.found == "Input"
    assert "calculatedParameter" in caught.value.expected
    with pytest.raises(ValueError, match="Input"):
        ssd.Connector.new(kind="Input")


def test_an_invalid_attribute_says_where_it_is():
    root = etree.fromstring(
        f'<ssd:System xmlns:ssd="{NSMAP["ssd"]}" name="s">\n<ssd:Connections>\n'
        '<ssd:Connection startConnector="a" endConnector="b" suppressUnitConversion="yes"/>'
        "</ssd:Connections></ssd:System>",
        PARSER,
        base_url="Main.ssd",
    )
    with pytest.raises(InvalidAttribute) as caught:
        _ = root.connections[0].suppress_unit_conversion
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.position.file, diagnostic.position.line) == ("XML-004", "Main.ssd", 3)
    assert diagnostic.position.address == "/Connections/Connection[@startConnector='a'][@endConnector='b']"


def test_a_missing_required_child_is_reported():
    with pytest.raises(InvalidDocument, match="BaseUnit"):
        _ = element(ssc.Unit, name="m").base_unit


def test_addresses_tell_elements_apart():
    system = parse(
        """<ssd:System name="a'b"><ssd:Elements><ssd:Component name="c"/></ssd:Elements>
        <ssd:GraphicalElements><ssd:Note/><ssd:Note/></ssd:GraphicalElements></ssd:System>"""
    )
    here = """/System[@name="a'b"]"""
    assert system.elements[0].address == f"{here}/Elements/Component[@name='c']"
    assert [note.address for note in system.notes] == [f"{here}/GraphicalElements/Note[{n}]" for n in (1, 2)]


def test_names_of_the_standard_win_over_those_of_lxml():
    binding = parse('<ssd:ParameterBinding prefix="p."/>')
    note = parse('<ssd:Note x1="0" y1="0" x2="1" y2="1" text="two\nlines"/>')
    enumeration = parse('<ssc:Enumeration name="e"><ssc:Item name="on" value="1"/></ssc:Enumeration>')
    assert binding.prefix == "p."
    assert note.text == "two lines"  # attribute values are normalized by XML
    assert [(item.name, item.value) for item in enumeration.items] == [("on", 1)]


def test_inline_documents_are_found_inside_their_wildcards():
    binding = parse(
        """<ssd:ParameterBinding><ssd:ParameterValues><!-- here -->
        <ssv:ParameterSet version="1.0" name="s"><ssv:Parameters/></ssv:ParameterSet></ssd:ParameterValues>
        <ssd:ParameterMapping><ssm:ParameterMapping version="1.0"/></ssd:ParameterMapping></ssd:ParameterBinding>"""
    )
    assert isinstance(binding.parameter_set, ssv.ParameterSet)
    assert isinstance(binding.parameter_mapping.inline, ssm.ParameterMapping)
    assert parse("<ssd:ParameterBinding/>").parameter_set is None
    assert parse("<ssd:SignalDictionary/>").inline is None


def test_mapping_transformations_are_tables():
    entries = '<ssc:MapEntry source="{}" target="{}"/>'
    boolean = parse(
        f"<ssc:BooleanMappingTransformation>{entries.format(1, 'false')}</ssc:BooleanMappingTransformation>"
    )
    integer = parse(f"<ssc:IntegerMappingTransformation>{entries.format(-1, 2**63)}</ssc:IntegerMappingTransformation>")
    items = parse(
        f"<ssc:EnumerationMappingTransformation>{entries.format('a', 'b')}</ssc:EnumerationMappingTransformation>"
    )
    assert (boolean.table, integer.table, items.table) == ({True: False}, {-1: 2**63}, {"a": "b"})


def test_a_child_that_has_no_place_is_refused():
    with pytest.raises(ValueError, match="Connection has no place for Component"):
        ssd.Connection.new().add(ssd.Component.new())


def test_an_unknown_attribute_is_refused_when_constructing():
    with pytest.raises(TypeError, match="startElement"):
        ssd.Connection.new(startElement="a")


def test_the_root_cannot_be_deleted():
    with pytest.raises(ValueError, match="root"):
        ssd.System.new(name="s").delete()
