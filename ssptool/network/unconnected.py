"""Inputs that nothing drives, the values that they keep, and the outputs that would fit them."""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from ssptool.fmu.description import Value
from ssptool.network.arrays import whole
from ssptool.network.network import IDENTITY, Network, Port, Signal

NAMED = 4
"""Inputs that a note names; it counts the others."""


class UndrivenInput(NamedTuple):
    """An input that keeps its start value.

    Attributes
    ----------
    signal
        The connector to connect: of a component, or of the nested system through which the component would get a value.
    value, unit
        The start value that the system or the FMU gives; None: there is none.
    fitting
        An output beside it with the same type and unit: the one of the same name, or else the only one.
    """

    signal: Signal
    value: Value | None
    unit: str | None
    fitting: Signal | None = None

    def __str__(self) -> str:
        if self.value is None:
            return f"{self.signal} (no start value)"
        return f"{self.signal} = {_text(self.value)}{f' {self.unit}' if self.unit else ''}"


def _text(value: Value) -> str:
    match value:
        case bool():
            return str(value).lower()
        case float():
            return f"{value:.15g}"
        case bytes():
            return value.hex().upper()
        case _:
            return repr(value)


def unconnected_inputs(network: Network, driven: Collection[Signal] = ()) -> tuple[UndrivenInput, ...]:
    """Inputs of components to which no connection leads, and that are not among those that are `driven` in a run."""
    inside = (wire.destination for wire in network.dangling if wire.source.component in network.components)
    fed = {*(wire.destination for wire in network.wires), *inside, *driven}
    entrances = {wire.destination: wire.source for wire in network.dangling}
    found: dict[Signal, UndrivenInput] = {}
    for component in network.components.values():
        for port in component.ports:
            if port.kind == "input" and port.type != "Clock" and port.signal not in fed:
                at = whole(entrances.get(port.signal, port.signal), network.arrays)
                one = UndrivenInput(at, _start(network, port.signal), port.unit, _fitting(network, port, at))
                found.setdefault(at, one)
    return tuple(found.values())


def undriven_inputs(network: Network, driven: Collection[Signal] = ()) -> tuple[UndrivenInput, ...]:
    """Inputs of the system itself that are not among those that are `driven` in a run."""
    starts = {w.source: _start(network, w.destination) for w in reversed(network.wires) if w.conversion == IDENTITY}
    found: dict[Signal, UndrivenInput] = {}
    for port in network.ports:
        if port.kind == "input" and port.type != "Clock" and port.signal not in driven:
            at, given = whole(port.signal, network.arrays), network.assignments.get(port.signal)
            value = starts.get(port.signal) if given is None else given.value
            found.setdefault(at, UndrivenInput(at, value, port.unit))
    return tuple(found.values())


def notes_on_inputs(network: Network, driven: Collection[Signal]) -> Iterator[str]:
    """In words, for a run in which these are `driven`: what stays as it is, and how to change that."""
    loose = unconnected_inputs(network, driven)
    if loose:
        fitting = next((one for one in loose if one.fitting is not None), None)
        how = "--inputs FILE.csv drives inputs"
        if fitting is not None:
            how = f"connect {'it' if len(loose) == 1 else 'e.g.'}: "
            how += f"ssptool connect SYSTEM {fitting.fitting} {fitting.signal}"
        yield f"{_counted(loose, 'input', 'inputs')} not connected: {_named(loose)} all run ({how})"
    outside = undriven_inputs(network, driven)
    if outside:
        what = _counted(outside, "input of the system", "inputs of the system")
        yield f"{what} not driven: {_named(outside)} all run (--inputs FILE.csv drives inputs)"


def _counted(inputs: Sequence[UndrivenInput], one: str, many: str) -> str:
    return f"1 {one} is" if len(inputs) == 1 else f"{len(inputs)} {many} are"


def _named(inputs: Sequence[UndrivenInput]) -> str:
    more = f" and {len(inputs) - NAMED} more" if len(inputs) > NAMED else ""
    return ", ".join(map(str, inputs[:NAMED])) + more


def _start(network: Network, signal: Signal) -> Value | None:
    """Of an input of a component."""
    given, component = network.assignments.get(signal), network.components.get(signal.component)
    if given is not None:
        return given.value
    variable = None if component is None else component.description.variables.get(signal.variable)
    return None if variable is None else variable.start


def _fitting(network: Network, port: Port, at: Signal) -> Signal | None:
    """An output in the same system as the connector `at`."""
    level = at.component.rpartition(".")[0]
    used = {wire.source for wire in network.wires}
    beside = [
        other
        for name, component in network.components.items()
        if name.rpartition(".")[0] == level and name != port.signal.component
        for other in component.ports
        if other.kind == "output" and (other.type, other.unit) == (port.type, port.unit)
    ]
    alike = [other.signal for other in beside if other.signal.variable.lower() == at.variable.lower()]
    free = [other.signal for other in beside if other.unit is not None and other.signal not in used]
    chosen = alike or free
    return chosen[0] if len(chosen) == 1 else None
