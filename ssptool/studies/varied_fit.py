"""Least squares with derivatives from the variational equations, and few runs.

The equations give residuals and their Jacobian at any point, by one integration. Only where these are fitted is a run
carried out; the difference of its residuals, which is the error of its coupling, is added to all later ones, until a
further run would not move the solution. The residuals of the solution are those of its run, and their product with the
Jacobian is 0.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from ssptool.engine.trace import Floats
from ssptool.studies.definition import SidePoints
from ssptool.studies.designs import FactorValue

SAME = 1e-3
"""Largest move of the solution by the error of the coupling, relative to the ranges: with a larger one, the Jacobian of
the runs is another one.
"""

MOVED = 1e-7
"""Move of the solution that needs no further run, relative to the ranges."""

MOST_RUNS = 6

ROUGH, FINE = 1e-4, 1e-9
"""Tolerances of least squares, before the first run and after it."""

Varied: TypeAlias = Callable[[Floats], tuple[Floats, Floats]]
"""Function: point (p,) → residuals (n,) and their Jacobian (n, p). Raises NoVariation."""


DIFFERENCE = 1e-4
"""Distance of the points next to a point, relative to the widths of the ranges: well above the tolerance of iterations
in a simulation. The error of differences is proportional to its square.
"""


class NoVariation(Exception):
    """There are no variational equations, or they do not give the solution; the message contains the reason."""


def sides_of(u: Floats, point: Callable[[Floats], Mapping[str, FactorValue]]) -> tuple[SidePoints, ...]:
    """The points next to a point u (n,) of the unit cube, two for each coordinate; `point` gives their values."""
    ups, downs, unit = np.minimum(DIFFERENCE, 1.0 - u), np.minimum(DIFFERENCE, u), np.eye(len(u))
    return tuple(
        SidePoints(float(up), float(down), point(u + up * unit[k]), point(u - down * unit[k]))
        for k, (up, down) in enumerate(zip(ups, downs, strict=True))
    )


class VariedFit:
    """A fit by the variational equations.

    Parameters
    ----------
    varied
    at
        Function: point → residuals of a run.
    solved
        Function: residuals, start, Jacobian, tolerance → solution of least squares.

    Attributes
    ----------
    note
        The origin of the Jacobian.
    avoided
        Reasons of points without residuals.
    """

    def __init__(
        self,
        varied: Varied,
        at: Callable[[Floats], Floats],
        solved: Callable[[Callable[[Floats], Floats], Floats, Callable[[Floats], Floats], float], Any],
    ) -> None:
        self._varied, self._at, self._solved = varied, at, solved
        self._seen: dict[bytes, tuple[Floats, Floats]] = {}
        self.note = ""
        self.avoided: list[str] = []

    def solution(self, start: Floats) -> Any:
        """The solution of least squares. Raises NoVariation, and the errors of runs."""
        error = np.zeros_like(self._known(start)[0])
        u = start
        for tolerance in (ROUGH, *[FINE] * (MOST_RUNS - 1)):

            def corrected(u: Floats, error: Floats = error) -> Floats:
                return self._known(u, error)[0] + error

            found = self._solved(corrected, u, self._jacobian, tolerance)
            u, without, jacobian = found.x, *self._known(found.x)
            run = self._at(u)
            if not np.isfinite(run).all():
                raise NoVariation("a run failed where the variational equations have their solution")
            move = _move(found, jacobian, run - without - error)
            error = run - without
            if (shift := _move(found, jacobian, error)) > SAME:
                raise NoVariation(f"the error of the coupling moves the estimates by {shift:.1g} of their ranges")
            if move <= MOVED and tolerance == FINE:
                found.fun, found.jac = run, jacobian
                self.note = f"the Jacobian comes from the variational equations ({len(self._seen)} integrations)"
                return found
        raise NoVariation(f"the estimates still move after {MOST_RUNS} runs")

    def _jacobian(self, u: Floats) -> Floats:
        return self._known(u)[1]

    def _known(self, u: Floats, instead: Floats | None = None) -> tuple[Floats, Floats]:
        """Residuals and Jacobian at a point. Where there are none, residuals of nan if there is something `instead`:
        least squares shortens its step then.
        """
        key = u.tobytes()
        if key not in self._seen:
            try:
                self._seen[key] = self._varied(u)
            except NoVariation as reason:
                if instead is None or not len(self._seen):
                    raise
                self.avoided.append(str(reason))
                return np.full_like(instead, np.nan), np.empty((0, 0))
        return self._seen[key]


def _move(found: Any, jacobian: Floats, change: Floats) -> float:
    """Move of the solution by a change of the residuals, relative to the ranges; estimates at bounds stay there."""
    free = np.flatnonzero(found.active_mask == 0)
    steps = np.linalg.lstsq(jacobian[:, free], change, rcond=None)[0]
    return float(np.abs(steps).max(initial=0.0))
