"""The vocabulary of a run: what master algorithms ask of a kernel, native or plain Python.

A kernel holds one flat array of signal values (`values`, one slot per connector that is exchanged or
recorded) and the instances that own those slots. It copies, sets, gets, steps and records; it decides
nothing.

A slot is a cell of eight bytes: a double for signals of type Float64 and Float32, and for all others, which are
known when the kernel is created, a 64-bit integer in the same memory (`integers`): the value of an integer or of an
enumeration (of UInt64 the same bits), 0 or 1 of a Boolean, the number of a String or a Binary among the contents that
the kernel keeps: the bytes of all texts (UTF-8) and binary values that it has met.
So every value is kept exactly and copied, remembered and recorded as it is, whatever its type.

Every operation acts on instances by their index, in the order given, and stops at the first FMI
status worse than a warning and at the first output that is nan or inf.

`twin.py` implements this protocol in plain Python and is the specification; `_kernel` (C++, nanobind) is
the same arithmetic in the same order, so that both give the same bits.
`ssptool.engine.kernel.create(slots)` makes one.

What goes wrong while components are called is an `Outcome`; a table, program or argument that cannot be
right is a ValueError or IndexError at once, before anything is called.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from types import MappingProxyType
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ssptool.dataclass import dataclass

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Slots = Sequence[int]
Tables = Mapping[int, Mapping[int, int]]
LONG_AGO = -1e300
"""A time [s] so early that what was then does not bend a polynomial now."""
NO_TABLES: Tables = MappingProxyType({})


class Code(IntEnum):
    """How an operation ended."""

    OK = 0
    FMI = 1  # a function returned worse than a warning: see `instance`, `function`, `fmi_status`
    LOOP = 2  # an algebraic loop was not solved by the chord iteration: see `loop`
    NONFINITE = 3  # a component delivered nan or inf: see `instance`, `slot`
    COUPLING = 5  # an iteration of a step did as many iterations as it may, or ran away: see `iterations`
    EVENT = 6  # an instance in event mode has returned before the end of the step
    RANGE = 4  # the integer in `slot` does not fit the type of the input of `instance`


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one kernel operation. `steps` counts the macro steps that `run` finished.

    `instruction` is the place in the program at which `run` stopped; `iterations` those that ITERATE had done in that
    step, the one that failed included.

    `function` is the FMI function that failed. Where an FMI 3.0 step returns OK but did not do what was
    asked, the flag follows after a colon: `fmi3DoStep:earlyReturn`, `…:eventHandlingNeeded`,
    `…:terminateSimulation`.
    """

    code: Code = Code.OK
    instance: int = -1
    function: str = ""
    fmi_status: int = 0
    loop: int = -1
    slot: int = -1
    steps: int = 0
    instruction: int = -1
    iterations: int = 0

    @property
    def ok(self) -> bool:
        return self.code is Code.OK


OK = Outcome()


