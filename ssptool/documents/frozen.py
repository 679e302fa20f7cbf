"""Frozen trees of read-only documents, with a third of the size of lxml's.

lxml needs 800 bytes for an element with two attributes, mostly for the attributes. A frozen element has its line, its
children and a mapping of its attributes, shared by equal elements. It has the declared class of its tag and the reading
methods of lxml. It does not keep blanks between elements, prefixes and bytes, which only edits need.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from types import MappingProxyType
from typing import Any, NoReturn, cast

from lxml import etree

from ssptool.documents.vocabulary import SSD

NOTHING: Mapping[str, str] = MappingProxyType({})
ONLY_KNOWN: Any = "internal"
"""Entity mode for a target of lxml's parser: if all entities are left unresolved, lxml passes `&amp;` in attributes as
`&#38;`.
"""
MOST_SHARED = 10_000
"""Largest number of attribute mappings that are searched for equal ones; sufficient for many equal components."""


class FrozenTree:
    """Document of frozen nodes: nodes by tag, names of all attributes, and data that few nodes have (text, namespace
    declarations).
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._children: Sequence[FrozenNode] = ()
        self.by_tag: dict[object, list[FrozenNode]] = {}
        self.attribute_names: set[str] = set()
        self.texts: dict[FrozenNode, str] = {}
        self.namespaces: dict[FrozenNode, Mapping[str | None, str]] = {}
        self.originals: dict[FrozenNode, FrozenNode] = {}
        """Nodes with several equal children → the first of them that has these."""

    def dissolve(self) -> None:
        """Remove the references between nodes, which would otherwise exist until the next garbage collection."""
        for nodes in self.by_tag.values():
            for node in nodes:
                del node._children
            nodes.clear()
        self.originals.clear()


class FrozenNode:
    """Node of a frozen tree, with the reading methods of lxml."""

    __slots__ = ("_around", "_attributes", "_children", "line")

    tag: Any
    line: int
    _attributes: Mapping[str, str]
    _around: "FrozenNode | FrozenTree"
    _children: "Sequence[FrozenNode]"

    def __repr__(self) -> str:
        return f"<frozen {self.tag}, line {self.line}>"

    def __len__(self) -> int:
        return len(self._children)

    def __iter__(self) -> "Iterator[FrozenNode]":
        return iter(self._children)

    def __getitem__(self, index: int) -> "FrozenNode":
        return self._children[index]

    def get(self, name: str, default: str | None = None) -> str | None:
        return self._attributes.get(name, default)

    def keys(self) -> Collection[str]:
        return self._attributes.keys()

    def items(self) -> Collection[tuple[str, str]]:
        return self._attributes.items()

    @property
    def attrib(self) -> Mapping[str, str]:
        return MappingProxyType(self._attributes)

    def telling(self, names: Iterable[str]) -> Mapping[str, str] | None:
        """The attributes, even after the tree is gone, if one of these names is among them; otherwise None."""
        attributes = self._attributes
        for name in names:
            if name in attributes:
                return attributes
        return None

    def likeness(self) -> Hashable | None:
        """A key that elements of this tree share only with equal attributes and children; None: not known."""
        children = self._children
        if not children:
            return id(self._attributes)
        if len(children) == 1 and not children[0]._children:
            return id(self._attributes), children[0].tag, id(children[0]._attributes)
        original = self._tree.originals.get(self)
        return None if original is None else id(original)

    @property
    def character_data(self) -> str | None:
        """The text before the first child, without surrounding blanks; None if there are only blanks."""
        return self._tree.texts.get(self)

    @property
    def nsmap(self) -> dict[str | None, str]:
        declared = self._tree.namespaces
        around = [self, *self.iterancestors()]
        return {prefix: uri for node in reversed(around) for prefix, uri in declared.get(node, NOTHING).items()}

    @property
    def document_name(self) -> str:
        return self._tree.name

    @property
    def _tree(self) -> FrozenTree:
        around: FrozenNode | FrozenTree = self
        while isinstance(around, FrozenNode):
            around = around._around
        return around

    def getparent(self) -> "FrozenNode | None":
        around = self._around
        return around if isinstance(around, FrozenNode) else None

    def iterancestors(self, *tags: str) -> "Iterator[FrozenNode]":
        around = self._around
        while isinstance(around, FrozenNode):
            if not tags or "*" in tags or around.tag in tags:
                yield around
            around = around._around

    def iterchildren(self, *tags: str, reversed: bool = False) -> "Iterable[FrozenNode]":
        children = self._children[::-1] if reversed else self._children
        return _with_tags(children, tags) if tags else children

    def itersiblings(self, *tags: str, preceding: bool = False) -> "Iterator[FrozenNode]":
        parent = self.getparent()
        siblings = () if parent is None else parent._children
        at = next((number for number, one in enumerate(siblings) if one is self), 0)
        return _with_tags(siblings[:at][::-1] if preceding else siblings[at + 1 :], tags or ("*",))

    def find(self, tag: str) -> "FrozenNode | None":
        return next(_with_tags(self._children, (tag,)), None)

    def iterdescendants(self, *tags: str) -> "Iterator[FrozenNode]":
        return (node for node in self.iter(*tags) if node is not self)

    def iter(self, *tags: str) -> "Iterator[FrozenNode]":
        if not tags or "*" in tags:
            return _with_tags(self._all(), tags) if tags else self._all()
        tree = self._tree
        present = {tag for tag in tags if tag in tree.by_tag}
        if len(present) == 1 and self._around is tree:
            return iter(tree.by_tag[present.pop()])
        return _with_tags(self._all(), present) if present else iter(())

    def having(self, *attributes: str) -> "Iterator[FrozenNode]":
        """Elements, including this one, that have one of these attributes, in document order."""
        if self._tree.attribute_names.isdisjoint(attributes):
            return iter(())
        return (node for node in self._all() if not node._attributes.keys().isdisjoint(attributes))

    def _all(self) -> "Iterator[FrozenNode]":
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            if node._children:
                waiting += node._children[::-1]

    def dissolve(self) -> None:
        """Free the memory of the tree, whose nodes lose their children."""
        self._tree.dissolve()

    def set(self, name: str, value: str) -> NoReturn:
        raise TypeError(f"{self.document_name} was opened to be read, so {name} cannot be set")


