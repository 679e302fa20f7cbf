"""Rows of input tables inside macro steps, which FMUs do not see individually."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from ssptool.engine.kernel.calls import DrivenInputMode, Floats
from ssptool.engine.planning.fixed_steps import CLOSE_TO_WHOLE
from ssptool.engine.planning.plan import Plan
from ssptool.engine.planning.stimuli import driven_inputs, slot_sources, table_rows
from ssptool.engine.stimuli.stimuli import boundaries
from ssptool.errors import counted

LEVEL = 1e-9
"""Distance from the chord of a step, relative to the range of the table, below which a row counts as on the chord."""


class RowsInside(NamedTuple):
    """Rows of one table inside macro steps, for one input of a component.

    Attributes
    ----------
    source, input
        Names of the driven input and of the input of the component.
    number, rows
        Number of rows inside steps, some of which are not on the chord of their step; number of all rows during the
        run.
    departure
        Largest distance of such a row from the chord, relative to the range of the table.
    time, spacing : [s]
        Time of that row; smallest distance of two rows.
    """

    source: str
    input: str
    running: DrivenInputMode
    number: int
    rows: int
    departure: float
    time: float
    spacing: float


def rows_inside(plan: Plan) -> Iterator[RowsInside]:
    """Tables with rows inside macro steps. Empty for adaptive steps, whose points are not known."""
    if plan.settings.adaptive is not None:
        return
    integrated = {signal for one in plan.integrated for signal in one.inputs} if plan.is_one_ode else set()
    running = {one.slot: one.running for one in driven_inputs(plan)}
    for one in slot_sources(plan):
        ends = [wire.destination for wire in plan.wires if wire.source == one.slot and wire.destination in running]
        ends = [slot for slot in ends if plan.signals[slot] not in integrated]
        rows = table_rows(one.time_signal)
        if not ends or rows is None or not rows.linear or len(rows.times) < 2:
            continue
        found = _found(plan, np.array(rows.times), np.array(rows.values, dtype=np.float64))
        if found is not None:
            name = str(plan.signals[one.slot]).removesuffix(" (driven)")
            yield from (RowsInside(name, str(plan.signals[slot]), running[slot], *found) for slot in ends)


def _found(plan: Plan, times: Floats, values: Floats) -> tuple[int, int, float, float, float] | None:
    """The numbers in `RowsInside` for a table (rows,); None if all rows are on the chords of their steps."""
    interval, scale = plan.interval, float(np.ptp(values))
    during = (times >= interval.start) & (times <= interval.stop)
    t = times[during]
    begin, end = _steps(plan, t)
    share = (t - begin) / np.maximum(end - begin, np.finfo(float).tiny)
    chord = (1 - share) * _limit(times, values, begin, "right") + share * _limit(times, values, end, "left")
    inside = (share > CLOSE_TO_WHOLE) & (share < 1 - CLOSE_TO_WHOLE)
    distance = np.where(inside, np.abs(values[during] - chord), 0.0)
    if not np.any(distance > LEVEL * scale):
        return None
    worst, spacing = int(np.argmax(distance)), float(np.min(np.diff(np.unique(t)), initial=np.inf))
    return int(np.count_nonzero(inside)), len(t), float(distance[worst]) / scale, float(t[worst]), spacing


def _steps(plan: Plan, t: Floats) -> tuple[Floats, Floats]:
    """Start and end [s] of the macro steps that contain these times; steps also end at jumps."""
    interval = plan.interval
    number = np.floor((t - interval.start) / interval.step)
    begin, end = interval.start + number * interval.step, interval.start + (number + 1) * interval.step
    jumps = [one.first for one in boundaries(plan.stimuli.jumps, interval.start, interval.stop)]
    ends = np.array([-np.inf, *jumps, interval.stop, np.inf])
    after = np.searchsorted(ends, t, "right")
    return np.maximum(begin, ends[after - 1]), np.minimum(end, ends[after])


def _limit(times: Floats, values: Floats, at: Floats, side: Literal["left", "right"]) -> Floats:
    """The limit of a table at these times from the left or from the right."""
    row = np.searchsorted(times, at, side)
    first, second = np.maximum(row - 1, 0), np.minimum(row, len(times) - 1)
    width = np.where(times[second] > times[first], times[second] - times[first], 1.0)
    share = np.clip((at - times[first]) / width, 0.0, 1.0)
    found: Floats = values[first] + share * (values[second] - values[first])
    return found


def notes_on_rows(plan: Plan) -> Iterator[str]:
    """A note for each input that is held at means of rows."""
    for one in rows_inside(plan):
        if one.running is DrivenInputMode.MIDDLE:
            yield (
                f"{one.source}: {one.number} of {counted(one.rows, 'row')} lie inside macro steps of "
                f"{plan.interval.step:g} s; {one.input} is held at the mean over each step, which keeps the integral"
            )
