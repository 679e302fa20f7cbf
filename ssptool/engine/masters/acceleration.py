"""What an iterated master asks of a method that finds the next iterate."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ssptool.dataclass import dataclass
from ssptool.engine.kernel.interface import Floats
from ssptool.engine.loops.iterate import Proposal
from ssptool.engine.masters.master import StepDerivatives
from ssptool.engine.masters.partners import Memory


class Interface(NamedTuple):
    """The unknowns of a group, in nominal values (all about 1).

    Attributes
    ----------
    step
        x (m,) → what comes out for x when the present step is done anew with it; nan where that fails.
    pattern
        Which of the values that come out (rows) may depend on which of those that go in (columns); (m, m).
    derivatives
        Those of `step` at the point where the FMUs are, as far as they tell, for nominal values as well; None: nothing
        is known.
    """

    step: Callable[[Floats], Floats]
    pattern: Callable[[], NDArray[np.bool_]]
    derivatives: Callable[[], StepDerivatives] | None = None


class Accelerator(Protocol):
    """A method at work on one interface; it may remember from step to step what it has seen."""

    def begin(self) -> Proposal:
        """A new macro step."""
        ...

    def memory(self) -> Memory:
        """What it has seen."""
        ...

    def recall(self, memory: Memory) -> None:
        """Have seen that."""
        ...


class Acceleration(Protocol):
    """How the next iterate follows from the last ones."""

    @property
    def name(self) -> str: ...

    def start(self, interface: Interface) -> Accelerator: ...


class Proposing(Protocol):
    """A loop solver that proposes points from points and values alone."""

    @property
    def name(self) -> str: ...

    def proposal(self) -> Proposal: ...


@dataclass(frozen=True, slots=True)
class EachStep:
    """The method of a loop solver, which starts anew in every macro step."""

    method: Proposing

    @property
    def name(self) -> str:
        return self.method.name

    def start(self, interface: Interface) -> Accelerator:
        return self

    def begin(self) -> Proposal:
        return self.method.proposal()

    def memory(self) -> Memory:
        return {}

    def recall(self, memory: Memory) -> None:
        pass
