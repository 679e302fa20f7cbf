"""Stability of macro steps: the spectral radius of a master at a step size, from linear models of the components.

Over a macro step, the inputs of a component are polynomials in time, and a component that integrates exactly goes to
x(h) = Φ x + Γ0 u + Γ1 u' + Γ2 u''. How the coefficients follow from present, earlier and later states is the master;
its step is then one matrix, whose largest eigenvalue says whether errors grow from step to step.
"""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from ssptool.analysis.linearization import Request, coupled_blocks, direct
from ssptool.analysis.part_jacobian import part_jacobian
from ssptool.analysis.probing import Probe
from ssptool.engine.kernel.calls import Floats, Op
from ssptool.engine.masters.iterated import Iterated
from ssptool.engine.masters.jacobi import Jacobi
from ssptool.engine.masters.program import MEAN
from ssptool.engine.planning.plan import Plan
from ssptool.engine.run.macro_steps import MacroSteps
from ssptool.errors import abbreviated
from ssptool.foreign_text import joined_lines
from ssptool.printed import Printed, prints
from ssptool.public_calls import public

GROWS = 1e-11
"""Relative excess over the exact growth from which on a step is unstable: rounding is less."""

UNDAMPED = 1e-9
"""Rate of the system relative to its fastest mode, below which it counts as undamped."""

SEARCHED = (1e-4, 1e3)
"""Step sizes that are tried, relative to the time constant of the fastest mode."""

PER_DECADE = 25

PRECISE = 1e-7
"""Relative precision of the largest stable step."""


class Discrete(NamedTuple):
    """One macro step of all components, with the inputs as polynomials.

    Attributes
    ----------
    transition : (n, n)
    gains
        (n, m) for the value, first and second derivative of all inputs.
    """

    transition: Floats
    gains: tuple[Floats, Floats, Floats]


@dataclass(frozen=True)
class Components:
    """Linear models of all components and their coupling.

    Attributes
    ----------
    parts
        A and B of each component.
    signals : (slots, n)
        All signals from all states, through algebraic loops.
    by_states : (m, n)
        All inputs, likewise.
    late : (m, n), passed : (m, m)
        All inputs from states and from inputs, where outputs do not see new inputs.
    rate : [1/s]
        Growth of the exact system: the largest real part of an eigenvalue.
    fastest : [1/s]
        The largest magnitude of an eigenvalue.
    """

    parts: tuple[tuple[Floats, Floats], ...]
    signals: Floats
    by_states: Floats
    late: Floats
    passed: Floats
    rate: float
    fastest: float
    _steps: dict[float, Discrete] = field(default_factory=dict)  # several masters ask for the same

    def over(self, h: float) -> Discrete:
        """Macro step of h [s]."""
        if h not in self._steps:
            self._steps[h] = self._over(h)
        return self._steps[h]

    def _over(self, h: float) -> Discrete:
        from scipy.linalg import block_diag, expm  # few calls need it

        found = [_over(A, B, h, expm) for A, B in self.parts]
        whole = [np.asarray(block_diag(*matrices)) for matrices in zip(*found, strict=True)]
        return Discrete(whole[0], (whole[1], whole[2], whole[3]))


def _over(A: Floats, B: Floats, h: float, expm: Callable[[Floats], Floats]) -> tuple[Floats, Floats, Floats, Floats]:
    n, m = B.shape
    if not n:
        return A, B, B, B
    whole = np.zeros((n + 3 * m, n + 3 * m))
    whole[:n, :n], whole[:n, n : n + m] = A, B
    for place in (n, n + m):
        whole[place : place + m, place + m : place + 2 * m] = np.eye(m)
    found = expm(whole * h)[:n]
    return found[:, :n], found[:, n : n + m], found[:, n + m : n + 2 * m], found[:, n + 2 * m :]


def inputs_of_parts(probe: Probe) -> Iterator[int]:
    """Slots of all inputs, in the order of the components."""
    return chain.from_iterable(part.inputs for part in probe.parts)


