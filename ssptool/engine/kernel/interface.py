"""The vocabulary of a run: what master algorithms ask of the kernel.

A kernel holds one flat array of signal values (`values`, one slot per connector that is exchanged or
recorded) and the instances that own those slots. It copies, sets, gets, steps and records; it decides
nothing.

A slot has eight bytes: a double for signals of type Float64 and Float32, and for all others, which are known when the
kernel is created, a 64-bit integer in the same memory (`integers`): the value of an integer or of an enumeration (of
UInt64 the same bits), 0 or 1 of a Boolean, the number of a String or a Binary among the contents that the kernel keeps:
the bytes of all texts (UTF-8) and binary values so far. So every value is kept exactly and copied, remembered and
recorded as it is, whatever its type.

Every operation acts on instances by their index, in the order given, and stops at the first FMI
status worse than a warning and at the first output that is nan or inf.

`_kernel` (C++, nanobind) implements this protocol; `ssptool.engine.kernel.create(slots)` makes one.

What goes wrong while components are called is an `Outcome`; a table, program or argument that cannot be
right is a ValueError or IndexError at once, before anything is called.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

import numpy as np

from ssptool.engine.kernel.calls import (
    ACCESS,
    FLOAT,
    FUNCTIONS,
    HELD,
    OK,
    REAL_TYPES,
    UNCHANGED,
    AcceptedSteps,
    Call,
    Code,
    DividedSteps,
    DrivenInput,
    DrivenInputMode,
    Floats,
    HeldInputs,
    InstanceTable,
    Instruction,
    Integers,
    IterateRule,
    IterationCalls,
    IterationMemory,
    IterationReport,
    LoopCalls,
    MeasureKind,
    MeasureLimit,
    Op,
    Outcome,
    OverriddenWire,
    RuleKind,
    SecantMemory,
    SlotOverride,
    SlotOverrideKind,
    SlotPolynomial,
    Slots,
    SolveLoop,
    Substeps,
    TableColumn,
    TimeTables,
    Trial,
    functions_for,
    prefix,
)
from ssptool.engine.kernel.solutions import Evaluated, LoopMethod, RescueWork, Solution, Solved
from ssptool.engine.trace import BYTES, NUMBERED, TEXT, as_content, from_content
from ssptool.engine.trace import holds_integer as holds_integer
from ssptool.fmu.description import Value, is_text

__all__ = [
    "ACCESS",
    "FLOAT",
    "FUNCTIONS",
    "HELD",
    "LONG_AGO",
    "NO_TABLES",
    "OK",
    "REAL_TYPES",
    "UNCHANGED",
    "AcceptedSteps",
    "Call",
    "Code",
    "DividedSteps",
    "DrivenInput",
    "DrivenInputMode",
    "Evaluated",
    "Floats",
    "HeldInputs",
    "InstanceTable",
    "Instruction",
    "Integers",
    "IterateRule",
    "IterationCalls",
    "IterationMemory",
    "IterationReport",
    "Kernel",
    "LoopCalls",
    "LoopMethod",
    "MeasureKind",
    "MeasureLimit",
    "Op",
    "Outcome",
    "OverriddenWire",
    "RescueWork",
    "RuleKind",
    "SecantMemory",
    "SlotOverride",
    "SlotOverrideKind",
    "SlotPolynomial",
    "Slots",
    "Solution",
    "SolveLoop",
    "Solved",
    "Substeps",
    "TableColumn",
    "Tables",
    "TimeTables",
    "Trial",
    "functions_for",
    "prefix",
]

Tables = Mapping[int, Mapping[int, int]]
LONG_AGO = -1e300
"""A time [s] so early that what was then does not bend a polynomial now."""
NO_TABLES: Tables = MappingProxyType({})
NO_RANGES: Mapping[int, tuple[float, float]] = MappingProxyType({})


class Kernel(Protocol):
    """A loaded system, ready to be initialized and stepped. All times in [s].

    The FMU instances belong to the caller and must outlive the last operation, `release` included.
    """

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

    def environment(self) -> int:
        """An instanceEnvironment for one FMI 3.0 FMU; the address also goes into its `InstanceTable`."""

    def report_time(self, place: int) -> None:
        """Write the start of each step [s] into the double at this address from now on; 0: nowhere."""

    def intermediate_update_address(self) -> int:
        """Address of the fmi3IntermediateUpdateCallback that serves every environment of this kernel."""

    def add(self, table: InstanceTable) -> int:
        """Register a running FMU and return its index."""

    def connect(
        self,
        sources: Slots,
        destinations: Slots,
        factors: Sequence[float],
        offsets: Sequence[float],
        tables: Tables = NO_TABLES,
        discrete: Sequence[int] = (),
        ranges: Mapping[int, tuple[float, float]] = NO_RANGES,
    ) -> None:
        """State all wires: values[destination] = factor · values[source] + offset; with factor 1 and offset 0 it is the
        value itself, also the sign of a zero. No wire leads from a slot to which another one leads.

        Integers are copied, or replaced by what the wire's table (by the wire's place in the lists) has for them;
        if the destination holds a double, the equation follows. A wire from a double to an integer, or with a factor
        or an offset from integer to integer, is a ValueError, and so is a table for doubles.

        Inputs keep their value over each step if their wire is `discrete` (by its place in the lists) or comes from
        an integer. `ranges` (by the wire's place as well) are those of inputs: no extrapolation to mid-step leaves
        them.

        Called after all instances were added and before groups, loops and schedules are registered. At most one
        wire leads into a slot.
        """

    def demand(self, slot: int, nonnegative: bool, digits: int) -> None:
        """End operations with `Code.RANGE` if an instance gives an integer in this slot that is negative as a signed
        one (`nonnegative`), or has more binary digits from its first to its last one that is not zero.
        """

    def group(self, instances: Sequence[int]) -> int:
        """Register a set of instances, in the order in which operations visit them; returns its index."""

    def loop(self, loop: LoopCalls) -> int:
        """Register a torn loop and return its index."""

    def schedule(self, steps: Sequence[Call | SolveLoop]) -> int:
        """Register an evaluation order and return its index."""

    def record_slots(self, slots: Slots) -> None:
        """State the slots that a row of the trace holds after the time, in this order."""

    def record(self, t: float, row: Floats) -> Outcome:
        """Fill a row (1 + recorded,): t [s], then the slots. Observed variables are got first; nan and inf are recorded
        too. RECORD does the same in a `run`.
        """

    # -- what acts from outside ------------------------------------------------------------------------------

    def time_tables(self, tables: TimeTables) -> None:
        """State all time tables, after the wires and before groups.

        Only `drive` moves their inputs: `hold`, `extrapolate` and `interpolate` leave them as they are.

        Raises
        ------
        ValueError
            A table has no rows, times that descend, or a time or a double that is not finite.
        """

    def table_column(self, column: int) -> Floats:
        """(rows,) a view of the values of a column, which may be changed."""

    def override_column(self, column: int, override: SlotOverride) -> None:
        """Override what a column gives from now on."""

    def follow(self, polynomials: Sequence[SlotPolynomial]) -> None:
        """Put these slots, and no others, on polynomials over time, as others are on tables."""

    def between(self, begin: float, end: float) -> None:
        """Set the present segment [s]: at `end`, tables have their limit from the left; before `begin`, their limit
        from the right at `begin`.
        """

    def write(self, t: float) -> None:
        """Write the values of all tables at t [s] to the slots that they drive."""

    def drive(self, t: float, h: float) -> None:
        """Driven inputs run over the step of size h [s] to t [s], from their present values to those of their tables
        at t, which `values` has afterwards.
        """

    def override_wires(self, wires: Sequence[OverriddenWire]) -> None:
        """Override what these wires deliver, in place of all overrides before."""

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

    def accept(self, t: float) -> None:
        """The present values are final at time t: push them to the history that inputs are extrapolated from.

        Before that, wires that end at no instance (outputs of the system itself) are copied. Points of the history at t
        or later are dropped first, so an instant can be accepted again.
        """

    def discard_point(self) -> None:
        """The values are those of the last accepted point again. Raises ValueError if there is none."""

    def save(self, group: int) -> Outcome:
        """Keep the complete FMU state of each instance of the group: one per instance, the last one saved.

        FMI 1.0 has no such function: an instance of it answers with an error.
        """

    def restore(self, group: int) -> Outcome:
        """Go back to the saved FMU states. `values` and history are not touched.

        Raises ValueError for an instance without a saved state.
        """

    def release(self) -> None:
        """Free all saved FMU states, before the instances are freed. May be called again."""

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

    def step_derivatives(self, iteration: int) -> tuple[Floats, tuple[bool, ...]]:
        """Derivatives (m, m) of the unknowns of an iterated step at its end by their values in it, at the last iterate,
        and (m,) which columns are known.
        """
        ...

    def repeat_step(self, iteration: int, x: Floats) -> Floats:
        """(m,) What comes out for the unknowns at the end of the last iterated step, if it is repeated with x (m,)."""
        ...

    def limit_inputs(self, instance: int, order: int) -> None:
        """Limit the inputs of an instance to polynomials of this order from now on, as after a refusal."""

    def changes_of_mode(self, instance: int) -> int:
        """Changes of the floating-point environment by calls of this instance, which were undone: see
        `ssptool.fmu.surroundings`.
        """
        ...

    def ended(self, instance: int) -> float:
        """Time [s] at which an instance of FMI 3.0 has asked to end the simulation in its last step; else nan."""
        ...

    def run(
        self,
        program: Sequence[Instruction],
        start: float,
        h: float,
        first: int,
        rows: Floats,
    ) -> Outcome:
        """Repeat `program` len(rows) times.

        Macro step k goes from start + (first + k)·h to start + (first + k + 1)·h, as decimal numbers: see `time_grid`.

        `rows` (steps, 1 + recorded) is filled row by row by RECORD, which writes the time reached, then the
        slots. INTERPOLATE and ADVANCE see the start of the step and h, ACCEPT the time reached.

        Where an instance in event mode returns before the end of a step, the run ends at once with the code EVENT, and
        that step is not among those that were done. Where one asks for an event at the end of a step, the run ends
        after it, and is well.
        """

    # -- iterated steps --------------------------------------------------------------------------------------

    def iteration(self, calls: IterationCalls) -> int:
        """Register an iterated step and return its index."""

    def iterate(self, iteration: int, t: float, h: float) -> Outcome:
        """The step of size h from t [s], until the unknowns agree.

        Afterwards `values` holds what follows from the last iterate, with what was found in the unknowns. Loops are
        solved as `evaluate_surely` does it. A step that does not converge has the code COUPLING. What else failed at an
        iterate has the code of that.
        """

    def iteration_report(self, iteration: int) -> IterationReport:
        """Report on the end of the last step."""

    def iteration_memory(self, iteration: int) -> IterationMemory:
        """State that it keeps from step to step."""

    def set_iteration_memory(self, iteration: int, memory: IterationMemory) -> None:
        """Go on with a state that another iteration of the same unknowns had."""

    def trial(self, iteration: int, t: float, h: float) -> Trial:
        """Try steps of size h from t [s], where states are saved, with its components that only hold inputs.

        NONE: an FMU did not return to its saved state.
        """

    def accepted_steps(self, iteration: int) -> AcceptedSteps:
        """Steps that were accepted so far although their iterates did not agree."""

    def set_accepted_steps(self, iteration: int, accepted: AcceptedSteps) -> None:
        """Count on from there."""

    def iterations(self) -> Integers:
        """Number of iterations in each step of the last `run`; the largest where a program iterates several groups."""

    # -- algebraic loops -------------------------------------------------------------------------------------

    @property
    def loops_solved(self) -> int:
        """Number of loop solves in schedules, successful or not."""

    @property
    def loop_iterations(self) -> int:
        """Number of evaluations of loop bodies in these solves."""

    def residual(self, loop: int, x: Floats) -> tuple[Outcome, Floats]:
        """g(x): the torn slots as the body returns them for x. `values` then holds what follows from x."""

    def update_frozen(self, loop: int) -> bool:
        """Give the frozen slots of a loop the values of the last evaluation; returns whether one of them changes."""

    def jacobian_product(self, loop: int, seed: Floats) -> tuple[Outcome, Floats]:
        """dg/dx · seed, by the FMUs' directional derivatives, at the point of the last evaluation."""

    def set_chord(self, loop: int, matrix: Floats) -> None:
        """The matrix M (m, m) of the chord iteration x ← x − M (g(x) − x) of schedules.

        Meant is (dg/dx − 1)⁻¹ at some point, frozen. Until it is set, M = −1, which is the fixed-point
        iteration x ← g(x).
        """

    def chord(self, loop: int) -> Floats:
        """(m, m) a copy: the matrix of the chord iteration."""

    def solve(self, loop: int, method: LoopMethod, second: Floats, watched: bool = False) -> Solved:
        """Solve a loop from the present values or, where the components cannot be evaluated there, from the `second`
        ones (m,).

        Frozen slots are kept while the unknowns are solved for, then updated, until they no longer change. Afterwards
        the components are at the solution, if there is one. A solution that the equations leave open is UNDETERMINED,
        and a loop without one along a direction in which nothing changes is INCONSISTENT. `watched`: iterates are
        given.
        """

    def refresh_chord(self, loop: int) -> None:
        """Take the chord from the Jacobian at the last solution of `solve`, if it has an inverse."""

    def loop_tolerance(self, loop: int) -> float:
        """Relative tolerance of a loop in schedules."""

    def allow_rounding(self, loop: int) -> float:
        """Loosen rtol of a loop to what rounding leaves of residuals at the last solution of `solve`; returns it.

        A gain of γ turns the rounding ε of x into a residual of γ ε x, which no iteration can remove.
        """

    def evaluate_surely(self, schedule: int, watched: bool = False) -> Evaluated:
        """`evaluate`, where a loop that the chord iteration does not solve gets the chain of all methods and a new
        chord, each loop once. `watched`: iterates are given.
        """

    @property
    def latest_rescues(self) -> tuple[tuple[int, Solution], ...]:
        """Loops that needed the chain in the last evaluation that had such, with their solutions; see `Evaluated`."""

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


def slot_value(kernel: Kernel, kind: str, value: Value, *, keep: bool = True) -> float:
    """The eight bytes that stand for a value of this type, as a double. Raises what `write_slot` does.

    `keep`: it is kept elsewhere than in a slot.
    """
    if holds_integer(kind):
        return float(np.int64(_number(kernel, kind, value, keep)).view(np.float64))
    return float(value)


def _number(kernel: Kernel, kind: str, value: Value, keep: bool = False) -> int:
    if kind == TEXT and isinstance(value, str) and not is_text(value):
        raise ValueError(f"{value!r} has zeros, at which it would end, or is no Unicode")
    if kind in NUMBERED:
        return kernel.number(as_content(value, kind), keep)
    number = int(value)
    return signed_bits(number) if kind == "UInt64" else number


def signed_bits(number: int) -> int:
    """An integer as slots have it: of the upper half of UInt64, the one with a sign that has the same bits."""
    return number - 2**64 if number >= 2**63 else number
