"""Content that is either written inline or named by a source: how many there are, and of which kind."""

from collections.abc import Iterator

from ssptool.documents import ssc
from ssptool.documents.element import Element
from ssptool.rules.catalogue import Finding


def content(holder: Element | None) -> list[Element]:
    """The inline content, metadata and signatures aside."""
    if holder is None:
        return []
    children = [child for child in holder.iterchildren("*") if isinstance(child, Element)]
    return [child for child in children if not isinstance(child, ssc.MetaData | ssc.Signature)]


def wrong_number(holder: Element, source: str | None, inline: list[Element], what: str) -> Iterator[Finding]:
    if source is not None and inline:
        yield Finding(holder, f"{what} has a source, and inline content too", "remove one of them", "source")
    if source is None and not inline:
        yield Finding(holder, f"{what} has neither a source nor inline content", "add one of them")


def wrong_content(holder: Element, inline: list[Element], expected: type[Element]) -> Iterator[Finding]:
    """Inline content that is there, but not one element of the expected kind."""
    if inline and not (len(inline) == 1 and isinstance(inline[0], expected)):
        found = ", ".join(child.tag.rpartition("}")[2] for child in inline[:3])
        name = expected.qualified_name.rpartition("}")[2]
        yield Finding(holder, f"the content is {found}, where one {name} is expected")