def components(probe: Probe) -> Components:
    """Linear models of the components where a probe stands. Raises RunError, FmiError, Unsupported."""
    blocks = [part_jacobian(part).matrix for part in probe.parts]
    probe.stand(probe.x0)
    inputs = list(inputs_of_parts(probe))
    coupled, known = coupled_blocks(probe, blocks, Request((), ())), direct(probe, blocks)
    wires, counts = known.wires[inputs], [len(part.states) for part in probe.parts]
    values = np.linalg.eigvals(coupled.A) if len(coupled.A) else np.zeros(0)
    return Components(
        tuple((block[:n, :n], block[:n, n:]) for n, block in zip(counts, blocks, strict=True)),
        coupled.signals_by_states,
        coupled.signals_by_states[inputs],
        wires @ known.states,
        wires @ known.feedthrough[:, inputs],
        float(max(values.real, default=0.0)),
        float(max(abs(values), default=0.0)),
    )


# --- masters ---------------------------------------------------------------------------------------------------------

StepMatrix = Callable[[Components, float], Floats]
"""Matrix of one macro step of h [s]."""


def _explicit(one: Components, h: float, weights: Sequence[Sequence[float]]) -> Floats:
    """Row k of the weights: the k-th derivative of the inputs from the present and earlier points, times h^k."""
    step, count = one.over(h), len(weights[0])
    n = len(one.by_states.T)
    found = np.eye(n * count, k=-n)
    for point in range(count):
        gain = sum((step.gains[k] * (row[point] / h**k) for k, row in enumerate(weights)), np.zeros_like(step.gains[0]))
        found[:n, point * n : (point + 1) * n] = gain @ one.by_states
    found[:n, :n] += step.transition
    return found


def _implicit(one: Components, h: float, weights: Sequence[Sequence[float]]) -> Floats:
    """The same from the next point, the present one and earlier ones."""
    ahead = _explicit(one, h, [row[1:] for row in weights])
    step, n = one.over(h), len(one.by_states.T)
    gain = sum((step.gains[k] * (row[0] / h**k) for k, row in enumerate(weights)), np.zeros_like(step.gains[0]))
    ahead[:n] = np.linalg.solve(np.eye(n) - gain @ one.by_states, ahead[:n])
    return ahead


def _late(one: Components, h: float) -> Floats:
    step, m = one.over(h), len(one.passed)
    n = len(step.transition)
    found = np.zeros((n + m, n + m))
    found[n:] = np.hstack([one.late, one.passed])
    found[:n] = step.gains[0] @ found[n:]
    found[:n, :n] += step.transition
    return found


MASTERS: Mapping[str, StepMatrix] = {
    "jacobi, hold": lambda one, h: _explicit(one, h, [[1.0]]),
    "jacobi, hold, exchange late": _late,
    "jacobi, extrapolate (order 1)": lambda one, h: _explicit(one, h, [[1.0, 0.0], [1.0, -1.0]]),
    "jacobi, extrapolate (order 2)": lambda one, h: _explicit(
        one, h, [[1.0, 0.0, 0.0], [1.5, -2.0, 0.5], [1.0, -2.0, 1.0]]
    ),
    "iterated, hold": lambda one, h: _implicit(one, h, [[1.0, 0.0]]),
    "iterated, mean": lambda one, h: _implicit(one, h, [[0.5, 0.5]]),
    "iterated, interpolate (order 1)": lambda one, h: _implicit(one, h, [[0.0, 1.0], [1.0, -1.0]]),
    "iterated, interpolate (order 2)": lambda one, h: _implicit(
        one, h, [[0.0, 1.0, 0.0], [0.5, 0.0, -0.5], [1.0, -2.0, 1.0]]
    ),
}
"""Master and approximation → its macro step."""


def spectral_radius(one: Components, master: str, h: float) -> float:
    """Factor by which the largest error grows in a macro step of h [s]."""
    with np.errstate(all="ignore"):
        matrix = MASTERS[master](one, h)
    if not np.isfinite(matrix).all():
        return float("inf")
    return float(max(np.abs(np.linalg.eigvals(matrix)), default=0.0)) if matrix.size else 0.0


def is_stable(one: Components, master: str, h: float) -> bool:
    """Whether a macro step of h [s] adds no growth to that of the system itself."""
    with np.errstate(over="ignore"):
        exact = float(np.exp(max(one.rate, 0.0) * h))
    return spectral_radius(one, master, h) <= exact * (1 + GROWS)


