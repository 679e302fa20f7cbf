"""Methods of the core as tests reach them, by `_methods`: kernels that a test fills by itself, and values for this that
the product does not know.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType
from typing import NamedTuple, Protocol

from ssptool.engine.kernel._methods import NativeKernel
from ssptool.engine.kernel.calls import (
    AcceptedSteps,
    DrivenInput,
    Floats,
    Instruction,
    Integers,
    IterateRule,
    LoopCalls,
    MeasureLimit,
    Outcome,
    Slots,
    Substeps,
)
from ssptool.engine.kernel.solutions import Iterate, Solution

Tables = Mapping[int, Mapping[int, int]]
NO_TABLES: Tables = MappingProxyType({})
NO_RANGES: Mapping[int, tuple[float, float]] = MappingProxyType({})


def create(slots: int, *, integers: Slots = ()) -> "Kernel":
    """A kernel for `slots` values, of which some are `integers`."""
    return NativeKernel(slots, integers)


ONE_STEP = Substeps()

# -- values ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class InstanceTable:
    """A running FMU as its kernel needs it: addresses of functions, and slots of variables.

    `functions` maps FMI function names (`fmiDoStep`, `fmi2DoStep` …) to addresses in the loaded binary; `component` is
    the address that instantiation returned; `environment` that of an `Environment` of the same kernel (0:
    none), through which an FMI 3.0 FMU asks for inputs inside a step; it is then given all inputs of this
    table. Without one, an FMI 3.0 FMU cannot follow inputs that vary over a step, and `advance` with rates
    other than zero fails there.

    With a `report` (3,), the FMU is in event mode: its steps may end early and ask for an event, and say so there, as 1
    or 0 for an event and the time [s] that was reached. If the last number is not 0, `advance` leaves the instance
    where it is.

    An instance that is `apart` is stepped by the thread that asks and by no other, after all such that are before it in
    its group and beside those that are not apart: for one whose steps call others, or that others call in theirs.

    Types are those of `ACCESS`, one per slot; none at all: every variable is a Float64.

    An array (FMI 3.0) has a slot for each element, ascending and side by side in the table, with the reference of the
    array; `input_elements` and `output_elements` count them from 0, which also is what scalars have. None at all: there
    are no arrays. FMI sets and gets arrays as a whole, so that a `Call` with one element must have all.

    Observed variables are got for the rows of the trace only; they may be of any causality. `refreshed`: the inputs are
    set to their present values before that, so that what depends on them is consistent with the row.

    `event_types` are those of variables that are set and got at events only, by others than the kernel's operations.
    """

    fmi_major: int
    functions: Mapping[str, int]
    component: int
    input_slots: Slots
    input_references: Sequence[int]
    output_slots: Slots
    output_references: Sequence[int]
    environment: int = 0
    input_types: Sequence[str] = ()
    output_types: Sequence[str] = ()
    input_elements: Sequence[int] = ()
    output_elements: Sequence[int] = ()
    report: Floats | None = None
    apart: bool = False
    observed_slots: Slots = ()
    observed_references: Sequence[int] = ()
    observed_types: Sequence[str] = ()
    observed_elements: Sequence[int] = ()
    refreshed: bool = True
    event_types: Sequence[str] = ()
    substeps: Substeps = ONE_STEP


class TableColumn(NamedTuple):
    """A table that drives a slot, of type Float64 or any other.

    `axis` is the place of its times in those of `TimeTables`, `values` (rows,) stand at these times: doubles, or the
    bits of integers for other types. Between two rows the signal is the line from one to the other if `linear`, else
    the earlier row; before the first row and after the last one it is constant. If several rows have one time, the
    first is the limit from the left, the last that from the right.
    """

    slot: int
    axis: int
    values: Floats
    linear: bool


class TimeTables(NamedTuple):
    """Tables that drive slots over time: `axes` are ascending times [s] that columns share."""

    axes: Sequence[Floats]
    columns: Sequence[TableColumn]
    inputs: Sequence[DrivenInput]


class SlotPolynomial(NamedTuple):
    """A slot of type Float64 that is on a polynomial: its value and derivatives at the time t [s]."""

    slot: int
    t: float
    value: float
    first: float = 0.0
    second: float = 0.0

    def at(self, time: float) -> float:
        """The value at a time [s]."""
        past = time - self.t
        return self.value + past * (self.first + 0.5 * past * self.second)


class SlotOverrideKind(IntEnum):
    NONE = 0
    OVERRIDE = 1  # replaced by a value
    BIAS = 2  # a number added


class SlotOverride(NamedTuple):
    """Replacement of a value on its way, or a bias.

    `value` has the type of the signal: a double, or the bits of an integer.
    """

    kind: SlotOverrideKind = SlotOverrideKind.NONE
    value: float = 0.0


UNCHANGED = SlotOverride()


class OverriddenWire(NamedTuple):
    """Overrides at both ends of the wire into this slot; the wire's own arithmetic comes between them."""

    destination: int
    at_source: SlotOverride = UNCHANGED
    at_destination: SlotOverride = UNCHANGED


