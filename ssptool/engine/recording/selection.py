"""Which signals are recorded."""

from collections.abc import Sequence
from dataclasses import replace

from ssptool.engine.plan import Plan
from ssptool.engine.recording.patterns import check_patterns, fits_any


def select(plan: Plan, patterns: Sequence[str]) -> Plan:
    """The plan with only those signals recorded that one of the patterns fits; without patterns, as it is.

    Raises
    ------
    NothingMatches
        A pattern fits no signal.
    """
    if not patterns:
        return plan
    names = [column.signal for column in plan.columns]
    check_patterns(patterns, names, "signal that can be recorded")
    chosen = [number for number, name in enumerate(names) if fits_any(patterns, name)]
    return replace(
        plan,
        columns=tuple(plan.columns[number] for number in chosen),
        recorded=tuple(plan.recorded[number] for number in chosen),
    )
