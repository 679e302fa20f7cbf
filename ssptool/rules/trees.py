"""Walks over the tree of a document, typed."""

from collections.abc import Iterator
from typing import TypeVar

from lxml import etree

from ssptool.documents import ssc, ssd
from ssptool.documents.element import Element

E = TypeVar("E", bound=Element)

_HOLDING = (ssc.Annotation, ssc.Content, ssd.ParameterValues, ssd.ParameterMapping, ssd.SignalDictionary)
_HOLDERS = tuple(kind.qualified_name for kind in _HOLDING)
_HOLDING_CLASSES = frozenset(_HOLDING)  # that have no subclasses: to look a class up is quickest


def every(root: Element, *kinds: type[E]) -> Iterator[E]:
    """The elements of these kinds, the root and inline content included, in document order."""
    # In one walk, because what is foreign comes behind the holder in which it stands.
    foreign: set[etree._Element] = set()
    for element in root.iter(*{*(kind.qualified_name for kind in kinds), *_HOLDERS}):
        if isinstance(element, kinds) and not (foreign and element in foreign):
            yield element
        if type(element) in _HOLDING_CLASSES:
            foreign.update(_foreign_in(element))


def foreign_elements(root: Element) -> frozenset[etree._Element]:
    """What stands where anything may stand and is none of our business, whatever it looks like.

    That is the content of annotations and metadata, and what is written inline but is no document of SSP: no schema
    has judged it.
    """
    return frozenset(element for holder in root.iter(*_HOLDERS) for element in _foreign_in(holder))


def _foreign_in(holder: etree._Element) -> Iterator[etree._Element]:
    for child in holder.iterchildren("*"):
        if _is_foreign(holder, child):
            yield from child.iter("*")


def _is_foreign(holder: etree._Element, child: etree._Element) -> bool:
    if isinstance(holder, ssc.Annotation | ssc.Content):
        return True
    return not isinstance(child, ssc.TopLevel | ssc.MetaData | ssc.Signature | ssc.Annotation)


def first(element: Element, kind: type[E]) -> E | None:
    """The first child of a kind; quicker than asking lxml for many tags."""
    for child in element:
        if isinstance(child, kind):
            return child
    return None


def around(element: Element, kind: type[E]) -> Iterator[E]:
    """The elements of this kind that contain an element, the nearest first."""
    for ancestor in element.iterancestors():
        if isinstance(ancestor, kind):
            yield ancestor


def container(element: Element) -> ssc.TopLevel:
    """The root of the document that an element belongs to: of the inline one if it is in such."""
    return element if isinstance(element, ssc.TopLevel) else next(around(element, ssc.TopLevel))
