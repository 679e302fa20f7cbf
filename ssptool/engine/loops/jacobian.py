"""Where Newton's method takes dg/dx from."""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ssptool.dataclass import dataclass
from ssptool.engine.loops.solution import Domain, Floats, Function


class Jacobian(Protocol):
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
class Products:
    """Column by column from dg/dx · seed, as directional derivatives of the components give it.

    `product` may rely on g having been evaluated last at the point in question.
    """

    product: Callable[[Floats], Floats]

    @property
    def name(self) -> str:
        return "directional derivatives"

    @property
    def precision(self) -> float:
        return 1e-14

    def at(self, g: Function, x: Floats, value: Floats, domain: Domain) -> Floats:
        return np.column_stack([self.product(seed) for seed in np.eye(len(x))])


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
    relative_step: float = 1.5e-8  # √ε: balances truncation and rounding of a one-sided difference

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
                # What was really added, after rounding, not what was meant to be.
                step = moved[column] - x[column]
                jacobian[:, column] = np.where(pattern[:, column], change / step, 0.0)
        return jacobian


def probe(sizes: Floats) -> Floats:
    """Steps (n,) of about these sizes, in a direction in which columns that are wrong, or swapped, do not cancel."""
    places = np.arange(len(sizes))
    return np.asarray(sizes * np.where(places % 2, -1.0, 1.0) * (1.0 + (places * _GOLDEN) % 1.0))


def contradicted(matrix: Floats, step: Floats, change: Floats, noise: Floats) -> bool:
    """Whether a Jacobian (k, n) does not fit what a function does over a small step (n,): it changes by (k,), of which
    `noise` (k,) may be rounding.
    """
    if not np.isfinite(matrix).all():
        return True
    size = np.maximum(np.abs(matrix) @ np.abs(step), np.abs(change))
    # Changes that are no number contradict nothing.
    return bool(np.any(np.abs(matrix @ step - change) > _CONTRADICTION * size + noise))


_GOLDEN = 0.6180339887498949
_CONTRADICTION = 0.1
"""Relative: far more than curvature makes of such a step, and less than what makes a Jacobian useless."""


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
