"""Sensitivities along a trajectory: derivatives of outputs over time with respect to parameters and start values.

With x' = f(t, x, p) and y = g(t, x, p), the derivatives S = ∂x/∂p satisfy the variational equations S' = f_x S + f_p,
which are integrated together with x. For each parameter, two more instances of the system have the values p ± δ: the
right side is the difference of f(x ± δ S, p ± δ), which goes through algebraic loops, and so is ∂y/∂p. The same with
2 δ gives the error. Where no such equations exist, whole runs with p ± δ and p ± 2 δ are compared.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ssptool.analysis.linear_model import LinearVariable, save_numbers
from ssptool.analysis.probing import Probe
from ssptool.engine.kernel.calls import Floats
from ssptool.engine.recording.patterns import near_names
from ssptool.errors import UnknownName
from ssptool.printed import Printed
from ssptool.public_calls import public

VARIATIONAL, DIFFERENCES = "variational equations", "differences of runs"

STEP = 1e-4
"""Change δ of a parameter in the variational equations, relative to its size: the error is of order δ⁴."""

RUN_STEP = 1e-3
"""The same between runs, whose coupling is iterated to a tolerance."""

RTOL = 1e-9
"""Relative tolerance of the integration."""

SAME = 1e-4
"""Largest difference of the trajectory from that of a run, relative to the range of an output."""


@public
@dataclass(frozen=True)
class Sensitivities(Printed):
    """Derivatives of outputs over time with respect to parameters and start values.

    Attributes
    ----------
    system
        Name of the system.
    t : (k,) [s]
    parameters, outputs
        Names and units; values of parameters, and of outputs at the end.
    y : (k, p)
        The outputs over time.
    derivatives : (k, p, m)
        ∂y/∂p, in the unit of the output per unit of the parameter.
    errors : (p, m)
        Estimated error of the derivatives: the largest over time.
    way
        "variational equations" or "differences of runs".
    runs
        Number of runs of the system.
    notes
    """

    system: str
    t: Floats
    parameters: tuple[LinearVariable, ...]
    outputs: tuple[LinearVariable, ...]
    y: Floats
    derivatives: Floats
    errors: Floats
    way: str
    runs: int
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return (
            f"<Sensitivities of {self.system}: {len(self.outputs)} outputs to {len(self.parameters)} parameters, "
            f"{len(self.t)} times>"
        )

    def __getitem__(self, names: tuple[str, str]) -> Floats:
        """The derivative (k,) of an output with respect to a parameter, by their names. Raises UnknownName."""
        output, parameter = (
            _place(name, known) for name, known in zip(names, (self.outputs, self.parameters), strict=True)
        )
        return np.asarray(self.derivatives[:, output, parameter])

    def to_dict(self) -> dict[str, Any]:
        """Everything as lists, numbers and texts, as in a .json file."""
        return {
            "system": self.system,
            "way": self.way,
            "runs": self.runs,
            "notes": list(self.notes),
            **{kind: [one._asdict() for one in getattr(self, kind)] for kind in ("parameters", "outputs")},
            **{kind: getattr(self, kind).tolist() for kind in ("t", "y", "derivatives", "errors")},
        }

    def save(self, path: Path | str) -> None:
        """Write everything to a .json file, or a table of the derivatives over time to a .csv file.

        Raises
        ------
        WrongValue
            The file has another ending.
        """
        save_numbers(path, self.to_dict, self._rows)

    def _rows(self) -> Iterator[list[str]]:
        pairs = [(i, j) for j in range(len(self.parameters)) for i in range(len(self.outputs))]
        yield ["time", *(f"{self.outputs[i].name} / {self.parameters[j].name}" for i, j in pairs)]
        columns = [self.t, *(self.derivatives[:, i, j] for i, j in pairs)]
        yield from ([repr(float(value)) for value in row] for row in zip(*columns, strict=True))


def _place(name: str, known: Sequence[LinearVariable]) -> int:
    names = [one.name for one in known]
    if name not in names:
        raise UnknownName(f"there is no sensitivity of or to {name!r}", name, near=near_names(name, names))
    return names.index(name)


class DerivedOutputs(NamedTuple):
    """Outputs (k, p), their derivatives (k, p, m), and the errors of these (p, m)."""

    y: Floats
    derivatives: Floats
    errors: Floats


def size(value: float) -> float:
    """Size of a parameter, which its changes are relative to."""
    return abs(value) or 1.0


def _extrapolated(y: Floats, near: Floats, far: Floats, accuracy: float) -> DerivedOutputs:
    """Derivatives from those with δ and 2 δ, whose errors are of order δ²."""
    largest = np.abs(near).max(axis=0, initial=0.0)
    errors = np.abs(near - far).max(axis=0, initial=0.0) + accuracy * largest
    return DerivedOutputs(y, near + (near - far) / 3, errors)


# --- differences of runs ---------------------------------------------------------------------------------------------

Run = Callable[[Mapping[str, float]], Floats]
"""Outputs (k, p) of a run with these values of parameters."""


def by_differences(y: Floats, parameters: Sequence[LinearVariable], run: Run) -> DerivedOutputs:
    """Derivatives by four runs for each parameter; `y` (k, p) are the outputs at their values."""
    sides: list[list[Floats]] = [[], []]
    for one in parameters:
        for times, found in zip((1, 2), sides, strict=True):
            step = times * RUN_STEP * size(one.value)
            above, below = (run({one.name: one.value + sign * step}) for sign in (1, -1))
            found.append((above - below) / (2 * step))
    near, far = (np.stack(found, axis=-1) for found in sides)
    return _extrapolated(y, near, far, RTOL)


# --- variational equations -------------------------------------------------------------------------------------------


class Neighbours(NamedTuple):
    """Two systems beside another one: one parameter is larger by `up`, and smaller by `down`; its usual size."""

    size: float
    up: float
    down: float
    above: Probe
    below: Probe

    def slope(self, t: float, x: Floats, s: Floats) -> Floats:
        """(n,) S' of S (n,), along the trajectory at x (n,)."""
        above, below = _at(self.above, t, x + self.up * s), _at(self.below, t, x - self.down * s)
        return (above - below) / (self.up + self.down)

    def of_signals(self, slots: Sequence[int]) -> Floats:
        """Derivatives of signals, where `slope` was asked for last."""
        return np.asarray(self.above.values[slots] - self.below.values[slots]) / (self.up + self.down)


