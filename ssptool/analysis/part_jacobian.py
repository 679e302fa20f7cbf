"""Partial derivatives of one component at a point: by directional derivatives of its FMU, or by differences."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ssptool.analysis.probing import ProbedPart
from ssptool.engine.failure import RunError
from ssptool.engine.kernel.calls import Floats
from ssptool.fmu.instance import FmiError

DIRECTIONAL, DIFFERENCES = "directional derivatives", "differences"

STEPS = (6e-6, 2e-4, 6e-3)
"""Relative steps of central differences: the smallest is ε^⅓, which balances truncation and rounding of a smooth
function; greater ones serve where a function is noise over the smallest, or linear. The best is found by its error.
"""

TRUSTED = 1e-4
"""Relative disagreement with differences, beside the error of these, above which directional derivatives are wrong."""

KINK = 0.01
"""Relative difference of the slopes to both sides from which on a derivative counts as not unique."""

EPSILON = 2.0**-52


class PartJacobian(NamedTuple):
    """∂[x', y]/∂[x, u] of a component.

    Attributes
    ----------
    matrix : (n + p, n + m)
    error : (n + p, n + m)
        Estimated errors of its elements.
    way
    notes
    """

    matrix: Floats
    error: Floats
    way: str
    notes: tuple[str, ...] = ()


def part_jacobian(part: ProbedPart) -> PartJacobian:
    """Partial derivatives at the point of the probe. Raises RunError, FmiError."""
    if not part.has_derivatives:
        return _by_differences(part)
    part.evaluate(part.point)
    try:
        stated = part.derivatives()
    except FmiError as error:
        found = _by_differences(part)
        return found._replace(
            notes=(*found.notes, f"{part.name}: differences replace directional derivatives: {error}")
        )
    if not np.isfinite(stated).all():
        found = _by_differences(part)
        return found._replace(notes=(*found.notes, f"{part.name}: directional derivatives are not finite numbers"))
    difference, own = _disagreement(part, stated)
    if difference <= TRUSTED + own:
        return PartJacobian(stated, difference * np.abs(stated), DIRECTIONAL)
    found = _by_differences(part)
    said = f"{part.name}: its directional derivatives are wrong, differences replace them"
    return found._replace(notes=(*found.notes, said))


def _disagreement(part: ProbedPart, stated: Floats) -> tuple[float, float]:
    """Disagreement of derivatives with differences along one direction, relative to the sizes of what is added, and
    the relative error of the differences.
    """
    sizes = part.sizes
    if not sizes.size or not stated.size:
        return 0.0, 0.0
    along = np.where(np.arange(len(sizes)) % 2, -0.7, 1.0) * sizes
    predicted, scale = stated @ along, np.abs(stated) @ np.abs(along)
    scale = np.maximum(scale, EPSILON * np.abs(part.evaluate(part.point)) + np.finfo(float).tiny)
    best = (np.inf, 0.0)
    for step in STEPS:
        found = _central(part, along, step)
        if found is not None:
            error = float(np.max(np.abs(found.error) / scale))
            best = min(best, (error, float(np.max(np.abs(found.slope - predicted) / scale))))
    part.evaluate(part.point)
    return (best[1], best[0]) if np.isfinite(best[0]) else (0.0, 0.0)


class _Difference(NamedTuple):
    """Slope along a direction, its estimated error, and how far the slopes to both sides differ."""

    slope: Floats
    error: Floats
    bend: Floats


def _by_differences(part: ProbedPart) -> PartJacobian:
    point, sizes = part.point, part.sizes
    value = part.evaluate(point)
    matrix, error = np.zeros((len(value), len(point))), np.zeros((len(value), len(point)))
    notes: dict[str, None] = {}
    for column, size in enumerate(sizes.tolist()):
        along = np.zeros(len(point))
        along[column] = size
        tried = [found for found in (_central(part, along, step) for step in STEPS) if found is not None]
        if not tried:
            part.evaluate(point + STEPS[0] * along)  # to say why not
            part.evaluate(point - STEPS[0] * along)
        best = min(tried, key=lambda found: float(np.max(found.error, initial=0.0)))
        matrix[:, column], error[:, column] = best.slope / size, best.error / size
        if _bends(tried):
            notes[f"{part.name}: it has no unique derivative here: the slopes to both sides differ"] = None
    part.evaluate(point)
    return PartJacobian(matrix, error, DIFFERENCES, tuple(notes))


def _bends(tried: list[_Difference]) -> bool:
    """Whether the slopes to both sides differ over the smallest steps, too, where those of a smooth function agree."""
    if len(tried) < 2:
        return False
    return any(
        bend > KINK * max(abs(slope), error) and bend > 0.5 * coarse and bend > 4 * error
        for bend, slope, error, coarse in zip(
            tried[0].bend.tolist(),
            tried[0].slope.tolist(),
            tried[-1].error.tolist(),
            tried[1].bend.tolist(),
            strict=True,
        )
    )


def _central(part: ProbedPart, along: Floats, step: float) -> _Difference | None:
    """Central difference over a step, and the same over twice the step for its error; None: it cannot be evaluated."""
    try:
        near, far = (_sides(part, along, times * step) for times in (1, 2))
    except (RunError, FmiError):
        return None
    slope, double = ((above - below) / (2 * h) for above, below, h in ((*near, step), (*far, 2 * step)))
    size = np.maximum(*map(np.abs, near))
    middle = part.evaluate(part.point)
    bend = np.abs(near[0] - 2 * middle + near[1]) / step
    return _Difference(slope, np.abs(slope - double) + 2 * EPSILON * size / step, bend)


def _sides(part: ProbedPart, along: Floats, step: float) -> tuple[Floats, Floats]:
    return part.evaluate(part.point + step * along), part.evaluate(part.point - step * along)


def at_most(errors: Floats, matrix: Floats) -> Iterator[float]:
    """Per row, the largest error relative to the largest element."""
    for row, own in zip(errors, matrix, strict=True):
        if row.size and (largest := float(np.max(np.abs(own)))) > 0:
            yield float(np.max(row)) / largest
