"""The way back from an edited tree to bytes: what did not change is copied, the rest is written in its style.

Serializing a tree loses the line breaks between attributes, quotes, character references, the XML declaration and
more. Therefore the bytes of a document are kept, with the place of every tag in them. To write, the bytes are parsed
once more: where a node of the edited tree still equals its pristine counterpart, its bytes are copied.
"""

from array import array
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain, count, repeat
from typing import cast
from weakref import ref

from lxml import etree

from ssptool.documents.element import LINES
from ssptool.documents.layout import is_element, text_of
from ssptool.documents.tags import (
    Scope,
    Tags,
    attribute_name,
    attributes,
    declaration,
    edited_tag,
    element_name,
    escaped,
    find_starts,
    find_tags,
    quoted,
    tag_name,
)


class Source:
    """The bytes of a document and the place of every node of its tree in them.

    `lines` are those of the nodes, if they come from another file. Holding the nodes keeps lxml from re-creating their
    Python objects, so that a node is known again by identity.
    """

    def __init__(self, source: bytes, root: etree._Element, lines: Sequence[int] | None = None) -> None:
        self.bytes = source
        self._stated_lines = lines
        self.root = root
        self.nodes = list(_nodes(root))
        LINES[root] = ref(self)

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
    def lines(self) -> "dict[etree._Element, int]":
        """The line on which each node starts, from 1."""
        lines = _lines_of_nodes(self.bytes) if self._stated_lines is None else self._stated_lines
        return dict(zip(self.nodes, lines, strict=False))

    def line_of(self, node: etree._Element) -> int:
        """The line on which a node starts, from 1; 0 if it is not in the source."""
        return self.lines.get(node, 0)

    def to_bytes(self) -> bytes:
        return b"".join(_Writing(self).document())


class _Writing:
    """One pass over the edited tree, giving its bytes piece by piece."""

    def __init__(self, source: Source) -> None:
        self._bytes = source.bytes
        self._tags = source.tags
        self._number = source.number
        self._root = source.root
        parser = etree.XMLParser(resolve_entities=False, no_network=True, collect_ids=False)
        self._pristine = list(_nodes(etree.fromstring(source.bytes, parser)))
        first_end = source.bytes.find(b"\n")
        self._line_end = "\r\n" if source.bytes[max(first_end - 1, 0) : first_end] == b"\r" else "\n"

    def document(self) -> Iterator[bytes]:
        now = list(_top(self._root))
        before = [number for number, parent in enumerate(self._tags.parent) if parent < 0]
        unchanged = [self._number.get(node) for node in now] == before
        yield self._bytes[: self._tags.start[0]]
        for node in now:
            yield from self._node(node, None)
            if unchanged:
                yield self._tail(node)
            elif node is not now[-1]:
                yield self._line_end.encode()
        if not unchanged:
            yield self._bytes[self._tags.end[before[-1]] :]

    def _node(self, node: etree._Element, scope: Scope | None) -> Iterator[bytes]:
        """A node without its tail. `scope` are the prefixes around it; None: it is where it was."""
        number = self._number.get(node)
        if not is_element(node):
            yield self._aside(node, number)
        elif number is None or self._in_other_scope(number, scope) or self._left_default_namespace(node, number):
            above = node.getparent()
            yield from self._new_element(node, scope or ({} if above is None else above.nsmap))
        else:
            yield from self._known_element(node, number)

    def _in_other_scope(self, number: int, scope: Scope | None) -> bool:
        """Whether a node was moved to where prefixes have other meanings, so that its bytes cannot be used."""
        above = self._pristine[number].getparent()
        return scope is not None and (above is None or above.nsmap != scope)

    def _left_default_namespace(self, node: etree._Element, number: int) -> bool:
        """Whether an element was renamed so that the default namespace around it must be undeclared."""
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

    def _known_element(self, node: etree._Element, number: int) -> Iterator[bytes]:
        opening, closing = self._tags_of(node, number)
        yield opening
        if (text_of(node) or "") == (text_of(self._pristine[number]) or ""):
            yield self._bytes[self._tags.open_end[number] : self._tags.text_end[number]]
        else:
            yield self._text(text_of(node))
        for child in node:
            child_number = self._number.get(child, -1)
            in_place = child_number >= 0 and self._tags.parent[child_number] == number
            yield from self._node(child, None if in_place else node.nsmap)
            yield self._tail(child)
        yield closing

    def _tags_of(self, node: etree._Element, number: int) -> tuple[bytes, bytes]:
        """The start tag and the end tag; that is empty for an empty element that was written as one tag."""
        tags, pristine = self._tags, self._pristine[number]
        opening = self._bytes[tags.start[number] : tags.open_end[number]]
        closing = self._bytes[tags.close_start[number] : tags.end[number]]
        if node.tag != pristine.tag or attributes(node) != attributes(pristine):
            opening = edited_tag(opening, node, pristine)
        if not closing and (len(node) or text_of(node)):
            opening = opening[:-2].rstrip() + b">"
            closing = b"</" + tag_name(opening) + b">"
        elif closing and not len(node) and not text_of(node) and (len(pristine) or text_of(pristine)):
            # All that it held is gone, so it is written as one tag.
            opening, closing = opening[:-1].rstrip() + b"/>", b""
        elif closing and node.tag != pristine.tag:
            closing = b"</" + tag_name(opening) + b">"
        return opening, closing

    def _new_element(self, node: etree._Element, outer: Scope) -> Iterator[bytes]:
        wanted = node.nsmap
        if not node.tag.startswith("{"):
            wanted[None] = ""  # It is in no namespace, so no default may be in scope.
        declared = {prefix: uri for prefix, uri in wanted.items() if outer.get(prefix, "") != uri}
        scope = {**outer, **declared}
        name = element_name(node, scope).encode()
        parts = [declaration(prefix).encode() + b"=" + quoted(uri) for prefix, uri in declared.items()]
        for key, value in attributes(node).items():
            parts.append(attribute_name(key, scope).encode() + b"=" + quoted(value))
        start = b" ".join((b"<" + name, *parts))
        if not len(node) and not text_of(node):
            yield start + b"/>"
            return
        yield start + b">"
        yield self._text(text_of(node))
        for child in node:
            yield from self._node(child, scope)
            yield self._tail(child)
        yield b"</" + name + b">"

    def _tail(self, node: etree._Element) -> bytes:
        number = self._number.get(node)
        if number is not None and (node.tail or "") == (self._pristine[number].tail or ""):
            return self._bytes[self._tags.end[number] : self._tags.tail_end[number]]
        return self._text(node.tail)

    def _text(self, text: str | None) -> bytes:
        return escaped(text or "").replace("\n", self._line_end).encode()


def _lines_of_nodes(source: bytes) -> Iterator[int]:
    """The line, from 1, on which each node starts, in document order."""
    declared = source.startswith((b"<?xml ", b"\xef\xbb\xbf<?xml "))
    if b"<!" in source or source.count(b"<?") > declared:
        return _lines_at(source, find_starts(source))
    # Without comments, CDATA and instructions, each `<` that begins no end tag begins a node.
    numbers = [line.count(b"<") - line.count(b"</") for line in source.split(b"\n")]
    numbers[0] -= declared
    return chain.from_iterable(map(repeat, count(1), numbers))


def _lines_at(source: bytes, offsets: "array[int]") -> Iterator[int]:
    """The lines, from 1, of offsets that ascend."""
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


def _nodes(root: etree._Element) -> Iterator[etree._Element]:
    for node in _top(root):
        yield from node.iter()
