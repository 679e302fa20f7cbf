"""Statistics of results by factor: for each of its values, or for classes if it has many values."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ssptool.documents.vocabulary import rounded_text
from ssptool.results.report.content import ReportTable

MOST_VALUES = 8
"""Different values of a factor, each of which has a line; the numbers of one with more are put into classes."""

CLASSES = 4

Row = Mapping[str, Any]


def statistics_by_factor(rows: Sequence[Row], factors: Sequence[str], results: Sequence[str]) -> list[ReportTable]:
    """A table for each result: runs with a value, mean, standard deviation, extremes, over values of factors.

    `rows` are those of completed runs. A factor that does not vary has no line, and a text with many values neither.
    The standard deviation is that of a sample (n − 1), and empty for one run.
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
    """The runs with each value of a factor, or in each of its classes, which have as many runs each as can be."""
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
