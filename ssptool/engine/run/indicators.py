"""Signs of incorrect results of a run. Unlike finer runs, they need no extra time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.kernel.calls import FLOAT, DrivenInputMode, Op, Stretches
from ssptool.engine.masters.power_bonds import PowerBond, bonds_of_units
from ssptool.engine.masters.program import mid_step
from ssptool.engine.masters.protocols import NONE_INEXACT, Inexact, InputApproximation
from ssptool.engine.masters.step_sizes import SizeControl, SizeRule
from ssptool.engine.method_names import GAUSS_SEIDEL, ITERATED, WarningsName
from ssptool.engine.planning.plan import Plan
from ssptool.engine.planning.rows_inside import rows_inside
from ssptool.engine.run.contradictions import UnheldStart
from ssptool.engine.run.frozen_sizes import connected_inputs
from ssptool.engine.run.macro_steps import MacroSteps
from ssptool.engine.run.own_grids import own_grid
from ssptool.engine.trace import NUMBERED, Column, Floats, Trace, as_doubles
from ssptool.errors import abbreviated, counted
from ssptool.fmu.description import InterfaceType
from ssptool.network.network import Signal

FEWEST_STEPS = 20
"""Steps per period of a signal below which its shape is not resolved."""

NOTABLE = 0.05
"""Smallest swing that counts as part of an oscillation, relative to the range of the signal."""

MOST_PERIODS = 3
"""Consecutive periods with too few steps before a warning."""

RINGING = 1e-3
"""Change per step above which alternation cannot be caused by tolerances, relative to the range of the signal."""

ALTERNATIONS = 12
"""Number of consecutive steps, after each of which a signal reverses, before a warning."""

ALIKE = 4.0
"""Largest ratio of consecutive changes of a ringing signal; for noise it is larger from time to time."""

DEFECT = 0.05
"""Smallest deviation of an input over a step from the mean of the ends of its source that counts, relative to the range
of the signal. Held inputs deviate by half of the change of the signal in the step.
"""

DEFECTS = 3
"""Number of consecutive such steps with the same sign before a warning: a single one may be a jump of the signal
itself.
"""

CREATED = 0.2
"""Energy created or destroyed at a power bond above which there is a warning, relative to the energy that flows through
it.
"""

MISSED = 0.01
"""Total part of a signal that inputs miss above which there is a warning if steps are coarse, relative to the range of
the integral of the signal.
"""

COARSE = 5e-4
"""Part of a signal that inputs miss above which steps are coarse, relative to the total that the signal passes on: 81
steps per period of an oscillation for inputs that follow it, and 181 for extrapolated inputs. With finer steps, a
larger total is tolerated: many small errors add up only if nothing damps them.
"""

STEEP = 0.2
"""Change of a signal in one step above which its exact time matters, relative to its range."""

LATE_SWITCHES = 0.02
"""Total delay of all switches of a signal above which there is a warning, relative to the time between two of them. The
error of other signals is about twice as much of their range.
"""

MOST_OF_ADAPTIVE = 5.0
"""The same limit for adaptive steps, relative to the requested error."""

TOO_INEXACT = 10.0
"""Estimated error of adaptive steps that cannot be repeated above which there is a warning, relative to the requested
error.
"""

LOST, FEWEST_LOST = 5e-3, 20
"""Part of all steps, and number of steps, with more than ten times the allowed error above which there is a warning."""

FEWEST_SWITCHES = 4
"""Smallest number of switches that determines the time between two of them."""

CLOSE_SWITCHES = 3
"""Steps between two switches of a signal below which the switches are not resolved."""


class _Course(Enum):
    """Value of an input in a step: as words, and as weights of the values of its source before the step, at its start
    and at its end.
    """

    START = "hold its value from the start of each step", (0.0, 1.0, 0.0)
    END = "hold its value at the end of each step", (0.0, 0.0, 1.0)
    LINE = "continue the line through its last two values", (-0.5, 1.5, 0.0)
    MEAN = "follow it", (0.0, 0.5, 0.5)

    def __init__(self, words: str, weights: tuple[float, float, float]) -> None:
        self.words, self.weights = words, weights

    def in_steps(self, values: Floats) -> Floats:
        """Values (n − 1,) of the input in the steps between n values of its source."""
        before, start, end = self.weights
        found = start * values[:-1] + end * values[1:]
        return found + before * np.concatenate((values[:1], values[:-2])) if before else found


_NO_STEPS: NDArray[np.bool_] = np.zeros(0, dtype=bool)


class _Source(NamedTuple):
    """A signal that feeds inputs: their value in a step, whether the signal depends on them, and the mask (n,) of
    damped steps, with inputs at their value at the end (empty: none).
    """

    course: _Course = _Course.MEAN
    cyclic: bool = False
    damped: NDArray[np.bool_] = _NO_STEPS

    def in_steps(self, values: Floats) -> Floats:
        """Values (n,) of the inputs in the steps between n + 1 values of the signal."""
        planned = self.course.in_steps(values)
        return np.where(self.damped, values[1:], planned) if len(self.damped) else planned

    @property
    def follow(self) -> bool:
        """True if inputs have the mean of the signal in each step."""
        return self.course is _Course.MEAN and not self.damped.any()

    @property
    def words(self) -> str:
        many = 2 * np.count_nonzero(self.damped) > len(self.damped)
        return _Course.END.words if many or self.course is _Course.MEAN else self.course.words


_FOLLOWED = _Source()


@dataclass(frozen=True, slots=True)
class RunWarning:
    """A sign of incorrect results of a run.

    Attributes
    ----------
    code
        `RUN-101` (ringing), `RUN-102` (few steps per period), `RUN-103` (switches close together), `RUN-104` (lost
        rows of an input table), `RUN-105` (undeclared feedthrough), `RUN-106` (inputs off their sources), `RUN-107`
        (energy created at a power bond), `RUN-108` (start values that FMUs do not hold), `RUN-109` (errors of inputs
        that add up), `RUN-110` (large changes in one step of a loop), `RUN-111` (switches in a loop, noticed late),
        `RUN-112` (adaptive steps with too large errors, which could not be repeated) or `RUN-113` (FMUs that integrate
        on grids of their own).
    signal, time
        The signal, and when it shows first, or most [s].
    size
        Steps in a row; steps per period; number of such switches, rows, or pairs of output and input; distance from the
        mean of a step, relative to the range of the signal; energy created, relative to what flows through the bond;
        number of values; what inputs miss in all, relative to what the signal passes on; change in one step, relative
        to the range; delay of all switches, relative to the time between two; estimated error, relative to the
        requested one; distance of the points of a grid [s].
    message
        Signal, time and size in words, with a remedy.
    """

    code: str
    signal: str
    time: float
    size: float
    message: str

    def __str__(self) -> str:
        return f"{self.code} {self.message}"


def warnings_of(
    plan: Plan,
    trace: Trace | None,
    steps: int,
    unheld: Sequence[UnheldStart] = (),
    damped: Sequence[Stretches] = (),
    inexact: Inexact = NONE_INEXACT,
    error_is_known: bool = False,
) -> tuple[RunWarning, ...]:
    """Warnings on a run with this number of macro steps, one for each code: on the worst signal.

    `damped`: for each iterated group, the intervals in whose steps inputs were held at their value at the end. If the
    error of the run is known, warnings on accumulating errors are omitted. `inexact`: adaptive steps that could not be
    repeated.
    """
    if plan.settings.warnings is WarningsName.OFF:
        return ()
    found = [*_in_trace(plan, trace, steps, damped), *_lost_rows(plan), *_undeclared(plan), *_unheld(plan, unheld)]
    found += [*too_inexact_steps(plan, inexact, steps), *_on_own_grids(plan, trace, steps)]
    worst: dict[str, RunWarning] = {}
    for one in found:
        if one.code in _OF_UNKNOWN_ERRORS and error_is_known:
            continue
        if one.code not in worst or _badness(one) > _badness(worst[one.code]):
            worst[one.code] = one
    return tuple(worst[code] for code in sorted(worst))


_OF_UNKNOWN_ERRORS = ("RUN-109", "RUN-110", "RUN-111", "RUN-112", "RUN-113")
"""Warnings that are omitted if the error of the run is known."""


def too_inexact_steps(plan: Plan, found: Inexact, steps: int) -> Iterator[RunWarning]:
    """Warning on adaptive steps that could not be repeated, or whose errors did not become smaller when they were, if
    their estimated errors add up to too much.
    """
    if plan.settings.warnings is WarningsName.OFF:
        return
    lost = found.steps > max(FEWEST_LOST, LOST * steps)
    if not (lost or found.error > TOO_INEXACT):
        yield from _without_measure(plan)
        return
    asked = f"--adaptive {plan.settings.adaptive:g} asks for, most at {found.time:.6g} s because of {found.signal}"
    if isinstance(plan.master, MacroSteps) and plan.master.tries_steps:
        text = (
            f"errors of steps are larger than {asked}, and smaller steps do not reduce them enough: an FMU integrates "
            "less exactly inside, or its outputs lag; use --accuracy check, which states the error of the run"
        )
        yield RunWarning("RUN-112", found.signal, found.time, found.error, text)
        return
    judged = "the coupling is too stiff"
    if found.error > TOO_INEXACT:
        judged = f"the error of the run is about {found.error:.2g} times as large"
    yield RunWarning(
        "RUN-112",
        found.signal,
        found.time,
        found.error,
        f"{found.steps} of {counted(steps, 'step')} are by far less exact than {asked}, and cannot be repeated: "
        f"{judged}; use FMUs that save their state, a smaller --max-step-size, or --accuracy check, which states the "
        "error",
    )


def _without_measure(plan: Plan) -> Iterator[RunWarning]:
    """Warning on adaptive steps that are chosen by errors of inputs, although no output drives any."""
    control = plan.master.base if isinstance(plan.master, MacroSteps) else None
    if not isinstance(control, SizeControl) or control.rule is not SizeRule.DEFECTS or connected_inputs(plan):
        return
    names, outputs = [one.name for one in plan.instances], [slot for one in plan.instances for slot in one.output_slots]
    exchange = all(one.description.model_exchange is not None for one in plan.instances)
    advice = ", or --implementation me, which has none of them" if exchange else ""
    yield RunWarning(
        "RUN-112",
        str(plan.signals[outputs[0]]) if outputs else names[0],
        plan.interval.start,
        0.0,
        f"--adaptive {control.tolerance:g} has no effect on errors inside {abbreviated(names)}, whose states cannot be "
        f"saved and whose inputs are not connected; use --accuracy check, which compares smaller steps{advice}",
    )


def _on_own_grids(plan: Plan, trace: Trace | None, steps: int) -> Iterator[RunWarning]:
    """Warning on an output that changes on a grid of its FMU only."""
    if trace is None or len(trace.t) <= steps or plan.is_one_ode:
        return
    if (grid := own_grid(plan, trace)) is not None:
        message = (
            f"{grid}; for a sampled output, state the variability discrete; otherwise use smaller steps in the FMU"
        )
        yield RunWarning("RUN-113", grid.signal, grid.time, grid.spacing, message)


def _lost_rows(plan: Plan) -> Iterator[RunWarning]:
    """Warnings on rows of input tables inside macro steps that have no effect on the input of a component."""
    for one in rows_inside(plan):
        if one.running is DrivenInputMode.MIDDLE or one.departure < NOTABLE:
            continue
        held = "is held from the start of each step" if one.running is DrivenInputMode.HELD else "follows its ends only"
        yield RunWarning(
            "RUN-104",
            one.input,
            one.time,
            one.number,
            f"{one.number} of {counted(one.rows, 'row')} of the table of {one.source} lie inside macro steps, and "
            f"{one.input} {held}: at {one.time:.6g} s, {100 * one.departure:.3g} % of the table's range are lost; use "
            f"--step-size {one.spacing:g}",
        )


def _undeclared(plan: Plan) -> Iterator[RunWarning]:
    """Warnings on direct feedthrough that FMUs do not declare."""
    pairs = [(str(Signal(name, output)), str(Signal(name, variable))) for name, variable, output in plan.undeclared]
    if not pairs:
        return
    told = [f"{output} with {variable}" for output, variable in pairs]
    yield RunWarning(
        "RUN-105",
        pairs[0][0],
        plan.interval.start,
        len(pairs),
        f"outputs change with inputs at the same instant, which the model descriptions deny: {abbreviated(told)}; the "
        "run counts with it; correct the dependencies in ModelStructure",
    )


def _unheld(plan: Plan, unheld: Sequence[UnheldStart]) -> Iterator[RunWarning]:
    """Warnings on parameters and similar variables whose FMU has another value than the given or declared one."""
    if not unheld:
        return
    told = [f"{one.variable} = {one.found} ({_wanted(one)})" for one in unheld]
    set_in_vain = all(one.given for one in unheld)
    advice = "report it to the supplier of the FMU" if set_in_vain else "set it, or correct the model description"
    yield RunWarning(
        "RUN-108",
        unheld[0].variable,
        plan.interval.start,
        len(unheld),
        f"{counted(len(unheld), 'variable')} {'has' if len(unheld) == 1 else 'have'} another value after "
        f"initialization than was set or declared: {abbreviated(told)}; {advice}",
    )


def _wanted(one: UnheldStart) -> str:
    return f"set to {one.wanted}" if one.given else f"declared as start={one.wanted}, and not set"


def _in_trace(plan: Plan, trace: Trace | None, steps: int, damped: Sequence[Stretches] = ()) -> Iterator[RunWarning]:
    """Warnings from the recorded rows.

    Only outputs that feed inputs are examined, because the coupling knows their values only at its points. There are no
    warnings if all components are one ODE, whose steps its integrator chooses, or if not every step is recorded.
    """
    if trace is None or not len(trace.t) or plan.is_one_ode:
        return
    if len(trace.t) > max(steps, ALTERNATIONS):
        yield from _in_loops(plan, trace)
    if trace.points is not None:
        trace = trace.rows(trace.points)
    if plan.stimuli and not (ahead := trace.t[1:] > trace.t[:-1]).all():  # jumps of inputs have a row on each side
        trace = trace.rows(np.append(ahead, True))
    if len(trace.t) <= max(steps, ALTERNATIONS):
        return
    sources, courses = {wire.source for wire in plan.wires}, _courses(plan)
    damped_steps = _damped_steps(plan, trace.t, damped)
    fed = _fed(plan, courses, damped_steps)
    slots, columns = plan.recorded, trace.columns
    looked_at = [place for place, slot in enumerate(slots) if slot in sources and columns[place].type not in NUMBERED]
    reals = [place for place in looked_at if columns[place].type == FLOAT and not columns[place].held]
    clear = {place for place, suspect in zip(reals, _suspects(trace.cells, reals), strict=True) if not suspect}
    told: set[int] = set()
    for place in (one for one in looked_at if one not in clear):
        column = columns[place]
        values = as_doubles(np.ascontiguousarray(trace.cells[:, place, None]), [column.type])[:, 0]
        for warning in _of_signal(column, trace.t, values, fed.get(slots[place], _FOLLOWED)):
            told.add(place)
            yield warning
    for place in reals:
        if place not in told and slots[place] in fed:
            yield from _missed(columns[place].signal, trace, place, fed[slots[place]])
    if not plan.master.name.startswith(GAUSS_SEIDEL):  # there, both sides of a bond follow each other in other ways
        yield from _energy(plan, trace, courses, damped_steps)


def _damped_steps(plan: Plan, t: Floats, damped: Sequence[Stretches]) -> Mapping[int, NDArray[np.bool_]]:
    """Masks of the damped steps between times (n,) [s], by the inputs that a damped group feeds itself."""
    found: dict[int, NDArray[np.bool_]] = {}
    if not any(damped):
        return found
    middles = (t[1:] + t[:-1]) / 2
    for group, stretches in zip((one for one in plan.groups if one.unknowns), damped, strict=True):
        edges = np.array(stretches).ravel()
        found |= dict.fromkeys(group.unknowns, np.searchsorted(edges, middles) % 2 == 1) if len(edges) else {}
    return found


def _suspects(cells: Floats, places: Sequence[int]) -> list[bool]:
    """False for columns (k,) of real numbers that cannot cause a warning."""
    from ssptool.engine.kernel._kernel import suspects

    return suspects(cells, places, MOST_PERIODS * FEWEST_STEPS, DEFECT)


def _energy(
    plan: Plan, trace: Trace, courses: Mapping[str, _Course], damped: Mapping[int, NDArray[np.bool_]]
) -> Iterator[RunWarning]:
    for bond, share, time in created_energy(plan, trace, courses, damped):
        yield RunWarning(
            "RUN-107",
            str(bond.first),
            time,
            share,
            f"the coupling of {bond.first} and {bond.second} {'creates' if share > 0 else 'destroys'} "
            f"{100 * abs(share):.3g} % of the energy that flows through it, as inputs do not follow it over each step, "
            f"most at {time:.6g} s: use a smaller --step-size",
        )


def _courses(plan: Plan) -> Mapping[str, _Course]:
    """Value in a step of each continuous input of co-simulation components without substeps."""
    if not isinstance(plan.master, MacroSteps):
        return {}
    master = plan.master.coupling
    found: dict[str, _Course] = {}
    for group in plan.groups:
        for member, able, passes in zip(group.members, group.interpolates, group.passes_on, strict=True):
            coupling = master.inputs_of(able, passes)
            at_end = master.name == ITERATED or (master.name == GAUSS_SEIDEL and able)
            for one in (plan.instances[index] for index in member):
                if one.interface is InterfaceType.CO_SIMULATION and plan.substeps(one).count == 1:
                    found[one.name] = _course(coupling if one.capabilities.follows else coupling.where_held, at_end)
    return found


def _course(inputs: InputApproximation, at_end: bool) -> _Course:
    """`at_end`: inputs are held at the value at the end of the step."""
    if inputs.op is Op.HOLD:
        return _Course.END if at_end else _Course.START
    return _Course.LINE if inputs.op is Op.EXTRAPOLATE or inputs == mid_step() else _Course.MEAN


def _fed(plan: Plan, courses: Mapping[str, _Course], damped: Mapping[int, NDArray[np.bool_]]) -> Mapping[int, _Source]:
    """Outputs that feed such inputs, by slot; if there are several inputs, one that does not follow the output."""
    inputs = {slot: courses[one.name] for one in plan.instances if one.name in courses for _, slot in one.moving}
    cyclic = {slot for group in plan.groups for slot in group.unknowns}
    found: dict[int, _Source] = {}
    for wire in plan.wires:
        if (slot := wire.destination) in inputs:
            before = found.get(wire.source, _FOLLOWED)
            found[wire.source] = _Source(
                before.course if inputs[slot] is _Course.MEAN else inputs[slot],
                before.cyclic or slot in cyclic,
                damped.get(slot, before.damped),
            )
    return found


def _badness(warning: RunWarning) -> float:
    """Size of a warning for comparison: fewer steps per period are worse; all other sizes count by magnitude."""
    return -warning.size if warning.code == "RUN-102" else abs(warning.size)


def _of_signal(column: Column, t: Floats, values: Floats, source: _Source = _FOLLOWED) -> Iterator[RunWarning]:
    scale = float(values.max() - values.min()) if len(values) else 0.0
    if not 0.0 < scale < np.inf:
        return
    if column.held and not (column.real and _moves(values)):
        yield from _close_switches(column.signal, t, values)
    elif ringing := _ringing(column.signal, t, np.diff(values) / scale):
        yield ringing
    elif few := _few_steps(column.signal, t, values / scale):
        yield few
    elif not source.follow:
        missed = (source.in_steps(values) - _Course.MEAN.in_steps(values)) / scale
        yield from _defects(column.signal, t, missed, source.words)


def _moves(values: Floats) -> bool:
    """True if a signal changes in most steps: such a real number is not a switch, even if it is declared discrete."""
    return bool(2 * np.count_nonzero(np.diff(values)) > len(values))


def _close_switches(signal: str, t: Floats, values: Floats) -> Iterator[RunWarning]:
    # At an event, which has rows on both sides, the time is exact.
    at = np.flatnonzero((values[1:] != values[:-1]) & (t[1:] > t[:-1])) + 1
    close = np.flatnonzero(np.diff(at) < CLOSE_SWITCHES)
    if len(close):
        when = float(t[at[close[0]]])
        yield RunWarning(
            "RUN-103",
            signal,
            when,
            len(close),
            f"{signal} switches again within {CLOSE_SWITCHES - 1} steps, {len(close)} times, first at {when:.6g} s: "
            "the times of its switches are not resolved; use a smaller --step-size",
        )


def _ringing(signal: str, t: Floats, changes: Floats) -> RunWarning | None:
    """Warning on the longest interval of steps in which all changes (n,) alternate and have similar size, if it is
    long.
    """
    size = np.abs(changes)
    one, other = size[:-1], size[1:]
    turns = (changes[1:] * changes[:-1] < 0) & (np.minimum(one, other) > RINGING)
    turns &= (one < ALIKE * other) & (other < ALIKE * one)
    begin, length = _longest(turns)
    if length < ALTERNATIONS:
        return None
    when = float(t[begin])
    return RunWarning(
        "RUN-101",
        signal,
        when,
        length,
        f"{signal} alternates from step to step, {length} times in a row from {when:.6g} s on: the coupling rings "
        "as the step is too large for it; use a smaller --step-size, or --implementation me where all FMUs offer it",
    )


def _longest(true: NDArray[np.bool_]) -> tuple[int, int]:
    """Start and length of the longest run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], true, [False])).astype(np.int8)))
    begins, ends = edges[::2], edges[1::2]
    if not len(begins):
        return 0, 0
    longest = int(np.argmax(ends - begins))
    return int(begins[longest]), int((ends - begins)[longest])


