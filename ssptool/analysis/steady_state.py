"""Steady states of systems: states and inputs for which derivatives vanish, and outputs have stated values."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssptool.analysis.linear_model import LinearModel, LinearVariable, checked_ending
from ssptool.analysis.linearization import Coupled, Request, coupled_at, linear_model
from ssptool.analysis.probing import Probe
from ssptool.documents.saving import save_file
from ssptool.engine.failure import RunError
from ssptool.engine.kernel.calls import Floats
from ssptool.errors import UnknownName, WrongValue, abbreviated, counted
from ssptool.fmu.instance import FmiError
from ssptool.foreign_text import json_text
from ssptool.option_words import STEADY_FILES
from ssptool.printed import Printed
from ssptool.public_calls import public

RESIDUAL = 1e-9
"""Largest residual of a steady state, relative to the usual sizes of states per second and of outputs."""

SINGULAR = 1e-9
"""Relative singular value below which a steady state is not unique."""

EXACT_STEPS = 5
"""Steps of Newton's method at the end, to the last digits."""

NEWTON_STEPS = 100
"""Largest number of damped steps of Newton's method."""

LEAST_DAMPING = 1e-5
"""Smallest part of a correction that is tried."""

TRANSIENT_STEPS = 300
"""Largest number of implicit steps in time."""

AT_REST = "Newton's method finds no steady state from the start; this is the one in which the system comes to rest"

TAKES_PART = 1e-3
"""Share in a direction from which on a name is told."""

ROUNDING = 1e-15
"""Part of its usual size below which an unknown is 0."""

Bounds = tuple[float, float]


class Conditions(NamedTuple):
    """Conditions on a steady state.

    Attributes
    ----------
    free
        Input, or state with bounds → its bounds.
    fixed
        State → its value; None: that of the start.
    targets
        Output → its value.
    slopes
        State → the value of its derivative; None: any. Those of all other states are 0.
    """

    free: Mapping[str, Bounds]
    fixed: Mapping[str, float | None]
    targets: Mapping[str, float]
    slopes: Mapping[str, float | None]


@public
@dataclass(frozen=True)
class SteadyState(Printed):
    """A steady state of a system.

    Attributes
    ----------
    system
        Name of the system.
    time
        Time [s] at which time-dependent components and inputs are evaluated.
    found
        Whether all equations are satisfied.
    states, inputs, outputs
        Names, units and values there: all states, free inputs, and the outputs with targets.
    kinds
        State or free input → "free", "fixed" or "at its bound".
    residuals
        Equation → what is left of it, in its unit: "State'" or the name of an output.
    start_values
        Start values by full name with which a run begins in this state; None: the FMUs cannot be started there.
    model
        The linear model at this point; its inputs are the free ones, its outputs those with targets, or all. None for
        the rest of a simulation.
    notes
        Remarks.
    """

    system: str
    time: float
    found: bool
    states: tuple[LinearVariable, ...]
    inputs: tuple[LinearVariable, ...]
    outputs: tuple[LinearVariable, ...]
    kinds: Mapping[str, str]
    residuals: Mapping[str, float]
    model: LinearModel | None
    start_values: Mapping[str, float] | None = None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        state = "found" if self.found else "not found"
        return f"<SteadyState of {self.system}: {state}, {counted(len(self.states), 'state')}>"

    def __bool__(self) -> bool:
        return self.found

    def to_dict(self) -> dict[str, Any]:
        """Everything except the linear model, as lists, numbers and texts."""
        return {
            "system": self.system,
            "time": self.time,
            "found": self.found,
            **{kind: [one._asdict() for one in getattr(self, kind)] for kind in ("states", "inputs", "outputs")},
            "kinds": dict(self.kinds),
            "residuals": dict(self.residuals),
            "start_values": None if self.start_values is None else dict(self.start_values),
            "notes": list(self.notes),
        }

    def save(self, path: Path | str) -> None:
        """Write a parameter set (.ssv) with which a run begins in this state, or a .json file with everything.

        Raises
        ------
        WrongValue
            The file has another ending; or the steady state was not found, or the FMUs cannot be started there, so
            there is no parameter set.
        """
        target = checked_ending(path, STEADY_FILES)
        whole = target.suffix.lower() == ".json"
        save_file(target, f"{json_text(self.to_dict(), indent=2)}\n" if whole else _parameter_set(self, target.stem))