@dataclass(frozen=True, slots=True)
class InstanceTable:
    """What a kernel needs to know of a running FMU: addresses, and which slots are which variables.

    `functions` maps FMI function names (`fmiDoStep`, `fmi2DoStep` …) to addresses in the loaded binary; `component` is
    the address that instantiation returned; `environment` that of an `Environment` of the same kernel (0:
    none), through which an FMI 3.0 FMU asks for inputs inside a step; it is then given all inputs of this
    table. Without one, an FMI 3.0 FMU cannot follow inputs that vary over a step, and `advance` with rates
    other than zero fails there.

    With a `report` (3,), the FMU is in event mode: its steps may end early and ask for an event, and say so there, as 1
    or 0 for an event and the time [s] that was reached. If the last number is not 0, `advance` leaves the instance
    where it is.

    Types are those of `ACCESS`, one per slot; none at all: every variable is a Float64.

    An array (FMI 3.0) has a slot for each element, ascending and side by side in the table, with the reference of the
    array; `input_elements` and `output_elements` count them from 0, which also is what scalars have. None at all: there
    are no arrays. FMI sets and gets arrays as a whole, so that a `Call` with one element must have all.
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


class Call(NamedTuple):
    """At one instant, without a step: exchange the wires into `inputs`, set these, then get `outputs`.

    Each with one FMI call per type, in which variables have the order of their slots: consecutive ones are fastest.
    """

    instance: int
    inputs: Slots
    outputs: Slots


@dataclass(frozen=True, slots=True)
class LoopCalls:
    """A torn algebraic loop: from guesses of the `torn` slots `body` evaluates everything in it, these last.

    `held` slots are of discrete signals, through which a loop may run as well. They keep their values while the body is
    evaluated, so that g is smooth; what comes out of them is put in by `settle`.

    Converged when |g(x) − x| ≤ atol + rtol·max(|x|, nominal) in every torn slot. Sweeps settle then, and go on as long
    as a held slot changes. They start from the
    present values of the torn slots and evaluate the body at least once, at most `max_iterations` times;
    afterwards `values` holds what the last evaluation delivered: g(x) in the torn slots, and in all others
    what followed from the guess x. If that is no solution, the torn slots have the values that they had before.
    """

    torn: Slots
    body: tuple[Call, ...]
    nominal: Sequence[float]
    rtol: float
    atol: float
    max_iterations: int
    held: Slots = ()


@dataclass(frozen=True, slots=True)
class IterationCalls:
    """A step that is repeated until what goes into the `unknowns` (input slots) at its end is what comes out.

    `group` are the instances, of which the inputs of those in `following` are interpolated with `order` (0: held at
    their value at the end of the step) and those of the others in `held` held. The first guess is the polynomial
    of `prediction` order through the accepted points. An iterate agrees where
    |found − x| ≤ absolute + relative·max(|first guess|, nominal) in every unknown; else x + relaxation·(found − x)
    is next, calculated in nominal values. After `max_iterations` iterations, or where the difference is more than
    `growth` times the smallest one before, the operation ends.
    """

    group: int
    following: int
    held: int
    sweep: int
    unknowns: Slots
    nominal: Sequence[float]
    order: int
    prediction: int
    absolute: float
    relative: float
    relaxation: float
    max_iterations: int
    growth: float


class SolveLoop(NamedTuple):
    """Solve the loop with this index, at this place of a sweep."""

    loop: int


class Running(IntEnum):
    """How an input runs over a step from its value at the start to that at the end, which its course has."""

    HELD = 0  # at its value at the start
    FOLLOWING = 1  # on the line from one to the other
    MIDDLE = 2  # held at their mean


class Column(NamedTuple):
    """A table that drives a slot, of type Float64 or any other.

    `axis` is the place of its times in those of `Courses`, `cells` (rows,) are its values: doubles, or of other types
    the bits of integers. `linear`: between two rows it is the line from one to the other, else the earlier one. Before
    the first row and after the last these stay. Of rows at one time the first is the limit from the left, the last that
    from the right.
    """

    slot: int
    axis: int
    cells: Floats
    linear: bool


class DrivenInput(NamedTuple):
    """An input to which a driven slot leads. Only one of type Float64 can do other than be held."""

    slot: int
    running: Running


class Courses(NamedTuple):
    """What drives slots over time: `axes` are times [s], none descending, that columns share."""

    axes: Sequence[Floats]
    columns: Sequence[Column]
    inputs: Sequence[DrivenInput]


class ChangeKind(IntEnum):
    NONE = 0
    OVERRIDE = 1  # replaced by a value
    BIAS = 2  # a number added


class Change(NamedTuple):
    """What is done to a value on its way. `cell` is of the type of that: a double, or the bits of an integer."""

    kind: ChangeKind = ChangeKind.NONE
    cell: float = 0.0


UNCHANGED = Change()


class ActedWire(NamedTuple):
    """From now on the wire to this slot delivers what comes out of both changes, with its own arithmetic between."""

    destination: int
    at_source: Change = UNCHANGED
    at_destination: Change = UNCHANGED


class Op(IntEnum):
    """The instructions of a program that `run` repeats at every macro step."""

    EXCHANGE = 0  # argument: group. Copy every wire whose destination is an input of one of the group
    HOLD = 1  # argument: group. Inputs constant over the step, at their present value
    EXTRAPOLATE = 2  # argument: group. Inputs continue the polynomial through the last points
    INTERPOLATE = 3  # argument: group. Inputs run from their value at the start of the step to their present value
    ADVANCE = 4  # argument: group. Step the instances from t to t + h, then get their outputs
    EVALUATE = 5  # argument: sweep. Make the outputs consistent at the instant reached
    ACCEPT = 6  # argument: unused. The step is final: the present values enter the history
    RECORD = 7  # argument: unused. Write time and recorded slots to the next row; at most once in a program
    ITERATE = 8  # argument: iteration. Step its group again and again until its unknowns agree
    DRIVE = 9  # argument: unused. Inputs that courses lead to run over the step as these do; see `drive`
    SAVE = 10  # argument: group. Keep the FMU states
    FORGET = 11  # argument: unused. The present values are those of long ago: nothing before bends a polynomial now


class Instruction(NamedTuple):
    op: Op
    argument: int = 0
    order: int = 0  # EXTRAPOLATE, INTERPOLATE: highest polynomial order, 1 or 2


FUNCTIONS: Mapping[int, tuple[str, ...]] = {
    1: ("fmiSetReal", "fmiGetReal", "fmiSetRealInputDerivatives", "fmiDoStep"),
    2: (
        "fmi2SetReal",
        "fmi2GetReal",
        "fmi2SetRealInputDerivatives",
        "fmi2DoStep",
        "fmi2GetFMUstate",
        "fmi2SetFMUstate",
        "fmi2FreeFMUstate",
        "fmi2GetDirectionalDerivative",
    ),
    3: (
        "fmi3SetFloat64",
        "fmi3GetFloat64",
        "fmi3DoStep",
        "fmi3GetFMUState",
        "fmi3SetFMUState",
        "fmi3FreeFMUState",
        "fmi3GetDirectionalDerivative",
    ),
}
"""What an `InstanceTable` must bring, by major version of FMI."""

FLOAT = "Float64"
REAL_TYPES = frozenset({FLOAT, "Float32"})
"""Types whose slots hold doubles. All others hold integers."""

_SAME = ("Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64", "Boolean", "String")
_BEFORE_FMI3 = {FLOAT: "Real", "Int32": "Integer", "Boolean": "Boolean", "Enumeration": "Integer", "String": "String"}
ACCESS: Mapping[int, Mapping[str, str]] = {
    1: _BEFORE_FMI3,
    2: _BEFORE_FMI3,
    3: {
        FLOAT: FLOAT,
        "Float32": "Float32",
        **{kind: kind for kind in _SAME},
        "Enumeration": "Int64",
        "Binary": "Binary",
    },
}
"""What the names of the functions end with that set and get variables of a type, by major version of FMI.

