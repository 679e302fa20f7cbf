"""Positions of many elements at little cost."""

from collections.abc import Callable
from functools import cached_property

from lxml import etree

from ssptool.documents.diagnostics import Position
from ssptool.documents.document import Document
from ssptool.documents.element import Element, step


class Survey:
    """Positions in a document that is not edited meanwhile: the addresses of parents are worked out once.

    They are those that `Element.position` gives.
    """

    def __init__(self, document: Document) -> None:
        self._document = document
        self._name = document.name
        self._addresses: dict[etree._Element, str] = {}

    @cached_property
    def _line_of(self) -> Callable[[Element, int], int]:
        return self._document.lines.get

    def position(self, element: Element) -> Position:
        parent, line = element.getparent(), self._line_of(element, 0)
        if parent is None:
            return Position(self._name, line, "/")
        around = self._addresses.get(parent)
        if around is None:
            around = self._address(parent)
        return Position(self._name, line, f"{around}/{step(element, parent)}")

    def _address(self, element: etree._Element) -> str:
        known = self._addresses.get(element)
        if known is None:
            parent = element.getparent()
            known = "" if parent is None else f"{self._address(parent)}/{step(element, parent)}"
            self._addresses[element] = known
        return known