def _parameter_set(point: SteadyState, name: str) -> bytes:
    from ssptool.documents import ssv  # few steady states are saved
    from ssptool.documents.document import Document
    from ssptool.editing.draft import empty_parameter_set
    from ssptool.editing.set import types_of

    if not point.found:
        raise WrongValue("a steady state was not found: there is no parameter set of it")
    if point.start_values is None:
        raise WrongValue(f"there is no parameter set of this steady state: {'; '.join(point.notes)}")
    document = Document(f"{name}.ssv", empty_parameter_set(name, "1.0"))
    values = document.root_as(ssv.ParameterSet)
    for full, value in point.start_values.items():
        parameter = ssv.Parameter.new(name=full)
        stored = types_of("1.0")["Float64"].new()
        parameter.type = stored
        stored.set("value", repr(float(value)))
        values.add(parameter)
    return document.to_bytes()


class _Problem:
    """Equations of a steady state, and their unknowns."""

    def __init__(self, probe: Probe, conditions: Conditions) -> None:
        self.probe, self.conditions = probe, conditions
        self.names = [one.name for one in probe.states]
        places = {name: place for place, name in enumerate(self.names)}
        for name in (*conditions.fixed, *conditions.slopes):
            if name not in places:
                raise UnknownName(f"the system has no state {name!r}", name, self.names)
        inputs = [name for name in conditions.free if name not in places]
        self.inputs = probe.slots(inputs, "input")
        for name, slot in zip(inputs, self.inputs, strict=True):
            if slot in probe.fed:
                raise WrongValue(f"{name} cannot be free: a connection feeds it")
        self.targets = probe.slots(conditions.targets, "output")
        self.free_states = [place for name, place in places.items() if name not in conditions.fixed]
        self.equations = [place for name, place in places.items() if conditions.slopes.get(name, 0.0) is not None]
        self.slopes = np.array([conditions.slopes.get(self.names[place]) or 0.0 for place in self.equations])
        self.wanted = np.array(list(conditions.targets.values()), dtype=float)
        self.input_names = inputs
        self.asked = Request(self.inputs, self.targets or probe.outputs)
        self.start = probe.x0.copy()
        for name, value in conditions.fixed.items():
            if value is not None:
                self.start[places[name]] = value

    # -- unknowns and equations ------------------------------------------------------------------------------

    @property
    def unknown_names(self) -> list[str]:
        return [*(self.names[place] for place in self.free_states), *self.input_names]

    @property
    def equation_names(self) -> list[str]:
        return [*(f"{self.names[place]}'" for place in self.equations), *self.conditions.targets]

    @property
    def scale(self) -> Floats:
        """Usual sizes of the unknowns."""
        plan, probe = self.probe.plan, self.probe
        usual = [max(plan.nominal[slot], abs(probe.values0[slot])) for slot in self.inputs]
        return np.array([*np.maximum(probe.nominal, np.abs(self.start))[self.free_states], *usual])

    @cached_property
    def sizes(self) -> Floats:
        """Usual sizes of the equations."""
        outputs = [
            max(self.probe.plan.nominal[slot], abs(value))
            for slot, value in zip(self.targets, self.wanted.tolist(), strict=True)
        ]
        return np.array([*self.probe.nominal[self.equations], *outputs])

    @cached_property
    def bounds(self) -> tuple[Floats, Floats]:
        both = [self.conditions.free.get(name, (-np.inf, np.inf)) for name in self.unknown_names]
        return np.array([low for low, _ in both]), np.array([high for _, high in both])

    @property
    def first(self) -> Floats:
        """Unknowns to begin with, inside of their bounds."""
        given = [self.probe.values0[slot] for slot in self.inputs]
        low, high = self.bounds
        first = np.array([*self.start[self.free_states], *given], dtype=np.float64)
        return np.asarray(np.clip(first, low, high), dtype=np.float64)

    def go_to(self, unknowns: Floats) -> None:
        """Let the probe stand there. Raises RunError, FmiError."""
        states, count = self.start.copy(), len(self.free_states)
        states[self.free_states] = unknowns[:count]
        self.probe.stand(states, list(zip(self.inputs, unknowns[count:].tolist(), strict=True)))

    @property
    def left(self) -> Floats:
        """Residual of the equations where the probe stands."""
        slopes = self.probe.slopes0[self.equations] - self.slopes
        return np.concatenate([slopes, self.probe.values0[list(self.targets)] - self.wanted])

    def residual(self, unknowns: Floats) -> Floats:
        """Raises RunError, FmiError."""
        self.go_to(unknowns)
        return self.left

    def left_open(self, left: Floats) -> NDArray[np.bool_]:
        """Mask of the equations that are not satisfied, by their residuals."""
        return ~(np.abs(left) <= RESIDUAL * self.sizes)  # nan satisfies none

    def is_solved(self, unknowns: Floats) -> bool:
        """True if all equations are satisfied. Raises RunError, FmiError."""
        return not self.left_open(self.residual(unknowns)).any()

    @property
    def moves_in_time(self) -> bool:
        """True if the unknowns are states, and the equations their derivatives."""
        return self.free_states == self.equations and not self.inputs and not self.targets

    def jacobian(self, unknowns: Floats) -> Floats:
        """Raises RunError, FmiError, Unsupported."""
        self.go_to(unknowns)
        return self._matrix(coupled_at(self.probe, self.asked))

    def scaled_jacobian(self, unknowns: Floats) -> Floats:
        """Jacobian in usual sizes of equations and unknowns. Raises RunError, FmiError, Unsupported."""
        return self.jacobian(unknowns) * self.scale / self.sizes[:, None]

    def _matrix(self, coupled: Coupled) -> Floats:
        targets = list(self.targets)
        upper = np.hstack([coupled.A[self.equations][:, self.free_states], coupled.B[self.equations]])
        lower = np.hstack([coupled.signals_by_states[targets][:, self.free_states], coupled.signals_by_inputs[targets]])
        return np.vstack([upper, lower])

    # -- counting --------------------------------------------------------------------------------------------

    def turning(self, matrix: Floats) -> Iterator[str]:
        """Names of states whose derivatives must be 0 but are not, although no equation depends on these states: angles
        of parts that turn, distances of vehicles that drive. `matrix`: Jacobian where the probe stands.
        """
        moves = self.left_open(self.left)
        for place, idle in zip(self.free_states, np.all(matrix == 0, axis=0)[: len(self.free_states)], strict=True):
            if idle and place in self.equations and moves[self.equations.index(place)]:
                yield self.names[place]

    def drop_trivial(self) -> tuple[str, ...]:
        """Leave out derivatives that are 0 everywhere. Their names."""
        here = there = coupled_at(self.probe, self.asked)
        with suppress(RunError, FmiError):
            self.probe.stand(self.start + 0.01 * self.probe.nominal)
            there = coupled_at(self.probe, self.asked)
        self.probe.stand(self.start)
        constant = [
            not (here.A[k].any() or here.B[k].any() or there.A[k].any() or there.B[k].any())
            for k in range(len(self.names))
        ]
        dropped = [
            place
            for place, slope in zip(self.equations, self.slopes, strict=True)
            if constant[place] and self.probe.slopes0[place] == slope
        ]
        kept = [number for number, place in enumerate(self.equations) if place not in dropped]
        self.slopes = self.slopes[kept]
        self.equations = [self.equations[number] for number in kept]
        return tuple(self.names[place] for place in dropped)

    def check_counts(self, trivial: Sequence[str]) -> None:
        """Raises WrongValue."""
        unknowns, equations = len(self.unknown_names), len(self.equation_names)
        if unknowns == equations:
            return
        stated = (
            f"{counted(equations, 'equation')} ({', '.join(self.equation_names) or 'none'}) for "
            f"{counted(unknowns, 'unknown')} ({', '.join(self.unknown_names) or 'none'})"
        )
        if unknowns < equations:
            raise WrongValue(
                f"the steady state is overdetermined: {stated}; free an input (--free), fix fewer states, or let a "
                "derivative have any value (--slope STATE=any)"
            )
        anyway = f", such as {abbreviated(trivial)}, whose derivative is 0 everywhere" if trivial else ""
        advice = f"fix a state (--fix){anyway}, or state an output (--target)"
        moving = (_steadily(name) for name in self.turning(self.jacobian(self.first)))
        raise WrongValue(f"the steady state is underdetermined: {'; '.join([stated, advice, *moving])}")