The types of a call are visited in this order.
"""


def prefix(major: int) -> str:
    """What the names of functions begin with, in FMI 1.0 behind the name of the model, which is left out."""
    return "fmi" if major == 1 else f"fmi{major}"


def functions_for(major: int, types: Iterable[str]) -> tuple[str, ...]:
    """What an `InstanceTable` with variables of these types must bring.

    Raises
    ------
    ValueError
        FMI has no such type, or it is none that a kernel carries.
    """
    wanted = set(types)
    if unknown := sorted(wanted - set(ACCESS[major])):
        raise ValueError(f"variables of type {unknown[0]} are not carried in FMI {major}: {', '.join(ACCESS[major])}")
    suffixes = dict.fromkeys(suffix for kind, suffix in ACCESS[major].items() if kind in wanted)
    access = (f"{prefix(major)}{verb}{suffix}" for suffix in suffixes for verb in ("Set", "Get"))
    return tuple(dict.fromkeys((*FUNCTIONS[major], *access)))


class Kernel(Protocol):
    """A loaded system, ready to be initialized and stepped. All times in [s].

    The FMU instances belong to the caller and must outlive the last operation, `release` included.
    """

    @property
    def name(self) -> str:
        """`native` or `twin`."""

    @property
    def values(self) -> Floats:
        """(n,) a view, not a copy: present values of all slots."""

    @property
    def integers(self) -> Integers:
        """(n,) the same memory as `values`, for slots that hold integers."""

    def content(self, number: int) -> bytes:
        """The bytes of this number; 0 has none. Raises IndexError for a number not given out yet, or forgotten."""

    def number(self, content: bytes, keep: bool = False) -> int:
        """The number of these bytes, a new one if need be: equal ones have equal numbers, counted from 0.

        `keep`: somebody keeps the number elsewhere than in a slot, so that the bytes are never forgotten.
        """

    def forget(self, needed: Sequence[int]) -> list[int]:
        """Forget all contents but those that were to be kept and the `needed` numbers, which are in order; gives the
        numbers of the forgotten ones, in order. No number is used again.
        """

    @property
    def contents(self) -> int:
        """How many numbers were given out."""

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
    ) -> None:
        """State all wires: values[destination] = factor · values[source] + offset; with factor 1 and offset 0 it is the
        value itself, also the sign of a zero. No wire leads from a slot to which another one leads.

        Integers are copied, or replaced by what the wire's table (by the wire's place in the lists) has for them;
        if the destination holds a double, the equation follows. A wire from a double to an integer, or with a factor
        or an offset from integer to integer, is a ValueError, and so is a table for doubles.

        Called after all instances were added and before groups, loops and sweeps are registered. At most one
        wire leads into a slot.
        """

    def group(self, instances: Sequence[int]) -> int:
        """Register a set of instances, in the order in which operations visit them; returns its index."""

    def loop(self, loop: LoopCalls) -> int:
        """Register a torn loop and return its index."""

    def sweep(self, steps: Sequence[Call | SolveLoop]) -> int:
        """Register an evaluation order and return its index."""

    def record_slots(self, slots: Slots) -> None:
        """Which slots a row of the trace holds, in this order, after the time."""

    # -- what acts from outside ------------------------------------------------------------------------------

    def courses(self, courses: Courses) -> None:
        """State all courses, after the wires and before groups. Their inputs are run by `drive` and by nothing else:
        `hold`, `extrapolate` and `interpolate` leave them as they are.

        Raises
        ------
        ValueError
            A table has no rows, times that descend, or a time or a double that is not finite.
        """

    def course(self, column: int) -> Floats:
        """(rows,) a view of the cells of a column, which may be changed."""

    def change(self, column: int, change: Change) -> None:
        """From now on what a column gives is changed."""

    def between(self, begin: float, end: float) -> None:
        """The present stretch [s]: at `end`, courses have their limit from the left, before `begin` the one that they
        have there from the right.
        """

    def write(self, t: float) -> None:
        """Driven slots have the values that their courses have at t [s]."""

    def drive(self, t: float, h: float) -> None:
        """Driven inputs run over the step of size h [s] to t [s], from their present values to those of their courses
        at t, which `values` has afterwards.
        """

    def act(self, wires: Sequence[ActedWire]) -> None:
        """Let wires deliver something else. What was done to them before is no longer."""

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
        the step starts. input_value and rates as in `extrapolate`.
        """

    def advance(self, group: int, t: float, h: float) -> Outcome:
        """Set inputs (and their rates where not zero), do a step from t to t + h, get outputs.

        Rates that an FMI 2.0 FMU was given earlier are set to zero again when its inputs are held. An FMU
        is told that it will never be set back before t unless it holds a saved state.
        """

    def evaluate(self, sweep: int) -> Outcome:
        """Make the outputs consistent at the instant reached, without a step."""

    def accept(self, t: float) -> None:
        """The present values are final at time t: push them to the history that inputs are extrapolated from.

        Before that, wires that end at no instance (outputs of the system itself) are copied.
        Points of the history at t or later are dropped first, so an instant can be accepted anew.
        """

    def take_back(self) -> None:
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
        """Free all saved FMU states, before the instances are freed. Doing it again does no harm."""

    def use_threads(self, count: int) -> None:
        """From now on step instances of a group at the same time, on so many threads, if that takes long enough.

        Results do not depend on it. Where a step fails, instances behind it have been stepped as well. The twin
        takes one thread however many there may be.
        """

    def run(self, program: Sequence[Instruction], start: float, h: float, first: int, rows: Floats) -> Outcome:
        """Repeat `program` len(rows) times.

        Macro step k goes from start + (first + k)·h to start + (first + k + 1)·h.

        `rows` (steps, 1 + recorded) is filled row by row by RECORD, which writes the time reached, then the
        slots. INTERPOLATE and ADVANCE see the start of the step and h, ACCEPT the time reached.

        Where an instance in event mode returns before the end of a step, the run ends at once with the code EVENT, and
        that step is not among those that were done. Where one asks for an event at the end of a step, the run ends
        after it, and is well.
        """

    def run_through(
        self, step: Sequence[Instruction], jump: Sequence[Instruction], points: Floats, rows: Floats
    ) -> Outcome:
        """Steps of any size and jumps of courses, a row for each of `points` (n, 4).

        Of a step these are t, h, the time reached and a number that is of no account. Of a jump they are t, 0 and the
        present stretch from then on: courses are written as they are at its start, and `jump` is done, at t. `rows` and
        the outcome are those of `run`, where no instance is in event mode.
        """

    # -- iterated steps --------------------------------------------------------------------------------------

    def iteration(self, calls: IterationCalls) -> int:
        """Register an iterated step and return its index."""

    def iterate(self, iteration: int, t: float, h: float, first: bool) -> Outcome:
        """One iterate of the step from t to t + h, from the saved state (which the `first` saves) and the guess.

        The first makes the guess and the tolerance. Afterwards `values` holds what follows from the guess, with what
        was found in the unknowns.
        """

    def guess(self, iteration: int) -> Floats:
        """(m,) a view: x, the values of the unknowns that the next iterate, or the last one, takes."""

    def tolerance(self, iteration: int) -> Floats:
        """(m,) a view: by how much what is found may differ from x."""

    def iterations(self) -> Integers:
        """How many iterations ITERATE needed, at most over the instructions, in each step that the last `run` did."""

    # -- algebraic loops -------------------------------------------------------------------------------------

    @property
    def loops_solved(self) -> int:
        """How often a sweep looked for the solution of a loop, whether it found it or not."""

    @property
    def loop_iterations(self) -> int:
        """The evaluations of bodies of loops that this took."""

    def residual(self, loop: int, x: Floats) -> tuple[Outcome, Floats]:
        """g(x): the torn slots as the body returns them for x. `values` then holds what follows from x."""

    def settle(self, loop: int) -> bool:
        """Give the held slots what came out of them at the last evaluation; whether that is something else."""

    def jacobian_product(self, loop: int, seed: Floats) -> tuple[Outcome, Floats]:
        """dg/dx · seed, by the FMUs' directional derivatives, at the point of the last evaluation."""

    def set_chord(self, loop: int, matrix: Floats) -> None:
        """The matrix M (m, m) of the chord iteration x ← x − M (g(x) − x) of sweeps.

        Meant is (dg/dx − 1)⁻¹ at some point, frozen. Until it is set, M = −1, which is the fixed-point
        iteration x ← g(x).
        """
