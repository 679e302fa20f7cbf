"""Elements of a document itself, without the contents of annotations and metadata."""

from collections.abc import Iterator
from typing import TypeVar, cast

from ssptool.documents import ssb, ssc, ssd, ssm, ssv
from ssptool.documents.element import Element

E = TypeVar("E", bound=Element)

ROOTS = (ssd.SystemStructureDescription, ssv.ParameterSet, ssm.ParameterMapping, ssb.SignalDictionary)
# What these contain is not ours: the data of other tools, and metadata.
_OPAQUE = (ssc.Annotation, ssc.MetaData, ssc.Signature)
# These contain anything; of that, documents and metadata are ours.
_HOLDERS = (ssd.ParameterValues, ssd.ParameterMapping, ssd.SignalDictionary)


class Part:
    """A root with its elements: the document itself, or one that is written inline in it. Each has a version."""

    def __init__(self, root: Element) -> None:
        self.root = root
        self.inline: list[Part] = []
        self._by_kind: dict[type[Element], list[Element]] = {}
        self._gone: set[Element] = set()
        self._collect(root)

    @property
    def version(self) -> str:
        return self.root.get("version", "")

    def every(self, kind: type[E]) -> Iterator[E]:
        """The elements of exactly this kind that are still there, in document order."""
        for element in self._by_kind.get(kind, []):
            if element not in self._gone:
                yield cast(E, element)

    def forget(self, element: Element) -> None:
        """Note that an element and everything in it was removed."""
        self._gone.update(cast(Iterator[Element], element.iter("*")))

    def with_inline(self) -> Iterator["Part"]:
        """This part and those inside it."""
        yield self
        for part in self.inline:
            yield from part.with_inline()

    def _collect(self, element: Element) -> None:
        pending = [element]
        while pending:
            node = pending.pop()
            self._by_kind.setdefault(type(node), []).append(node)
            if isinstance(node, _OPAQUE):
                continue
            children = [child for child in node.iterchildren("*") if type(child) is not Element or _plural(child)]
            if isinstance(node, _HOLDERS):
                self.inline += [Part(cast(Element, child)) for child in children if isinstance(child, ROOTS)]
                children = [child for child in children if isinstance(child, _OPAQUE)]
            pending += cast(list[Element], children[::-1])


def _plural(element: object) -> bool:
    """Whether an element is a plural container of SSP, such as `Connectors`: these have no class of their own."""
    tag = cast(Element, element).tag
    return tag.startswith("{http://ssp-standard.org/SSP1/")
