"""Factors of random designs that depend on each other, by rank correlation (Spearman's rho)."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from ssptool.studies.sources import Floats

Correlations: TypeAlias = tuple[tuple[str, str, float], ...]
"""Two factors and their rank correlation; all others are independent."""

_SMALLEST_EIGENVALUE = 1e-8


def normal_correlation(names: Sequence[str], correlations: Correlations) -> Floats:
    """The correlations (p, p) of normal variables that have these rank correlations: r = 2 sin(π ρ / 6).

    Raises
    ------
    ValueError
        No variables can be correlated like that: the matrix has an eigenvalue that is not positive.

    References
    ----------
    Pearson 1907; Kruskal 1958, "Ordinal measures of association", eq. 6.2.
    """
    matrix = np.eye(len(names))
    for one, other, rank in correlations:
        i, j = names.index(one), names.index(other)
        matrix[i, j] = matrix[j, i] = 2 * np.sin(np.pi * rank / 6)
    lowest = float(np.linalg.eigvalsh(matrix)[0])
    if lowest < _SMALLEST_EIGENVALUE:
        raise ValueError(
            f"no factors can be correlated like that: the correlation matrix has the eigenvalue {lowest:.3g}, all must "
            "be positive; make the correlations weaker"
        )
    return matrix


def iman_conover(u: Floats, names: Sequence[str], correlations: Correlations, random: np.random.Generator) -> Floats:
    """The values of each column of `u` (n, p) in another order, which has these rank correlations approximately.

    References
    ----------
    Iman and Conover 1982, "A distribution-free approach to inducing rank correlation among input variables".
    """
    from scipy import stats

    wanted = np.linalg.cholesky(normal_correlation(names, correlations))
    count = len(u)
    scores = stats.norm.ppf(np.arange(1, count + 1) / (count + 1))
    start = np.column_stack([random.permutation(scores) for _ in names])
    # What correlation the shuffled scores have by chance is taken out.
    have = np.linalg.cholesky(np.corrcoef(start, rowvar=False))
    ranked = start @ np.linalg.solve(have, np.eye(len(names))).T @ wanted.T
    order = np.argsort(np.argsort(ranked, axis=0), axis=0)
    return np.take_along_axis(np.sort(u, axis=0), order, axis=0)


def copula(u: Floats, names: Sequence[str], correlations: Correlations) -> Floats:
    """Points of the unit cube (n, p) as those of a Gaussian copula with these rank correlations."""
    from scipy import stats

    factor = np.linalg.cholesky(normal_correlation(names, correlations))
    return np.asarray(stats.norm.cdf(stats.norm.ppf(np.clip(u, 1e-15, 1 - 1e-15)) @ factor.T))