def _steadily(name: str) -> str:
    return f"no equation depends on {name}, so it can change steadily: --fix {name} --slope {name}=any"


def steady_state(probe: Probe, conditions: Conditions) -> SteadyState:
    """A steady state near the point of the probe, which then stands there.

    Raises
    ------
    UnknownName, WrongValue
        The conditions do not fit the system, determine too much or too little, or leave a family of steady states.
    RunError, FmiError
        A component cannot be evaluated at the start.
    """
    problem = _Problem(probe, conditions)
    problem.residual(problem.first)
    problem.check_counts(problem.drop_trivial())
    unknowns, at_bound = _solved(problem)
    notes: tuple[str, ...] = ()
    if not problem.is_solved(unknowns):
        for method, note in ((_at_rest, (AT_REST,)), (_along_newton_paths, ())):
            there = method(problem)
            if there is not None:
                unknowns, at_bound, notes = there, [False] * len(there), note
                break
    residual = problem.residual(unknowns)
    found = problem.is_solved(unknowns)
    if found:
        _check_unique(problem, unknowns, at_bound)
    model = linear_model(probe, problem.asked)
    names = problem.unknown_names
    kinds = dict.fromkeys(conditions.fixed, "fixed") | {
        name: "at its bound" if bound else "free" for name, bound in zip(names, at_bound, strict=True)
    }
    return SteadyState(
        system=probe.plan.name,
        time=probe.t,
        found=found,
        states=probe.states,
        inputs=tuple(probe.variable(slot) for slot in problem.inputs),
        outputs=tuple(probe.variable(slot) for slot in problem.targets),
        kinds=kinds,
        residuals=dict(zip(problem.equation_names, residual.tolist(), strict=True)),
        model=model,
        notes=notes if found else tuple(_why_not_found(problem, unknowns, residual)),
    )