def _defects(signal: str, t: Floats, missed: Floats, words: str) -> Iterator[RunWarning]:
    """Warning on the longest interval of steps after the first in which inputs deviate (n,) much, always with the same
    sign.
    """
    large = np.abs(missed) > DEFECT
    large[:1] = False
    alike = large[1:] & large[:-1] & (missed[1:] * missed[:-1] > 0)
    begin, length = _longest(alike)
    if length < DEFECTS - 1:
        return
    size = float(np.max(np.abs(missed[begin : begin + length + 1])))
    yield RunWarning(
        "RUN-106",
        signal,
        float(t[begin]),
        size,
        f"the inputs that {signal} feeds {words}, and are off by up to {100 * size:.2g} % of its range on the "
        f"mean of a step, in {length + 1} steps in a row from {t[begin]:.6g} s on: use a smaller --step-size",
    )


def _missed(signal: str, trace: Trace, place: int, source: _Source) -> Iterator[RunWarning]:
    """Warning on the total part of a signal that inputs miss, if it is large.

    Components integrate it, so the error of each step remains. Between mutually coupled components, errors also count
    that would cancel elsewhere, because they change the following values.
    """
    from ssptool.engine.kernel._kernel import missed

    each, drift, coarse, step = missed(trace.t, trace.cells, place, source.course.weights, source.damped)
    size = each if source.cyclic else drift
    if not size * min(1.0, coarse / COARSE) > MISSED:
        return
    told = f"{100 * size:.2g} %" if size < 1 else "more than 100 %"
    when = float(trace.t[step])
    yield RunWarning(
        "RUN-109",
        signal,
        when,
        size,
        f"inputs miss a part of {signal} in each step, most at {when:.6g} s, which adds up to {told} of what the "
        "signal passes on: use a smaller --step-size, or --accuracy check, which states the error",
    )


