"""Fixes of violations as values: the attributes and elements that change.

A fix is safe if the right answer is certain: it keeps what the document means, or there is only one thing that it can
mean. All others are guesses, which somebody should look at.
"""

from collections.abc import Collection
from difflib import get_close_matches
from functools import lru_cache
from typing import NamedTuple

from lxml import etree

from ssptool.documents import ssc
from ssptool.documents.archive import Archive
from ssptool.documents.element import Element, text_of
from ssptool.documents.repair import Repair
from ssptool.fmu.description import Unit
from ssptool.network.conversion import define_unit

_LIKENESS = 0.75  # one slip in a name of four letters


class SetAttribute(NamedTuple):
    """An attribute with another value; None: without it."""

    element: Element
    name: str
    value: str | None


class Delete(NamedTuple):
    """An element goes, and a container that becomes empty with it."""

    element: Element


class Define(NamedTuple):
    """The unit that an element names is added to those that its document defines, where it is not there yet."""

    element: Element
    root: Element
    unit: Unit


class Rewrite(NamedTuple):
    """A file that cannot be read gets other bytes."""

    archive: Archive
    name: str
    content: bytes


Edit = SetAttribute | Delete | Define | Rewrite


class Fix(NamedTuple):
    edits: tuple[Edit, ...]
    safe: bool = True

    @property
    def touched(self) -> frozenset[Element]:
        """The elements that it edits."""
        return frozenset(edit.element for edit in self.edits if not isinstance(edit, Rewrite))

    def apply(self) -> None:
        for edit in self.edits:
            match edit:
                case Delete(element):
                    element.delete()
                case Rewrite(archive, name, content):
                    archive.put(name, content)
                case Define(_, root, unit):
                    if all(known.name != unit.name for known in root.every(ssc.Unit)):
                        define_unit(root, unit)
                case SetAttribute(element, name, str(value)):
                    element.set(name, value)
                case SetAttribute(element, name):
                    element.attrib.pop(name, "")


def without(element: Element, attribute: str, *, safe: bool = True) -> Fix:
    return Fix((SetAttribute(element, attribute, None),), safe)


def rewritten(element: Element, attribute: str, value: str, *, safe: bool = True) -> Fix:
    return Fix((SetAttribute(element, attribute, value),), safe)


def deleted(element: Element, *, safe: bool = True) -> Fix:
    return Fix((Delete(element),), safe)


def repaired(archive: Archive, name: str, repair: Repair | None) -> Fix | None:
    return None if repair is None else Fix((Rewrite(archive, name, repair.content),), repair.certain)


def repeats(element: Element, other: Element) -> Fix | None:
    """Delete an element that says word for word what another says already; ids, to which others refer, count."""
    return deleted(element) if words(element) == words(other) else None


def renamed(element: Element, attribute: str, known: Collection[str]) -> Fix | None:
    """Write the known name that is meant: certainly if it differs in blanks around it only, else perhaps the nearest.

    None if none, or more than one, is near.
    """
    name = element.get(attribute, "")
    same = [other for other in known if other.strip() == name.strip()]
    if len(same) == 1:
        return rewritten(element, attribute, same[0])
    alike = nearest(name, tuple(sorted(set(known))), 2, _LIKENESS)
    return rewritten(element, attribute, alike[0], safe=False) if len(alike) == 1 else None


@lru_cache(maxsize=64)
def nearest(name: str, known: tuple[str, ...], number: int, likeness: float) -> tuple[str, ...]:
    """The names most like a wrong one, which often stands in many places; to compare it with all others is slow."""
    return tuple(get_close_matches(name, known, number, likeness))


def words(element: etree._Element) -> object:
    """Everything that an element says, in a form that can be compared; comments and white space aside."""
    children = tuple(words(child) for child in element.iterchildren("*"))
    return element.tag, frozenset(element.attrib.items()), children, (text_of(element) or "").strip()
