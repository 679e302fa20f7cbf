"""Tables of values: the parameters of all components, with units, ranges and origins."""

from collections.abc import Iterator
from typing import Any

from ssptool.drawing.text import explanations_text
from ssptool.fmu.description import Variable
from ssptool.network.explanation import Origin, origin_text, quantity
from ssptool.network.network import Signal
from ssptool.network.parameter_table import parameters_of, range_text
from ssptool.studio.model import SystemModel


def parameter_rows(model: SystemModel) -> Iterator[dict[str, Any]]:
    """Parameters, and other variables with a value in a parameter set."""
    for one in parameters_of(model.explained):
        variable = _variable(model, one.signal)
        yield {
            "name": str(one.signal),
            "component": one.signal.component,
            "value": "" if one.value is None else one.item or quantity(one.value, None),
            "unit": one.unit or "",
            "type": one.type,
            "range": "" if variable is None else range_text((variable.minimum, variable.maximum)),
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
