"""The way back from an edited tree to bytes: what did not change is copied, the rest is written in its style.

Serializing a tree loses the line breaks between attributes, quotes, character references, the XML declaration and
more. Therefore the bytes of a document are kept, with the place of every tag in them. To write, the bytes are parsed
once more: where a node of the edited tree still equals its pristine counterpart, its bytes are copied.
"""

import re
from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from xml.sax.saxutils import escape

from lxml import etree

from ssptool.documents.layout import text_of

Scope = Mapping[str | None, str]

# Exact for text that a parser has found to be well-formed and without DTD.
_TOKEN = re.compile(
    rb"""<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<(?:[^>"']|"[^"]*"|'[^']*')+>""",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(rb"""(\s+)([^\s=]+)(\s*=\s*)("[^"]*"|'[^']*')""")
_TAG_NAME = re.compile(rb"<[^\s/>]+")
_XML = "http://www.w3.org/XML/1998/namespace"
# libxml2 stores lines in 16 bits and has its own way of telling greater ones.
_GREATEST_STORED_LINE = 65534
_REFERENCES = {"\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}


class Source:
    """The bytes of a document and the place of every node of its tree in them.

    Holding the nodes keeps lxml from re-creating their Python objects, so that a node is known again by identity.
    """

    def __init__(self, source: bytes, root: etree._Element) -> None:
        self._bytes = source
        self._start, self._open_end = array("q"), array("q")  # of the start tag, comment or instruction
        self._close_start, self._end = array("q"), array("q")  # of the end tag; of it all
        self._parent = array("q")
        self.depth = 0
        self._find_tags()
        self._nodes = list(_nodes(root))
        self._number = {node: number for number, node in enumerate(self._nodes)}
        if len(self._number) != len(self._start):
            raise RuntimeError(
                f"{len(self._number)} nodes but {len(self._start)} tags: please report this document"
            )
        self._line_ends = array("q", (found.start() for found in re.finditer(rb"\n", source)))
        self._tell_lines()

    def line_of(self, node: etree._Element) -> int:
        """The line on which a node starts, from 1; 0 if it is not in the source."""
        number = self._number.get(node)
        return 0 if number is None else bisect_right(self._line_ends, self._start[number]) + 1

    def to_bytes(self) -> bytes:
        return b"".join(Writing(self).document())

    def _find_tags(self) -> None:
        opened: list[int] = []
        for token in _TOKEN.finditer(self._bytes):
            start, end = token.span()
            second = self._bytes[start + 1 : start + 2]
            if second == b"/":
                number = opened.pop()
                self._close_start[number], self._end[number] = start, end
            elif not self._bytes.startswith((b"<![", b"<?xml ", b"<?xml\t", b"<?xml\r", b"<?xml\n"), start):
                self._parent.append(opened[-1] if opened else -1)
                if second not in b"!?" and self._bytes[end - 2] != ord("/"):
                    opened.append(len(self._start))
                    self.depth = max(self.depth, len(opened))
                self._start.append(start)
                for place in (self._open_end, self._close_start, self._end):
                    place.append(end)

    def _tell_lines(self) -> None:
        """Where a start tag spans lines, libxml2 knows its last line; diagnostics name the first."""
        for node in self._nodes:
            line = self.line_of(node)
            if line <= _GREATEST_STORED_LINE:
                node.sourceline = line  # type: ignore[assignment]

    def _siblings(self) -> dict[int, list[int]]:
        """The numbers of the children of each node; -1 is the document."""
        siblings: dict[int, list[int]] = defaultdict(list)
        for number, parent in enumerate(self._parent):
            siblings[parent].append(number)
        return siblings


class Writing:
    """One pass over the edited tree, giving its bytes piece by piece."""

    def __init__(self, source: Source) -> None:
        self._bytes = source._bytes
        self._source = source
        self._number = source._number
        root = source._nodes[source._siblings()[-1][0]].getroottree().getroot()
        parser = etree.XMLParser(resolve_entities=False, no_network=True, collect_ids=False)
        self._root = root
        self._pristine = list(_nodes(etree.fromstring(self._bytes, parser)))
        self._following = self._starts_that_follow()
        first_end = self._bytes.find(b"\n")
        self._line_end = "\r\n" if first_end > 0 and self._bytes[first_end - 1] == ord("\r") else "\n"

    def document(self) -> Iterator[bytes]:
        source = self._source
        before = source._siblings()[-1]
        now = list(_top(self._root))
        unchanged = [self._number.get(node) for node in now] == before
        yield self._bytes[: source._start[before[0]]]
        for place, node in enumerate(now):
            yield from self._node(node, True, {})
            if unchanged:
                number = before[place]
                yield self._bytes[source._end[number] : self._following[number]]
            elif node is not now[-1]:
                yield self._line_end.encode()
        if not unchanged:
            yield self._bytes[source._end[before[-1]] :]

    def _starts_that_follow(self) -> list[int]:
        """For each node the offset at which the text after it ends, for -n that of the text inside its start."""
        source = self._source
        following = [0] * len(source._start)
        for parent, numbers in source._siblings().items():
            ends = [source._start[number] for number in numbers[1:]]
            ends.append(source._close_start[parent] if parent >= 0 else len(self._bytes))
            for number, end in zip(numbers, ends, strict=True):
                following[number] = end
        self._text_end = list(source._close_start)
        for parent, numbers in source._siblings().items():
            if parent >= 0:
                self._text_end[parent] = source._start[numbers[0]]
        return following

    def _node(self, node: etree._Element, in_place: bool, scope: Scope) -> Iterator[bytes]:
        """A node without its tail. `in_place`: below the same parent as before; else `scope` tells the prefixes."""
        number = self._number.get(node)
        if number is not None and not in_place:
            parent = self._pristine[number].getparent()
            in_place = parent is not None and dict(parent.nsmap) == dict(scope)
        known = number if in_place else None
        if not isinstance(node.tag, str):
            yield self._aside(node, known)
        elif known is None:
            yield from self._new_element(node, scope)
        else:
            yield from self._known_element(node, known)

    def _aside(self, node: etree._Element, number: int | None) -> bytes:
        """A comment or a processing instruction."""
        if number is not None and node.text == self._pristine[number].text:
            return self._bytes[self._source._start[number] : self._source._end[number]]
        text = (node.text or "").replace("\n", self._line_end)
        if node.tag is etree.Comment:
            return f"<!--{text}-->".encode()
        target: str = node.target  # type: ignore[attr-defined]
        return f"<?{target} {text}?>".encode()

    def _known_element(self, node: etree._Element, number: int) -> Iterator[bytes]:
        source, pristine = self._source, self._pristine[number]
        was_empty = source._open_end[number] == source._end[number]
        is_empty = not len(node) and not text_of(node)
        tag = self._bytes[source._start[number] : source._open_end[number]]
        if node.tag != pristine.tag or dict(node.attrib) != dict(pristine.attrib):
            tag = _edited_tag(tag, node, pristine)
        if not was_empty:
            close = self._bytes[source._close_start[number] : source._end[number]]
            if node.tag != pristine.tag:
                close = b"</" + _name(node, node.nsmap).encode() + b">"
        elif not is_empty:
            close = b"</" + _TAG_NAME.match(tag)[0][1:] + b">"  # type: ignore[index]
            tag = tag[:-2].rstrip() + b">"
        else:
            close = b""
        yield tag
        if (text_of(node) or "") == (text_of(pristine) or ""):
            yield self._bytes[source._open_end[number] : self._text_end[number]]
        else:
            yield self._text(text_of(node))
        scope: Scope | None = None
        for child in node:
            child_number = self._number.get(child)
            in_place = child_number is not None and source._parent[child_number] == number
            if not in_place and scope is None:
                scope = node.nsmap
            yield from self._node(child, in_place, scope or {})
            yield self._tail(child, child_number)
        yield close

    def _new_element(self, node: etree._Element, outer: Scope) -> Iterator[bytes]:
        declared = {prefix: uri for prefix, uri in node.nsmap.items() if outer.get(prefix) != uri}
        if not node.tag.startswith("{") and outer.get(None):
            declared[None] = ""
        scope = {**outer, **declared}
        name = _name(node, scope)
        parts = [
            f'xmlns{":" + prefix if prefix else ""}="{_quoted(uri)}"' for prefix, uri in declared.items()
        ]
        parts += [f'{_prefixed(key, scope)}="{_quoted(value)}"' for key, value in _attributes(node)]
        start = " ".join((f"<{name}", *parts)).encode()
        if not len(node) and not text_of(node):
            yield start + b"/>"
            return
        yield start + b">"
        yield self._text(text_of(node))
        for child in node:
            yield from self._node(child, False, scope)
            yield self._tail(child, self._number.get(child))
        yield f"</{name}>".encode()

    def _tail(self, node: etree._Element, number: int | None) -> bytes:
        if number is not None and (node.tail or "") == (self._pristine[number].tail or ""):
            return self._bytes[self._source._end[number] : self._following[number]]
        return self._text(node.tail)

    def _text(self, text: str | None) -> bytes:
        written = escape(text or "", {"\r": "&#13;"})
        return written.replace("\n", self._line_end).encode()


def _top(root: etree._Element) -> Iterator[etree._Element]:
    """The root with the comments and instructions around it, in document order."""
    yield from reversed(list(root.itersiblings(preceding=True)))
    yield root
    yield from root.itersiblings()


def _nodes(root: etree._Element) -> Iterator[etree._Element]:
    for node in _top(root):
        yield from node.iter()


def _edited_tag(tag: bytes, node: etree._Element, pristine: etree._Element) -> bytes:
    """A start tag with other attributes: those that stay keep their bytes, new ones follow the last."""
    missing = dict(_attributes(node))
    before = dict(_attributes(pristine))
    name = _TAG_NAME.match(tag)[0]  # type: ignore[index]
    parts = [name if node.tag == pristine.tag else b"<" + _name(node, node.nsmap).encode()]
    space, quote, end = b" ", '"', len(name)
    for found in _ATTRIBUTE.finditer(tag, end):
        end = found.end()
        space, quote = found[1], chr(found[4][0])
        key = _expanded(found[2].decode(), pristine.nsmap)
        value = missing.pop(key, None) if key is not None else None
        if key is None or value == before[key]:
            parts.append(found[0])
        elif value is not None:
            parts += [found[1], found[2], found[3], f"{quote}{_quoted(value, quote)}{quote}".encode()]
    for prefix, uri in node.nsmap.items():
        if pristine.nsmap.get(prefix) != uri:
            declaration = f"xmlns:{prefix}" if prefix else "xmlns"
            parts += [space, f"{declaration}={quote}{_quoted(uri, quote)}{quote}".encode()]
    for key, value in missing.items():
        parts += [space, f"{_prefixed(key, node.nsmap)}={quote}{_quoted(value, quote)}{quote}".encode()]
    return b"".join((*parts, tag[end:]))


def _attributes(node: etree._Element) -> list[tuple[str, str]]:
    return [(str(key), str(value)) for key, value in node.attrib.items()]


def _expanded(name: str, scope: Scope) -> str | None:
    """The full name of an attribute; None for the declaration of a namespace."""
    prefix, colon, local = name.rpartition(":")
    if name == "xmlns" or prefix == "xmlns":
        return None
    if not colon:
        return name
    return f"{{{_XML if prefix == 'xml' else scope[prefix]}}}{local}"


def _prefixed(key: str, scope: Scope) -> str:
    """The name of an attribute with the prefix of its namespace."""
    uri, _, local = key[1:].rpartition("}") if key.startswith("{") else ("", "", key)
    if not uri:
        return local
    if uri == _XML:
        return f"xml:{local}"
    return f"{next(prefix for prefix, known in scope.items() if prefix and known == uri)}:{local}"


def _name(node: etree._Element, scope: Scope) -> str:
    """The name of an element, with its own prefix if that is in scope, else with any prefix of its namespace."""
    uri, _, local = node.tag[1:].rpartition("}") if node.tag.startswith("{") else ("", "", node.tag)
    if not uri:
        return local
    own: str | None = etree._Element.__dict__["prefix"].__get__(node)
    known = [prefix for prefix, candidate in scope.items() if candidate == uri]
    prefix = own if own in known else known[0]
    return f"{prefix}:{local}" if prefix else local


def _quoted(value: str, quote: str = '"') -> str:
    return escape(value, {quote: "&quot;" if quote == '"' else "&apos;", **_REFERENCES}).replace("&gt;", ">")
