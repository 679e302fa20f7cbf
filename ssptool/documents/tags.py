"""The tags of a document as bytes: where they are, and how one is edited without touching the rest of it."""

import re
from array import array
from collections.abc import Mapping
from dataclasses import field

from lxml import etree

from ssptool.dataclass import dataclass

Scope = Mapping[str | None, str]  # prefixes to namespaces, as `nsmap` of lxml

XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"

# Exact for text that a parser has found to be well-formed and without DTD.
_TOKEN = re.compile(rb"""<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<(?:[^>"']|"[^"]*"|'[^']*')+>""", re.DOTALL)
_START = re.compile(rb"<(?:(?P<none>!\[CDATA\[.*?\]\]>|\?xml\s.*?\?>)|!--.*?-->|\?.*?\?>|[^/])", re.DOTALL)
_NO_NODE = re.compile(rb"<!\[CDATA\[|<\?xml\s")
_ATTRIBUTE = re.compile(rb"""(\s+)([^\s=]+)(\s*=\s*)("[^"]*"|'[^']*')""")
_NAME = re.compile(rb"<[^\s/>]+")
# A parser would turn white space in attributes to spaces, and lone carriage returns to line breaks.
_IN_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_IN_ATTRIBUTE = {"&": "&amp;", "<": "&lt;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
_IN_QUOTES = {
    '"': str.maketrans({**_IN_ATTRIBUTE, '"': "&quot;"}),
    "'": str.maketrans({**_IN_ATTRIBUTE, "'": "&apos;"}),
}


def _offsets() -> "array[int]":
    return array("q")


@dataclass(frozen=True, slots=True)
class Tags:
    """Offsets for each node (element, comment, processing instruction), numbered in document order.

    A node is `start … end`, its start tag (or all of it) `start … open_end`, its end tag `close_start … end`. The text
    behind the start tag reaches to `text_end`, the text behind the node to `tail_end`. The `parent` of those at the
    top is -1.
    """

    start: "array[int]" = field(default_factory=_offsets)
    open_end: "array[int]" = field(default_factory=_offsets)
    text_end: "array[int]" = field(default_factory=_offsets)
    close_start: "array[int]" = field(default_factory=_offsets)
    end: "array[int]" = field(default_factory=_offsets)
    tail_end: "array[int]" = field(default_factory=_offsets)
    parent: "array[int]" = field(default_factory=_offsets)

    def add(self, start: int, end: int, parent: int) -> int:
        """A node that, until more of it is found, is only a start tag."""
        self.start.append(start)
        self.parent.append(parent)
        for place in (self.open_end, self.text_end, self.close_start, self.end, self.tail_end):
            place.append(end)
        return len(self.start) - 1


def find_starts(source: bytes) -> "array[int]":
    """Where each node starts, in a well-formed document without DTD; the same as `find_tags(source).start`, sooner."""
    return array("q", (found.start() for found in _START.finditer(source) if found.lastgroup is None))


def find_tags(source: bytes) -> Tags:
    """The tags of a well-formed document without DTD."""
    tags = Tags()
    opened: list[int] = []
    run, owner = _offsets(), -1  # where to note the end of the text that is being passed
    for token in _TOKEN.finditer(source):
        start, end = token.span()
        if _NO_NODE.match(source, start):
            continue
        if owner >= 0:
            run[owner] = start
        if source.startswith(b"</", start):
            owner = opened.pop()
            tags.close_start[owner], tags.end[owner] = start, end
            run = tags.tail_end
            continue
        owner = tags.add(start, end, opened[-1] if opened else -1)
        opens = source[start + 1] not in b"!?" and source[end - 2] != ord("/")
        run = tags.text_end if opens else tags.tail_end
        if opens:
            opened.append(owner)
    run[owner] = len(source)
    return tags


def tag_name(tag: bytes) -> bytes:
    """The name in a start tag."""
    found = _NAME.match(tag)
    assert found is not None
    return found[0][1:]


def edited_tag(tag: bytes, node: etree._Element, pristine: etree._Element) -> bytes:
    """A start tag with other attributes: those that stay keep their bytes, new ones follow the last."""
    missing, before = attributes(node), attributes(pristine)
    name = tag_name(tag)
    parts = [b"<", name if node.tag == pristine.tag else element_name(node, node.nsmap).encode()]
    space, quote, end = b" ", '"', len(name) + 1
    for found in _ATTRIBUTE.finditer(tag, end):
        end = found.end()
        space, quote = found[1], chr(found[4][0])
        key = _expanded(found[2].decode(), pristine.nsmap)
        value = missing.pop(key, None) if key is not None else None
        if key is None or value == before[key]:
            parts.append(found[0])
        elif value is not None:
            parts += [found[1], found[2], found[3], quoted(value, quote)]
    for prefix, uri in node.nsmap.items():
        if pristine.nsmap.get(prefix) != uri:
            parts += [space, declaration(prefix).encode(), b"=", quoted(uri, quote)]
    for key, value in missing.items():
        parts += [space, attribute_name(key, node.nsmap).encode(), b"=", quoted(value, quote)]
    return b"".join((*parts, tag[end:]))


def attributes(node: etree._Element) -> dict[str, str]:
    return {str(key): str(value) for key, value in node.attrib.items()}


def declaration(prefix: str | None) -> str:
    """The attribute that declares a prefix."""
    return f"xmlns:{prefix}" if prefix else "xmlns"


def attribute_name(key: str, scope: Scope) -> str:
    """The name of an attribute with the prefix of its namespace."""
    uri, local = _parted(key)
    if not uri:
        return local
    if uri == XML_NAMESPACE:
        return f"xml:{local}"
    return f"{next(prefix for prefix, known in scope.items() if prefix and known == uri)}:{local}"


def element_name(node: etree._Element, scope: Scope) -> str:
    """The name of an element, with its own prefix if that is in scope, else with any prefix of its namespace."""
    uri, local = _parted(node.tag)
    if not uri:
        return local
    # Past the classes of elements: an ssd:ParameterBinding has a `prefix` of its own.
    own: str | None = etree._Element.__dict__["prefix"].__get__(node)
    known = [prefix for prefix, candidate in scope.items() if candidate == uri]
    prefix = own if own in known else known[0]
    return f"{prefix}:{local}" if prefix else local


def quoted(value: str, quote: str = '"') -> bytes:
    """The value of an attribute as it stands in a tag."""
    return f"{quote}{value.translate(_IN_QUOTES[quote])}{quote}".encode()


def escaped(text: str) -> str:
    """Character data as it stands between tags."""
    return text.translate(_IN_TEXT)


def _parted(name: str) -> tuple[str, str]:
    uri, _, local = name[1:].rpartition("}") if name.startswith("{") else ("", "", name)
    return uri, local


def _expanded(name: str, scope: Scope) -> str | None:
    """The full name of an attribute; None for the declaration of a namespace."""
    prefix, colon, local = name.rpartition(":")
    if name == "xmlns" or prefix == "xmlns":
        return None
    if not colon:
        return name
    return f"{{{XML_NAMESPACE if prefix == 'xml' else scope[prefix]}}}{local}"
