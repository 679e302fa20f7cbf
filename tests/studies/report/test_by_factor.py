"""Statistics by factor, compared with sums over what is known of each run."""

import itertools
import statistics

import pytest

from ssptool.studies.report.by_factor import CLASSES, MOST_VALUES, statistics_by_factor


def table(rows, factors):
    (found,) = statistics_by_factor(rows, factors, ["sum"])
    return {(factor, value): numbers for factor, value, *numbers in found.rows}


def test_of_a_sum_over_a_grid_the_mean_moves_with_the_factor_alone():
    rows = [{"a": a, "kind": kind, "sum": a + len(kind)} for a, kind in itertools.product([3, 1.5, 2], ["x", "xxx"])]
    found = table(rows, ["a", "kind"])
    assert list(found) == [("a", "1.5"), ("a", "2"), ("a", "3"), ("kind", "x"), ("kind", "xxx")]
    assert [float(numbers[1]) for numbers in found.values()] == pytest.approx(
        [1.5 + 2, 2 + 2, 3 + 2, 6.5 / 3 + 1, 6.5 / 3 + 3], rel=1e-5
    )
    assert found["a", "1.5"] == ["2", "3.5", f"{2**0.5:.6g}", "2.5", "4.5"]
    assert float(found["kind", "x"][2]) == pytest.approx(statistics.stdev([1.5, 2, 3]), rel=1e-5)


def test_many_numbers_are_put_into_classes_that_have_all_runs():
    count = 10 * CLASSES
    found = table([{"a": float(n * n), "sum": n} for n in range(count)], ["a"])
    assert [numbers[0] for numbers in found.values()] == ["10"] * CLASSES
    assert next(iter(found)) == ("a", "0 to 81") and list(found)[-1] == ("a", "900 to 1521")
    assert [float(numbers[1]) for numbers in found.values()] == [4.5, 14.5, 24.5, 34.5]


def test_runs_without_a_value_do_not_count_and_a_run_alone_has_no_deviation():
    found = table([{"a": 1, "sum": None}, {"a": 1, "sum": 5.0}, {"a": 2, "sum": 7.0}], ["a"])
    assert found["a", "1"] == ["1", "5", "", "5", "5"]


@pytest.mark.parametrize(
    "values", [[2.0, 2.0], [f"file{n}.ssv" for n in range(MOST_VALUES + 1)], []], ids=["constant", "texts", "none"]
)
def test_a_factor_that_says_nothing_has_no_table(values):
    assert statistics_by_factor([{"a": value, "sum": 1.0} for value in values], ["a"], ["sum"]) == []
