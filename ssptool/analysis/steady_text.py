"""Steady states as text and JSON."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from ssptool.analysis.linear_model import LinearVariable
from ssptool.analysis.linear_text import table
from ssptool.analysis.steady_state import SteadyState
from ssptool.errors import counted
from ssptool.fmu.units import with_unit
from ssptool.foreign_text import joined_lines, json_text
from ssptool.printed import prints


@prints(SteadyState)
def steady_text(point: SteadyState) -> str:
    """States, free inputs and targets, what is left of the equations, and the start values."""
    sizes = [counted(len(point.states), "state"), counted(len(point.inputs), "free input")]
    found = "steady state" if point.found else "no steady state found"
    lines = [f"{found} of {point.system} at t = {point.time:.12g} s: {', '.join(sizes)}"]
    lines += [f"note: {note}" for note in point.notes]
    lines += ["", *_values("state", point.states, point), *_values("input", point.inputs, point)]
    if point.outputs:
        lines += ["", *table([("output", "value"), *((one.name, _value(one)) for one in point.outputs)])]
    lines += ["", f"largest residual: {max(map(abs, point.residuals.values()), default=0.0):.1g}"]
    if point.found and point.states and point.model is not None:
        lines.append(point.model.stability)
    if point.start_values is not None:
        stated = (f"{name} = {value:.12g}" for name, value in point.start_values.items())
        lines.append(f"start values: {', '.join(stated) or 'those that the system has'}")
    return joined_lines(lines)


def _values(kind: str, variables: Iterable[LinearVariable], point: SteadyState) -> list[str]:
    rows = [(one.name, _value(one), point.kinds.get(one.name, "")) for one in variables]
    return table([(kind, "value", ""), *rows]) if rows else []


def _value(one: LinearVariable) -> str:
    return with_unit(f"{one.value:.9g}", one.unit)


def steady_json(point: SteadyState) -> str:
    """Everything except the linear model, as JSON."""
    return json_text(point.to_dict(), indent=2)


STEADY_RENDERERS: Mapping[str, Callable[[SteadyState], str]] = MappingProxyType(
    {"text": steady_text, "json": steady_json}
)
"""Formats of a steady state."""