def _at(probe: Probe, t: float, x: Floats) -> Floats:
    probe.t = t
    return probe.evaluate(x, {})


def by_variation(
    probe: Probe, neighbours: Sequence[Neighbours], t: Floats, slots: Sequence[int], longest: float
) -> DerivedOutputs:
    """Outputs and derivatives at these times (k,), by steps of at most `longest` [s].

    Parameters
    ----------
    neighbours
        Those with δ of each parameter, then those with 2 δ.

    Raises
    ------
    RunError, FmiError
        A component cannot be evaluated.
    """
    y, derivatives = varied(probe, neighbours, t, slots, longest)
    near, far = np.split(derivatives, 2, axis=-1)
    return _extrapolated(y, near, far, 10 * RTOL)


def varied(
    probe: Probe, neighbours: Sequence[Neighbours], t: Floats, slots: Sequence[int], longest: float
) -> tuple[Floats, Floats]:
    """Outputs (k, p) and their derivatives (k, p, m) by each of the neighbours; nan if the integration fails."""
    n, count = len(probe.x0), len(neighbours)
    x0 = probe.x0.copy()
    first = [(one.above.x0 - one.below.x0) / (one.up + one.down) for one in neighbours]
    usual = np.concatenate([probe.nominal, *(probe.nominal / one.size for one in neighbours)])

    def slopes(time: float, z: Floats) -> Floats:
        x, *rest = z.reshape(1 + count, n)
        found = [one.slope(time, x, s) for one, s in zip(neighbours, rest, strict=True)]
        return np.concatenate([_at(probe, time, x), *found])

    def jacobian(time: float, z: Floats) -> Floats:
        return np.asarray(np.kron(np.eye(1 + count), _derivative(probe, time, z[:n])))

    states = _integrated(slopes, jacobian, np.concatenate([x0, *first]), t, usual, longest)
    y, derivatives = np.empty((len(t), len(slots))), np.empty((count, len(t), len(slots)))
    for row, (time, z) in enumerate(zip(t.tolist(), states, strict=True)):
        x, *rest = z.reshape(1 + count, n)
        _at(probe, time, x)
        y[row] = probe.values[slots]
        for place, (one, s) in enumerate(zip(neighbours, rest, strict=True)):
            one.slope(time, x, s)
            derivatives[place, row] = one.of_signals(slots)
    return y, np.moveaxis(derivatives, 0, -1)


def _derivative(probe: Probe, t: float, x: Floats) -> Floats:
    """(n, n) ∂f/∂x for an implicit integrator, which corrects its errors."""
    steps = 1e-6 * np.maximum(np.abs(x), probe.nominal)
    columns = [
        (_at(probe, t, x + along) - _at(probe, t, x - along)) / (2 * step)
        for along, step in zip(np.diag(steps), steps, strict=True)
    ]
    return np.column_stack(columns)


def _integrated(
    slopes: Callable[[float, Floats], Floats],
    jacobian: Callable[[float, Floats], Floats],
    first: Floats,
    t: Floats,
    usual: Floats,
    longest: float,
) -> Floats:
    """States (k, n) at these times, by a method that notices stiffness."""
    from scipy.integrate import solve_ivp  # few calls need it

    if not len(first) or len(t) < 2:
        return np.tile(first, (len(t), 1))
    found = solve_ivp(
        slopes,
        (t[0], t[-1]),
        first,
        method="LSODA",
        t_eval=t,
        jac=jacobian,
        rtol=RTOL,
        atol=RTOL * usual,
        max_step=longest,
    )
    return np.asarray(found.y.T) if found.success else np.full((len(t), len(first)), np.nan)