# -- loops that are too fast for the steps: they notice a change only at the end of a step


def _in_loops(plan: Plan, trace: Trace) -> Iterator[RunWarning]:
    """Warnings on outputs that act back on their component, through inputs that do not know their values at the end of
    a step.

    Rows at the same time are sides of a jump, whose time is exact.
    """
    unaware = {slot for slot, source in _fed(plan, _courses(plan), {}).items() if source.course in _BEFORE_THE_END}
    coupled = _in_cycles(plan)
    ahead = trace.t[1:] > trace.t[:-1]
    for place, slot in enumerate(plan.recorded):
        column = trace.columns[place]
        if slot not in coupled or column.type in NUMBERED:
            continue
        values = as_doubles(np.ascontiguousarray(trace.cells[:, place, None]), [column.type])[:, 0]
        if column.real and (not column.held or _moves(values)):
            if slot in unaware:
                yield from _steep(trace, place, ahead)
        elif not _moves(values):
            yield from _late_switches(column.signal, trace.t, values, plan.settings.adaptive)


_BEFORE_THE_END = (_Course.START, _Course.LINE)


def _in_cycles(plan: Plan) -> set[int]:
    """Slots of outputs that feed another component of their own group."""
    found: set[int] = set()
    for group in plan.groups:
        members = [plan.instances[number] for number in group.instances]
        if len(members) > 1:
            inputs = {slot for one in members for slot in one.input_slots}
            outputs = {slot for one in members for slot in one.output_slots}
            found |= {wire.source for wire in plan.wires if wire.source in outputs and wire.destination in inputs}
    return found


