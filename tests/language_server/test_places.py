"""Places in texts: as offsets, in bytes, and as positions in the units of a client, compared with counting them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol.types import Position, PositionEncodingKind
from pygls.workspace import PositionCodec

from ssptool.language_server.places import Places, UnitTable

texts = st.text(st.sampled_from("ab\n\rüß–😀𝄞"), max_size=30)
WIDTHS = {
    PositionEncodingKind.Utf8: "utf-8",
    PositionEncodingKind.Utf16: "utf-16-le",
    PositionEncodingKind.Utf32: "utf-32-le",
}
SIZES = {"utf-8": 1, "utf-16-le": 2, "utf-32-le": 4}


def line_start(text: str, offset: int) -> int:
    """The offset behind the last line break that ends at or before an offset; none is between CR and LF."""
    ends = (
        at
        for at in range(offset, 0, -1)
        if text[at - 1] == "\n" or (text[at - 1] == "\r" and text[at : at + 1] != "\n")
    )
    return next(ends, 0)


@pytest.mark.parametrize("encoding", WIDTHS)
@given(text=texts)
def test_columns_are_counted_in_the_units_of_the_client(encoding: PositionEncodingKind, text: str):
    places, codec = Places(text, PositionCodec(encoding)), WIDTHS[encoding]
    for offset in range(len(text) + 1):
        start = line_start(text, offset)
        column = len(text[start:offset].encode(codec)) // SIZES[codec]
        lines = text[:start].replace("\r\n", "\n").replace("\r", "\n").count("\n")
        assert places.position(offset) == Position(lines, column)
        in_line_break = text[offset - 1 : offset + 1] == "\r\n"
        assert places.offset(Position(lines, column)) == offset - in_line_break
    together = places.lines_and_columns([len(text[:offset].encode()) for offset in range(len(text) + 1)])
    assert list(map(Position, *together)) == [places.position(offset) for offset in range(len(text) + 1)]


@given(text=texts)
def test_offsets_in_bytes_are_those_of_the_text_as_utf_8(text: str):
    places = Places(text, PositionCodec())
    for offset in range(len(text) + 1):
        before = len(text[:offset].encode())
        assert places.in_bytes(offset) == before
        assert places.of_bytes(before) == offset


def test_a_place_inside_a_character_is_behind_it_and_one_behind_a_line_is_at_its_end():
    places = Places("a😀b\nc", PositionCodec())
    assert places.offset(Position(0, 2)) == places.offset(Position(0, 3)) == 2
    assert places.offset(Position(0, 99)) == 3
    assert places.offset(Position(9, 0)) == 5
    assert places.of_bytes(2) == places.of_bytes(5) == 2


class Text(str):
    """A text that counts how often it is looked at as a whole."""

    looks = 0

    def isascii(self) -> bool:
        Text.looks += 1
        return super().isascii()


def test_a_text_is_looked_through_once_and_not_for_each_place():
    table = UnitTable(Text("ü" + "a" * 1000), lambda one: len(one.encode()))
    for offset in range(1000):
        assert table.units(offset) == offset + (offset > 0)
    assert Text.looks == 1