class SecantMemory(NamedTuple):
    """Differences of residuals (`changes`) and of results (`answers`), the newest first.

    Attributes
    ----------
    columns : (steps,)
        How many of them each step has left, the newest first.
    changes, answers : (n, m)
        In nominal values; of another shape if there are none.
    """

    columns: Integers
    changes: Floats
    answers: Floats


class IterationMemory(NamedTuple):
    """State that an iteration keeps from step to step, beside its `AcceptedSteps`.

    Attributes
    ----------
    given_up, misses
        Plain iterations are skipped; starts of the last steps in which they failed [s].
    secants
        Empty for rules that forget.
    """

    given_up: bool
    misses: Floats
    secants: SecantMemory


class HeldInputs(IntEnum):
    """Value over a step of inputs that can only be constant, if their values at its end are known."""

    END = 0  # the value at the end
    MEAN = 1  # the mean of both ends
    MID_STEP = 2  # the mean if the value runs smoothly, otherwise that at the end; see `Kernel.mid_step`
    TRIED = 3  # as MID_STEP if trial steps show that the components integrate their inputs, otherwise as END


@dataclass(frozen=True, slots=True)
class IterationCalls:
    """A step that is repeated until the `unknowns` (input slots) agree at its end with the outputs that feed them.

    `group` are the instances. Inputs of those in `following` are interpolated with `order` (0: held at their value at
    the end of the step), inputs of those in `held` are constant, as `held_inputs` says. The first guess continues the
    polynomial of order `prediction` through the accepted points; with order 0 it is the value of each input at the
    start. An iterate agrees if it meets all `measures`. Otherwise the first `plain_iterations` iterations use the found
    values as next guess, as long as this converged in earlier steps; `rule` computes the others. With a `count`, a step
    has exactly that number of iterations; steps whose last iterate does not meet the relative measure among `measures`
    are counted.

    A change that stops decreasing at the noise of the outputs is accepted. After `max_iterations` iterations, or if
    iterates diverge, `newton` allows the same number of iterations of Newton's method with differences; it stays in use
    if the rule did not converge for some steps. Then the operation fails; with `retreats` the step is repeated with
    strong damping instead, and then done once with extrapolated inputs.

    With `damps`, if the coupling is stiff, a step that does not give smooth signals is repeated with all inputs held at
    their value at its end, and some following steps are done in the same way.
    """

    group: int
    following: int
    held: int
    schedule: int
    unknowns: Slots
    nominal: Sequence[float]
    order: int
    prediction: int
    measures: Sequence[MeasureLimit]
    rule: IterateRule
    plain_iterations: int
    max_iterations: int
    retreats: bool
    held_inputs: HeldInputs = HeldInputs.END
    count: int = 0
    newton: bool = False
    damps: bool = False


class LoopMethod(IntEnum):
    """A method for x = g(x). AUTO: a chain of them, each of which begins where the best one before it has ended."""

    AUTO = 0
    NEWTON = 1
    AITKEN = 2
    ANDERSON = 3
    FIXED_POINT = 4
    HOMOTOPY = 5


class Solved(NamedTuple):
    """Result of solving a loop. Where `outcome` is not OK, an FMU cannot continue, and `solution` means nothing."""

    outcome: Outcome
    solution: Solution
    iterates: tuple[Iterate, ...]


class Evaluated(NamedTuple):
    """Result of an evaluation in which loops get the full chain of methods where they need it.

    `rescues` are the loops that did, and their solutions. With the code LOOP, the last of them has not converged; if it
    has, that loop has a solution at which evaluations do not stay.
    """

    outcome: Outcome
    rescues: tuple[tuple[int, Solution], ...] = ()
    iterates: tuple[Iterate, ...] = ()