def _steep(trace: Trace, place: int, ahead: NDArray[np.bool_]) -> Iterator[RunWarning]:
    """Warning on the largest change of a signal in one of the steps (n,), if it is large and the following changes are
    notable: it is noticed up to a step late.
    """
    shares = _shares(trace.cells[:, place], ahead)
    steepest = int(np.argmax(shares))
    size = float(shares[steepest])
    if size < STEEP:
        return
    after = slice(steepest + 1, steepest + 3)
    reals = (i for i, column in enumerate(trace.columns) if column.type == FLOAT and not column.held)
    follows = {i: float(np.max(_shares(trace.cells[:, i], ahead)[after], initial=0.0)) for i in reals}
    worst = max(follows, key=lambda i: follows[i])
    if follows[worst] < NOTABLE:
        return
    signal, when = trace.columns[place].signal, float(trace.t[steepest])
    yield RunWarning(
        "RUN-110",
        signal,
        when,
        size,
        f"{signal} changes by {100 * size:.2g} % of its range in the step from {when:.6g} s, of which others learn at "
        f"its end, and {trace.columns[worst].signal} by {100 * follows[worst]:.2g} % in a step after it: the result "
        "depends on the step size, unless components are sampled in these steps; use a smaller --step-size, or "
        "--accuracy check, which states the error",
    )


