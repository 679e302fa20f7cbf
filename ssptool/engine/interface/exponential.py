"""The exponential of a small matrix."""

import math

import numpy as np

from ssptool.engine.kernel.interface import Floats


def exponential(a: Floats) -> Floats:
    """exp(a) (n, n), by scaling and squaring of the Padé approximant [3/3].

    Its argument is at most 1/8 then, so that exp(a + e) is found with ‖e‖ about 4e-11 ‖a‖.

    `scipy.linalg.expm` is exact to rounding, and on small matrices a hundred times slower: it takes a tenth of a second
    to load and hands each product to threads that wait for each other.

    References
    ----------
    Moler, Van Loan 2003, "Nineteen dubious ways to compute the exponential of a matrix, twenty-five years later", §3.
    """
    size = float(np.abs(a).sum(axis=0).max(initial=0.0))
    if not math.isfinite(size):
        return np.full_like(a, np.nan)
    squarings = max(0, math.ceil(math.log2(size)) + 3) if size > 0 else 0
    a = a / 2.0**squarings
    square = a @ a
    even = np.eye(len(a)) + square / 10
    odd = a @ (np.eye(len(a)) / 2 + square / 120)
    result = np.linalg.solve(even - odd, even + odd)
    for _ in range(squarings):
        result = result @ result
    return np.asarray(result)