def unsatisfied(probe: Probe, conditions: Conditions) -> tuple[str, ...]:
    """Names of equations that do not hold where the probe stands, to the accuracy of a loop of another run."""
    problem = _Problem(probe, conditions)
    wrong = np.abs(problem.left) > 1e3 * RESIDUAL * problem.sizes
    return tuple(name for name, one in zip(problem.equation_names, wrong.tolist(), strict=True) if one)


def _solved(problem: _Problem) -> tuple[Floats, list[bool]]:
    """Unknowns of the least residual, and which of them are at a bound: a trust region, then Newton's method."""
    from scipy.optimize import least_squares  # few calls need it

    scale, sizes, (low, high) = problem.scale, problem.sizes, problem.bounds
    first = problem.first
    if not len(first):
        return first, []
    usual = np.abs(problem.residual(first)).max(initial=0.0)

    def residual(scaled: Floats) -> Floats:
        try:
            return problem.residual(scaled * scale) / sizes
        except (RunError, FmiError):
            return np.full(len(sizes), 1e6 * max(usual, 1.0))  # the trust region gets smaller

    def jacobian(scaled: Floats) -> Floats:
        return problem.jacobian(scaled * scale) * scale / sizes[:, None]

    inside = np.clip(first / scale, low / scale, high / scale)
    found = least_squares(residual, inside, jacobian, (low / scale, high / scale), xtol=1e-15, ftol=1e-15, gtol=1e-15)
    unknowns: Floats = found.x * scale
    at_bound = [bool(one) for one in found.active_mask]
    if not any(at_bound):
        unknowns = _to_the_last_digits(problem, unknowns)
    return unknowns, at_bound


def _along_newton_paths(problem: _Problem) -> Floats | None:
    """Unknowns by Newton's method with damping that judges the size of corrections, not of residuals (natural
    monotonicity, Deuflhard 2004): a stiff link makes each way to the solution a narrow curved valley of residuals, in
    which a method that only descends stays. None: no solution, or out of bounds.
    """
    unknowns, damping = problem.first, 1.0
    left = problem.residual(unknowns)
    for _ in range(NEWTON_STEPS):
        if not problem.left_open(left).any():
            return _to_the_last_digits(problem, unknowns)
        try:
            inverse = np.linalg.inv(problem.jacobian(unknowns)).astype(np.float64, copy=False)
        except (RunError, FmiError, np.linalg.LinAlgError):
            return None
        correction: Floats = inverse @ left
        damping = min(1.0, 4.0 * damping)
        while (there := _shortened(problem, unknowns - damping * correction, inverse, correction, damping)) is None:
            damping /= 2
            if damping < LEAST_DAMPING:
                return None
        unknowns, left = unknowns - damping * correction, there
    return None