def _shares(values: Floats, ahead: NDArray[np.bool_]) -> Floats:
    """Changes in steps (n,), relative to the range of the signal; 0 between rows at the same time."""
    scale = float(np.ptp(values))
    if not 0.0 < scale < np.inf:
        return np.zeros(len(ahead))
    shares: Floats = np.where(ahead, np.abs(np.diff(values)), 0.0) / scale
    return shares


def _late_switches(signal: str, t: Floats, values: Floats, adaptive: float | None) -> Iterator[RunWarning]:
    """Warning on the delays of switches that act back on their cause, half a step each, because they add up.

    Of steps that are `adaptive` with a requested error, delays that cause ten times that error are too large. If all
    switches are a whole number (at least two) of steps of one size apart, they are those of a clock.
    """
    at = np.flatnonzero((values[1:] != values[:-1]) & (t[1:] > t[:-1])) + 1
    if len(at) < FEWEST_SWITCHES or (adaptive is None and np.gcd.reduce(np.diff(at)) > 1):
        return
    size = float(np.sum(t[at] - t[at - 1]) / 2 / np.median(np.diff(t[at])))
    if size < (LATE_SWITCHES if adaptive is None else min(LATE_SWITCHES, MOST_OF_ADAPTIVE * adaptive)):
        return
    finer = "a smaller --step-size" if adaptive is None else f"--adaptive {adaptive / 10:.2g}"
    yield RunWarning(
        "RUN-111",
        signal,
        float(t[at[-1]]),
        size,
        f"{signal} switches {len(at)} times, each time noticed up to a step late, and its component depends on it: the "
        f"delays add up to {100 * size:.2g} % of the time between two switches: use {finer}, or --accuracy check, "
        "which states the error",
    )


