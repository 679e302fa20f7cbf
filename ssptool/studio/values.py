"""Tables of values: the parameters of all components, with units, ranges and origins."""

import math
from collections.abc import Iterator
from typing import Any

from ssptool.drawing.text import explanations_text, origin_text, quantity
from ssptool.fmu.description import Variable
from ssptool.network.explanation import Explanation, Origin
from ssptool.network.network import Signal
from ssptool.studio.model import SystemModel

SETTABLE = ("parameter", "structuralParameter")


def parameter_rows(model: SystemModel) -> Iterator[dict[str, Any]]:
    """Parameters, and other variables that a parameter set gives a value."""
    for one in model.explained:
        if not isinstance(one, Explanation) or one.origin is Origin.MISSING:
            continue
        if one.kind in SETTABLE or one.origin is Origin.ASSIGNMENT:
            variable = _variable(model, one.signal)
            yield {
                "name": str(one.signal),
                "component": one.signal.component,
                "value": "" if one.value is None else one.item or quantity(one.value, None),
                "unit": one.unit or "",
                "type": one.type,
                "range": "" if variable is None else _range(variable),
                "items": [] if variable is None else list(variable.items),
                "origin": origin_text(one),
                "set": one.origin is Origin.ASSIGNMENT,
                "connected": one.origin is Origin.CONNECTION,
                "description": one.description,
                "text": explanations_text([one]),
            }


def _variable(model: SystemModel, signal: Signal) -> Variable | None:
    component = None if model.network is None else model.network.components.get(signal.component)
    return None if component is None else component.description.variables.get(signal.variable)


def _range(variable: Variable) -> str:
    low, high = variable.minimum, variable.maximum
    if math.isinf(low) and math.isinf(high):
        return ""
    return f"{'' if math.isinf(low) else f'{low:g}'} … {'' if math.isinf(high) else f'{high:g}'}".strip()
