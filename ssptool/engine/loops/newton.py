"""Newton's method with line search for F(x) = g(x) − x = 0, and the Jacobians dg/dx that it uses."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.loops.solution import (
    Convergence,
    Domain,
    Floats,
    Function,
    Solution,
    Status,
    Watch,
    scaled_norm,
    unwatched,
)


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
                # The step after rounding, not the intended one.
                step = moved[column] - x[column]
                jacobian[:, column] = np.where(pattern[:, column], change / step, 0.0)
        return jacobian


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
    size = np.maximum(np.abs(matrix) @ np.abs(step), np.abs(change))
    # Changes that are not finite contradict nothing.
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


_ROUNDS = 3  # of equilibration; the sizes of rows and columns settle after two or three


def null_direction(jacobian: Floats, precision: float) -> Floats | None:
    """A direction (m,) of largest element 1 along which g(x) − x does not change; None if there is none.

    Parameters
    ----------
    jacobian : (m, m)
        dg/dx.
    precision
        Relative precision of its elements; a matrix that is singular within it counts as singular. Units of the signals
        do not matter: rows and columns are brought to the same size first.
    """
    if not len(jacobian):
        return None
    unit = np.eye(len(jacobian))
    rows, columns = _equilibration(np.abs(jacobian) + unit)
    _, sizes, right = np.linalg.svd(rows[:, None] * (jacobian - unit) * columns)
    if sizes[-1] > precision * (1.0 + sizes[0]):
        return None
    direction = columns * right[-1]
    return np.asarray(direction / direction[np.argmax(np.abs(direction))])


def _equilibration(sizes: Floats) -> tuple[Floats, Floats]:
    """Factors of rows and of columns that make the largest element of each about 1."""
    rows, columns = np.ones(len(sizes)), np.ones(len(sizes))
    for _ in range(_ROUNDS):
        rows = 1.0 / np.max(sizes * columns, axis=1)
        columns = 1.0 / np.max(sizes * rows[:, None], axis=0)
    return rows, columns


@dataclass(frozen=True, slots=True)
class Newton:
    """Solve (dg/dx − 1) p = x − g(x), go to x + α p with the largest α = 1, ½, ¼ … that reduces the residual.

    Unknowns and residuals are scaled by nominal values; points are kept between min and max; a point at which
    g cannot be evaluated counts as one that does not reduce the residual.

    Converged also when the Newton step itself is within the tolerance and reduces the residual no further: with a
    large gain the residual of the best floating-point number may be far above it, although that number is as close to
    the solution as can be.

    References
    ----------
    Dennis and Schnabel 1996, "Numerical Methods for Unconstrained Optimization and Nonlinear Equations",
    §6.3.
    """

    jacobian: LoopJacobian = field(default_factory=FiniteDifferences)
    convergence: Convergence = field(default_factory=Convergence)
    max_iterations: int = 50
    max_halvings: int = 30
    sufficient_decrease: float = 1e-4

    @property
    def name(self) -> str:
        return f"Newton ({self.jacobian.name})"

    def solve(self, g: Function, x0: Floats, domain: Domain | None = None, watch: Watch = unwatched) -> Solution:
        domain = domain or Domain.of_size(len(x0))
        x = domain.clip(np.array(x0, dtype=float))
        residual = g(x) - x
        history = [scaled_norm(residual, domain.nominal)]
        watch(self.name, 1, x, residual)
        status = self._judge(x, residual, domain)
        tiny = False
        while status is None and len(history) < self.max_iterations:
            step = self._step(g, x, residual, domain)
            if step is None:
                status = Status.SINGULAR
                break
            tiny = self.convergence.reached(step, x, domain.nominal)
            moved = self._search(g, x, residual, step, domain)
            if moved is None:
                g(x)  # leave the components at the best point
                status = Status.CONVERGED if tiny else Status.STALLED
                break
            x, residual = moved
            history.append(scaled_norm(residual, domain.nominal))
            watch(self.name, len(history), x, residual)
            status = self._judge(x, residual, domain)
        norm = scaled_norm(residual, domain.nominal)
        final = status or (Status.CONVERGED if tiny else Status.MAX_ITERATIONS)
        return Solution(x, final, len(history), norm, residual, tuple(history), self.name)

    def _judge(self, x: Floats, residual: Floats, domain: Domain) -> Status | None:
        if not np.all(np.isfinite(residual)):
            return Status.NONFINITE
        return Status.CONVERGED if self.convergence.reached(residual, x, domain.nominal) else None

    def _step(self, g: Function, x: Floats, residual: Floats, domain: Domain) -> Floats | None:
        """The full Newton step, in the units of the signals; None where the Jacobian is singular or not
        finite.
        """
        jacobian = self.jacobian.at(g, x, residual + x, domain)
        if not np.all(np.isfinite(jacobian)) or null_direction(jacobian, self.jacobian.precision) is not None:
            return None
        scaled = jacobian * domain.nominal / domain.nominal[:, None] - np.eye(len(x))
        return np.asarray(np.linalg.solve(scaled, -residual / domain.nominal) * domain.nominal)

    def _search(
        self, g: Function, x: Floats, residual: Floats, step: Floats, domain: Domain
    ) -> tuple[Floats, Floats] | None:
        """The first point along the step with a residual sufficiently smaller, and that residual."""
        size = float(np.linalg.norm(residual / domain.nominal))
        alpha = 1.0
        for _ in range(self.max_halvings):
            trial = domain.clip(x + alpha * step)
            if np.array_equal(trial, x):
                return None
            found = g(trial) - trial
            if np.linalg.norm(found / domain.nominal) <= (1 - self.sufficient_decrease * alpha) * size:
                return trial, found
            alpha /= 2
        return None
