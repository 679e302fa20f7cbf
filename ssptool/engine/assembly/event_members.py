"""Instances in event mode, and what their steps report to the kernel."""

import math
from dataclasses import dataclass

import numpy as np

from ssptool.engine.kernel.interface import Floats
from ssptool.engine.planning.events import EventMember
from ssptool.fmu.instance import FmuInstance

_EVENT, _REACHED, _WAITS, _RETURNS, _RESUMED = range(5)


class StepReport:
    """The report of one instance, to which its kernel writes; `returns_early`: the FMU may return early.

    Attributes
    ----------
    numbers : (5,)
        The report of its `InstanceTable`.
    """

    def __init__(self, *, returns_early: bool = True) -> None:
        self.numbers: Floats = np.array([0.0, math.nan, 0.0, returns_early, 0.0])

    @property
    def wanted(self) -> bool:
        """An event is to be handled where the last step has ended."""
        return bool(self.numbers[_EVENT])

    @property
    def reached(self) -> float | None:
        """Time at which the step ended [s]; None before the first report."""
        t = float(self.numbers[_REACHED])
        return None if math.isnan(t) else t

    @property
    def resumed(self) -> int:
        """Number of steps that the FMU ended early without permission, and that were completed with it alone."""
        return int(self.numbers[_RESUMED])

    def wait(self) -> None:
        """The instance is where the next step ends, and does nothing in it."""
        self.numbers[_WAITS] = 1.0

    def reset(self) -> None:
        """Clear the report before a step."""
        self.numbers[:_RETURNS] = 0.0, math.nan, 0.0

    def restore_state(self, *, wanted: bool) -> None:
        """Restore a saved step report."""
        self.reset()
        self.numbers[_EVENT] = wanted


@dataclass(slots=True)
class RunningMember:
    """A running instance in event mode.

    `next_time` [s] is that of its next time event. A component of the ODE has no `step` that could report; the
    integration handles its modes and discrete states.
    """

    index: int
    planned: EventMember
    instance: FmuInstance
    step: StepReport | None = None
    next_time: float = math.inf

    @property
    def name(self) -> str:
        return self.planned.name