def _few_steps(signal: str, t: Floats, values: Floats) -> RunWarning | None:
    """Warning on oscillations of values (n,), relative to their range, with too few steps per period."""
    moving = np.flatnonzero(np.diff(values))
    if len(moving) < 2:
        return None
    up = values[moving + 1] > values[moving]
    extrema = moving[1:][up[1:] != up[:-1]]
    halves = np.diff(extrema)
    short = (np.abs(np.diff(values[extrema])) > NOTABLE) & (2 * halves < FEWEST_STEPS)
    begin, length = _longest(short)
    if length < 2 * MOST_PERIODS:
        return None
    number, when = 2 * float(np.mean(halves[begin : begin + length])), float(t[extrema[begin]])
    return RunWarning(
        "RUN-102",
        signal,
        when,
        number,
        f"{signal} oscillates with {number:.2g} steps per period from {when:.6g} s on; {FEWEST_STEPS} or more "
        "resolve it: use a smaller --step-size",
    )


# -- energy that a coupling creates or destroys at power bonds


class CreatedEnergy(NamedTuple):
    """Energy that a run creates at a bond, relative to the range of the energy that flowed through it.

    It is negative if energy is destroyed. `time` [s] is that of the step that creates most.
    """

    bond: PowerBond
    share: float
    time: float


