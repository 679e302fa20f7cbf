"""Walks over the tree of a document, typed."""

from collections.abc import Iterator
from typing import TypeVar

from ssptool.documents import ssc
from ssptool.documents.element import Element

E = TypeVar("E", bound=Element)


def every(root: Element, *kinds: type[E]) -> Iterator[E]:
    """The elements of these kinds, the root and inline content included, in document order."""
    for element in root.iter(*(kind.qualified_name for kind in kinds)):
        if isinstance(element, kinds):
            yield element


def around(element: Element, kind: type[E]) -> Iterator[E]:
    """The elements of this kind that contain an element, the nearest first."""
    for ancestor in element.iterancestors():
        if isinstance(ancestor, kind):
            yield ancestor


def container(element: Element) -> ssc.TopLevel:
    """The root of the document that an element belongs to: of the inline one if it is in such."""
    return element if isinstance(element, ssc.TopLevel) else next(around(element, ssc.TopLevel))


def own(root: Element) -> Iterator[Element]:
    """The elements of a document, without those of documents written inline in it."""
    pending = [root]
    while pending:
        for child in pending.pop().iterchildren("*"):
            if isinstance(child, Element) and not isinstance(child, ssc.TopLevel):
                yield child
                pending.append(child)
