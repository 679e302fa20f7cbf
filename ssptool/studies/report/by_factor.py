"""Statistics of results by factor: for each value, or for classes of values if there are many."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ssptool.documents.vocabulary import rounded_text
from ssptool.results.report.content import ReportTable

MOST_VALUES = 8
"""Largest number of different values of a factor with a line each; numbers with more values are put into classes."""

CLASSES = 4

Row = Mapping[str, Any]


def statistics_by_factor(rows: Sequence[Row], factors: Sequence[str], results: Sequence[str]) -> list[ReportTable]:
    """A table for each result: number of runs with a value, mean, standard deviation and extremes, by values of
    factors.

    `rows` are those of completed runs. Factors that do not vary, and strings with many values, are left out. The
    standard deviation is that of a sample (n − 1), and empty for one run.
    """
    headings = ("factor", "value", "runs", "mean", "standard deviation", "min", "max")
    tables = []
    for result in results:
        valued = [row for row in rows if row[result] is not None]
        lines = [
            (name, label, *_numbers([row[result] for row in group]))
            for name in factors
            for label, group in _groups(valued, name)
        ]
        tables.append(ReportTable(f"{result}, by factor", headings, lines, frozenset({2, 3, 4, 5, 6})))
    return [table for table in tables if table.rows]


def _groups(rows: Sequence[Row], name: str) -> Iterator[tuple[str, list[Row]]]:
    """Runs with each value of a factor, or in each class of values; classes have nearly equal numbers of runs."""
    values = list(dict.fromkeys(row[name] for row in rows))
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    if 1 < len(values) <= MOST_VALUES:
        for value in sorted(values) if numbers else values:
            yield _shown(value), [row for row in rows if row[name] == value]
    elif len(values) > MOST_VALUES and numbers:
        bounds = np.quantile(values, np.linspace(0, 1, CLASSES + 1))
        places = np.searchsorted(bounds[1:-1], [row[name] for row in rows], side="right")
        for place in range(CLASSES):
            group = [row for row, own in zip(rows, places, strict=True) if own == place]
            if group:
                inside = [row[name] for row in group]
                yield f"{_shown(min(inside))} to {_shown(max(inside))}", group


def _numbers(values: Sequence[float]) -> tuple[str, ...]:
    deviation = _shown(float(np.std(values, ddof=1))) if len(values) > 1 else ""
    return str(len(values)), _shown(float(np.mean(values))), deviation, _shown(min(values)), _shown(max(values))


def _shown(value: Any) -> str:
    return rounded_text(value, 6) if isinstance(value, float) else str(value)
