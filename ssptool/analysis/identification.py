"""Discrete linear models of co-simulation, from responses to jumps of inputs.

FMUs of co-simulation hide their states, but two runs that differ in the jump of one input tell the Markov parameters
D, C B, C A B, … of a macro step. A realization of them (Ho and Kalman, balanced) has as many states as the inputs
excite and the outputs show; which are left out as noise follows from a second jump of twice the size.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from ssptool.analysis.linear_model import LinearModel, LinearVariable
from ssptool.engine.failure import RunError, Unsupported
from ssptool.engine.kernel.calls import Floats
from ssptool.engine.planning.plan import Plan
from ssptool.engine.run.saved import NotSavable
from ssptool.engine.stepping.simulation import TOLERANCE, SteppedRun
from ssptool.engine.trace import REAL_TYPES
from ssptool.errors import WrongValue, abbreviated, counted
from ssptool.fmu.description import InterfaceType

STEPS = 400
"""Macro steps of each response, at most."""

FEWEST_STEPS = 8
"""Macro steps of a response below which it tells too little."""

GROWTH = 1e4
"""Responses are used up to where one has grown by this factor beyond its size in the first steps: later steps of an
unstable system show only its fastest growth, and hide all else.
"""

WORST = 0.1
"""Largest relative error of a model that is returned."""

JUMP = 1e-3
"""Jump of an input, relative to its value, or to 1 if that is 0."""

NOISE = 10.0
"""Singular values of noise are up to this multiple of what the noise of single elements lets expect."""

MOVES = 1e-6
"""Relative change of an output without jumps from which on it moves."""

EPSILON = 2.0**-52

_WHAT = "a discrete linear model of co-simulation"
SWEEP = "measure the frequency response (--sweep 0.1:10:20)"

_ADVICE = f"use smaller steps (--step-size), or FMUs that offer model exchange, or {SWEEP}"

_HOW = (
    "a model of macro steps, because not all components run by model exchange: it contains the motions that the inputs "
    "excite and the outputs show within {} steps"
)


_Jumped: TypeAlias = Callable[[Mapping[str, float]], Floats]
"""Function that gives the outputs (k + 1, p) after jumps of inputs by these amounts."""


class Responses(NamedTuple):
    """Responses of all outputs to unit jumps of the inputs.

    Attributes
    ----------
    found : (k + 1, p, m)
    noise : (p, m)
        Largest error of an element.
    """

    found: Floats
    noise: Floats


def default_inputs(plan: Plan) -> list[str]:
    """Real inputs of the system; if it has none, unconnected ones of components."""
    fed = {wire.destination for wire in plan.wires} | {slot for one in plan.instances for slot in one.output_slots}
    root = {wire.source for wire in plan.wires if not plan.signals[wire.source].component} - fed
    own = root or {slot for one in plan.instances for slot in one.input_slots} - fed
    named = zip(plan.recorded, plan.columns, strict=True)
    return [column.signal for slot, column in named if slot in own and column.type in REAL_TYPES]


def real_outputs(plan: Plan) -> Iterator[str]:
    """Real outputs of the system; if it has none, those of components."""
    fed = {wire.destination for wire in plan.wires}
    root = {slot for slot in fed if not plan.signals[slot].component}
    own = root or {slot for one in plan.instances for slot in one.output_slots}
    for slot, column in zip(plan.recorded, plan.columns, strict=True):
        if slot in own and column.type in REAL_TYPES:
            yield column.signal


def check_identified(plan: Plan, time: float, opened: Sequence[str], inputs: Sequence[str]) -> None:
    """Check that responses from this time [s] on tell a linear model. Raises Unsupported, WrongValue."""
    stepped = [one.name for one in plan.instances if one.interface is InterfaceType.CO_SIMULATION]
    advice = f"use FMUs of {abbreviated(stepped)} that offer model exchange"
    if opened:
        raise Unsupported(_WHAT, f"{', '.join(opened)}: a connected input cannot be opened in a run", advice)
    if plan.event_modes.members and inputs:
        reason = f"events of {abbreviated(plan.event_modes.members)} end macro steps"
        raise Unsupported(_WHAT, reason, f"{SWEEP}, or {advice}")
    check_driven(plan, time, inputs, _WHAT, advice)


def check_driven(plan: Plan, time: float, inputs: Sequence[str], what: str, advice: str) -> None:
    """Check that inputs can change from this time [s] on, at the ends of equal macro steps. Raises Unsupported,
    WrongValue.
    """
    if not inputs:
        raise Unsupported(what, "it needs an unconnected input, and the system has none", advice)
    divided = plan.event_modes.members or plan.is_one_ode  # steps of one size, with events or an integrator inside
    if plan.master.chooses_steps and (plan.settings.adaptive is not None or not divided):
        raise Unsupported(what, "macro steps have no fixed size", "choose one: --step-size")
    steps = (time - plan.interval.start) / plan.interval.step
    if abs(steps - round(steps)) > TOLERANCE:
        nearest = plan.interval.start + round(steps) * plan.interval.step
        raise WrongValue(f"t = {time!r} s is not at the end of a macro step; the nearest is at {nearest!r} s")


def identified(run: SteppedRun, time: float, inputs: Sequence[LinearVariable]) -> LinearModel:
    """The discrete linear model of a run at this time [s], whose plan records the outputs. Raises RunError, FmiError,
    Unsupported.
    """
    columns = [place for place, column in enumerate(run.plan.columns) if column.type in REAL_TYPES]
    sizes = np.array([JUMP * (abs(one.value) or 1.0) for one in inputs])
    after, usual, responses = _measured(run, time, inputs, columns, sizes)
    steps = len(responses.found) - 1
    A, B, C, error = _realized(responses, sizes)
    D = responses.found[0]
    test = np.where(np.arange(len(inputs)) % 2, -0.6, 1.0) * sizes
    jumps = {one.name: jump for one, jump in zip(inputs, test.tolist(), strict=True)}
    measured = (after(jumps) - usual)[: steps + 1]
    predicted = _predicted(A, B, C, D, steps) @ test
    scale = np.maximum(np.abs(responses.found).max(axis=0) @ np.abs(test), np.finfo(float).tiny)
    error = max(error, float((np.abs(measured - predicted) / scale).max()))
    if not error <= WORST:
        reason = f"responses to jumps do not follow one: an error of {error:.1g} of the largest element"
        raise Unsupported(_WHAT, reason, _ADVICE)
    A, B, C, rows, error = _in_later_outputs(A, B, C, error, steps)
    if not error <= WORST:
        moves = "; the system is not at rest at this point" if any(_on_motion(usual)) else ""
        reason = f"its matrices would have an error of {error:.1g} of the largest element of a row{moves}"
        raise Unsupported(_WHAT, reason, _ADVICE)
    shown = [run.plan.columns[place] for place in columns]
    return LinearModel(
        system=run.plan.name,
        time=time,
        A=A,
        B=B,
        C=C,
        D=D,
        slopes=np.zeros(len(A)),
        states=tuple(
            LinearVariable(f"{shown[place].signal} after {counted(later, 'step')}", shown[place].unit, 0.0)
            for later, place in rows
        ),
        inputs=tuple(inputs),
        outputs=tuple(
            LinearVariable(one.signal, one.unit, float(value)) for one, value in zip(shown, usual[0], strict=True)
        ),
        error=error,
        ways=dict.fromkeys((one.name for one in run.plan.instances), "responses to jumps"),
        notes=(_HOW.format(steps), *_on_motion(usual)),
        step=run.plan.interval.step,
    )


def _measured(
    run: SteppedRun, time: float, inputs: Sequence[LinearVariable], columns: Sequence[int], sizes: Floats
) -> tuple[_Jumped, Floats, Responses]:
    """Outputs after any jumps, and without one, and the responses to jumps of these sizes; over fewer steps if the run
    fails far from the point, as that of an unstable system does. Raises RunError.
    """
    names = [one.name for one in inputs]

    def over(steps: int) -> tuple[_Jumped, Floats, Responses]:
        after = partial(_outputs, run, inputs, columns, _starts(run, time), steps=steps)
        usual = after({})
        return after, usual, _responses(names, sizes, after, usual)

    try:
        return over(STEPS)
    except RunError as problem:
        reached = int((problem.failure.time - time) / run.plan.interval.step / 2)
        if reached < FEWEST_STEPS:
            raise
        run.reset()
        run.run_until(time)
        return over(reached)


def _outputs(
    run: SteppedRun,
    inputs: Sequence[LinearVariable],
    columns: Sequence[int],
    start: Callable[[], object],
    jumps: Mapping[str, float],
    *,
    steps: int,
) -> Floats:
    """The outputs in these columns (steps + 1, p) after jumps of inputs, named with their amounts."""
    start()
    for one in inputs:
        run.set(one.name, one.value + jumps.get(one.name, 0.0))
    run.step(steps)
    t, y = run.trace.t[-steps - 1 :], run.trace.cells[-steps - 1 :, columns]
    if np.abs(np.diff(t) - run.plan.interval.step).max() > TOLERANCE * run.plan.interval.step:
        raise Unsupported(_WHAT, "events divide macro steps", f"{SWEEP}, or use FMUs that offer model exchange")
    return y


def _on_motion(usual: Floats) -> Iterator[str]:
    """Note on outputs that move without jumps."""
    if np.any(np.ptp(usual, axis=0) > MOVES * np.abs(usual).max(axis=0)):
        yield "the system is not at rest at this point: if it is not linear, its modes may be inaccurate"


def _starts(run: SteppedRun, time: float) -> Callable[[], object]:
    """Function that takes a run back to this time [s]: by its state, or if an FMU cannot save that, from the start."""
    try:
        return partial(run.restore, run.snapshot())
    except NotSavable:

        def again() -> None:
            run.reset()
            run.run_until(time)

        return again


def _responses(inputs: Sequence[str], sizes: Floats, after: _Jumped, usual: Floats) -> Responses:
    near, far = (
        np.stack(
            [
                (after({name: one}) - after({name: -one})) / (2 * one)
                for name, one in zip(inputs, (times * sizes).tolist(), strict=True)
            ],
            axis=-1,
        )
        for times in (1, 2)
    )
    used = slice(_resolved(near) + 1)
    noise = np.abs(far - near)[used].max(axis=0) + 4 * EPSILON * np.abs(usual[used]).max(axis=0)[:, None] / sizes
    return Responses(near[used], noise)


def _resolved(found: Floats) -> int:
    """The steps of responses that show more than the fastest growth. Raises Unsupported."""
    sizes = np.maximum.accumulate(np.abs(found), axis=0)
    grown = (sizes > GROWTH * sizes[FEWEST_STEPS // 2]) & (sizes[FEWEST_STEPS // 2] > 0)
    steps = int(np.argmax(grown.any(axis=(1, 2)))) if grown.any() else len(found) - 1
    if steps < FEWEST_STEPS:
        raise Unsupported(_WHAT, f"a response grows by more than {GROWTH:g} within {steps} steps", _ADVICE)
    return steps


def _realized(responses: Responses, sizes: Floats) -> tuple[Floats, Floats, Floats, float]:
    """A, B and C of a realization, and its relative error. Outputs and inputs are scaled to their sizes meanwhile."""
    height = np.abs(responses.found).max(axis=(0, 2))
    rows, columns = np.where(height > 0, 1 / np.where(height > 0, height, 1.0), 0.0), sizes / sizes.max()
    scaled = np.diff(responses.found, axis=0) * rows[:, None] * columns
    noise = 2 * float((responses.noise * rows[:, None] * columns).max())
    half, (p, m) = (len(scaled) - 1) // 2, scaled.shape[1:]
    whole = np.concatenate([np.concatenate(scaled[i : i + half + 1], axis=1) for i in range(half)])
    left, values, right = np.linalg.svd(whole[:, : half * m], full_matrices=False)
    threshold = NOISE * noise * (np.sqrt(half * p) + np.sqrt(half * m))
    order = int(np.count_nonzero(values > threshold))
    root = np.sqrt(values[:order])
    observed, reached = left[:, :order] * root, right[:order] * root[:, None]
    A = (left[:, :order] / root).T @ whole[:, m:] @ (right[:order] / root[:, None]).T
    B, C = reached[:, :m] / columns, observed[:p] * np.where(height > 0, height, 0.0)[:, None]
    return A, B, C, noise * np.sqrt(half) / float(values[order - 1]) if order else noise


def _in_later_outputs(
    A: Floats, B: Floats, C: Floats, error: float, steps: int
) -> tuple[Floats, Floats, Floats, list[tuple[int, int]], float]:
    """The same model with states that are outputs later, if the inputs stay: A, B, C, the pairs (steps later, output)
    of the states, and the relative error. These outputs are as independent of each other as possible.
    """
    from scipy.linalg import qr  # loads scipy

    n, p = len(A), len(C)
    if not n:
        return A, B, C, [], error
    later = [C]
    for _ in range(steps // 2):
        later.append(later[-1] @ A)
    rows = np.concatenate(later)
    scale = np.abs(later).max(axis=(0, 2))
    usable = np.flatnonzero(np.abs(rows).max(axis=1) > 0)
    weighted = (rows / np.tile(np.where(scale > 0, scale, 1.0), len(later))[:, None])[usable]
    chosen = np.sort(usable[qr(weighted.T, mode="r", pivoting=True)[1][:n]])
    T = rows[chosen]
    back = np.linalg.inv(T)
    new_A, new_B = T @ A @ back, T @ B
    wrong = np.abs(T) @ np.tile(error * np.abs(np.hstack([A, B])).max(axis=1)[:, None], n) @ np.abs(back)
    relative = wrong.max(axis=1) / np.abs(np.hstack([new_A, new_B])).max(axis=1)
    return new_A, new_B, C @ back, [divmod(int(one), p) for one in chosen], max(error, float(relative.max()))


def _predicted(A: Floats, B: Floats, C: Floats, D: Floats, steps: int) -> Floats:
    """(steps + 1, p, m) Responses of a discrete model to unit jumps."""

    def each() -> Iterator[Floats]:
        states = np.zeros(B.shape)
        for _ in range(steps + 1):
            yield C @ states + D
            states = A @ states + B

    return np.array([*each()])
