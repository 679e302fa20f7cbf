"""Element classes over XML nodes: attributes and children declared once, and edits that keep the indentation.

A declaration gives the name, the type, the default and, by its place in the class body, the position among the
children. Reading, writing, insertion in schema order and the reference pages all come from it::

    class Unit(Element, tag="ssc:Unit"):
        name = attribute(string)                       # required: reading it where it is missing raises
        description = attribute(string, default=None)  # optional
        base_unit = child(BaseUnit)                    # exactly one
        annotations = children(Annotation, within="ssc:Annotations")

Python names are the standard's in snake_case. Plural containers (`Connectors`, `Units`, …) are transparent. lxml may
drop and re-create the objects at any time, so an element class holds no state: everything is in the tree. An inserted
element is indented like its neighbours; a removed one takes its line along.

Each class has two forms: nodes of lxml in documents that may be edited, and frozen nodes in those that are only read.
"""

import copy
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import chain, pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeVar, cast, overload
from weakref import WeakKeyDictionary, ref

from lxml import etree

from ssptool.documents.diagnostics import InvalidDocument, Position, error, identified
from ssptool.documents.frozen import FROZEN_CLASSES, FrozenNode
from ssptool.documents.vocabulary import NSMAP, Converter

# Element classes may give `text` a meaning of their own (ssd:Note has an attribute of that name).
_TEXT = etree._Element.__dict__["text"]


def text_of(node: etree._Element) -> str | None:
    """Character data before the first child; for a frozen node without surrounding blanks."""
    either: object = node
    text: str | None = either.character_data if isinstance(either, FrozenNode) else _TEXT.__get__(node)
    return text


def is_element(node: etree._Element) -> bool:
    """True for an element, false for a comment or a processing instruction."""
    return isinstance(cast(object, node.tag), str)


def set_text(node: etree._Element, text: str | None) -> None:
    _TEXT.__set__(node, text)


def insert_indented(parent: etree._Element, index: int, child: etree._Element, *, keeps_lines: bool = False) -> None:
    """Insert `child`, with everything below it, as number `index` among the children of `parent`.

    With `keeps_lines`, the lines of a child from another place are indented, but line breaks are not changed.
    """
    first = len(parent) == 0
    outer = _line_start(parent)
    inner = _before(parent, 0)
    if first:
        inner = outer + _step(parent) if outer else ""
    if not _is_space(_before(parent, index)) or "\n" not in inner:
        parent.insert(index, child)  # running text, or several siblings in one line: add no white space
        _put_in_one_line(child)
        return
    closing = _before(parent, index) if not first else outer
    parent.insert(index, child)
    last = index == len(parent) - 1
    if last:
        _set_before(parent, index, inner)
    child.tail = closing if last else inner
    if keeps_lines and len(child) and "\n" in (end := child[-1].tail or ""):
        _shift(child, end.rpartition("\n")[2], inner)
    elif not keeps_lines:
        _indent(child, inner, _step(parent))


def remove_with_line(parent: etree._Element, child: etree._Element) -> None:
    """Remove `child` with its line break and indentation."""
    index = parent.index(child)
    before, after = _before(parent, index), child.tail or ""
    parent.remove(child)
    if len(parent) == 0 and _is_space(before + after):
        _set_before(parent, 0, "")
    elif not _is_space(after):
        _set_before(parent, index, before + after if not _is_space(before) else after)
    elif index == len(parent) and _is_space(before):
        _set_before(parent, index, after)


def _is_space(text: str | None) -> bool:
    return not text or text.isspace()


def _before(parent: etree._Element, index: int) -> str:
    """The character data in front of child number `index`, or of the end tag."""
    text = text_of(parent) if index == 0 else parent[index - 1].tail
    return text or ""


def _set_before(parent: etree._Element, index: int, text: str) -> None:
    if index == 0:
        set_text(parent, text or None)
    else:
        parent[index - 1].tail = text or None


