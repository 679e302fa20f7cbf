"""Macro steps with a size controlled by the input defect; no step is repeated."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ssptool.engine.masters.program import ProgrammedMaster
from ssptool.engine.masters.protocols import Participants


@dataclass(frozen=True, slots=True)
class DefectControlled:
    """Macro steps of a size at which the integrated errors of the inputs add up to about `tolerance` · (size of the
    signals).

    At the end of a step the true values of its inputs are known. The defect is the error of the mean of an input over
    the step; times the number of times that the input moves through its range in the run, it is kept within `tolerance`
    · (range of the input). A PI controller chooses the size of the next step from the defect; the step itself is kept.
    `order` is that of the master. No step is larger than `largest` [s]. After a change of a signal that is not a real
    number, sizes restart with the `first` one.

    A change is noticed only at the end of the step in which it happens. The values of the inputs of the component that
    has caused it are then known, and further steps become small before inputs reach these values again. After a jump of
    an input, steps are so small that as many jumps per time as so far are within `tolerance`, but at least `tolerance`
    times the interval. The estimated errors of all steps are added up, so that the run can state them; where a signal
    is much steeper than on the mean, what has been missed before shifts it, and counts more.

    Components that follow a held input at once lag by half a step, which no mean shows. In a short step, every ninth
    one, they catch up: the bend there is a measure of the lag.

    References
    ----------
    Busch and Schweizer 2011, "An explicit approach for controlling the macro-step size of co-simulation methods";
    Gustafsson, Lundh, Söderlind 1988, "A PI stepsize control for the numerical solution of ordinary differential
    equations".
    """

    base: ProgrammedMaster
    tolerance: float
    largest: float = math.inf
    first: float = 0.0
    order: int = 1
    share: float = math.pi
    ways: float = 1e9
    safety: float = 0.8
    integral: float = 0.5
    proportional: float = 0.2
    least_factor: float = 0.2
    largest_factor: float = 1.5
    smallest: float = 1e-9

    @property
    def name(self) -> str:
        return f"{self.base.name}, steps by errors of inputs"

    @property
    def chooses_steps(self) -> bool:
        return True

    def outline(self, groups: Sequence[Participants]) -> tuple[str, ...]:
        return (*self.base.outline(groups), "errors of inputs: the size of the next step")
