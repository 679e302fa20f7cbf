"""The kernel of a running system, as whoever plans, watches or steps it in Python sees it.

A kernel holds one flat array of signal values (`values`, one slot per connector that is exchanged or
recorded) and the instances that own those slots. It copies, sets, gets, steps and records; it decides
nothing. A system fills it from its frozen plan.

A slot has eight bytes: a double for signals of type Float64 and Float32, and for all others, which are known when the
kernel is created, a 64-bit integer in the same memory (`integers`): the value of an integer or of an enumeration (of
UInt64 the same bits), 0 or 1 of a Boolean, the number of a String or a Binary among the contents that the kernel keeps:
the bytes of all texts (UTF-8) and binary values so far. So every value is kept exactly and copied, remembered and
recorded as it is, whatever its type.

Every operation acts on instances by their index, in the order given, and stops at the first FMI
status worse than a warning and at the first output that is nan or inf.

What goes wrong while components are called is an `Outcome`; an argument that cannot be right is a ValueError or
IndexError at once, before anything is called. Tests of methods reach more of it, by a module of their own.
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
        """The bytes of this number; 0 has none. Raises IndexError for a number not given out yet, or forgotten."""

    def number(self, content: bytes, keep: bool = False) -> int:
        """Number of these bytes, a new one if need be: equal bytes have equal numbers, counted from 0.

        `keep`: the number is stored outside of slots, so the bytes are never forgotten.
        """

    def forget(self, needed: Sequence[int]) -> list[int]:
        """Forget all contents but those that were to be kept and the `needed` numbers, which are in order; gives the
        numbers of the forgotten ones, in order. No number is used again.
        """

    @property
    def contents(self) -> int:
        """Number of contents so far."""

    @property
    def content_bytes(self) -> int:
        """Memory that the contents take, about."""

    @property
    def input_value(self) -> Floats:
        """(n,) a view: what `advance` sets at the start of the step, for input slots. What was set last in a `run` need
        not be here afterwards.
        """

    @property
    def input_rates(self) -> Floats:
        """(2, n) a view: first and second derivative of the inputs over the step; zero: held."""

    def report_time(self, place: int) -> None:
        """Write the start of each step [s] into the double at this address from now on; 0: nowhere."""

    def schedule(self, steps: Sequence[Call | SolveLoop]) -> int:
        """Register an evaluation order and return its index."""

    def record(self, t: float, row: Floats) -> Outcome:
        """Fill a row (1 + recorded,): t [s], then the slots. Observed variables are got first; nan and inf are recorded
        too. RECORD does the same in a `run`.
        """

    # -- what acts from outside ------------------------------------------------------------------------------

    def table_column(self, column: int) -> Floats:
        """(rows,) a view of the values of a column, which may be changed."""

    def write(self, t: float) -> None:
        """Write the values of all tables at t [s] to the slots that they drive."""

    # -- bulk operations -------------------------------------------------------------------------------------

    def exchange(self, group: int) -> None:
        """Copy every wire that leads to an input of one of the group."""

    def hold(self, group: int) -> None:
        """input_value = values, rates = 0.

        That is what `advance` sets of inputs of all types.
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
        """Constant over the step of size h [s], at the value in the middle of the step where the input runs smoothly,
        else at its present value.

        Of order 0 the value goes on from the last two accepted points; of order 1 it is the mean of both ends, the
        present values being those at the end of the step. An input runs smoothly if its changes per time between the
        last accepted points, at least two of them and at most three, have one sign, and each is at most twice its
        neighbours. Points before a jump do not count.
        """

    def advance(self, group: int, t: float, h: float) -> Outcome:
        """Set inputs (and their rates where not zero), do a step from t to t + h, get outputs.

        Rates that an FMI 2.0 FMU was given earlier are set to zero again when its inputs are held. An FMU without a
        saved state gets noSetFMUStatePriorToCurrentPoint = true.
        """

    def evaluate(self, schedule: int) -> Outcome:
        """Make the outputs consistent at the instant reached, without a step."""

    def save(self, group: int) -> Outcome:
        """Keep the complete FMU state of each instance of the group: one per instance, the last one saved.

        FMI 1.0 has no such function: an instance of it answers with an error.
        """

    def restore(self, group: int) -> Outcome:
        """Go back to the saved FMU states. `values` and history are not touched.

        Raises ValueError for an instance without a saved state.
        """

    def use_threads(self, count: int) -> None:
        """Step instances of a group in parallel on this number of threads from now on, if their steps take long enough.

        Results do not depend on it. Where a step fails, instances behind it have been stepped as well.
        """

    @property
    def retreats(self) -> tuple[tuple[int, int, float, str, int], ...]:
        """Instances whose FMU has refused to follow their inputs, as (instance, order of the polynomials that they run
        along since, time from which on [s], function that refused, or nothing after `limit_inputs`, FMI status).

        No step is lost: the one in which it was is done with the lower order; 0: inputs are held at their value in the
        middle of the step.
        """

    @property
    def divided_steps(self) -> tuple[DividedSteps, ...]:
        """Instances whose FMU has discarded steps that it did in 2, 4, 8, … parts then, at most 1024.

        It is set back to the start of the step by the state that was saved there; without one, it must say that it is
        still there (fmi2GetRealStatus, lastSuccessfulTime of fmi3DoStep). Inputs run over the parts as over the step.
        An FMU that asks to end the simulation is not asked again.

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
        """Time [s] at which an instance of FMI 3.0 has asked to end the simulation in its last step; else nan."""
        ...

    # -- iterated steps --------------------------------------------------------------------------------------

    def iteration_report(self, iteration: int) -> IterationReport:
        """Report on the end of the last step."""

    def accepted_steps(self, iteration: int) -> AcceptedSteps:
        """Steps that were accepted so far although their iterates did not agree."""

    def damped_phases(self, iteration: int) -> Stretches:
        """Stretches of time in whose steps inputs had their value at the end."""

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
        """Loops that needed the chain in the last evaluation that had such, with their solutions."""

    @property
    def rescue_work(self) -> RescueWork:
        """Loops that needed the chain inside iterated steps so far."""


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
    """Put a value into a slot that holds a signal of this type.

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
    """The eight bytes that stand for a value of this type, as a double. Raises what `write_slot` does."""
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
    """An integer as slots have it: of the upper half of UInt64, the one with a sign that has the same bits."""
    return number - 2**64 if number >= 2**63 else number