def _line_start(node: etree._Element) -> str:
    """The line break and indentation in front of a node; empty if it does not start a line."""
    parent = node.getparent()
    if parent is None:
        return "\n"
    before = _before(parent, parent.index(node))
    return "\n" + before.rpartition("\n")[2] if "\n" in before and before.isspace() else ""


def _step(node: etree._Element) -> str:
    """Indentation of one level, as in the nearest parent levels; two spaces by default."""
    lines = [_line_start(node), *map(_line_start, node.iterancestors())]
    if len(node) and "\n" in (first := _before(node, 0)) and _is_space(first):
        lines.insert(0, "\n" + first.rpartition("\n")[2])
    for inner, outer in pairwise(lines):
        if outer and inner.startswith(outer) and len(inner) > len(outer):
            return inner[len(outer) :]
    return "  "


def _put_in_one_line(node: etree._Element) -> None:
    """Remove the line breaks between the elements below a new node, unless it contains text."""
    if len(node) and all(_is_space(text) for text in (text_of(node), *(below.tail for below in node))):
        set_text(node, None)
        for below in node:
            below.tail = None
            _put_in_one_line(below)


def _indent(node: etree._Element, line: str, step: str) -> None:
    """Indent everything below a new node, unless it contains text."""
    if len(node) == 0 or not all(_is_space(text) for text in (text_of(node), *(below.tail for below in node))):
        return
    set_text(node, line + step)
    for below in node:
        below.tail = line + step
        _indent(below, line + step, step)
    node[-1].tail = line


def _shift(node: etree._Element, before: str, line: str) -> None:
    """Change the indentation of all lines in a node from `before` to `line`, both with line break."""

    def shifted(text: str | None) -> str | None:
        if text is None or "\n" not in text or not text.isspace():
            return text
        lines, _, indentation = text.rpartition("\n")
        return lines + line + indentation.removeprefix(before)

    set_text(node, shifted(text_of(node)))
    for below in node.iterdescendants():
        if is_element(below):
            set_text(below, shifted(text_of(below)))
        below.tail = shifted(below.tail)


T = TypeVar("T")
E = TypeVar("E", bound="Element")

_HUMP = re.compile(r"_([a-z])")
_MISSING: Any = object()


class InvalidAttribute(InvalidDocument, ValueError):
    """The text of an attribute does not have the declared type."""

    def __init__(self, position: Position, attribute: str, found: str | None, expected: str) -> None:
        self.position, self.attribute, self.found, self.expected = position, attribute, found, expected
        what = f"attribute '{attribute}' is missing" if found is None else f"{attribute}={found!r} is not valid"
        super().__init__(error("XML-004", position, f"{position.address}: {what}", f"expected {expected}"))


def expand(name: str) -> str:
    """The name that lxml uses for a prefixed one: `ssd:System` becomes `{http://…}System`."""
    prefix, _, local = name.rpartition(":")
    return f"{{{NSMAP[prefix]}}}{local}"


# No DTD, no entities, no network, limited depth and sizes.
PARSER = etree.XMLParser(
    resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, collect_ids=False, compact=True
)


class LineLookup(Protocol):
    """Look-up of the line of an element in its document."""

    def line_of(self, node: etree._Element) -> int: ...


# By root, for documents in use. libxml2 itself only knows the line on which a start tag ends, in 16 bits.
LINE_LOOKUPS: "WeakKeyDictionary[etree._Element, ref[LineLookup]]" = WeakKeyDictionary()


class Attribute(Generic[T]):
    """A typed attribute; see `attribute`."""

    def __init__(self, converter: Converter[Any], default: T, name: str | None) -> None:
        self.converter = converter
        self._read = converter.read  # called a million times for a large document
        self.default = default
        self.name = name or ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = self.name or _HUMP.sub(lambda hump: hump[1].upper(), name)

    @property
    def required(self) -> bool:
        return self.default is _MISSING

    @overload
    def __get__(self, element: None, owner: type) -> Self: ...
    @overload
    def __get__(self, element: "Element", owner: type) -> T: ...
    def __get__(self, element: "Element | None", owner: type) -> Self | T:
        if element is None:
            return self
        text = element.get(self.name)
        if text is None:
            if self.default is _MISSING:
                raise InvalidAttribute(element.position, self.name, None, self.converter.expected)
            return self.default
        try:
            value: T = self._read(text)
        except ValueError:
            raise InvalidAttribute(element.position, self.name, text, self.converter.expected) from None
        return value

    def __set__(self, element: "Element", value: T | None) -> None:
        if value is None:
            if self.name in element.attrib:
                del element.attrib[self.name]
        else:
            element.set(self.name, self.converter.write(value))


