"""Signs in the results of a run that its steps are too large: they cost nothing, where finer runs would."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.planning.plan import Plan
from ssptool.engine.trace import NUMBERED, Column, Floats, Trace, as_doubles

FEWEST_STEPS = 20
"""Steps per period of a signal below which its course is not resolved."""

NOTABLE = 0.05
"""Swing, relative to the range of the signal, from which on it counts as part of an oscillation."""

MOST_PERIODS = 3
"""Periods in a row that are resolved by too few steps before it is said."""

RINGING = 1e-3
"""Change per step, relative to the range of the signal, from which on alternation is no matter of tolerances."""

ALTERNATIONS = 12
"""Steps in a row after each of which a signal turns back, before it is said."""

ALIKE = 4.0
"""Largest ratio of one change of a ringing signal to the next; that of noise is larger now and then."""

CLOSE_SWITCHES = 3
"""Steps between two switches of a signal below which they are not resolved."""


@dataclass(frozen=True, slots=True)
class RunWarning:
    """A sign that the results of a run are not right.

    Attributes
    ----------
    code
        `RUN-101` (ringing), `RUN-102` (few steps per period) or `RUN-103` (switches close together).
    signal, time
        The signal, and when it shows first [s].
    size
        Steps in a row; steps per period; or number of such switches.
    message
        Signal, time and size in words, with a remedy.
    """

    code: str
    signal: str
    time: float
    size: float
    message: str

    def __str__(self) -> str:
        return f"{self.code} {self.message}"


def warnings_of(plan: Plan, trace: Trace | None, steps: int) -> tuple[RunWarning, ...]:
    """Warnings on a run with this number of macro steps, one of each code: of the signal where it is worst.

    Only outputs that feed inputs are looked at: of them the coupling knows no more than their values at its points.
    None where components are one ODE, whose steps are those of its integrator, or where not each step is recorded.
    """
    if trace is None or not len(trace.t) or plan.is_one_ode:
        return ()
    last = np.append(trace.t[1:] > trace.t[:-1], True)
    t = trace.t[last]
    if len(t) <= max(steps, ALTERNATIONS):
        return ()
    sources = {wire.source for wire in plan.wires}
    found: dict[str, list[RunWarning]] = defaultdict(list)
    for place, (slot, column) in enumerate(zip(plan.recorded, trace.columns, strict=True)):
        if slot not in sources or column.type in NUMBERED:
            continue
        values = as_doubles(np.ascontiguousarray(trace.cells[last, place][:, None]), [column.type])[:, 0]
        for one in _of_signal(column, t, values):
            found[one.code].append(one)
    return tuple(max(found[code], key=_badness) for code in sorted(found))


def _badness(warning: RunWarning) -> float:
    """Fewer steps per period are worse, and more of all else."""
    return -warning.size if warning.code == "RUN-102" else warning.size


def _of_signal(column: Column, t: Floats, values: Floats) -> Iterator[RunWarning]:
    finite = values[np.isfinite(values)]
    scale = float(np.ptp(finite)) if len(finite) == len(values) > 0 else 0.0
    if scale == 0.0:
        return
    if column.held:
        yield from _close_switches(column.signal, t, values)
    elif ringing := _ringing(column.signal, t, np.diff(values) / scale):
        yield ringing
    else:
        yield from _few_steps(column.signal, t, values / scale)


def _close_switches(signal: str, t: Floats, values: Floats) -> Iterator[RunWarning]:
    at = np.flatnonzero(values[1:] != values[:-1]) + 1
    close = np.flatnonzero(np.diff(at) < CLOSE_SWITCHES)
    if len(close):
        when = float(t[at[close[0]]])
        yield RunWarning(
            "RUN-103",
            signal,
            when,
            len(close),
            f"{signal} switches again within {CLOSE_SWITCHES - 1} steps, {len(close)} times, first at {when:.6g} s: "
            "the times of its switches are not resolved; use a smaller --step-size",
        )


def _ringing(signal: str, t: Floats, changes: Floats) -> RunWarning | None:
    """The longest stretch of steps, if it is long, in which all changes (n,) alternate and are alike in size."""
    size = np.abs(changes)
    one, other = size[:-1], size[1:]
    turns = (changes[1:] * changes[:-1] < 0) & (np.minimum(one, other) > RINGING)
    turns &= (one < ALIKE * other) & (other < ALIKE * one)
    begin, length = _longest(turns)
    if length < ALTERNATIONS:
        return None
    when = float(t[begin])
    return RunWarning(
        "RUN-101",
        signal,
        when,
        length,
        f"{signal} alternates from step to step, {length} times in a row from {when:.6g} s on: the coupling rings "
        "as the step is too large for it; use a smaller --step-size, or --implementation me where all FMUs offer it",
    )


def _longest(true: NDArray[np.bool_]) -> tuple[int, int]:
    """Begin and length of the longest stretch."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], true, [False])).astype(np.int8)))
    begins, ends = edges[::2], edges[1::2]
    if not len(begins):
        return 0, 0
    longest = int(np.argmax(ends - begins))
    return int(begins[longest]), int((ends - begins)[longest])


def _few_steps(signal: str, t: Floats, values: Floats) -> Iterator[RunWarning]:
    """Oscillations of values (n,), relative to their range, of which a period has too few steps."""
    moving = np.flatnonzero(np.diff(values))
    if len(moving) < 2:
        return
    up = values[moving + 1] > values[moving]
    extrema = moving[1:][up[1:] != up[:-1]]
    halves = np.diff(extrema)
    short = (np.abs(np.diff(values[extrema])) > NOTABLE) & (2 * halves < FEWEST_STEPS)
    begin, length = _longest(short)
    if length < 2 * MOST_PERIODS:
        return
    number, when = 2 * float(np.mean(halves[begin : begin + length])), float(t[extrema[begin]])
    yield RunWarning(
        "RUN-102",
        signal,
        when,
        number,
        f"{signal} oscillates with {number:.2g} steps per period from {when:.6g} s on; {FEWEST_STEPS} or more "
        "resolve it: use a smaller --step-size",
    )
