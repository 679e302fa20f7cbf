"""Python interface of the kernel of a running system.

A kernel holds one flat array of signal values (`values`, one slot per connector that is exchanged or recorded) and the
instances that own those slots. It copies, sets, gets, steps and records, but decides nothing. The system fills it from
its frozen plan.

A slot has eight bytes. Signals of type Float64 and Float32 have a double. All others, which are known when the kernel
is created, have a 64-bit integer in the same memory (`integers`): the value of an integer or an enumeration (for UInt64
the same bits), 0 or 1 for a Boolean, and for a String or a Binary its number among the contents that the kernel stores
(the bytes of all strings, as UTF-8, and binary values so far). So every value is copied, stored and recorded exactly,
whatever its type.

Every operation acts on instances by their index, in the order given, and stops at the first FMI
status worse than a warning and at the first output that is nan or inf.

Failures of calls of components are returned as an `Outcome`. Invalid arguments raise ValueError or IndexError before
any component is called. Tests of methods use a separate module with more operations.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from ssptool.engine.kernel.calls import (
    AcceptedSteps,
    Call,
    DividedSteps,
    Floats,
    Integers,
    IterationReport,
    Outcome,
    SolveLoop,
    Stretches,
)
from ssptool.engine.kernel.solutions import RescueWork, Solution
from ssptool.engine.trace import BYTES, NUMBERED, TEXT, as_content, from_content, holds_integer
from ssptool.fmu.description import Value, is_text


class Kernel(Protocol):
    """Values and instances of a running system. All times in [s]."""

    @property
    def values(self) -> Floats:
        """(n,) a view, not a copy: present values of all slots."""

    @property
    def integers(self) -> Integers:
        """(n,) the same memory as `values`, for slots that hold integers."""

    def content(self, number: int) -> bytes:
        """The bytes with this number; 0 is empty. Raises IndexError for a number that was never assigned, or was
        forgotten.
        """

    def number(self, content: bytes, keep: bool = False) -> int:
        """Number of these bytes, counted from 0; equal bytes have equal numbers.

        `keep`: the number is stored outside of slots, so the bytes are never forgotten.
        """

    def forget(self, needed: Sequence[int]) -> list[int]:
        """Forget all contents except those that must be kept and the `needed` numbers (sorted). Returns the sorted
        numbers of the forgotten ones, which are never used again.
        """

    @property
    def contents(self) -> int:
        """Number of contents so far."""

    @property
    def content_bytes(self) -> int:
        """Approximate memory of the contents [byte]."""

    @property
    def input_value(self) -> Floats:
        """(n,) a view: values of input slots that `advance` sets at the start of the step. After a `run` they need not
        be those of its last step.
        """

    @property
    def input_rates(self) -> Floats:
        """(2, n) a view: first and second derivative of the inputs over the step; zero: held."""

    def report_time(self, place: int) -> None:
        """Write the start of each step [s] to the double at this address from now on; 0: do not write."""

    def schedule(self, steps: Sequence[Call | SolveLoop]) -> int:
        """Register an evaluation order and return its index."""

    def record(self, t: float, row: Floats) -> Outcome:
        """Fill a row (1 + recorded,): t [s], then the slots. Observed variables are got first; nan and inf are also
        recorded. The instruction RECORD does the same in a `run`.
        """

    # -- access from outside ----------------------------------------------------------------------------------

    def table_column(self, column: int) -> Floats:
        """(rows,) a view of the values of a column; it may be changed."""

    def write(self, t: float) -> None:
        """Write the values of all tables at t [s] to the slots that they drive."""

    # -- bulk operations -------------------------------------------------------------------------------------

    def exchange(self, group: int) -> None:
        """Copy every wire whose destination is an input of an instance of the group."""

    def hold(self, group: int) -> None:
        """input_value = values, rates = 0.

        Inputs of all types are set like this by `advance`.
        """

    def extrapolate(self, group: int, order: int) -> None:
        """The polynomial through the last `order` + 1 accepted points (fewer while there are fewer).

        input_value = values at the last accepted point; rates = derivatives of that polynomial there.
        Before the first `accept` this is `hold`. Inputs of types other than Float64 keep the value that they had at
        the last accepted point, likewise in `interpolate`.
        """

    def interpolate(self, group: int, order: int, h: float) -> None:
        """The polynomial through the last `order` accepted points (or fewer) and the present values.

        The present values are taken to be those at t + h, where t is the last accepted point, from which
        the step starts. input_value and rates as in `extrapolate`. Of order 0: constant, the mean of both ends.
        """

    def mid_step(self, group: int, order: int, h: float) -> None:
        """Constant over the step of size h [s]: the value in the middle of the step if the input runs smoothly,
        otherwise its present value.

        With order 0 the value is extrapolated from the last two accepted points. With order 1 it is the mean of both
        ends; the present values are those at the end of the step. An input runs smoothly if its changes per time
        between the last accepted points, at least two of them and at most three, have one sign, and each is at most
        twice its neighbours. Points before a jump do not count.
        """

    def advance(self, group: int, t: float, h: float) -> Outcome:
        """Set inputs (and their rates where not zero), do a step from t to t + h, get outputs.

        Rates that an FMI 2.0 FMU got in earlier steps are reset to zero when its inputs are held. An FMU without a
        saved state gets noSetFMUStatePriorToCurrentPoint = true.
        """

    def evaluate(self, schedule: int) -> Outcome:
        """Make the outputs consistent at the instant reached, without a step."""

    def save(self, group: int) -> Outcome:
        """Keep the complete FMU state of each instance of the group: one per instance, the last one saved.

        FMI 1.0 has no such function: an instance of it answers with an error.
        """

    def restore(self, group: int) -> Outcome:
        """Restore the saved FMU states. `values` and history are not touched.

        Raises ValueError for an instance without a saved state.
        """

    def use_threads(self, count: int) -> None:
        """Step the instances of a group in parallel on this number of threads from now on, if their steps take long
        enough.

        Results do not depend on it. If a step fails, later instances of the group may have been stepped as well.
        """

    @property
    def retreats(self) -> tuple[tuple[int, int, float, str, int], ...]:
        """Instances whose FMU has refused to follow its inputs, as (instance, order of the polynomials that its inputs
        follow since then, time from which on [s], function that refused (empty after `limit_inputs`), FMI status).

        No step is lost: the step with the refusal is done with the lower order. With order 0, inputs are held at their
        value in the middle of the step.
        """

    @property
    def divided_steps(self) -> tuple[DividedSteps, ...]:
        """Instances whose FMU has discarded steps, which were then done in 2, 4, 8, … parts, at most 1024.

        The FMU is reset to the state that was saved at the start of the step. Without a saved state, it must report
        that it is still at the start (fmi2GetRealStatus, lastSuccessfulTime of fmi3DoStep). Inputs run over the parts
        as over the whole step. The step of an FMU that requests the end of the simulation is not repeated.

        References
        ----------
        FMI 2.0.4 §4.2.2 (fmi2Discard: a step may be repeated with a smaller size).
        """

    def changes_of_mode(self, instance: int) -> int:
        """Changes of the floating-point environment by calls of this instance, which were undone: see
        `ssptool.fmu.surroundings`.
        """
        ...

    def ended(self, instance: int) -> float:
        """Time [s] at which an FMI 3.0 instance requested the end of the simulation in its last step; nan if it did
        not.
        """
        ...

    # -- iterated steps --------------------------------------------------------------------------------------

    def iteration_report(self, iteration: int) -> IterationReport:
        """Report on the end of the last step of an iteration."""

    def accepted_steps(self, iteration: int) -> AcceptedSteps:
        """Steps that were accepted so far although their iterates did not agree."""

    def damped_phases(self, iteration: int) -> Stretches:
        """Intervals of time in whose steps inputs were held at their value at the end."""

    # -- algebraic loops -------------------------------------------------------------------------------------

    @property
    def loops_solved(self) -> int:
        """Number of loop solves in schedules, successful or not."""

    @property
    def loop_iterations(self) -> int:
        """Number of evaluations of loop bodies in these solves."""

    def loop_tolerance(self, loop: int) -> float:
        """Relative tolerance of a loop in schedules."""

    @property
    def latest_rescues(self) -> tuple[tuple[int, Solution], ...]:
        """Loops that needed the chain of better methods in the last evaluation with such loops, and their solutions."""

    @property
    def rescue_work(self) -> RescueWork:
        """Work for loops that needed the chain of better methods inside of iterated steps so far."""


NOTHING: Mapping[str, Value] = {TEXT: "", BYTES: b""}
"""Default values by type; 0 for types that are not here."""


def read_slot(kernel: Kernel, slot: int, kind: str) -> Value:
    """The value in a slot that holds a signal of this type."""
    if not holds_integer(kind):
        return float(kernel.values[slot])
    number = int(kernel.integers[slot])
    if kind in NUMBERED:
        return from_content(kernel.content(number), kind)
    match kind:
        case "Boolean":
            return number != 0
        case "UInt64":
            return number % 2**64
        case _:
            return number


def write_slot(kernel: Kernel, slot: int, kind: str, value: Value) -> None:
    """Write a value to a slot that holds a signal of this type.

    Raises
    ------
    TypeError, ValueError, OverflowError
        The value is not of this type.
    """
    if holds_integer(kind):
        kernel.integers[slot] = _number(kernel, kind, value)
    else:
        kernel.values[slot] = float(value)


def slot_value(kernel: Kernel, kind: str, value: Value) -> float:
    """The eight bytes that represent a value of this type, as a double. Raises as `write_slot`."""
    if holds_integer(kind):
        return float(np.int64(_number(kernel, kind, value)).view(np.float64))
    return float(value)


def _number(kernel: Kernel, kind: str, value: Value) -> int:
    if kind == TEXT and isinstance(value, str) and not is_text(value):
        raise ValueError(f"{value!r} has zeros, at which it would end, or is not Unicode")
    if kind in NUMBERED:
        return kernel.number(as_content(value, kind))
    number = int(value)
    return signed_bits(number) if kind == "UInt64" else number


def signed_bits(number: int) -> int:
    """Integer as slots store it; one in the upper half of UInt64 becomes the negative integer with the same bits."""
    return number - 2**64 if number >= 2**63 else number