@overload
def attribute(converter: Converter[T], *, name: str | None = None) -> Attribute[T]: ...
@overload
def attribute(converter: Converter[T], *, default: T, name: str | None = None) -> Attribute[T]: ...
@overload
def attribute(converter: Converter[T], *, default: None, name: str | None = None) -> Attribute[T | None]: ...
def attribute(converter: Converter[Any], *, default: Any = _MISSING, name: str | None = None) -> Attribute[Any]:
    """Declare an attribute: its type, its default (without one it is required), and its name if that is not the Python
    name in camelCase.

    Assigning a value edits this attribute alone; assigning None removes it.
    """
    return Attribute(converter, default, name)


FEW_TAGS, MANY_CHILDREN = 3, 50


class Slot(Generic[E]):
    """Position among the children of an element: the elements that are allowed there, and their container."""

    def __init__(self, kinds: "tuple[type[E] | str, ...]", within: str | None, keep: bool = False) -> None:
        self._kinds = kinds
        self.within = within
        self.keep = keep
        self.tags = frozenset(expand(kind) if isinstance(kind, str) else kind.qualified_name for kind in kinds)
        self.container = expand(within) if within else None
        # The class of a node is faster to get than its tag; but classes that are defined later are only known by name.
        self.classes = frozenset(form for kind in kinds if not isinstance(kind, str) for form in kind.forms)
        self.by_class = not any(isinstance(kind, str) for kind in kinds)

    @property
    def here(self) -> frozenset[str]:
        """Tags of the direct children of the owner."""
        return frozenset({self.container}) if self.container else self.tags

    def elements(self, owner: "Element") -> Iterator[E]:
        if self.container is None:
            return iter(self._among(owner))
        if len(owner) < MANY_CHILDREN:
            containers: Iterable[etree._Element] = [child for child in owner if child.tag == self.container]
        else:
            containers = owner.iterchildren(self.container)
        return chain.from_iterable(map(self._among, containers))

    def _among(self, parent: etree._Element) -> Iterable[E]:
        # Comparing tags in C has a high fixed cost, which does not pay for few children, and there is none for frozen
        # ones.
        if len(parent) < MANY_CHILDREN or isinstance(cast(object, parent), FrozenNode):
            if self.by_class:
                classes = self.classes
                return [cast(E, node) for node in parent if type(node) in classes]
            if len(self.tags) > FEW_TAGS:
                return cast(Iterator[E], filter(self.holds, parent))
        return cast(Iterator[E], parent.iterchildren(*self.tags))

    def holds(self, node: etree._Element) -> bool:
        """True if a node is of one of the kinds."""
        return type(node) in self.classes if self.by_class else node.tag in self.tags


class Children(Slot[E]):
    """Any number of elements, in document order; see `children`."""

    @overload
    def __get__(self, element: None, owner: type) -> Self: ...
    @overload
    def __get__(self, element: "Element", owner: type) -> tuple[E, ...]: ...
    def __get__(self, element: "Element | None", owner: type) -> Self | tuple[E, ...]:
        if element is None:
            return self
        if self.container is None and self.by_class and len(element) < MANY_CHILDREN:
            classes = self.classes
            return tuple([cast(E, node) for node in element if type(node) in classes]) if len(element) else ()
        return tuple(self.elements(element))


