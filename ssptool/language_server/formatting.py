"""Formatting: correct indentation that differs from the rest of a document, and change nothing else.

The style is the author's. For each kind of element it is the additional indentation of its children and of its end tag
that most elements of this kind have. A document with a consistent style is left unchanged, byte for byte. The further
lines of a start tag or comment move with its first line; annotations are not changed.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from ssptool.documents import ssc
from ssptool.documents.document import Document
from ssptool.documents.xml_text import SourceText

_BLANKS = b" \t"
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"


class _Line(NamedTuple):
    """The start of a line before a node or its end tag, and the blanks there."""

    start: int
    indent: bytes


def formatted(document: Document) -> str:
    """The text of a document with corrected indentation, without a byte order mark."""
    source = document.source
    for start, end, indent in sorted(_Indentation(document.text).mended(), reverse=True):
        source = source[:start] + indent + source[end:]
    return source.decode("utf-8-sig")


class _Indentation:
    """The lines that begin with a tag, by the number of its node and whether it is an end tag."""

    def __init__(self, text: SourceText) -> None:
        self.text = text
        self.tags = text.tags
        self.lines: dict[tuple[int, bool], _Line] = {}
        for node in range(len(text.nodes)):
            self._add(node, False, self.tags.start[node])
            if self.tags.close_start[node] < self.tags.end[node]:
                self._add(node, True, self.tags.close_start[node])
        self.styles: dict[tuple[str, bool], bytes] = {}
        self._set_styles()

    def _add(self, node: int, closes: bool, at: int) -> None:
        start = self.text.bytes.rfind(b"\n", 0, at) + 1
        indent = self.text.bytes[start:at]
        if not indent.strip(_BLANKS):
            self.lines[node, closes] = _Line(start, indent)

    def _set_styles(self) -> None:
        """Store, by tag, the usual additional indentation of the children or of the end tag of an element.

        A single occurrence is not a style: it takes the usual indentation of the whole document, stored under "". Of
        several equally frequent indentations, the one that changes the fewest lines is taken.
        """
        found: dict[tuple[str, bool], Counter[bytes]] = defaultdict(Counter)
        for (node, closes), line in self.lines.items():
            owner = node if closes else self.tags.parent[node]
            around = self.lines.get((owner, False))
            if around is not None and self._is_judged(node) and line.indent.startswith(around.indent):
                for kind in ("", self._kind(owner)):
                    found[kind, closes][line.indent[len(around.indent) :]] += 1
        undecided = {}
        for (kind, closes), counts in found.items():
            if counts.total() > 1 or not kind:
                rank = {indent: (counts[indent], found["", closes][indent]) for indent in counts}
                self.styles[kind, closes] = max(rank, key=lambda indent: rank[indent])
                if len(usual := [one for one in counts if counts[one] == max(counts.values())]) > 1:
                    undecided[kind, closes] = sorted(usual, key=lambda indent: rank[indent], reverse=True)
        for key, usual in undecided.items():
            self.styles[key] = min(usual, key=lambda indent: self._changed_lines(key, indent))

    def _changed_lines(self, key: tuple[str, bool], indent: bytes) -> int:
        self.styles[key] = indent
        return sum(1 for _ in self.mended())

    def _kind(self, node: int) -> str:
        return str(self.text.nodes[node].tag)

    def mended(self) -> Iterator[tuple[int, int, bytes]]:
        """Places in the bytes, and the blanks to write there."""
        right: dict[int, bytes] = {}
        for node in range(len(self.text.nodes)):
            line = self.lines.get((node, False))
            if line is not None:
                right[node] = self._wanted(node, False, self.tags.parent[node], right)
                if right[node] != line.indent:
                    yield line.start, line.start + len(line.indent), right[node]
                    yield from self._continued(node, line, right[node])
        for (node, closes), line in self.lines.items():
            wanted = self._wanted(node, True, node, right) if closes else line.indent
            if wanted != line.indent:
                yield line.start, line.start + len(line.indent), wanted

    def _wanted(self, node: int, closes: bool, owner: int, right: dict[int, bytes]) -> bytes:
        """The correct indentation of a line that begins with a tag; the present one if the author has no style."""
        stated = self.lines[node, closes].indent
        style = None
        if owner >= 0:
            style = self.styles.get((self._kind(owner), closes), self.styles.get(("", closes)))
        if style is None or owner not in right or not self._is_judged(node):
            return stated
        return right[owner] + style

    def _continued(self, node: int, line: _Line, wanted: bytes) -> Iterator[tuple[int, int, bytes]]:
        """New indentation of the further lines of a start tag or comment; their distance from the first line is
        kept.
        """
        at, end = line.start, self.tags.open_end[node]
        while (at := self.text.bytes.find(b"\n", at, end) + 1) > 0:
            rest = self.text.bytes[at:end]
            indent = rest[: len(rest) - len(rest.lstrip(_BLANKS))]
            if indent.startswith(line.indent):
                yield at, at + len(indent), wanted + indent[len(line.indent) :]

    def _is_judged(self, node: int) -> bool:
        """Whether all enclosing elements belong to SSP; elsewhere blanks may have a meaning."""
        around = list(self.text.nodes[node].iterancestors())
        foreign = any(isinstance(one, ssc.Annotation | ssc.Content) for one in around)
        return bool(around) and not foreign and all(one.get(_SPACE) != "preserve" for one in around)