def _shortened(problem: _Problem, nearer: Floats, inverse: Floats, correction: Floats, damping: float) -> Floats | None:
    """Residual there; None: out of bounds, or the correction that is left is not shorter."""
    low, high = problem.bounds
    if np.any((nearer < low) | (nearer > high)):
        return None
    try:
        there = problem.residual(nearer)
    except (RunError, FmiError):
        return None
    before, after = (float(np.linalg.norm(one / problem.scale)) for one in (correction, inverse @ there))
    return there if after <= (1 - damping / 4) * before else None


def _at_rest(problem: _Problem) -> Floats | None:
    """States in which the system comes to rest, by pseudo-transient continuation: implicit steps in time from the
    start, which become larger as the derivatives become smaller. None: it does not come to rest, or leaves its bounds.
    """
    if not problem.moves_in_time:
        return None
    unknowns, sizes = problem.first, problem.sizes
    low, high = problem.bounds
    left = problem.residual(unknowns)
    step = 1.0 / max(np.abs(problem.jacobian(unknowns)).sum(axis=1).max(initial=0.0), np.finfo(float).tiny)
    for _ in range(TRANSIENT_STEPS):
        try:
            matrix = np.eye(len(unknowns)) / step - problem.jacobian(unknowns)
            nearer = unknowns + np.linalg.solve(matrix, left)
            there = problem.residual(nearer)
        except (RunError, FmiError, np.linalg.LinAlgError):
            step *= 0.25
            continue
        if not (np.isfinite(there).all() and np.all(low <= nearer) and np.all(nearer <= high)):
            return None
        before, after = (float(np.abs(one / sizes).max(initial=0.0)) for one in (left, there))
        if after <= RESIDUAL:
            return _to_the_last_digits(problem, nearer)
        step *= float(np.clip(before / after, 0.5, 2.0))
        unknowns, left = nearer, there
    return None


def _to_the_last_digits(problem: _Problem, unknowns: Floats) -> Floats:
    """Newton's method as long as it makes the residual smaller."""
    left = problem.residual(unknowns)
    for _ in range(EXACT_STEPS):
        try:
            step = np.linalg.lstsq(problem.jacobian(unknowns), left, rcond=None)[0]
            nearer = np.clip(unknowns - step, *problem.bounds)
            there = problem.residual(nearer)
        except (RunError, FmiError):
            break
        if not np.max(np.abs(there / problem.sizes)) < np.max(np.abs(left / problem.sizes)):
            break
        unknowns, left = nearer, there
    return np.where(np.abs(unknowns) < ROUNDING * problem.scale, 0.0, unknowns)


def _check_unique(problem: _Problem, unknowns: Floats, at_bound: Sequence[bool]) -> None:
    """Raises WrongValue if there are other steady states around this one."""
    matrix = problem.scaled_jacobian(unknowns)
    if not matrix.size or any(at_bound):
        return
    _, singular, right = np.linalg.svd(matrix)
    if singular[-1] > SINGULAR * singular[0]:
        return
    moving = abbreviated(list(_largest(right[-1], problem.unknown_names)))
    raise WrongValue(
        f"the steady state is not unique: {moving} can change without a change of any equation; fix one of them (--fix)"
    )


def _largest(direction: Floats, names: Sequence[str]) -> Iterator[str]:
    least = TAKES_PART * np.abs(direction).max()
    yield from (name for name, share in zip(names, np.abs(direction).tolist(), strict=True) if share > least)


def _why_not_found(problem: _Problem, unknowns: Floats, residual: Floats) -> Iterator[str]:
    left = [
        f"{name} is {value:.6g}"
        for name, value, size in zip(problem.equation_names, residual.tolist(), problem.sizes.tolist(), strict=True)
        if abs(value) > RESIDUAL * size
    ]
    yield f"there is no steady state near the start: left are {abbreviated(left)}"
    matrix = problem.scaled_jacobian(unknowns)
    problem.residual(unknowns)
    left_vectors, singular, _ = np.linalg.svd(matrix)
    if singular[-1] <= SINGULAR * singular[0]:
        together = abbreviated(list(_largest(left_vectors[:, -1], problem.equation_names)))
        yield f"the equations of {together} depend on each other here: they may contradict"
    yield from map(_steadily, problem.turning(matrix))