class AtMostOne(Slot[E]):
    """No element or one; see `at_most_one`."""

    @overload
    def __get__(self, element: None, owner: type) -> Self: ...
    @overload
    def __get__(self, element: "Element", owner: type) -> E | None: ...
    def __get__(self, element: "Element | None", owner: type) -> Self | E | None:
        if element is None:
            return self
        if self.container is not None or not self.by_class:
            return next(self.elements(element), None)
        classes = self.classes
        for node in element:
            if type(node) in classes:
                return node  # type: ignore[return-value]  # of a class that is asked for
        return None

    def __set__(self, element: "Element", value: E | None) -> None:
        for present in tuple(self.elements(element)):
            present.delete()
        if value is not None:
            element.add(value)


class Child(Slot[E]):
    """Exactly one element; see `child`."""

    @overload
    def __get__(self, element: None, owner: type) -> Self: ...
    @overload
    def __get__(self, element: "Element", owner: type) -> E: ...
    def __get__(self, element: "Element | None", owner: type) -> Self | E:
        if element is None:
            return self
        found = next(self.elements(element), None)
        if found is None:
            at, child = element.position, " or ".join(sorted(map(local_name, self.tags)))
            raise InvalidDocument(error("XML-004", at, f"{at.address} has no {child}", f"add {child}"))
        return found


@overload
def children(*kinds: type[E], within: str | None = None, keep: bool = False) -> Children[E]: ...
@overload
def children(*kinds: str, within: str | None = None, keep: bool = False) -> Children[Any]: ...
def children(*kinds: Any, within: str | None = None, keep: bool = False) -> Children[Any]:
    """Declare any number of children, directly or `within` a plural container (`keep`: it stays even if empty).

    Reading returns a tuple of the present children; store it in a variable instead of indexing it in a loop.
    """
    return Children(kinds, within, keep)


def at_most_one(*kinds: type[E]) -> AtMostOne[E]:
    """Declare a child that may be absent. Assigning replaces it; assigning None removes it."""
    return AtMostOne(kinds, None)


def child(kind: type[E]) -> Child[E]:
    """Declare a required child."""
    return Child((kind,), None)


_CLASSES = etree.ElementNamespaceClassLookup()
PARSER.set_element_class_lookup(_CLASSES)

FOREIGN_HOLDERS = frozenset(map(expand, ("ssc:Annotation", "ssc:Content")))
"""Tags of elements with arbitrary content."""


class EditableNode(etree.ElementBase):
    """Node of lxml, with access to its document."""

    PARSER = PARSER

    @property
    def document_name(self) -> str:
        return self.getroottree().docinfo.URL or ""

    @property
    def line(self) -> int:
        """The line on which the start tag begins, from 1; 0 if the element was added since reading."""
        held = LINE_LOOKUPS.get(self.getroottree().getroot())
        document = None if held is None else held()
        if document is not None:
            return document.line_of(self)
        return cast(int | None, self.sourceline) or 0

    def telling(self, names: Iterable[str]) -> Mapping[str, str] | None:
        """Always None, because attributes of an editable node may change."""
        return None

    def likeness(self) -> Hashable | None:
        """A key that only elements with equal attributes and content share, as long as none of them is edited."""
        return etree.tostring(self, with_tail=False)

    def having(self, *attributes: str) -> "Iterator[Element]":
        """Elements, including this one, that have one of these attributes, in document order."""
        return iter(cast(list[Element], _having(attributes)(self)))


@cache
def _having(attributes: tuple[str, ...]) -> etree.XPath:
    return etree.XPath(f"descendant-or-self::*[{' or '.join(f'@{name}' for name in attributes)}]")


if TYPE_CHECKING:
    _Node = EditableNode
else:
    _Node = object  # the two forms of each class add node classes


