"""Semantic tokens: the kinds of names in attributes, so that an editor can colour connectors and units differently."""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple

from lsprotocol import types

from ssptool.documents.document import Document
from ssptool.language_server.names import Mention, NameKind
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


class _Token(NamedTuple):
    line: int
    start: int
    length: int
    kind: int
    declares: bool


def tokens(snapshot: SystemSnapshot, document: Document, within: types.Range | None = None) -> types.SemanticTokens:
    """The names in a document, or in a range of its lines."""
    data: list[int] = []
    line = start = 0
    for one in sorted(_tokens(snapshot, document, within)):
        data += (one.line - line, one.start - (start if one.line == line else 0), one.length, one.kind, one.declares)
        line, start = one.line, one.start
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


def _tokens(snapshot: SystemSnapshot, document: Document, within: types.Range | None) -> Iterator[_Token]:
    places = snapshot.places(document)
    read, values = None, {}  # those of one element follow each other
    for (element, attribute), mentions in snapshot.names.at.items():
        mention = next((one for one in mentions if one.named.kind in _NUMBERS), None)
        if mention is None or mention.document is not document or not _is_in(within, mention):
            continue
        if element is not read:
            read, values = element, snapshot.values(document, element)
        place = values.get(attribute) or snapshot.extent(document, element, attribute)
        first, last = map(places.line_and_column, place)
        if first[0] == last[0] and last[1] > first[1]:
            yield _Token(*first, last[1] - first[1], _NUMBERS[mention.named.kind], mention.defines)


def _is_in(within: types.Range | None, mention: Mention) -> bool:
    """Whether a start tag begins in a range; a tag that begins above the range is left out even if it ends inside."""
    if within is None:
        return True
    line = mention.document.line_of(mention.element)
    return within.start.line < line <= within.end.line + 1