def created_energy(
    plan: Plan,
    trace: Trace,
    courses: Mapping[str, _Course],
    damped: Mapping[int, NDArray[np.bool_]] = MappingProxyType({}),
) -> Iterator[CreatedEnergy]:
    """Created energy at each power bond, if it is large, between components whose inputs have these values in steps,
    from the rows of a trace. `damped` contains the masks (n,) of damped steps, by input.

    Over a step h, each side gets the input u for the other's output y, and delivers the mean of its own output: w · h ·
    (mean(y1) · u1 − mean(y2) · u2) more flows into one component than out of the other.
    """
    places = {column.signal: place for place, column in enumerate(trace.columns)}
    for bond in bonds_of_units(plan.network) if damped or {*courses.values()} - {_Course.MEAN} else ():
        names, sides = (str(bond.first), str(bond.second)), (bond.first.component, bond.second.component)
        if not courses.keys() >= set(sides) or not places.keys() >= set(names):
            continue
        taken = [_Source(courses[side], True, _damped_of(plan, side, damped)) for side in sides]
        if not all(one.follow for one in taken):  # such inputs create no energy
            yield from _created(bond, trace, [places[name] for name in names], taken)


def _damped_of(plan: Plan, component: str, damped: Mapping[int, NDArray[np.bool_]]) -> NDArray[np.bool_]:
    """The damped steps (n,) of a component, whose inputs are held at the same time; empty: none."""
    inputs = next(one.moving for one in plan.instances if one.name == component)
    return next((damped[slot] for _, slot in inputs if slot in damped), _NO_STEPS)


