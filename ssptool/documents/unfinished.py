"""A document that is being typed: the open elements at an offset, although the text is not well-formed."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from ssptool.documents.element import Element, Slot
from ssptool.documents.vocabulary import NSMAP

_ATTRIBUTES = r"""(?:\s+[^\s=<>"']+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*"""
_TOKEN = re.compile(
    rf"""<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|</(?P<end>[^\s<>]*)\s*>|"""
    rf"""<(?P<start>[^\s/<>!?]+)(?P<attributes>{_ATTRIBUTES})\s*(?P<empty>/?)>""",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"""([^\s=<>"']+)\s*=\s*("[^"]*"|'[^']*')""")
_VALUE = re.compile(r"""([^\s=<>"']+)\s*=\s*["']([^"'<>]*)$""")


class OpenTag(NamedTuple):
    """A start tag: its name as written, and its attributes."""

    name: str
    attributes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TypingPlace:
    """A position in a text: the elements around it, outermost first, and the tag that contains it, if any.

    `typed` is the part of a name or value before it; `attribute` is the attribute whose value contains it. `begin` is
    the offset of the tag, or the position itself.
    """

    around: tuple[OpenTag, ...]
    tag: OpenTag | None
    attribute: str
    typed: str
    begin: int
    closes: bool = False
    in_name: bool = False

    @property
    def namespaces(self) -> Mapping[str, str]:
        """Declared namespaces by prefix; if none are declared, those of SSP."""
        declared = {"": "", **NSMAP}
        for tag in self.around:
            for key, value in tag.attributes.items():
                if key == "xmlns" or key.startswith("xmlns:"):
                    declared[key.partition(":")[2]] = value
        return declared

    def kind(self, tag: OpenTag) -> type[Element] | None:
        """Class of the element of a tag; None for containers and elements that SSP does not define."""
        return element_kinds().get(self.qualified(tag.name))

    def qualified(self, name: str) -> str:
        prefix, _, local = name.rpartition(":")
        return f"{{{self.namespaces.get(prefix, '')}}}{local}"

    def written(self, qualified: str) -> str:
        """A qualified name with the prefixes of this document."""
        namespace, _, local = qualified[1:].partition("}")
        prefixes = [prefix for prefix, known in self.namespaces.items() if known == namespace]
        prefix = min(prefixes, key=len, default="")
        return f"{prefix}:{local}" if prefix else local

    def allowed(self) -> list[str]:
        """Qualified names of the elements that are allowed here."""
        if not self.around:
            return []
        parent, above = self.around[-1], self.around[-2] if len(self.around) > 1 else None
        if (kind := self.kind(parent)) is not None:
            return [tag for slot in kind.slots for tag in sorted(slot.here)]
        owner = None if above is None else self.kind(above)
        slots: tuple[Slot[Any], ...] = () if owner is None else owner.slots
        return [tag for slot in slots if slot.container == self.qualified(parent.name) for tag in sorted(slot.tags)]


def typing_place(text: str, offset: int) -> TypingPlace:
    """The position at an offset; only the text before it counts."""
    before = text[:offset]
    around, end = _opened(before)
    begin = before.rfind("<", end)
    if begin < 0:
        return TypingPlace(around, None, "", "", offset)
    fragment = before[begin + 1 :]
    name, space, _ = fragment.partition(next((one for one in fragment if one.isspace()), "\n"))
    if not space:
        return TypingPlace(around, None, "", name.removeprefix("/"), begin, name.startswith("/"), True)
    tag = OpenTag(name, _attributes(fragment))
    if value := _VALUE.search(fragment):
        return TypingPlace(around, tag, value[1], value[2], begin)
    typed = re.search(r"[^\s\"']*$", fragment)
    return TypingPlace(around, tag, "", typed[0] if typed else "", begin)


def _opened(text: str) -> tuple[tuple[OpenTag, ...], int]:
    """The elements around the end of a text, and the end of its last complete token."""
    tags, end = list[tuple[str, str]](), 0
    for token in _TOKEN.finditer(text):
        start, attributes, empty, closed = token.group("start", "attributes", "empty", "end")
        end = token.end()
        if start and not empty:
            tags.append((start, attributes))
        elif closed and any(name == closed for name, _ in reversed(tags)):
            while tags.pop()[0] != closed:
                pass
    return tuple(OpenTag(name, _attributes(stated)) for name, stated in tags), end


def _attributes(text: str) -> dict[str, str]:
    return {name: value[1:-1] for name, value in _ATTRIBUTE.findall(text)}


def without_tag(text: str, place: TypingPlace, offset: int) -> str:
    """The text without the tag that is being typed, and with the missing end tags at its position."""
    of_tag = re.match(r"[^<>]*/?>", text[offset:])
    rest = text[offset + (of_tag.end() if of_tag else 0) :]
    ends = _ends(rest)
    closed = next(ends, None)
    missing = []
    for tag in reversed(place.around):
        if tag.name == closed:
            closed = next(ends, None)
        else:
            missing.append(f"</{tag.name}>")
    return "".join((text[: place.begin], *missing, rest))


def _ends(text: str) -> Iterator[str]:
    """End tags of the elements that are open at the start of a text."""
    opened = 0
    for token in _TOKEN.finditer(text):
        if token["start"] and not token["empty"]:
            opened += 1
        elif token["end"] and opened:
            opened -= 1
        elif token["end"]:
            yield token["end"]


@cache
def element_kinds() -> Mapping[str, type[Element]]:
    """Classes of the elements of SSP by qualified name."""
    return {kind.qualified_name: kind for kind in Element.kinds() if kind.qualified_name}
