"""Units of results, where their expressions leave no doubt."""

import pytest

from ssptool.studies.checking import result_unit
from ssptool.studies.expressions import Expression

NAMES = {"k": "N/m", "earlier": "m", "x": "m", "count": None}
SIGNALS = {"A.x": "m", "A.v": "m/s", "A.n": None}


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ('max("A.x")', "m"),
        ('rms("A.v")', "m/s"),
        ('at("A.x", 2.5)', "m"),
        ('time_of_max("A.x")', "s"),
        ('crossing("A.x", 0.5, "up")', "s"),
        ('max("A.x") - min("A.x")', "m"),
        ('abs(-final("A.x") - earlier)', "m"),
        ('max(earlier, x)', "m"),
        ('value("k")', "N/m"),
        ("k", "N/m"),
        ('final("A.x") if k > 2 else earlier', "m"),
        ('crossing("A.x", 0, number=2) - time_of_min("A.x")', "s"),
    ],
)  # fmt: skip
def test_a_measure_has_the_unit_of_its_signal_or_is_a_time_and_sums_keep_it(text, unit):
    assert result_unit(Expression(text), NAMES, SIGNALS) == unit


@pytest.mark.parametrize(
    "text",
    [
        'integral("A.x")',
        '1000 * max("A.x")',
        'max("A.x") / max("A.v")',
        'max("A.x") + 1',
        'max("A.x") - max("A.v")',
        'max("A.x") > 2',
        'max("A.n")',
        "sqrt(earlier)",
        "count + count",
        "3",
    ],
)
def test_what_is_not_certain_has_no_unit(text):
    assert result_unit(Expression(text), NAMES, SIGNALS) is None