@np.errstate(over="ignore", invalid="ignore")  # the run diverges, so there is no warning
def _created(bond: PowerBond, trace: Trace, places: Sequence[int], taken: Sequence[_Source]) -> Iterator[CreatedEnergy]:
    if not _may_create_energy(trace, places, taken):
        return
    one, other = trace.cells.T[places]
    h, mean_one, mean_other = np.diff(trace.t), _Course.MEAN.in_steps(one), _Course.MEAN.in_steps(other)
    created = h * (mean_one * taken[0].in_steps(other) - mean_other * taken[1].in_steps(one))
    scale = np.ptp(np.append(0.0, np.cumsum(h * mean_one * mean_other)))
    share = np.sign(bond.first_factor * bond.first_scale) * np.sum(created) / scale if 0.0 < scale < np.inf else 0.0
    if np.isfinite(share) and abs(share) > CREATED:
        yield CreatedEnergy(bond, float(share), float(trace.t[np.argmax(np.abs(created))]))


def _may_create_energy(trace: Trace, places: Sequence[int], taken: Sequence[_Source]) -> bool:
    """False if the created energy is small."""
    damped = any(one.damped.any() for one in taken)
    return damped or _creates_energy(trace, places, [one.course for one in taken])


def _creates_energy(trace: Trace, places: Sequence[int], courses: Sequence[_Course]) -> bool:
    """False if the created energy is small, without damped steps."""
    from ssptool.engine.kernel._kernel import creates_energy

    into_first, into_second = (course.weights for course in courses)
    return creates_energy(trace.t, trace.cells, places, (into_second, into_first), CREATED)