class _Stateless(type):
    """Classes without instance attributes, because there are very many instances."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any], **stated: Any) -> "_Stateless":
        return super().__new__(cls, name, bases, {"__slots__": (), **body}, **stated)


class Element(_Node, metaclass=_Stateless):
    """Base class of elements. Elements that SSP does not define (content of annotations) have exactly this class.

    `element_class` is the declared class of an element, `forms` are the classes of its nodes (editable and frozen).
    """

    slots: ClassVar[tuple[Slot[Any], ...]] = ()
    qualified_name: ClassVar[str] = ""
    local_name: ClassVar[str] = ""
    # Attributes that distinguish this element from its siblings, for addresses.
    identity: ClassVar[tuple[str, ...]] = ("name",)
    element_class: ClassVar[type["Element"]]
    forms: ClassVar[tuple[type["Element"], ...]] = ()

    def __init_subclass__(cls, tag: str | None = None, form: bool = False) -> None:
        super().__init_subclass__()
        if form:
            return
        declared = {name: value for base in reversed(cls.__mro__) for name, value in vars(base).items()}
        cls.slots = tuple(value for value in declared.values() if isinstance(value, Slot))
        cls.element_class = cls
        if tag is not None:
            cls.qualified_name = expand(tag)
            prefix, _, local = tag.rpartition(":")
            cls.local_name = local
            editable, frozen = cls._make_forms()
            _CLASSES.get_namespace(NSMAP[prefix])[local] = editable
            FROZEN_CLASSES[cls.qualified_name] = frozen

    @classmethod
    def _make_forms(cls) -> tuple[type["Element"], type[FrozenNode]]:
        about = {"__module__": cls.__module__, "__doc__": cls.__doc__}
        tag = {"tag": cls.qualified_name} if cls.qualified_name else {"__slots__": ("tag",)}
        editable: Any = _Stateless(cls.__name__, (cls, EditableNode), about, form=True)
        frozen: Any = _Stateless(cls.__name__, (cls, FrozenNode), {**about, **tag}, form=True)
        cls.forms = (editable, frozen)
        return editable, frozen

    @classmethod
    def kinds(cls) -> "Iterator[type[Element]]":
        """Derived classes that are declared, base classes first."""
        for kind in cls.__subclasses__():
            if kind.element_class is kind:
                yield kind
                yield from kind.kinds()

    @classmethod
    def new(cls, **values: Any) -> Self:
        """A new element outside of any document, with these attributes (or single children) set in this order."""
        element = cast(Self, _make(cls.qualified_name))
        for name, value in values.items():
            if not isinstance(getattr(cls, name, None), Attribute | AtMostOne | property):
                raise TypeError(f"{cls.__name__} has no attribute {name!r}")
            setattr(element, name, value)
        return element

    @classmethod
    @cache
    def attributes(cls) -> Mapping[str, Attribute[Any]]:
        """The declared attributes by their Python names."""
        declared = {name: value for base in reversed(cls.__mro__) for name, value in vars(base).items()}
        return MappingProxyType({name: value for name, value in declared.items() if isinstance(value, Attribute)})

    @property
    def position(self) -> Position:
        return Position(self.document_name, self.line, self.address)

    @property
    def address(self) -> str:
        """The address in the document, like an XPath: `/System/Elements/Component[@name='System1']`."""
        steps = []
        node: etree._Element = self
        while (parent := node.getparent()) is not None:
            steps.append(step(node, parent))
            node = parent
        return "/" + "/".join(reversed(steps))

    def every(self, kind: type[E]) -> Iterator[E]:
        """All elements of a kind below this one, and itself if it is of the kind, in document order.

        The content of annotations and metadata does not count as SSP, even if it looks like SSP.
        """
        foreign: set[etree._Element] = set()
        for element in self.iter(kind.qualified_name, *FOREIGN_HOLDERS):
            if element.tag in FOREIGN_HOLDERS:
                foreign.update(inner for child in element.iterchildren("*") for inner in child.iter("*"))
            if element.tag == kind.qualified_name and not (foreign and element in foreign):
                yield cast(E, element)

    def own(self) -> Iterator["Element"]:
        """This element and all descendants in document order, without the content of annotations and metadata."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            yield element
            if element.tag not in FOREIGN_HOLDERS:
                waiting.extend(cast(Iterator[Element], element.iterchildren("*", reversed=True)))

    def add(self, child: "Element", *, keeps_lines: bool = False) -> None:
        """Insert a child at the position that the schema requires, in its container, indented like its neighbours.

        With `keeps_lines`, an element from another place keeps its line breaks.

        Raises
        ------
        ValueError
            The element cannot contain such a child.
        """
        slot = next((slot for slot in self.slots if child.tag in slot.tags), None)
        if slot is None:
            raise ValueError(f"{local_name(self.tag)} has no place for {local_name(child.tag)}")
        child.tail = None  # the tail belongs to its old position
        before = frozenset(chain.from_iterable(s.here for s in self.slots[: self.slots.index(slot) + 1]))
        if slot.container is None:
            insert_indented(self, _end_of(self, before), child, keeps_lines=keeps_lines)
            return
        container = next(self.iterchildren(slot.container), None)
        if container is None:
            container = _make(slot.container)
            insert_indented(self, _end_of(self, before), container)
        insert_indented(container, _end_of(container, slot.tags), child, keeps_lines=keeps_lines)

    def add_before(self, sibling: "Element") -> None:
        """Insert an element from another place before this one; it keeps its line breaks and is indented like its
        neighbours.
        """
        parent = self.getparent()
        if parent is None:
            raise ValueError("the root of a document has no neighbours")
        insert_indented(parent, parent.index(self), sibling, keeps_lines=True)

    def copied(self) -> Self:
        """A copy outside of any document, without its tail."""
        made = copy.deepcopy(self)
        made.tail = None
        return made

    def delete(self) -> None:
        """Remove this element with its line, and a plural container that becomes empty."""
        parent = self.getparent()
        if parent is None:
            raise ValueError("the root of a document cannot be removed")
        remove_with_line(parent, self)
        owner = parent.getparent()
        if isinstance(owner, Element) and next(parent.iterchildren("*"), None) is None:
            removable = (slot.container for slot in owner.slots if not slot.keep)
            if parent.tag in removable:
                remove_with_line(owner, parent)