def _with_tags(nodes: Iterable[FrozenNode], tags: Collection[str]) -> Iterator[FrozenNode]:
    if "*" in tags:
        return (node for node in nodes if isinstance(node.tag, str))
    return (node for node in nodes if node.tag in tags)


class FrozenAside(FrozenNode):
    """A comment or a processing instruction; its tag is lxml's function that makes such a node."""

    __slots__ = ("tag",)


FROZEN_CLASSES: dict[str, type[FrozenNode]] = {}
"""Tag → class of frozen elements. The class of all other elements has an empty tag; its instances have their own."""


_CONNECTORS = f"{{{SSD}}}Connectors"
_AROUND = frozenset(f"{{{SSD}}}{name}" for name in ("SystemStructureDescription", "System", "Elements", "Component"))
"""Tags around connectors. If there are no others, equal connectors are equally valid; in annotations they are not."""
_MARK = "ssptool-repeated"
_UNCOMMON = (b"<!", b"<?", b"xmlns", b"Connectors")
"""Text in connectors that get no mark."""


def _without_repetitions(source: bytes) -> tuple[bytes, int]:
    """A document with equal connectors of several elements only in the first of these, and the number of its marks.

    A mark is a processing instruction, which schemas ignore, with the number of the connectors. One is where they first
    appear, and one in place of each repetition, with as many line ends. The first connector of each element remains,
    because the schema requires it.
    """
    known: dict[bytes, int] = {}
    parts: list[bytes] = []
    marks = written = end = 0
    while (start := source.find(b"Connectors>", end) + 11) > 10 and (end := source.find(b"Connectors>", start)) > 0:
        first, last = source.find(b"Connector>", start, end) + 10, source.rfind(b"<", start, end)
        rest, words = source[first:last], source[start:end]
        end += 11
        if first > 9 and rest.strip() and not any(one in rest for one in _UNCOMMON):
            again = words in known
            number = known.setdefault(words, len(known))
            lines = b"\n" * rest.count(b"\n") if again else b""
            parts += (source[written:first], f"<?{_MARK} {number}".encode(), lines, b"?>")
            marks, written = marks + 1, last if again else first
    if marks == len(known) or _MARK.encode() in source:
        return source, 0
    return b"".join((*parts, source[written:])), marks


