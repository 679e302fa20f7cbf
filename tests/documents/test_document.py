"""What is not a document is refused with code, file and line; what is, tells its kind."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssptool.documents import ssd, ssv
from ssptool.documents.diagnostics import InvalidDocument, Position, Severity
from ssptool.documents.document import Document, Format
from ssptool.documents.vocabulary import SSB, SSD, SSM, SSV

SPLINTERS = [
    b"<",
    b">",
    b"/>",
    b"</a>",
    b"<!--",
    b"-->",
    b"]]>",
    b"<![CDATA[",
    b"'",
    b'"',
    b"&",
    b";",
    b" ",
    b"<?",
    b"<!DOCTYPE a>",
]

BOMB = '<!DOCTYPE b [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(12)
)


@pytest.mark.parametrize(
    ("source", "code", "line"),
    [
        (b"", "XML-001", 1),
        (b"<a>\n\n<b></a>", "XML-001", 3),
        (b"<a>\n", "XML-001", 2),
        (b"<a>\n<b x='1' x='2'/></a>", "XML-001", 2),
        (b"<a>\n\n\n<p:b/></a>", "XML-001", 4),
        (b"<a>\n<b x='<'/></a>", "XML-001", 2),
        (b"<a>\n&nbsp;</a>", "XML-001", 2),
        (b"<a/>\n<a/>", "XML-001", 2),
        (b"PK\x03\x04", "XML-001", 1),
        (b"<a>\n" * 300 + b"</a>" * 300, "XML-001", 257),
        (b"<a>\n\xe4</a>", "XML-002", 2),
        (b"<?xml version='1.0' encoding='ISO-8859-1'?><a/>", "XML-002", 1),
        ('<?xml version="1.0" encoding="UTF-16"?><a/>'.encode("utf-16"), "XML-002", 1),
        ("<a/>".encode("utf-16-le"), "XML-002", 1),
        (b"<!-- -->\n<!DOCTYPE a>\n<a/>", "XML-011", 2),
        (b'<!DOCTYPE a SYSTEM "http://127.0.0.1:9/a.dtd"><a/>', "XML-011", 1),
        (b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>', "XML-011", 1),
        ((BOMB + "]><b>&m;</b>").encode(), "XML-011", 1),
        ((BOMB + ']><b x="&m;"').encode(), "XML-011", 1),
    ],
)
def test_what_is_no_safe_xml_is_refused_with_its_code_and_line(source, code, line):
    with pytest.raises(InvalidDocument) as caught:
        Document("resources/a.ssv", source)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.severity) == (code, Severity.ERROR)
    assert (diagnostic.position.file, diagnostic.position.line) == ("resources/a.ssv", line)
    assert diagnostic.message
    assert diagnostic.advice


@pytest.mark.parametrize(
    ("source", "message", "advice"),
    [
        (b'<a b="R & D"/>', "a `&` is not escaped", "write `&amp;` for `&`"),
        (b'<a b="R&D"/>', "a `&` is not escaped", "write `&amp;` for `&`"),
        (b'<a b="&nbsp;"/>', "XML has no entity `&nbsp;`", "write the character itself, or `&amp;` for `&`"),
        (b"<a b=c/>", "the value of an attribute has no quotes", 'write attributes as name="value"'),
        (b'<a b="c<d"/>', "the value of an attribute contains `<`", "write `&lt;` for `<`"),
        (
            b"<a><b\n<c/></a>",
            "a tag continues with something that is not an attribute",
            "add the `>` that ends the tag",
        ),
        (b'<a b="c d="e"/>', "the attributes of a tag cannot be told apart", "a quote that is missing"),
        (b"<a>\n<b>\n</a>", "end tag of a, expected the end tag of b, which begins in line 2", "add the end tag of b"),
        (b"<a>\n<b>", "the file ends before the end tag of b, which begins in line 2", "add the end tag of b"),
        (b"<a b='' b=''/>", "the attribute b occurs twice in a tag", "remove one of them"),
        (b"<ssc:Unit/>", "the prefix ssc has no namespace", 'xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureC'),
        (b"", "the file is empty", "`ssptool new`"),
        (b"hello", "no element begins here", "of another format"),
        (b"<a/><b/>", "text or an element follows the end of the root", "remove it"),
        (b" <?xml version='1.0'?><a/>", "the declaration <?xml …?> is not the first thing", "remove blanks"),
        (b"<a><!-- b -- c --></a>", "a comment contains `--`", "write a single hyphen"),
    ],
)
def test_syntax_errors_are_told_in_words_of_engineers(source, message, advice):
    with pytest.raises(InvalidDocument) as caught:
        Document("a.ssv", source)
    (diagnostic,) = caught.value.diagnostics
    assert message in diagnostic.message
    assert advice in diagnostic.advice


@pytest.mark.parametrize("declared", ["UTF-8", "utf-8", "Utf-8"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_utf8_is_accepted_in_any_spelling_with_or_without_byte_order_mark(declared, mark):
    source = mark + f'<?xml version="1.0" encoding="{declared}"?><ä/>'.encode()
    assert Document("a", source).to_bytes() == source


@pytest.mark.parametrize(
    ("uri", "local", "kind"),
    [
        (SSD, "SystemStructureDescription", Format.SSD),
        (SSV, "ParameterSet", Format.SSV),
        (SSM, "ParameterMapping", Format.SSM),
        (SSB, "SignalDictionary", Format.SSB),
        (SSD, "SignalDictionary", None),
        ("urn:x", "ParameterSet", None),
    ],
)
def test_the_root_tells_the_format(uri, local, kind):
    assert Document("a", f'<{local} xmlns="{uri}"/>'.encode()).format == kind


def test_the_version_is_given_as_it_stands():
    assert Document("a", b'<a version="1.0-beta"/>').version == "1.0-beta"
    assert Document("a", b"<a/>").version == ""


def test_the_wrong_kind_of_root_is_reported():
    document = Document("a.ssv", f'\n<p:System xmlns:p="{SSD}"/>'.encode())
    with pytest.raises(InvalidDocument, match="XML-003") as caught:
        document.root_as(ssv.ParameterSet)
    assert caught.value.diagnostics[0].position == Position("a.ssv", 2, "/")
    assert isinstance(document.root_as(ssd.System), ssd.System)


def test_a_document_knows_whether_it_changed():
    document = Document("a", f'<p:System xmlns:p="{SSD}" name="a"/>'.encode())
    assert not document.changed
    document.root_as(ssd.System).name = "b"
    assert document.changed


@pytest.mark.parametrize("name", ["a.ssd", "resources/My Straße & x#%20.ssv", "日本.ssd"])
def test_positions_name_the_file_whatever_its_name(name):
    assert Document(name, b"<a/>").root.position == Position(name, 1, "/")


@settings(max_examples=200)
@given(st.data())
def test_any_bytes_are_a_document_or_refused(data):
    source = bytearray(
        b"\xef\xbb\xbf<?xml version='1.0' encoding='UTF-8'?>\r\n<!-- c --><?p q?>"
        b"<a xmlns='urn:a' b = 'c'>&#x41;<![CDATA[d]]><e/></a>"
    )
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(source) - 1))
        source[place : place + data.draw(st.integers(0, 2))] = data.draw(
            st.sampled_from(SPLINTERS) | st.binary(max_size=2)
        )
    try:
        assert Document("a", bytes(source)).to_bytes() == bytes(source)
    except InvalidDocument as refused:
        assert refused.diagnostics


@pytest.mark.parametrize(
    ("source", "limit"),
    [
        (b"<a>" * 300 + b"</a>" * 300, "elements are nested deeper than the limit of 256 levels"),
        (b"<a>" + b"x" * 11_000_000 + b"</a>", "the document exceeds a limit of the XML reader: "),
    ],
    ids=["deep", "long"],
)
def test_a_limit_of_the_reader_is_not_told_as_wrong_syntax(source, limit):
    with pytest.raises(InvalidDocument) as caught:
        Document("a.ssd", source)
    found = caught.value.diagnostics[0]
    assert (found.code, found.message.startswith(limit)) == ("XML-001", True)
    assert found.advice
    assert "syntax" not in str(found)
    assert "XML_PARSE_HUGE" not in found.message
