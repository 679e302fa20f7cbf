"""What of a drawing is taken: areas and lines that a label must not cover."""

from collections.abc import Hashable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ssptool.drawing.sheets.sheet import Point
from ssptool.drawing.sheets.stated import Extent

Floats = NDArray[np.float64]


class Occupied:
    """Upright boxes and straight lines, as rows of growing arrays. An owner may ask without its own areas."""

    def __init__(self) -> None:
        self._areas = _Rows()
        self._lines = _Rows()
        self._owned: dict[Hashable, list[int]] = {}

    def area(self, extent: Extent, owner: Hashable = None) -> None:
        if owner is not None:
            self._owned.setdefault(owner, []).append(len(self._areas))
        self._areas.add(extent.x1, extent.y1, extent.x2, extent.y2)

    def line(self, points: Sequence[Point]) -> None:
        for (x1, y1), (x2, y2) in pairwise(points):
            self._lines.add(x1, y1, x2, y2)

    def outline(self, extent: Extent) -> None:
        a, b, c, d = extent.x1, extent.y1, extent.x2, extent.y2
        self.line([Point(a, b), Point(c, b), Point(c, d), Point(a, d), Point(a, b)])

    def free(self, extent: Extent, owner: Hashable = None) -> bool:
        return not self._covered(extent, owner).any() and not self._crossed(extent).any()

    def hidden(self, extent: Extent) -> int:
        """How many things a label would cover."""
        return int(self._covered(extent, None).sum() + self._crossed(extent).sum())

    def _covered(self, extent: Extent, owner: Hashable) -> NDArray[np.bool_]:
        x1, y1, x2, y2 = self._areas.columns
        found: NDArray[np.bool_] = (x1 < extent.x2) & (extent.x1 < x2) & (y1 < extent.y2) & (extent.y1 < y2)
        if owner is not None:
            found[self._owned.get(owner, [])] = False
        return found

    def _crossed(self, extent: Extent) -> NDArray[np.bool_]:
        """Whether some axis parts box and line: across, up, or square to the line."""
        x1, y1, x2, y2 = self._lines.columns
        (cx, cy), w, h = extent.centre, extent.width / 2, extent.height / 2
        dx, dy = (x2 - x1) / 2, (y2 - y1) / 2
        mx, my = (x1 + x2) / 2 - cx, (y1 + y2) / 2 - cy
        near = (np.abs(mx) < w + np.abs(dx)) & (np.abs(my) < h + np.abs(dy))
        found: NDArray[np.bool_] = near & (np.abs(dx * my - dy * mx) <= w * np.abs(dy) + h * np.abs(dx))
        return found


class _Rows:
    """(n, 4), doubled when it is full."""

    def __init__(self) -> None:
        self._rows: Floats = np.empty((64, 4))
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, *row: float) -> None:
        if self._count == len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        self._rows[self._count] = row
        self._count += 1

    @property
    def columns(self) -> Floats:
        return self._rows[: self._count].T
