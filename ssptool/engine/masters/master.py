"""Master algorithms: description of a macro step, and the coupled system that a master in Python steps."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.failure import Failure
from ssptool.engine.kernel.calls import Code, Outcome
from ssptool.engine.masters.protocols import InputApproximation, InstanceGroup, Participants, SavedState
from ssptool.engine.time_grid import grid_time

if TYPE_CHECKING:
    from ssptool.engine.kernel._kernel import NativeKernel


CLOSE = 1e-9
"""Fraction of a macro step within which a communication point counts as at an event or a jump."""


def time_of_failure(outcome: Outcome, t: float, end: float) -> float:
    """Time [s] of the failure of a step from t to `end`: the end for a value that is not finite or a loop, otherwise
    t.
    """
    return end if outcome.code in (Code.NONFINITE, Code.LOOP) else t


class Coupling(NamedTuple):
    """Groups of components, as registered with a kernel: all of them, and those that are stepped in turn. `leader` is a
    component that steps before all others; if it ends a step early, no other component has to go back.
    """

    everything: InstanceGroup
    groups: tuple[InstanceGroup, ...]
    leader: InstanceGroup | None = None

    def one_by_one(self) -> Iterator[InstanceGroup]:
        """Each component, in the order in which they step."""
        if self.leader is not None:
            yield self.leader
        ones = (one for group in self.groups for one in group.members or (group,))
        yield from (one for one in ones if one.names != (self.leader and self.leader.names))


@dataclass(frozen=True, slots=True)
class CoupledSystem:
    """Initialized components, for a master in Python.

    Attributes
    ----------
    start, step : [s]
        Start time, and size of a whole macro step.
    coupling
        Groups of components.
    evaluate
        Makes outputs consistent at one instant: (schedule of a group, time [s]) → the failure, or None.
    explain
        (outcome, time [s]) → failure with a message.
    reals
        Slots of real numbers that matter to the run; None: all do.
    """

    kernel: "NativeKernel"
    start: float
    step: float
    coupling: Coupling
    evaluate: Callable[[int, float], Failure | None]
    explain: Callable[[Outcome, float], Failure]
    reals: NDArray[np.intp] | None = None

    @property
    def everything(self) -> InstanceGroup:
        """All components."""
        return self.coupling.everything

    def time(self, point: int) -> float:
        """Communication point number `point` [s]; the same arithmetic as the kernel's."""
        return grid_time(self.start, self.step, point)

    def explain_step(self, outcome: Outcome, t: float, end: float) -> Failure:
        """Failure of a step from t to `end` [s]."""
        return self.explain(outcome, time_of_failure(outcome, t, end))

    def advance(self, instances: InstanceGroup, t: float, h: float) -> Outcome:
        """Step instances. Inputs run as set for the step."""
        return self.kernel.advance(instances.group, t, h)


@runtime_checkable
class OneStepper(Protocol):
    """Stepper of a master in Python for one system; it keeps everything that the master remembers from step to step."""

    def step(self, t: float, h: float, end: float) -> int | Failure:
        """Do one macro step from t to `end`, until the outputs there are consistent. Returns the number of its
        iterations.

        The step is neither accepted nor recorded, and may be undone: the next one then starts at the same t, or
        earlier. Inputs that are driven from outside already follow the step.
        """
        ...


@runtime_checkable
class SavableStepper(Protocol):
    """Stepper that can continue in another process with the same bits."""

    def save_state(self) -> SavedState:
        """State needed to continue from the present point."""
        ...

    def restore_state(self, state: SavedState) -> None:
        """Continue from a saved state. The kernel has the history of that point."""
        ...


class Master(Protocol):
    """A master algorithm: a frozen dataclass with slots. Its `repr` states everything that steps depend on, since a
    saved simulation continues only with an equal master.
    """

    @property
    def name(self) -> str: ...

    @property
    def chooses_steps(self) -> bool:
        """True if the master chooses the size of macro steps, so that their number is not known in advance."""
        ...

    def outline(self, groups: Sequence[Participants]) -> tuple[str, ...]:
        """Text for the calls of a macro step, up to the point at which the outputs at its end are known."""
        ...


class CouplingMaster(Master, Protocol):
    """A master that states how components are coupled over one macro step of any size: by a program
    (`ProgrammedMaster`), or by stepping them in Python (`SteppingMaster`).

    Adaptive steps, jumps of inputs, events and a shorter last step are built on it. Derived classes inherit the
    defaults of the properties below.
    """

    @property
    def inputs(self) -> InputApproximation: ...

    def inputs_of(self, interpolates: bool, passes_on: bool) -> InputApproximation:
        """The approximation for instances with these properties of `InstanceGroup`."""
        return self.inputs

    @property
    def chooses_steps(self) -> bool:
        return False

    @property
    def independent_steps(self) -> bool:
        """True if the step of a component does not depend on other components in the same step, so that it need not be
        repeated after a rollback of others.
        """
        return False

    @property
    def follows_a_leader(self) -> bool:
        """True if one component may step before all others, independent of their values at the end of the step."""
        return False

    @property
    def side_by_side(self) -> bool:
        """True if components may step in parallel."""
        return True


@runtime_checkable
class SteppingMaster(CouplingMaster, Protocol):
    """A master that makes decisions in a step, in Python."""

    def start(self, system: CoupledSystem) -> OneStepper:
        """Make the stepper for a system, ready for the first macro step."""
        ...
