"""The type policy, pair by pair."""

import numpy as np
import pytest

from ssptool.network.conversion import InvalidValue, Relation, Verdict, convert, relation, verdict


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


@pytest.mark.parametrize("kind", [f"{sign}nt{bits}" for sign in ("I", "UI") for bits in (8, 16, 32, 64)])
def test_integers_are_taken_as_far_as_their_type_goes(kind):
    limits = np.iinfo(kind.lower())
    for fits, beyond in ((int(limits.min), int(limits.min) - 1), (int(limits.max), int(limits.max) + 1)):
        assert convert("n", fits, kind) == fits
        with pytest.raises(InvalidValue, match=f"from {limits.min} to {limits.max}"):
            convert("n", beyond, kind)
