"""Adaptive macro steps: each is done once whole and once in two halves, and their difference decides."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ssptool.engine.failure import Ending, Failure
from ssptool.engine.masters.master import CouplingMaster
from ssptool.engine.masters.protocols import Participants

_RECOVERABLE = (Ending.COUPLING, Ending.LOOP, Ending.NONFINITE)
"""Ways to fail that a smaller step may avoid."""


@dataclass(frozen=True, slots=True)
class Adaptive:
    """Macro steps of a size at which the estimated error of each is within `tolerance` · (size of the signal), in every
    real signal, and at which signals of other types do not change, except in steps that are short.

    From a saved state two steps of size h are compared with one of 2 h: for a master of order p the difference is
    2^p − 1 times the error of the former, which are kept. Both their ends are communication points of the trace.

    A pair of steps in which a Boolean, an integer, an enumeration or a text changes, or right after which it does,
    is halved until it is not longer than `tolerance` times the pair in which the change was first seen: the time of the
    change is then as exact as the signals are between changes.

    `largest` is the size that no step exceeds [s].

    References
    ----------
    Schierz, Arnold, Clauß 2012, "Co-simulation with communication step size control in an FMI compatible master
    algorithm"; Hairer, Nørsett, Wanner 1993, "Solving ordinary differential equations I", §II.4 (the controller).
    """

    base: CouplingMaster
    tolerance: float = 1e-4
    largest: float = math.inf
    safety: float = 0.9
    least_factor: float = 0.2
    largest_factor: float = 2.0
    smallest: float = 1e-12

    @property
    def name(self) -> str:
        return f"{self.base.name}, adaptive steps"

    @property
    def chooses_steps(self) -> bool:
        return True

    def outline(self, groups: Sequence[Participants]) -> tuple[str, ...]:
        return (
            "save all states",
            "one step of twice the size:",
            *(f"  {line}" for line in self.base.outline(groups)),
            "restore all states; the same in two steps",
            f"if they differ by more than {self.tolerance:g} allows, or a signal that is not a real number changes, "
            "restore and try smaller steps",
        )


def a_smaller_step_may_do(failure: Failure) -> bool:
    """Whether a step that has failed like this may be avoided by a smaller one."""
    return failure.ending in _RECOVERABLE or failure.recoverable


def too_small(smallest: float, why: str, t: float, failure: Failure | None = None) -> Failure:
    """Failure at t of steps that are not smaller than this [s], in which there was that `failure`."""
    return Failure(
        Ending.STEP,
        f"the macro step would have to be smaller than {smallest:.2g} s: {why}",
        "look for a signal that jumps, loosen the tolerance of the adaptive steps, or use fixed ones",
        t,
        iteration=None if failure is None else failure.iteration,
    )


def too_inexact(smallest: float, name: str, error: float, t: float) -> Failure:
    """Failure at t of steps of the smallest size [s], because of the error of a signal; 1 is what is allowed."""
    return too_small(smallest, f"the error of {name} is still {error:.2g} times the tolerance", t)


def always_switching(name: str, size: float, t: float) -> Failure:
    """Failure at t of pairs of steps of this size [s], in which a signal changes too often."""
    return Failure(
        Ending.STEP,
        f"{name} changes again and again, however small the macro step is ({size:.2g} s for a pair of steps)",
        "its FMU counts or toggles at each step, or switches without hysteresis; use fixed steps (no adaptive)",
        t,
    )
