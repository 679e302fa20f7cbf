"""Sensitivities as text and JSON."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from ssptool.analysis.linear_text import table
from ssptool.analysis.sensitivity import Sensitivities
from ssptool.errors import counted
from ssptool.fmu.units import with_unit
from ssptool.foreign_text import joined_lines, json_text
from ssptool.printed import prints


@prints(Sensitivities)
def sensitivities_text(found: Sensitivities) -> str:
    """Derivative of each output to each parameter: at the end, the largest one with its time, and the error."""
    span = f"{found.t[0]:.12g} … {found.t[-1]:.12g} s"
    lines = [
        f"sensitivities of {found.system} over {span}, by {found.way} ({counted(found.runs, 'run')})",
        *(f"note: {note}" for note in found.notes),
        *(f"parameter {one.name} = {with_unit(f'{one.value:.9g}', one.unit)}" for one in found.parameters),
        "",
    ]
    rows = [("output", "parameter", "unit", "at the end", "largest", "at [s]", "error")]
    for i, output in enumerate(found.outputs):
        for j, parameter in enumerate(found.parameters):
            over_time = found.derivatives[:, i, j]
            place = int(np.argmax(np.abs(over_time)))
            unit = f"({output.unit or '1'})/({parameter.unit or '1'})"
            numbers = f"{over_time[-1]:.6g}", f"{over_time[place]:.6g}", f"{found.t[place]:.6g}"
            rows.append((output.name, parameter.name, unit, *numbers, f"{found.errors[i, j]:.1g}"))
    return joined_lines([*lines, *table(rows)])


SENSITIVITY_RENDERERS: Mapping[str, Callable[[Sensitivities], str]] = MappingProxyType(
    {"text": sensitivities_text, "json": lambda found: json_text(found.to_dict(), indent=2)}
)
"""Formats of sensitivities."""
