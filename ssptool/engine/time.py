"""Resolution of times: when two of them count as equal, and steps that are too small for their times."""

import math

from ssptool.errors import WrongValue

RESOLUTION = 4
"""Distances of neighbouring numbers that a step takes at least: fewer would be rounded to steps of unlike lengths."""

CLOSE = 1e-9
"""Of a macro step: a communication point so close to an event or a jump is at it."""


def tolerance_of_times(t: float, step: float) -> float:
    """So close to each other times about t [s] are the same in a run with macro steps of this size [s]."""
    return max(CLOSE * step, math.ulp(t))


COARSE = 1e-3
"""Of a macro step: where times are told apart less finely than so, it can be seen in results."""


def coarseness(step: float, start: float, stop: float) -> str:
    """Warning if times between `start` and `stop` [s] are coarse for macro steps of this size [s]; mostly empty."""
    latest = max(abs(start), abs(stop))
    spacing = math.ulp(latest)
    if spacing <= COARSE * step:
        return ""
    return (
        f"times about {latest:.3g} s can be told apart to {spacing:.2g} s only, {100 * spacing / step:.2g} % of a "
        "macro step: no event or communication point is more exact than that; start the run closer to time zero"
    )


def check_step(what: str, step: float, start: float, stop: float) -> None:
    """Refuse a step [s] that does not lead from one time between `start` and `stop` [s] to another.

    Raises
    ------
    WrongValue
        It is not a positive number, or too small.
    """
    if not (step > 0 and math.isfinite(step)):
        raise WrongValue(f"{what} must be greater than 0 s and finite, found {step:g} s")
    least = RESOLUTION * math.ulp(max(abs(start), abs(stop)))
    if step < least:
        raise WrongValue(
            f"{what} must be at least {least:.2g} s, because times from {start:g} s to {stop:g} s cannot be told apart "
            f"more finely; found {step:g} s"
        )