class _Reader:
    """Parser target that builds a frozen tree. `lines` are those of all nodes, in document order.

    `unmet` is the number of marks of repeated connectors that were not yet met in a place where equal connectors are
    equally valid.
    """

    def __init__(self, name: str, lines: Iterator[int], marks: int) -> None:
        self.tree = FrozenTree(name)
        self._next_line = chain(lines, repeat(0)).__next__  # damaged documents have fewer lines
        self._by_tag = defaultdict[object, list[FrozenNode]](list)
        # Open nodes, outermost first; the document itself comes before them.
        self._open: list[FrozenNode | FrozenTree] = [self.tree]
        self._texts: dict[str, str] = {}
        self._names: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._mappings: dict[tuple[tuple[str, str], ...], Mapping[str, str]] = {}
        self._marked: dict[str, tuple[FrozenNode, int, int]] = {}
        self._has_marks, self.unmet = marks > 0, marks

    def start(self, tag: str, attributes: Mapping[str, str], namespaces: Mapping[str | None, str]) -> None:
        kind = FROZEN_CLASSES.get(tag)
        node = FROZEN_CLASSES[""]() if kind is None else kind()
        if kind is None:
            node.tag = self._texts.setdefault(tag, tag)
        stated = tuple(attributes.items())
        node._attributes = self._mappings.get(stated) or self._shared(stated)
        node.line = self._next_line()
        node._around = around = self._open[-1]
        node._children = ()
        self._by_tag[tag].append(node)
        if around._children:
            around._children.append(node)  # type: ignore[attr-defined]  # a list while it is read
        else:
            around._children = [node]
        self._open.append(node)
        if namespaces:
            self.tree.namespaces[node] = {prefix or None: uri for prefix, uri in namespaces.items()}

    def end(self, tag: str) -> None:
        node = self._open.pop()
        if node._children:
            node._children = tuple(node._children)

    def data(self, text: str) -> None:
        node = cast(FrozenNode, self._open[-1])
        if not node._children and (node in self.tree.texts or not text.isspace()):
            self.tree.texts[node] = self.tree.texts.get(node, "") + text

    def comment(self, text: str) -> None:
        self._aside(etree.Comment)

    def pi(self, target: str, text: str | None = None) -> None:
        if self._has_marks and target == _MARK:
            self._mark((text or "").strip())
        else:
            self._aside(etree.PI)

    def close(self) -> "FrozenNode | None":
        """The root; None if the document is too damaged to have one."""
        for node, text in self.tree.texts.items():
            self.tree.texts[node] = text.strip()
        self.tree.by_tag.update(self._by_tag)
        return next(iter(self.tree._children), None)

    def forget(self) -> None:
        """Drop all references: lxml's parser and its target refer to each other, and therefore exist for some time."""
        self.__dict__.clear()

    def _aside(self, kind: object) -> None:
        line = self._next_line()
        if len(self._open) > 1:  # otherwise it lies outside of the root
            node = FrozenAside()
            node.tag, node.line, node._attributes = kind, line, NOTHING
            node._around = around = self._open[-1]
            node._children = ()
            self._by_tag[kind].append(node)
            around._children = around._children or []
            around._children.append(node)  # type: ignore[attr-defined]  # a list while it is read

    def _mark(self, number: str) -> None:
        line, declared = self._next_line(), self.tree.namespaces
        *around, holder = cast(list[FrozenNode], self._open[1:])
        tags = [holder.tag == _CONNECTORS, *(node.tag in _AROUND for node in around)]
        self.unmet -= all(tags) and declared.keys().isdisjoint((*around[1:], holder))
        original, first, line_there = self._marked.setdefault(number, (holder, len(holder._children), line))
        self.tree.originals[holder] = original
        if original is not holder:
            repeated = self._repeated(original._children[first:], holder, line - line_there)
            holder._children = [*holder._children, *repeated]

    def _repeated(self, nodes: Iterable[FrozenNode], around: FrozenNode, shift: int) -> tuple[FrozenNode, ...]:
        """Copies of nodes and of everything inside, `shift` lines further below."""
        copies, by_tag, texts, other = [], self._by_tag, self.tree.texts, FROZEN_CLASSES[""]
        for node in nodes:
            kind, tag, inside = type(node), node.tag, node._children
            copy = kind()
            if kind is other:
                copy.tag = tag
            copy._attributes = node._attributes
            copy._around = around
            copy.line = node.line + shift
            by_tag[tag].append(copy)
            copy._children = self._repeated(inside, copy, shift) if inside else ()
            copies.append(copy)
            if texts and node in texts:
                texts[copy] = texts[node]
        return tuple(copies)

    def _shared(self, stated: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
        """A new attribute mapping, shared by all elements with equal attributes."""
        if not stated:
            return NOTHING
        if len(self._mappings) > MOST_SHARED:
            self._mappings = {}
        share = self._texts.setdefault
        names, texts = zip(*stated, strict=True)
        if names not in self._names:
            self._names[names] = tuple(map(share, names, names))
            self.tree.attribute_names.update(names)
        # In C, because very many connections differ.
        attributes = self._mappings[stated] = dict(zip(self._names[names], map(share, texts, texts), strict=True))
        return attributes


def frozen_root(
    name: str, source: bytes, schema: etree.XMLSchema, lines_of: Callable[[bytes], Iterator[int]]
) -> FrozenNode | None:
    """The root of a document; None if it is not valid, or if there is any other finding.

    `lines_of` returns the lines of all nodes of a document, in document order.
    """
    shorter, marks = _without_repetitions(source)
    root = _read(name, shorter, schema, lines_of(shorter), marks)
    return _read(name, source, schema, lines_of(source)) if root is None and marks else root


def _read(name: str, source: bytes, schema: etree.XMLSchema, lines: Iterator[int], marks: int = 0) -> FrozenNode | None:
    """The root of a document; None if a mark is in a comment or an annotation too."""
    reader: Any = _Reader(name, lines, marks)  # the stubs require members of a target that lxml does not need
    parser = etree.XMLParser(target=reader, schema=schema, resolve_entities=ONLY_KNOWN, no_network=True)
    try:
        root = cast(FrozenNode, etree.fromstring(source, parser))
        return None if len(parser.error_log) or reader.unmet else root
    except etree.XMLSyntaxError:
        return None
    finally:
        reader.forget()
