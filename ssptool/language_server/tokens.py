"""Semantic tokens: the kinds of names in attributes, so that an editor can show connectors and units apart."""

from collections.abc import Iterator
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


def _tokens(snapshot: SystemSnapshot, document: Document, within: types.Range | None) -> Iterator[_Token]:
    places = snapshot.places(document)
    for (element, attribute), mentions in snapshot.names.at.items():
        mention = next((one for one in mentions if one.named.kind in _NUMBERS), None)
        if mention is None or mention.document is not document or not _is_in(within, mention):
            continue
        place = places.range(*snapshot.extent(document, element, attribute))
        if place.start.line == place.end.line and place.end.character > place.start.character:
            length = place.end.character - place.start.character
            kind = _NUMBERS[mention.named.kind]
            yield _Token(place.start.line, place.start.character, length, kind, mention.defines)


def _is_in(within: types.Range | None, mention: Mention) -> bool:
    """Whether a start tag begins in a range; one that begins above it and reaches into it is left out."""
    line = mention.document.line_of(mention.element)
    return within is None or within.start.line < line <= within.end.line + 1
