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


def first(element: Element, kind: type[E]) -> E | None:
    """The first child of a kind; quicker than asking lxml for many tags."""
    return next((child for child in element if isinstance(child, kind)), None)


def around(element: Element, kind: type[E]) -> Iterator[E]:
    """The elements of this kind that contain an element, the nearest first."""
    for ancestor in element.iterancestors():
        if isinstance(ancestor, kind):
            yield ancestor


def container(element: Element) -> ssc.TopLevel:
    """The root of the document that an element belongs to: of the inline one if it is in such."""
    return element if isinstance(element, ssc.TopLevel) else next(around(element, ssc.TopLevel))
