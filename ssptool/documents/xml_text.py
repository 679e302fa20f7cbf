"""Write an edited tree back to bytes: unchanged nodes are copied, edited tags keep the style of the document.

Serializing a tree loses the line breaks between attributes, quotes, character references, the XML declaration and more.
Therefore the bytes of a document are kept, with the offsets of every tag in them. To write, the bytes are parsed once
more: where a node of the edited tree still equals its pristine counterpart, its bytes are copied.
"""

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count, repeat
from typing import cast
from weakref import ref

from lxml import etree

from ssptool.documents.element import LINE_LOOKUPS, is_element, text_of

Namespaces = Mapping[str | None, str]  # prefixes to namespaces, as `nsmap` of lxml

XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"

# Exact for text that a parser has found to be well-formed and without DTD.
_TOKEN = re.compile(rb"""<(?:!--.*?--|!\[CDATA\[.*?\]\]|\?.*?\?|(?:[^>"']++|"[^"]*+"|'[^']*+')+)>""", re.DOTALL)
_START = re.compile(rb"<(?:(?P<none>!\[CDATA\[.*?\]\]>|\?xml\s.*?\?>)|!--.*?-->|\?.*?\?>|[^/])", re.DOTALL)
_INSTRUCTION_WITH_TAG = re.compile(rb"<\?(?:(?!\?>).)*<", re.DOTALL)
_NO_NODE = re.compile(rb"<!\[CDATA\[|<\?xml\s")
_SLASH = ord("/")
_ATTRIBUTE = re.compile(rb"""(\s+)([^\s=]+)(\s*=\s*)("[^"]*"|'[^']*')""")
_NAME = re.compile(rb"<[^\s/>]+")
# A parser would turn white space in attributes to spaces, and lone carriage returns to line breaks.
_IN_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_IN_ATTRIBUTE = {"&": "&amp;", "<": "&lt;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
_IN_QUOTES = {
    '"': str.maketrans({**_IN_ATTRIBUTE, '"': "&quot;"}),
    "'": str.maketrans({**_IN_ATTRIBUTE, "'": "&apos;"}),
}


def _offsets(known: Iterable[int] = ()) -> "array[int]":
    """Many numbers in little memory."""
    return array("q", known)


@dataclass(frozen=True, slots=True)
class Tags:
    """Offsets for each node (element, comment, processing instruction), numbered in document order.

    A node is `start … end`, its start tag (or all of it) `start … open_end`, its end tag `close_start … end`. The text
    after the start tag ends at `text_end`, the text after the node at `tail_end`. The `parent` of top-level nodes is
    -1.
    """

    start: "array[int]"
    open_end: "array[int]"
    text_end: "array[int]"
    close_start: "array[int]"
    end: "array[int]"
    tail_end: "array[int]"
    parent: "array[int]"


def find_starts(source: bytes) -> "array[int]":
    """The offset of each node in a well-formed document without DTD; a faster `find_tags(source).start`."""
    return array("q", (found.start() for found in _START.finditer(source) if found.lastgroup is None))


def find_tags(source: bytes) -> Tags:
    """The tags of a well-formed document without DTD."""
    start, open_end, text_end, close_start, close_end, tail_end, parent = columns = [list[int]() for _ in range(7)]
    opened: list[int] = []
    run, owner = tail_end, -1  # where to store the end of the present text
    for token in _TOKEN.finditer(source):
        first, last = token.span()
        kind = source[first + 1]
        if kind in b"!?" and _NO_NODE.match(source, first):
            continue
        if owner >= 0:
            run[owner] = first
        if kind == _SLASH:
            owner, run = opened.pop(), tail_end
            close_start[owner], close_end[owner] = first, last
            continue
        owner = len(start)
        start.append(first)
        parent.append(opened[-1] if opened else -1)
        for column in (open_end, text_end, close_start, close_end, tail_end):
            column.append(last)
        run = tail_end
        if kind not in b"!?" and source[last - 2] != _SLASH:
            opened.append(owner)
            run = text_end
    run[owner] = len(source)
    return Tags(*map(_offsets, columns))


def tag_name(tag: bytes) -> bytes:
    """The name in a start tag."""
    found = _NAME.match(tag)
    assert found is not None
    return found[0][1:]


def edited_tag(tag: bytes, node: etree._Element, pristine: etree._Element) -> bytes:
    """A start tag with edited attributes: unchanged attributes keep their bytes, new ones follow the last."""
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
            parts += [found[1], found[2], found[3], quoted(value, quote).encode()]
    for prefix, uri in node.nsmap.items():
        if pristine.nsmap.get(prefix) != uri:
            parts += [space, declaration(prefix).encode(), b"=", quoted(uri, quote).encode()]
    for key, value in missing.items():
        parts += [space, attribute_name(key, node.nsmap).encode(), b"=", quoted(value, quote).encode()]
    return b"".join((*parts, tag[end:]))


def attributes(node: etree._Element) -> dict[str, str]:
    return cast(dict[str, str], dict(node.attrib))


def declaration(prefix: str | None) -> str:
    """The attribute that declares a prefix."""
    return f"xmlns:{prefix}" if prefix else "xmlns"


def attribute_name(key: str, scope: Namespaces) -> str:
    """Name of an attribute with the prefix of its namespace."""
    uri, local = _parted(key)
    if not uri:
        return local
    if uri == XML_NAMESPACE:
        return f"xml:{local}"
    return f"{next(prefix for prefix, known in scope.items() if prefix and known == uri)}:{local}"


def element_name(node: etree._Element, scope: Namespaces) -> str:
    """Name of an element, with its own prefix if that is in scope, otherwise with any prefix of its namespace."""
    uri, local = _parted(node.tag)
    if not uri:
        return local
    # Not via the element class: ssd:ParameterBinding has its own `prefix`.
    own: str | None = etree._Element.__dict__["prefix"].__get__(node)
    known = [prefix for prefix, candidate in scope.items() if candidate == uri]
    prefix = own if own in known else known[0]
    return f"{prefix}:{local}" if prefix else local


def quoted(value: str, quote: str = '"') -> str:
    """Value of an attribute as written in a tag."""
    return f"{quote}{value.translate(_IN_QUOTES[quote])}{quote}"


def escaped(text: str) -> str:
    """Character data as written between tags."""
    return text.translate(_IN_TEXT)


def _parted(name: str) -> tuple[str, str]:
    uri, _, local = name[1:].rpartition("}") if name.startswith("{") else ("", "", name)
    return uri, local


def _expanded(name: str, scope: Namespaces) -> str | None:
    """Full name of an attribute; None for the declaration of a namespace."""
    prefix, colon, local = name.rpartition(":")
    if name == "xmlns" or prefix == "xmlns":
        return None
    if not colon:
        return name
    return f"{{{XML_NAMESPACE if prefix == 'xml' else scope[prefix]}}}{local}"


class SourceText:
    """The bytes of a document and the offsets of all nodes of its tree.

    `lines` are those of the nodes, if they come from another file. References to the nodes prevent lxml from
    re-creating their Python objects, so that a node can be identified by its object.
    """

    def __init__(self, source: bytes, root: etree._Element, lines: Sequence[int] | None = None) -> None:
        self.bytes = source
        self._stated_lines = lines
        self.root = root
        self.nodes = list(_nodes(root))
        LINE_LOOKUPS[root] = ref(self)

    @cached_property
    def tags(self) -> Tags:
        tags = find_tags(self.bytes)
        if len(self.nodes) != len(tags.start):
            raise RuntimeError(f"{len(self.nodes)} nodes, {len(tags.start)} tags: please report this document")
        return tags

    @cached_property
    def number(self) -> "dict[etree._Element, int]":
        return {node: number for number, node in enumerate(self.nodes)}

    @cached_property
    def _lines(self) -> Sequence[int]:
        return _offsets(lines_of_nodes(self.bytes)) if self._stated_lines is None else self._stated_lines

    def line_of(self, node: etree._Element) -> int:
        """Line on which a node starts, from 1; 0 if it is not in the source."""
        number = self.number.get(node)
        return 0 if number is None or number >= len(self._lines) else self._lines[number]

    def node_at(self, offset: int) -> etree._Element | None:
        """The innermost node around an offset."""
        number = bisect_right(self.tags.start, offset) - 1
        while number >= 0 and self.tags.end[number] <= offset:
            number = self.tags.parent[number]
        return self.nodes[number] if number >= 0 else None

    def start_tag(self, node: etree._Element) -> tuple[int, int]:
        """Offsets of the start tag of a node that was read; for a comment or instruction of the whole node."""
        number = self.number[node]
        return self.tags.start[number], self.tags.open_end[number]

    def extent(self, node: etree._Element) -> tuple[int, int]:
        """Offsets of a node that was read, from its start tag to its end tag."""
        number = self.number[node]
        return self.tags.start[number], self.tags.end[number]

    def attribute_values(self, node: etree._Element) -> Iterator[tuple[str, int, int]]:
        """Attributes in the start tag of an element as written, with the offsets of their values."""
        return self.attribute_values_at(self.number[node])

    def attribute_values_at(self, number: int) -> Iterator[tuple[str, int, int]]:
        """The same for the number of a node, which is faster for many nodes."""
        start, end = self.tags.start[number], self.tags.open_end[number]
        name = _NAME.match(self.bytes, start)
        assert name is not None
        for found in _ATTRIBUTE.finditer(self.bytes, name.end(), end):
            first, last = found.span(4)
            yield found[2].decode(), first + 1, last - 1

    def to_bytes(self) -> bytes:
        return _SourceWriter(self).document()


_COMPARED_WHOLE = 65_536
"""Bytes up to which an element is compared as a whole with what was read, so that nesting costs little."""


class _SourceWriter:
    """One pass over the edited tree that writes its bytes piece by piece."""

    def __init__(self, source: SourceText) -> None:
        self._bytes = source.bytes
        self._parts: list[bytes] = []
        self._write = self._parts.append
        self._tags = source.tags
        self._number = source.number
        self._root = source.root
        parser = etree.XMLParser(resolve_entities=False, no_network=True, collect_ids=False)
        self._pristine = list(_nodes(etree.fromstring(source.bytes, parser)))
        first_end = source.bytes.find(b"\n")
        self._line_end = "\r\n" if source.bytes[max(first_end - 1, 0) : first_end] == b"\r" else "\n"

    def document(self) -> bytes:
        now = list(_top(self._root))
        before = [number for number, parent in enumerate(self._tags.parent) if parent < 0]
        unchanged = [self._number.get(node) for node in now] == before
        self._write(self._bytes[: self._tags.start[0]])
        for node in now:
            self._node(node, None)
            if unchanged:
                self._write(self._tail(node))
            elif node is not now[-1]:
                self._write(self._line_end.encode())
        if not unchanged:
            self._write(self._bytes[self._tags.end[before[-1]] :])
        return b"".join(self._parts)

    def _node(self, node: etree._Element, scope: Namespaces | None) -> None:
        """A node without its tail. `scope` are the prefixes in scope; None: the node has not moved."""
        number = self._number.get(node)
        if not is_element(node):
            self._write(self._aside(node, number))
        elif number is None or self._in_other_scope(number, scope) or self._left_default_namespace(node, number):
            above = node.getparent()
            self._new_element(node, scope or ({} if above is None else above.nsmap))
        else:
            self._known_element(node, number)

    def _in_other_scope(self, number: int, scope: Namespaces | None) -> bool:
        """True if a node was moved to a scope with other prefixes, so that its bytes cannot be copied."""
        above = self._pristine[number].getparent()
        return scope is not None and (above is None or above.nsmap != scope)

    def _left_default_namespace(self, node: etree._Element, number: int) -> bool:
        """True if an element was renamed so that the default namespace around it must be undeclared."""
        renamed = node.tag != self._pristine[number].tag
        return renamed and not node.tag.startswith("{") and None in node.nsmap

    def _aside(self, node: etree._Element, number: int | None) -> bytes:
        """A comment or a processing instruction."""
        if number is not None and node.text == self._pristine[number].text:
            return self._bytes[self._tags.start[number] : self._tags.end[number]]
        text = (node.text or "").replace("\n", self._line_end)
        if isinstance(node, etree._ProcessingInstruction):
            return f"<?{cast(str, node.target)} {text}?>".encode()
        return f"<!--{text}-->".encode()

    def _known_element(self, node: etree._Element, number: int) -> None:
        start, end = self._tags.start[number], self._tags.end[number]
        if end - start <= _COMPARED_WHOLE and _canonical(node) == _canonical(self._pristine[number]):
            self._write(self._bytes[start:end])
            return
        opening, closing = self._tags_of(node, number)
        self._write(opening)
        if (text_of(node) or "") == (text_of(self._pristine[number]) or ""):
            self._write(self._bytes[self._tags.open_end[number] : self._tags.text_end[number]])
        else:
            self._write(self._text(text_of(node)))
        for child in node:
            child_number = self._number.get(child, -1)
            in_place = child_number >= 0 and self._tags.parent[child_number] == number
            self._node(child, None if in_place else node.nsmap)
            self._write(self._tail(child))
        self._write(closing)

    def _tags_of(self, node: etree._Element, number: int) -> tuple[bytes, bytes]:
        """Start tag and end tag; the end tag is empty for an empty element that was written as one tag."""
        tags, pristine = self._tags, self._pristine[number]
        opening = self._bytes[tags.start[number] : tags.open_end[number]]
        closing = self._bytes[tags.close_start[number] : tags.end[number]]
        if node.tag != pristine.tag or attributes(node) != attributes(pristine):
            opening = edited_tag(opening, node, pristine)
        if not closing and (len(node) or text_of(node)):
            opening = opening[:-2].rstrip() + b">"
            closing = b"</" + tag_name(opening) + b">"
        elif closing and not len(node) and not text_of(node) and (len(pristine) or text_of(pristine)):
            # all its content is gone, so it is written as one tag
            opening, closing = opening[:-1].rstrip() + b"/>", b""
        elif closing and node.tag != pristine.tag:
            closing = b"</" + tag_name(opening) + b">"
        return opening, closing

    def _new_element(self, node: etree._Element, outer: Namespaces) -> None:
        wanted = node.nsmap
        if not node.tag.startswith("{"):
            wanted[None] = ""  # it is in no namespace, so no default namespace may be in scope
        declared = {prefix: uri for prefix, uri in wanted.items() if outer.get(prefix, "") != uri}
        scope = {**outer, **declared}
        name = element_name(node, scope).encode()
        parts = [declaration(prefix).encode() + b"=" + quoted(uri).encode() for prefix, uri in declared.items()]
        for key, value in attributes(node).items():
            parts.append(attribute_name(key, scope).encode() + b"=" + quoted(value).encode())
        start = b" ".join((b"<" + name, *parts))
        if not len(node) and not text_of(node):
            self._write(start + b"/>")
            return
        self._write(start + b">")
        self._write(self._text(text_of(node)))
        for child in node:
            self._node(child, scope)
            self._write(self._tail(child))
        self._write(b"</" + name + b">")

    def _tail(self, node: etree._Element) -> bytes:
        number = self._number.get(node)
        if number is not None and (node.tail or "") == (self._pristine[number].tail or ""):
            return self._bytes[self._tags.end[number] : self._tags.tail_end[number]]
        return self._text(node.tail)

    def _text(self, text: str | None) -> bytes:
        return escaped(text or "").replace("\n", self._line_end).encode()


def lines_of_nodes(source: bytes) -> Iterator[int]:
    """The line, from 1, on which each node starts, in document order."""
    declared = source.startswith((b"<?xml ", b"\xef\xbb\xbf<?xml "))
    if b"<!" in source or _INSTRUCTION_WITH_TAG.search(source):
        return _lines_at(source, find_starts(source))
    # Without comments, CDATA and tags in instructions, each `<` that does not start an end tag starts a node.
    numbers = [line.count(b"<") - line.count(b"</") if line else 0 for line in source.split(b"\n")]
    numbers[0] -= declared
    return chain.from_iterable(map(repeat, count(1), numbers))


def _lines_at(source: bytes, offsets: "array[int]") -> Iterator[int]:
    """Line numbers, from 1, of ascending offsets."""
    line, before = 1, 0
    for offset in offsets:
        line += source.count(b"\n", before, offset)
        before = offset
        yield line


def _top(root: etree._Element) -> Iterator[etree._Element]:
    """The root with the comments and instructions around it, in document order."""
    yield from reversed(list(root.itersiblings(preceding=True)))
    yield root
    yield from root.itersiblings()


def _canonical(node: etree._Element) -> bytes:
    """An element with its content, namespaces included: equal for equal elements."""
    written: bytes = etree.tostring(node, with_tail=False)
    return written


def _nodes(root: etree._Element) -> Iterator[etree._Element]:
    for node in _top(root):
        yield from node.iter()
