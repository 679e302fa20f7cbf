"""Semantic tokens: the kinds of names in attributes, so that an editor can colour connectors and units differently."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import count

from lsprotocol import types

from ssptool.documents import ssb, ssc, ssd, ssm, ssv
from ssptool.documents.document import Document
from ssptool.documents.element import Element
from ssptool.language_server.names import NameKind, is_definition
from ssptool.language_server.snapshot import SystemSnapshot

_TYPES = {
    NameKind.ELEMENT: "class",
    NameKind.CONNECTOR: "property",
    NameKind.PARAMETER: "parameter",
    NameKind.UNIT: "type",
    NameKind.ENUMERATION: "enum",
    NameKind.DICTIONARY: "namespace",
}
LEGEND = types.SemanticTokensLegend([*_TYPES.values()], ["declaration"])
_NUMBERS = {kind: number for number, kind in enumerate(_TYPES)}


def tokens(snapshot: SystemSnapshot, document: Document, within: types.Range | None = None) -> types.SemanticTokens:
    """The names in a document, or in a range of its lines."""
    data: list[int] = []
    line = start = 0
    for (own, column), *facts in _tokens(snapshot, document, within):
        data += (own - line, column - (start if own == line else 0), *facts)
        line, start = own, column
    return types.SemanticTokens(data)


class ShownTokens:
    """The tokens that a client has of each document, so that it can be told only what has changed since."""

    def __init__(self) -> None:
        self._shown: dict[str, types.SemanticTokens] = {}
        self._numbers = count(1)

    def whole(self, uri: str, found: types.SemanticTokens) -> types.SemanticTokens:
        """All tokens of a document, to be known by a name from now on."""
        found.result_id = str(next(self._numbers))
        self._shown[uri] = found
        return found

    def since(
        self, uri: str, known: str, found: types.SemanticTokens
    ) -> types.SemanticTokens | types.SemanticTokensDelta:
        """The change of what a client has under a name; all tokens, if that is not what it had last."""
        before = self._shown.get(uri)
        self.whole(uri, found)
        if before is None or before.result_id != known:
            return found
        return types.SemanticTokensDelta(_changed(before.data, found.data), found.result_id)

    def forget(self, uri: str) -> None:
        self._shown.pop(uri, None)


def _changed(before: Sequence[int], now: Sequence[int]) -> list[types.SemanticTokensEdit]:
    """The part between the equal numbers at the start and those at the end."""
    most = min(len(before), len(now))
    head = next((at for at in range(most) if before[at] != now[at]), most)
    tail = next((at for at in range(most - head) if before[-1 - at] != now[-1 - at]), most - head)
    if head == len(before) == len(now):
        return []
    return [types.SemanticTokensEdit(head, len(before) - head - tail, now[head : len(now) - tail])]


_NAMES: Mapping[type[Element], Mapping[str, NameKind]] = {
    ssd.System: {"name": NameKind.ELEMENT},
    ssd.Component: {"name": NameKind.ELEMENT},
    ssd.SignalDictionaryReference: {"name": NameKind.ELEMENT, "dictionary": NameKind.DICTIONARY},
    ssd.Connector: {"name": NameKind.CONNECTOR},
    ssd.Clock: {"name": NameKind.CONNECTOR},
    ssc.Dimension: {"sizeConnector": NameKind.CONNECTOR},
    ssd.Connection: {
        f"{side}{of}": kind
        for side in ("start", "end")
        for of, kind in (("Element", NameKind.ELEMENT), ("Connector", NameKind.CONNECTOR))
    },
    ssd.SignalDictionary: {"name": NameKind.DICTIONARY},
    ssv.Parameter: {"name": NameKind.PARAMETER},
    ssm.MappingEntry: {"source": NameKind.PARAMETER},
    ssb.DictionaryEntry: {"name": NameKind.PARAMETER},
    ssc.Unit: {"name": NameKind.UNIT},
    ssc.Enumeration: {"name": NameKind.ENUMERATION},
    ssv.Enumeration: {"name": NameKind.ENUMERATION},
}
"""Attributes that name things. What they name does not matter for their kind: no FMU and no other file is read."""


@cache
def _names_in(kind: type[Element]) -> Mapping[str, NameKind]:
    units = {"unit": NameKind.UNIT} if "unit" in (one.name for one in kind.attributes().values()) else {}
    return {**_NAMES.get(kind, {}), **units}


def _declares(node: Element, attribute: str) -> bool:
    """Whether the attribute gives a thing its name."""
    if isinstance(node, ssc.Enumeration | ssv.Enumeration):
        return is_definition(node)
    return attribute == "name" and not isinstance(node, ssd.Clock)


def _tokens(
    snapshot: SystemSnapshot, document: Document, within: types.Range | None
) -> Iterator[tuple[tuple[int, int], int, int, bool]]:
    """Line and column, length, kind, and whether it gives a thing its name, of each name."""
    text, found, places = document.text, list[tuple[NameKind, bool]](), list[int]()
    for number in _numbers(snapshot, document, within):
        node = text.nodes[number]
        if not isinstance(node, Element) or not (wanted := _names_in(node.element_class)):
            continue
        for attribute, start, end in text.attribute_values_at(number):
            if attribute in wanted and start < end and (node.getparent() is not document.root or attribute != "name"):
                found.append((wanted[attribute], _declares(node, attribute)))
                places += (start, end)
    lines, columns = snapshot.lines_and_columns(document, places)
    for at, (kind, declares) in enumerate(found):
        first, last = 2 * at, 2 * at + 1
        if lines[first] == lines[last]:
            yield (lines[first], columns[first]), columns[last] - columns[first], _NUMBERS[kind], declares


def _numbers(snapshot: SystemSnapshot, document: Document, within: types.Range | None) -> range:
    """The nodes that begin in the lines of a range; one that begins above is left out even if it ends inside."""
    starts = document.text.tags.start
    if within is None:
        return range(len(starts))
    lines = (within.start.line, within.end.line + 1)
    return range(*(bisect_left(starts, snapshot.start_of_line(document, line)) for line in lines))
