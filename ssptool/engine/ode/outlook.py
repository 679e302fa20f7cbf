"""What an ODE is about to do: its event indicators a moment later, without a step of an integrator."""

from typing import NamedTuple

import numpy as np

from ssptool.engine.kernel.interface import Floats
from ssptool.engine.ode.system import OdeSystem
from ssptool.engine.stopped import Stopped

NEAR = 1e3
"""So many moments before an indicator is zero, at the rate at which it has changed of late, it is worth a look."""


class Outlook(NamedTuple):
    """A moment later: time [s], states (n,) and event indicators (k,)."""

    t: float
    x: Floats
    signs: Floats

    def crossed(self, signs: Floats) -> frozenset[int]:
        """Indices of the indicators (k,) that have another sign now."""
        return frozenset(np.flatnonzero((signs > 0) != (self.signs > 0)).tolist())


def outlook(system: OdeSystem, t: float, x: Floats, moment: float, stop: float) -> Outlook | None:
    """From (t, x) along the slopes there, for a moment [s]; None where that cannot be evaluated.

    The components are left there. They may rely on it that they are not asked for times after the `stop` [s] of the
    run (fmi2SetupExperiment, fmi3EnterInitializationMode), so the states go on alone there.
    """
    slopes, found, setback = np.empty(system.size), np.empty(system.indicators), system.setback
    try:
        if not system.slopes(t, x.ctypes.data, slopes.ctypes.data):
            return None
        later, beyond = min(t + moment, stop), x + moment * slopes
        if not system.signs(later, beyond.ctypes.data, found.ctypes.data):
            return None
    except Stopped:
        return None
    finally:
        system.setback = setback
    return Outlook(later, beyond, found)


def nears_zero(before: Floats, now: Floats, span: float, moment: float) -> bool:
    """Whether an indicator (k,), after what has changed in a span of time [s], may be zero a moment [s] later."""
    change = np.abs(now - before)
    return bool(np.any((change > 0) & (np.abs(now) * span <= NEAR * moment * change)))
