"""Curves with fewer points that look the same."""

from dataclasses import replace

import numpy as np

from ssptool.drawing.curves import Curve

MOST_POINTS = 4000
"""Of a curve in a page: more than a screen has columns."""


def thinned(curve: Curve, most: int = MOST_POINTS) -> Curve:
    """A curve of at most about `most` points with the smallest and the largest of each stretch, and both ends."""
    n = len(curve.t)
    if n <= most:
        return curve
    bounds = np.linspace(0, n, most // 2 + 1).astype(int)[:-1]
    lows, highs = np.minimum.reduceat(curve.y, bounds), np.maximum.reduceat(curve.y, bounds)
    stretch = np.searchsorted(bounds, np.arange(n), side="right") - 1
    extreme = (curve.y == lows[stretch]) | (curve.y == highs[stretch]) | np.isnan(curve.y)
    # Of equal values in a stretch the first will do.
    keep = np.unique(np.stack([stretch[extreme], curve.y[extreme]]), axis=1, return_index=True)[1]
    chosen = np.union1d(np.flatnonzero(extreme)[keep], [0, n - 1])
    return replace(curve, t=curve.t[chosen], y=curve.y[chosen])
