"""The legality table of connections, and the direction that follows from it."""

from itertools import product

import pytest

from ssptool.documents.ssd import ConnectorKind as Kind
from ssptool.network.legality import LEGAL, ConnectionEnd, Owner, direct


def end(text):
    """`"S.input"` or `"E.input"`."""
    owner, kind = text.split(".")
    return ConnectionEnd("" if owner == "S" else "element", "c", Kind(kind))


def test_the_table_has_the_numbers_of_rows_that_the_standard_has():
    assert len(LEGAL) == 42
    assert sum(row.since == "1.0" for row in LEGAL) == 18


@pytest.mark.parametrize(
    ("source", "destination", "since"),
    [
        ("E.output", "E.input", "1.0"),
        ("S.input", "E.input", "1.0"),
        ("S.input", "S.output", "1.0"),
        ("E.output", "S.output", "1.0"),
        ("S.parameter", "E.parameter", "1.0"),
        ("S.parameter", "E.input", "1.0"),
        ("E.calculatedParameter", "S.calculatedParameter", "1.0"),
        ("E.inout", "E.input", "1.0"),
        ("E.output", "E.inout", "1.0"),
        ("E.local", "E.input", "2.0"),
        ("S.structuralParameter", "E.structuralParameter", "2.0"),
        ("E.constant", "S.constant", "2.0"),
    ],
)
def test_legal_pairs_are_directed_whichever_end_is_written_first(source, destination, since):
    expected = (end(source), end(destination))
    assert direct(*expected, version="2.0") == expected
    assert direct(*reversed(expected), version="2.0") == expected
    assert (direct(*expected, version="1.0") is not None) is (since == "1.0")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("E.output", "E.output"),
        ("E.input", "E.input"),
        ("S.input", "E.parameter"),
        ("E.output", "E.parameter"),
        ("E.inout", "E.inout"),
        ("S.output", "E.input"),
        ("S.inout", "E.input"),
        ("S.input", "S.input"),
    ],
)
def test_illegal_pairs_have_no_direction(one, other):
    assert direct(end(one), end(other)) is None
    assert direct(end(other), end(one)) is None


def test_no_pair_is_legal_in_both_directions():
    sources = {(row.source_owner, row.source_kind) for row in LEGAL}
    destinations = {(row.destination_owner, row.destination_kind) for row in LEGAL}
    both = sources & destinations
    assert both == {(Owner.ELEMENT, Kind.INOUT)}


def test_an_unspecified_connector_takes_the_kind_that_fits():
    assert direct(end("E.unspecified"), end("E.input")) == (end("E.unspecified"), end("E.input"))
    assert direct(end("E.unspecified"), end("E.output")) == (end("E.output"), end("E.unspecified"))


def test_two_unspecified_connectors_leave_the_direction_open():
    assert direct(end("E.unspecified"), end("E.unspecified")) is None


def test_direction_is_unique_without_unspecified():
    kinds = [kind for kind in Kind if kind is not Kind.UNSPECIFIED]
    ends = [end(f"{owner}.{kind}") for owner, kind in product("SE", kinds)]
    directed = {(start, stop): direct(start, stop) for start, stop in product(ends, ends)}
    assert all(directed[stop, start] == found for (start, stop), found in directed.items())
    assert len({found for found in directed.values() if found}) == 42