Element.element_class = Element
_OTHER, FROZEN_CLASSES[""] = Element._make_forms()
_CLASSES.set_fallback(etree.ElementDefaultClassLookup(element=_OTHER))


def local_name(tag: str) -> str:
    return tag.rpartition("}")[2]


def _make(tag: str) -> etree._Element:
    """A new element that declares its usual prefix; lxml removes the declaration if the document has one."""
    return PARSER.makeelement(tag, nsmap={prefix: uri for prefix, uri in NSMAP.items() if tag.startswith(f"{{{uri}}}")})


def _end_of(parent: etree._Element, tags: frozenset[str]) -> int:
    """Index after the last child that has one of the tags."""
    end = 0
    for index, node in enumerate(parent):
        if node.tag in tags:
            end = index + 1
    return end


def step(node: etree._Element, parent: etree._Element) -> str:
    """One step of an address: identifying attributes of an element, or its number among siblings of its kind."""
    name: str = getattr(node, "local_name", "")  # that of the class needs no look-up
    if not name:
        tag: object = node.tag
        if not isinstance(tag, str):
            return "comment()"
        name = local_name(tag)
    if stated := identified(node, getattr(node, "identity", ())):
        return name + stated
    numbers = _numbers(parent, node.tag)
    return name if len(numbers) == 1 else f"{name}[{numbers[node]}]"


_counted: ContextVar[dict[tuple[etree._Element, str], dict[etree._Element, int]] | None] = ContextVar(
    "counted siblings", default=None
)


@contextmanager
def siblings_counted_once() -> Iterator[None]:
    """Count siblings for addresses once; within the context, no element may be added, moved or removed."""
    token = _counted.set({})
    try:
        yield
    finally:
        _counted.reset(token)


def _numbers(parent: etree._Element, tag: str) -> dict[etree._Element, int]:
    """Numbers, from 1, of the children with this tag."""
    known = _counted.get()
    known = {} if known is None else known
    if (parent, tag) not in known:
        known[parent, tag] = {child: number for number, child in enumerate(parent.iterchildren(tag), 1)}
    return known[parent, tag]
