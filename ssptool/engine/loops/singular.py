"""Whether a loop's equations determine its unknowns."""

import numpy as np

from ssptool.engine.loops.solution import Floats

_ROUNDS = 3  # of equilibration; the sizes of rows and columns settle after two or three


def null_direction(jacobian: Floats, precision: float) -> Floats | None:
    """A direction (m,) of largest element 1 along which g(x) − x does not change; None if there is none.

    Parameters
    ----------
    jacobian : (m, m)
        dg/dx.
    precision
        Of its elements. What cannot be told from a singular matrix, given that, counts as one. Units of the signals
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
