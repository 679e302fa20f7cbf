"""Linear mechanical systems solved by the matrix exponential."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm


def states(matrix: NDArray[np.float64], start: NDArray[np.float64], t: NDArray[np.float64]) -> NDArray[np.float64]:
    """The solution (n, states) of x' = matrix x, x(0) = start at any times t (n,) [s]."""
    rows = [expm(matrix * t[0]) @ start]
    steps, which = np.unique(np.diff(t).round(12), return_inverse=True)
    propagators = [expm(matrix * step) for step in steps]
    for index in which:
        rows.append(propagators[index] @ rows[-1])
    return np.array(rows)
