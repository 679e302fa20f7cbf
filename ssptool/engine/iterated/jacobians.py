"""Jacobians dg/dx of a loop x = g(x): by directional derivatives or differences, whether they are right, whether they
are singular."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.iterated.dense import FullPivotLu, equilibration, norm, times
from ssptool.engine.kernel.calls import Floats

Function: TypeAlias = Callable[[Floats], Floats]
"""g: (m,) → (m,). A point that a component rejects, or cannot be evaluated at, gives nan."""


class Domain(NamedTuple):
    """Domain of the unknowns: nominal, minimum and maximum values, each (m,)."""

    nominal: Floats
    minimum: Floats
    maximum: Floats

    @classmethod
    def of_size(cls, size: int) -> "Domain":
        """Unknowns of nominal value 1 and without bounds."""
        return cls(np.ones(size), np.full(size, -np.inf), np.full(size, np.inf))

    def clip(self, x: Floats) -> Floats:
        x = np.where(x < self.minimum, self.minimum, x)
        return np.where(x > self.maximum, self.maximum, x)


class LoopJacobian(Protocol):
    """A way to get dg/dx (m, m)."""

    @property
    def name(self) -> str: ...

    @property
    def precision(self) -> float:
        """Relative size of its errors."""
        ...

    def at(self, g: Function, x: Floats, value: Floats, domain: Domain) -> Floats:
        """dg/dx at `x`, where g was evaluated last and gave `value`."""
        ...


@dataclass(frozen=True, slots=True)
class FiniteDifferences:
    """One-sided differences, one evaluation of g per colour.

    Columns that share no row of `pattern` (k, m; None: full) have one colour and are perturbed together. Where g
    cannot be evaluated at the perturbed point, the other side is tried. g may have more values than arguments.

    References
    ----------
    Curtis, Powell, Reid 1974, "On the estimation of sparse Jacobian matrices".
    """

    pattern: NDArray[np.bool_] | None = None
    relative_step: float = 2.0**-26  # √ε: balances truncation and rounding of a one-sided difference

    @property
    def name(self) -> str:
        return "finite differences"

    @property
    def precision(self) -> float:
        return 10 * self.relative_step

    def at(self, g: Function, x: Floats, value: Floats, domain: Domain) -> Floats:
        shape = (len(value), len(x))
        pattern = np.ones(shape, dtype=bool) if self.pattern is None else self.pattern
        steps = self.relative_step * np.maximum(np.abs(x), domain.nominal)
        steps = np.where(x + steps > domain.maximum, -steps, steps)
        jacobian = np.zeros(shape)
        for columns in colours(pattern):
            for side in (1.0, -1.0):
                moved = x.copy()
                moved[columns] += side * steps[columns]
                change = g(moved) - value
                if np.all(np.isfinite(change)):
                    break
            for column in columns:
                # The step after rounding, not the intended one.
                step = moved[column] - x[column]
                jacobian[:, column] = np.where(pattern[:, column], change / step, 0.0)
        return jacobian


def colours(pattern: NDArray[np.bool_]) -> list[list[int]]:
    """Columns of `pattern` in groups without a common row, greedily, in order."""
    groups: list[list[int]] = []
    taken: list[NDArray[np.bool_]] = []
    for column in range(pattern.shape[1]):
        rows = pattern[:, column]
        for group, used in zip(groups, taken, strict=True):
            if not np.any(used & rows):
                group.append(column)
                used |= rows
                break
        else:
            groups.append([column])
            taken.append(rows.copy())
    return groups


_GOLDEN = 0.6180339887498949
_CONTRADICTION = 0.1
"""Relative: far more than curvature makes of such a step, and less than what makes a Jacobian useless."""


def probe(sizes: Floats) -> Floats:
    """Steps (n,) of about these sizes, in a direction in which columns that are wrong, or swapped, do not cancel."""
    places = np.arange(len(sizes))
    return np.asarray(sizes * np.where(places % 2, -1.0, 1.0) * (1.0 + (places * _GOLDEN) % 1.0))


def contradicted(matrix: Floats, step: Floats, change: Floats, noise: Floats) -> bool:
    """True if a Jacobian (k, n) contradicts the change (k,) of a function over a small step (n,), of which `noise` (k,)
    may be rounding.
    """
    if not np.isfinite(matrix).all():
        return True
    size = np.maximum(times(np.abs(matrix), np.abs(step)), np.abs(change))
    # Changes that are not finite contradict nothing.
    return bool(np.any(np.abs(times(matrix, step) - change) > _CONTRADICTION * size + noise))


_PROBE = 1e-6
"""Relative step over which a Jacobian is checked; values are accurate to its square, where loops are inside loops."""


def fits(matrix: Floats, x: Floats, g: Function, domain: Domain) -> bool:
    """True if the loop changes beside x as a Jacobian predicts, or cannot be evaluated there."""
    step = domain.clip(x + probe(_PROBE * np.maximum(np.abs(x), domain.nominal))) - x
    value = g(x)
    noise = _PROBE * _PROBE * np.maximum(np.abs(value), domain.nominal)
    return not contradicted(matrix, step, g(x + step) - value, noise)


def null_direction(jacobian: Floats, precision: float) -> Floats | None:
    """A direction (m,) of largest element 1 along which g(x) − x does not change; None if there is none.

    Parameters
    ----------
    jacobian : (m, m)
        dg/dx, finite.
    precision
        Relative precision of its elements; a matrix that is singular within it counts as singular. Units of the signals
        do not matter: rows and columns are brought to the same size first.
    """
    if not len(jacobian):
        return None
    unit = np.eye(len(jacobian))
    rows, columns = equilibration(np.abs(jacobian) + unit)
    scaled = rows[:, None] * (jacobian - unit) * columns
    lu = FullPivotLu(scaled)
    vector = lu.null_vector()
    if lu.last_pivot / norm(vector) > precision * (1.0 + norm(scaled.ravel())):
        return None
    direction = columns * vector
    return np.asarray(direction / direction[np.argmax(np.abs(direction))])
