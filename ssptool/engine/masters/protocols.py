"""Protocols of the parts of a coupled system besides instances: input approximation, ODE, stimuli, checkpoints."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.failure import Failure
from ssptool.engine.kernel.interface import Floats, Instruction, Kernel, Outcome, Slots
from ssptool.errors import counted
from ssptool.network.network import Signal

SavedState = Mapping[str, NDArray[Any]]
"""State of a stepper or of a part of one, as arrays by name."""


def under(name: str, state: SavedState) -> dict[str, NDArray[Any]]:
    """Names of the saved state of a part, inside that of the whole."""
    return {f"{name}/{key}": value for key, value in state.items()}


def part_of(state: SavedState, name: str) -> SavedState:
    """Saved state of a part: the inverse of `under`."""
    return {key.removeprefix(f"{name}/"): value for key, value in state.items() if key.startswith(f"{name}/")}


class InputApproximation(Protocol):
    """Approximation of inputs over a macro step (hold, mid-step, extrapolate, interpolate), as an instruction of a
    program or applied at once.

    Attributes
    ----------
    order
        Order of the polynomial.
    order_of_accuracy
        Order of accuracy of the solution of a coupled system with such inputs.
    from_the_past
        The same where the values at the end of the step are not known before it.
    where_held
        The same for components whose inputs can only be constant over a step.
    """

    @property
    def name(self) -> str: ...

    @property
    def order(self) -> int: ...

    @property
    def order_of_accuracy(self) -> int: ...

    @property
    def from_the_past(self) -> "InputApproximation": ...

    @property
    def where_held(self) -> "InputApproximation": ...

    def instruction(self, group: int) -> Instruction: ...

    def apply(self, kernel: Kernel, group: int, h: float) -> None: ...


@dataclass(frozen=True, slots=True)
class Unconverged:
    """Steps of a fixed number of iterations whose last iteration changed some signal by more than convergence allows.

    Attributes
    ----------
    residual
        The largest change in the last iteration of a step, relative to the larger of value and nominal value.
    signal, time
        The signal that it is of, and the start of that step [s].
    iterations
        In each step.
    grows
        In some step the last iteration changed more than the first one did.
    """

    steps: int = 0
    residual: float = 0.0
    signal: str = ""
    time: float = 0.0
    iterations: int = 0
    grows: bool = False

    def beside(self, other: "Unconverged") -> "Unconverged":
        """Both together: all steps, and the worst."""
        worst = self if self.residual >= other.residual else other
        return replace(worst, steps=self.steps + other.steps, grows=self.grows or other.grows)

    def text(self, who: str) -> str:
        if self.grows:
            advice = "the iteration diverges: use --acceleration iqn-ils or newton, or a smaller --step-size"
        else:
            advice = "leave out --iterations to iterate each step until it converges"
        steps, iterations = counted(self.steps, "macro step"), counted(self.iterations, "iteration")
        return (
            f"{steps} of {who} did not converge in {iterations}: the last one changes {self.signal} by up to "
            f"{self.residual:.2g} of its size (step from t = {self.time:.6g} s); {advice}"
        )


NONE_UNCONVERGED = Unconverged()


class UnplannedSteps(Protocol):
    """Count of steps of a group that were done otherwise than planned."""

    @property
    def unconverged(self) -> Unconverged: ...

    def remarks(self, names: tuple[str, ...]) -> Iterator[str]:
        """In words, for the group of these names."""
        ...


class CheckpointProtocol(Protocol):
    """States of all instances, kept beside the one that a kernel saves."""

    def save(self, time: float) -> Failure | None: ...

    def restore(self, time: float) -> Failure | None: ...


class Ode(Protocol):
    """Components of model exchange, all together: most of what can be done to them can be done in event mode only."""

    def intervene(self, action: Callable[[], None]) -> Failure | None:
        """Call `action`, which may set any value at the communication point reached; this is an event."""
        ...


class Updated(NamedTuple):
    """A component has updated its discrete states in event mode; `again`: it wants another event iteration."""

    component: str
    again: bool


class SteppedOde(Ode, Protocol):
    """An ODE that is stepped as if it were a component of co-simulation."""

    def with_event_rows(self, before: Floats, rows: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Rows (k, 1 + recorded) of communication points, the one before them being `before`, with those of events in
        between: new ones, or the same where there are no events. And which of them are communication points.
        """
        ...

    def remarks(self) -> Iterator[str]:
        """Remarks on the rows of events."""
        ...

    def show_end(self, t: float) -> None:
        """Make its outputs consistent at t [s], where one of its components has ended the simulation, and visible to
        all. May raise `Stopped`, `FmiError`.
        """
        ...

    @property
    def takes_event_signals(self) -> bool:
        """True if components of co-simulation feed inputs of the ODE that are set at events only."""
        ...

    def event_pending(self) -> bool:
        """True if such an input has changed, so that an event is due at the communication point reached."""
        ...

    @property
    def next_time(self) -> float:
        """Time of the next known event [s]."""
        ...

    def enter(self) -> None:
        """Enter event mode, together with all other components. Like `update` and `leave`, may raise `Stopped`,
        `FmiError`.
        """
        ...

    def update(self, t: float) -> Sequence[Updated]:
        """New discrete states, at t [s]."""
        ...

    def leave(self, *, changed: bool, first: bool) -> bool:
        """Enter continuous-time mode with the present signals, which have `changed` or not; `first`: for the first time
        after initialization. Returns whether more happened than that an own event indicator leaves zero.
        """
        ...

    def new_counts(self) -> tuple[int, int]:
        """Numbers of events and of evaluations of derivatives since the last call."""
        ...

    def save_state(self) -> SavedState:
        """State needed to continue from the present point with the same bits."""
        ...

    def restore_state(self, state: SavedState) -> None:
        """Continue from a saved state."""
        ...


