"""Small dense linear algebra in a fixed order of operations.

Equal numbers give equal bits on every computer and in the kernel's core, which products and factorizations of numpy
do not: they depend on how its BLAS was built. All matrices here are those of a few tens of unknowns.
"""

import math
from collections.abc import Iterable

import numpy as np

from ssptool.engine.kernel.calls import Floats

_ROUNDS = 3  # of equilibration; the sizes of rows and columns settle after two or three
_LARGEST_EXPONENT = 500  # so that no product with two factors overflows


def dot(a: Floats, b: Floats) -> float:
    """Σ a b of two vectors (n,), one product after the other."""
    # Running sums are made in order, other sums of numpy are not; 0.0 as the first leaves no zero with a sign.
    return 0.0 + float(np.add.accumulate(a * b)[-1]) if len(a) else 0.0


def norm(a: Floats) -> float:
    """Euclidean norm of a vector (n,)."""
    return math.sqrt(dot(a, a))


def times(matrix: Floats, vector: Floats) -> Floats:
    """Product of a matrix (m, n) and a vector (n,): each element is the `dot` of a row."""
    result = np.zeros(len(matrix))
    for column, factor in zip(matrix.T, vector, strict=True):
        result += column * factor
    return result


class FullPivotLu:
    """P A Q = L U of a matrix (m, m) or (m, m + 1), with the largest element left as the pivot.

    Of equal ones it is the first, row by row. `rank` counts pivots up to the first that is zero.

    References
    ----------
    Golub and Van Loan 2013, "Matrix Computations", 4th ed., §3.4.8.
    """

    def __init__(self, matrix: Floats) -> None:
        self._lu = np.array(matrix, dtype=float)
        self._rows, self._columns = np.arange(self._lu.shape[0]), np.arange(self._lu.shape[1])
        self.rank = 0
        while self.rank < len(self._lu):
            self._exchange(self.rank)
            if not abs(self._lu[self.rank, self.rank]) > 0.0:
                break
            self._eliminate(self.rank)
            self.rank += 1

    def _exchange(self, k: int) -> None:
        """Put the largest element of those from row and column k on into their place (k, k)."""
        sizes = np.abs(self._lu[k:, k:])
        sizes[np.isnan(sizes)] = -1.0
        row, column = divmod(int(np.argmax(sizes)), sizes.shape[1])
        rows, columns = np.array([k, k + row]), np.array([k, k + column])
        self._lu[rows] = self._lu[rows[::-1]]
        self._lu[:, columns] = self._lu[:, columns[::-1]]
        self._rows[rows] = self._rows[rows[::-1]]
        self._columns[columns] = self._columns[columns[::-1]]

    @np.errstate(over="ignore", invalid="ignore")
    def _eliminate(self, k: int) -> None:
        lu = self._lu
        lu[k + 1 :, k] /= lu[k, k]
        lu[k + 1 :, k + 1 :] -= lu[k + 1 :, k, None] * lu[k, k + 1 :]

    @property
    def smallest_pivot(self) -> float:
        """Size of the smallest pivot; inf of an empty matrix."""
        return 0.0 if self.rank < len(self._lu) else min(self._pivots, default=math.inf)

    @property
    def last_pivot(self) -> float:
        """Size of the last pivot: |A z| of the `null_vector` z of a matrix (m, m)."""
        return self._pivots[-1] if self._pivots and self.rank == len(self._lu) else 0.0

    @property
    def _pivots(self) -> list[float]:
        return [abs(pivot) for pivot in self._lu.diagonal().tolist()[: self.rank]]

    def solve(self, right: Floats) -> Floats:
        """A⁻¹ right (m,) of a matrix (m, m) without a pivot of zero."""
        lu, y = self._lu, right[self._rows]
        with np.errstate(over="ignore", invalid="ignore"):
            for k in range(len(lu)):
                y[k + 1 :] -= lu[k + 1 :, k] * y[k]
            self._substitute_back(y)
        x = np.empty_like(y)
        x[self._columns] = y
        return x

    def _substitute_back(self, y: Floats) -> None:
        for k in reversed(range(len(y))):
            y[k] /= self._lu[k, k]
            y[:k] -= self._lu[:k, k] * y[k]

    def null_vector(self) -> Floats:
        """z with A z = 0 but for the last pivot, which counts as zero: |A z| is its size. One element of z is 1."""
        free = min(self.rank, self._lu.shape[1] - 1)
        y, z = -self._lu[:free, free], np.zeros(self._lu.shape[1])
        with np.errstate(over="ignore", invalid="ignore"):
            self._substitute_back(y)
        z[self._columns[:free]] = y
        z[self._columns[free]] = 1.0
        return z


def equilibration(sizes: Floats) -> tuple[Floats, Floats]:
    """Powers of two (m,) and (n,) by which rows and columns of a matrix (m, n) have a largest element of about 1.

    No rounding comes from them.
    """
    rows, columns = np.ones(sizes.shape[0]), np.ones(sizes.shape[1])
    sizes = np.abs(sizes)
    with np.errstate(over="ignore"):
        for _ in range(_ROUNDS):
            rows = _reciprocal_powers(np.max(sizes * columns, axis=1, initial=0.0))
            columns = _reciprocal_powers(np.max(sizes * rows[:, None], axis=0, initial=0.0))
    return rows, columns


def _reciprocal_powers(sizes: Floats) -> Floats:
    exponents = np.clip(np.frexp(np.where(np.isfinite(sizes), sizes, 0.0))[1], -_LARGEST_EXPONENT, _LARGEST_EXPONENT)
    return np.asarray(np.ldexp(1.0, -exponents))


def correction(columns: Iterable[tuple[Floats, Floats]], residual: Floats, limit: float) -> Floats:
    """W α (m,) for the α with least ‖V α + residual‖, by modified Gram–Schmidt with a filter on the way.

    Each W column undergoes the same elimination as its V column, so that no triangular system is left to solve.

    Parameters
    ----------
    columns
        Of each column what V has and what W has, both (m,).
    residual : (m,)
    limit
        A column of V of which no more than this, relative, is independent of those before it is left out.
    """
    basis: list[Floats] = []
    answers: list[Floats] = []
    total, left = np.zeros_like(residual), residual
    for change, answer in columns:
        size = norm(change)
        for q, w in zip(basis, answers, strict=True):
            share = dot(q, change)
            change, answer = change - share * q, answer - share * w
        rest = norm(change)
        if rest <= limit * size:
            continue
        basis.append(change / rest)
        answers.append(answer / rest)
        share = dot(basis[-1], left)
        total, left = total - share * answers[-1], left - share * basis[-1]
        if len(basis) == len(residual):
            break
    return total
