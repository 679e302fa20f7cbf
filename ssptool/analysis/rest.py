"""Steady states of systems whose components give no derivatives: a simulation that comes to rest."""

import numpy as np

from ssptool.analysis.linear_model import LinearVariable
from ssptool.analysis.steady_state import SteadyState
from ssptool.engine.stepping.simulation import SteppedRun
from ssptool.engine.trace import REAL_TYPES

MOVED = 1e-9
"""Largest change of a signal at rest over half of the simulation, relative to its largest value."""

LONGEST = 64
"""Largest duration of the simulation, as a multiple of that of a run."""


def simulated_rest(run: SteppedRun, first: float) -> SteadyState:
    """The state in which a simulation comes to rest. After `first` seconds, and after each doubling of the time, it is
    at rest if no real signal has moved since half of the time. Raises RunError.
    """
    start, stop = run.plan.interval.start, run.plan.interval.stop
    columns = [place for place, one in enumerate(run.plan.columns) if one.type in REAL_TYPES]
    duration, found = first, False
    while not found:
        run.run_until(min(start + duration, stop))
        trace = run.trace
        y = trace.cells[:, columns]
        later = trace.t >= start + (run.time - start) / 2
        moved, size = np.ptp(y[later], axis=0), np.abs(y).max(axis=0, initial=0.0)
        found = bool(np.all(moved <= MOVED * size))
        if run.finished:
            break
        duration *= 2
    shown = [run.plan.columns[place] for place in columns]
    return SteadyState(
        system=run.plan.name,
        time=run.time,
        found=found,
        states=(),
        inputs=(),
        outputs=tuple(
            LinearVariable(one.signal, one.unit, float(value)) for one, value in zip(shown, y[-1], strict=True)
        ),
        kinds={},
        residuals={f"change of {one.signal}": float(size) for one, size in zip(shown, moved, strict=True)},
        model=None,
        notes=(_how(run, found),),
    )


def _how(run: SteppedRun, found: bool) -> str:
    until = f"a simulation until t = {run.time:.6g} s, because not all components run by model exchange"
    if not found:
        return f"no rest in {until}"
    return f"found by {until}; `ssptool run` with --stop-time {run.time:.6g} and --save writes the state, for --from"