class StimuliProtocol(Protocol):
    """Inputs and scenarios applied to the system."""

    end: float
    """Until which time [s] nothing jumps."""
    segment: int
    """Number of jumps so far."""

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """Instructions at the start of a macro step, as part of a program."""
        ...

    def begin(self, h: float, end: float) -> None:
        """Before a macro step of size h [s] to `end` [s], where it is not a program. May raise BadInputs."""
        ...

    def jump(self) -> Outcome:
        """Jump to the right side of `end`. May raise FmiError."""
        ...

    def go_to(self, segment: int) -> None:
        """Go to the segment with this number; values and parameters are already those of that segment."""
        ...

    def write(self, t: float) -> None:
        """Write the values of all input sources at t [s], which is not after `end`."""
        ...

    def limit(self, t: float) -> float:
        """The next time after t [s] that an integrator must not step over."""
        ...


class InstanceGroup(NamedTuple):
    """Instances that are stepped together, as registered with the kernel.

    Attributes
    ----------
    group, following, held
        Kernel groups: all; those whose inputs follow the master's coupling; the rest, whose inputs are held.
    schedule
        Kernel schedule that makes their outputs consistent at one instant.
    members
        Sets of one instance each, in the order in which they are stepped. Empty for a set of one.
    unknowns
        Input slots that are fed from inside the set: what an iteration has to find.
    nominal
        Nominal values of `unknowns`, in the same order.
    interpolates
        All its wired inputs come from instances that are stepped before it.
    names
        Names of the instances.
    signals
        Names of `unknowns`, in the same order.
    integrated
        The ODE of the components of model exchange is among them, whose outputs are consistent after a schedule only.
    """

    group: int
    following: int
    held: int
    schedule: int
    members: tuple["InstanceGroup", ...] = ()
    unknowns: Slots = ()
    nominal: Sequence[float] = ()
    interpolates: bool = False
    names: tuple[str, ...] = ()
    signals: tuple[str, ...] = ()
    integrated: bool = False


class InterfaceEnds(NamedTuple):
    """Ends of a connection inside a group of instances; `unit` is that of the destination."""

    source: Signal
    destination: Signal
    unit: str


class Participants(NamedTuple):
    """A group by the names of its instances, in the order in which they step, for an outline of a macro step.

    Attributes
    ----------
    following, held
        Names whose inputs follow the coupling; names whose inputs can only be held, or that have none.
    iterated
        True if they are mutually coupled.
    interpolates
        `interpolates` of `InstanceGroup`, per name.
    integrated
        Names that make up the ODE.
    """

    names: tuple[str, ...]
    following: tuple[str, ...]
    held: tuple[str, ...]
    iterated: bool
    interpolates: tuple[bool, ...]
    integrated: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ", ".join(self.names)

    def moves(self, coupling: str, where_held: str = "hold") -> tuple[str, ...]:
        """Lines on how the inputs of the group run over a step."""
        lines = ((coupling, self.following), (where_held, self.held))
        return tuple(f"inputs of {', '.join(names)}: {how}" for how, names in lines if names)

    def one_by_one(self) -> tuple["Participants", ...]:
        return tuple(
            Participants(
                (name,),
                tuple(n for n in self.following if n == name),
                tuple(n for n in self.held if n == name),
                False,
                (able,),
                tuple(n for n in self.integrated if n == name),
            )
            for name, able in zip(self.names, self.interpolates, strict=True)
        )
