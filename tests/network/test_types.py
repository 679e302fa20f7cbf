"""The type policy, pair by pair."""

import pytest

from ssptool.network.conversion import Relation, Verdict, relation, verdict


@pytest.mark.parametrize(
    ("source", "destination", "expected"),
    [
        ("Real", "Float64", Relation.IDENTICAL),
        ("Int32", "Integer", Relation.IDENTICAL),
        ("String", "String", Relation.IDENTICAL),
        ("Enumeration", "Enumeration", Relation.IDENTICAL),
        ("Float32", "Real", Relation.WIDENING),
        ("Int8", "Int32", Relation.WIDENING),
        ("UInt8", "Int16", Relation.WIDENING),
        ("UInt32", "Float64", Relation.WIDENING),
        ("Integer", "Real", Relation.WIDENING),
        ("Int16", "Float32", Relation.WIDENING),
        ("Int32", "Float32", Relation.NARROWING),
        ("Int64", "Float64", Relation.NARROWING),
        ("Int8", "UInt8", Relation.NARROWING),
        ("Real", "Float32", Relation.NARROWING),
        ("Real", "Integer", Relation.NARROWING),
        ("Integer", "Enumeration", Relation.ENUMERATION),
        ("Enumeration", "UInt8", Relation.ENUMERATION),
        ("Boolean", "Real", Relation.BOOLEAN_NUMBER),
        ("Integer", "Boolean", Relation.BOOLEAN_NUMBER),
        ("String", "Real", Relation.INCOMPATIBLE),
        ("Binary", "String", Relation.INCOMPATIBLE),
        ("Clock", "Boolean", Relation.INCOMPATIBLE),
        ("Enumeration", "Real", Relation.INCOMPATIBLE),
    ],
)
def test_pairs_of_types_relate_as_the_table_says(source, destination, expected):
    assert relation(source, destination) is expected


def test_verdicts_go_from_ok_to_error():
    pairs = [("Real", "Float64"), ("Integer", "Real"), ("Integer", "Enumeration"), ("Real", "Integer")]
    assert [verdict(*pair) for pair in pairs] == [Verdict.OK, Verdict.INFO, Verdict.WARNING, Verdict.ERROR]
