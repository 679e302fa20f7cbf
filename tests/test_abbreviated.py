"""Lists that people read."""

import pytest

from ssptool.errors import abbreviated, similar_names


@pytest.mark.parametrize(
    ("count", "text"), [(0, ""), (1, "0"), (3, "0, 1, 2"), (4, "0, 1, 2, 3"), (5, "0, 1, 2 and 2 more")]
)
def test_what_is_left_out_is_counted_and_never_one(count, text):
    assert abbreviated(range(count), 3) == text


def test_long_things_are_told_apart_by_semicolons():
    assert abbreviated("abcde", 2, separator="; ") == "a; b; and 3 more"


def test_near_names_are_found_in_either_case():
    assert similar_names("motor.rr", ["Motor.u", "Motor.R", "Gear.ratio"])[0] == "Motor.R"
    assert similar_names("KERNEL", ["kernel", "Colonel"])[0] == "kernel"
