"""Macro steps sized by what inputs miss over them; no step is repeated."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ssptool.engine.masters.program import ProgrammedMaster
from ssptool.engine.masters.protocols import Participants


@dataclass(frozen=True, slots=True)
class DefectControlled:
    """Macro steps at which errors of the inputs, if components integrate them, add up to about `tolerance` · (size of
    the signals).

    At the end of a step it is known what an input should have been in it: what its mean has missed, times the number of
    times that the input moves through its range in the run, is kept within `tolerance` · (range of the input). By what
    a step misses a PI controller chooses the size of the next one; the step itself stays as it is. `order` is that of
    the master. No step is larger than `largest` [s]; where a signal that is not a real number changes, sizes begin anew
    with the `first` one. So a change is noticed late, by the step in which it happens.

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
