"""Section of a report on an iteration that did not converge: connections with residuals, the loop, and the convergence
history.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from ssptool.drawing.charts.axes import Axis
from ssptool.drawing.charts.convergence import IterationCurve, ResidualHistory
from ssptool.drawing.diagram.loop import LoopArrow, loop_svg
from ssptool.drawing.page_picture import page_picture
from ssptool.engine.failure import MOST_CONNECTIONS, MOST_POINTS
from ssptool.errors import counted
from ssptool.fmu.units import with_unit
from ssptool.results.report.content import ReportPicture, ReportTable

_MEANINGS = {
    "nominal value": "the nominal value of its signal",
    "size": "the value of its signal, or the nominal value where that is larger",
}


@dataclass(frozen=True, slots=True)
class FailedIterationContent:
    """Tables and pictures of an iteration that did not converge."""

    summary: ReportTable
    connections: ReportTable
    notes: Sequence[str]
    pictures: Sequence[ReportPicture]


def failed_iteration_content(iteration: Mapping[str, Any] | None) -> FailedIterationContent | None:
    """Content for the `iteration` in the failure of a manifest; None if there is none.

    Raises
    ------
    MissingPackage
        Matplotlib is not installed.
    """
    if iteration is None:
        return None
    connections = iteration["connections"][:MOST_CONNECTIONS]
    rows = [list(_row(one)) for one in connections]
    headings = ("from", "to", "value", "residual", "allowed", "relative residual")
    return FailedIterationContent(
        summary=ReportTable("Iteration that did not converge", ("what", "value"), list(_summary(iteration))),
        connections=ReportTable("Connections of the loop", headings, rows, frozenset({2, 3, 4, 5})),
        notes=list(_notes(iteration, connections)),
        pictures=[*_loop(connections), *_curves(iteration)],
    )


def _summary(iteration: Mapping[str, Any]) -> Iterator[Sequence[str]]:
    yield "method", iteration["method"]
    yield "iterations", str(iteration["iterations"])
    yield "relative residual", _number(iteration["residual"], ".3g") or "not finite"
    if iteration["allowed"] is not None:
        yield "allowed", _number(iteration["allowed"], ".3g")


def _row(connection: Mapping[str, Any]) -> Iterator[str]:
    unit = connection["unit"]
    yield connection["source"]
    yield connection["destination"]
    for name, form in (("value", ".6g"), ("residual", ".3g"), ("allowed", ".3g")):
        yield _quantity(connection[name], form, unit)
    yield _number(connection["relative"], ".3g")


def _notes(iteration: Mapping[str, Any], connections: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    over = _MEANINGS.get(iteration["relative_to"], iteration["relative_to"])
    yield (
        "Values are those of the best iterate. A residual is the value that comes out of the source of a connection, "
        f"less the value that went into its destination; the relative residual is its size over {over}."
    )
    if any(one["allowed"] is None and one["residual"] is None for one in connections):
        yield "Connections without a residual are not iterated: their values follow from the others."
    left_out = iteration["left_out"] + len(iteration["connections"]) - len(connections)
    if left_out:
        yield f"{counted(left_out, 'connection')} with smaller residuals {'is' if left_out == 1 else 'are'} left out."


def _loop(connections: Sequence[Mapping[str, Any]]) -> Iterator[ReportPicture]:
    if connections:
        title = "The loop at the best iterate: values, and below them what is left of the residuals"
        arrows = [_arrow(one, worst=place == 0) for place, one in enumerate(connections)]
        yield ReportPicture(title, loop_svg("the loop", arrows, "largest relative residual"), "loop")


def _arrow(connection: Mapping[str, Any], *, worst: bool) -> LoopArrow:
    source = _ends(connection["source"], connection["source_component"])
    destination = _ends(connection["destination"], connection["destination_component"])
    names = f"{source[1]} =" if source[1] == destination[1] else f"{source[1]} → {destination[1]}:"
    unit = connection["unit"]
    value, residual = _quantity(connection["value"], ".6g", unit), _quantity(connection["residual"], ".3g", unit)
    allowed = _quantity(connection["allowed"], ".3g", unit)
    limit = f" (allowed {allowed})" if allowed else ""
    left = f"residual {residual}{limit}" if residual else ""
    return LoopArrow(source, destination, f"{names} {value or 'not finite'}", left, worst and bool(residual))


def _ends(name: str, component: str) -> tuple[str, str]:
    return component, name.removeprefix(f"{component}.")


def _curves(iteration: Mapping[str, Any]) -> Iterator[ReportPicture]:
    curves = [IterationCurve(one["method"], *_points(one)) for one in iteration["curves"][:MOST_CONNECTIONS]]
    curves = [one for one in curves if np.any(one.residuals > 0.0)]
    if not curves:
        return
    best = iteration["residual"]
    history = ResidualHistory(Axis("relative residual"), tuple(curves), _float(best) if _is_finite(best) else None)
    title = "The largest relative residual in each iteration, and what is allowed"
    yield ReportPicture(title, page_picture(history.figure(), "residuals", title), "residuals")


def _points(curve: Mapping[str, Any]) -> tuple[np.ndarray, ...]:
    points = list(zip(curve["iterations"], curve["residuals"], curve["allowed"], strict=False))[:MOST_POINTS]
    numbers = np.array([list(map(_float, point)) for point in points], dtype=float).reshape(-1, 3)
    numbers = numbers[np.isfinite(numbers).all(axis=1)]
    return tuple(numbers.T)


def _quantity(value: float | None, form: str, unit: str) -> str:
    text = _number(value, form)
    return with_unit(text, unit) if text else ""


def _number(value: float | None, form: str) -> str:
    """Text of a number; "" for None, and for a number that is not finite."""
    return format(_float(value), form) if _is_finite(value) else ""


def _is_finite(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(_float(value))


def _float(value: float) -> float:
    """A number from JSON, whose integers have no limit."""
    try:
        return float(value)
    except OverflowError:
        return float("inf")