def largest_stable_step(one: Components, master: str) -> float:
    """The step size [s] up to which all are stable: inf if all that were tried are, 0 if not even the smallest."""
    if not one.fastest:
        return float("inf")
    low, high = (times / one.fastest for times in SEARCHED)
    tried = np.geomspace(low, high, int(PER_DECADE * np.log10(high / low))).tolist()
    first = next((k for k, h in enumerate(tried) if not is_stable(one, master, h)), None)
    if first is None:
        return float("inf")
    if first == 0:
        return 0.0
    below, above = tried[first - 1], tried[first]
    while above - below > PRECISE * above:
        middle = 0.5 * (below + above)
        below, above = (middle, above) if is_stable(one, master, middle) else (below, middle)
    return float(below)


def stability(plan: Plan, one: Components) -> "CouplingStability":
    """Stability of the macro steps of a plan, and of other masters at its step size."""
    h = plan.interval.step
    chosen, why = chosen_master(plan)
    notes = [f"of the chosen master nothing is known here: {why}"] if why else []
    if one.rate > UNDAMPED * one.fastest:
        notes.append(
            f"the system itself is unstable: it grows by {one.rate:.6g} 1/s; a step is stable if it adds no growth"
        )
    elif one.fastest and abs(one.rate) <= UNDAMPED * one.fastest:
        notes.append(f"the system itself is undamped: a step is stable if an error grows by less than {GROWS:g} in it")
    return CouplingStability(
        h,
        chosen,
        {master: spectral_radius(one, master, h) for master in MASTERS},
        {master: largest_stable_step(one, master) for master in MASTERS},
        one.rate,
        tuple(notes),
    )


def chosen_master(plan: Plan, known: Container[str] = MASTERS) -> tuple[str, str]:
    """Chosen master, if it is among the known ones; or empty, and why."""
    master = plan.master.base if isinstance(plan.master, MacroSteps) else plan.master
    held = [one.name for one in plan.instances if one.wired and not one.capabilities.follows]
    if plan.settings.adaptive is not None:
        return "", "its steps have no fixed size"
    if isinstance(master, Jacobi):
        late = ", exchange late" if master.late else ""
        name = f"jacobi, {master.inputs.name}{late}"
    elif isinstance(master, Iterated) and not master.count:
        means = master.inputs == MEAN or (master.inputs.op is Op.MID_STEP and master.inputs.ends)
        name = f"iterated, {'mean' if means else master.inputs.name}"
    else:
        return "", f"{master.name} is not a master of this table"
    if name not in known:
        return "", f"{name} is not in this table"
    if held and not (master.inputs.op in (Op.HOLD, Op.MID_STEP) or master.inputs == MEAN):
        return "", f"inputs of {abbreviated(held)} are held, because the FMU does not follow them"
    if plan.substep_counts:
        return "", f"{abbreviated(plan.substep_counts)} takes substeps"
    return name, ""


@public
@dataclass(frozen=True)
class CouplingStability(Printed):
    """Stability of macro steps near the start.

    Attributes
    ----------
    step_size : [s]
    master
        Chosen master with its approximation, as in `radius`; empty: nothing is known of it.
    radius
        Master and approximation → spectral radius of a macro step of `step_size`.
    largest_step
        Master and approximation → the step size [s] up to which macro steps are stable; inf: all; 0: none.
    rate : [1/s]
        The largest real part of an eigenvalue of the system itself.
    notes
    """

    step_size: float
    master: str
    radius: Mapping[str, float]
    largest_step: Mapping[str, float]
    rate: float
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<CouplingStability of {len(self.radius)} masters at {self.step_size:g} s>"

    def to_dict(self) -> dict[str, Any]:
        """Everything as numbers and texts."""
        return {
            "step_size": self.step_size,
            "master": self.master,
            "radius": dict(self.radius),
            "largest_step": dict(self.largest_step),
            "rate": self.rate,
            "notes": list(self.notes),
        }


@prints(CouplingStability)
def stability_text(found: CouplingStability) -> str:
    """One line for each master."""
    head = f"Stability of macro steps of {found.step_size:g} s (components that integrate exactly, near the start)"
    width = max(map(len, found.radius), default=0)
    lines = [head]
    for name, radius in found.radius.items():
        most = found.largest_step[name]
        limit = "all steps are stable" if most == np.inf else f"stable up to {most:.6g} s" if most else "never stable"
        chosen = "  (chosen)" if name == found.master else ""
        lines.append(f"  {name.ljust(width)}  spectral radius {radius:.9g}; {limit}{chosen}")
    return joined_lines([*lines, *(f"  note: {note}" for note in found.notes)])