@dataclass(frozen=True, slots=True)
class Effort:
    """Effort of an integration, all restarts together."""

    steps: int = 0
    evaluations: int = 0
    error_test_failures: int = 0
    convergence_failures: int = 0
    jacobians: int = 0
    root_evaluations: int = 0


@dataclass(frozen=True, slots=True)
class Arrival:
    """End of one internal step: `t` [s]; `roots` are the indices of the elements of g that changed sign there."""

    t: float
    roots: tuple[int, ...] = ()


class IntegrationFailed(Exception):
    """An integrator cannot go on from `t` [s], for a `reason` in words."""

    def __init__(self, t: float, reason: str) -> None:
        super().__init__(reason)
        self.t = t
        self.reason = reason


# -- operations --------------------------------------------------------------------------------------------------------


class Kernel(Protocol):
    """Operations of a kernel for tests; the stub of `_kernel` lists those of the product. The FMU instances belong to
    the caller and must outlive the last operation, `release` included.
    """

    def environment(self) -> int:
        """An instanceEnvironment for one FMI 3.0 FMU; the address also goes into its `InstanceTable`."""

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

    def record_slots(self, slots: Slots) -> None:
        """State the slots that a row of the trace holds after the time, in this order."""

    def use_threads(self, count: int) -> None:
        """Step the components of a group on so many threads."""

    def time_tables(self, tables: TimeTables) -> None:
        """State all time tables, after the wires and before groups.

        Only `drive` moves their inputs: `hold`, `extrapolate` and `interpolate` leave them as they are.

        Raises
        ------
        ValueError
            A table has no rows, times that descend, or a time or a double that is not finite.
        """

    def override_column(self, column: int, override: SlotOverride) -> None:
        """Override what a column gives from now on."""

    def follow(self, polynomials: Sequence[SlotPolynomial]) -> None:
        """Put these slots, and no others, on polynomials over time, as others are on tables."""

    def between(self, begin: float, end: float) -> None:
        """Set the present segment [s]: at `end`, tables have their limit from the left; before `begin`, their limit
        from the right at `begin`.
        """

    def drive(self, t: float, h: float) -> None:
        """Driven inputs run over the step of size h [s] to t [s], from their present values to those of their tables
        at t, which `values` has afterwards.
        """

    def override_wires(self, wires: Sequence[OverriddenWire]) -> None:
        """Override what these wires deliver, in place of all overrides before."""

    def accept(self, t: float) -> None:
        """The present values are final at time t: push them to the history that inputs are extrapolated from.

        Before that, wires that end at no instance (outputs of the system itself) are copied. Points of the history at t
        or later are dropped first, so an instant can be accepted again.
        """

    def accept_after_event(self, t: float) -> None:
        """The same for the right side of an event: values that differ from those of the last point have no past."""

    def discard_point(self) -> None:
        """The values are those of the last accepted point again. Raises ValueError if there is none."""

    def release(self) -> None:
        """Free all saved FMU states, before the instances are freed. May be called again."""

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

    def iteration(self, calls: IterationCalls) -> int:
        """Register an iterated step and return its index."""

    def iterate(self, iteration: int, t: float, h: float) -> Outcome:
        """The step of size h from t [s], until the unknowns agree.

        Afterwards `values` holds what follows from the last iterate, with what was found in the unknowns. Loops are
        solved as `evaluate_surely` does it. A step that does not converge has the code COUPLING. What else failed at an
        iterate has the code of that.
        """

    def iteration_memory(self, iteration: int) -> IterationMemory:
        """State that it keeps from step to step."""

    def set_iteration_memory(self, iteration: int, memory: IterationMemory) -> None:
        """Go on with a state that another iteration of the same unknowns had."""

    def set_accepted_steps(self, iteration: int, accepted: AcceptedSteps) -> None:
        """Count on from there."""

    def iterations(self) -> Integers:
        """Number of iterations in each step of the last `run`; the largest where a program iterates several groups."""

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

    def allow_rounding(self, loop: int) -> float:
        """Loosen rtol of a loop to what rounding leaves of residuals at the last solution of `solve`; returns it.

        A gain of γ turns the rounding ε of x into a residual of γ ε x, which no iteration can remove.
        """

    def evaluate_surely(self, schedule: int, watched: bool = False) -> Evaluated:
        """`evaluate`, where a loop that the chord iteration does not solve gets the chain of all methods and a new
        chord, each loop once. `watched`: iterates are given.
        """
