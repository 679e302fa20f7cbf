"""Accuracy checks of a study: selection of runs for finer runs, and the results of the checks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ssptool.arguments import AccuracyName, WantedAccuracy, accuracy_by_default
from ssptool.documents.vocabulary import rounded_text
from ssptool.engine.run.accuracy import Accuracy, AccuracyLimit, is_within
from ssptool.errors import counted
from ssptool.foreign_text import json_text
from ssptool.studies.definition import Study
from ssptool.studies.designs import Computed, FactorValue

AUTO_SECONDS = 2.0
"""Duration above which runs are only checked on request [s]."""

CHECK_RUNS = 7
"""Cost of a check, in runs: the run itself again, and runs with half and a quarter of the step (2 and 4 times the
steps).
"""
MOST_CHECKED = 20
"""Largest number of runs that are checked without a request."""

MOST_NAMED = 5
"""Largest number of runs, or results, in a line."""

ACCURACY, REMARK, LIMIT = "accuracy", "accuracy_remark", "accuracy_limit"
"""Columns of the table of runs: the estimated error (null if there is none), the text of the check, and the kind of its
limit (null in tables of an earlier version).
"""


def wanted_accuracy(study: Study) -> WantedAccuracy:
    """The check that a study states; by default that of the caller's settings file or of the environment."""
    return accuracy_by_default(study.switches.accuracy) if study.accuracy is None else study.accuracy


def is_checked(wanted: WantedAccuracy, seconds: float | None) -> bool:
    """True if runs of this duration [s] are checked; None: no run is known to complete."""
    if wanted == AccuracyName.AUTO:
        return seconds is not None and seconds < AUTO_SECONDS
    return wanted != AccuracyName.OFF


def runs_to_check(
    study: Study, columns: Mapping[str, Sequence[Any]], rows: Sequence[int], best: Sequence[int] = ()
) -> list[int]:
    """Rows to check, from these rows of a table: the first one, the best ones, and the extremes of each factor."""
    if not rows:
        return []
    found = [rows[0], *best]
    for factor in study.factors:
        if not isinstance(factor.source, Computed):
            found += _extremes(rows, columns[factor.name])
    found = list(dict.fromkeys(found))
    return found[:MOST_CHECKED] if wanted_accuracy(study) == AccuracyName.AUTO else found


def _extremes(rows: Sequence[int], values: Sequence[FactorValue]) -> list[int]:
    """Rows with the smallest and the largest number; for other values the first row with each value."""
    if all(isinstance(values[row], int | float) and not isinstance(values[row], bool) for row in rows):
        return [min(rows, key=values.__getitem__), max(rows, key=values.__getitem__)]
    return list({values[row]: row for row in reversed(rows)}.values())


def check_words(accuracy: Accuracy) -> str:
    """Text of the check of a run, with options as in a study file: `--step-size 0.1` becomes `step_size = 0.1`."""
    return accuracy.told(_as_setting)


def _as_setting(name: str, value: str) -> str:
    return f"`{name.replace('-', '_')} = {value if value[0].isdigit() else json_text(value)}`"


@dataclass(frozen=True, slots=True)
class StudyAccuracy:
    """Results of the checks of a study.

    Attributes
    ----------
    checked
        Rows of the table of runs that were checked, in their order.
    runs
        Number of all runs so far.
    wanted
        Requested error; None: none was requested.
    """

    checked: tuple[Mapping[str, Any], ...]
    runs: int
    wanted: float | None = None

    @property
    def missed(self) -> tuple[Mapping[str, Any], ...]:
        """Checked rows whose accuracy is unknown or misses the requested one."""
        return tuple(row for row in self.checked if not self._is_within(row))

    @property
    def met(self) -> bool:
        return not self.missed

    def _is_within(self, row: Mapping[str, Any]) -> bool:
        limit = row.get(LIMIT)
        known = limit is not None and is_within(self.wanted, row[ACCURACY], AccuracyLimit(limit))
        return known or self.wanted is None

    def mark(self, row: Mapping[str, Any]) -> str:
        """Error of a run for a table, with an exclamation mark if it exceeds the requested one."""
        if not row.get(REMARK):
            return ""
        error = "not known" if row[ACCURACY] is None else rounded_text(row[ACCURACY], 1)
        return f"{error} !" if any(row["number"] == one["number"] for one in self.missed) else error

    def __str__(self) -> str:
        return "\n".join(self.lines()).removeprefix("accuracy: ") or "not checked"

    def lines(self) -> Iterator[str]:
        """Text of the checks: the largest error, and runs that miss the requested accuracy."""
        if not self.checked:
            return
        known = [row for row in self.checked if row[ACCURACY] is not None]
        if known:
            worst = max(known, key=lambda row: float(row[ACCURACY]))
            checked = f"{len(known)} of {counted(self.runs, 'run')} checked"
            yield f"accuracy: {checked}; largest error in run {worst['number']}: {worst[REMARK]}"
        if len(known) < len(self.checked):
            first = next(row for row in self.checked if row[ACCURACY] is None)
            unknown = counted(len(self.checked) - len(known), "run")
            yield f"accuracy: not known for {unknown}, the first is run {first['number']}: {first[REMARK]}"
        if self.missed:
            numbers = [str(row["number"]) for row in self.missed]
            named = ", ".join(numbers[:MOST_NAMED]) + (", …" if len(numbers) > MOST_NAMED else "")
            yield f"accuracy: {counted(len(numbers), 'checked run')} not within the stated {self.wanted:g}: {named}"
