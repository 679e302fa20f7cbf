"""Errors of macro steps before a run, from linear models of the components, and what makes them smaller.

Near the start, deviations δ of the states follow δ' = A δ + f with the slopes f at the start. Its exact solution, and
that of a master's macro steps, are products of matrices, so the error of each master at each step size is known without
a run. A connection counts as exact if the components at its ends are one part, as they are in model exchange.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, count, pairwise
from typing import Any, NamedTuple

import numpy as np

from ssptool.analysis.coupling_stability import (
    MASTERS,
    Components,
    chosen_master,
    components,
    inputs_of_parts,
)
from ssptool.analysis.probing import Probe
from ssptool.engine.failure import RunError, Unsupported
from ssptool.engine.kernel.calls import Floats
from ssptool.engine.planning.plan import Plan
from ssptool.engine.stimuli.stimuli import NO_STIMULI
from ssptool.errors import abbreviated
from ssptool.fmu.instance import FmiError
from ssptool.foreign_text import joined_lines
from ssptool.printed import Printed, prints
from ssptool.public_calls import public

WANTED = 1e-4
"""Error that a step size is advised for, relative to the range of each signal."""

LEAST_ERROR = 1e-11
"""Least error that can be wanted: rounding is of this size."""

STILL = 1e-9
"""Range of a signal, relative to its size, below which it counts as at rest."""

MOST_STEPS = 10_000
"""Macro steps for which errors are computed; beyond, they follow the order."""

MOST_OF_PLAN = 200_000
"""Macro steps for which the error of the plan itself is computed."""

MOST_LINKS, MOST_TOLD = 40, 3
"""Pairs of components that are examined and told, at most."""

LIMITS = 0.5
"""Share of the error that is left without a connection, below which the connection limits the step."""

SPANS = np.geomspace(1e-4, 1.0, 41)
"""Parts of the run for which the system is compared with its linear model."""

LINEAR = 0.1
"""Largest difference of slopes from those of the linear model, relative to these."""

LEAST_ORDER = 0.5
"""Order of the last two step sizes that were tried, below which smaller ones are not predicted."""

ITERATIONS = 2
"""Steps of a component in an iterated macro step: with the inputs of the iteration before, and to confirm them."""


MID_STEP = "jacobi, mid-step (extrapolated)"
"""Master whose step depends on the course of the inputs, so that no matrix tells it."""

METHODS = (*(name for name in MASTERS if "exchange late" not in name), MID_STEP)

FIRST: Mapping[str, tuple[str, ...]] = {
    "jacobi, extrapolate (order 1)": ("jacobi, hold",),
    "jacobi, extrapolate (order 2)": ("jacobi, hold", "jacobi, extrapolate (order 1)"),
    "iterated, mean": ("iterated, hold", "iterated, hold"),
    "iterated, interpolate (order 2)": ("iterated, interpolate (order 1)",),
}
"""Master → its first macro steps, before which too few points are known."""


_WHAT = "a prediction of errors"


class Motion(NamedTuple):
    """Linear models that begin to move at the start of a run.

    Attributes
    ----------
    components
        With the slopes at the start: each part with states has one more state, which is constant. What only a late
        exchange needs is not kept up.
    start : (n,)
        Deviations from the start: 0, and 1 for the constant states.
    signals : (p, n)
        Signals that are compared, by states.
    sizes : (p,)
        Their usual sizes.
    truths
        Step size and number of steps → the exact signals, which all masters are compared with.
    """

    components: Components
    start: Floats
    signals: Floats
    sizes: Floats
    truths: dict[tuple[float, int], Floats]

    @property
    def apart(self) -> tuple[Floats, Floats]:
        """A (n, n) and B (n, m) of all components."""
        from scipy.linalg import block_diag  # few calls need it

        A, B = (np.asarray(block_diag(*matrices)) for matrices in zip(*self.components.parts, strict=True))
        return A, B

    @property
    def coupled(self) -> Floats:
        """(n, n) Slopes of the coupled system by its states."""
        A, B = self.apart
        return np.asarray(A + B @ self.components.by_states)

    def truth(self, h: float, steps: int) -> Floats:
        """(steps + 1, p) Exact signals at the ends of steps of h [s]."""
        if (h, steps) not in self.truths:
            with np.errstate(all="ignore"):
                self.truths[h, steps] = _powers(self.exact(h), self.start, steps) @ self.signals.T
        return self.truths[h, steps]

    def moving(self, exact: Floats) -> Floats:
        """(p,) Whether each of the exact signals changes."""
        with np.errstate(all="ignore"):
            return np.asarray(~(np.ptp(exact, axis=0) <= STILL * self.sizes))  # also those beyond all numbers

    def moves(self, duration: float) -> bool:
        """True if a signal changes over a run."""
        return bool(self.moving(self.truth(duration / 100, 100)).any())

    def exact(self, h: float) -> Floats:
        """(n, n) Transition of the coupled system over h [s]."""
        from scipy.linalg import expm  # few calls need it

        return np.asarray(expm(self.coupled * h))


def moving(one: Components, slopes: Floats, deviations: Floats, signals: Floats, sizes: Floats) -> Motion:
    """Components that start with these slopes (n,) and deviations (n,), and signals (p, n) of their states."""
    counts = [len(A) for A, _ in one.parts]
    ends = [end for end, count in zip(accumulate(counts), counts, strict=True) if count]
    parts, first = [], 0
    for A, B in one.parts:
        count = len(A)
        if count:
            A = np.block([[A, slopes[first : first + count, None]], [np.zeros((1, count + 1))]])
            B = np.vstack([B, np.zeros((1, B.shape[1]))])
        parts.append((A, B))
        first += count
    known = replace(one, parts=tuple(parts), by_states=np.insert(one.by_states, ends, 0.0, axis=1), _steps={})
    return Motion(known, np.insert(deviations, ends, 1.0), np.insert(signals, ends, 0.0, axis=1), sizes, {})


def merged(motion: Motion, inputs: Sequence[int]) -> Motion:
    """The same with these inputs connected exactly."""
    one, (A, B) = motion.components, motion.apart
    left = [number for number in range(B.shape[1]) if number not in set(inputs)]
    whole = (A + B[:, list(inputs)] @ one.by_states[list(inputs)], B[:, left])
    return motion._replace(components=replace(one, parts=(whole,), by_states=one.by_states[left], _steps={}))


def predicted_error(motion: Motion, master: str, h: float, duration: float) -> float:
    """Largest error of a signal over a run of this duration [s] with macro steps of h [s], relative to its range; inf
    if the steps diverge, nan if nothing moves.
    """
    steps = max(1, round(duration / h))
    exact, found = motion.truth(h, steps), _steps(motion, master, h, steps)
    with np.errstate(all="ignore"):
        errors = np.abs(found @ motion.signals.T - exact).max(axis=0)
    if not np.isfinite(errors).all():
        return float("inf")
    moves = motion.moving(exact)
    return float(np.max(errors[moves] / np.ptp(exact, axis=0)[moves], initial=0.0)) if moves.any() else float("nan")


def _powers(matrix: Floats, start: Floats, steps: int) -> Floats:
    """(steps + 1, n) Products of the powers of a matrix with a start."""
    found = np.empty((steps + 1, len(start)))
    found[0] = start
    for k in range(steps):
        found[k + 1] = matrix @ found[k]
    return found


def _steps(motion: Motion, master: str, h: float, steps: int) -> Floats:
    """(steps + 1, n) States at the ends of macro steps."""
    if master == MID_STEP:
        return _mid_steps(motion, h, steps)
    n, past = len(motion.start), [motion.start]
    with np.errstate(all="ignore"):
        for first in FIRST.get(master, ())[:steps]:
            matrix = MASTERS[first](motion.components, h)
            past.insert(0, (matrix @ np.concatenate(past)[: len(matrix)])[:n])
        matrix = MASTERS[master](motion.components, h)
        begun = np.concatenate([*past, np.zeros(len(matrix))])[: len(matrix)]
        later = _powers(matrix, begun, steps + 1 - len(past))[:, :n]
    return np.vstack([*past[:0:-1], later])


def _mid_steps(motion: Motion, h: float, steps: int) -> Floats:
    """The same with inputs extrapolated to the middle of the step where they run smoothly, otherwise held."""
    one, step = motion.components, motion.components.over(h)
    found, inputs = [motion.start], [one.by_states @ motion.start]
    with np.errstate(all="ignore"):
        for _ in range(steps):
            changes = -np.diff(inputs[:4], axis=0)
            smooth = np.full(len(inputs[0]), len(changes) > 1)
            for latest, before in pairwise(changes):
                a, b = np.abs(latest), np.abs(before)
                smooth &= (latest * before > 0) & (a <= 2 * b) & (b <= 2 * a)
            ahead = np.where(smooth, 0.5 * changes[0], 0.0) if len(changes) else 0.0
            found.append(step.transition @ found[-1] + step.gains[0] @ (inputs[0] + ahead))
            inputs = [one.by_states @ found[-1], *inputs[:3]]
    return np.array(found)


# --- advice ----------------------------------------------------------------------------------------------------------


@public
class AdvisedStep(NamedTuple):
    """A master and the largest step size for which it reaches the error.

    Attributes
    ----------
    master
        With its approximation, as in `CouplingStability`.
    step_size : [s]
        nan: no step that was tried reaches it.
    error
        Predicted for this step size, relative to the range of each signal.
    calls
        Steps of components in the run; 0 without a step size.
    """

    master: str
    step_size: float
    error: float
    calls: int


@public
@dataclass(frozen=True)
class CouplingAdvice(Printed):
    """Predicted errors of masters, and the connections that limit the step.

    Attributes
    ----------
    wanted
        Error that is asked for, relative to the range of each signal.
    step_size : [s]
        Of the plan.
    master
        Of the plan; empty: nothing is known of it.
    error
        Predicted for `master` at `step_size`; nan: not known.
    steps
        What reaches the error, with the fewest calls first.
    links
        Pairs of components → error if both were one part, the smallest first; empty if the plan reaches the error.
    notes
    """

    wanted: float
    step_size: float
    master: str
    error: float
    steps: tuple[AdvisedStep, ...]
    links: Mapping[tuple[str, str], float]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<CouplingAdvice for an error of {self.wanted:g}: {len(self.steps)} masters>"

    def to_dict(self) -> dict[str, Any]:
        """Everything as numbers and texts."""
        return {
            "wanted": self.wanted,
            "step_size": self.step_size,
            "master": self.master,
            "error": self.error,
            "steps": [one._asdict() for one in self.steps],
            "links": [{"components": list(pair), "error": error} for pair, error in self.links.items()],
            "notes": list(self.notes),
        }


def advice(plan: Plan, probe: Probe, wanted: float = WANTED) -> CouplingAdvice:
    """Advice for a plan of co-simulation, by a probe of the same system at its start. Raises RunError, FmiError,
    Unsupported.
    """
    h, duration = plan.interval.step, plan.interval.stop - plan.interval.start
    motion, notes = _motion(probe, duration)
    able, missing = _able(plan)
    chosen, why = chosen_master(plan, METHODS)
    if not why and duration / h > MOST_OF_PLAN:
        chosen, why = "", f"it has {duration / h:.3g} steps, and at most {MOST_OF_PLAN:g} are computed"
    if why:
        notes.append(f"the error of the plan itself is not predicted: {why}")
    if plan.stimuli != NO_STIMULI:
        notes.append("inputs of the system keep their values at the start")
    steps = [_advised(motion, master, wanted, duration, len(plan.instances)) for master in able]
    steps.sort(key=lambda one: one.calls or np.inf)
    error, links = float("nan"), dict[tuple[str, str], float]()
    if chosen:
        error = predicted_error(motion, chosen, h, duration)
    if chosen and not error <= wanted:
        pairs = _links(plan, probe)
        if len(pairs) > MOST_LINKS:
            notes.append(f"of {len(pairs)} pairs of connected components, the first {MOST_LINKS} were examined")
        for pair, inputs in list(pairs.items())[:MOST_LINKS]:
            links[pair] = predicted_error(merged(motion, inputs), chosen, h, duration)
    links = dict(sorted(links.items(), key=lambda item: item[1]))
    return CouplingAdvice(wanted, h, chosen, error, tuple(steps), links, (*notes, *missing))


def _motion(probe: Probe, duration: float) -> tuple[Motion, list[str]]:
    """The motion from the start, and notes on it. Raises Unsupported if it is not that of a linear system."""
    one, slots = components(probe), [slot for slot in probe.plan.recorded if probe.is_real(slot)]
    sizes = np.array([max(abs(probe.values0[slot]), probe.plan.nominal[slot]) for slot in slots])
    still, notes = np.zeros(len(probe.x0)), []
    found = moving(one, probe.slopes0, still, one.signals[slots], sizes)
    if (span := _linear_span(probe, found, slots, duration)) < duration:
        raise Unsupported(
            _WHAT,
            f"the system follows its linear model at the start for {span:.2g} s only, of {duration:g} s",
            "use a shorter run (--stop-time), or let a run find the step (--accuracy 1e-4)",
        )
    if not found.moves(duration):
        notes.append(
            "the system is at rest at its start: errors are predicted for a deviation of each state by its size"
        )
        found = moving(one, still, probe.nominal, one.signals[slots], sizes)
    if not found.moves(duration):
        raise Unsupported(_WHAT, "no state of the system moves a signal", "let a run find the step (--accuracy 1e-4)")
    return found, notes


def _linear_span(probe: Probe, motion: Motion, slots: Sequence[int], duration: float) -> float:
    """Time [s] for which slopes and signals of the system along the motion are those of the linear model."""
    changes, first, values = motion.start == 0.0, probe.t, probe.values0[slots]
    largest, before, coupled = [0.0, 0.0], duration * float(SPANS[0]), motion.coupled
    for t in (duration * SPANS).tolist():
        z = motion.exact(t) @ motion.start
        probe.t = first + t
        try:
            slopes = probe.evaluate(probe.x0 + z[changes], {})
        except (RunError, FmiError):
            return before
        finally:
            probe.t = first
        pairs = (
            (slopes / probe.nominal, (coupled @ z)[changes] / probe.nominal),
            ((probe.values[slots] - values) / motion.sizes, motion.signals @ z / motion.sizes),
        )
        for place, (found, expected) in enumerate(pairs):
            largest[place] = max(largest[place], float(np.max(np.abs(expected), initial=0.0)))
            if not np.max(np.abs(found - expected), initial=0.0) <= LINEAR * largest[place] + STILL:
                return before
        before = t
    return duration


def _able(plan: Plan) -> tuple[list[str], list[str]]:
    """Masters that all components can take part in, and notes on the others."""
    coupled = [one for one in plan.instances if one.wired]
    able, notes = list(METHODS), []
    if held := [one.name for one in coupled if not one.capabilities.follows]:
        able = [master for master in able if "polate (order" not in master]
        notes.append(f"inputs of {abbreviated(held)} are held, because the FMU does not follow them")
    if fixed := [one.name for one in coupled if not one.capabilities.repeats_steps]:
        able = [master for master in able if "iterated" not in master]
        notes.append(f"steps of {abbreviated(fixed)} cannot be repeated, which iterated masters need")
    return able, notes


def _advised(motion: Motion, master: str, wanted: float, duration: float, components: int) -> AdvisedStep:
    """The largest step size, 1, 2 or 5 times a power of ten, for which a master of so many components reaches the
    error. Beyond the steps that are tried, the error follows the order of the last two.
    """
    tried: list[tuple[float, float]] = []
    for h in _round_numbers(duration / 2, duration / MOST_STEPS):
        tried.append((h, predicted_error(motion, master, h, duration)))
        if tried[-1][1] <= wanted:
            break
    else:
        (before, large), (h, error) = tried[-2:]
        order = np.log(large / error) / np.log(before / h)
        if not order > LEAST_ORDER:
            return AdvisedStep(master, float("nan"), error, 0)
        smaller = next(_round_numbers(h * (wanted / error) ** (1 / order), 0.0))
        tried.append((smaller, error * (smaller / h) ** order))
    h, error = tried[-1]
    repeated = ITERATIONS if master.startswith("iterated") else 1
    return AdvisedStep(master, h, error, round(duration / h) * components * repeated)


def _round_numbers(most: float, least: float) -> Iterator[float]:
    """Step sizes 1, 2 and 5 times powers of ten, the largest first."""
    for decade in count(int(np.floor(np.log10(most))), -1):
        for times in (5, 2, 1):
            h = float(f"{times}e{decade}")
            if h < least:
                return
            if h <= most:
                yield h


def _links(plan: Plan, probe: Probe) -> dict[tuple[str, str], list[int]]:
    """Pairs of connected components, with the places of the inputs between them."""
    places = {slot: place for place, slot in enumerate(inputs_of_parts(probe))}
    found = defaultdict[tuple[str, str], list[int]](list)
    for wire in probe.plan.wires:
        ends = sorted({probe.plan.signals[slot].component for slot in (wire.source, wire.destination)})
        if wire.destination in places and len(ends) == 2 and ends[0]:
            found[ends[0], ends[1]].append(places[wire.destination])
    return dict(found)


@prints(CouplingAdvice)
def advice_text(found: CouplingAdvice) -> str:
    """A line for each master, and one for each connection that limits the step."""
    lines = [f"Advice for an error of {found.wanted:g} of the range of each signal (linear models near the start)"]
    width = max((len(one.master) for one in found.steps), default=0)
    for one in found.steps:
        reached = f"{one.step_size:g} s: error {_told(one.error)}, {one.calls} steps of components"
        lines.append(f"  {one.master.ljust(width)}  {reached if one.calls else 'no step that was tried'}")
    plan = f"{found.master}, {found.step_size:g} s"
    if found.master:
        lines.append(f"  this plan ({plan}): error {_told(found.error)}")
    limiting = [(pair, error) for pair, error in found.links.items() if error < LIMITS * found.error][:MOST_TOLD]
    if limiting:
        lines.append("  these limit its step; as one part, by model exchange:")
    lines += [f"    {one} and {other}: error {_told(error)}" for (one, other), error in limiting]
    if found.steps and (best := found.steps[0]).calls:
        lines.append(f"  next: {options_of(best.master)} --step-size {best.step_size:g}")
    return joined_lines([*lines, *(f"  note: {note}" for note in found.notes)])


def _told(error: float) -> str:
    return "without bound" if error == np.inf else f"{error:.1g}"


def options_of(master: str) -> str:
    """The options of `run` for a master of this analysis."""
    base, approximation = master.split(", ")
    order = " --input-order 2" if "order 2" in approximation else ""
    word = "mid-step" if approximation == "mean" else approximation.split()[0]
    return f"--master {base} --approximation {word}{order}"
